//! Moving more chunks allocates no more: each thread uses its buffers and contexts again. Copying more variables
//! holds no more.

use std::alloc::System;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ncz::copy::{Codecs, CopyOptions, VariablePlan, copy};
use ncz::model::{Array, Elements, Format, Hierarchy, NcType, Pool, Session, Slab, VariableBuilder};
use ncz::progress::Progress;
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, CreateOptions, Durability, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CHUNK: u64 = 64 * 64;
const CHUNKS: u64 = 100;

/// One test at a time, because the allocator counts for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn after_the_first_chunks_nothing_is_allocated() -> Result<(), Box<dyn Error>> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plugins = ncz_test_support::build_plugins()?;
    let data: Vec<u8> = (0..CHUNKS * CHUNK).flat_map(|i| ((i / 7) as f32).sqrt().to_le_bytes()).collect();
    for codec in [
        "[]",
        r#"[{"id":"shuffle","elementsize":4},{"id":"zlib","level":1}]"#,
        r#"{"id":"zstd","level":1}"#,
        r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#,
        r#"[{"id":"fletcher32"},{"id":"shuffle","elementsize":4}]"#,
        r#"{"id":"szip","mask":32,"pixels-per-block":8}"#,
        r#"{"id":"lz4"}"#,
        r#"{"id":"imagecodecs_lz4h5"}"#,
        r#"{"id":"imagecodecs_lzf","header":false}"#,
        r#"{"id":"ncz.hdf5_filter","filter":32008,"cd_values":[0,2]}"#,
        r#"{"id":"ncz.hdf5_filter","filter":32008,"cd_values":[0,3,1]}"#,
        r#"{"id":"ncz.hdf5_filter","filter":6,"cd_values":[0,2]}"#,
    ] {
        for native in [None, Some(plugins.clone())] {
            let face = if native.is_some() { "native" } else { "built-in" };
            for threads in [1, 2] {
                let (_folder, array) = dataset(codec, native.clone(), threads)?;
                let mut out = vec![0; data.len()];
                let write = |from: u64, to: u64| {
                    part(from, to, |slab, range| {
                        array.write_bytes(slab, Elements::Native, &data[range]).map(drop)
                    })
                };
                // Temporary names, contexts and buffers come into being with the first chunks.
                write(0, CHUNKS)?;
                let few = count(|| write(0, 10))?;
                let many = count(|| write(0, CHUNKS))?;
                assert!(
                    many <= few + 8,
                    "{codec} ({face}, {threads} threads): writing allocates {few} times for 10 chunks, {many} for {CHUNKS}"
                );
                let mut read = |from: u64, to: u64| {
                    part(from, to, |slab, range| array.read_bytes(slab, Elements::Native, &mut out[range]))
                };
                read(0, CHUNKS)?;
                let few = count(|| read(0, 10))?;
                let many = count(|| read(0, CHUNKS))?;
                assert!(
                    many <= few + 8,
                    "{codec} ({face}, {threads} threads): reading allocates {few} times for 10 chunks, {many} for {CHUNKS}"
                );
                // Two decimal digits are kept of floating-point numbers by scaleoffset.
                let is_lossy = codec.contains("\"filter\":6,");
                assert!(is_lossy || out == data, "{codec}: what was read is not what was written");
            }
        }
    }
    Ok(())
}

/// Notes the most memory held at any report.
struct Peak<'a>(Region<'a, System>, AtomicUsize);

impl Progress for Peak<'_> {
    fn advance(&self, _: u64) -> ControlFlow<()> {
        let change = self.0.change();
        let held = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
        self.1.fetch_max(held, Ordering::Relaxed);
        ControlFlow::Continue(())
    }
}

#[test]
fn a_copy_holds_a_few_chunks_a_thread_however_many_variables_there_are() -> Result<(), Box<dyn Error>> {
    const VARIABLES: usize = 60;
    const SIDE: u64 = 256;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let chunk = (SIDE * SIDE * 4) as usize;
    let folder = tempfile::tempdir()?;
    let session =
        Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::with_threads(2)?);
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for (name, len) in [("t", 4), ("y", SIDE), ("x", SIDE)] {
        hierarchy.add_dimension("/", name, len, false)?;
    }
    for number in 0..VARIABLES {
        let new = VariableBuilder::new(format!("v{number}"), NcType::Float).dimensions(["t", "y", "x"]);
        let variable = hierarchy.add_variable("/", new.chunks([1, SIDE, SIDE]))?;
        session.define(variable, Format::NCZARR, &ChainSpec::parse(r#"{"id":"zstd","level":1}"#)?)?;
    }
    let options = || CreateOptions::new().durability(Durability::Process);
    let store = Arc::new(FileStore::create(folder.path().join("from.zarr"), options())?);
    let source = Dataset::create(store, hierarchy, session, false)?;
    let data: Vec<u8> = (0..4 * SIDE * SIDE).flat_map(|i| ((i / 50) as f32).to_le_bytes()).collect();
    for number in 0..VARIABLES {
        let array = source.array(&format!("/v{number}"))?;
        array.write_bytes(&Slab::whole(&[4, SIDE, SIDE]), Elements::Native, &data)?;
    }
    drop(data);
    for (name, chunks, most) in [
        ("recoded.zarr", None, 6 * 2 * chunk),
        ("rechunked.zarr", Some(vec![4, 64, 64]), (48 << 20) + 6 * 2 * chunk),
    ] {
        let plan = VariablePlan { codecs: Codecs::Sensible, chunks, ..VariablePlan::default() };
        let copy_options = CopyOptions {
            variables: (0..VARIABLES).map(|number| (format!("/v{number}"), plan.clone())).collect(),
            verify: true,
            ..CopyOptions::default()
        };
        let target = Arc::new(FileStore::create(folder.path().join(name), options())?);
        let peak = Peak(Region::new(ALLOCATOR), AtomicUsize::new(0));
        copy(&source, target, &copy_options, &peak)?;
        let peak = peak.1.into_inner();
        // Metadata and codec contexts have 8 MiB.
        assert!(peak < most + (8 << 20), "{name}: {peak} bytes, but {most} are allowed");
    }
    Ok(())
}

/// Allocations during `action`.
fn count(mut action: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<usize, Box<dyn Error>> {
    let region = Region::new(ALLOCATOR);
    action()?;
    let change = region.change();
    Ok(change.allocations + change.reallocations)
}

fn part<E: Error + 'static>(
    from: u64,
    to: u64,
    mut call: impl FnMut(&Slab, std::ops::Range<usize>) -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let slab = Slab::new([from, 0, 0], [to - from, 64, 64]);
    let bytes = |chunk: u64| (chunk * CHUNK * 4) as usize;
    Ok(call(&slab, bytes(from)..bytes(to))?)
}

fn dataset(
    codec: &str,
    plugins: Option<PathBuf>,
    threads: usize,
) -> Result<(tempfile::TempDir, Array), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let registry = match plugins {
        Some(path) => Registry::builder().builtins(false).plugin_path(vec![path]).build(),
        None => Registry::builder().no_plugins(true).build(),
    };
    let session = Session::new(Arc::new(registry), Pool::with_threads(threads)?);
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for (name, len) in [("t", CHUNKS), ("y", 64), ("x", 64)] {
        hierarchy.add_dimension("/", name, len, false)?;
    }
    let new = VariableBuilder::new("v", NcType::Float).dimensions(["t", "y", "x"]).chunks([1, 64, 64]);
    let variable = hierarchy.add_variable("/", new)?;
    session.define(variable, Format::NCZARR, &ChainSpec::parse(codec)?)?;
    let path = folder.path().join("v.zarr");
    let store = Arc::new(FileStore::create(&path, CreateOptions::new())?);
    Dataset::create(store, hierarchy, session.clone(), false)?.finish()?;
    let store = FileStore::open(&path, Access::ReadWrite)?.with_durability(Durability::Process);
    let array = Dataset::open(Arc::new(store), session, &ReadOptions::default())?.array("/v")?;
    Ok((folder, array))
}
