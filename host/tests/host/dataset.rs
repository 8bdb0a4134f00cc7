//! Chains, datasets and copies, with only the built-in codecs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

pub(crate) mod generated;
mod helpers;

// Damaged chunks are errors of the chain.
mod damage;
// Datasets of netcdf-c and zarr-python hold the values that were put in.
mod reading;
// A copy is the original, whatever its chunks, codecs and format.
mod copying;
// Parts are copied, in little memory.
mod copy_parts;
// Records are appended, and interrupted copies go on.
mod copy_append;
// What lossy codecs change is verified, and nothing else.
mod copy_verify;
// A failed copy leaves no files.
mod failing;
// Shuffles that readers disagree about.
mod shuffle;
// Data of Zarr version 3, in shards and not.
mod version3;
// Strings of every kind.
mod strings;
// Many threads at one array.
mod threads;
// What lossy codecs get, and must leave as it is.
mod lossy;
// Variables grow.
mod growing;
// Metadata change.
mod changing;
// Programs stop in the midst of it.
mod crash;
// A dataset that is dropped with changes says so.
mod dropped;
// What they began is finished once, or given up.
mod interrupted;
// The filter functions of netCDF.
mod filters;
// Values quantized as they are written.
mod quantize;
// Faults are found at their positions.
mod verify;
// Known faults are repaired, and stopping midway does no harm.
mod repair;
