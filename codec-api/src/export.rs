//! The C faces of a codec: the generic functions that [`export!`](crate::export!) uses.
//!
//! Every call goes through one guard: a panic becomes an error, and an error becomes the caller's
//! failure value (0 from a filter, a negative number from `set_local`, a netcdf error number from a codec
//! function, a status with details in the native table). With `NCZ_LOG=error` in the environment each
//! failure is logged to stderr, with `NCZ_LOG=trace` each call; `NCZ_LOG_FILE` names a file to use instead of stderr.
#![expect(unsafe_code, reason = "the boundary to C")]

pub mod hdf5_face;
pub mod native_face;
pub mod nczarr_face;
#[cfg(feature = "abi_stable")]
pub mod root_module;

mod caller;
mod fmt;
mod guard;
mod hdf5_library;
mod log;
mod macros;
mod names;
mod netcdf_library;

#[cfg(feature = "abi_stable")]
#[doc(hidden)]
pub use abi_stable::library::LibHeader;
