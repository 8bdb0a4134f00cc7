//! The shared library, made at run time, through which plugins reach the functions.

use std::ffi::CStr;

use crate::error::Error;

/// Which functions a carrier offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbols {
    /// Those of libhdf5.
    Hdf5,
    /// Those of libnetcdf.
    Netcdf,
    /// Those of both.
    Both,
}

/// The path of a library with the functions of libhdf5, for a plugin's `init_filter`.
///
/// It is made at the first call, and stays loaded.
///
/// # Errors
/// [`Error::Unsupported`], or no library could be made or loaded.
pub fn shim_path() -> Result<&'static CStr, Error> {
    Err(Error::Unsupported)
}

/// Those of `undefined` that the shim does not offer, in their order.
pub fn missing<'a>(undefined: &[&'a str]) -> Vec<&'a str> {
    undefined.to_vec()
}
