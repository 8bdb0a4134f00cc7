//! Short forms of parameters, texts and types for the lines of [`log`](super::log).

use std::fmt;

use crate::repr::{ByteOrder, Dtype, Kind, Repr, Size};

/// The most words to print; further words are only counted.
const WORDS_MAX: usize = 32;
/// The length in bytes at which a text is cut.
const TEXT_MAX: usize = 1000;

/// Parameter words: `[4, 0]`.
pub(super) struct Words<'a>(pub(super) &'a [u32]);

/// A text with any content: its beginning and, if it is cut, its length.
pub(super) struct Json<'a>(pub(super) &'a [u8]);

/// An element type as numpy writes it: `<i4`.
pub(super) struct Type<'a>(pub(super) &'a Dtype);

/// The input or output of a stage: `<i4[10, 50]`, `2000 bytes`. Fill values are user data and are not shown.
pub(super) struct Stage<'a>(pub(super) &'a Repr);

/// Returns `text` in one line, or as much of it as fits into `most` bytes.
pub(super) fn cut(text: &str, most: usize) -> String {
    let mut line = String::new();
    for char in text.chars() {
        let len = line.len();
        match char.is_control() {
            true => line.extend(char.escape_default()),
            false => line.push(char),
        }
        if line.len() > most {
            line.truncate(len);
            line.push_str(" ...");
            break;
        }
    }
    line
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() <= WORDS_MAX {
            return write!(f, "{:?}", self.0);
        }
        f.write_str("[")?;
        for word in &self.0[..WORDS_MAX] {
            write!(f, "{word}, ")?;
        }
        write!(f, "... {} words]", self.0.len())
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get(..TEXT_MAX) {
            Some(start) if self.0.len() > TEXT_MAX => {
                write!(f, "{} ... {} bytes", String::from_utf8_lossy(start), self.0.len())
            }
            _ => f.write_str(&String::from_utf8_lossy(self.0)),
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.0.order {
            _ if self.0.size <= 1 || self.0.kind == Kind::Opaque => '|',
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
        };
        let kind = match self.0.kind {
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::UInt => 'u',
            Kind::Float => 'f',
            Kind::Complex => 'c',
            Kind::Opaque => 'V',
        };
        write!(f, "{order}{kind}{}", self.0.size)
    }
}

impl fmt::Display for Stage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Array { dtype, shape, .. } => write!(f, "{}{shape:?}", Type(dtype)),
            Repr::Bytes { size: Size::Exact(len) } => write!(f, "{len} bytes"),
            Repr::Bytes { size: Size::AtMost(len) } => write!(f, "at most {len} bytes"),
            Repr::Bytes { size: Size::Unknown } => f.write_str("bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_things_are_shown_in_short() {
        assert_eq!(Words(&[4, 0]).to_string(), "[4, 0]");
        let many = Words(&[7; 100]).to_string();
        assert!(many.ends_with("7, ... 100 words]") && many.len() < 130, "{many}");
        assert_eq!(Json(b"{}").to_string(), "{}");
        let long = Json(&[b'x'; 1 << 20]).to_string();
        assert!(long.ends_with("x ... 1048576 bytes") && long.len() < 1100, "{long}");
        assert_eq!((cut("größer", 3).as_str(), cut("größer", 8).as_str()), ("gr ...", "größer"));
        assert_eq!((cut("a\n\u{7}", 8), cut("\n\n", 3)), ("a\\n\\u{7}".to_owned(), "\\n ...".to_owned()));
        let repr = Repr::Array {
            dtype: Dtype::big(Kind::Float, 8),
            shape: vec![3, 4],
            fill: Some(b"a secret".to_vec()),
        };
        assert_eq!(Stage(&repr).to_string(), ">f8[3, 4]");
        assert_eq!(Type(&Dtype::little(Kind::Opaque, 5)).to_string(), "|V5");
    }
}
