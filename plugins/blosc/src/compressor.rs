//! The compressors that Blosc calls.

use ncz_codec::{CodecError, Result};

/// The compressors of Blosc 1. The numbers are those of the parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// Blosc's own, close to FastLZ.
    BloscLz = 0,
    /// LZ4, the fastest.
    Lz4 = 1,
    /// LZ4 that searches longer.
    Lz4Hc = 2,
    /// Snappy, which numcodecs does not read.
    Snappy = 3,
    /// Zlib.
    Zlib = 4,
    /// Zstd, the strongest.
    Zstd = 5,
}

impl Compressor {
    const ALL: [Self; 6] = [Self::BloscLz, Self::Lz4, Self::Lz4Hc, Self::Snappy, Self::Zlib, Self::Zstd];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::BloscLz => "blosclz",
            Self::Lz4 => "lz4",
            Self::Lz4Hc => "lz4hc",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|compressor| compressor.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            CodecError::config("cname", format!("{name:?} is none of {known}"))
        })
    }

    pub(crate) fn numbered(number: u32) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|&compressor| compressor as u32 == number);
        found.ok_or_else(|| {
            CodecError::config("cd_values[6]", format!("compressor {number} is not within 0 to 5"))
        })
    }
}
