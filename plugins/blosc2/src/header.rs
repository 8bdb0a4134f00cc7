use ncz_codec::{CodecError, Result};

/// The most filters of a chunk.
pub(crate) const FILTERS: usize = 6;

/// The numbers of the filters of a chunk.
pub(crate) mod filter {
    pub(crate) const NONE: u8 = 0;
    pub(crate) const BYTE_SHUFFLE: u8 = 1;
    pub(crate) const BIT_SHUFFLE: u8 = 2;
    pub(crate) const DELTA: u8 = 3;
    /// Cuts digits off when encoding, and does nothing when decoding.
    pub(crate) const TRUNCATION: u8 = 4;
}

/// The numbers of the compressed formats of a chunk.
pub(crate) mod format {
    pub(crate) const BLOSCLZ: u8 = 0;
    pub(crate) const LZ4: u8 = 1;
    pub(crate) const ZLIB: u8 = 3;
    pub(crate) const ZSTD: u8 = 4;
    /// The number of the compressor is elsewhere in the header.
    pub(crate) const BY_NUMBER: u8 = 6;
}

/// A special chunk without blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Zeros,
    NaNs,
    /// A value of the size of an element, which follows the header.
    Value,
}

/// The header of a Blosc2 chunk (c-blosc2, README_CHUNK_FORMAT.rst, "Header").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) typesize: u8,
    /// The decoded length.
    pub(crate) decoded: usize,
    pub(crate) blocksize: usize,
    /// The length of the chunk, header and all.
    pub(crate) encoded: usize,
    /// The number of the compressed format.
    pub(crate) format: u8,
    /// Whether whole blocks are split into a stream for each byte of an element.
    pub(crate) is_split: bool,
    /// Whether the content is stored uncompressed.
    pub(crate) is_copy: bool,
    pub(crate) special: Option<Special>,
    pub(crate) filters: [u8; FILTERS],
    /// The parameter of each filter: a byte shuffle uses it as the element size, if it is not 0.
    pub(crate) meta: [u8; FILTERS],
    /// The number of the compressor, as parameters have it.
    pub(crate) compressor: u8,
}

impl Header {
    pub(crate) const LEN: usize = 32;
    /// The most content of a chunk, in bytes.
    pub(crate) const MAX_DECODED: usize = i32::MAX as usize - Self::LEN;
    /// The longest block (`BLOSC2_MAXBLOCKSIZE`).
    pub(crate) const MAX_BLOCK: usize = 536_866_816;

    const VERSION: u8 = 5;
    /// Both shuffle bits of Blosc 1: the header is one of Blosc2.
    const EXTENDED: u8 = 0x05;
    const COPY: u8 = 0x02;
    const DELTA: u8 = 0x08;
    const WHOLE_BLOCKS: u8 = 0x10;
    const DICTIONARY: u8 = 0x01;
    const BIG_ENDIAN: u8 = 0x02;
    /// Reserved.
    const RESERVED: u8 = 0x04;
    /// The content is in a file, or is the measurements of a compressor.
    const NO_DATA: u8 = 0x88;
    const FORMAT_SHIFT: u8 = 5;

    /// Reads the header of the chunk at the start of `bytes`; the chunk is within `bytes`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let Some((header, _)) = bytes.split_first_chunk::<{ Self::LEN }>() else {
            return Err(CodecError::truncated(format!("{} bytes cannot hold a blosc2 chunk", bytes.len())));
        };
        let word = |at: usize| {
            let bytes = header[at..].first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        let [version, format_version, flags, typesize, ..] = *header;
        let unsupported = |what: String| Err(CodecError::unsupported(what));
        if !(3..=Self::VERSION).contains(&version) {
            return unsupported(format!("a chunk of format version {version} in a blosc2 frame; 5 is known"));
        }
        if flags & Self::EXTENDED != Self::EXTENDED {
            return unsupported("a Blosc 1 chunk in a blosc2 frame".into());
        }
        let (decoded, blocksize, encoded) = (word(4), word(8), word(12));
        if encoded > bytes.len() {
            return Err(CodecError::truncated(format!(
                "a blosc2 chunk states {encoded} bytes, {} are there",
                bytes.len()
            )));
        }
        if typesize == 0
            || decoded > Self::MAX_DECODED
            || encoded < Self::LEN
            || !(1..=Self::MAX_BLOCK).contains(&blocksize)
            || (decoded > 0 && blocksize > decoded)
        {
            return Err(CodecError::corrupt(
                "the lengths in the header of a blosc2 chunk contradict each other",
            ));
        }
        let six = |at: usize| header[at..].first_chunk::<FILTERS>().copied().unwrap_or_default();
        let (mut filters, mut meta) = (six(16), six(24));
        if version == 3 {
            // The first releases left it as it was.
            (filters[FILTERS - 1], meta[FILTERS - 1]) = (filter::NONE, 0);
        }
        let (compressor, later_flags, more_flags) = (header[22], header[30], header[31]);
        // Blocks of several lengths are the only one there is, of C-Blosc2 3.
        if later_flags != 0 || more_flags & Self::RESERVED != 0 {
            let flags = if later_flags != 0 { later_flags } else { Self::RESERVED };
            return unsupported(format!("a blosc2 chunk with the unknown flags {flags:#04x}"));
        }
        let special = match more_flags >> 4 & 7 {
            0 => None,
            1 => Some(Special::Zeros),
            2 => Some(Special::NaNs),
            3 => Some(Special::Value),
            4 => return unsupported("a blosc2 chunk whose values were never set".into()),
            other => return unsupported(format!("a blosc2 chunk of special values of kind {other}")),
        };
        let header = Self {
            typesize,
            decoded,
            blocksize,
            encoded,
            format: flags >> Self::FORMAT_SHIFT,
            is_split: flags & Self::WHOLE_BLOCKS == 0,
            is_copy: flags & Self::COPY != 0,
            special,
            filters,
            meta,
            compressor,
        };
        if special.is_some() {
            return Ok(header);
        }
        if more_flags & Self::NO_DATA != 0 {
            return unsupported(format!(
                "a blosc2 chunk with the flags {more_flags:#04x}, which has no data of its own"
            ));
        }
        if header.is_copy {
            return Ok(header);
        }
        if more_flags & Self::DICTIONARY != 0 {
            return unsupported("a blosc2 chunk with a dictionary".into());
        }
        if more_flags & Self::BIG_ENDIAN != 0 {
            return unsupported("a blosc2 chunk that a big-endian machine compressed".into());
        }
        if format_version != 1 {
            return unsupported(format!("version {format_version} of a compressor's format; 1 is known"));
        }
        header.check_pipeline()?;
        Ok(header)
    }

    /// Refuses by name what needs a plugin of blosc2's own.
    fn check_pipeline(&self) -> Result<()> {
        match self.format {
            format::BLOSCLZ | format::LZ4 | format::ZLIB | format::ZSTD => {}
            format::BY_NUMBER => {
                return Err(CodecError::unsupported(format!(
                    "the data are compressed with blosc2's plugin number {}; blosclz, lz4, zlib and zstd are known",
                    self.compressor
                )));
            }
            other => {
                return Err(CodecError::unsupported(format!(
                    "the data are compressed in blosc2's format number {other}; blosclz, lz4, zlib and zstd are known"
                )));
            }
        }
        if let Some(number) = self.filters.iter().find(|&&number| number > filter::TRUNCATION) {
            return Err(CodecError::unsupported(format!(
                "the data went through blosc2's filter plugin number {number}; the two shuffles, delta and truncation are known"
            )));
        }
        if self.active().skip(1).any(|(number, _)| number == filter::DELTA) {
            return Err(CodecError::unsupported("blosc2's delta filter after other filters"));
        }
        Ok(())
    }

    /// The filters that decoding must undo, in the order of encoding, each with the size of an element.
    pub(crate) fn active(&self) -> impl DoubleEndedIterator<Item = (u8, u8)> + '_ {
        let sized = |(number, meta)| match (number, meta) {
            (filter::BYTE_SHUFFLE, 1..) => (number, meta),
            _ => (number, self.typesize),
        };
        let all = self.filters.into_iter().zip(self.meta);
        all.filter(|&(number, _)| number != filter::NONE && number != filter::TRUNCATION).map(sized)
    }

    /// Returns the header to write for a chunk that is not special.
    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut flags = Self::EXTENDED;
        if self.is_copy {
            flags |= Self::COPY;
        } else {
            flags |= self.format << Self::FORMAT_SHIFT;
            if !self.is_split {
                flags |= Self::WHOLE_BLOCKS;
            }
            if self.filters.contains(&filter::DELTA) {
                flags |= Self::DELTA;
            }
        }
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&[Self::VERSION, 1, flags, self.typesize]);
        let words = [self.decoded, self.blocksize, self.encoded];
        for (to, value) in bytes[4..16].as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *to = (value as u32).to_le_bytes();
        }
        bytes[16..16 + FILTERS].copy_from_slice(&self.filters);
        bytes[22] = self.compressor;
        bytes[24..24 + FILTERS].copy_from_slice(&self.meta);
        bytes
    }

    /// The number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.decoded.div_ceil(self.blocksize)
    }

    /// The decoded length of a block.
    pub(crate) fn block_len(&self, block: usize) -> usize {
        self.blocksize.min(self.decoded.saturating_sub(block * self.blocksize))
    }

    /// Into how many streams a block of `len` bytes is split: a last one that is shorter is not.
    pub(crate) fn streams(&self, len: usize) -> usize {
        if self.is_split && len == self.blocksize { self.typesize.into() } else { 1 }
    }
}
