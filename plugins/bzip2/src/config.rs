use ncz_codec::{Codec, CodecConfig, CodecInfo, Result, params};

use crate::codec::Bzip2Coder;

/// The HDF5 filter's default if no word is given.
const HDF5_DEFAULT: u32 = 9;

/// Configuration of the bzip2 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct Bzip2 {
    /// The block size in units of 100 kB, 1 to 9.
    #[codec(range = 1..=9, default(json = 1, params = HDF5_DEFAULT), label = "block size")]
    pub level: u32,
}

impl Default for Bzip2 {
    fn default() -> Self {
        Self { level: HDF5_DEFAULT }
    }
}

impl Codec for Bzip2 {
    const INFO: CodecInfo = CodecInfo::new("bzip2", "strong and slow compression")
        .filter_id(307)
        .numcodecs(&["bz2"])
        .zarr_v3(&["numcodecs.bz2"])
        .checksum()
        .lossless();

    type Coder = Bzip2Coder;

    fn coder(working: &[u32]) -> Result<Bzip2Coder> {
        // Decoding needs no word, so it must not fail on any words of a file.
        Ok(Bzip2Coder::new(params::word_or(working, 0, HDF5_DEFAULT).clamp(1, 9)))
    }
}
