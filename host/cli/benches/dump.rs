//! `ncdump` by ncz against the ncdump of the system, in turns: `cargo bench -p ncz-cli --bench dump`.
//!
//! Two datasets, each as NCZarr and as a netCDF file that the system's ncgen makes of the same CDL: the header of a
//! small one, where starting is all there is to do, and 10^7 floats, where it is the digits. The argument
//! `--fast` takes a tenth of both.

#![expect(clippy::unwrap_used, reason = "a bench stops where something fails")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ncz_test_support::{fixtures, program};

fn main() {
    let (Ok(ncdump), Ok(ncgen)) = (program("ncdump"), program("ncgen")) else { return };
    let fast = std::env::args().any(|argument| argument == "--fast");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();

    let cdl = fixtures().join("cdl/simple.cdl");
    let small = root.join("small.nc");
    run(Command::new(&ncgen).arg("-4").arg("-o").arg(&small).arg(&cdl));
    let ours = ncz_test_support::unpack("netcdf-c-4.10.2/nczarr/simple.zip").unwrap();
    let turns = if fast { 20 } else { 200 };
    compare("header of a small dataset", &ncdump, (&small, ours.path()), &["-h"], turns, 2.0);

    let rows = if fast { 1000 } else { 10_000 };
    let (dataset, twin) = (root.join("big.zarr"), root.join("big.nc"));
    write_floats(&dataset, rows);
    let text = root.join("big.cdl");
    run(Command::new(env!("CARGO_BIN_EXE_ncz"))
        .arg0("ncdump")
        .args(["-p", "9"])
        .arg(&dataset)
        .stdout(File::create(&text).unwrap()));
    run(Command::new(&ncgen).arg("-4").arg("-o").arg(&twin).arg(&text));
    compare("10^7 floats", &ncdump, (&twin, &dataset), &["-n", "big"], 5, 3.0);
}

/// Pure Zarr with rows of a thousand floats, uncompressed.
fn write_floats(root: &Path, rows: u64) {
    const ROWS: u64 = 500;
    let array = root.join("v");
    fs::create_dir_all(&array).unwrap();
    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let zarray = format!(
        r#"{{"zarr_format": 2, "shape": [{rows}, 1000], "chunks": [{ROWS}, 1000], "dtype": "<f4", "fill_value": null, "order": "C", "compressor": null, "filters": null}}"#
    );
    fs::write(array.join(".zarray"), zarray).unwrap();
    let mut state = 1u64;
    for chunk in 0..rows / ROWS {
        let mut file = BufWriter::new(File::create(array.join(format!("{chunk}.0"))).unwrap());
        for _ in 0..ROWS * 1000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = 250.0 + (state >> 40) as f32 / 419_430.4;
            file.write_all(&value.to_le_bytes()).unwrap();
        }
        file.flush().unwrap();
    }
}

fn run(command: &mut Command) {
    assert!(command.stderr(Stdio::null()).status().unwrap().success(), "{command:?}");
}

/// Both in turns; the mean times, and how many times faster ours is.
fn compare(
    what: &str,
    ncdump: &Path,
    (theirs, ours): (&Path, &Path),
    options: &[&str],
    turns: u32,
    goal: f64,
) {
    let mut times = [Duration::ZERO; 2];
    for _ in 0..turns {
        for (at, time) in times.iter_mut().enumerate() {
            let (program, dataset) = match at {
                0 => (ncdump, theirs),
                _ => (Path::new(env!("CARGO_BIN_EXE_ncz")), ours),
            };
            let start = Instant::now();
            run(Command::new(program).arg0("ncdump").args(options).arg(dataset).stdout(Stdio::null()));
            *time += start.elapsed();
        }
    }
    let [theirs, ours] = times.map(|time| time.as_secs_f64() * 1e3 / f64::from(turns));
    let ratio = theirs / ours;
    println!("{what}: ncdump {theirs:.1} ms, ncz {ours:.1} ms, {ratio:.1} times as fast (goal: {goal})");
}
