//! The lenient reader.

use std::str;

use indexmap::map::Entry;

use super::{Json, Map, Number, Special};
use crate::limits;

/// A parsed document.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The document.
    pub value: Json,
    /// Keys that occurred twice in one object; the last value is used.
    pub duplicates: Vec<String>,
    /// Whether it contains a bare `NaN` or `Infinity`.
    pub bare_words: bool,
}

/// Why a text cannot be parsed as JSON. Offsets count bytes from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The document is larger than the limit.
    #[error("the metadata document has {len} bytes, the limit is {most}")]
    TooLarge {
        /// Its length in bytes.
        len: usize,
        /// The limit.
        most: usize,
    },
    /// Arrays and objects are nested deeper than the limit.
    #[error("arrays and objects are nested deeper than {} at byte {at}", limits::JSON_DEPTH)]
    TooDeep {
        /// The offset.
        at: usize,
    },
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The offset.
        at: usize,
    },
    /// The text breaks JSON's grammar.
    #[error("expected {expected} at byte {at}")]
    Syntax {
        /// The offset.
        at: usize,
        /// What was expected.
        expected: &'static str,
    },
}

/// Reads a document: JSON, and the bare words `NaN`, `Infinity`, `-Infinity` outside strings.
///
/// # Errors
/// Any [`JsonError`]; the depth is limited, so that no document exhausts the stack.
pub fn parse(bytes: &[u8]) -> Result<Parsed, JsonError> {
    let (len, most) = (bytes.len(), limits::CONSOLIDATED_BYTES);
    if len > most {
        return Err(JsonError::TooLarge { len, most });
    }
    let text = str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 { at: error.valid_up_to() })?;
    let skipped = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { text, at: skipped, duplicates: Vec::new(), bare_words: false };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at != text.len() {
        return Err(reader.expected("the end of the document"));
    }
    Ok(Parsed { value, duplicates: reader.duplicates, bare_words: reader.bare_words })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    duplicates: Vec<String>,
    bare_words: bool,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth >= limits::JSON_DEPTH => Err(JsonError::TooDeep { at: self.at }),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word(),
            _ => Err(self.expected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut members = Map::new();
        self.blanks();
        if self.take(b'}') {
            return Ok(Json::from(members));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a quoted key"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.take(b':') {
                return Err(self.expected("\":\""));
            }
            let value = self.value(depth + 1)?;
            match members.entry(key) {
                Entry::Vacant(vacant) => drop(vacant.insert(value)),
                Entry::Occupied(mut occupied) => {
                    self.duplicates.push(occupied.key().clone());
                    occupied.insert(value);
                }
            }
            self.blanks();
            if self.take(b'}') {
                // Documents are kept as long as their dataset is open.
                members.shrink_to_fit();
                return Ok(Json::from(members));
            }
            if !self.take(b',') {
                return Err(self.expected("\",\" or \"}\""));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.take(b']') {
                items.shrink_to_fit();
                return Ok(Json::Array(items));
            }
            if !self.take(b',') {
                return Err(self.expected("\",\" or \"]\""));
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start + 1..).unwrap_or_default();
        let mut escaped = false;
        let end = rest.iter().position(|&byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(end) = end else { return Err(self.expected("a string that ends")) };
        let quoted = self.text.get(start..start + end + 2).unwrap_or_default();
        self.at = start + quoted.len();
        let plain = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        if !plain.bytes().any(|byte| byte == b'\\' || byte < b' ') {
            return Ok(plain.to_owned());
        }
        // Escapes are left to serde_json, which joins surrogates and refuses control characters.
        serde_json::from_str(quoted)
            .map_err(|_| JsonError::Syntax { at: start, expected: "a string with valid escapes" })
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        if rest.starts_with(Special::NegativeInfinity.word()) {
            self.at += 1;
            let word = self.word();
            return word.map(|_| Special::NegativeInfinity.bare());
        }
        let len =
            rest.bytes().position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let token = rest.get(..len.unwrap_or(rest.len())).unwrap_or_default();
        if !is_number(token) {
            return Err(self.expected("a number"));
        }
        self.at += token.len();
        Ok(Json::Number(Number::from_text(token)))
    }

    fn word(&mut self) -> Result<Json, JsonError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = rest.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        let value = match word {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "null" => Json::Null,
            _ => match Special::from_word(word) {
                Some(special) => {
                    self.bare_words = true;
                    special.bare()
                }
                None => return Err(self.expected("a value")),
            },
        };
        self.at += len;
        Ok(value)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, expected: &'static str) -> JsonError {
        JsonError::Syntax { at: self.at, expected }
    }
}

/// JSON's grammar of numbers.
fn is_number(token: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = token.strip_prefix('-').unwrap_or(token);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn value(text: &str) -> Json {
        parse(text.as_bytes()).unwrap().value
    }

    #[test]
    fn a_million_open_brackets_are_refused_without_using_the_stack() {
        for bracket in ["[", "{\"a\":"] {
            let text = bracket.repeat(1_000_000);
            assert!(matches!(parse(text.as_bytes()), Err(JsonError::TooDeep { .. })));
        }
        let deepest = format!("{}{}", "[".repeat(64), "]".repeat(64));
        parse(deepest.as_bytes()).unwrap();
    }

    #[test]
    fn bare_words_are_numbers_only_outside_strings() {
        let parsed = parse(br#"{"a": NaN, "b": [Infinity, -Infinity], "c": "NaN, Infinity"}"#).unwrap();
        assert!(parsed.bare_words);
        assert_eq!(super::super::special(&parsed.value["a"]), Some(Special::NaN));
        assert_eq!(super::super::special(&parsed.value["b"][1]), Some(Special::NegativeInfinity));
        assert_eq!(parsed.value["c"], "NaN, Infinity");
        assert_eq!(super::super::special(&parsed.value["c"]), None);
    }

    #[test]
    fn the_last_of_two_equal_keys_counts_and_is_noted() {
        let parsed = parse(br#"{"a": 1, "b": 2, "a": 3}"#).unwrap();
        assert_eq!(parsed.value["a"], Json::from(3));
        assert_eq!(parsed.duplicates, ["a"]);
    }

    #[test]
    fn numbers_keep_their_text() {
        for text in ["1e400", "0.10", "-0", "18446744073709551616", "1E+05"] {
            assert_eq!(value(text).as_number().unwrap().as_str(), text);
        }
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "{a: 1}",
            "nan",
            "-NaN",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "--1",
            "\"\\x\"",
            "\"a",
            "\"\n\"",
            "\"\\ud800\"",
            "[1] 2",
            "tru",
            "trueish",
            "'a'",
            "-Infinite",
            "0x10",
            "1_0",
        ] {
            assert!(matches!(parse(text.as_bytes()), Err(JsonError::Syntax { .. })), "{text:?}");
        }
        assert_eq!(parse(b"[\"\xff\"]"), Err(JsonError::NotUtf8 { at: 2 }));
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(value(r#""\u00e9\ud83d\ude00\\\"\/\n""#), "é😀\\\"/\n");
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_that_serde_json_writes_is_read_equal(value in any_value()) {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(parse(text.as_bytes()).unwrap().value, Json::from(value));
        }

        #[test]
        fn our_text_is_read_equal_by_serde_json(value in any_value()) {
            let text = super::super::to_text(&Json::from(value.clone()));
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let ours = parse(&bytes).is_ok();
            let strict = serde_json::from_slice::<Value>(&bytes).is_ok();
            prop_assert!(ours || !strict);
        }
    }
}
