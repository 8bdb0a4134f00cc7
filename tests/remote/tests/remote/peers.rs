//! Other programs and ours in the same buckets, on our service and on moto.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

mod command; // `ncz copy` between all kinds of locations
mod netcdf; // netcdf-c, by way of folders
pub(crate) mod service; // either service, and scripts and commands that know it
mod web; // third-party datasets on file servers
mod zarr; // zarr-python and tensorstore
