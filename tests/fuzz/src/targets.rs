//! What is tried, and what must hold for any input.

mod codec_json;
mod data;
mod filter_words;
mod hdf5_chunks;
mod json;
mod metadata;
mod netcdf;
mod place;
mod spec_text;
mod zip;

use std::error::Error;

use fastrand::Rng;

use crate::Case;

/// Something that reads bytes from outside.
pub trait Target {
    /// Sound inputs to begin with.
    fn seeds(&self) -> Vec<Case>;

    /// Changes an input in one way; `other` is another input of the target.
    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng);

    /// What one input may allocate, all its allocations added up: far more than any of the fixtures needs, far less
    /// than a number in a damaged document can ask for.
    fn most_memory(&self) -> usize {
        128 << 20
    }

    /// Runs an input and says what came of it. What is said twice, names and numbers aside, is nothing new.
    ///
    /// # Panics
    /// A promise is broken.
    fn run(&mut self, case: &Case) -> String;
}

/// The names of all targets.
pub const NAMES: [&str; 22] = [
    "json",
    "metadata_v2",
    "metadata_v3",
    "consolidated",
    "attributes",
    "codec_json",
    "spec_text",
    "place",
    "zip",
    "hdf5_chunks",
    "filter_words",
    "chunks",
    "shards",
    "strings",
    "hdf5_superblock",
    "hdf5_headers",
    "hdf5_trees",
    "hdf5_arrays",
    "hdf5_heaps",
    "hdf5_types",
    "hdf5_files",
    "classic_files",
];

/// The target of this name with its fixtures; `None` if there is none.
#[must_use]
pub fn open(name: &str) -> Option<Box<dyn Target>> {
    Some(match name {
        "json" => Box::new(json::Documents),
        "metadata_v2" => Box::new(metadata::Metadata::version2()),
        "metadata_v3" => Box::new(metadata::Metadata::version3()),
        "consolidated" => Box::new(metadata::Metadata::consolidated()),
        "attributes" => Box::new(metadata::Metadata::attributes()),
        "codec_json" => Box::new(codec_json::Codecs::new()),
        "spec_text" => Box::new(spec_text::Texts),
        "place" => Box::new(place::Places),
        "zip" => Box::new(zip::Archives::new()),
        "hdf5_chunks" => Box::new(hdf5_chunks::Chunks::new()),
        "filter_words" => Box::new(filter_words::Words::new()),
        "chunks" => Box::new(data::Objects::chunks()),
        "shards" => Box::new(data::Objects::shards()),
        "strings" => Box::new(data::Objects::strings()),
        "hdf5_superblock" => Box::new(netcdf::Files::new(netcdf::SUPERBLOCK, |_| true)),
        "hdf5_headers" => Box::new(netcdf::Files::new(netcdf::HEADERS, |_| true)),
        "hdf5_trees" => Box::new(netcdf::Files::new(netcdf::TREES, |_| true)),
        "hdf5_arrays" => Box::new(netcdf::Files::new(netcdf::ARRAYS, |_| true)),
        "hdf5_heaps" => Box::new(netcdf::Files::new(netcdf::HEAPS, |_| true)),
        // Types and attributes are in headers; this file has every class of types.
        "hdf5_types" => Box::new(netcdf::Files::new(netcdf::HEADERS, |name| name == "types.h5")),
        "hdf5_files" => Box::new(netcdf::Files::new(&[], |name| !name.starts_with("cdf"))),
        "classic_files" => Box::new(netcdf::Files::new(netcdf::CLASSIC, |name| name.starts_with("cdf"))),
        _ => return None,
    })
}

/// An error and its sources in one line.
fn explained(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
