use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, ConfigReader, Dialect, Env, Number, Repr, Result, number, params,
};
use serde_json::{Map, Value, json};

use crate::codec::DeltaCoder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("delta")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.delta")];

/// Configuration of the delta codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delta {
    /// The type as which the data are taken.
    pub dtype: Number,
    /// The type of the differences.
    pub astype: Number,
}

impl Codec for Delta {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("delta"),
        summary: Cow::Borrowed("the difference of each number from the one before"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: false,
        lossy: Some(true),
    };

    type Coder = DeltaCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let dtype = Number::from_config(&mut reader, "dtype")?.ok_or_else(|| {
            CodecError::config(
                "dtype",
                "it is missing; an example is {\"dtype\": \"<i4\", \"astype\": \"<i2\"}",
            )
        })?;
        let astype = Number::from_config(&mut reader, "astype")?.unwrap_or(dtype);
        reader.finish(notes)?;
        Ok(Self { dtype, astype })
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        let types = [("dtype", self.dtype), ("astype", self.astype)];
        Ok(types.into_iter().map(|(key, number)| (key.to_owned(), json!(number.to_string()))).collect())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("delta", words, 1, 2)?;
        let dtype = Number::from_word(words, 0)?;
        let astype = if words.len() > 1 { Number::from_word(words, 1)? } else { dtype };
        Ok(Self { dtype, astype })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.dtype.word(), self.astype.word()])
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        number::check_types(input, env, ("dtype", self.dtype), ("astype", self.astype))?;
        Ok(Bound {
            stored: *self,
            working: Codec::to_params(self)?,
            output: self.dtype.replaced(input, self.astype)?,
            coder: DeltaCoder::new(self.dtype, self.astype),
        })
    }

    fn coder(working: &[u32]) -> Result<DeltaCoder> {
        let Self { dtype, astype } = Self::from_params(working)?;
        Ok(DeltaCoder::new(dtype, astype))
    }

    /// Integers come back: those that would not, since their differences do not fit, are refused.
    fn is_lossy(&self, _input: &Repr) -> Option<bool> {
        Some(self.dtype.is_float())
    }
}
