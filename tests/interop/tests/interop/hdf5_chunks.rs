//! Chunks that HDF5 stored decode to the byte: through built-in codecs, through our plugins by their native face, and
//! in chains with foreign plugins.

use std::collections::BTreeSet;
use std::path::Path;

use ncz::codec::Container;
use ncz::registry::Registry;
use ncz::registry::registry::{CodecOrigin, Face};
use ncz_test_support::{build_plugins, chunks, python};
use serde_json::Value;

use crate::harness::{bind, builtins, explained, filters, plugins, run_script};

/// The filters that are ours, of those that the chunks went through.
const OURS: [u32; 13] = [1, 2, 3, 4, 6, 307, 32_000, 32_001, 32_004, 32_008, 32_013, 32_015, 32_026];
const ZFP: u32 = 32_013;
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins";

#[test]
fn every_chunk_decodes_to_the_byte_with_the_built_in_codecs() {
    assert_eq!(decode_all(&builtins(), |_| true), (181, OURS.into()));
}

#[test]
fn every_chunk_decodes_to_the_byte_with_our_plugins_by_their_native_face() {
    let registry = plugins(&[&build_plugins().unwrap()]);
    for id in OURS {
        let entry = registry.by_id(id).unwrap();
        assert!(
            matches!(entry.origin(), CodecOrigin::Plugin { face: Face::Native, .. }),
            "{:?}",
            entry.origin()
        );
    }
    assert_eq!(decode_all(&registry, |_| true), (181, OURS.into()));
}

/// Decodes every chunk all of whose filters are selected, and encodes it again; how many that were, and their filters.
fn decode_all(registry: &Registry, wanted: impl Fn(u32) -> bool) -> (usize, BTreeSet<u32>) {
    let mut count = 0;
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for case in chunks().unwrap() {
        if !case.filters.iter().all(|filter| wanted(filter.id)) {
            continue;
        }
        count += 1;
        seen.extend(case.filters.iter().map(|filter| filter.id));
        let spec = filters(case.filters.iter().map(|filter| (filter.id, filter.params.as_slice())));
        let chain = bind(registry, &spec, &case.dtype, &case.shape, Container::Hdf5);
        let mut scratch = chain.scratch();
        let mut raw = vec![0; chain.chunk_len()];
        match chain.decode(case.filter_mask, &mut scratch, &case.encoded, &mut raw) {
            Err(error) => faults.push(format!("{}: {}", case.name, explained(&error))),
            Ok(()) if raw != case.raw => faults.push(format!("{}: other bytes", case.name)),
            Ok(()) => {}
        }
        let working: Vec<_> = chain.working().into_iter().map(|(id, words)| (id, words.to_vec())).collect();
        let recorded: Vec<_> = case.filters.iter().map(|filter| (filter.id, filter.params.clone())).collect();
        if working != recorded {
            faults.push(format!("{}: works with {working:?}, HDF5 with {recorded:?}", case.name));
        }
        // data that do not shrink encode too
        let again = chain.encode(&mut scratch, &case.raw).map(<[u8]>::to_vec);
        raw.fill(0);
        let round = again.and_then(|stored| chain.decode(0, &mut scratch, &stored, &mut raw));
        if let Err(error) = round {
            faults.push(format!("{}: there and back: {}", case.name, explained(&error)));
        } else if raw != case.raw && !(case.lossy && case.filters[0].id == ZFP) {
            // Numbers that zfp has rounded it may round again.
            faults.push(format!("{}: there and back: other bytes", case.name));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    (count, seen)
}

#[test]
fn chains_of_our_codecs_and_foreign_plugins_decode_what_hdf5_wrote() {
    let Ok(python) = python() else { return };
    let foreign = python.plugin_dir("hdf5plugin").unwrap();
    let cases = ChainCases::write();
    // ours built in, ours as plugins next to the foreign ones
    for registry in [
        Registry::builder().plugin_path(vec![foreign.clone()]).build(),
        plugins(&[&build_plugins().unwrap(), &foreign]),
    ] {
        assert_eq!(cases.decode(&registry, |_| true), 20);
    }
}

#[test]
fn debians_plugins_decode_in_chains_with_our_codecs() {
    let Ok(_) = python() else { return };
    if !Path::new(DEBIAN).is_dir() {
        let remedy = "apt-get install hdf5-filter-plugin, or run tests/support/setup.sh";
        drop(ncz_test_support::Skip::new("Debian's HDF5 plugins", format!("no {DEBIAN}"), remedy));
        return;
    }
    // Debian's come first, so its bzip2, blosc and LZ4 are used, and ours for the rest.
    let registry = plugins(&[Path::new(DEBIAN), &build_plugins().unwrap()]);
    assert_eq!(ChainCases::write().decode(&registry, |id| OURS.contains(&id)), 20);
}

/// Chunks that went through chains of several makers' filters.
struct ChainCases {
    folder: tempfile::TempDir,
    index: Vec<Value>,
}

impl ChainCases {
    fn write() -> Self {
        let folder = tempfile::tempdir().unwrap();
        run_script(&python().unwrap(), "h5_chains.py", &[folder.path()], None)
            .success("h5_chains.py")
            .unwrap();
        let index = std::fs::read(folder.path().join("index.json")).unwrap();
        Self { folder, index: serde_json::from_slice(&index).unwrap() }
    }

    /// Decodes those all of whose filters are selected; how many that were.
    fn decode(&self, registry: &Registry, wanted: impl Fn(u32) -> bool) -> usize {
        let mut count = 0;
        for (number, case) in self.index.iter().enumerate() {
            let recorded: Vec<(u32, Vec<u32>)> = case["filters"]
                .as_array()
                .unwrap()
                .iter()
                .map(|filter| {
                    let params = filter["params"].as_array().unwrap().iter().map(word).collect();
                    (word(&filter["id"]), params)
                })
                .collect();
            if !recorded.iter().all(|(id, _)| wanted(*id)) {
                continue;
            }
            let shape: Vec<u64> =
                case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
            let spec = filters(recorded.iter().map(|(id, params)| (*id, params.as_slice())));
            let chain = bind(registry, &spec, case["dtype"].as_str().unwrap(), &shape, Container::Hdf5);
            let read = |ending| std::fs::read(self.folder.path().join(format!("{number}.{ending}"))).unwrap();
            let mut raw = vec![0; chain.chunk_len()];
            chain
                .decode(word(&case["mask"]), &mut chain.scratch(), &read("enc"), &mut raw)
                .unwrap_or_else(|error| panic!("{case}: {}", explained(&error)));
            assert!(raw == read("raw"), "{case}: other bytes");
            count += 1;
        }
        count
    }
}

fn word(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}
