//! The library as a whole: datasets, copies, references, codecs and stores together.

mod byte_chains;
mod concat;
mod conversion;
mod dataset;
mod embedder;
mod examples;
mod generate;
mod lanes;
mod lossless;
mod references;
mod remote_metadata;
mod to_netcdf;
mod user_parts;
