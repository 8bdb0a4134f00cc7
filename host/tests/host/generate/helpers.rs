//! What the modules share.

use std::error::Error;
use std::io::{self, Cursor};
use std::sync::Arc;

use ncz::cdl::{self, CdlFile, CdlOptions, DataWriter};
use ncz::generate::{GenerateError, GenerateOptions, Plan, generate};
use ncz::model::{DataError, Elements, Format, NcType, Pool, Session, Slab, Value, Variable};
use ncz::registry::Registry;
use ncz::store::{MemoryStore, Store};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;

pub(crate) fn session() -> Session {
    let registry = Registry::builder().no_plugins(true).build();
    Session::new(Arc::new(registry), Pool::serial())
}

/// Generates a dataset in memory and opens it.
pub(crate) fn try_made(text: &str, format: Format) -> Result<Dataset, GenerateError> {
    let mut file = CdlFile::open(Cursor::new(text.to_owned()))?;
    let options = GenerateOptions { format, ..GenerateOptions::default() };
    let plan = Plan::new(file.cdl(), &session(), &options)?;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new("test"));
    generate(&mut file, plan, Arc::clone(&store), session(), &options, &())?;
    Ok(Dataset::open(store, session(), &ReadOptions::default())?)
}

#[track_caller]
pub(crate) fn made(text: &str) -> Dataset {
    try_made(text, Format::NCZARR).unwrap_or_else(|error| panic!("{}\n{text}", explained(&error)))
}

/// The text of a dataset, with special attributes and values.
pub(crate) fn dump(dataset: &Dataset) -> String {
    text(dataset, true)
}

pub(crate) fn text(dataset: &Dataset, special: bool) -> String {
    let options = CdlOptions { special, ..CdlOptions::new("d") };
    let mut out = Vec::new();
    let mut data = |variable: &Variable, writer: &mut DataWriter<'_>| -> Result<(), io::Error> {
        writer.write(&values(dataset, &variable.path).map_err(io::Error::other)?)
    };
    cdl::dump(&mut out, dataset.hierarchy(), &options, &mut data).unwrap();
    String::from_utf8(out).unwrap()
}

/// All values of a variable.
pub(crate) fn values(dataset: &Dataset, path: &str) -> Result<Value, DataError> {
    let variable = dataset.hierarchy().variable(path)?;
    let slab = Slab::whole(&dataset.hierarchy().shape_of(variable));
    if variable.nc_type == Some(NcType::String) {
        return Ok(Value::from(&dataset.strings(path)?.read(&slab)?));
    }
    let array = dataset.array(path)?;
    let mut out = vec![0; slab.elements().unwrap() as usize * array.dtype().size()];
    array.read_bytes(&slab, Elements::Native, &mut out)?;
    let nc_type = variable.nc_type.unwrap();
    Ok(Value::from_native_bytes(nc_type, array.dtype().size(), &out).unwrap())
}

/// Both texts must be the same; shows the first line that differs.
#[track_caller]
pub(crate) fn assert_same_text(one: &str, other: &str) {
    for (at, (ours, theirs)) in one.lines().zip(other.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {} of\n{one}", at + 1);
    }
    assert_eq!(one.lines().count(), other.lines().count(), "{one}\n{other}");
}

/// An error with its causes.
pub(crate) fn explained(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        if !text.contains(&cause.to_string()) {
            text.push_str(&format!(": {cause}"));
        }
        source = cause.source();
    }
    text
}
