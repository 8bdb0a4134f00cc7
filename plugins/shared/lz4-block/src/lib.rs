//! LZ4 blocks, with liblz4: the part that the codecs lz4, lz4h5, bitshuffle and blosc2 have in common.
//!
//! A block states neither its own length nor that of its content; its container does.
//!
//! ```
//! let data = b"to be, or not to be, or to be";
//! let mut block = vec![0; ncz_lz4_block::bound(data.len()).unwrap()];
//! let length = ncz_lz4_block::compress(data, &mut block, 1).unwrap();
//! let mut back = [0; 29];
//! assert_eq!(ncz_lz4_block::decompress(&block[..length], &mut back), Some(29));
//! assert_eq!(back, *data);
//! ```

mod ffi;

pub use ffi::{compress, compress_strongly, decompress};

/// The most bytes that a block holds (`LZ4_MAX_INPUT_SIZE`).
pub const INPUT_MAX: usize = 0x7E00_0000;

/// No block decodes to more than this many times its own length.
pub const RATIO_MAX: usize = 255;

/// The most bytes that a block of `len` bytes takes; `None` for more than [`INPUT_MAX`].
pub fn bound(len: usize) -> Option<usize> {
    (len <= INPUT_MAX).then(|| len + len / 255 + 16)
}
