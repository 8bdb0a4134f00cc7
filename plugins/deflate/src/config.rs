use ncz_codec::{Bound, Codec, CodecConfig, CodecInfo, Env, Repr, Result, params};
use ncz_libdeflate::{ZLIB_DEFAULT, level_word, plain_level};

use crate::codec::DeflateCoder;

/// Configuration of the deflate codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct Deflate {
    /// The compression level: 0 (stored only) to 9 (smallest), or -1 for zlib's default, which is 6.
    #[codec(range(json = -1..=9, params = 0..=9), default(json = 1), write_word = level_word)]
    pub level: i32,
}

impl Default for Deflate {
    fn default() -> Self {
        Self { level: ZLIB_DEFAULT }
    }
}

impl Codec for Deflate {
    const INFO: CodecInfo =
        CodecInfo::new("deflate", "general-purpose compression in the zlib format, read everywhere")
            .filter_id(1)
            .numcodecs(&["zlib"])
            .zarr_v3(&["numcodecs.zlib"])
            .checksum()
            .lossless();

    type Coder = DeflateCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        // netcdf-c refuses a dataset with -1 in its metadata.
        let level = plain_level(self.level)?;
        Bound::bytes(Self { level }, vec![level as u32], DeflateCoder::new(level), input)
    }

    fn coder(working: &[u32]) -> Result<DeflateCoder> {
        // Decoding needs no word, so it must not fail on any words of a file.
        Ok(DeflateCoder::new(params::word_or(working, 0, ZLIB_DEFAULT as u32).min(9) as i32))
    }
}
