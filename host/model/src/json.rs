//! JSON of Zarr metadata: read leniently, written strictly in netcdf-c's style.
//!
//! Numbers keep their text. A bare `NaN`, `Infinity` or `-Infinity`, as zarr-python and xarray write it, is read as a
//! number with that text ([`special`] recognizes it).

mod read;
mod value;
mod write;

pub use self::read::{JsonError, Parsed, parse};
pub use self::value::{Json, Map, Number, json, to_values};
pub use self::write::{float_text, to_text, to_text_indented, to_text_lenient, write_string};

/// A number that JSON cannot express.
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

    /// Returns the number of a word.
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
        Json::Number(Number::from_text(self.word()))
    }
}

/// Returns the number of a bare word; `None` for all other JSON, including the quoted word.
#[must_use]
pub fn special(json: &Json) -> Option<Special> {
    match json {
        Json::Number(number) => Special::from_word(number.as_str()),
        _ => None,
    }
}

/// The value of netCDF's `_Codecs`: the chain as a JSON list.
#[must_use]
pub fn codecs_text(filters: &[Json]) -> String {
    to_text(&Json::Array(filters.to_vec()))
}

/// JSON for a message; long text is cut.
#[must_use]
pub fn shortened(json: &Json) -> String {
    let text = to_text(json);
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
