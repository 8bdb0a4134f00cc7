//! Megabytes a second of this coder and of rust-hdf5's port of libaec, on smooth data.
//!
//! `cargo run --release -p ncz-szip --example speed`

use std::time::Instant;

use ncz_szip::{Scratch, SzError, SzParams, option};
use rust_hdf5::format::szip;

/// Pixels of a chunk. A multiple of 3, which the other coder requires for 20 bits.
const PIXELS: usize = 3 << 18;

fn main() -> Result<(), SzError> {
    println!("{:28} {:>6} {:>15} {:>15}", "", "ratio", "encode MB/s", "decode MB/s");
    let field: Vec<f64> = field().collect();
    let f32s: Vec<u8> = field.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
    let f64s: Vec<u8> = field.iter().flat_map(|v| v.to_le_bytes()).collect();
    let i16s: Vec<u8> = field.iter().flat_map(|v| ((v * 40.0) as i16).to_le_bytes()).collect();
    let i32s: Vec<u8> = field.iter().flat_map(|v| ((v * 4e4) as i32).to_le_bytes()).collect();
    let u8s: Vec<u8> = field.iter().map(|v| (v * 0.4) as u8).collect();
    let u20s: Vec<u8> = field.iter().flat_map(|v| ((v * 3e3) as u32).to_le_bytes()).collect();
    for (name, bits, data) in [
        ("f32", 32, f32s),
        ("f64", 64, f64s),
        ("i32", 32, i32s),
        ("i16", 16, i16s),
        ("u8", 8, u8s),
        ("u20", 20, u20s),
    ] {
        for (coder, mask) in [("nn", option::NN), ("ec", option::EC)] {
            for block in [8, 32] {
                let name = format!("{name} {coder} block {block}");
                measure(&name, SzParams::new(mask, block, bits, 128 * block)?, &data)?;
            }
        }
    }
    Ok(())
}

fn measure(name: &str, params: SzParams, data: &[u8]) -> Result<(), SzError> {
    let [mask, block, bits, scanline] = params.cd_values();
    let mut scratch = Scratch::default();
    let mut encoded = vec![0; params.max_encoded_len(data.len()).unwrap_or(usize::MAX)];
    let mut decoded = vec![0; data.len()];
    let mut len = 0;
    let encode = rate(data.len(), || len = params.encode(&mut scratch, data, &mut encoded).unwrap_or(0));
    let encoded = &encoded[..len];
    let decode = rate(data.len(), || {
        let _ = params.decode(&mut scratch, encoded, &mut decoded);
    });
    assert!(decoded == data, "{name}: decoded data differ");
    let other = szip::compress(data, bits, block, scanline, mask).unwrap_or_default();
    assert!(other == encoded, "{name}: streams differ");
    let other_encode = rate(data.len(), || {
        let _ = szip::compress(data, bits, block, scanline, mask);
    });
    let other_decode = rate(data.len(), || {
        let _ = szip::decompress(encoded, data.len(), bits, block, scanline, mask);
    });
    let ratio = data.len() as f64 / len as f64;
    println!(
        "{name:28} {ratio:6.2} {encode:6.0} /{other_encode:4.0} {:3.1}x {decode:6.0} /{other_decode:4.0} {:3.1}x",
        encode / other_encode,
        decode / other_decode,
    );
    Ok(())
}

/// The best of some runs.
fn rate(bytes: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    bytes as f64 / best / 1e6
}

/// A smooth field with some noise.
fn field() -> impl Iterator<Item = f64> {
    let mut seed = 1u64;
    (0..PIXELS).map(move |i| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let noise = (seed >> 40) as f64 / (1u64 << 24) as f64;
        let x = i as f64;
        280.0 + 30.0 * (x / 3000.0).sin() + 5.0 * (x / 170.0).cos() + 0.05 * noise
    })
}
