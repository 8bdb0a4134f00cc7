//! Other programs and ours in the same buckets, on our service and on moto.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

#[path = "peers/command.rs"]
mod command; // `ncz copy` between all kinds of locations
#[path = "peers/moto.rs"]
mod moto; // an S3 service that others wrote
#[path = "peers/netcdf.rs"]
mod netcdf; // netcdf-c, by way of folders
#[path = "peers/service.rs"]
mod service; // either service, and scripts and commands that know it
#[path = "peers/web.rs"]
mod web; // third-party datasets on file servers
#[path = "peers/zarr.rs"]
mod zarr; // zarr-python and tensorstore
