use ncz_codec::{Bound, Codec, CodecConfig, CodecError, CodecInfo, Env, Number, Repr, Result, number};

use crate::codec::AsTypeCoder;

const MISSING: &str = "it is missing; an example is {\"encode_dtype\": \"<f4\", \"decode_dtype\": \"<f8\"}";

/// Configuration of the astype codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct AsType {
    /// The type that is stored.
    #[codec(missing = MISSING)]
    pub encode_dtype: Number,
    /// The type of the decoded data; `None` for the type of the stage's input elements.
    // zarr-python fills in the type of the elements in Zarr v3.
    #[codec(missing(numcodecs = MISSING))]
    pub decode_dtype: Option<Number>,
}

impl Codec for AsType {
    const INFO: CodecInfo = CodecInfo::new("astype", "numbers stored as another type")
        .numcodecs(&["astype"])
        .zarr_v3(&["numcodecs.astype"])
        .working_params()
        .lossy();

    type Coder = AsTypeCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let data = match (self.decode_dtype, input) {
            (Some(given), _) => given,
            (None, Repr::Array { dtype, .. }) => Number::new(*dtype)?,
            (None, Repr::Bytes { .. }) => return Err(untyped()),
        };
        number::check_types(input, env, ("decode_dtype", data), ("encode_dtype", self.encode_dtype))?;
        let stored = Self { decode_dtype: Some(data), ..*self };
        Ok(Bound {
            stored,
            working: stored.to_params()?,
            output: data.replaced(input, self.encode_dtype)?,
            coder: AsTypeCoder::new(data, self.encode_dtype),
        })
    }

    fn coder(working: &[u32]) -> Result<AsTypeCoder> {
        let Self { encode_dtype, decode_dtype } = Self::from_params(working)?;
        Ok(AsTypeCoder::new(decode_dtype.ok_or_else(untyped)?, encode_dtype))
    }

    /// Integers that would be decoded to others are refused, and floating-point numbers of the same size keep their
    /// bits.
    fn is_lossy(&self, _input: &Repr) -> Option<bool> {
        let stored = self.encode_dtype;
        let is_exact = |data: Number| !data.is_float() || stored.is_float() && stored.size() == data.size();
        Some(!self.decode_dtype.is_some_and(is_exact))
    }
}

fn untyped() -> CodecError {
    CodecError::config("decode_dtype", "the number type is unknown; give it")
}
