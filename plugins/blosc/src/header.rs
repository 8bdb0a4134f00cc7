use ncz_codec::{CodecError, Result};

use crate::ffi::Filter;

/// The header of a Blosc 1 frame (c-blosc, README_CHUNK_FORMAT.rst, "The header").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) format: u8,
    pub(crate) flags: u8,
    pub(crate) typesize: u8,
    /// The decoded length.
    pub(crate) decoded: usize,
    pub(crate) blocksize: usize,
}

impl Header {
    pub(crate) const LEN: usize = 16;
    /// The format version of Blosc 1; those of Blosc 2 begin at 3.
    pub(crate) const VERSION: u8 = 2;
    /// The largest content of a frame, in bytes.
    pub(crate) const MAX_DECODED: usize = i32::MAX as usize - Self::LEN;

    const BYTE_SHUFFLE: u8 = 1;
    const COPY: u8 = 2;
    const BIT_SHUFFLE: u8 = 4;
    const WHOLE_BLOCKS: u8 = 0x10;

    /// The header of `frame`, which it must describe to the last byte.
    pub(crate) fn parse(frame: &[u8]) -> Result<Self> {
        let Some((header, _)) = frame.split_first_chunk::<{ Self::LEN }>() else {
            return Err(CodecError::truncated(format!("{} bytes cannot hold a blosc header", frame.len())));
        };
        let &[version, format, flags, typesize, ..] = header;
        let word = |at: usize| {
            let bytes = header[at..].first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        match version {
            Self::VERSION => {}
            3..=6 => {
                return Err(CodecError::unsupported(format!(
                    "this is a Blosc 2 chunk (format version {version}), which is another codec"
                )));
            }
            other => return Err(CodecError::corrupt(format!("{other} is not a format version of blosc"))),
        }
        let (decoded, blocksize, encoded) = (word(4), word(8), word(12));
        if encoded > frame.len() {
            return Err(CodecError::truncated(format!(
                "the header states {encoded} bytes, {} are there",
                frame.len()
            )));
        }
        if encoded < frame.len() {
            return Err(CodecError::trailing(frame.len() - encoded));
        }
        let header = Self { format, flags, typesize, decoded, blocksize };
        let consistent = !header.is_copy() || encoded == decoded + Self::LEN;
        if decoded > Self::MAX_DECODED || !consistent || (decoded > 0 && (blocksize == 0 || typesize == 0)) {
            return Err(CodecError::corrupt("the lengths in the blosc header contradict each other"));
        }
        Ok(header)
    }

    /// Returns the header of a frame of `encoded` bytes in total.
    pub(crate) fn to_bytes(self, encoded: usize) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&[Self::VERSION, self.format, self.flags, self.typesize]);
        for (word, value) in
            bytes[4..].as_chunks_mut::<4>().0.iter_mut().zip([self.decoded, self.blocksize, encoded])
        {
            *word = (value as u32).to_le_bytes();
        }
        bytes
    }

    /// A header for content that is compressed in whole blocks, or copied.
    pub(crate) fn new(
        compressor: u8,
        filter: Filter,
        typesize: u8,
        decoded: usize,
        blocksize: usize,
    ) -> Self {
        let filter = match filter {
            Filter::None => 0,
            Filter::Byte => Self::BYTE_SHUFFLE,
            Filter::Bit => Self::BIT_SHUFFLE,
        };
        let flags = filter | Self::WHOLE_BLOCKS | (compressor << 5);
        Self { format: 1, flags, typesize, decoded, blocksize }
    }

    pub(crate) fn with_copy(self) -> Self {
        Self { flags: self.flags | Self::COPY, ..self }
    }

    /// Whether the content is stored uncompressed.
    pub(crate) fn is_copy(&self) -> bool {
        self.flags & Self::COPY != 0
    }

    /// The number of the compressed format: blosclz, lz4, snappy, zlib, zstd.
    pub(crate) fn compressor(&self) -> u8 {
        self.flags >> 5
    }

    /// Returns the shuffle of a block of `len` bytes before compression.
    pub(crate) fn filter(&self, len: usize) -> Filter {
        let typesize = usize::from(self.typesize);
        if self.flags & Self::BYTE_SHUFFLE != 0 && typesize > 1 {
            Filter::Byte
        } else if self.flags & Self::BIT_SHUFFLE != 0 && len >= typesize {
            Filter::Bit
        } else {
            Filter::None
        }
    }

    /// Into how many streams a whole block is split.
    pub(crate) fn streams(&self) -> usize {
        let typesize = usize::from(self.typesize);
        if self.flags & Self::WHOLE_BLOCKS == 0 && typesize <= 16 && self.blocksize / typesize >= 128 {
            typesize
        } else {
            1
        }
    }
}
