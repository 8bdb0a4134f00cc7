//! The corpus again, and some new inputs of each target.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::sync::{Mutex, PoisonError};

use ncz_fuzz::corpus::Corpus;
use ncz_fuzz::runner::{Plan, Runner};
use ncz_fuzz::targets;

/// The seed of the random numbers of the tests.
const SEED: u64 = 3;

/// One target at a time, because the allocator counts for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn holds(name: &'static str, cases: u64) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut runner = Runner::new(name, targets::open(name).unwrap());
    let mut broken = Vec::new();
    for (file, case) in Corpus::of(name).cases().unwrap() {
        if let Err(message) = runner.one(&case) {
            broken.push(format!("{file}: {message}"));
        }
    }
    let report = runner.run(Plan { seed: SEED, cases, time: None, note: false }).unwrap();
    for failure in report.failures {
        let again = format!("cargo run -p ncz-fuzz -- {name} --seed {SEED} --cases {cases}");
        broken.push(format!("{}\n(kept in the corpus by {again})", failure.message));
    }
    assert!(broken.is_empty(), "{name}:\n{}", broken.join("\n\n"));
}

macro_rules! targets {
    ($($name:ident $cases:literal,)*) => {
        $(
            #[test]
            fn $name() {
                holds(stringify!($name), $cases);
            }
        )*

        #[test]
        fn every_target_has_a_test() {
            assert_eq!(targets::NAMES, [$(stringify!($name)),*]);
        }
    };
}

targets! {
    json 3000,
    metadata_v2 600,
    metadata_v3 600,
    consolidated 400,
    attributes 600,
    codec_json 1000,
    spec_text 5000,
    place 5000,
    zip 1000,
    hdf5_chunks 1000,
    filter_words 3000,
    chunks 1000,
    shards 1000,
    strings 1000,
    hdf5_superblock 600,
    hdf5_headers 600,
    hdf5_trees 600,
    hdf5_arrays 600,
    hdf5_heaps 600,
    hdf5_types 600,
    hdf5_files 600,
    classic_files 600,
}
