//! Which bytes of an object an answer holds.

use std::ops::Range;

/// The header `Content-Range`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// The bytes, at least one; `None` in an answer that has none of them.
    pub(crate) bytes: Option<Range<u64>>,
    /// The length of the whole object, if it is given.
    pub(crate) total: Option<u64>,
}

impl ContentRange {
    /// `bytes 0-9/100`, `bytes 0-9/*`, `bytes */100`; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (unit, value) = text.trim().split_once(' ')?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (bytes, total) = value.trim().split_once('/')?;
        let total = match total {
            "*" => None,
            digits => Some(number(digits)?),
        };
        let bytes = match bytes {
            "*" => None,
            bytes => {
                let (first, last) = bytes.split_once('-')?;
                Some(number(first)?..number(last)?.checked_add(1)?)
            }
        };
        let sound = bytes
            .as_ref()
            .is_none_or(|bytes| bytes.start < bytes.end && total.is_none_or(|total| bytes.end <= total));
        sound.then_some(Self { bytes, total })
    }
}

/// Digits only: no sign, no blanks.
pub(crate) fn number(text: &str) -> Option<u64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_or_refused() {
        let parse = |text: &str| ContentRange::parse(text).map(|range| (range.bytes, range.total));
        assert_eq!(parse("bytes 0-9/100"), Some((Some(0..10), Some(100))));
        assert_eq!(parse("Bytes 5-5/*"), Some((Some(5..6), None)));
        assert_eq!(parse("bytes */7"), Some((None, Some(7))));
        for bad in [
            "",
            "bytes 9-0/100",
            "bytes 0-100/100",
            "bytes 0-9",
            "bytes 0-/10",
            "bytes a-b/c",
            "0-9/100",
            "items 0-9/100",
            "bytes +0-9/100",
            "bytes -9/100",
            "bytes 0-9/99999999999999999999",
            "bytes 0-18446744073709551615/*",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
