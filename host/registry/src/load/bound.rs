//! Which libhdf5 or libnetcdf a library asks.
//!
//! There are four kinds of libraries (`H5*` stands for libhdf5 and libnetcdf alike):
//!
//! * Those that ask nothing.
//! * Those that are *told* where a libhdf5 is, by `init_filter`: they are told of functions of this program.
//!   Only if the program has a libhdf5 in its global scope, they are told of that one. They have bound to it
//!   already, and would overwrite its variables with ours.
//! * Those that are linked to a libhdf5 that loads: they ask that one.
//! * Those whose libhdf5 is absent, or that leave the functions to whoever loads them: a copy in memory is
//!   loaded that finds functions of this program instead.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use libloading::os::unix::Library as RawLibrary;
use ncz_h5shim::Replace;

use super::{address, symbol};
use crate::symbols::{Exports, Symbols, names};

/// Who answers the questions that a library puts to libhdf5 or libnetcdf.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// It asks nothing.
    Nothing,
    /// This program answers; no libhdf5 or libnetcdf is needed.
    Shim,
    /// A libhdf5, which is the file at this path.
    Hdf5(PathBuf),
    /// A libnetcdf, which is the file at this path.
    Netcdf(PathBuf),
    /// Nobody, and the text says why. What needs no answer works.
    Nobody(String),
}

/// A library as it was bound.
pub(super) struct Binding {
    pub(super) bound: Bound,
    /// The library uses the libhdf5 that is in the scope of the whole program, not one of its own.
    pub(super) is_global: bool,
}

impl Binding {
    /// A copy that was made to ask this program.
    pub(super) const COPY: Self = Self { bound: Bound::Shim, is_global: false };
}

type InitFilter = unsafe extern "C" fn(*const c_char) -> c_int;

/// The function by which each library is known.
const H5_OPEN: &CStr = c"H5open";
const NC_OPEN: &CStr = c"nc_open";

/// Finds out whom an open library asks; tells it, if it wants to be told. Nothing else of it may have been
/// called before.
pub(super) fn bind(raw: &RawLibrary, exports: &Exports) -> Binding {
    let known = |bound| Binding { bound, is_global: false };
    if exports.has(names::INIT_FILTER) {
        return tell(raw);
    }
    if let Some(path) = address(raw, NC_OPEN).and_then(file_of) {
        return known(Bound::Netcdf(path));
    }
    if let Some(path) = address(raw, H5_OPEN).and_then(file_of) {
        return known(Bound::Hdf5(path));
    }
    known(Bound::Nothing)
}

/// Calls `init_filter`.
fn tell(raw: &RawLibrary) -> Binding {
    // SAFETY: the name stands for a function of this type in all libraries that have it.
    let Some(init_filter) = (unsafe { symbol::<InitFilter>(raw, c"init_filter") }) else {
        return Binding { bound: Bound::Nothing, is_global: false };
    };
    let global = address(&RawLibrary::this(), H5_OPEN).and_then(file_of);
    let is_global = global.is_some();
    let (file, bound) = match global {
        Some(path) => (CString::new(path.as_os_str().as_bytes()).ok(), Bound::Hdf5(path)),
        None => match ncz_h5shim::shim_path() {
            Ok(path) => (Some(path.to_owned()), Bound::Shim),
            Err(error) => return Binding { bound: Bound::Nobody(error.to_string()), is_global },
        },
    };
    let Some(file) = file else {
        return Binding { bound: Bound::Nobody("the path of libhdf5 has a zero byte".into()), is_global };
    };
    // SAFETY: called as hdf5plugin calls it, once, before anything else of the library, with a file that has
    // all functions and variables that it looks for: a libhdf5, or the shim that was made for this.
    let code = unsafe { init_filter(file.as_ptr()) };
    let bound =
        if code < 0 { Bound::Nobody(format!("its function init_filter failed with {code}")) } else { bound };
    Binding { bound, is_global }
}

/// What functions of this program stand in for, in a copy of a library.
pub(super) struct Replaced<'a> {
    /// The libraries to be replaced; none if it names none.
    needed: Vec<&'a str>,
    symbols: ncz_h5shim::Symbols,
    /// The others, where they were found: `$ORIGIN` means another folder in a copy.
    load_first: Vec<&'a Path>,
}

impl<'a> Replaced<'a> {
    /// What can be replaced of that which a library needs; `None` if nothing.
    pub(super) fn of(symbols: &'a Symbols) -> Option<Self> {
        let is = |name: &str, family| name.strip_prefix("lib").is_some_and(|rest| rest.starts_with(family));
        let needs = |family| symbols.needed.iter().any(|needed| is(&needed.name, family));
        let offered = match (needs("hdf5") || !symbols.undefined_h5.is_empty(), needs("netcdf")) {
            (true, true) => ncz_h5shim::Symbols::Both,
            (true, false) => ncz_h5shim::Symbols::Hdf5,
            (false, true) => ncz_h5shim::Symbols::Netcdf,
            (false, false) => return None,
        };
        let (replaced, others): (Vec<_>, Vec<_>) =
            symbols.needed.iter().partition(|needed| is(&needed.name, "hdf5") || is(&needed.name, "netcdf"));
        Some(Self {
            needed: replaced.iter().map(|needed| needed.name.as_str()).collect(),
            symbols: offered,
            load_first: others.iter().filter_map(|needed| needed.found.as_deref()).collect(),
        })
    }

    /// Loads such a copy.
    pub(super) fn open(&self, library: &[u8]) -> Result<RawLibrary, ncz_h5shim::Error> {
        let replace = Replace { needed: &self.needed, symbols: self.symbols, load_first: &self.load_first };
        let handle = ncz_h5shim::open_with_shim(library, &replace)?;
        // SAFETY: a handle of the loader that nobody closes.
        Ok(unsafe { RawLibrary::from_raw(handle) })
    }
}

/// The file of the library that an address lies in.
pub(super) fn file_of(address: *mut c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked about; the place for the answer is there.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) } != 0;
    // SAFETY: all bytes zero is a valid value, and the call writes valid ones.
    let name = unsafe { info.assume_init() }.dli_fname;
    if !found || name.is_null() {
        return None;
    }
    // SAFETY: the loader's own C string, which lives as long as the library, and that is never closed.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes().to_vec();
    Some(PathBuf::from(std::ffi::OsString::from_vec(name)))
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Shim => f.write_str("this program, in place of libhdf5"),
            Self::Hdf5(path) => write!(f, "the libhdf5 {}", path.display()),
            Self::Netcdf(path) => write!(f, "the libnetcdf {}", path.display()),
            Self::Nobody(reason) => write!(f, "no libhdf5: {reason}"),
        }
    }
}
