//! Chunks whose objects have one key each, as in Zarr.

use std::fmt::Write;

use crate::chunk_index::{ChunkIndex, ChunkLocation};
use crate::data_error::ChunkError;
use crate::hierarchy::{KeyEncoding, Separator, Variable};

/// The chunk index of Zarr: the coordinates of an object give its key.
#[derive(Clone, Debug)]
pub struct ObjectKeys {
    /// Without a trailing slash; empty for an array at the root.
    prefix: String,
    encoding: KeyEncoding,
    separator: Separator,
    rank: usize,
}

impl ObjectKeys {
    /// Returns the keys of a variable of Zarr.
    #[must_use]
    pub fn new(variable: &Variable) -> Self {
        Self {
            prefix: variable.key.clone(),
            encoding: variable.key_encoding,
            separator: variable.separator,
            rank: variable.shape.len(),
        }
    }

    /// Writes the key of the object at `index`, such as `path/0.1` or `path/c/0/1`.
    pub(crate) fn write(&self, key: &mut String, index: &[u64]) {
        key.clear();
        if !self.prefix.is_empty() {
            key.push_str(&self.prefix);
            key.push('/');
        }
        match self.encoding {
            KeyEncoding::Default => key.push('c'),
            KeyEncoding::V2 if index.is_empty() => key.push('0'),
            KeyEncoding::V2 => {}
        }
        for (dimension, number) in index.iter().enumerate() {
            if dimension > 0 || self.encoding == KeyEncoding::Default {
                key.push(self.separator.as_char());
            }
            // Writing to a String cannot fail.
            let _ = write!(key, "{number}");
        }
    }

    /// Parses the index in a key; only the spelling of [`write`](Self::write) is accepted.
    fn parse(&self, key: &str, rank: usize) -> Option<Vec<u64>> {
        let name = match self.prefix.as_str() {
            "" => key,
            prefix => key.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        let numbers = match self.encoding {
            KeyEncoding::V2 if rank == 0 => return (name == "0").then(Vec::new),
            KeyEncoding::V2 => name,
            KeyEncoding::Default if rank == 0 => return (name == "c").then(Vec::new),
            KeyEncoding::Default => name.strip_prefix('c')?.strip_prefix(self.separator.as_char())?,
        };
        let index: Vec<u64> = numbers.split(self.separator.as_char()).map(number).collect::<Option<_>>()?;
        (index.len() == rank).then_some(index)
    }
}

impl ChunkIndex for ObjectKeys {
    fn locate(&self, object: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        self.write(location.whole_object(), object);
        Ok(())
    }

    fn object_index(&self, key: &str) -> Option<Vec<u64>> {
        self.parse(key, self.rank)
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// Parses a number without a sign or leading zeros.
fn number(text: &str) -> Option<u64> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_both_encodings_are_written_and_read_back() {
        for (encoding, separator, scalar, matrix) in [
            (KeyEncoding::V2, Separator::Dot, "a/v/0", "a/v/10.0"),
            (KeyEncoding::V2, Separator::Slash, "a/v/0", "a/v/10/0"),
            (KeyEncoding::Default, Separator::Slash, "a/v/c", "a/v/c/10/0"),
            (KeyEncoding::Default, Separator::Dot, "a/v/c", "a/v/c.10.0"),
        ] {
            for (index, want) in [(&[][..], scalar), (&[10, 0], matrix)] {
                let keys = ObjectKeys { prefix: "a/v".to_owned(), encoding, separator, rank: index.len() };
                let mut key = "old".to_owned();
                keys.write(&mut key, index);
                assert_eq!(key, want);
                assert_eq!(keys.parse(&key, index.len()).as_deref(), Some(index));
                assert_eq!(keys.parse(&key, 3), None);
                let root = ObjectKeys { prefix: String::new(), ..keys };
                root.write(&mut key, index);
                assert_eq!(key, want.trim_start_matches("a/v/"));
                assert_eq!(root.parse(&key, index.len()).as_deref(), Some(index));
            }
        }
    }

    #[test]
    fn a_number_in_any_other_spelling_is_not_an_index() {
        let keys = ObjectKeys {
            prefix: String::new(),
            encoding: KeyEncoding::Default,
            separator: Separator::Slash,
            rank: 1,
        };
        for key in ["c/01", "c/+1", "c/-1", "c/", "c", "c/1/", "c/1.0", "c1", "1", "c/18446744073709551616"] {
            assert_eq!(keys.parse(key, 1), None, "{key}");
        }
        assert_eq!(keys.parse("c/18446744073709551615", 1), Some(vec![u64::MAX]));
    }
}
