//! Variables whose elements are strings, of fixed or any length.

mod array;
mod chunks;
mod fixed;
mod layout;

pub use self::array::StringArray;
pub use self::chunks::StringChunks;
pub use self::layout::MAX_CHUNK_BYTES;

use std::collections::TryReserveError;

use crate::data_error::{DataError, LayoutError};
use crate::value::Value;

/// A row of strings in one buffer.
///
/// A string is the bytes of an element without the NUL padding of `S` and `U`. It is UTF-8 if the dtype is a text type
/// (`U`, `vlen-utf8`, version 3's `string`). `S` and `vlen-bytes` hold any bytes.
///
/// ```
/// use ncz_model::Strings;
///
/// let strings: Strings = ["one", "", "three"].into_iter().collect();
/// assert_eq!(strings.len(), 3);
/// assert_eq!(strings.get(2), Some(&b"three"[..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    /// The end of each string, which is also the start of the next.
    ends: Vec<usize>,
}

impl Strings {
    /// Makes an empty row.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a chunk of `count` strings in the layout of `vlen-utf8` and `vlen-bytes`.
    ///
    /// # Errors
    /// The chunk does not have that layout, or not this number of strings.
    pub fn from_chunk(chunk: &[u8], count: usize) -> Result<Self, LayoutError> {
        let mut layout = layout::Layout::default();
        layout.parse(chunk, count, false)?;
        Ok((0..count).map(|at| layout.string(chunk, at)).collect())
    }

    /// The number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at this position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    /// The strings in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at).unwrap_or_default())
    }

    /// The total bytes of all strings.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a string.
    pub fn push(&mut self, string: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(string.as_ref());
        self.ends.push(self.bytes.len());
    }

    /// Removes all strings and keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Reserves memory for `strings` more strings of `bytes` bytes in total.
    pub(crate) fn try_reserve(&mut self, strings: usize, bytes: usize) -> Result<(), TryReserveError> {
        self.ends.try_reserve(strings)?;
        self.bytes.try_reserve(bytes)
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Strings {
    fn from_iter<I: IntoIterator<Item = T>>(strings: I) -> Self {
        let mut row = Self::new();
        row.extend(strings);
        row
    }
}

impl<T: AsRef<[u8]>> Extend<T> for Strings {
    fn extend<I: IntoIterator<Item = T>>(&mut self, strings: I) {
        strings.into_iter().for_each(|string| self.push(string));
    }
}

impl From<&Strings> for Value {
    fn from(strings: &Strings) -> Self {
        Self::String(strings.iter().map(<[u8]>::to_vec).collect())
    }
}

fn no_memory(path: &str, len: usize) -> DataError {
    DataError::Unsupported {
        variable: path.to_owned(),
        reason: format!("no memory for {len} strings or bytes of it; ask for less at once"),
    }
}
