use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::{Layout, ZfpCoder};
use crate::config::number;
use crate::field::Field;
use crate::mode::Mode;

/// A parameter that is not set.
const UNSET: f64 = -1.0;

/// Configuration of the zfpy codec: of the three numbers, that of the mode counts, and less than 0 means no loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zfpy {
    /// Zfp's number of the mode: 2 for a rate, 3 for a precision, 4 for a tolerance.
    pub mode: u32,
    /// The most that a number is off.
    pub tolerance: f64,
    /// Bits for each number.
    pub rate: f64,
    /// Bit planes of each block of numbers that are kept.
    pub precision: i32,
}

impl Default for Zfpy {
    fn default() -> Self {
        Self { mode: 4, tolerance: UNSET, rate: UNSET, precision: UNSET as i32 }
    }
}

impl CodecConfig for Zfpy {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let mode = reader.integer("mode", 4, 2..=4)? as u32;
        // It repeats the number that counts, and numcodecs does not read it.
        if let Some(other) = reader.raw("compression_kwargs").filter(|value| !value.is_object()) {
            return Err(CodecError::config("compression_kwargs", format!("expected an object, got {other}")));
        }
        let mut float = |key| match reader.raw(key) {
            Some(_) => number(&mut reader, key),
            None => Ok(UNSET),
        };
        let (tolerance, rate) = (float("tolerance")?, float("rate")?);
        let precision = reader.integer("precision", -1, i32::MIN.into()..=i32::MAX.into())? as i32;
        reader.finish(notes)?;
        Ok(Self { mode, tolerance, rate, precision })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let (tolerance, rate) = (plain(self.tolerance), plain(self.rate));
        let counts = match self.mode {
            2 => json!({"rate": rate}),
            3 => json!({"precision": self.precision}),
            _ => json!({"tolerance": tolerance}),
        };
        let mut map = Map::new();
        map.insert("mode".into(), json!(self.mode));
        if dialect == Dialect::Numcodecs {
            map.insert("compression_kwargs".into(), counts);
        }
        map.insert("tolerance".into(), tolerance);
        map.insert("rate".into(), rate);
        map.insert("precision".into(), json!(self.precision));
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("zfpy", words, 0, 6)?;
        let double = |at| match words.get(at..at + 2) {
            Some(&[low, high]) => params::words_f64([low, high]),
            _ => UNSET,
        };
        let zfpy = Self {
            mode: params::word_or(words, 0, 4),
            tolerance: double(1),
            rate: double(3),
            precision: params::word_or(words, 5, u32::MAX) as i32,
        };
        if !(2..=4).contains(&zfpy.mode) {
            return Err(CodecError::config("cd_values[0]", format!("{} is not within 2 to 4", zfpy.mode)));
        }
        Ok(zfpy)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        let ([a, b], [c, d]) = (params::f64_words(self.tolerance), params::f64_words(self.rate));
        Ok(vec![self.mode, a, b, c, d, self.precision as u32])
    }
}

impl Codec for Zfpy {
    const INFO: CodecInfo =
        CodecInfo::new("zfpy", "zfp as numcodecs has it: lossy or lossless compression of fields of numbers")
            .numcodecs(&["zfpy"])
            .zarr_v3(&["numcodecs.zfpy"])
            .working_params()
            .lossy();

    type Coder = ZfpCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let field = Field::of(input, false)?;
        if field.unsigned {
            return Err(CodecError::unsupported(
                "zfpy takes signed integers and floating-point numbers only",
            ));
        }
        let mode = self.limits();
        let limits = mode.limits(&field)?;
        // Settings that no header can hold are refused before there are data.
        field.header_words(&limits)?;
        let coder = ZfpCoder::new(Layout::Headed, Some((field, limits))).with_promise(mode);
        let output = Repr::Bytes { size: coder.most().map_or(Size::Unknown, Size::AtMost) };
        Ok(Bound { stored: *self, working: field.words(&limits)?, output, coder })
    }

    fn coder(working: &[u32]) -> Result<ZfpCoder> {
        // Decoding needs no word.
        let bound = if working.is_empty() { None } else { Some(Field::from_words(working)?) };
        Ok(ZfpCoder::new(Layout::Headed, bound))
    }

    fn is_lossy(&self, _input: &Repr) -> Option<bool> {
        Some(self.limits() != Mode::Reversible)
    }
}

impl Zfpy {
    /// The same as zfpy takes it.
    fn limits(&self) -> Mode {
        match self.mode {
            2 if self.rate >= 0.0 => Mode::Rate(self.rate),
            3 if self.precision >= 0 => Mode::Precision(self.precision as u32),
            4 if self.tolerance >= 0.0 => Mode::Accuracy(self.tolerance),
            _ => Mode::Reversible,
        }
    }
}

/// An integer without a point, as Python writes an integer.
fn plain(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}
