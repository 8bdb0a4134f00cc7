//! c-blosc: its context functions, which share nothing between threads.

#![expect(unsafe_code, reason = "calls of the C library c-blosc")]

use std::ffi::CStr;

use ncz_codec::{CodecError, Result};

/// The settings of an encoder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) level: u32,
    pub(crate) filter: Filter,
    pub(crate) typesize: usize,
    pub(crate) blocksize: usize,
}

/// The shuffle of a block before compression. The numbers are c-blosc's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    None = 0,
    Byte = 1,
    Bit = 2,
}

/// Refuses blocks for which memory cannot be allocated: the library allocates twice the block size and writes to it
/// without a null check. (Memory that another thread allocates in between cannot be accounted for.)
pub(crate) fn check_memory(blocksize: usize, typesize: usize) -> Result<()> {
    /// Smaller blocks come from memory that an allocator already has.
    const LARGE: usize = 8 << 20;
    if blocksize < LARGE {
        return Ok(());
    }
    let most = blocksize.saturating_mul(2).saturating_add(4 * typesize);
    let mut room = Vec::<u8>::new();
    let reserved = room.try_reserve_exact(most);
    // The compiler may remove an allocation that is not used.
    std::hint::black_box(room.as_ptr());
    reserved.map_err(|_| CodecError::unsupported(format!("no memory for blocks of {blocksize} bytes")))
}

/// Compresses `input` with the compressor `name` and returns the length of the frame; not positive: an error. The
/// caller has checked that there is memory.
pub(crate) fn compress(name: &CStr, settings: Settings, input: &[u8], output: &mut [u8]) -> i32 {
    // SAFETY: both slices are valid for their lengths and do not overlap; the name ends in a null byte; one internal
    // thread means that no state outlives the call.
    unsafe {
        blosc_src::blosc_compress_ctx(
            settings.level as i32,
            settings.filter as i32,
            settings.typesize,
            input.len(),
            input.as_ptr().cast(),
            output.as_mut_ptr().cast(),
            output.len(),
            name.as_ptr(),
            settings.blocksize,
            1,
        )
    }
}

/// Decodes a frame and returns the length; not positive: an error.
///
/// The caller has checked that the header's compressed length is that of `frame`, which is what
/// `blosc_cbuffer_validate` promises to be enough for safety, and that there is memory.
pub(crate) fn decompress(frame: &[u8], output: &mut [u8]) -> i32 {
    let mut decoded = 0;
    // SAFETY: the slice is valid for its length; the count is written.
    if unsafe { blosc_src::blosc_cbuffer_validate(frame.as_ptr().cast(), frame.len(), &mut decoded) } != 0 {
        return -1;
    }
    // SAFETY: the library reads no more than the length in the header, which was just found to be that of the slice,
    // and writes no more than the length it is given; one internal thread means that no state outlives the call.
    unsafe {
        blosc_src::blosc_decompress_ctx(frame.as_ptr().cast(), output.as_mut_ptr().cast(), output.len(), 1)
    }
}
