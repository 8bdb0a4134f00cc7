use ncz_checksum::{Checksum, ChecksumCoder, Location, copy_in_pieces};
use ncz_codec::{Codec, CodecConfig, CodecInfo, Result};

/// The number of bytes that are copied and then summed while they are in the cache.
const PIECE: usize = 16 << 10;

/// Configuration of the crc32 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, CodecConfig)]
#[codec(omit_default_words)]
pub struct Crc32 {
    /// The location of the checksum.
    #[codec(default, omit_default)]
    pub location: Location,
}

/// The checksum CRC-32.
#[derive(Debug, Clone, Copy)]
pub struct Sum;

/// Stores the checksum with the data, and checks it.
pub type Crc32Coder = ChecksumCoder<Sum>;

impl Codec for Crc32 {
    const INFO: CodecInfo = CodecInfo::new("crc32", "a checksum before the data")
        .numcodecs(&["crc32"])
        .zarr_v3(&["numcodecs.crc32"])
        .checksum()
        .lossless();

    type Coder = Crc32Coder;

    fn coder(working: &[u32]) -> Result<Crc32Coder> {
        Ok(ChecksumCoder::new(Sum, Self::from_params(working)?.location))
    }
}

impl Checksum for Sum {
    const NAME: &'static str = "CRC-32";

    fn sum(self, data: &[u8], copy: Option<&mut [u8]>) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        copy_in_pieces(PIECE, data, copy, |piece| sum.update(piece));
        sum.finalize()
    }
}
