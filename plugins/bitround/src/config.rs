use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, ConfigReader, Container, Dialect, Dtype, Env, Kind, Number, Repr,
    Result, params,
};
use serde_json::{Map, Value, json};

use crate::codec::BitRoundCoder;

const NAMES: &[Cow<'static, str>] = &[Cow::Borrowed("bitround")];

/// Configuration of the bitround codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitRound {
    /// How many bits of the mantissa are kept; of integers (Zarr v3) from the highest bit that is set.
    pub keepbits: u32,
}

impl Codec for BitRound {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("bitround"),
        summary: Cow::Borrowed("rounds numbers to some bits, which compress better"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NAMES),
        zarr_v3: Cow::Borrowed(NAMES),
        has_working_params: true,
        has_checksum: false,
        lossy: Some(true),
    };

    type Coder = BitRoundCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        if reader.raw("keepbits").is_none() {
            return Err(CodecError::config("keepbits", "it is missing: the bits of the mantissa to keep"));
        }
        let least = match dialect {
            Dialect::Numcodecs => 0,
            Dialect::ZarrV3 => 1,
        };
        let keepbits = reader.integer("keepbits", least, least..=i64::from(u32::MAX))? as u32;
        reader.finish(notes)?;
        Ok(Self { keepbits })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        if dialect == Dialect::ZarrV3 && self.keepbits == 0 {
            return Err(CodecError::config("keepbits", "Zarr v3 keeps at least one bit"));
        }
        Ok(Map::from_iter([("keepbits".to_owned(), json!(self.keepbits))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("bitround", words, 1, 1)?;
        Ok(Self { keepbits: words[0] })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.keepbits])
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, shape, .. } = input else {
            return Err(CodecError::unsupported("bytes of another codec are no numbers to round"));
        };
        let number = component(*dtype)?;
        let plain = number.is_float() && dtype.kind == Kind::Float;
        if env.container != Container::ZarrV3 {
            if !plain {
                return Err(CodecError::unsupported(
                    "outside of Zarr v3 only floating-point numbers are rounded: numcodecs refuses others",
                ));
            }
            let most = BitRoundCoder::mantissa(number);
            if self.keepbits > most {
                let text = format!(
                    "a number of type {number} has {most} bits to keep, {} were wanted, which numcodecs refuses",
                    self.keepbits
                );
                return Err(CodecError::config("keepbits", text));
            }
        }
        let output = Repr::Array { dtype: *dtype, shape: shape.clone(), fill: None };
        output.size()?;
        Ok(Bound {
            stored: *self,
            working: vec![self.keepbits, number.word()],
            output,
            coder: BitRoundCoder::new(self.keepbits, number),
        })
    }

    fn coder(working: &[u32]) -> Result<BitRoundCoder> {
        params::check_count("bitround", working, 2, 2)?;
        Ok(BitRoundCoder::new(working[0], Number::from_word(working, 1)?))
    }

    fn is_lossy(&self, input: &Repr) -> Option<bool> {
        let number = match input {
            Repr::Array { dtype, .. } => component(*dtype).ok(),
            Repr::Bytes { .. } => None,
        };
        Some(number.is_none_or(|number| {
            let bits =
                if number.is_float() { BitRoundCoder::mantissa(number) } else { 8 * number.size() as u32 };
            self.keepbits < bits
        }))
    }
}

/// The numbers that elements are made of.
fn component(dtype: Dtype) -> Result<Number> {
    let one = match dtype.kind {
        Kind::Complex => Dtype { kind: Kind::Float, size: dtype.size / 2, order: dtype.order },
        _ => dtype,
    };
    Number::new(one)
}
