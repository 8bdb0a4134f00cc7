//! Copies a dataset with other codecs: every variable with shuffle and bzip2.
//!
//!     cargo run -p ncz --example recompress -- ocean.zarr smaller.zarr

use std::error::Error;
use std::path::Path;

use ncz::copy::{Codecs, CopyOptions, VariablePlan, copy};
use ncz::location::DatasetUrl;
use ncz::registry::spec::ChainSpec;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(source), Some(target)) = (arguments.next(), arguments.next()) else {
        return Err("usage: recompress SOURCE TARGET".into());
    };
    let (before, after) = recompress(Path::new(&source), &target)?;
    println!("{before} bytes before, {after} after");
    Ok(())
}

/// Copies a dataset, and returns the stored bytes of its chunks before and after.
pub(crate) fn recompress(source: &Path, target: &str) -> Result<(u64, u64), Box<dyn Error>> {
    let source = ncz::open(source)?;

    // A chain as the command takes it: filters by name or HDF5 number, with their parameters.
    let mut options = CopyOptions { verify: true, ..CopyOptions::default() };
    for variable in source.hierarchy().variables() {
        let chain = ChainSpec::parse(&format!("shuffle,{}|bz2,9", variable.dtype.size()))?;
        let plan = VariablePlan { codecs: Codecs::Spec(chain), ..VariablePlan::default() };
        options.variables.insert(variable.path.clone(), plan);
    }

    // The target appears as a whole at the end, or not at all. With `verify` both are compared before that.
    let store = DatasetUrl::parse(target)?.create_store(false)?;
    let summary = copy(&source, store, &options, &())?;
    for variable in &summary.variables {
        println!("{}: {} ({} bytes)", variable.path, variable.chain, variable.after);
    }
    let before = summary.variables.iter().filter_map(|variable| variable.before).sum();
    let after = summary.variables.iter().map(|variable| variable.after).sum();
    Ok((before, after))
}
