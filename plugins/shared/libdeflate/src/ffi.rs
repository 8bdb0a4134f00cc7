//! The calls of libdeflate.

#![expect(unsafe_code, reason = "calls of the C library libdeflate")]

use std::ffi::c_void;
use std::ptr::NonNull;

use libdeflate_sys as c;

use crate::{Done, Format, Refusal};

/// The tables of a compressor for one level.
pub struct Compressor {
    handle: NonNull<c::libdeflate_compressor>,
    level: i32,
}

/// The tables of a decompressor.
pub struct Decompressor {
    handle: NonNull<c::libdeflate_decompressor>,
}

// SAFETY: libdeflate ties no state to the thread that made it; a handle is used by one caller at a time, since every
// method that reaches it takes `&mut self`.
unsafe impl Send for Compressor {}
// SAFETY: as for the compressor.
unsafe impl Send for Decompressor {}

impl Compressor {
    pub(crate) fn new(level: i32) -> Option<Self> {
        // SAFETY: takes any level, answers null if it cannot.
        let handle = unsafe { c::libdeflate_alloc_compressor(level) };
        Some(Self { handle: NonNull::new(handle)?, level })
    }

    pub(crate) fn level(&self) -> i32 {
        self.level
    }

    /// Writes a stream and returns its length, or `None` if `output` is too small.
    pub fn compress(&mut self, format: Format, input: &[u8], output: &mut [u8]) -> Option<usize> {
        let function = match format {
            Format::Raw => c::libdeflate_deflate_compress,
            Format::Zlib => c::libdeflate_zlib_compress,
            Format::Gzip => c::libdeflate_gzip_compress,
        };
        // SAFETY: the handle is live and used only here; both slices are valid for their lengths and do not overlap.
        let length = unsafe {
            function(
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
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: takes nothing, answers null if it cannot.
        let handle = unsafe { c::libdeflate_alloc_decompressor() };
        Some(Self { handle: NonNull::new(handle)? })
    }

    /// Decodes the stream at the start of `input`.
    ///
    /// # Errors
    /// The stream has another format, is damaged or truncated; or its content does not fit.
    pub fn decompress(&mut self, format: Format, input: &[u8], output: &mut [u8]) -> Result<Done, Refusal> {
        let function = match format {
            Format::Raw => c::libdeflate_deflate_decompress_ex,
            Format::Zlib => c::libdeflate_zlib_decompress_ex,
            Format::Gzip => c::libdeflate_gzip_decompress_ex,
        };
        let (mut read, mut written) = (0, 0);
        // SAFETY: the handle is live and used only here; both slices are valid for their lengths and do not overlap; the
        // counts are live and written before success is returned.
        let result = unsafe {
            function(
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
pub fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: the slice is valid for its length; 0 is the start of a sum.
    unsafe { c::libdeflate_crc32(0, bytes.as_ptr().cast::<c_void>(), bytes.len()) }
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
