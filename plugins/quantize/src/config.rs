use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, ConfigReader, Dialect, Env, Number, Repr, Result, number, params,
};
use serde_json::{Map, Value, json};

use crate::codec::QuantizeCoder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("quantize")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.quantize")];
/// For which a double can hold the power of ten and its inverse; numcodecs fails on others.
const DIGITS: std::ops::RangeInclusive<i64> = -308..=307;

/// Configuration of the quantize codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quantize {
    /// How many decimal digits behind the point are kept at least.
    pub digits: i32,
    /// The type as which the data are taken; `None` for that of the elements which enter the stage.
    pub dtype: Option<Number>,
    /// The type that is stored; `None` for the same.
    pub astype: Option<Number>,
}

impl Codec for Quantize {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("quantize"),
        summary: Cow::Borrowed("rounds numbers to decimal digits, in binary"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: true,
        has_checksum: false,
        lossy: Some(true),
    };

    type Coder = QuantizeCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let missing = |key| {
            let text =
                "it is missing; an example is {\"digits\": 3, \"dtype\": \"<f8\", \"astype\": \"<f4\"}";
            CodecError::config(key, text)
        };
        if reader.raw("digits").is_none() {
            return Err(missing("digits"));
        }
        let digits = reader.integer("digits", 0, DIGITS)? as i32;
        let dtype = float(&mut reader, "dtype")?;
        // zarr-python fills in the type of the elements.
        if dtype.is_none() && dialect == Dialect::Numcodecs {
            return Err(missing("dtype"));
        }
        let astype = float(&mut reader, "astype")?;
        reader.finish(notes)?;
        Ok(Self { digits, dtype, astype: astype.or(dtype) })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        if self.dtype.is_none() && dialect == Dialect::Numcodecs {
            return Err(CodecError::config("dtype", "the type is not known yet"));
        }
        let types = [("dtype", self.dtype), ("astype", self.astype)].into_iter();
        let types = types.filter_map(|(key, number)| Some((key.to_owned(), json!(number?.to_string()))));
        Ok([("digits".to_owned(), json!(self.digits))].into_iter().chain(types).collect())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("quantize", words, 1, 3)?;
        let digits = words[0] as i32;
        if !DIGITS.contains(&digits.into()) {
            let text = format!("{digits} is not within {} to {}", DIGITS.start(), DIGITS.end());
            return Err(CodecError::config("cd_values[0]", text));
        }
        let number = |index: usize| {
            let number = (words.len() > index).then(|| Number::from_word(words, index)).transpose()?;
            check(number).map_err(|text| CodecError::config(format!("cd_values[{index}]"), text))
        };
        let dtype = number(1)?;
        Ok(Self { digits, dtype, astype: number(2)?.or(dtype) })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        let types = [self.dtype, self.astype.filter(|_| self.dtype.is_some())];
        Ok([self.digits as u32].into_iter().chain(types.into_iter().flatten().map(Number::word)).collect())
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let dtype = match (self.dtype, input) {
            (Some(dtype), _) => dtype,
            (None, Repr::Array { dtype, .. }) => {
                check(Some(Number::new(*dtype)?)).map_err(CodecError::unsupported)?.ok_or_else(untyped)?
            }
            (None, Repr::Bytes { .. }) => return Err(untyped()),
        };
        let astype = self.astype.unwrap_or(dtype);
        number::check_types(input, env, ("dtype", dtype), ("astype", astype))?;
        let stored = Self { digits: self.digits, dtype: Some(dtype), astype: Some(astype) };
        Ok(Bound {
            stored,
            working: Codec::to_params(&stored)?,
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

fn untyped() -> CodecError {
    CodecError::config("dtype", "the type of the numbers is not known; give it")
}

fn float(reader: &mut ConfigReader<'_>, key: &'static str) -> Result<Option<Number>> {
    check(Number::from_config(reader, key)?).map_err(|text| CodecError::config(key, text))
}

/// Floating-point numbers only, as in numcodecs.
fn check(number: Option<Number>) -> Result<Option<Number>, String> {
    match number {
        Some(number) if !number.is_float() => Err(format!("{number} is no type of floating-point numbers")),
        other => Ok(other),
    }
}
