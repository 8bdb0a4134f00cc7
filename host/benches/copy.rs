//! Rows become columns: chunks (1, N) to chunks (N, 1), against netcdf-c's nccopy.
//!
//!     cargo bench -p ncz --bench copy                          512 MiB, only ours
//!     cargo bench -p ncz --bench copy -- --rows 2048 --columns 4096 --nccopy --pairs 3
//!
//! The dataset (float32, uncompressed) is made in a folder of `--dir` (default: the system's for temporary files).
//! With `--nccopy` both alternate (A B A B) and the median of the ratios is printed; 2048 rows at least, since nccopy
//! leaves chunks as they are where they would become shorter than 8192 bytes. netcdf-c 4.9 can take a minute for
//! 32 MiB. Printed besides: the memory that this process had at most (Linux), of `--memory` bytes for the copy.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz::copy::{Codecs, CopyOptions, VariablePlan, copy};
use ncz::model::{Pool, Session};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, CreateOptions, FileStore};
use ncz::zarr::Dataset;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (mut rows, mut columns, mut pairs, mut nccopy) = (8192usize, 16_384usize, 3, false);
    let (mut dir, mut memory) = (std::env::temp_dir(), None);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--bench" => {}
            "--rows" => rows = value()?.parse()?,
            "--columns" => columns = value()?.parse()?,
            "--pairs" => pairs = value()?.parse()?,
            "--dir" => dir = PathBuf::from(value()?),
            "--memory" => memory = Some(value()?.parse()?),
            "--nccopy" => nccopy = true,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let folder = tempfile::tempdir_in(dir)?;
    let source = folder.path().join("rows.nczarr");
    make(&source, rows, columns)?;
    let bytes = (rows * columns * 4) as f64;
    let mut ratios = Vec::new();
    for _ in 0..pairs {
        let ours = ours(folder.path(), &source, rows as u64, memory)?;
        print!("ours {:.2} s ({:.0} MB/s)", ours.as_secs_f64(), bytes / ours.as_secs_f64() / 1e6);
        if nccopy {
            let theirs = theirs(folder.path(), rows)?;
            ratios.push(theirs.as_secs_f64() / ours.as_secs_f64());
            print!(", nccopy {:.2} s", theirs.as_secs_f64());
        }
        println!();
    }
    ratios.sort_by(f64::total_cmp);
    if let Some(median) = ratios.get(ratios.len() / 2) {
        println!("nccopy / ours: {median:.1}");
    }
    if let Some(peak) = peak() {
        println!("memory at most: {peak}");
    }
    Ok(())
}

/// Writes the dataset as netcdf-c 4.9.0 does, which reads no later layout.
fn make(path: &Path, rows: usize, columns: usize) -> Result<()> {
    std::fs::create_dir_all(path.join("v"))?;
    let group = format!(
        r#"{{"zarr_format": 2, "_NCZARR_SUPERBLOCK": {{"version": "2.0.0"}}, "_NCZARR_GROUP": {{"dims": {{"y": {rows}, "x": {columns}}}, "vars": ["v"], "groups": []}}}}"#
    );
    std::fs::write(path.join(".zgroup"), group)?;
    let array = format!(
        r#"{{"zarr_format": 2, "shape": [{rows}, {columns}], "dtype": "<f4", "chunks": [1, {columns}], "fill_value": null, "order": "C", "compressor": null, "filters": null, "_NCZARR_ARRAY": {{"dimrefs": ["/y", "/x"], "storage": "chunked"}}}}"#
    );
    std::fs::write(path.join("v/.zarray"), array)?;
    for row in 0..rows {
        let values: Vec<u8> =
            (0..columns).flat_map(|at| ((row + at % 1000) as f32 / 10.0).to_le_bytes()).collect();
        std::fs::write(path.join(format!("v/{row}.0")), values)?;
    }
    Ok(())
}

fn ours(folder: &Path, source: &Path, rows: u64, memory: Option<u64>) -> Result<Duration> {
    let target = folder.join("columns.zarr");
    let start = Instant::now();
    let session =
        Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::for_this_machine()?);
    let dataset =
        Dataset::open(Arc::new(FileStore::open(source, Access::Read)?), session, &Default::default())?;
    let plan = VariablePlan {
        codecs: Codecs::Spec(ChainSpec::default()),
        chunks: Some(vec![rows, 1]),
        ..VariablePlan::default()
    };
    let options = CopyOptions {
        variables: BTreeMap::from([("/v".to_owned(), plan)]),
        memory,
        scratch: Some(folder.to_owned()),
        ..CopyOptions::default()
    };
    copy(&dataset, Arc::new(FileStore::create(&target, CreateOptions::new())?), &options, &())?;
    let took = start.elapsed();
    std::fs::remove_dir_all(target)?;
    Ok(took)
}

fn theirs(folder: &Path, rows: usize) -> Result<Duration> {
    let start = Instant::now();
    let status = Command::new("nccopy")
        .current_dir(folder)
        .args(["-c", &format!("v:{rows},1")])
        .args(["file://rows.nczarr#mode=nczarr,file", "file://theirs.nczarr#mode=nczarr,file"])
        .status()?;
    let took = start.elapsed();
    if !status.success() {
        return Err(format!("nccopy: {status}").into());
    }
    std::fs::remove_dir_all(folder.join("theirs.nczarr"))?;
    Ok(took)
}

/// The most memory that this process had.
fn peak() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|kib| kib.trim().to_owned())
}
