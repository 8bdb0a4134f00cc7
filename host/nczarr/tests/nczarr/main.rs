//! The crate against stored datasets of other programs, and against input that means harm.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be had fails the test")]

mod fixtures;

// What netcdf-c and zarr-python wrote is understood.
mod reading;
// Zarr version 3, with what its documents may and may not say.
mod version3;
// Fill values of Zarr version 2 that are masked.
mod masked;
// The draft of NCZarr over Zarr version 3.
mod draft;
// Changed documents of version 3.
mod mutations;
// Attributes of every kind survive.
mod attributes;
// Our CDL is ncdump's.
mod cdl;
// What is written is what netcdf-c writes, and loses nothing.
mod writing;
// Broken and absurd metadata: an error with a name, never a crash.
mod hostile;
