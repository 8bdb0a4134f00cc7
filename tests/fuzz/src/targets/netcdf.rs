use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use ncz::codec::Codec as _;
use ncz::model::{Container as _, Elements, Pool, Session, Slab, product};
use ncz::registry::Registry;
use ncz::store::{Key, KeyBuf, MemoryStore, Store as _, WriteMode};
use ncz_jenkins_lookup3::JenkinsLookup3;
use ncz_netcdf::NetcdfFile;
use ncz_test_support::fixtures;

use super::{Target, explained};
use crate::{Case, mutate};

/// The folder of the sound files in `tests/fixtures`.
const FOLDER: &str = "netcdf-files";

/// The key of a file in its store.
const KEY: &str = "f.nc";

/// The longest structure whose checksum is looked for.
const LONGEST: usize = 8192;

/// The bytes of a structure without a checksum that are changed.
const UNCHECKED: usize = 256;

/// The longest chunk that is read.
const MOST_CHUNK: u64 = 4 << 20;

/// What an input may take, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

/// Structures of a file by their signatures.
pub(super) const SUPERBLOCK: &[&[u8]] = &[b"\x89HDF\r\n\x1a\n"];
/// Headers of version 1 have no signature, but a count of references of 1.
pub(super) const HEADERS: &[&[u8]] = &[b"OHDR", b"OCHK", OLD_HEADER];
pub(super) const TREES: &[&[u8]] = &[b"TREE", b"SNOD", b"BTHD", b"BTIN", b"BTLF"];
pub(super) const ARRAYS: &[&[u8]] = &[b"FAHD", b"FADB", b"EAHD", b"EAIB", b"EASB", b"EADB"];
pub(super) const HEAPS: &[&[u8]] = &[b"HEAP", b"GCOL", b"FRHP", b"FHDB", b"FHIB", b"SMTB"];
pub(super) const CLASSIC: &[&[u8]] = &[b"CDF"];

const OLD_HEADER: &[u8] = b"\x01\0?\0\x01\0\0\0";

/// Files of netCDF: a damaged one is an error, or data that do not depend on what the buffers held before. Checksums
/// are those of the damaged bytes, since a reader would stop there otherwise.
pub(super) struct Files {
    session: Session,
    files: BTreeMap<String, Sound>,
}

/// A sound file, and where its structures are.
struct Sound {
    bytes: Vec<u8>,
    structures: Vec<Structure>,
}

struct Structure {
    start: usize,
    end: usize,
    has_checksum: bool,
}

impl Files {
    /// The structures with these signatures of all sound files that have one; whole files if there are no signatures.
    pub(super) fn new(signatures: &[&[u8]], wanted: impl Fn(&str) -> bool) -> Self {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(fixtures().join(FOLDER)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".py") || !wanted(&name) {
                continue;
            }
            let bytes = std::fs::read(path).unwrap();
            let structures = structures(&bytes, signatures);
            if signatures.is_empty() || !structures.is_empty() {
                files.insert(name, Sound { bytes, structures });
            }
        }
        let registry = Arc::new(Registry::builder().no_plugins(true).build());
        Self { session: Session::new(registry, Pool::serial()), files }
    }
}

/// Finds the structures with these signatures.
fn structures(bytes: &[u8], signatures: &[&[u8]]) -> Vec<Structure> {
    let mut found = Vec::new();
    for start in 0..bytes.len() {
        let begins = |signature: &&&[u8]| {
            let here = bytes.get(start..start + signature.len());
            here.is_some_and(|here| {
                here.iter().zip(**signature).all(|(byte, sign)| byte == sign || *sign == b'?')
            })
        };
        if !signatures.iter().any(|signature| begins(&signature)) {
            continue;
        }
        let longest = bytes.len().min(start + LONGEST);
        let end = (start + 12..=longest).find(|end| checksum(&bytes[start..end - 4]) == bytes[end - 4..*end]);
        let unchecked = bytes.len().min(start + UNCHECKED);
        found.push(Structure { start, end: end.unwrap_or(unchecked), has_checksum: end.is_some() });
    }
    found
}

/// HDF5's checksum.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    use ncz::codec::Coder as _;
    let coder = JenkinsLookup3::coder(&[]).unwrap();
    let mut stream = vec![0; bytes.len() + 4];
    coder.encode(&mut coder.scratch(), bytes, &mut stream).unwrap();
    stream[bytes.len()..].try_into().unwrap()
}

impl Target for Files {
    fn seeds(&self) -> Vec<Case> {
        self.files.iter().map(|(name, sound)| Case::new(name.clone(), sound.bytes.clone())).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        let structures = self.files.get(&case.context).map(|sound| &*sound.structures).unwrap_or_default();
        let fits: Vec<&Structure> =
            structures.iter().filter(|structure| structure.end <= case.bytes.len()).collect();
        let Some(structure) = fits.get(rng.usize(..fits.len().max(1))) else {
            return mutate::bytes::mutate(&mut case.bytes, &other.bytes, rng);
        };
        let end = structure.end - 4 * usize::from(structure.has_checksum);
        let sound = case.bytes[structure.start..end].to_vec();
        let mut block = sound.clone();
        mutate::bytes::mutate(&mut block, &sound, rng);
        block.resize(sound.len(), 0);
        case.bytes[structure.start..end].copy_from_slice(&block);
        if structure.has_checksum && rng.u32(..16) > 0 {
            case.bytes[end..structure.end].copy_from_slice(&checksum(&block));
        }
    }

    fn most_memory(&self) -> usize {
        256 << 20
    }

    fn run(&mut self, case: &Case) -> String {
        let start = Instant::now();
        let store = MemoryStore::new("memory");
        store.write(Key::parse(KEY).unwrap(), &case.bytes, WriteMode::Replace).unwrap();
        let opened = NetcdfFile::open(Arc::new(store), KeyBuf::parse(KEY).unwrap(), self.session.clone());
        let file = match opened {
            Ok(file) => file,
            Err(error) => {
                let error = explained(&error);
                assert!(error.contains(KEY), "the error does not name the file: {error}");
                return error;
            }
        };
        let mut reports: BTreeSet<String> =
            file.hierarchy().warnings.iter().map(ToString::to_string).collect();
        for variable in file.hierarchy().variables() {
            if let Err(error) = read(&file, &variable.path) {
                reports.insert(error);
            }
        }
        for group in file.hierarchy().groups() {
            reports.extend(group.unreadable.iter().map(|unreadable| unreadable.reason.to_string()));
        }
        assert!(start.elapsed() < PATIENCE, "it took {:?}", start.elapsed());
        // Not as text in quotes, which the runner takes for a name.
        reports.into_iter().collect::<Vec<_>>().join("; ")
    }
}

/// Reads the first elements of a variable.
fn read(file: &NetcdfFile, path: &str) -> Result<(), String> {
    let variable = file.hierarchy().variable(path).unwrap();
    let shape = file.hierarchy().shape_of(variable);
    let elements = product(shape.iter().copied());
    // A chunk may have 4 GiB, which are taken to decode it.
    let chunk = product(variable.chunk_shape.iter().copied().chain([variable.dtype.size() as u64]));
    if chunk.is_none_or(|chunk| chunk > MOST_CHUNK) {
        return Ok(());
    }
    let slab = match elements {
        Some(elements) if elements < 1 << 12 => Slab::whole(&shape),
        _ => Slab::new(vec![0; shape.len()], shape.iter().map(|len| (*len).min(2)).collect::<Vec<_>>()),
    };
    if variable.dtype.is_variable_length() {
        let read = file.strings(path).and_then(|strings| strings.read(&slab));
        return read.map(drop).map_err(|error| explained(&error));
    }
    let array = file.array(path).map_err(|error| explained(&error))?;
    let len = slab.elements().and_then(|elements| elements.checked_mul(array.dtype().size() as u64));
    let Some(len) = len.filter(|len| *len < 1 << 20) else { return Ok(()) };
    let read = |before: u8| {
        let mut out = vec![before; len as usize];
        array.read_bytes(&slab, Elements::Native, &mut out).map(|()| out)
    };
    match (read(0), read(0xAA)) {
        (Ok(first), Ok(second)) => {
            assert!(first == second, "{path} depends on what the buffer held before");
            Ok(())
        }
        (Err(first), _) => Err(explained(&first)),
        (_, Err(second)) => panic!("{path} is once an error: {}", explained(&second)),
    }
}
