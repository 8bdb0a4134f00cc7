//! A field of 250 MB in S3, written and read by ncz, zarr-python and tensorstore, with a near and with a far service.
//!
//!     cargo bench -p ncz-remote-tests
//!     cargo bench -p ncz-remote-tests -- --codec none --latency 20 --rounds 5 --steps 120
//!
//! The service is this program again, in a process of its own, with its buckets in memory. So is each turn of a
//! program: it writes or reads once, and prints its time (from the open store to the last byte, nothing of its start),
//! the peak of its memory and its processor time. Programs take turns (A B C, B C A ...), each round has a new service.

#[path = "field/ours.rs"]
mod ours; // what ncz does in a turn
#[path = "field/process.rs"]
mod process; // processor time and memory of processes
#[path = "field/table.rs"]
mod table; // medians, ratios and their table
#[path = "field/turn.rs"]
mod turn; // one program, one direction, in a process of its own

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use ncz_test_support::python;

use crate::table::Table;
use crate::turn::{Service, Turn};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Rows and columns of a step of the field.
const ROWS: u64 = 721;
const COLUMNS: u64 = 1440;

/// Rows of a chunk: it is one step deep and has all columns, 1.04 MB.
const CHUNK_ROWS: u64 = 181;

/// The runs: a name, and its program. The second of a pair is configured for 64 concurrent requests; the default is 10
/// in zarr-python and 32 in tensorstore.
const PROGRAMS: [&str; 5] = ["ncz", "zarr-python", "zarr-python 64", "tensorstore", "tensorstore 64"];

struct Options {
    steps: u64,
    rounds: usize,
    codecs: Vec<String>,
    latencies: Vec<u64>,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.first().map(String::as_str) {
        Some("serve") => turn::serve(Duration::from_millis(args[1].parse()?)),
        Some("turn") => ours::run(&args[1..]),
        _ => compare(&Options::parse(&args)?),
    }
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            steps: 60,
            rounds: 3,
            codecs: vec!["none".to_owned(), "blosc-lz4-5".to_owned()],
            latencies: vec![0, 20],
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
            match arg.as_str() {
                "--steps" => options.steps = value.parse()?,
                "--rounds" => options.rounds = value.parse()?,
                "--codec" => options.codecs = vec![value.clone()],
                "--latency" => options.latencies = vec![value.parse()?],
                other => return Err(format!("unknown option {other}").into()),
            }
        }
        Ok(options)
    }
}

fn compare(options: &Options) -> Result<()> {
    let python = python().map_err(|skip| format!("{skip:?}"))?;
    let folder = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "." })?;
    let field = folder.path().join("field.f32");
    make_field(&field, options.steps)?;
    println!("{} steps of {ROWS} x {COLUMNS} float32, chunks of 1 x {CHUNK_ROWS} x {COLUMNS}", options.steps);
    for codec in &options.codecs {
        for &latency in &options.latencies {
            let mut table = Table::new(codec, latency, options.steps);
            for round in 0..options.rounds {
                let service = Service::start(latency)?;
                let turn =
                    Turn { service: &service, python: &python, field: &field, steps: options.steps, codec };
                for direction in ["write", "read"] {
                    for place in 0..PROGRAMS.len() {
                        let program = PROGRAMS[(place + round) % PROGRAMS.len()];
                        table.add(program, direction, turn.take(program, direction)?);
                    }
                }
                table.add("ncz", "copy", turn.take("ncz", "copy")?);
                // The cost of all that without a service.
                for direction in ["write", "read"] {
                    table.add(
                        "ncz, folder",
                        direction,
                        turn.in_folder(&folder.path().join("local"), direction)?,
                    );
                }
            }
            print!("{table}");
        }
    }
    Ok(())
}

/// Waves that drift, rounded to 0.01, as `host/benches/field.rs` has them.
fn make_field(path: &Path, steps: u64) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    let mut drift = 0.0f64;
    for t in 0..steps {
        for y in 0..ROWS {
            let lat = (y as f64 / 720.0 - 0.5) * std::f64::consts::PI;
            for x in 0..COLUMNS {
                let lon = x as f64 / 1440.0 * std::f64::consts::TAU;
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                drift = drift * 0.995 + ((noise >> 40) as f64 / f64::from(1 << 24) - 0.5) * 0.05;
                let waves =
                    (3.0 * lon + 2.0 * lat + 0.1 * t as f64).sin() * 4.0 + (7.0 * lon - 0.2 * t as f64).cos();
                let value = 273.15 + 30.0 * lat.cos().powi(2) + lat.cos() * waves + drift;
                file.write_all(&(((value * 100.0).round() / 100.0) as f32).to_le_bytes())?;
            }
        }
    }
    Ok(file.flush()?)
}
