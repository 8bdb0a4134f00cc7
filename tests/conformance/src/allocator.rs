//! libhdf5's memory functions, as filters look for them in the program that calls them.
#![expect(unsafe_code, reason = "exports C functions")]

use std::ffi::{c_int, c_void};

use ncz_registry::load::probe;

/// `void *H5allocate_memory(size_t size, hbool_t clear)`.
// SAFETY: nothing else in this program has the name; it links no libhdf5.
#[unsafe(no_mangle)]
extern "C" fn H5allocate_memory(size: usize, clear: c_int) -> *mut c_void {
    probe::allocate(size, clear as u8 != 0)
}

/// `void *H5resize_memory(void *mem, size_t size)`.
///
/// # Safety
/// As [`probe::resize`].
// SAFETY: nothing else in this program has the name; it links no libhdf5.
#[unsafe(no_mangle)]
unsafe extern "C" fn H5resize_memory(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the calling filter guarantees what libhdf5 requires, which is the same.
    unsafe { probe::resize(block, size) }
}

/// `herr_t H5free_memory(void *mem)`.
///
/// # Safety
/// As [`probe::free`].
// SAFETY: nothing else in this program has the name; it links no libhdf5.
#[unsafe(no_mangle)]
unsafe extern "C" fn H5free_memory(block: *mut c_void) -> c_int {
    // SAFETY: the calling filter guarantees what libhdf5 requires, which is the same.
    unsafe { probe::free(block) };
    0
}

/// Keeps the functions in the program, where only filters call them.
pub(crate) fn keep() {
    std::hint::black_box((
        H5allocate_memory as extern "C" fn(usize, c_int) -> *mut c_void,
        H5resize_memory as unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
        H5free_memory as unsafe extern "C" fn(*mut c_void) -> c_int,
    ));
}
