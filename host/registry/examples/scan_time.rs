//! Measures our own part of a plugin search: everything except the system's loader and the libraries'
//! constructors.
//!
//! ```text
//! cargo run --release -p ncz-registry --example scan_time -- FOLDER...
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ncz_registry::pair::Prefer;
use ncz_registry::registry::Registry;
use ncz_registry::report::Report;

const ROUNDS: usize = 200;

fn main() {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        eprintln!("usage: scan_time FOLDER...");
        std::process::exit(2);
    }
    let registry = || Registry::builder().plugin_path(folders.clone()).prefer(Prefer::Plugins).build();
    let mut looking = Vec::new();
    let mut own = Vec::new();
    let mut loading = Vec::new();
    for _ in 0..ROUNDS {
        let fresh = registry();
        let (_, time) = timed(|| fresh.report_without_loading().files().count());
        looking.push(time);
        let fresh = registry();
        let (load, time) = timed(|| load_time(fresh.report()));
        own.push(time.saturating_sub(load));
        loading.push(load);
    }
    let report = registry();
    let report = report.report();
    let opened = report.files().filter(|file| file.load_time.is_some()).count();
    println!("{opened} libraries opened, {} files, {} codecs", report.files().count(), report.codecs.len());
    println!("folders and symbols only   {}", summary(looking));
    println!("all but opening            {}", summary(own));
    println!("opening                    {}", summary(loading));
}

fn load_time(report: &Report) -> Duration {
    report.files().filter_map(|file| file.load_time).sum()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// The first time, the median and the longest of the rest.
fn summary(mut times: Vec<Duration>) -> String {
    let first = times.remove(0);
    times.sort_unstable();
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    format!(
        "first {first:>9.1?}   median {:>9.1?}   worst {:>9.1?}",
        at(times.len() / 2),
        at(times.len() - 1)
    )
}
