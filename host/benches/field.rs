//! Reading and writing a 250 MB field against the bare codec loop.
//!
//!     cargo bench -p ncz --bench field                       ratios: whole variable / bare codec loop
//!     cargo bench -p ncz --bench field -- --rows FIELD       one JSON line for each codec and direction
//!
//! The field: 60 x 721 x 1440 float32, smooth, rounded to 0.01, chunks of 1 x 721 x 1440, in a folder on a
//! memory file system (`--dir`, default `/dev/shm`). `FIELD` is a file of raw little-endian values, as
//! `tests/support/bench/peers.py --field-only` makes it. The bare loop runs the same coders over the same
//! chunks in memory, on the same number of threads; both sides take turns (A B A B), and the median of the
//! ratios is printed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ncz::model::{
    ByteOrder, Elements, Format, Hierarchy, NcType, NewFill, Pool, Session, Slab, VariableBuilder,
};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;
use ncz::store::{CreateOptions, FileStore};
use ncz::zarr::Dataset;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SHAPE: [u64; 3] = [60, 721, 1440];
const CHUNK_BYTES: usize = 721 * 1440 * 4;
const FIELD_BYTES: usize = 60 * CHUNK_BYTES;

type Codec = (&'static str, &'static str);

/// Name in the table, and the chain.
const CODECS: [Codec; 5] = [
    ("none", "[]"),
    ("shuffle+zlib-4", r#"[{"id":"shuffle","elementsize":4},{"id":"zlib","level":4}]"#),
    ("zstd-3", r#"{"id":"zstd","level":3}"#),
    ("blosc-lz4-5", r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#),
    ("blosc-zstd-5", r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1}"#),
];

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (mut rows, mut dir, mut pairs, mut threads) = (None, PathBuf::from("/dev/shm"), 15, vec![1, 2]);
    let mut only = None;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--bench" => {}
            "--rows" => rows = Some(PathBuf::from(value()?)),
            "--dir" => dir = PathBuf::from(value()?),
            "--codec" => only = Some(value()?),
            "--pairs" => pairs = value()?.parse()?,
            "--threads" => threads = vec![value()?.parse()?],
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let folder = tempfile::tempdir_in(dir)?;
    let codecs: Vec<_> =
        CODECS.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)).collect();
    match rows {
        Some(path) => print_rows(
            &codecs,
            &std::fs::read(path)?,
            folder.path(),
            threads.last().copied().unwrap_or(2),
            pairs,
        ),
        None => print_ratios(&codecs, &made_field(), folder.path(), &threads, pairs),
    }
}

/// Waves that drift, rounded to 0.01.
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
                // A slow random walk represents weather between the waves.
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

fn print_ratios(
    codecs: &[Codec],
    field: &[u8],
    folder: &Path,
    threads: &[usize],
    pairs: usize,
) -> Result<()> {
    println!("| codec | threads | write MB/s | write / bare | read MB/s | read / bare | ratio |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for &threads in threads {
        for (name, codec) in codecs.iter().filter(|(name, _)| *name != "none") {
            let bench = Bench::new(folder, codec, threads)?;
            let mut out = vec![0; FIELD_BYTES];
            bench.write(field)?;
            let chunks = bench.stored_chunks()?;
            let stored: usize = chunks.iter().map(Vec::len).sum();
            bench.read(&mut out)?;
            assert!(out == field, "{name}: what was read is not what was written");
            let (mut write, mut bare_write, mut read, mut bare_read) = (vec![], vec![], vec![], vec![]);
            for _ in 0..pairs {
                write.push(timed(|| bench.write(field))?);
                bare_write.push(timed(|| bare_encode(&bench.chain, field, threads))?);
                read.push(timed(|| bench.read(&mut out))?);
                bare_read.push(timed(|| bare_decode(&bench.chain, &chunks, &mut out, threads))?);
            }
            let ratios =
                |ours: &[f64], bare: &[f64]| ours.iter().zip(bare).map(|(a, b)| a / b).collect::<Vec<_>>();
            let speed = |seconds: &[f64]| FIELD_BYTES as f64 / 1e6 / median(seconds);
            println!(
                "| {name} | {threads} | {:.0} | {:.3} | {:.0} | {:.3} | {:.2} |",
                speed(&write),
                median(&ratios(&write, &bare_write)),
                speed(&read),
                median(&ratios(&read, &bare_read)),
                FIELD_BYTES as f64 / stored as f64,
            );
        }
    }
    Ok(())
}

fn print_rows(codecs: &[Codec], field: &[u8], folder: &Path, threads: usize, runs: usize) -> Result<()> {
    for (name, codec) in codecs {
        let bench = Bench::new(folder, codec, threads)?;
        let mut out = vec![0; FIELD_BYTES];
        let (mut write, mut read) = (vec![], vec![]);
        for _ in 0..runs {
            // A fresh dataset each time, as the peers make one.
            std::fs::remove_dir_all(&bench.path)?;
            let started = Instant::now();
            let fresh = Bench::new(folder, codec, threads)?;
            fresh.write(field)?;
            write.push(started.elapsed().as_secs_f64());
            let started = Instant::now();
            fresh.reopened()?.read_bytes(&Slab::whole(&SHAPE), Elements::Native, &mut out)?;
            read.push(started.elapsed().as_secs_f64());
            assert!(out == field, "{name}: what was read is not what was written");
        }
        let bytes: u64 = bench.stored_chunks()?.iter().map(|chunk| chunk.len() as u64).sum();
        for (op, seconds) in [("write", &write), ("read", &read)] {
            let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            println!(
                r#"{{"peer": "ncz", "codec": "{name}", "op": "{op}", "seconds": {}, "best": {best}, "runs": {runs}, "threads": {threads}, "bytes": {bytes}, "raw_bytes": {FIELD_BYTES}, "into": "caller", "version": "{}"}}"#,
                median(seconds),
                env!("CARGO_PKG_VERSION"),
            );
        }
    }
    Ok(())
}

/// One variable in a directory.
struct Bench {
    path: PathBuf,
    array: ncz::model::Array,
    chain: FilterChain,
    session: Session,
}

impl Bench {
    fn new(folder: &Path, codec: &str, threads: usize) -> Result<Self> {
        let path = folder.join("field.zarr");
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        let session =
            Session::new(std::sync::Arc::new(Registry::builder().build()), Pool::with_threads(threads)?);
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
        let store = std::sync::Arc::new(FileStore::create(&path, CreateOptions::new())?);
        Dataset::create(store, hierarchy, session.clone(), false)?.finish()?;
        let mut bench = Self { array: Self::open(&path, &session)?, path, chain, session };
        bench.array = bench.reopened()?;
        Ok(bench)
    }

    fn open(path: &Path, session: &Session) -> Result<ncz::model::Array> {
        // Peers do not flush each chunk to the disk either.
        let store = FileStore::open(path, ncz::store::Access::ReadWrite)?
            .with_durability(ncz::store::Durability::Process);
        let options = ncz::zarr::metadata::ReadOptions::default();
        Ok(Dataset::open(std::sync::Arc::new(store), session.clone(), &options)?.array("/v")?)
    }

    fn reopened(&self) -> Result<ncz::model::Array> {
        Self::open(&self.path, &self.session)
    }

    fn write(&self, field: &[u8]) -> Result<()> {
        Ok(self.array.write_bytes(&Slab::whole(&SHAPE), Elements::Native, field).map(drop)?)
    }

    fn read(&self, out: &mut [u8]) -> Result<()> {
        Ok(self.array.read_bytes(&Slab::whole(&SHAPE), Elements::Native, out)?)
    }

    fn stored_chunks(&self) -> Result<Vec<Vec<u8>>> {
        (0..SHAPE[0]).map(|t| Ok(std::fs::read(self.path.join(format!("v/{t}.0.0")))?)).collect()
    }
}

/// Only the codecs, from chunk to a warm buffer.
fn bare_encode(chain: &FilterChain, field: &[u8], threads: usize) -> Result<()> {
    let next = AtomicUsize::new(0);
    in_threads(threads, || {
        let mut scratch = chain.scratch();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed) * CHUNK_BYTES;
            if at >= FIELD_BYTES {
                return Ok(());
            }
            std::hint::black_box(chain.encode(&mut scratch, &field[at..at + CHUNK_BYTES])?);
        }
    })
}

/// Only the codecs, from chunks in memory to the caller's buffer.
fn bare_decode(chain: &FilterChain, chunks: &[Vec<u8>], out: &mut [u8], threads: usize) -> Result<()> {
    let work = Mutex::new(chunks.iter().zip(out.chunks_exact_mut(CHUNK_BYTES)));
    in_threads(threads, || {
        let mut scratch = chain.scratch();
        loop {
            let next = work.lock().map_err(|_| "a thread panicked")?.next();
            let Some((stored, chunk)) = next else { return Ok(()) };
            chain.decode(0, &mut scratch, stored, chunk)?;
        }
    })
}

fn in_threads(threads: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let run = || work().map_err(|error| error.to_string());
        let spawned: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        spawned.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result.map_err(Into::into),
            Err(_) => Err("a thread panicked".into()),
        })
    })
}

fn timed(action: impl FnOnce() -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    action()?;
    Ok(started.elapsed().as_secs_f64())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
