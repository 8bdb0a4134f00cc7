//! Compares candidate libraries for the deflate codec, on one chunk of a smooth float field.
//!
//! `cargo run --release -p ncz-deflate --example candidates`

#![allow(clippy::unwrap_used, reason = "a program for its authors")]

use std::time::{Duration, Instant};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use ncz_codec::{Codec, Coder};
use ncz_deflate::Deflate;

const ROWS: usize = 721;
const COLUMNS: usize = 1440;
const ROUNDS: usize = 5;

fn main() {
    let plain = field();
    let shuffled = shuffle(&plain);
    println!("one chunk of {} bytes; median of {ROUNDS} rounds, warm buffers, one thread", plain.len());
    println!(
        "{:<10} {:<9} {:>5} {:>7} {:>12} {:>14}",
        "library", "data", "level", "ratio", "encode MB/s", "decode MB/s"
    );
    for (name, data) in [("plain", &plain), ("shuffled", &shuffled)] {
        for level in [1, 4, 6, 9] {
            report("libdeflate", name, level, data, libdeflate(level, data));
            report("zlib-rs", name, level, data, zlib_rs(level, data));
        }
    }
}

struct Run {
    encoded: usize,
    encode: Duration,
    decode: Duration,
}

fn report(library: &str, data: &str, level: u32, input: &[u8], run: Run) {
    let size = input.len() as f64;
    let speed = |time: Duration| size / time.as_secs_f64() / 1e6;
    let ratio = size / run.encoded as f64;
    let (encode, decode) = (speed(run.encode), speed(run.decode));
    println!("{library:<10} {data:<9} {level:>5} {ratio:>7.2} {encode:>12.0} {decode:>14.0}");
}

fn libdeflate(level: u32, data: &[u8]) -> Run {
    let coder = Deflate::coder(&[level]).unwrap();
    let mut scratch = coder.scratch();
    let mut stream = vec![0; coder.max_encoded_len(data.len()).unwrap()];
    let mut back = vec![0; data.len()];
    let mut encoded = 0;
    let encode = median(|| encoded = coder.encode(&mut scratch, data, &mut stream).unwrap());
    let decode =
        median(|| assert_eq!(coder.decode(&mut scratch, &stream[..encoded], &mut back), Ok(data.len())));
    assert_eq!(back, data);
    Run { encoded, encode, decode }
}

fn zlib_rs(level: u32, data: &[u8]) -> Run {
    let mut compress = Compress::new(Compression::new(level), true);
    let mut decompress = Decompress::new(true);
    let mut stream = vec![0; data.len() + data.len() / 100 + 100];
    let mut back = vec![0; data.len()];
    let mut encoded = 0;
    let encode = median(|| {
        compress.reset();
        compress.compress(data, &mut stream, FlushCompress::Finish).unwrap();
        encoded = compress.total_out() as usize;
    });
    let decode = median(|| {
        decompress.reset(true);
        decompress.decompress(&stream[..encoded], &mut back, FlushDecompress::Finish).unwrap();
    });
    assert_eq!(back, data);
    Run { encoded, encode, decode }
}

fn median(mut work: impl FnMut()) -> Duration {
    work();
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

/// Temperatures like those of a model: waves of several lengths and a little noise, rounded to 0.01.
fn field() -> Vec<u8> {
    let mut noise = 1_u32;
    let mut bytes = Vec::with_capacity(ROWS * COLUMNS * 4);
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let (y, x) = (row as f32 / ROWS as f32 * 3.2, column as f32 / COLUMNS as f32 * 6.3);
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let grain = (noise >> 16) as f32 / 65536.0 - 0.5;
            let value =
                288.0 - 30.0 * (y - 1.6).abs() + 6.0 * (2.0 * x + y).sin() + 2.0 * (9.0 * x - 5.0 * y).cos();
            bytes.extend((((value + 0.1 * grain) * 100.0).round() / 100.0).to_le_bytes());
        }
    }
    bytes
}

fn shuffle(data: &[u8]) -> Vec<u8> {
    (0..4).flat_map(|plane| data.iter().skip(plane).step_by(4).copied()).collect()
}
