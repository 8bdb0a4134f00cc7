//! Test tooling of the workspace: fixtures, the Python environment with the peers, and the binaries under test.
//!
//! * [`fixtures`], [`unpack`], [`chunks`], [`edges`], [`arrays`]: data that other programs wrote.
//! * [`python`]: netCDF4, zarr-python, h5py, hdf5plugin and tensorstore in an environment that is made on first use.
//! * [`build_plugins`], [`plugin`], [`build_examples`], [`build_binary`], [`build_python_package`]: our own
//!   libraries and programs, built by cargo in the profile of the running test.
//! * [`program`]: tools of the system, such as `h5dump`; [`SmallDisk`]: a file system that is soon full.
//! * [`takes_all`]: whether a test takes all of its cases, or a sample.
//!
//! What a machine lacks is a [`Skip`]: it prints one line that names the remedy, and under CI (`CI` set) it panics,
//! so that nothing is left out there in silence.

#![forbid(unsafe_code)]

mod arrays;
mod build;
mod chunks;
mod error;
mod fixtures;
mod lock;
mod process;
mod programs;
mod python;
mod skip;
mod small_disk;
mod workspace;

pub use arrays::{NamedArray, arrays};
pub use build::{build_binary, build_examples, build_plugins, build_python_package, plugin};
pub use chunks::{ChunkCase, EdgeCase, Filter, chunks, edges};
pub use error::Error;
pub use fixtures::{fixtures, unpack};
pub use process::{Output, run};
pub use programs::program;
pub use python::{Python, python};
pub use skip::Skip;
pub use small_disk::SmallDisk;
pub use workspace::{target_dir, workspace_root};

/// Whether the variable asks for all cases of the tests that take a sample of them; `tests/long` sets it to `all`.
pub fn takes_all(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "all")
}
