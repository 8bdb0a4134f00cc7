//! `H5open`, the error stack, the table of filters, memory.

use std::ffi::{c_char, c_uint, c_void};

use super::{FAIL, put, text};
use crate::guard::{Function, guard};
use crate::session;

pub(super) fn functions() -> Vec<Function> {
    vec![
        ("H5open", open as *const ()),
        ("H5get_libversion", version as *const ()),
        ("H5Epush1", push1 as *const ()),
        ("H5Epush2", push2 as *const ()),
        ("H5Eprint2", print2 as *const ()),
        ("H5Zregister", register as *const ()),
        ("H5Zunregister", unregister as *const ()),
        ("H5allocate_memory", allocate as *const ()),
        ("H5resize_memory", resize as *const ()),
        ("H5free_memory", free as *const ()),
    ]
}

/// A message is kept up to here.
const LONGEST_TEXT: usize = 512;

extern "C" fn open() -> i32 {
    0
}

/// The version whose functions these are: handles are 64 bits wide, and the types since are few.
unsafe extern "C" fn version(major: *mut c_uint, minor: *mut c_uint, release: *mut c_uint) -> i32 {
    guard(FAIL, || {
        // SAFETY: HDF5's contract: each is NULL, or valid for writing a number.
        unsafe {
            put(major, 1);
            put(minor, 14);
            put(release, 6);
        }
        Some(0)
    })
}

unsafe extern "C" fn push1(
    _file: *const c_char,
    _function: *const c_char,
    _line: c_uint,
    _major: i64,
    _minor: i64,
    message: *const c_char,
) -> i32 {
    // SAFETY: HDF5's contract: a C string.
    guard(0, || unsafe { push(message) })
}

/// It has variable arguments in HDF5, after `format`. A callee that takes none of them is called alike by
/// the conventions of x86-64; the text stays as the plugin wrote it, conversions included.
unsafe extern "C" fn push2(
    _stack: i64,
    _file: *const c_char,
    _function: *const c_char,
    _line: c_uint,
    _class: i64,
    _major: i64,
    _minor: i64,
    format: *const c_char,
) -> i32 {
    // SAFETY: HDF5's contract: a C string.
    guard(0, || unsafe { push(format) })
}

/// # Safety
/// `message` is NULL or a C string.
unsafe fn push(message: *const c_char) -> Option<i32> {
    // SAFETY: by the contract above.
    let bytes = unsafe { text(message, LONGEST_TEXT) }?;
    session::push_error(String::from_utf8_lossy(&bytes).trim_end().to_owned());
    Some(0)
}

/// Prints the stack in HDF5. The caller of the plugin gets the messages and decides.
extern "C" fn print2(_stack: i64, _stream: *mut c_void) -> i32 {
    0
}

/// A plugin registers itself; nothing here looks filters up.
extern "C" fn register(_class: *const c_void) -> i32 {
    0
}

extern "C" fn unregister(_id: i32) -> i32 {
    0
}

/// `clear` is one byte (`hbool_t`); of a wider one the lowest is looked at.
extern "C" fn allocate(size: usize, clear: u8) -> *mut c_void {
    if size == 0 {
        return std::ptr::null_mut();
    }
    if clear != 0 {
        // SAFETY: any size is allowed; it returns NULL if there is no memory.
        unsafe { libc::calloc(1, size) }
    } else {
        // SAFETY: as above.
        unsafe { libc::malloc(size) }
    }
}

unsafe extern "C" fn resize(memory: *mut c_void, size: usize) -> *mut c_void {
    if size == 0 {
        // SAFETY: HDF5's contract: NULL, or a block of this family, which are all of libc's malloc.
        unsafe { libc::free(memory) };
        return std::ptr::null_mut();
    }
    // SAFETY: as above.
    unsafe { libc::realloc(memory, size) }
}

unsafe extern "C" fn free(memory: *mut c_void) -> i32 {
    // SAFETY: HDF5's contract: NULL, or a block of this family, which are all of libc's malloc.
    unsafe { libc::free(memory) };
    0
}
