use ncz_codec::{CodecError, Coder, ErrorKind, Result};

use crate::sum::Sum;

/// Bytes of the checksum.
const TRAILER: usize = 4;

/// Puts the checksum behind the data, and checks it.
#[derive(Debug, Clone, Copy)]
pub struct Fletcher32Coder;

impl Coder for Fletcher32Coder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(TRAILER)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.max_encoded_len(input.len());
        let (data, trailer) = output
            .split_at_mut_checked(input.len())
            .and_then(|(data, rest)| Some((data, rest.first_chunk_mut::<TRAILER>()?)))
            .ok_or_else(|| CodecError::output_full(need))?;
        *trailer = copy_and_sum(input, data).to_le_bytes();
        Ok(input.len() + TRAILER)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let Some((data, trailer)) = input.split_last_chunk::<TRAILER>() else {
            return Err(CodecError::truncated(format!(
                "{} bytes cannot hold the checksum of 4 bytes",
                input.len()
            )));
        };
        let output = output.get_mut(..data.len()).ok_or_else(|| CodecError::output_full(Some(data.len())))?;
        let stored = u32::from_le_bytes(*trailer);
        let computed = copy_and_sum(data, output);
        if stored == computed || stored == swap_halves(computed) {
            return Ok(data.len());
        }
        Err(CodecError::new(
            ErrorKind::Checksum,
            format!("Fletcher-32 is {computed:#010x}, {stored:#010x} is stored"),
        ))
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        match input.len().checked_sub(TRAILER) {
            Some(len) => Ok(Some(len)),
            None => Err(CodecError::truncated("the checksum is cut")),
        }
    }
}

/// Copies `from` to `to`, which are of one length, and sums what is still in the cache.
fn copy_and_sum(from: &[u8], to: &mut [u8]) -> u32 {
    let mut sum = Sum::default();
    let mut targets = to.chunks_mut(Sum::BLOCK);
    for source in from.chunks(Sum::BLOCK) {
        if let Some(target) = targets.next() {
            target.copy_from_slice(source);
            sum.add(target);
        }
    }
    sum.finish()
}

/// The sum as HDF5 before 1.6.3 stored it on little-endian machines: the two bytes of each half swapped.
fn swap_halves(sum: u32) -> u32 {
    ((sum & 0x00ff_00ff) << 8) | ((sum >> 8) & 0x00ff_00ff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_swapped_each_for_itself() {
        assert_eq!(swap_halves(0x0102_0304), 0x0201_0403);
    }
}
