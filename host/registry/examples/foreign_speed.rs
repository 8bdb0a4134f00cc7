//! Compares the speed of foreign filters in this crate with a bare loop over the filter function.
//!
//! `cargo run --release -p ncz-registry --features probe --example foreign_speed -- <folder of plugins>`
//!
//! Both sides alternate, so that other load affects both; the result is the median of the ratios.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz_codec::{Container, Dtype, Env, Kind};
use ncz_registry::chain::{FilterChain, Stage};
use ncz_registry::load::{self, ForeignCodec, Hdf5Filter};

use ncz_codec::CodecType;

const FILTERS: [(&str, &[u32]); 4] = [
    ("libh5lz4.so", &[]),
    ("libh5zstd.so", &[3]),
    ("libh5blosc.so", &[0, 0, 0, 0, 5, 1, 1]),
    ("libh5bshuf.so", &[0, 2]),
];
const SIZES: [usize; 3] = [64 << 10, 1 << 20, 8 << 20];
const PAIRS: usize = 15;
/// The run time of one side of a pair.
const SIDE: Duration = Duration::from_millis(12);

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: foreign_speed FOLDER");
        return ExitCode::from(2);
    };
    println!(
        "{:14} {:>9} {:>8} {:>10} {:>10} {:>6}",
        "library", "chunk", "", "bare MB/s", "here MB/s", "ratio"
    );
    for (name, given) in FILTERS {
        for size in SIZES {
            if let Err(error) = measure(&Path::new(&folder).join(name), given, size) {
                println!("{name}: {error}");
            }
        }
    }
    ExitCode::SUCCESS
}

fn measure(path: &Path, given: &[u32], size: usize) -> Result<(), Box<dyn std::error::Error>> {
    let half = load::open(path)?.hdf5().ok_or("no filter")??;
    let codec = ForeignCodec::new(Some(Arc::new(half.clone())), None);
    let shape = vec![size as u64 / 4];
    let dtype = Dtype::little(Kind::Float, 4);
    let env = Env { dtype, array_shape: shape.clone(), chunk_shape: shape, container: Container::ZarrV2 };
    let stage = Stage {
        info: codec.info().clone(),
        config: codec.parse_params(given)?,
        origin: "plugin".to_owned(),
        notes: Vec::new(),
    };
    let chain = FilterChain::bind(&[stage], &env)?;
    let params = chain.working()[0].1.to_vec();
    let chunk: Vec<u8> =
        (0..size / 4).flat_map(|i| ((i as f32 / 500.0).sin() * 1000.0).round().to_le_bytes()).collect();
    let mut scratch = chain.scratch();
    let stored = chain.encode(&mut scratch, &chunk)?.to_vec();
    let mut back = vec![0; size];
    let here = |decodes: bool, rounds: usize| -> Result<Duration, Box<dyn std::error::Error>> {
        let start = Instant::now();
        for _ in 0..rounds {
            if decodes {
                chain.decode(0, &mut scratch, &stored, &mut back)?;
            } else {
                std::hint::black_box(chain.encode(&mut scratch, &chunk)?);
            }
        }
        Ok(start.elapsed())
    };
    let mut here = here;
    for decodes in [false, true] {
        let (flags, input) = if decodes { (0x0100, &stored) } else { (0, &chunk) };
        let (ratio, bare, ours) = pairs(&half, flags, &params, input, |rounds| here(decodes, rounds))?;
        let speed = |time: f64| size as f64 / 1e6 / time;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let direction = if decodes { "decode" } else { "encode" };
        println!(
            "{name:14} {size:>9} {direction:>8} {:>10.0} {:>10.0} {ratio:>6.2}",
            speed(bare),
            speed(ours)
        );
    }
    Ok(())
}

/// The median ratio of bare to own time, and the median times of a call.
fn pairs(
    half: &Hdf5Filter,
    flags: u32,
    params: &[u32],
    input: &[u8],
    mut here: impl FnMut(usize) -> Result<Duration, Box<dyn std::error::Error>>,
) -> Result<(f64, f64, f64), Box<dyn std::error::Error>> {
    let once = half.bare_calls(flags, params, input, 2)?.time / 2;
    let rounds = (SIDE.as_nanos() / once.as_nanos().max(1)).clamp(1, 10_000) as usize;
    let (mut ratios, mut bares, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let one = || -> Result<f64, Box<dyn std::error::Error>> {
            Ok(half.bare_calls(flags, params, input, rounds)?.time.as_secs_f64() / rounds as f64)
        };
        let (bare, own) = if pair % 2 == 0 {
            let bare = one()?;
            (bare, here(rounds)?.as_secs_f64() / rounds as f64)
        } else {
            let own = here(rounds)?.as_secs_f64() / rounds as f64;
            (one()?, own)
        };
        ratios.push(bare / own);
        bares.push(bare);
        ours.push(own);
    }
    Ok((median(ratios), median(bares), median(ours)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
