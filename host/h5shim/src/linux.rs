//! Shared libraries made and loaded at run time, for Linux with glibc on x86-64.
#![expect(unsafe_code, reason = "loads libraries and fills the slots that their stubs jump through")]

mod bytes;
mod call;
mod dynamic;
mod image;
mod loader;
mod rewrite;
mod segments;
mod stub_library;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_void};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::Error;
use crate::replace::Replace;
use crate::symbols::Symbols;
use dynamic::Dynamic;
use rewrite::Rewritten;

/// The stub library for plugins that get its path, or that look up their caller.
struct Shim {
    path: &'static CStr,
    call: Call,
}

/// See [`crate::Caller`].
pub(crate) type Call = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, *const ()) -> usize;

static SHIM: OnceLock<Shim> = OnceLock::new();

/// See [`crate::shim_path`].
pub(crate) fn shim_path() -> Result<&'static CStr, Error> {
    shim().map(|shim| shim.path)
}

/// See [`crate::Caller`].
pub(crate) fn call() -> Result<Call, Error> {
    shim().map(|shim| shim.call)
}

fn shim() -> Result<&'static Shim, Error> {
    /// Made by one thread only. A failure is not kept.
    static MAKING: Mutex<()> = Mutex::new(());
    if let Some(shim) = SHIM.get() {
        return Ok(shim);
    }
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shim) = SHIM.get() {
        return Ok(shim);
    }
    let loaded = stub_library::load(&unique_name(), &[], Symbols::Both)?;
    let call = loader::symbol(loaded.handle, call::NAME)
        .ok_or_else(|| Error::Refused("the generated library has no calling function".to_owned()))?;
    // SAFETY: the code of this name takes seven words and returns what the seventh returns; the library is
    // never unloaded.
    let call = unsafe { std::mem::transmute::<*mut c_void, Call>(call) };
    Ok(SHIM.get_or_init(|| Shim { path: loaded.path, call }))
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
    let stub = stub_library::load(&name, &versions, replace.symbols)?;
    // The copy finds the stub library by its name among the libraries that are loaded. If it does not load, the stub
    // library stays all the same (`DF_1_NODELETE`), and so must its descriptor: the loader would take the next file of
    // that number for it.
    loader::open_image(&image, stub.place).map(|copy| copy.handle)
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
