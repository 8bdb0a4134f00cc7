use ncz_codec::{Bound, Codec, CodecConfig, CodecInfo, Env, Number, Repr, Result, number};

use crate::codec::DeltaCoder;

/// Configuration of the delta codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct Delta {
    /// The type of the decoded data.
    #[codec(missing = "it is missing; an example is {\"dtype\": \"<i4\", \"astype\": \"<i2\"}")]
    pub dtype: Number,
    /// The type of the differences.
    #[codec(default = dtype)]
    pub astype: Number,
}

impl Codec for Delta {
    const INFO: CodecInfo = CodecInfo::new("delta", "the difference of each number from the one before")
        .numcodecs(&["delta"])
        .zarr_v3(&["numcodecs.delta"])
        .lossy();

    type Coder = DeltaCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        number::check_types(input, env, ("dtype", self.dtype), ("astype", self.astype))?;
        Ok(Bound {
            stored: *self,
            working: self.to_params()?,
            output: self.dtype.replaced(input, self.astype)?,
            coder: DeltaCoder::new(self.dtype, self.astype),
        })
    }

    fn coder(working: &[u32]) -> Result<DeltaCoder> {
        let Self { dtype, astype } = Self::from_params(working)?;
        Ok(DeltaCoder::new(dtype, astype))
    }

    /// Integers are restored exactly, or refused.
    fn is_lossy(&self, _input: &Repr) -> Option<bool> {
        Some(self.dtype.is_float())
    }
}
