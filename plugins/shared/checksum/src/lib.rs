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

    /// Copies `data` to `copy`, which has the same length, and returns the checksum.
    fn copy_and_sum(self, data: &[u8], copy: &mut [u8]) -> u32;

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
        *sum = self.checksum.copy_and_sum(input, data).to_le_bytes();
        Ok(input.len() + LEN)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (sum, data) = match self.location {
            Location::Start => input.split_first_chunk::<LEN>(),
            Location::End => input.split_last_chunk::<LEN>().map(|(data, sum)| (sum, data)),
        }
        .ok_or_else(|| truncated(input.len()))?;
        let output = output.get_mut(..data.len()).ok_or_else(|| CodecError::output_full(Some(data.len())))?;
        let (stored, computed) = (u32::from_le_bytes(*sum), self.checksum.copy_and_sum(data, output));
        if C::matches(stored, computed) {
            return Ok(data.len());
        }
        let text = format!("{} is {computed:#010x}, {stored:#010x} is stored", C::NAME);
        Err(CodecError::new(ErrorKind::Checksum, text))
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        input.len().checked_sub(LEN).map(Some).ok_or_else(|| truncated(input.len()))
    }
}

/// Copies `data` to `copy`, which has the same length, in pieces of `size` bytes, and calls `add` with each piece while
/// it is in the cache.
pub fn copy_in_pieces(size: usize, data: &[u8], copy: &mut [u8], mut add: impl FnMut(&[u8])) {
    for (source, target) in data.chunks(size).zip(copy.chunks_mut(size)) {
        target.copy_from_slice(source);
        add(target);
    }
}

fn truncated(len: usize) -> CodecError {
    CodecError::truncated(format!("{len} bytes cannot hold the checksum of 4 bytes"))
}
