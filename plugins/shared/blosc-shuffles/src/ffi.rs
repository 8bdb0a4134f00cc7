//! The calls of c-blosc.

#![expect(unsafe_code, reason = "calls of the C library c-blosc")]

// Brings the library that the functions below are of into the program.
use blosc_src as _;

use crate::Direction;

// Parts of the library that its header does not show, and the program links all the same.
unsafe extern "C" {
    fn blosc_internal_shuffle(typesize: usize, size: usize, from: *const u8, to: *mut u8);
    fn blosc_internal_unshuffle(typesize: usize, size: usize, from: *const u8, to: *mut u8);
    fn blosc_internal_bitshuffle(
        typesize: usize,
        size: usize,
        from: *const u8,
        to: *mut u8,
        spare: *mut u8,
    ) -> i32;
    fn blosc_internal_bitunshuffle(
        typesize: usize,
        size: usize,
        from: *const u8,
        to: *mut u8,
        spare: *mut u8,
    ) -> i32;
}

/// Shuffles `from` by bytes into `to`; bytes after the last whole element are copied, as are elements of one byte.
///
/// # Panics
/// The buffers differ in length, or elements have no bytes.
pub fn shuffle(direction: Direction, typesize: u8, from: &[u8], to: &mut [u8]) {
    assert!(to.len() == from.len() && typesize > 0);
    if typesize == 1 {
        to.copy_from_slice(from);
        return;
    }
    let function = match direction {
        Direction::Forward => blosc_internal_shuffle,
        Direction::Back => blosc_internal_unshuffle,
    };
    // SAFETY: both buffers have the length that is passed, as asserted, and do not overlap; the functions take any
    // alignment, any length, and elements of 2 to 255 bytes.
    unsafe { function(typesize.into(), from.len(), from.as_ptr(), to.as_mut_ptr()) }
}

/// Shuffles `from` by bits into `to`; if the elements are not a multiple of eight, all are copied. Returns whether it
/// worked.
///
/// # Panics
/// The buffers, of which `spare` may be longer, differ in length, or elements have no bytes.
pub fn bitshuffle(direction: Direction, typesize: u8, from: &[u8], to: &mut [u8], spare: &mut [u8]) -> bool {
    assert!(to.len() == from.len() && spare.len() >= from.len() && typesize > 0);
    if from.is_empty() {
        return true;
    }
    let function = match direction {
        Direction::Forward => blosc_internal_bitshuffle,
        Direction::Back => blosc_internal_bitunshuffle,
    };
    // SAFETY: the three buffers have at least the length that is passed, as asserted, and do not overlap; the functions
    // take any alignment, any length, and elements of 1 to 255 bytes.
    unsafe { function(typesize.into(), from.len(), from.as_ptr(), to.as_mut_ptr(), spare.as_mut_ptr()) >= 0 }
}
