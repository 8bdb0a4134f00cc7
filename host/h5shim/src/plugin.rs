//! Plugins whose libhdf5 or libnetcdf is absent.

use std::ffi::{CStr, c_void};
use std::path::Path;

use crate::error::Error;
use crate::symbols::Symbols;

#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
use crate::linux as system;

/// What stands in for what in a plugin's list of libraries.
#[derive(Debug, Clone, Copy)]
pub struct Replace<'a> {
    /// The needed libraries (`DT_NEEDED`) that a carrier replaces. Empty for a plugin that leaves the
    /// functions undefined and names no library.
    pub needed: &'a [&'a str],
    /// What the carrier offers.
    pub symbols: Symbols,
    /// Other needed libraries by absolute path, to be loaded before: the copy of the plugin does not know
    /// in which folder the plugin lies, so its `$ORIGIN` leads nowhere.
    pub load_first: &'a [&'a Path],
}

/// Loads a copy of a plugin that finds the functions of this crate in place of a library that is absent.
///
/// The result is the loader's handle, for `dlsym`. It is never closed. Every call loads another copy.
///
/// # Errors
/// [`Error::Unsupported`]; [`Error::Missing`] if the plugin calls what the shim does not offer; the file is
/// damaged; or the loader refuses it.
pub fn open_with_shim(plugin: &[u8], replace: &Replace<'_>) -> Result<*mut c_void, Error> {
    system::open_with_shim(plugin, replace)
}

/// The path of a library with the functions of libhdf5, for a plugin's `init_filter`.
///
/// It is made at the first call, and stays loaded.
///
/// # Errors
/// [`Error::Unsupported`], or no library could be made or loaded.
pub fn shim_path() -> Result<&'static CStr, Error> {
    system::shim_path()
}

/// A carrier is machine code and a file format; other systems have others.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
mod system {
    use std::ffi::{CStr, c_void};

    use super::Replace;
    use crate::error::Error;

    pub(super) fn shim_path() -> Result<&'static CStr, Error> {
        Err(Error::Unsupported)
    }

    pub(super) fn open_with_shim(_: &[u8], _: &Replace<'_>) -> Result<*mut c_void, Error> {
        Err(Error::Unsupported)
    }
}
