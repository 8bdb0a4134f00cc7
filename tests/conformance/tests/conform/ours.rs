//! The plugins of this repository: every check, at level 5. `NCZ_CONFORM_LEVEL=10` takes the highest, some minutes.
#![expect(clippy::unwrap_used, reason = "helpers of tests are outside test functions")]

use std::fmt::Write as _;
use std::path::PathBuf;

use ncz_conform::{Conformance, trial::Settings};

fn libraries() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(ncz_test_support::build_plugins().unwrap()).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == std::env::consts::DLL_EXTENSION));
    paths.sort();
    paths
}

#[test]
fn every_own_plugin_passes_every_check() {
    let libraries = libraries();
    assert_eq!(libraries.len(), 31, "{libraries:?}");
    // The C library of the building machine is not a fault of the plugins'; another test holds the stated one.
    let level = std::env::var("NCZ_CONFORM_LEVEL").map_or(5, |level| level.parse().unwrap());
    let settings = Settings { level, glibc: (2, 9999), ..Settings::default() };
    let run = Conformance::of_all(&libraries)
        .settings(settings)
        .exclude("speed")
        .worker(env!("CARGO_BIN_EXE_ncz-conform"))
        .run()
        .unwrap();
    assert!(run.bugs.is_empty(), "{:?}", run.bugs);
    let mut wrong = String::new();
    for library in &run.libraries {
        for found in &library.results {
            if found.outcome.verdict.is_bad() {
                writeln!(
                    wrong,
                    "{:?}: {} of {}: {:?}",
                    library.path, found.check.id, found.target, found.outcome
                )
                .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert_eq!(run.libraries.len(), libraries.len());
}
