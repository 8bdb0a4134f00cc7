//! A checksum of four bytes before or after the data, for the codecs that store one.

#![forbid(unsafe_code)]

use std::fmt;

use ncz_codec::{CodecError, Coder, ConfigEnum, ErrorKind, Result};

/// The bytes of a checksum.
const LEN: usize = 4;

/// The location of the checksum. The numbers are those of the parameter word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ConfigEnum)]
pub enum Location {
    /// Before the data.
    #[default]
    Start = 0,
    /// After the data.
    End = 1,
}

/// A checksum of 32 bits.
pub trait Checksum: fmt::Debug + Copy + Send + Sync + 'static {
    /// Its name in messages.
    const NAME: &'static str;

    /// Returns the checksum of `data`, and copies them to `copy`, if there is one, which has the same length.
    fn sum(self, data: &[u8], copy: Option<&mut [u8]>) -> u32;

    /// Whether `stored` is the checksum of data whose checksum is `computed`.
    fn matches(stored: u32, computed: u32) -> bool {
        stored == computed
    }
}

/// Stores a checksum with the data, and checks it.
#[derive(Debug, Clone, Copy)]
pub struct ChecksumCoder<C> {
    checksum: C,
    location: Location,
}

impl<C: Checksum> ChecksumCoder<C> {
    /// A coder that stores `checksum` at `location`.
    pub const fn new(checksum: C, location: Location) -> Self {
        Self { checksum, location }
    }
}

impl<C: Checksum> Coder for ChecksumCoder<C> {
    type Scratch = ();

    const HAS_FIXED_LEN: bool = true;

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(LEN)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.max_encoded_len(input.len());
        let full = || CodecError::output_full(need);
        let output = need.and_then(|need| output.get_mut(..need)).ok_or_else(full)?;
        let (sum, data) = match self.location {
            Location::Start => output.split_first_chunk_mut::<LEN>(),
            Location::End => output.split_last_chunk_mut::<LEN>().map(|(data, sum)| (sum, data)),
        }
        .ok_or_else(full)?;
        *sum = self.checksum.sum(input, Some(data)).to_le_bytes();
        Ok(input.len() + LEN)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (stored, data) = self.split(input)?;
        let output = output.get_mut(..data.len()).ok_or_else(|| CodecError::output_full(Some(data.len())))?;
        compare::<C>(stored, self.checksum.sum(data, Some(output)))?;
        Ok(data.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        self.split(input).map(|(_, data)| Some(data.len()))
    }

    /// Sums the data up, which costs less than to read them.
    fn check<'a>(&self, input: &'a [u8], _len: Option<usize>) -> Result<Option<&'a [u8]>> {
        let (stored, data) = self.split(input)?;
        compare::<C>(stored, self.checksum.sum(data, None))?;
        Ok(Some(data))
    }
}

impl<C> ChecksumCoder<C> {
    /// The stored checksum and the data.
    fn split<'a>(&self, input: &'a [u8]) -> Result<(u32, &'a [u8])> {
        let (sum, data) = match self.location {
            Location::Start => input.split_first_chunk::<LEN>(),
            Location::End => input.split_last_chunk::<LEN>().map(|(data, sum)| (sum, data)),
        }
        .ok_or_else(|| {
            CodecError::truncated(format!("{} bytes cannot hold the checksum of 4 bytes", input.len()))
        })?;
        Ok((u32::from_le_bytes(*sum), data))
    }
}

fn compare<C: Checksum>(stored: u32, computed: u32) -> Result<()> {
    if C::matches(stored, computed) {
        return Ok(());
    }
    let text = format!("{} is {computed:#010x}, {stored:#010x} is stored", C::NAME);
    Err(CodecError::new(ErrorKind::Checksum, text))
}

/// Calls `add` with pieces of `size` bytes of `data`. If there is a `copy`, which has the same length, each piece is
/// copied to it first, and summed while it is in the cache.
pub fn copy_in_pieces(size: usize, data: &[u8], copy: Option<&mut [u8]>, mut add: impl FnMut(&[u8])) {
    let Some(copy) = copy else { return data.chunks(size).for_each(add) };
    for (source, target) in data.chunks(size).zip(copy.chunks_mut(size)) {
        target.copy_from_slice(source);
        add(target);
    }
}
