//! Finds the libhdf5 or libnetcdf that provides the functions a library calls.
//!
//! There are four kinds of libraries (`H5*` stands for libhdf5 and libnetcdf alike):
//!
//! * Those that call none of their functions.
//! * Those that export `init_filter`, which takes the path of a libhdf5: they get functions of this program. Only if
//!   the program has a libhdf5 in its global scope, they get that one: they have bound to it already, and would
//!   overwrite its variables with ours.
//! * Those that are linked to a libhdf5 that loads: they use that one. A libhdf5 in the global scope of the program
//!   takes precedence, and is also used by those that are linked to none.
//! * Those whose libhdf5 is absent, or that leave the functions to the program that loads them: a copy in memory is
//!   loaded that finds functions of this program instead.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as RawLibrary, RTLD_LAZY};
use ncz_h5shim::Replace;
use serde::{Deserialize, Serialize};

use super::{address, imports, symbol};
use crate::bounded;
use crate::symbols::{Exports, Symbols, names};

/// The provider of the functions of libhdf5 or libnetcdf that a library calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Hdf5Provider {
    /// No library: it calls none of them, or finds them in its caller, which is this program.
    Nothing,
    /// This program; no libhdf5 or libnetcdf is needed.
    Shim,
    /// A libhdf5, which is the file at this path.
    Hdf5(#[serde(with = "bounded::path")] PathBuf),
    /// A libnetcdf, which is the file at this path.
    Netcdf(#[serde(with = "bounded::path")] PathBuf),
    /// None could be loaded or linked, for this reason. Functions that do not call them work.
    Unavailable(#[serde(with = "bounded::plain")] String),
}

/// A library as it was bound.
pub(super) struct Binding {
    pub(super) hdf5_provider: Hdf5Provider,
    /// The location of the libhdf5 that it uses, if that is not one of its own dependencies.
    pub(super) elsewhere: Option<RawLibrary>,
}

impl Binding {
    /// A copy that was modified to use this program.
    pub(super) const COPY: Self = Self::of(Hdf5Provider::Shim);

    const fn of(hdf5_provider: Hdf5Provider) -> Self {
        Self { hdf5_provider, elsewhere: None }
    }
}

type InitFilter = unsafe extern "C" fn(*const c_char) -> c_int;

/// The function by which each library is known.
const H5_OPEN: &CStr = c"H5open";
const NC_OPEN: &CStr = c"nc_open";

/// Finds out which library provides the functions; calls `init_filter`, if the library has it. Nothing else of it may
/// have been called before.
pub(super) fn bind(raw: &RawLibrary, handle: *mut c_void, exports: &Exports) -> Binding {
    if exports.has(names::INIT_FILTER) {
        return tell(raw);
    }
    for (prefix, open) in [("nc_", NC_OPEN), ("H5", H5_OPEN)] {
        let hdf5_provider =
            |path| if open == NC_OPEN { Hdf5Provider::Netcdf(path) } else { Hdf5Provider::Hdf5(path) };
        let own = address(raw, open).and_then(file_of);
        // The loader has bound its symbols, and searches the global scope of the program first.
        let used = imports::bound_to(handle, prefix).and_then(file_of);
        let used = used.and_then(|path| {
            let library = loaded_with(&path, open)?;
            Some((address(&library, open).and_then(file_of)?, library))
        });
        if let Some((path, library)) = used.filter(|(path, _)| own.as_ref() != Some(path)) {
            return Binding { hdf5_provider: hdf5_provider(path), elsewhere: Some(library) };
        }
        if let Some(path) = own {
            return Binding::of(hdf5_provider(path));
        }
    }
    Binding::of(Hdf5Provider::Nothing)
}

/// The library of a file that is loaded, if the name is found in it or in what it needs.
fn loaded_with(path: &Path, name: &CStr) -> Option<RawLibrary> {
    // SAFETY: with this flag nothing is loaded, so no code runs.
    let library = unsafe { RawLibrary::open(Some(path), RTLD_LAZY | libc::RTLD_NOLOAD) };
    // A program is not known by its file.
    let library = library.unwrap_or_else(|_| RawLibrary::this());
    address(&library, name).map(|_| library)
}

/// Calls `init_filter`.
fn tell(raw: &RawLibrary) -> Binding {
    // SAFETY: the interface gives a function of this name this type in all libraries that have it.
    let Some(init_filter) = (unsafe { symbol::<InitFilter>(raw, c"init_filter") }) else {
        return Binding::of(Hdf5Provider::Nothing);
    };
    let global = RawLibrary::this();
    let (file, hdf5_provider, elsewhere) = match address(&global, H5_OPEN).and_then(file_of) {
        Some(path) => {
            (CString::new(path.as_os_str().as_bytes()).ok(), Hdf5Provider::Hdf5(path), Some(global))
        }
        None => match ncz_h5shim::shim_path() {
            Ok(path) => (Some(path.to_owned()), Hdf5Provider::Shim, None),
            Err(error) => return Binding::of(Hdf5Provider::Unavailable(error.to_string())),
        },
    };
    let Some(file) = file else {
        return Binding::of(Hdf5Provider::Unavailable("the path of libhdf5 has a zero byte".into()));
    };
    // SAFETY: called as hdf5plugin calls it, once, before anything else of the library, with a file that has
    // all functions and variables that it looks for: a libhdf5, or the shim that was made for this.
    let code = unsafe { init_filter(file.as_ptr()) };
    if code < 0 {
        return Binding::of(Hdf5Provider::Unavailable(format!(
            "its function init_filter failed with {code}"
        )));
    }
    Binding { hdf5_provider, elsewhere }
}

/// The libraries that this program replaces in a copy of a library.
pub(super) struct Replaced<'a> {
    /// The libraries to be replaced; none if it names none.
    needed: Vec<&'a str>,
    symbols: ncz_h5shim::Symbols,
    /// The other libraries, with the paths where they were found: `$ORIGIN` is another folder in a copy.
    load_first: Vec<&'a Path>,
}

impl<'a> Replaced<'a> {
    /// Returns which needed libraries can be replaced; `None` if none.
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
        // SAFETY: a handle of the loader that is never closed.
        Ok(unsafe { RawLibrary::from_raw(handle) })
    }
}

/// Returns the file of the library that contains an address.
pub(super) fn file_of(address: *mut c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be queried; the output pointer is valid.
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

impl fmt::Display for Hdf5Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Shim => f.write_str("this program, in place of libhdf5"),
            Self::Hdf5(path) => write!(f, "the libhdf5 {}", path.display()),
            Self::Netcdf(path) => write!(f, "the libnetcdf {}", path.display()),
            Self::Unavailable(reason) => write!(f, "no libhdf5: {reason}"),
        }
    }
}
