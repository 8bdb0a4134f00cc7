//! Chunks of every HDF5 filter, exchanged with HDF5 itself: types, shapes, contents and parameters by the thousand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ncz::codec::Container;
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz_test_support::{Python, build_plugins, python, takes_all};
use serde_json::Value;

use crate::harness::{builtins, explained, filters, run_script, try_bind};

const SCRIPT: &str = "hdf5_filters.py";
/// What makes the cases.
const SEED: &str = "1";
const THEIRS: &str = "--hdf5plugin";
const DEFLATE: u32 = 1;
const SCALEOFFSET: u32 = 6;
const BLOSC: u32 = 32_001;
const BITSHUFFLE: u32 = 32_008;
const ZFP: u32 = 32_013;

/// The cases, as HDF5 wrote them.
struct Cases {
    index: Vec<Value>,
    bytes: Vec<u8>,
}

/// A chunk that HDF5 wrote.
struct Case<'a> {
    name: &'a str,
    dtype: &'a str,
    shape: Vec<u64>,
    filter: u32,
    /// The words that HDF5 stored.
    words: Vec<u32>,
    mask: u32,
    given: &'a [u8],
    encoded: &'a [u8],
    /// HDF5's decoding; `None` if it cannot read what it wrote.
    raw: Option<&'a [u8]>,
}

/// Chunks for HDF5, or its results: an entry for each case, or none.
#[derive(Default)]
struct Places {
    places: Vec<Option<(usize, usize)>>,
    bytes: Vec<u8>,
}

#[test]
fn hdf5_and_the_built_in_codecs_read_each_others_chunks() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cases = Cases::write(&python, folder.path(), &[THEIRS], None);
    let registry = builtins();
    let (mut faults, mut seen, mut ours) = (Vec::new(), BTreeSet::new(), Places::default());
    // What our codecs make of what they wrote themselves.
    let mut own = Vec::new();
    let mut refused: BTreeMap<u32, usize> = BTreeMap::new();
    for case in cases.iter().flatten() {
        seen.insert(case.filter);
        let chain = match case.chain(&registry) {
            Ok(chain) => chain,
            Err(error) => {
                // HDF5 spoils these, and does not read them itself.
                if case.raw.is_some() || !error.contains("HDF5 spoils") {
                    faults.push(format!("{}: {error}", case.name));
                }
                ours.push(None);
                own.push(None);
                continue;
            }
        };
        faults.extend(case.decode(&chain));
        let mut scratch = chain.scratch();
        let encoded = match chain.encode(&mut scratch, case.given) {
            Ok(encoded) => Some(encoded.to_vec()),
            Err(error) => {
                assert_eq!(case.filter, ZFP, "{}: {}", case.name, explained(&error));
                *refused.entry(case.filter).or_default() += 1;
                None
            }
        };
        own.push(encoded.as_ref().map(|encoded| {
            let mut raw = vec![0xa5; case.given.len()];
            chain.decode(0, &mut scratch, encoded, &mut raw).unwrap();
            raw
        }));
        if let Some(encoded) = &encoded
            && case.mask == 0
            && encoded != case.encoded
            && !case.may_differ()
        {
            faults.push(format!("{}: encodes to other bytes than HDF5's", case.name));
        }
        ours.push(encoded.as_deref());
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 307, 32_000, 32_001, 32_004, 32_008, 32_013, 32_015].into());
    let read = ours.read(&python, folder.path(), &[THEIRS], None);
    for (number, case) in cases.iter().flatten().enumerate() {
        let Some(own) = &own[number] else { continue };
        let fault = match (read.at(number), case.raw) {
            (None, _) => "HDF5 does not read what we wrote",
            (Some(read), _) if read != own => "HDF5 reads what we wrote otherwise than we do",
            (Some(read), Some(raw)) if read != raw && read != case.given && !case.is_tiny() => {
                "HDF5 reads what we wrote otherwise than what it wrote"
            }
            (Some(_), _) => continue,
        };
        faults.push(format!("{}: {fault}", case.name));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let wrote = own.iter().filter(|own| own.is_some()).count();
    let least = if takes_all("NCZ_MATRIX") { 18_000 } else { 6000 };
    assert!(wrote > least && refused[&ZFP] < 300, "{wrote} written, {refused:?} refused");
}

#[test]
fn hdf5_with_our_plugins_writes_and_reads_the_chunks_of_hdf5plugins() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let [ours_at, theirs_at] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let ours = Cases::write(&python, ours_at.path(), &[], Some(&plugins));
    let theirs = Cases::write(&python, theirs_at.path(), &[THEIRS], None);
    let by_theirs = ours.unmasked().read(&python, theirs_at.path(), &[THEIRS], None);
    let by_ours = theirs.unmasked().read(&python, ours_at.path(), &[], Some(&plugins));
    let (mut faults, mut seen, mut masked) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (number, (ours, theirs)) in ours.iter().zip(theirs.iter()).enumerate() {
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        assert_eq!(ours.name, theirs.name);
        seen.insert(ours.filter);
        // Of an array type our bitshuffle sorts the numbers, hdf5plugin's the arrays. The words in a file say which,
        // but here the chunks of one go to a dataset of the other.
        if ours.filter == BITSHUFFLE && ours.name.starts_with("array") {
            continue;
        }
        let mut fault = |what: &str| faults.push(format!("{}: {what}", ours.name));
        if ours.words != theirs.words {
            fault(&format!("stores {:?}, not {:?}", ours.words, theirs.words));
        }
        if ours.mask != 0 {
            masked.insert(ours.filter);
        } else if by_theirs.at(number) != ours.raw || ours.raw.is_none() {
            fault("hdf5plugin's reads what ours wrote otherwise than ours");
        }
        if theirs.mask == 0 && by_ours.at(number) != theirs.raw {
            fault("ours reads what hdf5plugin's wrote otherwise than that");
        }
        if ours.raw != theirs.raw && ours.raw != Some(ours.given) && !ours.is_tiny() {
            fault("other values");
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert_eq!(seen, [307, 32_001, 32_004, 32_008, 32_013, 32_015].into());
    // The filter is optional here: HDF5 stores as they are the chunks that ours refuses to spoil.
    assert_eq!(masked, [ZFP].into());
}

impl Cases {
    fn write(python: &Python, folder: &Path, options: &[&str], plugins: Option<&Path>) -> Self {
        let arguments = [&["write", folder.to_str().unwrap(), SEED], options].concat();
        run_script(python, SCRIPT, &arguments, plugins).success(SCRIPT).unwrap();
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
        Self { index: serde_json::from_slice(&read("cases.json")).unwrap(), bytes: read("chunks.bin") }
    }

    fn iter(&self) -> impl Iterator<Item = Option<Case<'_>>> {
        self.index.iter().map(|case| (!case.is_null()).then(|| Case::new(case, &self.bytes)))
    }

    /// The chunks that went through their filter.
    fn unmasked(&self) -> Places {
        let mut places = Places::default();
        for case in self.iter() {
            places.push(case.filter(|case| case.mask == 0).map(|case| case.encoded));
        }
        places
    }
}

impl<'a> Case<'a> {
    fn new(case: &'a Value, bytes: &'a [u8]) -> Self {
        let words = |key: &str| -> Vec<u64> {
            case[key].as_array().unwrap().iter().map(|word| word.as_u64().unwrap()).collect()
        };
        let place = |key: &str| {
            let (at, length) = place(&case[key])?;
            Some(&bytes[at..][..length])
        };
        Self {
            name: case["name"].as_str().unwrap(),
            dtype: case["type"].as_str().unwrap(),
            shape: words("shape"),
            filter: case["filter"].as_u64().unwrap() as u32,
            words: words("stored").into_iter().map(|word| word as u32).collect(),
            mask: case["mask"].as_u64().unwrap() as u32,
            given: place("data").unwrap(),
            encoded: place("encoded").unwrap(),
            raw: place("raw"),
        }
    }

    fn chain(&self, registry: &Registry) -> Result<FilterChain, String> {
        let spec = filters([(self.filter, &self.words[..])]);
        try_bind(registry, &spec, self.dtype, &self.shape, Container::Hdf5)
    }

    /// Decodes what HDF5 stored; says what is wrong.
    fn decode(&self, chain: &FilterChain) -> Option<String> {
        let mut decoded = vec![0xa5; chain.chunk_len()];
        let fault =
            match (chain.decode(self.mask, &mut chain.scratch(), self.encoded, &mut decoded), self.raw) {
                (Ok(()), Some(raw)) if decoded != raw => "decodes to other bytes".to_owned(),
                (Err(error), Some(_)) => explained(&error),
                _ if self.words.is_empty() || self.takes_other_words() => return None,
                _ if chain.working() != [(self.filter, &self.words[..])] => {
                    format!("works with {:?}, not {:?}", chain.working(), self.words)
                }
                _ => return None,
            };
        Some(format!("{}: {fault}", self.name))
    }

    /// Whether a chain cannot know of the size of the elements of an array type.
    fn takes_other_words(&self) -> bool {
        self.filter == BLOSC && self.name.starts_with("array")
    }

    /// Whether our stream need not be HDF5's.
    fn may_differ(&self) -> bool {
        match self.filter {
            // Another library.
            DEFLATE => true,
            // HDF5 writes NaN and what it takes for infinite so that no program can read it.
            SCALEOFFSET => self.dtype.contains('f') && self.is_of(&["special", "large"]),
            _ => self.takes_other_words() || self.is_tiny(),
        }
    }

    /// Whether its content is one of these.
    fn is_of(&self, contents: &[&str]) -> bool {
        contents.iter().any(|content| self.name.contains(&format!(" {content} ")))
    }

    /// Whether zfp works with factors that are out of range, which every compiler takes otherwise.
    fn is_tiny(&self) -> bool {
        self.filter == ZFP && self.is_of(&["tiny"])
    }
}

impl Places {
    fn push(&mut self, chunk: Option<&[u8]>) {
        self.places.push(chunk.map(|chunk| (self.bytes.len(), chunk.len())));
        self.bytes.extend(chunk.unwrap_or_default());
    }

    fn at(&self, number: usize) -> Option<&[u8]> {
        self.places[number].map(|(at, length)| &self.bytes[at..][..length])
    }

    /// What HDF5 reads when it finds these chunks.
    fn read(&self, python: &Python, folder: &Path, options: &[&str], plugins: Option<&Path>) -> Self {
        let at = |name: &str| folder.join(name);
        std::fs::write(at("stored.bin"), &self.bytes).unwrap();
        std::fs::write(at("stored.json"), serde_json::to_vec(&self.places).unwrap()).unwrap();
        let arguments = [&["read", folder.to_str().unwrap(), SEED], options].concat();
        run_script(python, SCRIPT, &arguments, plugins).success(SCRIPT).unwrap();
        let index: Vec<Value> = serde_json::from_slice(&std::fs::read(at("read.json")).unwrap()).unwrap();
        Self { places: index.iter().map(place).collect(), bytes: std::fs::read(at("read.bin")).unwrap() }
    }
}

fn place(value: &Value) -> Option<(usize, usize)> {
    let number = |at: usize| value[at].as_u64().map(|number| number as usize);
    Some((number(0)?, number(1)?))
}
