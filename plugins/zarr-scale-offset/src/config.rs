use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Env, Number, Repr, Result,
    Scalar, params,
};
use serde_json::{Map, Value};

use crate::codec::ScaleOffsetCoder;

/// Configuration of the scale_offset codec.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleOffset {
    /// The number that is subtracted; default 0.
    pub offset: Option<Scalar>,
    /// The factor of the difference; default 1.
    pub scale: Option<Scalar>,
}

impl CodecConfig for ScaleOffset {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        known_in(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        let mut scalar = |key| reader.raw(key).map(|value| Scalar::from_json(key, value)).transpose();
        let parsed = Self { offset: scalar("offset")?, scale: scalar("scale")? };
        reader.finish(notes)?;
        Ok(parsed)
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        known_in(dialect)?;
        let factors = [("offset", self.offset), ("scale", self.scale)].into_iter();
        Ok(factors.filter_map(|(key, factor)| Some((key.to_owned(), factor?.json()))).collect())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        let [a, b, c, d, e, f] = *words else {
            params::check_count("scale_offset", words, 0, 0)?;
            return Ok(Self { offset: None, scale: None });
        };
        let factor = |at: usize, words| {
            let wrong = || CodecError::config(format!("cd_values[{at}]"), "these are not words of a number");
            Scalar::from_words(words).map(Some).ok_or_else(wrong)
        };
        Ok(Self { offset: factor(0, [a, b, c])?, scale: factor(3, [d, e, f])? })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        if self.offset.is_none() && self.scale.is_none() {
            return Ok(Vec::new());
        }
        let factors = [self.offset.unwrap_or(Scalar::Integer(0)), self.scale.unwrap_or(Scalar::Integer(1))];
        Ok(factors.into_iter().flat_map(Scalar::words).collect())
    }
}

impl Codec for ScaleOffset {
    const INFO: CodecInfo =
        CodecInfo::new("scale_offset", "numbers less an offset, times a scale, in their own type")
            .zarr_v3(&["scale_offset"])
            .working_params()
            .lossy();

    type Coder = ScaleOffsetCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, shape, fill } = input else {
            return Err(CodecError::unsupported(
                "scale_offset takes numbers, not bytes; put it first, or after codecs that return numbers",
            ));
        };
        let number = Number::new(*dtype)?;
        let coder = self.coder_of(number)?;
        let fill = fill.as_ref().map(|fill| coder.encode_fill(fill)).transpose()?;
        let output = Repr::Array { dtype: *dtype, shape: shape.clone(), fill };
        output.size()?;
        let mut working = CodecConfig::to_params(self)?;
        working.push(number.word());
        Ok(Bound { stored: *self, working, output, coder })
    }

    fn coder(working: &[u32]) -> Result<ScaleOffsetCoder> {
        let untyped = || {
            let text = "scale_offset needs its working words, of which the last is the type that enters";
            CodecError::config("cd_values", text)
        };
        let (_, given) = working.split_last().ok_or_else(untyped)?;
        let codec = Self::from_params(given).map_err(|_| untyped())?;
        codec.coder_of(Number::from_word(working, given.len())?)
    }

    /// Integers that decoding would not restore are refused.
    fn is_lossy(&self, input: &Repr) -> Option<bool> {
        let is_integer = |dtype| Number::new(dtype).is_ok_and(|number| !number.is_float());
        Some(!matches!(input, Repr::Array { dtype, .. } if is_integer(*dtype)))
    }
}

impl ScaleOffset {
    fn coder_of(&self, number: Number) -> Result<ScaleOffsetCoder> {
        let [offset, scale] =
            [self.offset.unwrap_or(Scalar::Integer(0)), self.scale.unwrap_or(Scalar::Integer(1))];
        if number.is_float() {
            let held = |key, factor: Scalar| {
                let text = || format!("{factor} is not a finite number of type {}", number.v3());
                let float = factor.as_float(number).filter(|float| float.is_finite());
                float.ok_or_else(|| CodecError::config(key, text()))
            };
            let (offset, multiplier) = (held("offset", offset)?, held("scale", scale)?);
            if multiplier == 0.0 {
                let text = format!("{scale} is 0 as {}, by which nothing can be divided", number.v3());
                return Err(CodecError::config("scale", text));
            }
            return Ok(ScaleOffsetCoder::floats(number, offset, multiplier));
        }
        let held = |key, factor: Scalar| {
            let text =
                || format!("{factor} is not a number of type {}; its scale and offset are", number.v3());
            factor.as_integer(number).ok_or_else(|| CodecError::config(key, text()))
        };
        let (offset, multiplier) = (held("offset", offset)?, held("scale", scale)?);
        if multiplier == 0 {
            return Err(CodecError::config("scale", "nothing can be divided by 0"));
        }
        Ok(ScaleOffsetCoder::integers(number, offset, multiplier))
    }
}

fn known_in(dialect: Dialect) -> Result<()> {
    match dialect {
        Dialect::ZarrV3 => Ok(()),
        Dialect::Numcodecs => Err(CodecError::unsupported(
            "scale_offset has no name in numcodecs; fixedscaleoffset there is similar",
        )),
    }
}
