//! Verifying finds every damaged chunk, reports its location, and reports no valid chunk.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ncz::copy::{CopyOptions, copy};
use ncz::progress::{Phase, Progress};
use ncz::store::{Access, FileStore, Key, Store, StoreExt, WriteMode};
use ncz::verify::{Code, Finding, Remedy, Report, Severity, VerifyError, VerifyOptions, verify};
use ncz::zarr::Dataset;
use ncz_test_support::{fixtures, unpack};
use proptest::prelude::*;

use super::helpers::{memory, objects, open, open_file, session};

fn report(dataset: &Dataset) -> Report {
    verify(dataset, &VerifyOptions::default(), &()).unwrap()
}

fn of(folder: &Path) -> Report {
    report(&open_file(folder))
}

/// All but notes.
fn faults(report: &Report) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.severity > Severity::Note).collect()
}

fn codes(report: &Report) -> BTreeSet<&'static str> {
    faults(report).into_iter().map(|finding| finding.code.id()).collect()
}

fn chunk_faults(report: &Report) -> Vec<(String, Vec<u64>, Code)> {
    let faults = report.findings.iter().filter(|finding| finding.severity == Severity::Error);
    faults
        .filter_map(|finding| Some((finding.variable.clone()?, finding.chunk.clone()?, finding.code)))
        .collect()
}

#[test]
fn what_zarr_python_wrote_is_sound() {
    let mut seen = 0;
    for entry in std::fs::read_dir(fixtures().join("zarr-python")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|extension| extension != "zip") {
            continue;
        }
        let folder = unpack(format!("zarr-python/{name}.zip")).unwrap();
        let report = of(folder.path());
        // These codecs are in no package of ours.
        let missing: Vec<_> =
            faults(&report).into_iter().filter(|finding| finding.code == Code::CodecMissing).collect();
        assert_eq!(faults(&report).len(), missing.len(), "{name}: {:#?}", report.findings);
        let chunks: u64 = report.variables.iter().map(|variable| variable.chunks).sum();
        assert!(chunks > 0 || !missing.is_empty(), "{name}");
        seen += usize::from(missing.is_empty());
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn what_netcdf_c_wrote_has_its_known_faults_and_no_others() {
    let known = BTreeSet::from([
        "shuffle-size-zero",
        "attribute-text",
        "byte-order-doubtful",
        "old-generation",
        "fill-list",
        "attribute-refused",
        "metadata",
        "document-words",
        "order-f",
    ]);
    for version in ["4.8.0", "4.9.0", "4.9.2", "4.10.2"] {
        for entry in std::fs::read_dir(fixtures().join(format!("netcdf-c-{version}/nczarr"))).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "zip") {
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let folder = unpack(format!("netcdf-c-{version}/nczarr/{name}")).unwrap();
            let report = of(folder.path());
            let unknown: Vec<_> =
                faults(&report).into_iter().filter(|finding| !known.contains(finding.code.id())).collect();
            assert!(unknown.is_empty(), "{version}/{name}: {unknown:#?}");
            let unread: Vec<_> = report.variables.iter().filter(|variable| !variable.checked).collect();
            assert!(unread.is_empty(), "{version}/{name}: {unread:#?}");
        }
    }
    let ocean = of(&fixtures().join("ocean.nczarr"));
    assert_eq!(codes(&ocean), BTreeSet::from(["shuffle-size-zero"]));
    assert_eq!(ocean.variables.iter().map(|variable| variable.chunks).sum::<u64>(), 22);
}

/// A copy of the ocean, in memory, with this chain.
fn ocean_with(chain: &str, threads: usize) -> (Arc<ncz::store::MemoryStore>, ncz::model::Session) {
    let source = open_file(&fixtures().join("ocean.nczarr"));
    let target = memory();
    let plan = ncz::copy::VariablePlan {
        codecs: ncz::copy::Codecs::Spec(super::helpers::spec(chain)),
        chunks: None,
        ..ncz::copy::VariablePlan::default()
    };
    let paths: Vec<_> = source.hierarchy().variables().map(|variable| variable.path.clone()).collect();
    let options = CopyOptions {
        variables: paths.into_iter().map(|path| (path, plan.clone())).collect(),
        ..CopyOptions::default()
    };
    copy(&source, target.clone(), &options, &()).unwrap();
    (target, session(threads))
}

#[test]
fn every_damaged_chunk_is_found_at_its_location_and_the_rest_is_still_checked() {
    for threads in [1, 3] {
        for (chain, damage) in [
            ("[]", 0),
            ("[]", 1),
            (r#"{"id":"zlib","level":1}"#, 0),
            (r#"{"id":"zlib","level":1}"#, 1),
            (r#"[{"id":"zlib","level":1},{"id":"fletcher32"}]"#, 2),
            (r#"{"id":"zstd","level":1}"#, 0),
            (r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#, 1),
        ] {
            let (store, session) = ocean_with(chain, threads);
            let chunks: Vec<_> = objects(&*store, false).into_iter().collect();
            let mut wanted = BTreeSet::new();
            for (key, bytes) in chunks.iter().step_by(3) {
                let damaged = match damage {
                    0 => bytes[..bytes.len() - 1].to_vec(),
                    1 => [bytes, &[7u8; 3][..]].concat(),
                    _ => {
                        let mut turned = bytes.clone();
                        turned[bytes.len() / 2] ^= 4;
                        turned
                    }
                };
                store.write(Key::parse(key).unwrap(), &damaged, WriteMode::Replace).unwrap();
                wanted.insert(key.clone());
            }
            let report = report(&open(store, &session));
            let found: BTreeSet<String> = faults(&report)
                .into_iter()
                .filter(|finding| finding.code.id().starts_with("chunk-"))
                .map(|finding| finding.key.clone().unwrap())
                .collect();
            assert_eq!(found, wanted, "{chain} {damage}");
            for finding in faults(&report).into_iter().filter(|finding| finding.chunk.is_some()) {
                let numbers: Vec<String> =
                    finding.chunk.as_ref().unwrap().iter().map(u64::to_string).collect();
                let (variable, key) = (finding.variable.as_ref().unwrap(), finding.key.as_ref().unwrap());
                assert_eq!(format!("{}/{}", &variable[1..], numbers.join(".")), *key);
                let codes: &[Code] = match damage {
                    0 => &[Code::ChunkTruncated, Code::ChunkDamaged, Code::ChunkLength],
                    1 => &[Code::ChunkTail],
                    _ => &[Code::ChunkChecksum, Code::ChunkDamaged],
                };
                assert!(codes.contains(&finding.code), "{chain} {damage}: {finding:?}");
                // Only what follows a whole chunk can be cut.
                assert_eq!(finding.remedy == Some(Remedy::Repair), damage == 1, "{chain}: {finding:?}");
            }
            let visited: u64 = report.variables.iter().map(|variable| variable.chunks).sum();
            let faulty: u64 = report.variables.iter().map(|variable| variable.faulty).sum();
            assert_eq!((visited, faulty), (chunks.len() as u64, wanted.len() as u64));
        }
    }
}

#[test]
fn only_the_first_faults_are_kept_and_all_are_counted() {
    let (store, session) = ocean_with(r#"{"id":"zstd","level":1}"#, 3);
    for key in objects(&*store, false).into_keys().filter(|key| key.starts_with("model/salinity/")) {
        store.write(Key::parse(&key).unwrap(), b"x", WriteMode::Replace).unwrap();
    }
    let options = VerifyOptions { keep: 2, ..VerifyOptions::default() };
    let report = verify(&open(store, &session), &options, &()).unwrap();
    let kept: Vec<Vec<u64>> = chunk_faults(&report).into_iter().map(|(_, index, _)| index).collect();
    assert_eq!(kept, [vec![0, 0, 0], vec![0, 0, 1]]);
    let salinity = report.variables.iter().find(|variable| variable.path == "/model/salinity").unwrap();
    assert_eq!((salinity.chunks, salinity.faulty, salinity.more), (12, 12, 10));
    assert_eq!(report.count(Severity::Error), 12);
}

#[test]
fn one_variable_can_be_verified_by_itself_and_an_unknown_one_is_refused() {
    let dataset = open_file(&fixtures().join("ocean.nczarr"));
    let only = |path: &str| VerifyOptions {
        variables: Some(BTreeSet::from([path.to_owned()])),
        ..VerifyOptions::default()
    };
    let report = verify(&dataset, &only("/lat"), &()).unwrap();
    assert_eq!(report.variables.len(), 1);
    assert!(
        report.findings.iter().all(|finding| finding.variable.as_deref().is_none_or(|path| path == "/lat"))
    );
    let error = verify(&dataset, &only("/latitude"), &()).unwrap_err();
    assert!(matches!(error, VerifyError::NoSuchVariable { path } if path == "/latitude"));
}

#[test]
fn chunks_that_no_reader_finds_are_distinguished_from_other_things() {
    let (store, session) = ocean_with("[]", 1);
    let put = |key: &str| store.write(Key::parse(key).unwrap(), b"x", WriteMode::Replace).unwrap();
    for key in [
        "model/salinity/3.0.0",
        "model/salinity/00.0.0",
        "model/salinity/0/1/0",
        "model/salinity/notes.txt",
        "lat/.zarray.orig",
        "README",
        "model/stray/deep/file",
    ] {
        put(key);
    }
    store.write(Key::parse("added/.zarray").unwrap(), b"{}", WriteMode::Replace).unwrap();
    let report = report(&open(store, &session));
    let found: BTreeSet<_> = report
        .findings
        .iter()
        .filter_map(|finding| Some((finding.key.clone()?, finding.code.id(), finding.severity.name())))
        .collect();
    for (key, code, severity) in [
        ("model/salinity/3.0.0", "chunk-outside", "warning"),
        ("model/salinity/00.0.0", "chunk-key", "error"),
        ("model/salinity/0/1/0", "chunk-key", "error"),
        ("model/salinity/notes.txt", "stray-object", "note"),
        ("lat/.zarray.orig", "stray-object", "note"),
        ("README", "stray-object", "note"),
        ("model/stray", "stray-object", "note"),
        ("added", "unlisted", "warning"),
    ] {
        assert!(found.contains(&(key.to_owned(), code, severity)), "{key}: {found:#?}");
    }
}

#[cfg(unix)]
#[test]
fn a_chunk_that_is_a_link_to_nowhere_is_an_error() {
    let folder = unpack("zarr-python/v2-none.zip").unwrap();
    let chunk = folder.path().join("v/0.0");
    std::fs::remove_file(&chunk).unwrap();
    assert!(faults(&of(folder.path())).is_empty(), "a missing chunk is fill");
    std::os::unix::fs::symlink("nowhere", &chunk).unwrap();
    let report = of(folder.path());
    assert_eq!(codes(&report), BTreeSet::from(["no-object"]), "{:#?}", report.findings);
}

#[test]
fn what_lies_after_the_array_in_its_last_chunks_is_noted() {
    let (store, session) = ocean_with("[]", 1);
    let key = Key::parse("air_temperature/2.0.0").unwrap();
    let sound = store.read_vec(key, 1 << 20).unwrap().unwrap();
    let padded = |store: &Arc<ncz::store::MemoryStore>| {
        let report = report(&open(store.clone(), &session));
        assert!(faults(&report).is_empty(), "{:#?}", report.findings);
        let is_meant = |finding: &&Finding| {
            finding.code == Code::Padding && finding.variable.as_deref() == Some("/air_temperature")
        };
        report.findings.iter().find(is_meant).map(|finding| finding.chunk.clone())
    };
    assert_eq!(padded(&store), None);
    let mut changed = sound;
    *changed.last_mut().unwrap() ^= 1;
    store.write(key, &changed, WriteMode::Replace).unwrap();
    assert_eq!(padded(&store), Some(Some(vec![2, 0, 0])));
}

#[test]
fn a_damaged_chunk_in_a_shard_is_found_and_the_others_are_read() {
    let folder = unpack("zarr-python/v3-sharded.zip").unwrap();
    let whole = of(folder.path());
    let chunks = whole.variables[0].chunks;
    assert!(chunks > 1 && faults(&whole).is_empty(), "{whole:#?}");
    let store = FileStore::open(folder.path(), Access::ReadWrite).unwrap();
    let shard = objects(&store, false).into_iter().find(|(key, _)| key.starts_with("v/c/")).unwrap();
    let key = Key::parse(&shard.0).unwrap();
    let mut bytes = shard.1.clone();
    bytes[..4].fill(0xAA);
    store.write(key, &bytes, WriteMode::Replace).unwrap();
    let damaged = of(folder.path());
    assert_eq!((damaged.variables[0].chunks, damaged.variables[0].faulty), (chunks, 1), "{damaged:#?}");
    let faults = chunk_faults(&damaged);
    assert_eq!(faults.len(), 1);
    assert!(damaged.findings[0].reason.contains("one of those in this object"), "{damaged:#?}");
    // Without its index nothing of a shard can be read.
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    store.write(key, &bytes, WriteMode::Replace).unwrap();
    let lost = of(folder.path());
    assert_eq!(lost.variables[0].faulty, 1);
    assert!(lost.variables[0].chunks < chunks);
}

#[test]
fn truth_values_are_0_or_1() {
    let folder = unpack("zarr-python/v2-dtype-b1.zip").unwrap();
    let zarray = folder.path().join("v/.zarray");
    let text = std::fs::read_to_string(&zarray).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["compressor"] = serde_json::Value::Null;
    json["filters"] = serde_json::Value::Null;
    std::fs::write(&zarray, json.to_string()).unwrap();
    let len: u64 = json["chunks"].as_array().unwrap().iter().map(|len| len.as_u64().unwrap()).product();
    let store = FileStore::open(folder.path(), Access::ReadWrite).unwrap();
    let keys = || objects(&store, false).into_keys().filter(|key| key.starts_with("v/"));
    for key in keys() {
        store.write(Key::parse(&key).unwrap(), &vec![1; len as usize], WriteMode::Replace).unwrap();
    }
    assert!(faults(&of(folder.path())).is_empty());
    let key = keys().next().unwrap();
    store.write(Key::parse(&key).unwrap(), &vec![2; len as usize], WriteMode::Replace).unwrap();
    assert_eq!(codes(&of(folder.path())), BTreeSet::from(["chunk-values"]));
}

#[test]
fn a_codec_that_is_not_there_is_reported_and_the_other_variables_are_read() {
    let (store, session) = ocean_with(r#"{"id":"zlib","level":1}"#, 1);
    let key = Key::parse("lat/.zarray").unwrap();
    let text = String::from_utf8(store.read_vec(key, 1 << 20).unwrap().unwrap()).unwrap();
    store.write(key, text.replace("zlib", "lz9").as_bytes(), WriteMode::Replace).unwrap();
    let report = report(&open(store, &session));
    assert_eq!(codes(&report), BTreeSet::from(["codec-missing"]));
    let checked: Vec<bool> = report.variables.iter().map(|variable| variable.checked).collect();
    assert_eq!(checked.iter().filter(|checked| !**checked).count(), 1);
}

/// Counts, and says stop at its n-th report.
struct StopAt(u64, AtomicU64, AtomicU64);

impl Progress for StopAt {
    fn begin(&self, phase: Phase, total: u64) {
        assert_eq!(phase, Phase::Verify);
        self.2.store(total, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        self.2.fetch_sub(bytes, Ordering::Relaxed);
        match self.1.fetch_add(1, Ordering::Relaxed) >= self.0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn it_stops_when_asked_and_the_progress_ends_at_its_total() {
    let dataset = open_file(&fixtures().join("ocean.nczarr"));
    let all = StopAt(u64::MAX, AtomicU64::new(0), AtomicU64::new(0));
    verify(&dataset, &VerifyOptions::default(), &all).unwrap();
    assert_eq!(all.2.into_inner(), 0);
    for n in 0..all.1.into_inner() {
        let stop = StopAt(n, AtomicU64::new(0), AtomicU64::new(0));
        let error = verify(&dataset, &VerifyOptions::default(), &stop).unwrap_err();
        assert!(matches!(error, VerifyError::Stopped), "{error:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn any_damage_to_chunks_with_a_checksum_is_found_and_nothing_else(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..3), 0..6),
    ) {
        let (store, session) = ocean_with(r#"{"id":"zlib","level":1}"#, 2);
        let chunks: Vec<_> = objects(&*store, false).into_iter().collect();
        let mut wanted = BTreeSet::new();
        for (which, at, how) in damage {
            let (key, bytes) = which.get(&chunks);
            if !wanted.insert(key.clone()) {
                continue;
            }
            let mut changed = bytes.clone();
            let at = at.index(bytes.len());
            match how {
                0 => changed.truncate(at),
                1 => changed.insert(at, !bytes[at]),
                _ => changed[at] ^= 0x55,
            }
            store.write(Key::parse(key).unwrap(), &changed, WriteMode::Replace).unwrap();
        }
        let report = report(&open(store, &session));
        let found: BTreeSet<String> = report.findings.iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.key.clone().unwrap())
            .collect();
        prop_assert_eq!(found, wanted);
    }
}
