//! The functions of libhdf5 (`H5public.h` and what it includes; `hid_t` is `int64_t`, `hsize_t`
//! `uint64_t`, `herr_t`, `htri_t` and `H5Z_filter_t` are `int`).
//!
//! The caller is a plugin that follows C's rules: a pointer is NULL, or points to as many elements as
//! the other arguments state. Nothing else about the pointed-to data is trusted.
#![expect(unsafe_code, reason = "functions that C calls with pointers")]

mod datatype;
mod library;
mod plist;
mod space;
#[cfg(test)]
mod tests;

use std::ffi::c_char;

use crate::guard::Function;

/// `herr_t`, `htri_t` and `int` for what failed.
const FAIL: i32 = -1;

/// All functions by name.
pub(crate) fn functions() -> Vec<Function> {
    [datatype::functions(), library::functions(), plist::functions(), space::functions()].concat()
}

/// Writes an optional result.
///
/// # Safety
/// `to` is NULL, or may be written to.
unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: it is not NULL, so by the contract it may be written to. Plugins align what they pass.
        unsafe { to.write(value) };
    }
}

/// Writes as many of `values` as fit into `capacity` elements.
///
/// # Safety
/// `to` is NULL, or `capacity` elements may be written there.
unsafe fn put_all<T: Copy>(to: *mut T, capacity: usize, values: &[T]) {
    if !to.is_null() {
        let count = values.len().min(capacity);
        // SAFETY: `count` elements may be written by the contract, and as many are read from a slice, which
        // is ours and so cannot overlap with what the plugin owns.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to, count) };
    }
}

/// A list of parameters; `None` if there should be some and the pointer is NULL.
///
/// # Safety
/// `from` is NULL, or points to `count` elements.
unsafe fn take_all<T: Copy>(from: *const T, count: usize) -> Option<Vec<T>> {
    if count == 0 {
        return Some(Vec::new());
    }
    if from.is_null() {
        return None;
    }
    // SAFETY: it is not NULL and points to `count` elements by the contract.
    Some(unsafe { std::slice::from_raw_parts(from, count) }.to_vec())
}

/// The bytes of a C string, at most `limit` of them; `None` for NULL.
///
/// # Safety
/// `from` is NULL, or points to a terminated string, or to `limit` bytes.
unsafe fn text(from: *const c_char, limit: usize) -> Option<Vec<u8>> {
    if from.is_null() {
        return None;
    }
    let mut bytes = Vec::new();
    for at in 0..limit {
        // SAFETY: no byte before `at` was the end, and `at` is below `limit`.
        let byte = unsafe { from.add(at).read() } as u8;
        if byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    Some(bytes)
}
