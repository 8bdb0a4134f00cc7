//! The field types of a configuration, for `#[derive(CodecConfig)]`.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::ConfigReader;
use crate::error::{CodecError, Result};
use crate::number::Number;

/// A field type: a value in JSON and a parameter word.
pub trait ConfigValue: Sized {
    /// Reads the value of `key`; `None` if it is missing.
    ///
    /// # Errors
    /// A value of another type, or one that is not within `range`.
    fn read(
        reader: &mut ConfigReader<'_>,
        key: &'static str,
        range: Option<RangeInclusive<i64>>,
    ) -> Result<Option<Self>>;
    /// Returns the value as JSON.
    fn to_json(&self) -> Value;

    /// Reads the word at `index`, which must exist.
    ///
    /// # Errors
    /// A word that is not within the limits.
    fn from_word(words: &[u32], index: usize, limits: Limits) -> Result<Self>;

    /// Returns the value as a parameter word; `key` names it in messages.
    ///
    /// # Errors
    /// A value that is not within the limits.
    fn to_word(&self, key: &str, limits: Limits) -> Result<u32>;
}

/// The limits of a parameter word.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Its name in messages.
    pub label: &'static str,
    /// The least and the greatest value; `None` for all values of the type.
    pub range: Option<RangeInclusive<i64>>,
}

/// An enumeration as the type of a field; `#[derive(ConfigEnum)]` implements it.
pub trait ConfigEnum: Copy + PartialEq + 'static {
    /// Each value with its name in JSON and its parameter word.
    const VALUES: &'static [(Self, &'static str, u32)];
}

impl Limits {
    /// Refuses `number` if it is not within the limits; `key` is the key or the word.
    fn check(&self, key: &str, number: i64) -> Result<()> {
        match &self.range {
            Some(range) if !range.contains(&number) => Err(CodecError::config(
                key,
                format!("{} {number} is not within {} to {}", self.label, range.start(), range.end()),
            )),
            _ => Ok(()),
        }
    }
}

/// The name of a parameter word in messages.
fn word_key(index: usize) -> String {
    format!("cd_values[{index}]")
}

fn word_at(words: &[u32], index: usize) -> u32 {
    words.get(index).copied().unwrap_or_default()
}

macro_rules! integer {
    ($($integer:ty),*) => {$(
        impl ConfigValue for $integer {
            fn read(
                reader: &mut ConfigReader<'_>,
                key: &'static str,
                range: Option<RangeInclusive<i64>>,
            ) -> Result<Option<Self>> {
                if reader.raw(key).is_none() {
                    return Ok(None);
                }
                let range = range.unwrap_or(i64::from(Self::MIN)..=i64::from(Self::MAX));
                reader.integer(key, 0, range).map(|number| Some(number as Self))
            }

            fn to_json(&self) -> Value {
                Value::from(*self)
            }

            fn from_word(words: &[u32], index: usize, limits: Limits) -> Result<Self> {
                let word = word_at(words, index);
                let least = limits.range.as_ref().map_or(i64::from(Self::MIN), |range| *range.start());
                // Negative numbers are in two's complement.
                let number = if least < 0 { i64::from(word as i32) } else { i64::from(word) };
                let all = i64::from(Self::MIN)..=i64::from(Self::MAX);
                let limits = Limits { range: Some(limits.range.unwrap_or(all)), ..limits };
                limits.check(&word_key(index), number).map(|()| number as Self)
            }

            fn to_word(&self, key: &str, limits: Limits) -> Result<u32> {
                limits.check(key, i64::from(*self)).map(|()| *self as u32)
            }
        }
    )*};
}

integer!(u8, i32, u32);

impl ConfigValue for bool {
    fn read(
        reader: &mut ConfigReader<'_>,
        key: &'static str,
        _range: Option<RangeInclusive<i64>>,
    ) -> Result<Option<Self>> {
        if reader.raw(key).is_none() {
            return Ok(None);
        }
        reader.flag(key, false).map(Some)
    }

    fn to_json(&self) -> Value {
        Value::from(*self)
    }

    fn from_word(words: &[u32], index: usize, limits: Limits) -> Result<Self> {
        let limits = Limits { range: Some(0..=1), ..limits };
        let word = word_at(words, index);
        limits.check(&word_key(index), word.into()).map(|()| word == 1)
    }

    fn to_word(&self, _key: &str, _limits: Limits) -> Result<u32> {
        Ok((*self).into())
    }
}

impl ConfigValue for Number {
    fn read(
        reader: &mut ConfigReader<'_>,
        key: &'static str,
        _range: Option<RangeInclusive<i64>>,
    ) -> Result<Option<Self>> {
        Self::from_config(reader, key)
    }

    fn to_json(&self) -> Value {
        Value::from(self.to_string())
    }

    fn from_word(words: &[u32], index: usize, _limits: Limits) -> Result<Self> {
        Self::from_word(words, index)
    }

    fn to_word(&self, _key: &str, _limits: Limits) -> Result<u32> {
        Ok(self.word())
    }
}

impl<T: ConfigEnum> ConfigValue for T {
    fn read(
        reader: &mut ConfigReader<'_>,
        key: &'static str,
        _range: Option<RangeInclusive<i64>>,
    ) -> Result<Option<Self>> {
        if reader.raw(key).is_none() {
            return Ok(None);
        }
        let text = reader.text(key, "")?;
        let found = T::VALUES.iter().find(|(_, name, _)| *name == text);
        found.map(|(value, ..)| Some(*value)).ok_or_else(|| {
            let names: Vec<&str> = T::VALUES.iter().map(|(_, name, _)| *name).collect();
            CodecError::config(key, format!("{text:?} is none of {}", names.join(", ")))
        })
    }

    fn to_json(&self) -> Value {
        let found = T::VALUES.iter().find(|(value, ..)| value == self);
        found.map_or(Value::Null, |(_, name, _)| Value::from(*name))
    }

    fn from_word(words: &[u32], index: usize, limits: Limits) -> Result<Self> {
        let word = word_at(words, index);
        let found = T::VALUES.iter().find(|(.., known)| *known == word);
        found.map(|(value, ..)| *value).ok_or_else(|| {
            let known: Vec<_> = T::VALUES.iter().map(|(_, name, word)| format!("{word} ({name})")).collect();
            let text = format!("{} {word} is none of {}", limits.label, known.join(", "));
            CodecError::config(word_key(index), text)
        })
    }

    fn to_word(&self, _key: &str, _limits: Limits) -> Result<u32> {
        let found = T::VALUES.iter().find(|(value, ..)| value == self);
        Ok(found.map_or(0, |(.., word)| *word))
    }
}
