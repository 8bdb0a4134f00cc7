use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, ConfigReader, Dialect, Env, Number, Repr, Result, number, params,
};
use serde_json::{Map, Value, json};

use crate::codec::AsTypeCoder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("astype")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.astype")];

/// Configuration of the astype codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AsType {
    /// The type that is stored.
    pub encode_dtype: Number,
    /// The type as which the data are taken; `None` for that of the elements which enter the stage.
    pub decode_dtype: Option<Number>,
}

impl Codec for AsType {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("astype"),
        summary: Cow::Borrowed("numbers stored as another type"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: true,
        has_checksum: false,
        lossy: Some(true),
    };

    type Coder = AsTypeCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let missing = |key| {
            let text = "it is missing; an example is {\"encode_dtype\": \"<f4\", \"decode_dtype\": \"<f8\"}";
            CodecError::config(key, text)
        };
        let encode_dtype =
            Number::from_config(&mut reader, "encode_dtype")?.ok_or_else(|| missing("encode_dtype"))?;
        let decode_dtype = Number::from_config(&mut reader, "decode_dtype")?;
        // zarr-python fills in the type of the elements.
        if decode_dtype.is_none() && dialect == Dialect::Numcodecs {
            return Err(missing("decode_dtype"));
        }
        reader.finish(notes)?;
        Ok(Self { encode_dtype, decode_dtype })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        if self.decode_dtype.is_none() && dialect == Dialect::Numcodecs {
            return Err(CodecError::config("decode_dtype", "the type is not known yet"));
        }
        let types = [("encode_dtype", Some(self.encode_dtype)), ("decode_dtype", self.decode_dtype)];
        let types = types.into_iter();
        Ok(types.filter_map(|(key, number)| Some((key.to_owned(), json!(number?.to_string())))).collect())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("astype", words, 1, 2)?;
        let decode_dtype = (words.len() > 1).then(|| Number::from_word(words, 1)).transpose()?;
        Ok(Self { encode_dtype: Number::from_word(words, 0)?, decode_dtype })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok([Some(self.encode_dtype), self.decode_dtype].into_iter().flatten().map(Number::word).collect())
    }

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
            working: Codec::to_params(&stored)?,
            output: data.replaced(input, self.encode_dtype)?,
            coder: AsTypeCoder::new(data, self.encode_dtype),
        })
    }

    fn coder(working: &[u32]) -> Result<AsTypeCoder> {
        let Self { encode_dtype, decode_dtype } = Self::from_params(working)?;
        Ok(AsTypeCoder::new(decode_dtype.ok_or_else(untyped)?, encode_dtype))
    }

    /// Integers that would come back as others are refused, and floating-point numbers of one size keep their bits.
    fn is_lossy(&self, _input: &Repr) -> Option<bool> {
        let stored = self.encode_dtype;
        let is_exact = |data: Number| !data.is_float() || stored.is_float() && stored.size() == data.size();
        Some(!self.decode_dtype.is_some_and(is_exact))
    }
}

fn untyped() -> CodecError {
    CodecError::config("decode_dtype", "the type of the numbers is not known; give it")
}
