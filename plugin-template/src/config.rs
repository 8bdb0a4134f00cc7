use ncz_codec::{Codec, CodecConfig, CodecError, CodecInfo, Result};

use crate::codec::Delta8Coder;

/// Configuration of the my-delta8 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct Delta8 {
    /// The distance in bytes to the byte that is subtracted: 1 to 255, such as the size of an element.
    #[codec(range = 1..=255, default = 1)]
    distance: u8,
}

impl Delta8 {
    /// Makes the configuration for a distance in bytes.
    ///
    /// # Errors
    /// The distance is 0.
    pub fn new(distance: u8) -> Result<Self> {
        if distance == 0 {
            return Err(CodecError::config("distance", "0 is not within 1 to 255"));
        }
        Ok(Self { distance })
    }
}

impl Codec for Delta8 {
    const INFO: CodecInfo = CodecInfo::new("my-delta8", "differences of bytes")
        .filter_id(32801)
        .numcodecs(&["my-delta8"])
        .zarr_v3(&["example.my-delta8"])
        .lossless();

    type Coder = Delta8Coder;

    fn coder(working: &[u32]) -> Result<Delta8Coder> {
        Ok(Delta8Coder::new(Self::from_params(working)?.distance))
    }
}
