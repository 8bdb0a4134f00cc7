//! Loads a plugin whose libhdf5 or libnetcdf is absent.

use std::ffi::c_void;
use std::path::Path;

use crate::carrier::Symbols;
use crate::error::Error;

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
    let _ = (plugin, replace);
    Err(Error::Unsupported)
}
