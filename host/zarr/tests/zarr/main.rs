//! Tests with stored datasets of other programs, and with hostile input.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be had fails the test")]

mod fixtures;

// Datasets of netcdf-c and zarr-python are read.
mod reading;
// Zarr version 3, with valid and invalid documents.
mod version3;
// Fill values of Zarr version 2 that are masked.
mod masked;
// The draft of NCZarr over Zarr version 3.
mod draft;
// Changed documents of version 3.
mod mutations;
// Attributes of every kind are preserved.
mod attributes;
// The CDL equals that of ncdump.
mod cdl;
// Written documents equal those of netcdf-c, and nothing is lost.
mod writing;
// Broken and absurd metadata give an error that names the cause, never a crash.
mod hostile;
