//! The lexer: names, strings and constants.

use ncz_model::limits;
use std::io::{Read, Seek};

use super::error::{CdlError, CdlErrorKind};
use super::input::{Input, Mark};
use super::number::{self, Number};

/// The longest string of an attribute or an element.
const STRING_BYTES: usize = 64 << 20;

/// A name as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// The unescaped name.
    pub(super) text: String,
    /// Whether it has no escapes, so that it may be a keyword of CDL.
    pub(super) plain: bool,
}

/// A name, or several names separated by slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// Whether it starts with a slash.
    pub(super) absolute: bool,
    pub(super) names: Vec<Name>,
}

impl Path {
    /// The keyword of CDL that it may be.
    pub(super) fn word(&self) -> Option<&str> {
        match self.names.as_slice() {
            [name] if !self.absolute && name.plain => Some(&name.text),
            _ => None,
        }
    }

    /// The path in the form of a dataset.
    pub(super) fn text(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(|name| name.text.as_str()).collect();
        format!("{}{}", if self.absolute { "/" } else { "" }, names.join("/"))
    }
}

/// One constant of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Constant {
    /// A number with valid text.
    Number(String),
    /// A character between apostrophes.
    Letter(u8),
    /// Text between quotes.
    Text(Vec<u8>),
    /// `_`.
    Fill,
    /// `NIL`.
    Nil,
}

impl Constant {
    /// The kind of constant, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Letter(_) => "a character",
            Self::Text(_) => "a string",
            Self::Fill => "_ (a fill value)",
            Self::Nil => "NIL",
        }
    }
}

impl<R: Read + Seek> Input<R> {
    /// Describes the text at the current position, for messages.
    pub(super) fn found(&mut self) -> Result<String, CdlError> {
        let bytes = self.rest(64)?;
        let Some(&first) = bytes.first() else { return Ok("the end of the text".to_owned()) };
        let len = match first {
            _ if first >= 0x80 || number::is_part(first) || first == b'\\' => bytes
                .iter()
                .take_while(|&&byte| byte >= 0x80 || number::is_part(byte) || byte == b'\\')
                .count(),
            b'"' => return Ok("a string".to_owned()),
            b'\'' => return Ok("a character".to_owned()),
            _ => 1,
        };
        let word: String =
            String::from_utf8_lossy(bytes.get(..len).unwrap_or_default()).chars().take(30).collect();
        Ok(format!("{word:?}"))
    }

    /// Makes the error of unexpected text at the current position.
    pub(super) fn expected(&mut self, expected: &'static str) -> CdlError {
        let mark = self.mark();
        match self.found() {
            Ok(found) => self.error(mark, CdlErrorKind::Expected { expected, found }),
            Err(error) => error,
        }
    }

    /// Skips blanks and consumes this byte.
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), CdlError> {
        if self.skip_blanks()? != Some(byte) {
            return Err(self.expected(expected));
        }
        self.step();
        Ok(())
    }

    /// Skips blanks and consumes this byte if it is next; returns whether it is.
    pub(super) fn accept(&mut self, byte: u8) -> Result<bool, CdlError> {
        let found = self.skip_blanks()? == Some(byte);
        if found {
            self.step();
        }
        Ok(found)
    }

    /// Reads a name or a path; returns it and its position.
    pub(super) fn path(&mut self, expected: &'static str) -> Result<(Path, Mark), CdlError> {
        let absolute = self.skip_blanks()? == Some(b'/');
        let begin = self.mark();
        let mut path = Path { absolute, names: Vec::new() };
        if !absolute {
            path.names.push(self.bare_name(expected)?);
            return Ok((path, begin));
        }
        while self.peek()? == Some(b'/') {
            self.take(1);
            path.names.push(self.bare_name("a name after the slash")?);
            if path.names.len() > limits::GROUP_DEPTH + 1 {
                let kind = CdlErrorKind::TooMuch { what: "names in a path", most: limits::GROUP_DEPTH + 1 };
                return Err(self.error(begin, kind));
            }
        }
        Ok((path, begin))
    }

    /// Reads a single name; returns it and its position.
    pub(super) fn name(&mut self, expected: &'static str) -> Result<(Name, Mark), CdlError> {
        self.skip_blanks()?;
        let begin = self.mark();
        let name = self.bare_name(expected)?;
        match *self.rest(2)? {
            // The name of an object in HDF5 files that netCDF did not make.
            [b'/', next, ..] if !matches!(next, b'/' | b'*') => {
                Err(self.error(begin, CdlErrorKind::Slash { name: name.text }))
            }
            _ => Ok((name, begin)),
        }
    }

    fn bare_name(&mut self, expected: &'static str) -> Result<Name, CdlError> {
        let begin = self.mark();
        let (mut bytes, mut plain) = (Vec::new(), true);
        loop {
            let first = bytes.is_empty();
            match *self.rest(2)? {
                [byte, ..] if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                    bytes.push(byte);
                    self.take(1);
                }
                [byte @ (b'0'..=b'9' | b'.' | b'@' | b'+' | b'-'), ..] if !first => {
                    bytes.push(byte);
                    self.take(1);
                }
                [b'\\', byte, ..] if byte >= b' ' => {
                    bytes.push(byte);
                    plain = false;
                    self.take(2);
                }
                _ if first => return Err(self.expected(expected)),
                _ => break,
            }
            if bytes.len() > limits::NAME_BYTES {
                let kind = CdlErrorKind::TooLong { what: "name", most: limits::NAME_BYTES };
                return Err(self.error(begin, kind));
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Name { text, plain }),
            Err(_) => Err(self.error(begin, CdlErrorKind::NotText { what: "name" })),
        }
    }

    /// Reads the name of the dataset: the text before `{`, without unescaped blanks.
    pub(super) fn dataset_name(&mut self) -> Result<String, CdlError> {
        let begin = self.mark();
        let mut bytes = Vec::new();
        loop {
            match *self.rest(2)? {
                [b'{', ..] => break,
                [b'\\', byte, ..] if byte >= b' ' => {
                    bytes.push(byte);
                    self.take(2);
                }
                [byte, ..] => {
                    if byte > b' ' {
                        bytes.push(byte);
                    }
                    self.step();
                }
                [] => return Err(self.expected("{ after the name of the dataset")),
            }
            if bytes.len() > 4 * limits::NAME_BYTES {
                let kind =
                    CdlErrorKind::TooLong { what: "name of the dataset", most: 4 * limits::NAME_BYTES };
                return Err(self.error(begin, kind));
            }
        }
        match String::from_utf8(bytes) {
            Ok(name) => Ok(name),
            Err(_) => Err(self.error(begin, CdlErrorKind::NotText { what: "name of the dataset" })),
        }
    }

    /// Reads a constant; returns it and its position.
    pub(super) fn constant(&mut self) -> Result<(Constant, Mark), CdlError> {
        let first = self.skip_blanks()?;
        let begin = self.mark();
        let constant = match first {
            Some(b'"') => {
                let mut text = Vec::new();
                self.string(&mut text)?;
                Constant::Text(text)
            }
            Some(b'\'') => Constant::Letter(self.letter()?),
            _ => self.word()?,
        };
        Ok((constant, begin))
    }

    fn word(&mut self) -> Result<Constant, CdlError> {
        let begin = self.mark();
        let bytes = self.rest(number::MOST_BYTES + 1)?;
        let len = bytes.iter().take_while(|&&byte| number::is_part(byte)).count();
        let word = String::from_utf8_lossy(bytes.get(..len.min(number::MOST_BYTES)).unwrap_or_default())
            .into_owned();
        match word.as_str() {
            "" => Err(self.expected("a value")),
            "_" => {
                self.take(len);
                Ok(Constant::Fill)
            }
            "NIL" | "nil" | "Nil" => {
                self.take(len);
                Ok(Constant::Nil)
            }
            _ if len > number::MOST_BYTES => {
                Err(self.error(begin, CdlErrorKind::TooLong { what: "number", most: number::MOST_BYTES }))
            }
            _ => match Number::parse(&word) {
                Ok(_) => {
                    self.take(len);
                    Ok(Constant::Number(word))
                }
                Err(_) if !word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
                    Err(self.expected("a value"))
                }
                Err(kind) => Err(self.error(begin, kind)),
            },
        }
    }

    /// Reads a string from its opening quote on, and appends its unescaped text.
    pub(super) fn string(&mut self, text: &mut Vec<u8>) -> Result<(), CdlError> {
        let begin = self.mark();
        self.take(1);
        loop {
            let held = self.rest(8)?;
            let plain =
                held.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n')).unwrap_or(held.len());
            text.extend_from_slice(held.get(..plain).unwrap_or_default());
            self.take(plain);
            if text.len() > STRING_BYTES {
                return Err(self.error(begin, CdlErrorKind::TooLong { what: "string", most: STRING_BYTES }));
            }
            match *self.rest(8)? {
                [] => return Err(self.error(begin, CdlErrorKind::Unterminated { what: "string" })),
                [b'"', ..] => {
                    self.take(1);
                    return Ok(());
                }
                [b'\\', ..] => text.push(self.escape()?),
                [b'\n', ..] => {
                    text.push(b'\n');
                    self.step();
                }
                _ => {}
            }
        }
    }

    /// Reads a character between apostrophes.
    pub(super) fn letter(&mut self) -> Result<u8, CdlError> {
        let begin = self.mark();
        self.take(1);
        let letter = match *self.rest(8)? {
            [b'\\', _, ..] => self.escape()?,
            [letter, ..] if letter != b'\n' && letter != b'\'' => {
                self.take(1);
                letter
            }
            _ => return Err(self.error(begin, CdlErrorKind::Unterminated { what: "character" })),
        };
        if self.peek()? != Some(b'\'') {
            let expected = "' after one character of one byte; longer text is written between double quotes";
            return Err(self.expected(expected));
        }
        self.take(1);
        Ok(letter)
    }

    /// Reads an escape sequence and returns its byte.
    fn escape(&mut self) -> Result<u8, CdlError> {
        let begin = self.mark();
        let held = self.rest(8)?;
        let digits = |radix: u32, from: usize, most: usize| {
            let digits = held.iter().skip(from).take(most);
            let values = digits.map_while(|&byte| char::from(byte).to_digit(radix));
            values.fold((0u32, 0usize), |(value, len), digit| (value * radix + digit, len + 1))
        };
        let (value, len) = match held.get(1).copied() {
            None => return Err(self.error(begin, CdlErrorKind::Unterminated { what: "string" })),
            Some(b'a') => (7, 2),
            Some(b'b') => (8, 2),
            Some(b'f') => (0x0c, 2),
            Some(b'n') => (u32::from(b'\n'), 2),
            Some(b'r') => (u32::from(b'\r'), 2),
            Some(b't') => (u32::from(b'\t'), 2),
            Some(b'v') => (0x0b, 2),
            Some(b'?') => (0x7f, 2),
            Some(b'x' | b'X') => match digits(16, 2, 2) {
                (value, 2) => (value, 4),
                _ => return Err(self.error(begin, expected_digits("two hexadecimal digits after \\x"))),
            },
            Some(b'0'..=b'7') => {
                let (value, len) = digits(8, 1, 3);
                (value, len + 1)
            }
            Some(other) => {
                self.take(1);
                self.step();
                return Ok(other);
            }
        };
        match u8::try_from(value) {
            Ok(byte) => {
                self.take(len);
                Ok(byte)
            }
            Err(_) => Err(self.error(begin, expected_digits("an octal number of at most \\377"))),
        }
    }
}

fn expected_digits(expected: &'static str) -> CdlErrorKind {
    CdlErrorKind::Expected { expected, found: "other digits".to_owned() }
}
