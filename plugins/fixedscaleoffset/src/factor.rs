use std::fmt;

use ncz_codec::{CodecError, ConfigReader, Result, params};
use serde_json::{Value, json};

/// A number of the configuration. numpy computes with an integer of Python's as with one of the array's type, so it
/// makes a difference whether it is written as 10 or as 10.0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Factor {
    /// Written without a fraction.
    Integer(i64),
    /// Written with a fraction or an exponent; finite.
    Float(f64),
}

impl Factor {
    /// Reads the number at `key`; `None` if it is missing.
    pub(crate) fn from_config(reader: &mut ConfigReader<'_>, key: &'static str) -> Result<Option<Self>> {
        let Some(value) = reader.raw(key) else { return Ok(None) };
        let Value::Number(number) = value else {
            return Err(CodecError::config(key, format!("expected a number, got {value}")));
        };
        if let Some(integer) = number.as_i64() {
            return Ok(Some(Self::Integer(integer)));
        }
        let text = number.to_string();
        let fraction = text.contains(['.', 'e', 'E']);
        match number.as_f64().filter(|float| fraction && float.is_finite()) {
            Some(float) => Ok(Some(Self::Float(float))),
            None => Err(CodecError::config(key, format!("{text} is too large"))),
        }
    }

    pub(crate) fn json(self) -> Value {
        match self {
            Self::Integer(integer) => json!(integer),
            Self::Float(float) => json!(float),
        }
    }

    /// Returns the factor as two words, low word first, for integers and doubles.
    pub(crate) fn words(self) -> [u32; 2] {
        match self {
            Self::Integer(integer) => params::i64_words(integer),
            Self::Float(float) => params::f64_words(float),
        }
    }

    /// Reads the result of [`words`](Self::words).
    pub(crate) fn from_words(words: [u32; 2], is_float: bool) -> Self {
        if is_float { Self::Float(params::words_f64(words)) } else { Self::Integer(params::words_i64(words)) }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::Float(_))
    }

    /// The nearest double.
    pub(crate) fn float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json().fmt(f)
    }
}
