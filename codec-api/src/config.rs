//! Readers for the configuration of a codec: JSON keys and parameter words.

mod value;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::dialect::Dialect;
use crate::error::{CodecError, Result};

pub use self::value::{ConfigEnum, ConfigValue, Limits};

/// The start and the end of a note on an unknown key.
const UNKNOWN_KEY: (&str, &str) = ("unknown key \"", "\" is ignored");

/// Returns the key if `note` is a note of [`ConfigReader::finish`] on an unknown key.
pub fn unknown_key(note: &str) -> Option<&str> {
    note.strip_prefix(UNKNOWN_KEY.0)?.strip_suffix(UNKNOWN_KEY.1)
}

/// Reads the keys of one JSON configuration and remembers which were read.
///
/// Missing keys take the default that the caller passes. Keys that the caller did not read are a note in
/// the numcodecs dialect and an error in Zarr v3 (whose readers refuse them).
#[derive(Debug)]
pub struct ConfigReader<'a> {
    dialect: Dialect,
    map: &'a Map<String, Value>,
    seen: Vec<&'static str>,
}

impl<'a> ConfigReader<'a> {
    /// Starts reading `map`, the configuration without the codec's name.
    pub fn new(dialect: Dialect, map: &'a Map<String, Value>) -> Self {
        Self { dialect, map, seen: Vec::new() }
    }

    /// Returns the dialect of the configuration.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the raw value of `key`; JSON `null` counts as missing.
    pub fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        self.seen.push(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// Returns the integer at `key`, or `default` if it is missing.
    ///
    /// In the numcodecs dialect a string of digits is accepted too: netcdf-c before 4.10 wrote those.
    ///
    /// # Errors
    /// Not an integer, or not within `range`.
    pub fn integer(
        &mut self,
        key: &'static str,
        default: i64,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<i64> {
        let Some(value) = self.raw(key) else { return Ok(default) };
        let number = match value {
            Value::Number(number) => integer_of(number),
            Value::String(text) if self.dialect == Dialect::Numcodecs => text.trim().parse().ok(),
            Value::Bool(flag) if self.dialect == Dialect::Numcodecs => Some(i64::from(*flag)),
            _ => None,
        };
        let number =
            number.ok_or_else(|| CodecError::config(key, format!("expected an integer, got {value}")))?;
        if range.contains(&number) {
            return Ok(number);
        }
        Err(CodecError::config(key, format!("{number} is not within {} to {}", range.start(), range.end())))
    }

    /// Returns the boolean at `key`, or `default` if it is missing.
    ///
    /// # Errors
    /// Neither `true` nor `false`.
    pub fn flag(&mut self, key: &'static str, default: bool) -> Result<bool> {
        match self.raw(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(CodecError::config(key, format!("expected true or false, got {other}"))),
        }
    }

    /// Returns the string at `key`, or `default` if it is missing.
    ///
    /// # Errors
    /// Not a string.
    pub fn text(&mut self, key: &'static str, default: &'a str) -> Result<&'a str> {
        match self.raw(key) {
            None => Ok(default),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(CodecError::config(key, format!("expected a string, got {other}"))),
        }
    }

    /// Finishes reading: unknown keys become notes (numcodecs dialect) or an error (Zarr v3).
    ///
    /// # Errors
    /// An unknown key in the Zarr v3 dialect.
    pub fn finish(self, notes: &mut Vec<String>) -> Result<()> {
        for key in self.map.keys().filter(|key| !self.seen.contains(&key.as_str())) {
            match self.dialect {
                Dialect::Numcodecs => {
                    notes.push(format!("{}{}{}", UNKNOWN_KEY.0, key.escape_debug(), UNKNOWN_KEY.1))
                }
                Dialect::ZarrV3 => {
                    return Err(CodecError::config(
                        key.clone(),
                        "Zarr v3 defines no such key for this codec; other readers refuse it too",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The source of a configuration, for the messages of checks over several fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// JSON.
    Json,
    /// Parameter words, with the keys of their fields in order.
    Params(&'static [&'static str]),
}

impl Source {
    /// Returns how messages name the field with this key: the key or the word.
    pub fn key(self, key: &'static str) -> Cow<'static, str> {
        let word = match self {
            Self::Json => None,
            Self::Params(keys) => keys.iter().position(|known| *known == key),
        };
        word.map_or(Cow::Borrowed(key), |at| Cow::Owned(format!("cd_values[{at}]")))
    }
}

/// Returns the integer value of a JSON number: `4`, `-5`, also `4.0`.
fn integer_of(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        // Exact up to 2^53; a larger integer would have parsed above.
        (float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0).then_some(float as i64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn numbers_come_as_integers_strings_and_whole_floats() {
        let map = map(r#"{"a": 4, "b": "4", "c": 4.0, "d": 4.5, "e": -5, "f": 99999999999999999999}"#);
        let mut reader = ConfigReader::new(Dialect::Numcodecs, &map);
        for key in ["a", "b", "c"] {
            assert_eq!(reader.integer(key, 0, 0..=9).unwrap(), 4);
        }
        assert!(reader.integer("d", 0, 0..=9).is_err());
        assert!(reader.integer("e", 0, 0..=9).is_err());
        assert!(reader.integer("f", 0, 0..=9).is_err());
        assert_eq!(reader.integer("missing", 7, 0..=9).unwrap(), 7);
    }

    #[test]
    fn unknown_keys_are_notes_in_v2_and_errors_in_v3() {
        let map = map(r#"{"level": 1, "extra": 2}"#);
        let mut notes = Vec::new();
        let mut reader = ConfigReader::new(Dialect::Numcodecs, &map);
        reader.integer("level", 0, 0..=9).unwrap();
        reader.finish(&mut notes).unwrap();
        assert_eq!(notes, [r#"unknown key "extra" is ignored"#]);
        assert_eq!((unknown_key(&notes[0]), unknown_key("level 3 is ignored")), (Some("extra"), None));
        let mut reader = ConfigReader::new(Dialect::ZarrV3, &map);
        reader.integer("level", 0, 0..=9).unwrap();
        assert!(reader.finish(&mut notes).unwrap_err().to_string().contains("extra"));
    }
}
