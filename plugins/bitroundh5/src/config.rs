use std::borrow::Cow;

use ncz_codec::{
    Bound, ByteOrder, Codec, CodecError, CodecInfo, Dialect, Dtype, Env, Kind, Repr, Result, params,
};
use serde_json::{Map, Value};

use crate::codec::BitRoundH5Coder;

/// What HDF5 stores: the bits, the size of a number, whether there is a fill value, and its bits in two words.
pub(crate) const WORKING: usize = 5;

/// Configuration of the bitroundh5 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitRoundH5 {
    /// How many bits of the mantissa are kept, at least 1; with all that the type has nothing is rounded.
    pub keepbits: u32,
}

impl Codec for BitRoundH5 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("bitroundh5"),
        summary: Cow::Borrowed("rounds numbers to some bits but spares the fill value, as HDF5's BitRound"),
        filter_id: Some(32032),
        numcodecs: Cow::Borrowed(&[]),
        zarr_v3: Cow::Borrowed(&[]),
        has_working_params: true,
        has_checksum: false,
        lossy: Some(true),
    };

    type Coder = BitRoundH5Coder;

    fn from_json(_dialect: Dialect, _config: &Map<String, Value>, _notes: &mut Vec<String>) -> Result<Self> {
        Err(no_json())
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Err(no_json())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        // What follows the first word is of the variable that it was stored with.
        params::check_count("bitroundh5", words, 1, WORKING)?;
        match words[0] {
            0 => Err(CodecError::config("cd_values[0]", "at least 1 bit of the mantissa is kept")),
            keepbits => Ok(Self { keepbits }),
        }
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.keepbits])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, fill, .. } = input else {
            return Err(CodecError::unsupported(
                "bytes of another codec are no numbers to round; bitroundh5 must be the first of its chain",
            ));
        };
        check(*dtype)?;
        input.size()?;
        let working = self.working(*dtype, fill.as_deref());
        // The fill value is spared, so it is one of the output too.
        Ok(Bound { stored: *self, coder: BitRoundH5Coder::new(&working), working, output: input.clone() })
    }

    fn coder(working: &[u32]) -> Result<BitRoundH5Coder> {
        // Decoding needs no word, so whatever a file holds must not stand in its way.
        Ok(BitRoundH5Coder::new(working))
    }
}

impl BitRoundH5 {
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
            "big-endian numbers would be spoiled by programs that know HDF5's BitRound; make the variable little-endian",
        ));
    }
    Ok(())
}

fn no_json() -> CodecError {
    CodecError::unsupported(
        "bitroundh5 has no JSON of its own; bitround of numcodecs rounds differently and spares no fill value",
    )
}
