//! Lossless chains tried on a sample of a variable.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

#[path = "host/dataset/generated.rs"]
mod generated;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ncz::bench::{BenchError, BenchOptions, BenchReport, bench, pareto_front};
use ncz::copy::{Codecs, CopyOptions, VariablePlan, copy};
use ncz::model::{
    Elements, Format, Hierarchy, LossyGuard, NcType, Pool, Session, Sharding, Slab, VariableBuilder,
};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, Depth, EntryKind, FileStore, MemoryStore, Prefix, Store, StoreExt};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::{fixtures, python};
use proptest::prelude::*;

use generated::{MadeUp, Spoils};

/// Clears the lowest bit of every byte, and says that it is lossless, lossy, or nothing.
#[derive(Clone, Debug)]
struct Even<const SAYS: char>;

const fn printed(says: char) -> (&'static str, Option<bool>) {
    match says {
        'n' => ("even", Some(false)),
        'y' => ("frank", Some(true)),
        _ => ("mute", None),
    }
}

impl<const SAYS: char> Spoils for Even<SAYS> {
    const NAMES: &'static [&'static str] = &[printed(SAYS).0];
    const LOSSY: Option<bool> = printed(SAYS).1;

    fn spoilt(byte: u8) -> u8 {
        byte & !1
    }
}

ncz::codec::register!(MadeUp<Even<'n'>>);
ncz::codec::register!(MadeUp<Even<'y'>>);
ncz::codec::register!(MadeUp<Even<'?'>>);

fn session(threads: usize) -> Session {
    let registry = Registry::builder().no_plugins(true).build();
    let session = Session::new(Arc::new(registry), Pool::with_threads(threads).unwrap());
    Session { lossy_guard: LossyGuard::On, ..session }
}

fn ocean() -> Dataset {
    let store = Arc::new(FileStore::open(fixtures().join("ocean.nczarr"), Access::Read).unwrap());
    Dataset::open(store, session(1), &ReadOptions::default()).unwrap()
}

fn short() -> BenchOptions {
    BenchOptions { time: Duration::from_millis(1500), ..BenchOptions::default() }
}

fn go(dataset: &Dataset, path: &str, options: &BenchOptions) -> Result<BenchReport, BenchError> {
    bench(dataset, path, options, &mut |_| ControlFlow::Continue(()))
}

/// An array `v` of `len` integers in chunks of `chunk`, of which those that `write` names hold values.
fn numbers(format: Format, len: u64, chunk: u64, shard: Option<u64>, write: &[(u64, u64)]) -> Dataset {
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "x", len, false).unwrap();
    let mut new = VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([chunk]);
    if let Some(shard) = shard {
        new = new.sharding(Sharding::new([shard]));
    }
    hierarchy.add_variable("/", new).unwrap();
    let store = Arc::new(MemoryStore::new("bench"));
    let mut dataset = Dataset::create(store, hierarchy, session(1), false).unwrap();
    let array = dataset.array("/v").unwrap();
    for &(start, count) in write {
        let values: Vec<u8> = (start..start + count).flat_map(|v| (v as i32).to_ne_bytes()).collect();
        array.write_bytes(&Slab::new([start], [count]), Elements::Native, &values).unwrap();
    }
    dataset.flush().unwrap();
    dataset
}

/// Bytes of the chunks of a variable after a copy with these codecs.
fn copied(dataset: &Dataset, path: &str, chain: &str) -> u64 {
    let spec = if chain == "none" { ChainSpec::default() } else { ChainSpec::parse(chain).unwrap() };
    let plan = VariablePlan { codecs: Codecs::Spec(spec), ..VariablePlan::default() };
    let options =
        CopyOptions { variables: BTreeMap::from([(path.to_owned(), plan)]), ..CopyOptions::default() };
    let store = Arc::new(MemoryStore::new("copy"));
    copy(dataset, store.clone(), &options, &()).unwrap_or_else(|error| panic!("{chain}: {error:?}"));
    let prefix = Prefix::parse(path.trim_start_matches('/')).unwrap();
    let listing = store.list(prefix, Depth::All, 100_000).unwrap();
    let chunks = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object);
    let keys = chunks.map(|entry| entry.key.as_key()).filter(|key| !key.name().starts_with('.'));
    keys.map(|key| store.read_vec(key, 1 << 30).unwrap().unwrap().len() as u64).sum()
}

#[test]
fn sizes_are_those_that_a_copy_stores() {
    let dataset = ocean();
    let report = go(&dataset, "/air_temperature", &short()).unwrap();
    assert_eq!(report.sample.existing, Some(report.sample.chunks), "the sample is all of it");
    assert!(report.trials.len() > 20, "{report:#?}");
    assert!(report.trials.iter().any(|trial| trial.present));
    // Every tenth is enough.
    for trial in report.trials.iter().step_by(10).filter(|trial| !trial.present) {
        assert_eq!(trial.stored, copied(&dataset, "/air_temperature", &trial.chain), "{}", trial.chain);
    }
    let none = report.trials.iter().find(|trial| trial.chain == "none").unwrap();
    // The chunks have padding, which is stored, and is no data.
    assert_eq!(none.stored, report.sample.chunks * report.sample.chunk_len);
    assert_eq!(report.sample.bytes, 16 * 73 * 144 * 4);
    let read = report.trials.iter().filter(|trial| trial.unread.is_none());
    assert_eq!(report.best_ratio().unwrap().stored, read.map(|trial| trial.stored).min().unwrap());
}

#[test]
fn sizes_are_close_to_those_of_numcodecs() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(python) = python() else { return Ok(()) };
    let dataset = numbers(Format::NCZARR, 1 << 16, 1 << 12, None, &[(0, 1 << 16)]);
    let report = go(&dataset, "/v", &short()).unwrap();
    let code = "\
import numpy as np, numcodecs
data = np.arange(1 << 16, dtype='<i4').reshape(16, -1)
for name, codec in [('zlib,6', numcodecs.Zlib(6)), ('zstd,3', numcodecs.Zstd(3)), ('zstd,9', numcodecs.Zstd(9))]:
    print(name, sum(len(codec.encode(chunk.tobytes())) for chunk in data))
";
    let output = python.run_code::<&str>(code, &[], &[])?.stdout_text();
    assert_eq!(output.lines().count(), 3);
    for line in output.lines() {
        let (chain, size) = line.split_once(' ').unwrap();
        let theirs: f64 = size.parse()?;
        let trial = report.trials.iter().find(|trial| trial.chain == chain).unwrap();
        // Another deflate, and at times another version of Zstandard.
        let allowed = if chain.starts_with("zlib") { 0.15 } else { 0.01 };
        let ours = trial.stored as f64;
        assert!((ours / theirs - 1.0).abs() < allowed, "{chain}: {ours} and {theirs}");
    }
    Ok(())
}

#[test]
fn what_says_that_it_is_lossless_is_tried_and_what_does_not_come_back_is_faulty() {
    let dataset = numbers(Format::NCZARR, 4000, 1000, None, &[(0, 4000)]);
    let report = go(&dataset, "/v", &short()).unwrap();
    // By itself and after a shuffle.
    assert_eq!(report.faulty.len(), 2, "{:?}", report.faulty);
    for faulty in &report.faulty {
        assert!(faulty.chain.contains("even"), "{faulty:?}");
        assert!(faulty.reason.contains("comes back as"), "{}", faulty.reason);
    }
    assert!(report.trials.iter().all(|trial| !trial.chain.contains("even")));
    // One that says so of itself, and of which nothing else is known here.
    assert!(report.trials.iter().any(|trial| trial.chain.contains("pcodec")), "{report:#?}");
}

#[test]
fn what_is_lossy_or_says_nothing_is_left_out_by_name_unless_it_is_asked_for() {
    let dataset = numbers(Format::NCZARR, 4000, 1000, None, &[(0, 4000)]);
    let report = go(&dataset, "/v", &short()).unwrap();
    let why = |name: &str| {
        let left = report.skipped.iter().find(|left| left.chain == name);
        left.unwrap_or_else(|| panic!("{name}: {:?}", report.skipped)).reason.clone()
    };
    for name in ["frank", "bitround", "quantize", "zfp", "zfpy"] {
        assert!(why(name).contains("it is lossy"), "{name}: {}", why(name));
    }
    assert!(why("mute").contains("does not say whether it is lossless"), "{}", why("mute"));
    let also = ["frank", "mute", "shuffle|zstd,2"].map(|text| ChainSpec::parse(text).unwrap()).to_vec();
    let report = go(&dataset, "/v", &BenchOptions { also, ..short() }).unwrap();
    // They do not say that they are lossless, and make another number of the fill value.
    for name in ["frank", "mute"] {
        let left = report.skipped.iter().find(|left| left.chain == name);
        assert!(left.is_some_and(|left| left.reason.contains("missing values")), "{:?}", report.skipped);
    }
    assert!(report.trials.iter().any(|trial| trial.chain == "shuffle|zstd,2"));
}

#[test]
fn only_chunks_that_exist_are_tried_and_they_lie_apart() {
    let dataset =
        numbers(Format::NCZARR, 1_000_000, 1000, None, &[(0, 1000), (500_000, 1000), (999_000, 1000)]);
    let report = go(&dataset, "/v", &short()).unwrap();
    assert_eq!((report.sample.existing, report.sample.chunks, report.sample.bytes), (Some(3), 3, 12_000));
    let full = numbers(Format::NCZARR, 100_000, 1000, None, &[(0, 100_000)]);
    let report = go(&full, "/v", &BenchOptions { sample: 12_345, ..short() }).unwrap();
    assert_eq!((report.sample.existing, report.sample.chunks), (Some(100), 3));
    let empty = numbers(Format::NCZARR, 1000, 100, None, &[]);
    assert!(matches!(go(&empty, "/v", &short()), Err(BenchError::Empty { .. })));
}

#[test]
fn chunks_that_are_too_long_are_cut_and_those_of_shards_taken_one_by_one() {
    let dataset = numbers(Format::NCZARR, 100_000, 100_000, None, &[(0, 100_000)]);
    let report = go(&dataset, "/v", &BenchOptions { sample: 4096, ..short() }).unwrap();
    assert_eq!(report.sample.cut, Some(vec![1024]));
    assert_eq!((report.sample.chunk_len, report.sample.bytes), (400_000, 4096));
    let sharded = numbers(Format::Zarr3, 4000, 100, Some(1000), &[(0, 100), (1000, 1000)]);
    let report = go(&sharded, "/v", &short()).unwrap();
    assert_eq!((report.sample.existing, report.sample.chunks), (Some(2), 11));
    assert!(report.trials.iter().any(|trial| trial.chain == "shuffle|zlib,6"), "{:?}", report.skipped);
}

#[test]
fn it_ends_when_the_time_is_over_or_the_caller_says_so() {
    let dataset = numbers(Format::NCZARR, 1_000_000, 100_000, None, &[(0, 1_000_000)]);
    let hurried = BenchOptions { time: Duration::from_millis(30), ..BenchOptions::default() };
    let started = std::time::Instant::now();
    let report = go(&dataset, "/v", &hurried).unwrap();
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
    assert!(report.skipped.iter().any(|left| left.reason == "the time was over"), "{report:#?}");
    let stopped = bench(&dataset, "/v", &short(), &mut |step| match step.done {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(stopped, Err(BenchError::Stopped)));
}

#[test]
fn the_choices_are_chains_that_no_other_beats() {
    let report = go(&ocean(), "/air_temperature", &short()).unwrap();
    let balanced = report.balanced().unwrap();
    let beats = |trial: &ncz::bench::Trial| {
        trial.unread.is_none()
            && trial.stored < balanced.stored
            && trial.encode > balanced.encode
            && trial.decode > balanced.decode
    };
    assert!(!report.trials.iter().any(beats), "{report:#?}");
    let fastest = report.fastest_decode().unwrap();
    assert!(fastest.ratio(&report.sample) > 1.0);
    let threads = Dataset::open(ocean().store().clone(), session(3), &ReadOptions::default()).unwrap();
    assert_eq!(go(&threads, "/air_temperature", &short()).unwrap().threads, 3);
}

proptest! {
    #[test]
    fn no_point_beats_one_of_the_front_and_every_other_is_beaten(
        points in prop::collection::vec((0u8..12, 0u8..12), 0..40)
    ) {
        let points: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (f64::from(x), f64::from(y))).collect();
        let beats = |a: (f64, f64), b: (f64, f64)| a.0 >= b.0 && a.1 >= b.1 && a != b;
        for (point, marked) in points.iter().zip(pareto_front(&points)) {
            let beaten = points.iter().any(|other| beats(*other, *point));
            prop_assert_eq!(marked, !beaten, "{:?}", point);
        }
    }
}
