use ncz_codec::{CodecError, Coder, ErrorKind, Result};

use crate::config::Location;

/// Bytes of the checksum.
const SUM: usize = 4;
/// What is copied and then summed while it is in the cache.
const BLOCK: usize = 16 << 10;

/// Puts the checksum before or behind the data, and checks it.
#[derive(Debug, Clone, Copy)]
pub struct Adler32Coder {
    location: Location,
}

impl Adler32Coder {
    pub(crate) fn new(location: Location) -> Self {
        Self { location }
    }
}

impl Coder for Adler32Coder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(SUM)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.max_encoded_len(input.len());
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        let (sum, data) = match self.location {
            Location::Start => output.split_first_chunk_mut::<SUM>(),
            Location::End => output.split_last_chunk_mut::<SUM>().map(|(data, sum)| (sum, data)),
        }
        .ok_or_else(|| CodecError::output_full(need))?;
        *sum = copy_and_sum(input, data).to_le_bytes();
        Ok(input.len() + SUM)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (sum, data) = match self.location {
            Location::Start => input.split_first_chunk::<SUM>(),
            Location::End => input.split_last_chunk::<SUM>().map(|(data, sum)| (sum, data)),
        }
        .ok_or_else(|| cut(input.len()))?;
        let output = output.get_mut(..data.len()).ok_or_else(|| CodecError::output_full(Some(data.len())))?;
        let (stored, computed) = (u32::from_le_bytes(*sum), copy_and_sum(data, output));
        if stored == computed {
            return Ok(data.len());
        }
        let text = format!("Adler-32 is {computed:#010x}, {stored:#010x} is stored");
        Err(CodecError::new(ErrorKind::Checksum, text))
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        input.len().checked_sub(SUM).map(Some).ok_or_else(|| cut(input.len()))
    }
}

fn cut(len: usize) -> CodecError {
    CodecError::truncated(format!("{len} bytes cannot hold the checksum of 4 bytes"))
}

/// Copies `from` to `to`, which are of one length, and sums what is still in the cache.
fn copy_and_sum(from: &[u8], to: &mut [u8]) -> u32 {
    let mut sum = simd_adler32::Adler32::new();
    for (source, target) in from.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
        target.copy_from_slice(source);
        sum.write(target);
    }
    sum.finish()
}
