//! Strings of a fixed length: `S`, bytes, and `U`, code points, both padded with NUL.

use std::collections::TryReserveError;

use super::Strings;
use crate::data_error::StringError;
use crate::dtype::{Dtype, Kind};
use crate::netcdf_view::text_of_codes;
use crate::value::unpadded;

/// Bytes of a code point in `U`.
const UNIT: usize = 4;

/// Returns the part of `string` that an element of this type can hold: all of it, or, if `cuts`, the part before the
/// first NUL that fits, cut between characters.
pub(super) fn fitted<'a>(string: &'a [u8], dtype: &Dtype, cuts: bool) -> Result<&'a [u8], StringError> {
    let mut fitted = string;
    if !dtype.is_variable_length()
        && let Some(at) = string.iter().position(|&byte| byte == 0)
    {
        if !cuts {
            return Err(StringError::Nul { start: start_of(string), at });
        }
        fitted = &string[..at];
    }
    let (len, most) = match dtype.kind() {
        Kind::VlenBytes => return Ok(fitted),
        Kind::Bytes => (fitted.len(), dtype.size()),
        _ => {
            let text = std::str::from_utf8(fitted)
                .map_err(|error| StringError::NotUtf8 { start: start_of(string), at: error.valid_up_to() })?;
            let most = if dtype.kind() == Kind::Unicode { dtype.size() / UNIT } else { usize::MAX };
            let Some((end, _)) = text.char_indices().nth(most) else { return Ok(fitted) };
            if cuts {
                return Ok(&fitted[..end]);
            }
            (text.chars().count(), most)
        }
    };
    if len <= most {
        return Ok(fitted);
    }
    if !cuts {
        let unit = if dtype.kind() == Kind::Unicode { "characters" } else { "bytes" };
        return Err(StringError::TooLong { start: start_of(string), len, most, unit });
    }
    // A character has at most 4 bytes; text that is not UTF-8 is cut at the limit.
    let is_boundary = |at: &usize| fitted[*at] & 0b1100_0000 != 0b1000_0000;
    let end = (most.saturating_sub(3)..=most).rev().find(is_boundary).unwrap_or(most);
    Ok(&fitted[..end])
}

/// Appends the element of a string that fits, in the machine's byte order.
pub(super) fn encode(string: &[u8], dtype: &Dtype, elements: &mut Vec<u8>) {
    let end = elements.len() + dtype.size();
    if dtype.kind() == Kind::Unicode {
        let letters = std::str::from_utf8(string).unwrap_or_default().chars();
        elements.extend(letters.flat_map(|letter| u32::from(letter).to_ne_bytes()));
    } else {
        elements.extend_from_slice(string);
    }
    elements.resize(end, 0);
}

/// Why elements cannot be decoded.
pub(super) enum Undecodable {
    /// A code point does not exist.
    Code { element: usize, code: u32 },
    /// The memory for the strings cannot be allocated.
    Memory,
}

impl From<TryReserveError> for Undecodable {
    fn from(_: TryReserveError) -> Self {
        Self::Memory
    }
}

/// Appends the strings of elements in the machine's byte order.
pub(super) fn decode(elements: &[u8], dtype: &Dtype, strings: &mut Strings) -> Result<(), Undecodable> {
    for (element, bytes) in elements.chunks_exact(dtype.size().max(1)).enumerate() {
        if dtype.kind() == Kind::Unicode {
            let text = text_of_codes(bytes).map_err(|code| Undecodable::Code { element, code })?;
            strings.try_reserve(1, text.len())?;
            strings.push(&text);
        } else {
            let string = unpadded(bytes);
            strings.try_reserve(1, string.len())?;
            strings.push(string);
        }
    }
    Ok(())
}

/// The first characters of a string, for messages.
fn start_of(string: &[u8]) -> String {
    const SHOWN: usize = 20;
    let text = String::from_utf8_lossy(string.get(..string.len().min(4 * SHOWN)).unwrap_or_default());
    let mut start: String = text.chars().take(SHOWN).collect();
    if start.len() < string.len() {
        start.push_str("...");
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dtype(text: &str) -> Dtype {
        Dtype::parse(text).unwrap()
    }

    fn cut<'a>(string: &'a str, dtype_text: &str) -> &'a str {
        std::str::from_utf8(fitted(string.as_bytes(), &dtype(dtype_text), true).unwrap()).unwrap()
    }

    #[test]
    fn strings_that_do_not_fit_are_refused() {
        fitted(b"abcd", &dtype("|S4"), false).unwrap();
        fitted("äbcd".as_bytes(), &dtype("<U4"), false).unwrap();
        let error = fitted(b"abcde", &dtype("|S4"), false).unwrap_err();
        assert!(matches!(error, StringError::TooLong { len: 5, most: 4, .. }));
        let error = fitted("äbcde".as_bytes(), &dtype("<U4"), false).unwrap_err();
        assert!(matches!(error, StringError::TooLong { len: 5, most: 4, .. }));
        for text in ["|S4", "<U4"] {
            for string in [b"a\0b".as_slice(), b"a\0", b"\0"] {
                let error = fitted(string, &dtype(text), false).unwrap_err();
                assert!(matches!(error, StringError::Nul { .. }), "{text} {string:?}");
            }
        }
        fitted(b"a\0b", &Dtype::vlen_text(), false).unwrap();
        fitted(b"\xff", &Dtype::vlen_bytes(), false).unwrap();
        fitted(b"\xff", &dtype("|S4"), false).unwrap();
        for text in [Dtype::vlen_text(), dtype("<U4")] {
            assert!(matches!(fitted(b"a\xff", &text, true), Err(StringError::NotUtf8 { at: 1, .. })));
        }
    }

    #[test]
    fn strings_are_cut_between_characters() {
        assert_eq!(cut("abcde", "|S4"), "abcd");
        assert_eq!(cut("abcé", "|S4"), "abc");
        assert_eq!(cut("a\u{1f600}", "|S4"), "a");
        assert_eq!(cut("\u{1f600}", "|S3"), "");
        assert_eq!(cut("éa", "|S1"), "");
        assert_eq!(cut("ab\0c", "|S4"), "ab");
        assert_eq!(cut("éèêë", "<U3"), "éèê");
        assert_eq!(
            fitted(b"\x80\x80\x80\x80\x80\x80", &dtype("|S5"), true).unwrap(),
            b"\x80\x80\x80\x80\x80"
        );
    }

    #[test]
    fn a_message_shows_the_start_of_a_long_string() {
        assert_eq!(start_of(b"short"), "short");
        assert_eq!(start_of("é".repeat(50).as_bytes()), "é".repeat(20) + "...");
    }
}
