//! The layout of a chunk of strings of any length in `vlen-utf8` and `vlen-bytes` of numcodecs and Zarr v3: the number
//! of strings, then the length and the bytes of each. All numbers are little-endian and have 32 bits.

use crate::data_error::LayoutError;

/// The most bytes that such a chunk may have, a little less than 2 GiB: all codecs accept this length.
pub const MAX_CHUNK_BYTES: usize = (2 << 30) - (64 << 10);

const NUMBER: usize = 4;

/// The starts of the strings of a chunk, in the order of the chunk. Its memory is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    starts: Vec<u32>,
}

impl Layout {
    /// Checks the whole of a decoded chunk of `strings` elements.
    pub(super) fn parse(&mut self, chunk: &[u8], strings: usize, is_text: bool) -> Result<(), LayoutError> {
        self.starts.clear();
        let have = chunk.len();
        let cut = |string: usize| LayoutError::Truncated { have, string, strings };
        let count = number(chunk, 0).ok_or_else(|| cut(0))?;
        if count as usize != strings {
            return Err(LayoutError::Count { want: strings, got: u64::from(count) });
        }
        // Each string takes at least its length number, so the list is never longer than the chunk.
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
                return Err(LayoutError::NotUtf8 { string, at: error.valid_up_to() });
            }
            self.starts.push(start as u32);
            at = start + len;
        }
        match have - at {
            0 => Ok(()),
            len => Err(LayoutError::Trailing { len }),
        }
    }

    /// The string at this position of the parsed chunk.
    pub(super) fn string<'a>(&self, chunk: &'a [u8], at: usize) -> &'a [u8] {
        let Some(start) = self.starts.get(at).map(|&start| start as usize) else { return &[] };
        let len = number(chunk, start - NUMBER).unwrap_or(0) as usize;
        chunk.get(start..start + len).unwrap_or_default()
    }
}

/// The bytes of these strings as a chunk; `None` if they are more than a chunk may have.
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

    fn parsed(chunk: &[u8], strings: usize, is_text: bool) -> Result<Vec<&[u8]>, LayoutError> {
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
    fn errors_name_what_is_wrong_with_a_chunk() {
        let whole = chunk(&[b"ab", b"c"]);
        for len in 0..whole.len() {
            assert!(matches!(parsed(&whole[..len], 2, true), Err(LayoutError::Truncated { .. })), "{len}");
        }
        assert_eq!(parsed(&whole, 3, true), Err(LayoutError::Count { want: 3, got: 2 }));
        let longer = [whole.as_slice(), b"x"].concat();
        assert_eq!(parsed(&longer, 2, true), Err(LayoutError::Trailing { len: 1 }));
        let bytes = chunk(&[b"a", b"b\xff"]);
        assert_eq!(parsed(&bytes, 2, true), Err(LayoutError::NotUtf8 { string: 1, at: 1 }));
        parsed(&bytes, 2, false).unwrap();
        let huge = [2u32.to_le_bytes(), u32::MAX.to_le_bytes(), 0u32.to_le_bytes()].concat();
        assert!(matches!(parsed(&huge, 2, true), Err(LayoutError::Truncated { string: 0, .. })));
    }

    proptest! {
        #[test]
        fn strings_read_back_and_mutated_chunks_are_refused_or_have_the_same_layout(
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
