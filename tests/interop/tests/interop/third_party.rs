//! Our shared libraries in third-party programs: Debian's h5dump, h5repack, ncdump and nccopy, h5py, netCDF4, and a
//! caller that watches its memory. Tests that are in `h5py` and `netcdf4` are not repeated here.

// What the libraries export, need and expect of the system.
mod binary;
// Debian's HDF5 1.10: h5repack, h5dump, h5diff.
mod debian_hdf5;
// Debian's netcdf-c 4.9: ncdump, nccopy, ncgen.
mod debian_netcdf;
// The filter functions, called as libhdf5 calls them: buffers, allocators, threads.
mod direct;
// Chunks from one byte to 64 MiB, types, noise, threads, in HDF5 2.0, HDF5 2.2 and netcdf-c's NCZarr.
mod sizes;
// Together with foreign plugins, in one process.
mod together;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ncz_test_support::{Output, Skip, program};

/// The HDF5 ids of our plugins, with their names.
const FILTERS: [(u32, &str); 7] = [
    (1, "deflate"),
    (2, "shuffle"),
    (3, "fletcher32"),
    (4, "szip"),
    (307, "bzip2"),
    (32_001, "blosc"),
    (32_015, "zstd"),
];
/// How many filters of ours netcdf-c opens when it starts: all that HDF5 could use.
pub(crate) const OPENED: usize = 15;
/// What one run of a program of the system may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a program of the system, whatever its status, with `HDF5_PLUGIN_PATH` naming these folders and nothing else.
fn debian<S: AsRef<OsStr>>(name: &str, args: &[S], plugins: &[&Path]) -> Result<Output, Skip> {
    let mut command = Command::new(program(name)?);
    command
        .env("HDF5_PLUGIN_PATH", std::env::join_paths(plugins).unwrap())
        .env("NCZ_LOG", "1")
        .env("LC_ALL", "C")
        .env_remove("HDF5_PLUGIN_PRELOAD");
    Ok(ncz_test_support::run(command.args(args), LIMIT).unwrap())
}

/// The same with success.
fn debian_ok<S: AsRef<OsStr>>(name: &str, args: &[S], plugins: &[&Path]) -> Result<Output, Skip> {
    debian(name, args, plugins).map(|output| output.success(name).unwrap_or_else(|error| panic!("{error}")))
}
