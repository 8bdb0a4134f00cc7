//! The errors of the szip coder.

/// Why a parameter, an input or a stream was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SzError {
    /// The options mask has bits that no szip option owns.
    #[error("options mask {mask:#x} has unknown bits {unknown:#x}")]
    Mask {
        /// The mask given.
        mask: u32,
        /// Those of its bits that mean nothing.
        unknown: u32,
    },
    /// Pixels per block is odd, 0 or over 32.
    #[error("{0} pixels per block; szip takes an even number from 2 to 32")]
    PixelsPerBlock(u32),
    /// Bits per pixel is not among the sizes of szip.
    #[error("{0} bits per pixel; szip takes 1 to 32, or 64")]
    BitsPerPixel(u32),
    /// Pixels per scanline is 0 or over 4096.
    #[error("{0} pixels per scanline; szip takes 1 to 4096")]
    PixelsPerScanline(u32),
    /// The length of the uncompressed data is not a whole number of pixels.
    #[error("{len} bytes are not whole number of pixels of {pixel} bytes")]
    PartialPixel {
        /// The length of the data in bytes.
        len: usize,
        /// The storage size of one pixel in bytes.
        pixel: usize,
    },
    /// A sample of the input has bits above those declared; coding would lose them.
    #[error("a sample of scanline {scanline} does not fit in the {bits} bits per pixel")]
    SampleRange {
        /// The scanline that holds the sample, counted from 0.
        scanline: usize,
        /// The declared bits per pixel.
        bits: u32,
    },
    /// The uncompressed data are too long for the 32-bit length of the HDF5 filter.
    #[error("{len} bytes are too many for the 32-bit length before the stream")]
    TooLong {
        /// The length of the data in bytes.
        len: usize,
    },
    /// The encoded data do not fit in the output.
    #[error("the encoded data do not fit in {capacity} bytes")]
    OutputFull {
        /// The length of the output in bytes.
        capacity: usize,
    },
    /// The stream declares more output than the caller allows.
    #[error("the stream declares {declared} bytes of output, over the limit of {limit}")]
    OverLimit {
        /// The declared length in bytes.
        declared: usize,
        /// The caller's limit in bytes.
        limit: usize,
    },
    /// The stream ends before its last sample.
    #[error("the stream ends before its last sample")]
    Truncated,
    /// The stream ends after the last pixel, without the samples that fill the last scanline:
    /// cut there, or written by libaec before 0.3.4.
    #[error(
        "the stream ends after the last pixel, without the padding of its scanline (cut, or written by libaec before 0.3.4)"
    )]
    Unpadded,
    /// Bytes follow the last sample.
    #[error("{bytes} bytes follow the last sample")]
    Trailing {
        /// The number of bytes.
        bytes: usize,
    },
    /// The stream holds what no encoder writes.
    #[error("corrupt stream: {0}")]
    Corrupt(&'static str),
}
