use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Env, Number, Repr, Result,
    number, params,
};
use serde_json::{Map, Value, json};

use crate::codec::FixedScaleOffsetCoder;
use crate::factor::Factor;

/// The flags for which factors in the words are doubles.
const OFFSET_IS_FLOAT: u32 = 1;
const SCALE_IS_FLOAT: u32 = 2;

/// Configuration of the fixedscaleoffset codec.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedScaleOffset {
    /// The number that is subtracted.
    pub offset: Factor,
    /// By what the difference is multiplied.
    pub scale: Factor,
    /// The type of the decoded data; `None` for the type of the stage's input elements.
    pub dtype: Option<Number>,
    /// The type that is stored; `None` for the same.
    pub astype: Option<Number>,
}

impl CodecConfig for FixedScaleOffset {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let missing = |key| {
            CodecError::config(
                key,
                "it is missing; an example is {\"scale\": 10, \"offset\": 0, \"dtype\": \"<f4\", \"astype\": \"<i2\"}",
            )
        };
        let offset = Factor::from_config(&mut reader, "offset")?.ok_or_else(|| missing("offset"))?;
        let scale = Factor::from_config(&mut reader, "scale")?.ok_or_else(|| missing("scale"))?;
        let dtype = Number::from_config(&mut reader, "dtype")?;
        // zarr-python fills in the type of the elements.
        if dtype.is_none() && dialect == Dialect::Numcodecs {
            return Err(missing("dtype"));
        }
        let astype = Number::from_config(&mut reader, "astype")?.or(dtype);
        reader.finish(notes)?;
        let parsed = Self { offset, scale, dtype, astype };
        parsed.check("offset", "scale")?;
        Ok(parsed)
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        if self.dtype.is_none() && dialect == Dialect::Numcodecs {
            return Err(CodecError::config("dtype", "the type is not known yet"));
        }
        let factors = [("scale", self.scale.json()), ("offset", self.offset.json())];
        let types = [("dtype", self.dtype), ("astype", self.astype)].into_iter();
        let types = types.filter_map(|(key, number)| Some((key, json!(number?.to_string()))));
        Ok(factors.into_iter().chain(types).map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("fixedscaleoffset", words, 5, 7)?;
        let kinds = words[0];
        if kinds & !(OFFSET_IS_FLOAT | SCALE_IS_FLOAT) != 0 {
            return Err(CodecError::config("cd_values[0]", format!("{kinds} is not within 0 to 3")));
        }
        let number = |index| (words.len() > index).then(|| Number::from_word(words, index)).transpose();
        let dtype = number(5)?;
        let parsed = Self {
            offset: Factor::from_words([words[1], words[2]], kinds & OFFSET_IS_FLOAT != 0),
            scale: Factor::from_words([words[3], words[4]], kinds & SCALE_IS_FLOAT != 0),
            dtype,
            astype: number(6)?.or(dtype),
        };
        parsed.check("cd_values[1]", "cd_values[3]")?;
        Ok(parsed)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        let kind = |factor: Factor, bit| if factor.is_float() { bit } else { 0 };
        let mut words = vec![kind(self.offset, OFFSET_IS_FLOAT) | kind(self.scale, SCALE_IS_FLOAT)];
        words.extend([self.offset, self.scale].into_iter().flat_map(Factor::words));
        let types = [self.dtype, self.astype.filter(|_| self.dtype.is_some())];
        words.extend(types.into_iter().flatten().map(Number::word));
        Ok(words)
    }
}

impl Codec for FixedScaleOffset {
    const INFO: CodecInfo =
        CodecInfo::new("fixedscaleoffset", "numbers less an offset, times a scale, rounded to whole numbers")
            .numcodecs(&["fixedscaleoffset"])
            .zarr_v3(&["numcodecs.fixedscaleoffset"])
            .working_params()
            .lossy();

    type Coder = FixedScaleOffsetCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let dtype = match (self.dtype, input) {
            (Some(dtype), _) => dtype,
            (None, Repr::Array { dtype, .. }) => Number::new(*dtype)?,
            (None, Repr::Bytes { .. }) => return Err(untyped()),
        };
        let astype = self.astype.unwrap_or(dtype);
        number::check_types(input, env, ("dtype", dtype), ("astype", astype))?;
        let stored = Self { dtype: Some(dtype), astype: Some(astype), ..*self };
        Ok(Bound {
            stored,
            working: CodecConfig::to_params(&stored)?,
            output: dtype.replaced(input, astype)?,
            coder: FixedScaleOffsetCoder::new(self.offset, self.scale, dtype, astype)?,
        })
    }

    fn coder(working: &[u32]) -> Result<FixedScaleOffsetCoder> {
        let Self { offset, scale, dtype, astype } = Self::from_params(working)?;
        let dtype = dtype.ok_or_else(untyped)?;
        FixedScaleOffsetCoder::new(offset, scale, dtype, astype.unwrap_or(dtype))
    }
}

impl FixedScaleOffset {
    /// Numbers that can be computed with; the keys are for messages.
    fn check(&self, offset: &str, scale: &str) -> Result<()> {
        for (key, factor) in [(offset, self.offset), (scale, self.scale)] {
            if !factor.float().is_finite() {
                return Err(CodecError::config(key, "it is not a finite number"));
            }
        }
        if self.scale.float() == 0.0 {
            return Err(CodecError::config(scale, "nothing can be divided by 0"));
        }
        Ok(())
    }
}

fn untyped() -> CodecError {
    CodecError::config("dtype", "the number type is unknown; give it")
}
