use ncz_codec::config::Source;
use ncz_codec::{
    Bound, ByteOrder, Codec, CodecConfig, CodecError, CodecInfo, Dtype, Env, Kind, Repr, Result,
};

use crate::codec::BitRoundH5Coder;

/// The words that HDF5 stores: the bits, the size of a number, whether there is a fill value, and its bits in two
/// words.
pub(crate) const WORKING: usize = 5;

/// Configuration of the bitroundh5 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
// The words after the first describe the variable that they were stored with.
#[codec(check = Self::check, max_words = WORKING)]
#[codec(
    unnamed = "bitroundh5 has no JSON form; bitround of numcodecs rounds differently and does not preserve a fill value"
)]
pub struct BitRoundH5 {
    /// The number of mantissa bits to keep, at least 1; if it is all bits of the type, nothing is rounded.
    pub keepbits: u32,
}

impl Codec for BitRoundH5 {
    const INFO: CodecInfo = CodecInfo::new(
        "bitroundh5",
        "rounds numbers to some bits but preserves the fill value, as HDF5's BitRound",
    )
    .filter_id(32032)
    .working_params()
    .lossy();

    type Coder = BitRoundH5Coder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, fill, .. } = input else {
            return Err(CodecError::unsupported(
                "bytes of another codec are not numbers to round; bitroundh5 must be the first of its chain",
            ));
        };
        check(*dtype)?;
        input.size()?;
        let working = self.working(*dtype, fill.as_deref());
        // The fill value is spared, so it is one of the output too.
        Ok(Bound { stored: *self, coder: BitRoundH5Coder::new(&working), working, output: input.clone() })
    }

    fn coder(working: &[u32]) -> Result<BitRoundH5Coder> {
        // Decoding needs no word, so it must not fail on any words of a file.
        Ok(BitRoundH5Coder::new(working))
    }
}

impl BitRoundH5 {
    fn check(&self, source: Source) -> Result<()> {
        match self.keepbits {
            0 => Err(CodecError::config(source.key("keepbits"), "at least 1 bit of the mantissa is kept")),
            _ => Ok(()),
        }
    }

    fn working(self, dtype: Dtype, fill: Option<&[u8]>) -> Vec<u32> {
        let mut words = vec![self.keepbits, dtype.size as u32, 0, 0, 0];
        if let Some(fill) = fill.filter(|fill| fill.len() == dtype.size) {
            words[2] = 1;
            for (word, bytes) in words[3..].iter_mut().zip(fill.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
        }
        words
    }
}

fn check(dtype: Dtype) -> Result<()> {
    let Dtype { kind, size, order } = dtype;
    if kind != Kind::Float || !matches!(size, 4 | 8) {
        return Err(CodecError::unsupported(
            "only floating-point numbers of 4 or 8 bytes are rounded by bitroundh5",
        ));
    }
    if order == ByteOrder::Big {
        return Err(CodecError::unsupported(
            "programs with HDF5's BitRound filter would corrupt big-endian numbers; make the variable little-endian",
        ));
    }
    Ok(())
}
