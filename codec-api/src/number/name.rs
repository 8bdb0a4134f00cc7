//! The names of number types: numpy's type strings, and parameter words.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::Number;
use crate::config::ConfigReader;
use crate::error::{CodecError, Result};
use crate::repr::{ByteOrder, Dtype, Kind};

/// The names that zarr-python writes if a user gave them.
const NAMES: [(&str, &str); 11] = [
    ("int8", "i1"),
    ("int16", "i2"),
    ("int32", "i4"),
    ("int64", "i8"),
    ("uint8", "u1"),
    ("uint16", "u2"),
    ("uint32", "u4"),
    ("uint64", "u8"),
    ("float16", "f2"),
    ("float32", "f4"),
    ("float64", "f8"),
];

impl FromStr for Number {
    type Err = String;

    /// Reads numpy's type string: `<f4`, `>i2`, `|u1`. Names without a byte order (`float32`, `f4`) are
    /// little-endian, as in numpy on little-endian machines.
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "{text:?} is not a number type; these are i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 and f8, with < or > before \
                 them for the byte order"
            )
        };
        let (order, bare) = match text.as_bytes().first() {
            Some(b'<' | b'>' | b'|') => (text.as_bytes().first().copied(), &text[1..]),
            _ => (None, NAMES.iter().find(|(name, _)| *name == text).map_or(text, |(_, short)| *short)),
        };
        let (_, known) = NAMES.iter().find(|(_, short)| *short == bare).ok_or_else(unknown)?;
        let size = usize::from(known.as_bytes()[1] - b'0');
        if order == Some(b'|') && size > 1 {
            return Err(format!("{text:?} does not state its byte order"));
        }
        let kind = match known.as_bytes()[0] {
            b'i' => Kind::Int,
            b'u' => Kind::UInt,
            _ => Kind::Float,
        };
        let order = if order == Some(b'>') && size > 1 { ByteOrder::Big } else { ByteOrder::Little };
        Ok(Self(Dtype { kind, size, order }))
    }
}

impl fmt::Display for Number {
    /// Returns numpy's type string: `<f4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match (self.0.size, self.0.order) {
            (1, _) => '|',
            (_, ByteOrder::Little) => '<',
            (_, ByteOrder::Big) => '>',
        };
        let kind = match self.0.kind {
            Kind::UInt => 'u',
            Kind::Float => 'f',
            _ => 'i',
        };
        write!(f, "{order}{kind}{}", self.0.size)
    }
}

impl Number {
    /// Returns the little-endian type that Zarr v3 calls `name`, if it is a number type.
    pub fn from_v3(name: &str) -> Option<Self> {
        let (_, short) = NAMES.iter().find(|(long, _)| *long == name)?;
        short.parse().ok()
    }

    /// Returns the name of the type in Zarr v3, which does not include the byte order: `float32`.
    pub fn v3(self) -> &'static str {
        let text = self.to_string();
        NAMES.iter().find(|(_, short)| *short == &text[1..]).map_or("", |(long, _)| long)
    }

    /// Returns the type as a parameter word: the letters of its type string, the first in the lowest byte.
    pub fn word(self) -> u32 {
        self.to_string().bytes().rev().fold(0, |word, letter| word << 8 | u32::from(letter))
    }

    /// Reads the result of [`word`](Self::word); `index` is the index of the word.
    ///
    /// # Errors
    /// The word does not hold the letters of a type.
    pub fn from_word(words: &[u32], index: usize) -> Result<Self> {
        let wrong = |detail| CodecError::config(format!("cd_values[{index}]"), detail);
        let word = words.get(index).ok_or_else(|| wrong("expected a number type".to_owned()))?;
        let letters = word.to_le_bytes();
        let text = letters[..3].iter().map(|&letter| char::from(letter)).collect::<String>();
        let number: Self = text.parse().map_err(wrong)?;
        if number.word() == *word { Ok(number) } else { Err(wrong(format!("{word} is not a number type"))) }
    }

    /// Reads the type at `key` of a configuration; `None` if it is missing.
    ///
    /// # Errors
    /// The value is not the type string of a number type.
    pub fn from_config(reader: &mut ConfigReader<'_>, key: &'static str) -> Result<Option<Self>> {
        match reader.raw(key) {
            None => Ok(None),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|text| CodecError::config(key, text)),
            Some(other) => {
                Err(CodecError::config(key, format!("expected a number type such as \"<f4\", got {other}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_words_round_trip() {
        for (_, short) in NAMES {
            for order in ["<", ">"] {
                let text = format!("{order}{short}");
                let number: Number = text.parse().unwrap();
                let normal = if short.ends_with('1') { format!("|{short}") } else { text };
                assert_eq!(number.to_string(), normal);
                assert_eq!(Number::from_word(&[number.word()], 0), Ok(number));
            }
        }
        assert_eq!("<f4".parse::<Number>().unwrap().word(), 0x34_663c);
        assert_eq!("float32".parse::<Number>(), "<f4".parse());
        assert_eq!("u1".parse::<Number>().unwrap().to_string(), "|u1");
        for (long, short) in NAMES {
            assert_eq!((Number::from_v3(long).unwrap().v3(), Number::from_v3(short)), (long, None));
            assert_eq!(format!(">{short}").parse::<Number>().unwrap().v3(), long);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "", "<", "<f", "f16", "<f3", "=f4", "<i4 ", "<I4", "<c8", "|b1", "?", "<M8[ns]", "|S4", "<f4<f4",
            "\u{fc}1",
        ] {
            assert!(text.parse::<Number>().is_err(), "{text:?}");
        }
        assert_eq!("|i4".parse::<Number>().unwrap_err(), r#""|i4" does not state its byte order"#);
        for word in [0, 0x34_66, 0x34_663c + (1 << 24), u32::MAX] {
            assert!(Number::from_word(&[word], 0).is_err(), "{word}");
        }
        assert!(Number::from_word(&[], 0).is_err());
    }
}
