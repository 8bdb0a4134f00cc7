use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, Container, Dtype, Env, Kind, Number, Repr, Result,
    params,
};

use crate::codec::BitRoundCoder;

const MOST: i64 = u32::MAX as i64;

/// Configuration of the bitround codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct BitRound {
    /// The number of mantissa bits to keep; for integers (Zarr v3) counted from the highest set bit.
    #[codec(range = 0..=MOST)]
    #[codec(missing = "it is missing: the bits of the mantissa to keep")]
    pub keepbits: u32,
}

impl Codec for BitRound {
    const INFO: CodecInfo = CodecInfo::new("bitround", "rounds numbers to some bits, which compress better")
        .numcodecs(&["bitround"])
        .zarr_v3(&["numcodecs.bitround", "bitround"])
        .working_params()
        .lossy();

    type Coder = BitRoundCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, shape, .. } = input else {
            return Err(CodecError::unsupported("bytes of another codec are not numbers to round"));
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
                    "a number of type {number} has {most} bits to keep, got {}, which numcodecs refuses",
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

/// The number type of the elements.
fn component(dtype: Dtype) -> Result<Number> {
    let one = match dtype.kind {
        Kind::Complex => Dtype { kind: Kind::Float, size: dtype.size / 2, order: dtype.order },
        _ => dtype,
    };
    Number::new(one)
}
