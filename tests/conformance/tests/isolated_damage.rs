//! A thousand damaged streams of each filter of other people's plugins, in worker processes.

#![expect(clippy::unwrap_used, reason = "helpers of tests stand outside test functions")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ncz_test_support::{python, run};

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

/// Damages `count` streams of each filter of a package's plugins; checks that each is accounted for.
fn damage(package: &str, filters: usize, count: usize) {
    let Ok(python) = python() else { return };
    let mut command = Command::new(program());
    command.arg(python.plugin_dir(package).unwrap());
    command.args(["--seconds", "120", "--count", &count.to_string()]);
    let output = run(&mut command, Duration::from_secs(1200)).unwrap().success("isolated_damage").unwrap();
    let text = output.stdout_text();
    println!("{text}");
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), filters);
    for row in rows {
        let numbers: Vec<usize> =
            row.split('|').skip(3).take(6).map(|cell| cell.trim().parse().unwrap()).collect();
        let [streams, rest @ ..] = &numbers[..] else { unreachable!() };
        assert_eq!((*streams, rest.iter().sum()), (count, count), "{row}");
    }
}

#[test]
fn a_thousand_damaged_streams_of_each_filter_of_hdf5plugin() {
    damage("hdf5plugin", 12, 1000);
}

#[test]
fn a_thousand_damaged_streams_of_each_filter_of_netcdf4() {
    damage("netCDF4", 7, 1000);
}
