//! Measures the cost of worker processes, and the gain of two of them.
//!
//! ```text
//! cargo build --release -p ncz-registry --examples
//! target/release/examples/isolation_speed <site-packages>/hdf5plugin/plugins [seconds]
//! ```
//!
//! Chunks go through lz4, zstd, blosc and bitshuffle of a folder with HDF5 plugins, in this process and in a worker in
//! turns; then, in turns too, one thread with one worker and two threads with two.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz_codec::{AnyCoder, Scratch};
use ncz_registry::isolate::{Isolation, Which};
use ncz_registry::registry::Registry;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Number, name, working parameters for a chunk of this many bytes of float32.
type Filter = (u32, &'static str, fn(u32) -> Vec<u32>);
const FILTERS: [Filter; 4] = [
    (32_004, "lz4", |_| vec![]),
    (32_015, "zstd 3", |_| vec![3]),
    (32_001, "blosc lz4", |len| vec![2, 2, 4, len, 5, 1, 1]),
    (32_008, "bshuf lz4", |_| vec![0, 4, 4, 0, 2]),
];
const SIZES: [usize; 3] = [64 << 10, 1 << 20, 4 << 20];
/// The rounds of each pair; the median counts.
const ROUNDS: usize = 7;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let seconds = arguments.get(1).map_or(Some(60.0), |text| text.to_str()?.parse::<f64>().ok());
    let (Some(folder), Some(seconds)) = (arguments.first(), seconds) else {
        eprintln!("usage: isolation_speed FOLDER [SECONDS]");
        return ExitCode::from(2);
    };
    match run(Path::new(folder), seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, seconds: f64) -> Result<(), Failure> {
    let worker = std::env::current_exe()?.with_file_name("worker");
    let begin = Instant::now();
    let here = registry(folder, Isolation::default());
    let (files, opening) = (here.report().files().count(), begin.elapsed());
    let begin = Instant::now();
    let one = registry(folder, isolation(&worker, 1));
    println!("{files} files, searched in {opening:.1?} here, in {:.1?} with a worker each", {
        one.report();
        begin.elapsed()
    });
    let two = registry(folder, isolation(&worker, 2));
    // Every timing is one of this many.
    let timings = (FILTERS.len() * SIZES.len() * 4 * ROUNDS) as f64;
    let slice = Duration::from_secs_f64(seconds / timings);
    println!(
        "{:10} {:>8}  {:>31}  {:>31}  {:>24}",
        "", "", "encode MB/s here, isolated", "decode MB/s here, isolated", "two workers / one"
    );
    for (id, name, params) in FILTERS {
        for size in SIZES {
            let words = params(size as u32);
            let coder = |registry: &Registry| Ok::<_, Failure>(registry.by_id(id)?.codec().coder(&words)?);
            let (here, one, two) = (coder(&here)?, coder(&one)?, coder(&two)?);
            let chunk = chunk(size);
            let mut stream = vec![0; size + size / 8 + (64 << 10)];
            let len = here.encode(&mut here.scratch(), &chunk, &mut stream)?;
            let stream = &stream[..len];
            let mut encode = [Vec::new(), Vec::new()];
            let mut decode = [Vec::new(), Vec::new()];
            let mut pair = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for (times, coder) in encode.iter_mut().zip([&here, &one]) {
                    let mut output = vec![0; size + size / 8 + (64 << 10)];
                    times.push(rate(size, slice, || {
                        coder.encode(&mut Scratch::new(()), &chunk, &mut output)
                    })?);
                }
                for (times, coder) in decode.iter_mut().zip([&here, &one]) {
                    let mut output = vec![0; size];
                    times.push(rate(size, slice, || {
                        coder.decode(&mut Scratch::new(()), stream, &mut output)
                    })?);
                }
                for (times, (coder, threads)) in pair.iter_mut().zip([(&one, 1), (&two, 2)]) {
                    times.push(from_threads(threads, coder, stream, size, slice)?);
                }
            }
            let [encode, decode] = [encode, decode].map(|[here, one]| {
                format!("{:>9.0} {:>9.0} {:>6.2}", median(&here), median(&one), ratio(&one, &here))
            });
            let [one, two] = pair;
            let gain = format!("{:>9.0} {:>9.0} {:>5.2}", median(&one), median(&two), ratio(&two, &one));
            println!("{name:10} {:>5} KiB  {encode:>31}  {decode:>31}  {gain:>24}", size >> 10);
        }
    }
    Ok(())
}

fn registry(folder: &Path, isolation: Isolation) -> Registry {
    Registry::builder().plugin_path(vec![folder.to_owned()]).builtins(false).isolation(isolation).build()
}

fn isolation(worker: &Path, workers: usize) -> Isolation {
    let worker: Option<PathBuf> = Some(worker.to_owned());
    Isolation { which: Which::Foreign, worker, workers: NonZeroUsize::new(workers), ..Isolation::default() }
}

/// A smooth field of float32 with a little noise in the last bits.
fn chunk(size: usize) -> Vec<u8> {
    let value = |i: usize| {
        let (x, noise) = (i as f32 / 500.0, (i as u32).wrapping_mul(2_654_435_761) >> 24);
        280.0 + 10.0 * x.sin() + noise as f32 / 4096.0
    };
    (0..size / 4).flat_map(|i| value(i).to_le_bytes()).collect()
}

/// Megabytes of chunks in a second.
fn rate<E>(size: usize, slice: Duration, mut call: impl FnMut() -> Result<usize, E>) -> Result<f64, E> {
    call()?;
    let begin = Instant::now();
    let mut calls = 0;
    while begin.elapsed() < slice {
        call()?;
        calls += 1;
    }
    Ok(f64::from(calls) * size as f64 / 1e6 / begin.elapsed().as_secs_f64())
}

/// Returns the megabytes per second that this many threads decode.
fn from_threads(
    threads: usize,
    coder: &Arc<dyn AnyCoder>,
    stream: &[u8],
    size: usize,
    slice: Duration,
) -> Result<f64, Failure> {
    let decode = || {
        let mut output = vec![0; size];
        rate(size, slice, || coder.decode(&mut Scratch::new(()), stream, &mut output))
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(decode)).collect();
        let rates =
            threads.into_iter().map(|thread| Ok(thread.join().map_err(|_| "a thread panicked")??));
        rates.sum::<Result<f64, Failure>>()
    })
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Returns the median of the pairs' results.
fn ratio(of: &[f64], to: &[f64]) -> f64 {
    median(&of.iter().zip(to).map(|(of, to)| of / to).collect::<Vec<_>>())
}
