//! Verifying a 250 MB field against the bare decode loop.
//!
//!     cargo bench -p ncz --bench verify                      ratios: verify / bare decode loop
//!     cargo bench -p ncz --bench verify -- --codec zstd-3 --threads 2 --pairs 31
//!
//! The field is that of `field.rs`: 60 x 721 x 1440 float32 in chunks of 1 x 721 x 1440, in a folder on a memory file
//! system (`--dir`, default `/dev/shm`). The bare loop runs the same coders over the same chunks in memory into one
//! warm buffer a thread, on the same number of threads; both sides take turns (A B A B), and the median of the ratios
//! is printed. `verify` reads the chunks from the file system, the metadata twice, and lists the folders besides.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ncz::model::{
    ByteOrder, Elements, Format, Hierarchy, NcType, NewFill, Pool, Session, Slab, VariableBuilder,
};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, CreateOptions, FileStore};
use ncz::verify::{VerifyOptions, verify};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SHAPE: [u64; 3] = [60, 721, 1440];
const CHUNK_BYTES: usize = 721 * 1440 * 4;
const FIELD_BYTES: usize = 60 * CHUNK_BYTES;

/// Name in the table, and the chain.
const CODECS: [(&str, &str); 4] = [
    ("shuffle+zlib-4", r#"[{"id":"shuffle","elementsize":4},{"id":"zlib","level":4}]"#),
    ("zstd-3", r#"{"id":"zstd","level":3}"#),
    ("blosc-lz4-5", r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#),
    ("blosc-zstd-5", r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1}"#),
];

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (mut dir, mut pairs, mut threads, mut only) = (PathBuf::from("/dev/shm"), 15, vec![1, 2], None);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--bench" => {}
            "--dir" => dir = PathBuf::from(value()?),
            "--codec" => only = Some(value()?),
            "--pairs" => pairs = value()?.parse()?,
            "--threads" => threads = vec![value()?.parse()?],
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let folder = tempfile::tempdir_in(dir)?;
    let field = made_field();
    println!("| codec | threads | verify MB/s | verify / bare | quartiles |");
    println!("| --- | --- | --- | --- | --- |");
    for threads in threads {
        for (name, codec) in
            CODECS.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name))
        {
            let path = folder.path().join("field.zarr");
            let (session, chain) = write(&path, codec, threads, &field)?;
            let chunks = (0..SHAPE[0])
                .map(|t| Ok(std::fs::read(path.join(format!("v/{t}.0.0")))?))
                .collect::<Result<Vec<_>>>()?;
            let (mut ours, mut ratios) = (Vec::new(), Vec::new());
            // The first pair warms both sides.
            for pair in 0..=pairs {
                let verified = timed(|| whole(&path, &session))?;
                let bare = timed(|| bare_decode(&chain, &chunks, threads))?;
                if pair > 0 {
                    ours.push(verified);
                    ratios.push(verified / bare);
                }
            }
            println!(
                "| {name} | {threads} | {:.0} | {:.3} | {:.3} to {:.3} |",
                FIELD_BYTES as f64 / 1e6 / quantile(&ours, 0.5),
                quantile(&ratios, 0.5),
                quantile(&ratios, 0.25),
                quantile(&ratios, 0.75),
            );
            std::fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// Opens and verifies, as the command does.
fn whole(path: &Path, session: &Session) -> Result<()> {
    let store = FileStore::open(path, Access::Read)?;
    let dataset = Dataset::open(Arc::new(store), session.clone(), &ReadOptions::default())?;
    let report = verify(&dataset, &VerifyOptions::default(), &())?;
    let sound = report.is_sound() && report.variables.iter().all(|variable| variable.chunks == SHAPE[0]);
    if sound { Ok(()) } else { Err(format!("not sound: {:?}", report.findings).into()) }
}

/// Only the codecs, from chunks in memory to a warm buffer of each thread.
fn bare_decode(chain: &FilterChain, chunks: &[Vec<u8>], threads: usize) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> std::result::Result<(), String> {
        let mut scratch = chain.scratch();
        let mut out = vec![0; CHUNK_BYTES];
        while let Some(stored) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
            chain.decode(0, &mut scratch, stored, &mut out).map_err(|error| error.to_string())?;
            std::hint::black_box(&out);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let spawned: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        spawned.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result.map_err(Into::into),
            Err(_) => Err("a thread panicked".into()),
        })
    })
}

fn write(path: &Path, codec: &str, threads: usize, field: &[u8]) -> Result<(Session, FilterChain)> {
    let session = Session::new(Arc::new(Registry::builder().build()), Pool::with_threads(threads)?);
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for (name, len) in ["t", "y", "x"].into_iter().zip(SHAPE) {
        hierarchy.add_dimension("/", name, len, false)?;
    }
    let new = VariableBuilder::new("v", NcType::Float)
        .dimensions(["t", "y", "x"])
        .chunks([1, SHAPE[1], SHAPE[2]])
        .byte_order(ByteOrder::Little)
        .fill(NewFill::None);
    let variable = hierarchy.add_variable("/", new)?;
    let chain = session.define(variable, Format::NCZARR, &ChainSpec::parse(codec)?)?;
    let store = Arc::new(FileStore::create(path, CreateOptions::new())?);
    let dataset = Dataset::create(store, hierarchy, session.clone(), false)?;
    dataset.array("/v")?.write_bytes(&Slab::whole(&SHAPE), Elements::Native, field)?;
    dataset.finish()?;
    Ok((session, chain))
}

/// Waves that drift, rounded to 0.01, as in `field.rs`.
fn made_field() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FIELD_BYTES);
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    let mut drift = 0.0f64;
    for t in 0..SHAPE[0] {
        for y in 0..SHAPE[1] {
            let lat = (y as f64 / 720.0 - 0.5) * std::f64::consts::PI;
            for x in 0..SHAPE[2] {
                let lon = x as f64 / 1440.0 * std::f64::consts::TAU;
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                drift = drift * 0.995 + ((noise >> 40) as f64 / f64::from(1 << 24) - 0.5) * 0.05;
                let waves =
                    (3.0 * lon + 2.0 * lat + 0.1 * t as f64).sin() * 4.0 + (7.0 * lon - 0.2 * t as f64).cos();
                let value = 273.15 + 30.0 * lat.cos().powi(2) + lat.cos() * waves + drift;
                bytes.extend((((value * 100.0).round() / 100.0) as f32).to_le_bytes());
            }
        }
    }
    bytes
}

fn timed(action: impl FnOnce() -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    action()?;
    Ok(started.elapsed().as_secs_f64())
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}
