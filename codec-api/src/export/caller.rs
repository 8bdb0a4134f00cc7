//! Finds the calling library and its functions.
//!
//! A process can hold several libhdf5 and libnetcdf (h5py and netCDF4-python bring their own); handles of one are not
//! valid in another. A plugin links none of them. It looks at the stack instead: the first return address outside its
//! own image is in the calling library, and only functions of that library are used.

use std::ffi::{CStr, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::buffer::Allocator;

/// A loaded library or program. A caller is kept loaded until the process ends, so that cached
/// addresses stay valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Image {
    base: usize,
    handle: usize,
}

/// Returns the image of the first stack frame outside our own.
pub(super) fn calling_image() -> Option<Image> {
    calling(|known| known.image)
}

/// Returns the allocator of the caller: libhdf5's own if it is libhdf5, else the C library's (netcdf-c
/// allocates chunks with that even if it is linked to libhdf5).
pub(super) fn calling_allocator() -> Allocator {
    calling(|known| known.allocator).unwrap_or(Allocator::LIBC)
}

/// Returns the file name of the calling library or program, for messages. Does not open the library.
pub(super) fn calling_name() -> Option<String> {
    let own = base_of(calling_image as *mut c_void)?;
    let mut name = None;
    each_return_address(|address| match information(address) {
        Some(info) if info.dli_fbase as usize == own => true,
        Some(info) => {
            // SAFETY: dladdr's name is a C string of the loader.
            let file = unsafe { CStr::from_ptr(info.dli_fname) };
            name = Some(file.to_string_lossy().into_owned());
            false
        }
        None => false,
    });
    name
}

impl Image {
    /// Returns the address of the function `name` if this image itself defines it.
    pub(super) fn function(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle came from dlopen and is never closed.
        let address = unsafe { libc::dlsym(self.handle as *mut c_void, name.as_ptr()) };
        // dlsym looks into the image's dependencies too.
        (!address.is_null() && base_of(address)? == self.base).then_some(address)
    }

    fn allocator(self) -> Allocator {
        let functions = (
            self.function(c"H5allocate_memory"),
            self.function(c"H5resize_memory"),
            self.function(c"H5free_memory"),
        );
        let (Some(allocate), Some(resize), Some(free)) = functions else { return Allocator::LIBC };
        // SAFETY: the functions have these signatures in every libhdf5 since 1.8.12 (`clear` is a C bool
        // or an unsigned, which an int of 0 or 1 is passed as); the image stays loaded.
        unsafe {
            Allocator::hdf5(
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize, i32) -> *mut c_void>(allocate),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>(
                    resize,
                ),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(free),
            )
        }
    }
}

/// A code address and the image that holds it: our own (`None`) or another.
#[derive(Clone, Copy)]
struct Known {
    address: usize,
    caller: Option<Caller>,
}

#[derive(Clone, Copy)]
struct Caller {
    image: Image,
    allocator: Allocator,
}

/// Addresses seen before, so that a filter call does not search symbol tables. The addresses are the
/// return addresses of few call sites; the images stay loaded, so entries stay valid.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
/// More addresses than this are looked up each time.
const KNOWN_MAX: usize = 256;

/// Walks the stack to the first frame outside the own image.
fn calling<R>(pick: impl Fn(Caller) -> R) -> Option<R> {
    let own = base_of(calling_image as *mut c_void)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = None;
    each_return_address(|address| {
        let address = address as usize;
        let caller = match known.iter().find(|known| known.address == address) {
            Some(known) => known.caller,
            None => match look_up(address, own) {
                // The address is in no image: code generated at run time, whose origin is unknown.
                None => return false,
                Some(caller) => {
                    if known.len() < KNOWN_MAX {
                        known.push(Known { address, caller });
                    }
                    caller
                }
            },
        };
        match caller {
            None => true,
            Some(caller) => {
                found = Some(pick(caller));
                false
            }
        }
    });
    found
}

/// Calls `visit` with the address of each stack frame, the innermost first, until it returns `false`.
fn each_return_address<F: FnMut(*mut c_void) -> bool>(mut visit: F) {
    unsafe extern "C" fn step<F: FnMut(*mut c_void) -> bool>(
        context: *mut c_void,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the unwinder passes on the pointer that it got below: a closure that nothing else uses meanwhile.
        let visit = unsafe { &mut *visit.cast::<F>() };
        // SAFETY: the context is that of the frame for which the unwinder calls this function.
        let address = unsafe { _Unwind_GetIP(context) };
        if visit(address as *mut c_void) { CONTINUE } else { STOP }
    }
    // SAFETY: the signatures are those of the Itanium C++ ABI; `visit` lives until the walk ends; a panic cannot cross
    // `step`, which is `extern "C"`.
    unsafe { _Unwind_Backtrace(step::<F>, (&raw mut visit).cast()) };
}

/// `_URC_NO_REASON`: go on with the next frame.
const CONTINUE: c_int = 0;
/// `_URC_NORMAL_STOP`.
const STOP: c_int = 4;

// Of the unwinder that the standard library links.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Finds the image that holds `address`: `Some(None)` is our own image, `None` no image.
fn look_up(address: usize, own: usize) -> Option<Option<Caller>> {
    let base = base_of(address as *mut c_void)?;
    if base == own {
        return Some(None);
    }
    let image = open(address, base)?;
    Some(Some(Caller { image, allocator: image.allocator() }))
}

/// Opens a handle on the image at `base` that holds `address`.
fn open(address: usize, base: usize) -> Option<Image> {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    let info = information(address as *mut c_void)?;
    // SAFETY: dladdr's name is a C string of the loader; NOLOAD runs no code.
    let mut handle = unsafe { libc::dlopen(info.dli_fname, flags) };
    if handle.is_null() {
        // The program itself cannot be found by its name.
        // SAFETY: a null name means the program, which is loaded.
        handle = unsafe { libc::dlopen(std::ptr::null(), flags) };
    }
    (!handle.is_null()).then_some(Image { base, handle: handle as usize })
}

fn base_of(address: *mut c_void) -> Option<usize> {
    information(address).map(|info| info.dli_fbase as usize)
}

fn information(address: *mut c_void) -> Option<libc::Dl_info> {
    // SAFETY: Dl_info is plain pointers, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address and fills `info` when it returns non-zero.
    let found = unsafe { libc::dladdr(address, &raw mut info) };
    (found != 0 && !info.dli_fbase.is_null() && !info.dli_fname.is_null()).then_some(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_of_a_test_is_the_c_library_whose_allocator_is_its_own() {
        let image = calling_image().unwrap();
        assert_ne!(Some(image.base), base_of(calling_image as *mut c_void));
        assert!(image.function(c"H5open").is_none());
        assert_eq!(calling_image(), Some(image));
        assert!(calling_name().unwrap().contains("libc"), "{:?}", calling_name());
        // Finds a symbol of the image, but not one of its dependencies.
        assert!(image.function(c"malloc").is_some());
        assert!(image.function(c"_dl_catch_exception_of_nobody").is_none());
    }
}
