//! Zarr and NCZarr datasets with the compression plugins of HDF5 and NCZarr, without libhdf5 or libnetcdf.
//!
//! ```
//! use ncz::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ocean.zarr");
//! // A new dataset: its dimensions and variables, then the data.
//! let mut hierarchy = Hierarchy::new(Format::Zarr3);
//! hierarchy.add_dimension("/", "time", 100, false)?;
//! hierarchy.add_dimension("/", "x", 3, false)?;
//! hierarchy.add_variable("/", VariableBuilder::new("depth", NcType::Float).dimensions(["time", "x"]))?;
//! let dataset = ncz::create(&path, hierarchy)?;
//! dataset.array("/depth")?.write(s![0, ..], &[1.0f32, 2.0, 3.0])?;
//! dataset.finish()?;
//!
//! // Path or URL: a directory, a zip file, S3 or HTTP.
//! let dataset = ncz::open(&path)?;
//! let depth: ArrayD<f32> = dataset.array("/depth")?.read(s![0, ..])?;
//! assert_eq!(depth.sum(), 6.0);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to start
//!
//! - [`open`](open()), [`create`], [`OpenOptions`], [`CreateOptions`]: datasets by path or URL; [`prelude`] has what
//!   most programs use. A [`Dataset`] is read, whatever its format is; a [`zarr::Dataset`] is also written.
//! - [`model::Array`]: typed reading and writing, by parts that [`s!`] selects; bytes with
//!   [`read_bytes`](model::Array::read_bytes) and [`write_bytes`](model::Array::write_bytes). [`model::StringArray`]:
//!   strings.
//! - [`copy`](mod@copy), [`verify`](mod@verify), [`repair`], [`generate`](mod@generate) (from CDL),
//!   [`bench`](mod@bench): operations on whole datasets, with their [`progress`].
//! - [`registry`]: codecs, from `HDF5_PLUGIN_PATH` to chains of them. [`codec`]: what the author of a plugin sees.
//! - [`location`]: paths, URLs and their mode words. [`store`]: bytes by key. [`zarr`], [`cdl`]: the formats.
//! - [`concat`](mod@concat): several datasets as one, along a dimension.
//! - [`references`](mod@references): datasets in JSON that refers to ranges of other files.
//! - [`readers`]: which programs can read a dataset.
//! - [`netcdf_api`]: netCDF's view of a store and its filter functions, for programs that are ported from C.
//!
//! The folder `examples/` has a program for each of these tasks: open and read, recompress, run a chain over a buffer,
//! list plugins, open from S3.
//!
//! # Finish
//!
//! Zarr datasets are changed: [`OpenOptions::open_zarr`]. End every change with [`zarr::Dataset::finish`]. Without it,
//! what was not flushed is lost, and a new dataset is lost as a whole; an event at the level `error` reports it.
//!
//! # Errors
//!
//! The text of an error is one message; its causes are its [`source`](std::error::Error::source)s, as in other libraries.
//! [`with_causes`] is the text of all. Rust prints the error of `main` in the form of `Debug`, in which the errors of this
//! library are structures: let `main` return [`MainError`], or the error type of a crate that prints causes.
//! `remedy()` of an error is what can be done about it, if that is known.
//!
//! # Async programs
//!
//! All functions block: they read and decode on the threads of a [`model::Pool`], and stores wait for the network on
//! their own threads. From async code, call them on a thread that may block:
//!
//! ```no_run
//! use ncz::prelude::*;
//!
//! # type Failure = Box<dyn std::error::Error + Send + Sync>;
//! async fn first_record(path: String) -> Result<ArrayD<f32>, Failure> {
//!     tokio::task::spawn_blocking(move || -> Result<ArrayD<f32>, Failure> {
//!         let dataset = ncz::open(path)?;
//!         Ok(dataset.array("/temperature")?.read(s![0, ..])?)
//!     })
//!     .await?
//! }
//! ```
//!
//! [`Dataset`], [`zarr::Dataset`] and [`model::Array`] are `Send` and `Sync`; share one by an `Arc` instead of opening
//! it for each call.
//!
//! # Features
//!
//! - `builtin` (default): all codecs of the folder `plugins/` are part of the program, without plugins to install. Each
//!   codec also has a feature of its own: `default-features = false` with `features = ["zstd", "shuffle"]` links only
//!   these two.
//! - `ndarray` (default): parts of variables as arrays of the crate [`ndarray`](https://docs.rs/ndarray).
//! - `parquet`: references in Parquet.
//! - `s3`, `http`: datasets in S3, and on HTTP servers.
//!
//! # Events
//!
//! Operations emit [`tracing`](https://docs.rs/tracing) events with the targets `ncz`, `ncz_registry`, `ncz_zarr` and
//! `ncz_store`: at `info` datasets that are opened and written, copied variables, chosen plugins and requests that are
//! tried again; at `debug` each request and each chain of codecs. No event contains a secret. Limit a subscriber to
//! these targets: those of HTTP and AWS libraries may show signatures and tokens.

#![forbid(unsafe_code)]

mod agreement;
pub mod bench;
mod builtin;
mod byte_array;
mod causes;
pub mod concat;
mod conversion;
mod coordinate_order;
pub mod copy;
mod dataset;
mod documents;
mod finding;
pub mod generate;
pub mod location;
pub mod netcdf_api;
mod new_dataset;
mod open;
mod parallelism;
pub mod prelude;
pub mod progress;
pub mod readers;
pub mod references;
pub mod repair;
mod tiles;
pub mod verify;

pub use self::causes::{MainError, with_causes};
pub use self::dataset::Dataset;
pub use self::new_dataset::NewDataset;
pub use self::open::{CreateOptions, OpenOptions, create, open};

#[cfg(feature = "ndarray")]
pub use ndarray;

pub use ncz_cdl as cdl;
pub use ncz_codec as codec;
pub use ncz_model as model;
pub use ncz_model::{Remedy, s};
pub use ncz_registry as registry;
pub use ncz_store as store;
pub use ncz_zarr as zarr;
