//! Damaged streams of each filter of third-party plugins, in worker processes: a thousand, or as many as two seconds
//! allow if hangs and crashes take time. The table that is printed has the numbers.

#![expect(clippy::unwrap_used, reason = "helpers of tests are outside test functions")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ncz_test_support::{python, run};

/// How long one filter may take.
const SECONDS: usize = 2;
/// However slow the machine, this many streams are tried.
const FEWEST: usize = 20;

/// The program, which cargo builds with the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/isolated_damage");
    assert!(
        program.is_file(),
        "cargo build -p ncz-conform --example isolated_damage makes {}",
        program.display()
    );
    program
}

/// Damages up to `count` streams of each filter of a package's plugins; checks that each is accounted for.
fn damage(package: &str, filters: usize, count: usize) {
    let Ok(python) = python() else { return };
    let mut command = Command::new(program());
    command.arg(python.plugin_dir(package).unwrap());
    command.args(["--seconds", &SECONDS.to_string(), "--count", &count.to_string()]);
    let output = run(&mut command, Duration::from_secs(60)).unwrap().success("isolated_damage").unwrap();
    let text = output.stdout_text();
    println!("{text}");
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), filters);
    for row in rows {
        let numbers: Vec<usize> =
            row.split('|').skip(3).take(7).map(|cell| cell.trim().parse().unwrap()).collect();
        let [streams, error, right, wrong, crash, hang, seconds] = numbers[..] else { unreachable!() };
        assert_eq!(streams, error + right + wrong + crash + hang, "{row}");
        assert!(streams == count || (streams >= FEWEST && seconds >= SECONDS), "{row}");
    }
}

#[test]
fn damaged_streams_of_each_filter_of_hdf5plugin_are_accounted_for() {
    damage("hdf5plugin", 12, 1000);
}

#[test]
fn damaged_streams_of_each_filter_of_netcdf4_are_accounted_for() {
    damage("netCDF4", 7, 1000);
}
