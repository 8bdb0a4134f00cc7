//! Plugins whose libhdf5 or libnetcdf is absent.
#![expect(unsafe_code, reason = "calls functions of plugins")]

use std::ffi::{CStr, c_void};

use crate::error::Error;
use crate::replace::Replace;

#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
use crate::linux as system;

/// Loads a copy of a plugin in which the functions of this crate replace an absent library.
///
/// The result is the loader's handle, for `dlsym`. It is never closed. Every call loads another copy.
///
/// # Errors
/// [`Error::Unsupported`]; [`Error::Missing`] if the plugin calls what the shim does not offer; the file is
/// damaged; or the loader refuses it.
pub fn open_with_shim(plugin: &[u8], replace: &Replace<'_>) -> Result<*mut c_void, Error> {
    system::open_with_shim(plugin, replace)
}

/// The path of a library with the functions of libhdf5 and libnetcdf, for a plugin's `init_filter`.
///
/// It is made at the first call, and stays loaded.
///
/// # Errors
/// [`Error::Unsupported`], or no library could be made or loaded.
pub fn shim_path() -> Result<&'static CStr, Error> {
    system::shim_path()
}

/// Calls functions of plugins so that a library with the functions of libhdf5 and libnetcdf is what calls.
///
/// Some plugins link neither and get no path: they look at the stack for the library that called them, and use
/// the functions of that one. They find those of this crate.
#[derive(Debug, Clone, Copy)]
pub struct Caller(system::Call);

impl Caller {
    /// The caller of this process. It is made once.
    ///
    /// # Errors
    /// As of [`shim_path`].
    pub fn new() -> Result<Self, Error> {
        system::call().map(Self)
    }

    /// Calls `function` and returns what it leaves as its result, of which the lower part counts if the result is
    /// shorter than a word.
    ///
    /// # Safety
    /// `function` is a C function whose arguments are integers and pointers, these or the first of these, that may be
    /// called with them here and now.
    pub unsafe fn call(self, function: *const (), arguments: [usize; 6]) -> usize {
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: the code passes the first six words on, where such a function expects its arguments; it ignores extra
        // words. The rest holds by the contract.
        unsafe { (self.0)(a, b, c, d, e, f, function) }
    }
}

/// A stub library is machine code and a file format; other systems have others.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
mod system {
    use std::ffi::{CStr, c_void};

    use crate::error::Error;
    use crate::replace::Replace;

    pub(super) type Call = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, *const ()) -> usize;

    pub(super) fn shim_path() -> Result<&'static CStr, Error> {
        Err(Error::Unsupported)
    }

    pub(super) fn call() -> Result<Call, Error> {
        Err(Error::Unsupported)
    }

    pub(super) fn open_with_shim(_: &[u8], _: &Replace<'_>) -> Result<*mut c_void, Error> {
        Err(Error::Unsupported)
    }
}
