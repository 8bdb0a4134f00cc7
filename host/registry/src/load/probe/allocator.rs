//! The allocator that a host offers to filters: malloc's, or one with marked blocks that it can recognize.
//!
//! A program that exports [`allocate`], [`resize`] and [`free`] as `H5allocate_memory`, `H5resize_memory`
//! and `H5free_memory` looks to a filter as libhdf5 does.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether blocks are marked. The functions are exported under fixed names, so there can be one only.
static MARKED: AtomicBool = AtomicBool::new(false);
static FOREIGN_BLOCKS: AtomicUsize = AtomicUsize::new(0);
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
const MARK: u64 = 0x6e63_7a20_626c_6f63;
/// A marked block is preceded by its mark and its length: as many bytes as malloc's alignment, and not more than
/// malloc's own block header, so that checking for a mark before a block from malloc stays in memory.
const HEAD: usize = 16;

/// The host that calls a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Host {
    /// Buffers are malloc's, as in netcdf-c, and as in ordinary builds of HDF5.
    #[default]
    Malloc,
    /// Buffers are blocks of the host's own allocator, as in builds of HDF5 that check their memory.
    Marked,
}

/// A block that was returned and is not the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the block does not come from the host's allocator")]
pub struct BlockError;

impl Host {
    /// Makes [`allocate`], [`resize`] and [`free`] work as this host has it, from now on.
    pub fn assume(self) {
        MARKED.store(self == Self::Marked, Ordering::SeqCst);
        FOREIGN_BLOCKS.store(0, Ordering::SeqCst);
        ALLOCATED.store(0, Ordering::SeqCst);
    }

    /// How many blocks of another allocator were given to [`resize`] and [`free`] since [`Host::assume`].
    pub fn foreign_blocks() -> usize {
        FOREIGN_BLOCKS.load(Ordering::SeqCst)
    }

    /// How many blocks were taken through [`allocate`] and [`resize`] since [`Host::assume`].
    pub fn allocated() -> usize {
        ALLOCATED.load(Ordering::SeqCst)
    }
}

/// `H5allocate_memory`: a block of `size` bytes, null for none.
pub fn allocate(size: usize, clear: bool) -> *mut c_void {
    if size == 0 {
        return std::ptr::null_mut();
    }
    ALLOCATED.fetch_add(1, Ordering::SeqCst);
    let head = if MARKED.load(Ordering::SeqCst) { HEAD } else { 0 };
    let Some(whole) = size.checked_add(head) else { return std::ptr::null_mut() };
    // SAFETY: any size is allowed.
    let start = unsafe { if clear { libc::calloc(1, whole) } else { libc::malloc(whole) } };
    if head == 0 || start.is_null() {
        return start;
    }
    // SAFETY: the block has room for the head, and malloc's blocks are aligned for words.
    unsafe {
        start.cast::<u64>().write(MARK);
        start.cast::<usize>().add(1).write(size);
        start.add(HEAD)
    }
}

/// `H5resize_memory`.
///
/// # Safety
/// `block` is null or a block of [`allocate`]'s under the same [`Host`], not used any more.
pub unsafe fn resize(block: *mut c_void, size: usize) -> *mut c_void {
    if !MARKED.load(Ordering::SeqCst) {
        ALLOCATED.fetch_add(1, Ordering::SeqCst);
        // SAFETY: a block of malloc's, as the caller promises.
        return unsafe { libc::realloc(block, size) };
    }
    let new = allocate(size, false);
    let Some(old) = NonNull::new(block) else { return new };
    if new.is_null() && size != 0 {
        return new;
    }
    match held(old) {
        Ok(len) => {
            if !new.is_null() {
                // SAFETY: both hold that many bytes and are different blocks.
                unsafe { new.cast::<u8>().copy_from_nonoverlapping(block.cast(), len.min(size)) };
            }
            // SAFETY: as the caller promises.
            unsafe { free(block) };
        }
        Err(BlockError) => {
            FOREIGN_BLOCKS.fetch_add(1, Ordering::SeqCst);
        }
    }
    new
}

/// `H5free_memory`. A block of another allocator is counted and not freed.
///
/// # Safety
/// `block` is null or a block of [`allocate`]'s under the same [`Host`], not used any more.
pub unsafe fn free(block: *mut c_void) {
    let Some(start) = NonNull::new(block) else { return };
    if !MARKED.load(Ordering::SeqCst) {
        // SAFETY: a block of malloc's, as the caller promises.
        return unsafe { libc::free(block) };
    }
    if held(start).is_err() {
        FOREIGN_BLOCKS.fetch_add(1, Ordering::SeqCst);
        return;
    }
    // SAFETY: the mark shows that malloc's block begins that much before; the mark is freed with it.
    unsafe {
        let whole = start.cast::<u8>().sub(HEAD);
        whole.cast::<u64>().write(0);
        libc::free(whole.as_ptr().cast());
    }
}

/// The length of a marked block.
pub(super) fn held(block: NonNull<c_void>) -> Result<usize, BlockError> {
    // SAFETY: before any block of glibc's malloc, and of ours, are two readable words, at any alignment. A pointer
    // to something else is a bug in the plugin, and may end this process, which is expendable.
    unsafe {
        let head = block.cast::<u8>().sub(HEAD);
        if head.cast::<u64>().read_unaligned() != MARK {
            return Err(BlockError);
        }
        Ok(head.cast::<usize>().add(1).read_unaligned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_blocks_are_known_again() {
        Host::Marked.assume();
        let block = allocate(10, true);
        assert_eq!(held(NonNull::new(block).unwrap()), Ok(10));
        // SAFETY: blocks of `allocate`, each given back once; the last is malloc's, which is distinguished.
        unsafe {
            let block = resize(block, 100_000);
            free(block);
            assert_eq!(Host::foreign_blocks(), 0);
            let foreign = libc::calloc(8, 8);
            free(foreign.add(HEAD));
            assert_eq!(Host::foreign_blocks(), 1);
            libc::free(foreign);
        }
        Host::Malloc.assume();
    }
}
