//! libdeflate, with the number of bytes that a decoder has read, which tells whether others follow.

#![expect(unsafe_code, reason = "calls of the C library libdeflate")]

use std::ptr::NonNull;

use libdeflate_sys as c;

/// The tables of a compressor for one level.
pub(crate) struct Compressor {
    handle: NonNull<c::libdeflate_compressor>,
    level: i32,
}

/// The tables of a decompressor.
pub(crate) struct Decompressor {
    handle: NonNull<c::libdeflate_decompressor>,
}

/// How far a decoder came, in bytes.
pub(crate) struct Done {
    pub(crate) read: usize,
    pub(crate) written: usize,
}

/// Why a decoder gave up.
pub(crate) enum Refusal {
    Bad,
    OutputFull,
}

// SAFETY: libdeflate ties no state to the thread that made it; a handle is used by one caller at a time, since every
// method takes `&mut self`.
unsafe impl Send for Compressor {}
// SAFETY: as for the compressor.
unsafe impl Send for Decompressor {}

impl Compressor {
    /// `None`: no memory, or not a level.
    pub(crate) fn new(level: i32) -> Option<Self> {
        // SAFETY: takes any level, answers null if it cannot.
        let handle = unsafe { c::libdeflate_alloc_compressor(level) };
        Some(Self { handle: NonNull::new(handle)?, level })
    }

    pub(crate) fn level(&self) -> i32 {
        self.level
    }

    /// Writes a gzip member and returns its length, or `None` if `output` is too small.
    pub(crate) fn gzip(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        // SAFETY: the handle is live and ours alone; both slices are valid for their lengths and do not overlap.
        let length = unsafe {
            c::libdeflate_gzip_compress(
                self.handle.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                output.len(),
            )
        };
        (length != 0).then_some(length)
    }
}

impl Decompressor {
    /// `None`: no memory.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: takes nothing, answers null if it cannot.
        let handle = unsafe { c::libdeflate_alloc_decompressor() };
        Some(Self { handle: NonNull::new(handle)? })
    }

    /// Decodes the raw deflate data at the start of `input`.
    pub(crate) fn deflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<Done, Refusal> {
        let (mut read, mut written) = (0, 0);
        // SAFETY: the handle is live and ours alone; both slices are valid for their lengths and do not overlap; the
        // counts are live and written before success is returned.
        let result = unsafe {
            c::libdeflate_deflate_decompress_ex(
                self.handle.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                output.len(),
                &mut read,
                &mut written,
            )
        };
        match result {
            c::libdeflate_result_LIBDEFLATE_SUCCESS => Ok(Done { read, written }),
            c::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Err(Refusal::OutputFull),
            _ => Err(Refusal::Bad),
        }
    }
}

/// The CRC-32 of gzip.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: the slice is valid for its length; 0 is the start of a sum.
    unsafe { c::libdeflate_crc32(0, bytes.as_ptr().cast(), bytes.len()) }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: made by the matching function and not freed before.
        unsafe { c::libdeflate_free_compressor(self.handle.as_ptr()) }
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: made by the matching function and not freed before.
        unsafe { c::libdeflate_free_decompressor(self.handle.as_ptr()) }
    }
}
