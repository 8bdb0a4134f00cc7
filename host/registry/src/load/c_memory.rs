//! Memory that C plugins allocate with malloc or read beyond its end.

use std::ffi::c_void;
use std::ptr::NonNull;

/// A block that a library got from malloc and left to us.
pub(super) struct Malloced(pub(super) Option<NonNull<c_void>>);

impl Drop for Malloced {
    fn drop(&mut self) {
        if let Some(start) = self.0 {
            // SAFETY: from malloc, ours, and not used any more.
            unsafe { libc::free(start.as_ptr()) }
        }
    }
}

/// The parameters with zeros after them, for libraries that read more than they are given.
pub(super) fn padded(params: &[u32]) -> Vec<u32> {
    let mut words = params.to_vec();
    words.resize(params.len() + 32, 0);
    words
}

/// Returns the usable size of a block from malloc.
pub(super) fn usable_size(start: NonNull<c_void>) -> usize {
    #[cfg(target_os = "macos")]
    // SAFETY: the block is one of malloc's.
    let size = unsafe { libc::malloc_size(start.as_ptr()) };
    #[cfg(not(target_os = "macos"))]
    // SAFETY: the block is one of malloc's.
    let size = unsafe { libc::malloc_usable_size(start.as_ptr()) };
    size
}
