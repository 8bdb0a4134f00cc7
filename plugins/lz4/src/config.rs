use ncz_codec::{Codec, CodecConfig, CodecInfo, Result, params};

use crate::codec::Lz4Coder;

/// Configuration of the lz4 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct Lz4 {
    /// The greater, the faster and the larger; what is less than 1 counts as 1, the ordinary one.
    #[codec(default = 1)]
    pub acceleration: i32,
}

impl Default for Lz4 {
    fn default() -> Self {
        Self { acceleration: 1 }
    }
}

impl Codec for Lz4 {
    const INFO: CodecInfo = CodecInfo::new("lz4", "very fast compression of bytes, as numcodecs has it")
        .numcodecs(&["lz4"])
        .zarr_v3(&["numcodecs.lz4"])
        .lossless();

    type Coder = Lz4Coder;

    fn coder(working: &[u32]) -> Result<Lz4Coder> {
        // Decoding needs no word, so it must not fail on any words of a file.
        Ok(Lz4Coder::new(params::word_or(working, 0, 1) as i32))
    }
}
