//! Opening a dataset of many variables from a directory: `cargo bench -p ncz --bench open [-- --variables 10000]`.
//!
//! Prints for each format the time until the dataset is open, with only consolidated metadata and with the documents
//! themselves, compared with the consolidated ones or not.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz::model::{Attribute, Format, Hierarchy, NcType, Pool, Session, VariableBuilder};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, CreateOptions, Durability, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let variables = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--variables"), Some(number)) => number.parse()?,
        (None, _) => 10_000,
        _ => return Err("usage: open [--variables N]".into()),
    };
    // A memory file system if available: the disk is not measured.
    let folder = match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => folder,
        Err(_) => tempfile::tempdir()?,
    };
    let session =
        Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::for_this_machine()?);
    println!("{variables} variables, median of {ROUNDS}, milliseconds");
    println!("{:<10} {:>14} {:>10} {:>20}", "format", "consolidated", "documents", "documents, compared");
    for (name, format) in [("NCZarr", Format::NCZARR), ("Zarr 2", Format::Zarr2), ("Zarr 3", Format::Zarr3)] {
        let path = folder.path().join(name);
        make(&path, format, variables, &session)?;
        let time = |consolidated| -> Result<f64, Box<dyn Error>> {
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                let store = Arc::new(FileStore::open(&path, Access::Read)?);
                let options = ReadOptions { consolidated, ..ReadOptions::default() };
                let started = Instant::now();
                let dataset = Dataset::open(store, session.clone(), &options)?;
                times.push(started.elapsed());
                if dataset.hierarchy().variables().count() != variables {
                    return Err("variables are missing".into());
                }
            }
            times.sort_unstable();
            Ok(times.get(ROUNDS / 2).map_or(0.0, Duration::as_secs_f64) * 1e3)
        };
        println!(
            "{name:<10} {:>14.0} {:>10.0} {:>20.0}",
            time(ConsolidatedPolicy::Only)?,
            time(ConsolidatedPolicy::Ignore)?,
            time(ConsolidatedPolicy::Compare)?
        );
    }
    Ok(())
}

fn make(
    path: &std::path::Path,
    format: Format,
    variables: usize,
    session: &Session,
) -> Result<(), Box<dyn Error>> {
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "y", 100, false)?;
    hierarchy.add_dimension("/", "x", 200, false)?;
    let chain = ChainSpec::parse("shuffle|zlib,4")?;
    for number in 0..variables {
        let new = VariableBuilder::new(format!("var{number:05}"), NcType::Float)
            .dimensions(["y", "x"])
            .chunks([50, 100])
            .attribute(Attribute::new("units", "K"))
            .attribute(Attribute::new("long_name", format!("variable {number}")))
            .attribute(Attribute::new("valid_range", vec![0.0f64, 400.0]));
        session.define(hierarchy.add_variable("/", new)?, format, &chain)?;
    }
    let store = FileStore::create(path, CreateOptions::new().durability(Durability::Process))?;
    Dataset::create(Arc::new(store), hierarchy, session.clone(), true)?.finish()?;
    Ok(())
}
