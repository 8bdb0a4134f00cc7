//! Chains, datasets and copies, with the built-in codecs alone.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod helpers;

// Damaged chunks are errors of the chain.
mod damage;
// Datasets of netcdf-c and zarr-python hold the values that were put in.
mod reading;
// A copy is the original, whatever its chunks, codecs and format.
mod copying;
// A copy that fails leaves nothing behind.
mod failing;
// Shuffles that readers disagree about.
mod shuffle;
// Many threads at one array.
mod threads;
// The filter functions of netCDF.
mod filters;
