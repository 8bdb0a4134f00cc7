use ncz_checksum::{Checksum, ChecksumCoder, copy_in_pieces};
use ncz_codec::{Codec, CodecConfig, CodecInfo, ConfigEnum, Result};

/// The number of bytes that are copied and then summed while they are in the cache.
const PIECE: usize = 16 << 10;

/// Configuration of the crc32c codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, CodecConfig)]
#[codec(omit_default_words)]
pub struct Crc32c {
    /// The location of the checksum.
    #[codec(default, omit_default)]
    #[codec(only(numcodecs, "Zarr v3 has the checksum after the data only"))]
    pub location: Location,
}

/// The location of the checksum. The numbers are those of the parameter word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ConfigEnum)]
pub enum Location {
    /// After the data.
    #[default]
    End = 0,
    /// Before the data.
    Start = 1,
}

/// The checksum CRC-32C.
#[derive(Debug, Clone, Copy)]
pub struct Sum;

/// Stores the checksum with the data, and checks it.
pub type Crc32cCoder = ChecksumCoder<Sum>;

impl Codec for Crc32c {
    const INFO: CodecInfo = CodecInfo::new("crc32c", "a checksum after the data")
        .numcodecs(&["crc32c"])
        .zarr_v3(&["crc32c"])
        .checksum()
        .lossless();

    type Coder = Crc32cCoder;

    fn coder(working: &[u32]) -> Result<Crc32cCoder> {
        let location = match Self::from_params(working)?.location {
            Location::End => ncz_checksum::Location::End,
            Location::Start => ncz_checksum::Location::Start,
        };
        Ok(ChecksumCoder::new(Sum, location))
    }
}

impl Checksum for Sum {
    const NAME: &'static str = "CRC-32C";

    fn sum(self, data: &[u8], copy: Option<&mut [u8]>) -> u32 {
        let mut sum = 0;
        copy_in_pieces(PIECE, data, copy, |piece| sum = crc32c::crc32c_append(sum, piece));
        sum
    }
}
