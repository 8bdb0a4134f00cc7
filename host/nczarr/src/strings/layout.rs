//! A chunk of strings of any length as `vlen-utf8` and `vlen-bytes` of numcodecs and of Zarr v3 lay it out:
//! their number, then the length and the bytes of each, all numbers little-endian and of 32 bits.

/// The most bytes that such a chunk may have, a little less than 2 GiB: all codecs take as much.
pub(crate) const MAX_CHUNK_BYTES: usize = (2 << 30) - (64 << 10);

const NUMBER: usize = 4;

/// Why bytes are no chunk of strings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutFault {
    /// They end before the strings do.
    #[error("the chunk of strings ends after {have} bytes, in string {string} of {strings}")]
    Truncated {
        /// Bytes of the decoded chunk.
        have: usize,
        /// The string that is cut, counted from 0.
        string: usize,
        /// How many there should be.
        strings: usize,
    },
    /// Another number of strings than elements of a chunk.
    #[error("the chunk holds {got} strings where the metadata ask for {want}")]
    Count {
        /// Elements of a chunk.
        want: usize,
        /// Strings that it says to hold.
        got: u64,
    },
    /// Something stands behind the last string.
    #[error("{len} bytes stand behind the last string of the chunk")]
    Trailing {
        /// How many bytes.
        len: usize,
    },
    /// A string of a type of text that is none.
    #[error("string {string} of the chunk is no UTF-8 from its byte {at} on")]
    NotUtf8 {
        /// The string, counted from 0.
        string: usize,
        /// Its first byte that is wrong.
        at: usize,
    },
}

/// Where the strings of a chunk begin, in the order of the chunk. Its memory is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    starts: Vec<u32>,
}

impl Layout {
    /// Checks the whole of a decoded chunk of `strings` elements.
    pub(super) fn parse(&mut self, chunk: &[u8], strings: usize, is_text: bool) -> Result<(), LayoutFault> {
        self.starts.clear();
        let have = chunk.len();
        let cut = |string: usize| LayoutFault::Truncated { have, string, strings };
        let count = number(chunk, 0).ok_or_else(|| cut(0))?;
        if count as usize != strings {
            return Err(LayoutFault::Count { want: strings, got: u64::from(count) });
        }
        // Each string takes a number at least, so the list of them is never longer than the chunk.
        if have / NUMBER <= strings {
            return Err(cut(have / NUMBER));
        }
        self.starts.reserve(strings);
        let mut at = NUMBER;
        for string in 0..strings {
            let len = number(chunk, at).ok_or_else(|| cut(string))? as usize;
            let start = at + NUMBER;
            let bytes = chunk.get(start..).and_then(|rest| rest.get(..len)).ok_or_else(|| cut(string))?;
            if is_text && let Err(error) = std::str::from_utf8(bytes) {
                return Err(LayoutFault::NotUtf8 { string, at: error.valid_up_to() });
            }
            self.starts.push(start as u32);
            at = start + len;
        }
        match have - at {
            0 => Ok(()),
            len => Err(LayoutFault::Trailing { len }),
        }
    }

    /// The string at this place of the chunk that was parsed.
    pub(super) fn string<'a>(&self, chunk: &'a [u8], at: usize) -> &'a [u8] {
        let Some(start) = self.starts.get(at).map(|&start| start as usize) else { return &[] };
        let len = number(chunk, start - NUMBER).unwrap_or(0) as usize;
        chunk.get(start..start + len).unwrap_or_default()
    }
}

/// Bytes that such strings take as a chunk; `None` for more than a chunk may have.
pub(super) fn chunk_len<'a>(mut strings: impl Iterator<Item = &'a [u8]>) -> Option<usize> {
    strings
        .try_fold(NUMBER, |sum, string| sum.checked_add(NUMBER)?.checked_add(string.len()))
        .filter(|&len| len <= MAX_CHUNK_BYTES)
}

/// Appends `count` strings as a chunk.
pub(super) fn write<'a>(chunk: &mut Vec<u8>, count: usize, strings: impl Iterator<Item = &'a [u8]>) {
    chunk.extend_from_slice(&(count as u32).to_le_bytes());
    for string in strings {
        chunk.extend_from_slice(&(string.len() as u32).to_le_bytes());
        chunk.extend_from_slice(string);
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<NUMBER>().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunk(strings: &[&[u8]]) -> Vec<u8> {
        let mut chunk = Vec::new();
        write(&mut chunk, strings.len(), strings.iter().copied());
        assert_eq!(chunk_len(strings.iter().copied()), Some(chunk.len()));
        chunk
    }

    fn parsed(chunk: &[u8], strings: usize, is_text: bool) -> Result<Vec<&[u8]>, LayoutFault> {
        let mut layout = Layout::default();
        layout.parse(chunk, strings, is_text)?;
        Ok((0..strings).map(|at| layout.string(chunk, at)).collect())
    }

    #[test]
    fn the_layout_is_that_of_numcodecs() {
        let bytes = b"\x03\0\0\0\x01\0\0\0a\0\0\0\0\x02\0\0\0\xc3\xa9";
        assert_eq!(chunk(&[b"a", b"", "é".as_bytes()]), bytes);
        assert_eq!(parsed(bytes, 3, true).unwrap(), [b"a".as_slice(), b"", "é".as_bytes()]);
    }

    #[test]
    fn what_is_no_chunk_is_named() {
        let whole = chunk(&[b"ab", b"c"]);
        for len in 0..whole.len() {
            assert!(matches!(parsed(&whole[..len], 2, true), Err(LayoutFault::Truncated { .. })), "{len}");
        }
        assert_eq!(parsed(&whole, 3, true), Err(LayoutFault::Count { want: 3, got: 2 }));
        let longer = [whole.as_slice(), b"x"].concat();
        assert_eq!(parsed(&longer, 2, true), Err(LayoutFault::Trailing { len: 1 }));
        let bytes = chunk(&[b"a", b"b\xff"]);
        assert_eq!(parsed(&bytes, 2, true), Err(LayoutFault::NotUtf8 { string: 1, at: 1 }));
        parsed(&bytes, 2, false).unwrap();
        let huge = [2u32.to_le_bytes(), u32::MAX.to_le_bytes(), 0u32.to_le_bytes()].concat();
        assert!(matches!(parsed(&huge, 2, true), Err(LayoutFault::Truncated { string: 0, .. })));
    }

    proptest! {
        #[test]
        fn strings_come_back_and_what_is_mutated_is_refused_or_laid_out_alike(
            strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let slices: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            let mut bytes = chunk(&slices);
            prop_assert_eq!(parsed(&bytes, strings.len(), false).unwrap(), slices);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = parsed(&bytes, strings.len(), false) {
                prop_assert_eq!(chunk(&read), bytes);
            }
        }
    }
}
