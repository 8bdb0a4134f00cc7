use ncz_checksum::{Checksum, ChecksumCoder, Location, copy_in_pieces};
use ncz_codec::{Codec, CodecConfig, CodecInfo, Result};

use crate::sum::Sum;

/// Configuration of the fletcher32 codec: it has no parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, CodecConfig)]
pub struct Fletcher32;

/// The checksum Fletcher-32 of HDF5.
#[derive(Debug, Clone, Copy)]
pub struct Fletcher;

/// Stores the checksum after the data, and checks it.
pub type Fletcher32Coder = ChecksumCoder<Fletcher>;

impl Codec for Fletcher32 {
    const INFO: CodecInfo = CodecInfo::new("fletcher32", "a checksum after the data")
        .filter_id(3)
        .numcodecs(&["fletcher32"])
        .zarr_v3(&["numcodecs.fletcher32"])
        .checksum()
        .lossless();

    type Coder = Fletcher32Coder;

    fn coder(_working: &[u32]) -> Result<Fletcher32Coder> {
        Ok(ChecksumCoder::new(Fletcher, Location::End))
    }
}

impl Checksum for Fletcher {
    const NAME: &'static str = "Fletcher-32";

    fn sum(self, data: &[u8], copy: Option<&mut [u8]>) -> u32 {
        let mut sum = Sum::default();
        copy_in_pieces(Sum::BLOCK, data, copy, |piece| sum.add(piece));
        sum.finish()
    }

    fn matches(stored: u32, computed: u32) -> bool {
        stored == computed || stored == swap_halves(computed)
    }
}

/// The checksum as HDF5 before 1.6.3 stored it on little-endian machines: the two bytes of each 16-bit half swapped.
fn swap_halves(sum: u32) -> u32 {
    ((sum & 0x00ff_00ff) << 8) | ((sum >> 8) & 0x00ff_00ff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_swapped_each_for_itself() {
        assert_eq!(swap_halves(0x0102_0304), 0x0201_0403);
    }
}
