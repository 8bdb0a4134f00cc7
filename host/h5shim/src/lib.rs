//! The functions of libhdf5 and libnetcdf that foreign plugins call back, for a machine that has neither.
//!
//! A plugin queries libhdf5 about the chunk that it will compress: its shape, the data type, its own
//! parameters. Here the same queries are answered from a [`Dataset`], and those of NCZarr codecs to libnetcdf from a
//! [`Variable`]:
//!
//! ```
//! use ncz_h5shim::{Dataset, FilterEntry, Order, Type, with_dataset};
//!
//! let filter = FilterEntry { id: 32_015, flags: 0, values: vec![3], name: "zstd".into() };
//! let dataset = Dataset {
//!     ty: Type::float(4, Order::Little),
//!     chunk: vec![64, 48],
//!     fill: None,
//!     filters: vec![filter],
//! };
//! let (status, outcome) = with_dataset(&dataset, |handles| {
//!     // Here the plugin's `set_local(handles.dcpl, handles.ty, handles.space)` is called.
//!     assert!(handles.dcpl > 0 && handles.ty > 0 && handles.space > 0);
//!     0
//! });
//! assert_eq!((status, outcome.modified), (0, false));
//! assert_eq!(outcome.filters, dataset.filters);
//! ```
//!
//! The functions reach a plugin through a *stub library*: a shared library that is generated in memory at run time. A
//! plugin that requests the path of a libhdf5 gets [`shim_path`]; one that is linked against a libhdf5 that is absent
//! is loaded by [`open_with_shim`]; one that looks for it in its caller is called by a [`Caller`].
//!
//! Nothing is added to the global scope, and libraries loaded later are not affected. The answers belong to
//! one thread; threads share nothing.

mod constants;
mod dataset;
mod error;
mod guard;
mod hdf5;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod linux;
mod netcdf;
mod plugin;
mod replace;
mod session;
mod symbols;
mod variable;

pub use dataset::{Class, Dataset, FilterEntry, Order, Type};
pub use error::Error;
pub use plugin::{Caller, open_with_shim, shim_path};
pub use replace::Replace;
pub use session::{Handles, Outcome, take_errors, with_dataset, with_variable};
pub use symbols::{Symbols, missing};
pub use variable::{Endian, Variable};
