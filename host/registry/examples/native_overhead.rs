//! Measures the cost of a call through the native face and through the C face, compared with a direct call.
//!
//! `cargo build -p ncz-codec --example rle --release`, then
//! `cargo run -p ncz-registry --example native_overhead --release -- target/release/examples/librle.so`.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ncz_codec::{AnyCoder, CodecType, Erased};
use ncz_registry::load::{self, ForeignCodec};

#[path = "../../../codec-api/tests/faces/rle.rs"]
mod rle;

const CALLS: u32 = 1_000_000;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: native_overhead <librle.so>");
        return ExitCode::from(2);
    };
    match run(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let library = load::open(path)?;
    let native = library.native()?.into_iter().next().ok_or("no native codec")?.coder(&[0])?;
    let half = library.hdf5().ok_or("no HDF5 filter")??;
    let foreign = ForeignCodec::new(Some(std::sync::Arc::new(half)), None).coder(&[0])?;
    let direct = Erased::<rle::Rle>::new().coder(&[0])?;
    // One run of one byte, and 64 of them, which do not fit the block that they come in.
    for (what, stream, len) in [("1 byte", &[1, 7][..], 1), ("16320 bytes", &[255, 7].repeat(64)[..], 16_320)]
    {
        let base = nanoseconds(direct.as_ref(), stream, len)?;
        println!("decode {what}: direct {base:.1} ns");
        for (name, coder) in [("native face", &native), ("C face", &foreign)] {
            println!("  {name}: {:.1} ns more", nanoseconds(coder.as_ref(), stream, len)? - base);
        }
    }
    Ok(())
}

/// The time of one call, the best of five rounds.
fn nanoseconds(coder: &dyn AnyCoder, stream: &[u8], len: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let mut scratch = coder.scratch();
    let mut output = vec![0; len];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..CALLS / 5 {
            let got = coder.decode(&mut scratch, black_box(stream), black_box(&mut output))?;
            if got != len {
                return Err(format!("{got} bytes instead of {len}").into());
            }
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS / 5));
    }
    Ok(best)
}
