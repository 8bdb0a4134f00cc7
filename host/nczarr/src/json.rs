//! JSON as Zarr metadata really hold it: read leniently, written strictly in netcdf-c's style.
//!
//! Numbers keep their text. A bare `NaN`, `Infinity` or `-Infinity`, which zarr-python and xarray write,
//! is read as a number with that text ([`special`] tells it from others).

mod read;
mod write;

use serde_json::Value as Json;

pub use self::read::{JsonError, Parsed, parse};
pub use self::write::{float_text, to_text, to_text_indented, to_text_lenient, write_string};

/// A number that JSON has no word for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Not a number.
    NaN,
    /// Positive infinity.
    Infinity,
    /// Negative infinity.
    NegativeInfinity,
}

impl Special {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NaN => "NaN",
            Self::Infinity => "Infinity",
            Self::NegativeInfinity => "-Infinity",
        }
    }

    /// The meaning of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::NaN, Self::Infinity, Self::NegativeInfinity].into_iter().find(|special| special.word() == word)
    }

    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::NaN => f64::NAN,
            Self::Infinity => f64::INFINITY,
            Self::NegativeInfinity => f64::NEG_INFINITY,
        }
    }

    /// The bare word as JSON.
    #[must_use]
    pub fn bare(self) -> Json {
        Json::Number(serde_json::Number::from_string_unchecked(self.word().to_owned()))
    }
}

/// The number that a bare word stands for; `None` for everything else, also for the quoted word.
#[must_use]
pub fn special(json: &Json) -> Option<Special> {
    match json {
        Json::Number(number) => Special::from_word(number.as_str()),
        _ => None,
    }
}

/// JSON for a message, cut where it gets long.
pub(crate) fn shortened(json: &Json) -> String {
    let text = to_text(json);
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
