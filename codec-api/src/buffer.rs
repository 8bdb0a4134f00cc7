//! Memory from C allocators, which the caller of a filter may free or replace.
#![expect(unsafe_code, reason = "owns memory of C's allocators")]

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::NonNull;
use std::slice;

use crate::error::{CodecError, Result};

/// A matching set of functions that allocate, resize and free memory.
#[derive(Clone, Copy)]
pub struct Allocator {
    allocate: unsafe extern "C" fn(usize, c_int) -> *mut c_void,
    resize: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

/// An owned block of a C allocator, all of it initialised.
pub struct CBuffer {
    start: NonNull<u8>,
    capacity: usize,
    allocator: Allocator,
}

// SAFETY: the block is owned and not shared; the allocators that `Allocator` can hold (C's and libhdf5's,
// which must serve all threads) are not bound to a thread.
unsafe impl Send for CBuffer {}

impl Allocator {
    /// The C library's `malloc`, `realloc` and `free`.
    pub const LIBC: Self = Self { allocate: libc_allocate, resize: libc::realloc, free: libc::free };

    /// The three functions of a libhdf5: `H5allocate_memory`, `H5resize_memory`, `H5free_memory`.
    ///
    /// # Safety
    /// The functions are the ones with these names, all from one library that is never unloaded.
    pub const unsafe fn hdf5(
        allocate: unsafe extern "C" fn(usize, c_int) -> *mut c_void,
        resize: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
        free: unsafe extern "C" fn(*mut c_void),
    ) -> Self {
        Self { allocate, resize, free }
    }

    /// Frees a block of this allocator; a null pointer is ignored.
    ///
    /// # Safety
    /// `block` is null or came from this allocator, and is not used any more.
    pub unsafe fn free(self, block: *mut c_void) {
        if !block.is_null() {
            // SAFETY: the caller guarantees it.
            unsafe { (self.free)(block) }
        }
    }
}

impl CBuffer {
    /// Allocates a block of `len` zero bytes.
    ///
    /// # Errors
    /// No memory.
    pub fn zeroed(len: usize, allocator: Allocator) -> Result<Self> {
        Self::allocate(len, true, allocator)
    }

    /// Allocates a block with a copy of `bytes`.
    ///
    /// # Errors
    /// No memory.
    pub fn copy_of(bytes: &[u8], allocator: Allocator) -> Result<Self> {
        // A block has at least 1 byte, which needs a value too.
        let block = Self::allocate(bytes.len(), bytes.is_empty(), allocator)?;
        // SAFETY: the block holds at least `bytes.len()` bytes and is fresh, so it does not overlap.
        unsafe { block.start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(block)
    }

    /// Takes ownership of a block that C code allocated.
    ///
    /// # Safety
    /// `start` came from `allocator`, nothing else frees it, and its first `capacity` bytes exist and are
    /// initialised. `capacity` is at least 1 and at most `isize::MAX`.
    pub unsafe fn from_raw(start: NonNull<u8>, capacity: usize, allocator: Allocator) -> Self {
        Self { start, capacity, allocator }
    }

    /// The size of the block.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The block's bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the block is owned, `capacity` bytes long and initialised.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.capacity) }
    }

    /// The block's bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes it the only reference.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.capacity) }
    }

    /// Releases the memory after `len`; the block keeps at least `len` bytes.
    pub fn shrink_to(&mut self, len: usize) {
        let len = len.max(1);
        if len >= self.capacity {
            return;
        }
        // SAFETY: the block came from this allocator and `len` is not 0. On failure the old block is
        // unchanged.
        let smaller = unsafe { (self.allocator.resize)(self.start.as_ptr().cast(), len) };
        if let Some(start) = NonNull::new(smaller.cast()) {
            self.start = start;
            self.capacity = len;
        }
    }

    /// Releases ownership of the block and returns its start and size. The receiver frees it with the same allocator.
    pub fn into_raw(self) -> (NonNull<u8>, usize) {
        let raw = (self.start, self.capacity);
        std::mem::forget(self);
        raw
    }

    fn allocate(len: usize, clear: bool, allocator: Allocator) -> Result<Self> {
        let capacity = len.max(1);
        let no_memory = || CodecError::unsupported(format!("no memory for {len} bytes"));
        if capacity > isize::MAX as usize {
            // No slice can be longer, but not every allocator refuses such a length.
            return Err(no_memory());
        }
        // SAFETY: a size of at least 1; the result is checked.
        let start = unsafe { (allocator.allocate)(capacity, c_int::from(clear)) };
        let start = NonNull::new(start.cast()).ok_or_else(no_memory)?;
        Ok(Self { start, capacity, allocator })
    }
}

impl Drop for CBuffer {
    fn drop(&mut self) {
        // SAFETY: the block is owned, came from this allocator, and is not used after this.
        unsafe { self.allocator.free(self.start.as_ptr().cast()) }
    }
}

impl fmt::Debug for CBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CBuffer").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Allocator")
    }
}

/// `H5allocate_memory` with the C library's functions.
unsafe extern "C" fn libc_allocate(len: usize, clear: c_int) -> *mut c_void {
    if clear == 0 {
        // SAFETY: any size is allowed.
        unsafe { libc::malloc(len) }
    } else {
        // SAFETY: any size is allowed.
        unsafe { libc::calloc(1, len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_survives_shrinking_and_changing_hands() {
        let mut block = CBuffer::copy_of(&[7; 1000], Allocator::LIBC).unwrap();
        block.as_mut_slice()[9] = 8;
        block.shrink_to(10);
        assert_eq!(block.capacity(), 10);
        let (start, capacity) = block.into_raw();
        // SAFETY: it was given away just now.
        let block = unsafe { CBuffer::from_raw(start, capacity, Allocator::LIBC) };
        assert_eq!(block.as_slice(), [7, 7, 7, 7, 7, 7, 7, 7, 7, 8]);
    }

    #[test]
    fn absurd_sizes_are_errors_and_empty_blocks_are_blocks() {
        assert!(CBuffer::zeroed(isize::MAX as usize, Allocator::LIBC).is_err());
        assert_eq!(CBuffer::zeroed(0, Allocator::LIBC).unwrap().as_slice(), [0]);
        assert_eq!(CBuffer::copy_of(&[], Allocator::LIBC).unwrap().as_slice(), [0]);
    }
}
