//! The HDF5 filter: a filter's record and function, with a hook for the fault.

use std::ffi::{CStr, c_uint, c_void};
use std::slice;

use ncz_codec::abi::hdf5::{CLASS_VERSION, Class2, FLAG_REVERSE};
use ncz_codec::buffer::{Allocator, CBuffer};
use ncz_codec::export::hdf5_face;

use crate::tiny::{ID, NAME, Tiny};

/// The record of a filter without fault.
pub const FILTER: Class2 = Class2 {
    version: CLASS_VERSION,
    id: ID as i32,
    encoder_present: 1,
    decoder_present: 1,
    name: NAME.as_ptr(),
    can_apply: None,
    set_local: None,
    filter: Some(hdf5_face::filter::<Tiny>),
};

/// A filter with a fault.
pub trait Filter {
    /// The valid bytes of the block after the call, 0 for failure.
    fn run(chunk: &mut Chunk<'_>) -> usize;
}

/// The record of a filter that runs `F` and is good in all else.
pub const fn filter<F: Filter>() -> Class2 {
    Class2 { filter: Some(run::<F>), ..FILTER }
}

/// One call of a filter, with what the caller gave.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// The flags.
    pub flags: c_uint,
    /// The number of words, as stated by the caller.
    pub word_count: usize,
    /// The words; may be null if there are none.
    pub words: *const c_uint,
    /// The number of input bytes in the block.
    pub len: usize,
    /// The size of the block.
    pub block_size: &'a mut usize,
    /// The block.
    pub block: &'a mut *mut c_void,
}

impl Chunk<'_> {
    /// Whether the call decodes.
    pub fn is_decoding(&self) -> bool {
        self.flags & FLAG_REVERSE != 0
    }

    /// Does what a good filter does.
    pub fn good(&mut self) -> usize {
        let Self { flags, word_count, words, len, .. } = *self;
        // SAFETY: the arguments are those of our own call, which the caller guarantees.
        unsafe { hdf5_face::filter::<Tiny>(flags, word_count, words, len, self.block_size, self.block) }
    }

    /// [`good`](Self::good) with other words.
    pub fn good_with(&mut self, words: &[u32]) -> usize {
        let Self { flags, len, .. } = *self;
        // SAFETY: the words are a slice; the rest is of our own call, which the caller guarantees.
        unsafe {
            hdf5_face::filter::<Tiny>(flags, words.len(), words.as_ptr(), len, self.block_size, self.block)
        }
    }

    /// The words.
    pub fn given(&self) -> &[u32] {
        if self.words.is_null() || self.word_count == 0 {
            return &[];
        }
        // SAFETY: the caller guarantees that many.
        unsafe { slice::from_raw_parts(self.words, self.word_count) }
    }

    /// Returns the codec that the words select, if they are valid.
    pub fn tiny(&self) -> Option<Tiny> {
        ncz_codec::CodecConfig::from_params(self.given()).ok()
    }

    /// The input.
    pub fn input(&self) -> &[u8] {
        self.input_and(0)
    }

    /// The input and `more` bytes after it, which may be anything or nothing.
    pub fn input_and(&self, more: usize) -> &[u8] {
        if self.block.is_null() || self.len == 0 {
            return &[];
        }
        // SAFETY: the caller guarantees `len` bytes. Not safe if `more` is not 0: that is a fault.
        unsafe { slice::from_raw_parts(self.block.cast::<u8>(), self.len + more) }
    }

    /// Returns the block with its stated size.
    pub fn block_mut(&mut self) -> &mut [u8] {
        // SAFETY: the caller promises that the block has this size, and a good call leaves it so.
        unsafe { slice::from_raw_parts_mut(self.block.cast::<u8>(), *self.block_size) }
    }

    /// Returns the first `len` bytes of the block after a call that returned that many.
    pub fn output_mut(&mut self, len: usize) -> &mut [u8] {
        &mut self.block_mut()[..len]
    }

    /// Replaces the block by one of the caller's allocator with `bytes`; their number.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        if bytes.is_empty() {
            return 0;
        }
        let Ok(new) = CBuffer::copy_of(bytes, allocator()) else { return 0 };
        let (start, size) = new.into_raw();
        self.free();
        (*self.block, *self.block_size) = (start.as_ptr().cast(), size);
        bytes.len()
    }

    /// Frees the block with the caller's allocator, but keeps its address.
    pub fn free(&mut self) {
        // SAFETY: the block is the caller's, from that allocator; the caller of this function replaces it, or commits
        // a fault.
        unsafe { allocator().free(*self.block) };
    }
}

/// The program's own allocator of chunks if it exports one, as one does that checks its memory; else malloc.
fn allocator() -> Allocator {
    // SAFETY: looks a name up in the whole program.
    let function = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let names = [c"H5allocate_memory", c"H5resize_memory", c"H5free_memory"];
    let [allocate, resize, free] = names.map(function);
    if allocate.is_null() || resize.is_null() || free.is_null() {
        return Allocator::LIBC;
    }
    // SAFETY: the functions have these types under these names, and the program is not unloaded.
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

unsafe extern "C" fn run<F: Filter>(
    flags: c_uint,
    word_count: usize,
    words: *const c_uint,
    len: usize,
    block_size: *mut usize,
    block: *mut *mut c_void,
) -> usize {
    // SAFETY: HDF5 passes valid output pointers.
    let (Some(block_size), Some(block)) = (unsafe { (block_size.as_mut(), block.as_mut()) }) else {
        return 0;
    };
    F::run(&mut Chunk { flags, word_count, words, len, block_size, block })
}
