//! Shared libraries made and loaded at run time, for Linux with glibc on x86-64.
#![expect(unsafe_code, reason = "loads libraries and fills the slots that their stubs jump through")]

mod bytes;
mod carrier;
mod dynamic;
mod image;
mod loader;
mod rewrite;
mod segments;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_void};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::plugin::Replace;
use crate::symbols::Symbols;
use dynamic::Dynamic;
use rewrite::Rewritten;

/// See [`crate::shim_path`].
pub(crate) fn shim_path() -> Result<&'static CStr, Error> {
    static PATH: Mutex<Option<&'static CStr>> = Mutex::new(None);
    let mut path = PATH.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = *path {
        return Ok(path);
    }
    let loaded = carrier::load(&unique_name(), &[], Symbols::Hdf5)?;
    Ok(*path.insert(loaded.path))
}

/// See [`crate::open_with_shim`].
pub(crate) fn open_with_shim(plugin: &[u8], replace: &Replace<'_>) -> Result<*mut c_void, Error> {
    let dynamic = Dynamic::read(plugin)?;
    let missing = replace.symbols.missing(undefined(&dynamic, replace.symbols)?);
    if !missing.is_empty() {
        return Err(Error::Missing(missing.into_iter().map(str::to_owned).collect()));
    }
    let name = unique_name();
    let Rewritten { image, versions } = rewrite::rewrite(plugin, &dynamic, replace.needed, &name)?;
    for path in replace.load_first {
        loader::open_file(path)?;
    }
    let carrier = carrier::load(&name, &versions, replace.symbols)?;
    // The copy finds the carrier by its name among the libraries that are loaded.
    match loader::open_image(&image, carrier.place) {
        Ok(copy) => Ok(copy.handle),
        Err(error) => {
            // SAFETY: only the copy knew the carrier's name, and that did not load; carriers have no constructors.
            unsafe { loader::unload(carrier) };
            Err(error)
        }
    }
}

/// The names that only the replaced library can define.
fn undefined<'a>(dynamic: &Dynamic<'a>, symbols: Symbols) -> Result<Vec<&'a str>, Error> {
    let is_ours = |name: &str| {
        // `H5open`, `H5Tget_size`, `H5_libinit_g`; not somebody's `H5`.
        let is_hdf5 = name
            .strip_prefix("H5")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'));
        match symbols {
            Symbols::Hdf5 => is_hdf5,
            Symbols::Netcdf => name.starts_with("nc_"),
            Symbols::Both => is_hdf5 || name.starts_with("nc_"),
        }
    };
    Ok(dynamic.undefined()?.into_iter().filter(|name| is_ours(name)).collect())
}

/// A name that no other library has, also none of another copy of this code in the process.
fn unique_name() -> String {
    // Each has random keys.
    let bits = RandomState::new().build_hasher().finish();
    format!("@ncz-{bits:016x}")
}
