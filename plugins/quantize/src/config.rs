use ncz_codec::config::Source;
use ncz_codec::{Bound, Codec, CodecConfig, CodecError, CodecInfo, Env, Number, Repr, Result, number};

use crate::codec::QuantizeCoder;

/// For which a double can hold the power of ten and its inverse; numcodecs fails on others.
const DIGITS: std::ops::RangeInclusive<i64> = -308..=307;

const MISSING: &str = "it is missing; an example is {\"digits\": 3, \"dtype\": \"<f8\", \"astype\": \"<f4\"}";

/// Configuration of the quantize codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
#[codec(check = Self::check)]
pub struct Quantize {
    /// The number of decimal digits after the point to keep.
    #[codec(range = DIGITS, missing = MISSING)]
    pub digits: i32,
    /// The type of the decoded data; `None` for the type of the stage's input elements.
    // zarr-python fills in the type of the elements in Zarr v3.
    #[codec(missing(numcodecs = MISSING))]
    pub dtype: Option<Number>,
    /// The type that is stored; `None` for the same.
    #[codec(default = dtype)]
    pub astype: Option<Number>,
}

impl Codec for Quantize {
    const INFO: CodecInfo = CodecInfo::new("quantize", "rounds numbers to decimal digits, in binary")
        .numcodecs(&["quantize"])
        .zarr_v3(&["numcodecs.quantize"])
        .working_params()
        .lossy();

    type Coder = QuantizeCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let dtype = match (self.dtype, input) {
            (Some(dtype), _) => dtype,
            (None, Repr::Array { dtype, .. }) => {
                let number = Number::new(*dtype)?;
                check(number).map_err(CodecError::unsupported)?;
                number
            }
            (None, Repr::Bytes { .. }) => return Err(untyped()),
        };
        let astype = self.astype.unwrap_or(dtype);
        number::check_types(input, env, ("dtype", dtype), ("astype", astype))?;
        let stored = Self { digits: self.digits, dtype: Some(dtype), astype: Some(astype) };
        Ok(Bound {
            stored,
            working: stored.to_params()?,
            output: dtype.replaced(input, astype)?,
            coder: QuantizeCoder::new(self.digits, dtype, astype)?,
        })
    }

    fn coder(working: &[u32]) -> Result<QuantizeCoder> {
        let Self { digits, dtype, astype } = Self::from_params(working)?;
        let dtype = dtype.ok_or_else(untyped)?;
        QuantizeCoder::new(digits, dtype, astype.unwrap_or(dtype))
    }
}

impl Quantize {
    fn check(&self, source: Source) -> Result<()> {
        let types = [("dtype", self.dtype), ("astype", self.astype)].into_iter();
        let mut types = types.filter_map(|(key, number)| Some((key, number?)));
        types.try_for_each(|(key, number)| {
            check(number).map_err(|text| CodecError::config(source.key(key), text))
        })
    }
}

fn untyped() -> CodecError {
    CodecError::config("dtype", "the number type is unknown; give it")
}

/// Floating-point numbers only, as in numcodecs.
fn check(number: Number) -> Result<(), String> {
    if number.is_float() { Ok(()) } else { Err(format!("{number} is not a floating-point type")) }
}
