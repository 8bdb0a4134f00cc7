//! Keys: the names of objects in a store, parsed once and never checked again.

use std::borrow::Borrow;
use std::fmt;

/// The name of an object: segments joined by `/`, borrowed from the caller's text.
///
/// Parsing reads the text once and takes no memory, so that chunk keys can be parsed in a hot
/// loop. A key is UTF-8 of at most [`Key::MAX_LEN`] bytes without control characters; no segment
/// is empty, `.`, `..`, longer than [`Key::MAX_SEGMENT`] bytes, or of the form `.…​.ncz-…`,
/// which stores keep for their own temporary names. It has no leading and no trailing slash.
///
/// Keys are compared byte by byte. Some file systems ignore case; such a
/// directory holds one object where a key differs in case only.
///
/// ```
/// use ncz_store::{Key, KeyError};
/// let key = Key::parse("group/variable/0.0")?;
/// assert_eq!(key.name(), "0.0");
/// assert!(matches!(Key::parse("a/../b"), Err(KeyError::DotSegment { .. })));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a>(&'a str);

impl<'a> Key<'a> {
    /// The longest key in bytes: what S3 can store.
    pub const MAX_LEN: usize = 1024;

    /// The longest segment in bytes: what a directory entry can hold.
    pub const MAX_SEGMENT: usize = 255;

    /// The journal of a program that changes the dataset. Stores reserve this name, so it is never listed. It is written
    /// and removed at once, also where other writes are [deferred](crate::Capabilities::deferred_writes).
    pub const JOURNAL: Key<'static> = Key(".ncz-journal");

    /// Parses a key.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] that says which rule the text breaks.
    pub fn parse(text: &'a str) -> Result<Self, KeyError> {
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        check(text)?;
        Ok(Self(text))
    }

    /// The text of the key.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The last segment.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.0.rsplit_once('/').map_or(self.0, |(_, name)| name)
    }

    /// Everything before the last segment.
    #[must_use]
    pub fn parent(self) -> Prefix<'a> {
        Prefix(self.0.rsplit_once('/').map_or("", |(parent, _)| parent))
    }

    /// The segments, first to last.
    pub fn segments(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.split('/')
    }

    /// The proper prefixes of the key that are not the root, shortest first: `a`, `a/b` of `a/b/c`.
    pub fn ancestors(self) -> impl DoubleEndedIterator<Item = Prefix<'a>> {
        self.0.match_indices('/').map(|(at, _)| Prefix(self.0.get(..at).unwrap_or_default()))
    }

    /// An owned copy.
    #[must_use]
    pub fn to_buf(self) -> KeyBuf {
        KeyBuf(self.0.to_owned())
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl AsRef<str> for Key<'_> {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl<'a> TryFrom<&'a str> for Key<'a> {
    type Error = KeyError;

    fn try_from(text: &'a str) -> Result<Self, KeyError> {
        Self::parse(text)
    }
}

/// An owned [`Key`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyBuf(String);

impl KeyBuf {
    /// Parses a key and keeps the text.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] that says which rule the text breaks.
    pub fn parse(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        Key::parse(&text)?;
        Ok(Self(text))
    }

    /// The key, borrowed.
    #[must_use]
    pub fn as_key(&self) -> Key<'_> {
        Key(&self.0)
    }

    /// The text of the key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Borrow<str> for KeyBuf {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<Key<'_>> for KeyBuf {
    fn from(key: Key<'_>) -> Self {
        key.to_buf()
    }
}

impl From<KeyBuf> for String {
    fn from(key: KeyBuf) -> Self {
        key.0
    }
}

/// What listed keys begin with: the leading segments of a key, or the root.
///
/// The rules are those of [`Key`], but it may be empty, which is the root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Prefix<'a>(&'a str);

impl<'a> Prefix<'a> {
    /// The root: every key of the store is below it.
    pub const ROOT: Prefix<'static> = Prefix("");

    /// Parses a prefix, without leading or trailing slash; the empty text is the root.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] that says which rule the text breaks.
    pub fn parse(text: &'a str) -> Result<Self, KeyError> {
        if !text.is_empty() {
            check(text)?;
        }
        Ok(Self(text))
    }

    /// The text of the prefix; empty for the root.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(self) -> bool {
        self.0.is_empty()
    }

    /// The key of `name` (one or more segments) below this prefix.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] where `name` or the whole breaks a rule of keys.
    pub fn join(self, name: &str) -> Result<KeyBuf, KeyError> {
        if self.is_root() {
            return KeyBuf::parse(name);
        }
        KeyBuf::parse(format!("{}/{name}", self.0))
    }

    /// Whether `key` lies below this prefix.
    #[must_use]
    pub fn contains(self, key: Key<'_>) -> bool {
        self.is_root() || key.as_str().strip_prefix(self.0).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl<'a> From<Key<'a>> for Prefix<'a> {
    fn from(key: Key<'a>) -> Self {
        Self(key.0)
    }
}

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is empty.
    #[error("a key is not empty")]
    Empty,
    /// The key or a segment of it is too long.
    #[error(
        "a key has at most {} bytes and its segments {}, not so {key:?}…",
        Key::MAX_LEN,
        Key::MAX_SEGMENT
    )]
    TooLong {
        /// The beginning of the key.
        key: String,
    },
    /// A segment is empty: a leading, trailing or double slash.
    #[error("key {key:?} has an empty segment: remove the leading, trailing or double slash")]
    EmptySegment {
        /// The key.
        key: String,
    },
    /// A key of netcdf-c does not begin with a slash.
    #[error("key {key:?} does not begin with a slash, as the keys of netcdf-c do")]
    Relative {
        /// The key.
        key: String,
    },
    /// A segment is `.` or `..`.
    #[error("key {key:?} has a segment \".\" or \"..\", which would leave the dataset")]
    DotSegment {
        /// The key.
        key: String,
    },
    /// The key holds a control character.
    #[error("key {key:?} has a control character at byte {at}")]
    Control {
        /// The key.
        key: String,
        /// Where in it, in bytes.
        at: usize,
    },
    /// A segment has the form of the names that stores keep for themselves.
    #[error("key {key:?} has a segment of the form \".….ncz-…\", which is kept for temporary names")]
    Reserved {
        /// The key.
        key: String,
    },
}

/// Whether a segment has the form of the stores' own temporary names.
pub(crate) fn is_reserved(segment: &str) -> bool {
    segment.starts_with('.') && segment.contains(".ncz-")
}

/// The rules of keys, for a text that is not empty.
fn check(text: &str) -> Result<(), KeyError> {
    if text.len() > Key::MAX_LEN {
        return Err(too_long(text));
    }
    let bytes = text.as_bytes();
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'/' => {
                check_segment(text, text.get(start..at).unwrap_or_default())?;
                start = at + 1;
            }
            // C0, DEL, and C1 (0xC2 0x80 to 0xC2 0x9F in UTF-8)
            0..=0x1f | 0x7f => return Err(KeyError::Control { key: text.to_owned(), at }),
            0xc2 if bytes.get(at + 1).is_some_and(|next| (0x80..=0x9f).contains(next)) => {
                return Err(KeyError::Control { key: text.to_owned(), at });
            }
            _ => {}
        }
    }
    check_segment(text, text.get(start..).unwrap_or_default())
}

fn check_segment(text: &str, segment: &str) -> Result<(), KeyError> {
    let Some(first) = segment.as_bytes().first() else {
        return Err(KeyError::EmptySegment { key: text.to_owned() });
    };
    if segment.len() > Key::MAX_SEGMENT {
        return Err(too_long(text));
    }
    if *first == b'.' {
        if segment == "." || segment == ".." {
            return Err(KeyError::DotSegment { key: text.to_owned() });
        }
        if is_reserved(segment) {
            return Err(KeyError::Reserved { key: text.to_owned() });
        }
    }
    Ok(())
}

fn too_long(text: &str) -> KeyError {
    KeyError::TooLong { key: text.chars().take(60).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_of_datasets_are_keys() {
        for text in [".zgroup", "a/.zarray", "t/0.0.0", "c/0/1", "Größe/0", "..a", "a..b", "x.ncz-1", "a\\b"]
        {
            assert_eq!(Key::parse(text).map(Key::as_str), Ok(text));
        }
    }

    #[test]
    fn what_could_leave_the_dataset_or_hide_in_it_is_no_key() {
        let long = "a".repeat(256);
        let longer = "ab/".repeat(400);
        for text in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/..",
            "../a",
            "a/./b",
            "a\0b",
            "a\nb",
            "a\u{7f}",
            "a\u{85}b",
            ".ncz-0123456789abcdef",
            "a/.x.ncz-1",
            ".ncz-writer",
            &long,
            &longer,
        ] {
            assert!(Key::parse(text).is_err(), "{text:?}");
        }
        assert!(matches!(Key::parse("a\u{9f}"), Err(KeyError::Control { at: 1, .. })));
    }

    #[test]
    fn a_prefix_contains_what_is_below_it_and_not_its_namesakes() {
        let prefix = Prefix::parse("a/b").unwrap();
        assert!(prefix.contains(Key::parse("a/b/c").unwrap()));
        assert!(!prefix.contains(Key::parse("a/bc").unwrap()));
        assert!(!prefix.contains(Key::parse("a/b").unwrap()));
        assert_eq!(prefix.join("c/0").unwrap().as_str(), "a/b/c/0");
        assert!(prefix.join("../x").is_err());
    }

    proptest! {
        #[test]
        fn parsing_agrees_with_the_rules_spelled_out(text in "[a./é\u{80}-\u{a0}\n-]{0,12}|(\\.|\\.\\.|a|\\.x|\\.ncz-a|/){0,6}") {
            let reference = !text.is_empty()
                && !text.chars().any(char::is_control)
                && text.split('/').all(|s| !s.is_empty() && s != "." && s != ".." && !is_reserved(s));
            prop_assert_eq!(Key::parse(&text).is_ok(), reference);
        }

        #[test]
        fn ancestors_and_segments_spell_the_key(segments in prop::collection::vec("[a-z]{1,3}", 1..6)) {
            let text = segments.join("/");
            let key = Key::parse(&text).unwrap();
            prop_assert_eq!(key.segments().collect::<Vec<_>>(), segments.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert_eq!(key.ancestors().count(), segments.len() - 1);
            prop_assert!(key.ancestors().all(|a| a.contains(key)));
            prop_assert_eq!(key.parent().join(key.name()).unwrap(), key.to_buf());
        }
    }
}
