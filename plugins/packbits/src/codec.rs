use ncz_codec::{CodecError, Coder, Result};

/// Truth values of a packed byte.
const BITS: usize = 8;
/// The bits that are zero in a byte with a boolean.
const NOT_TRUTH: u64 = u64::from_ne_bytes([0xfe; BITS]);
/// Moves the lowest bits of eight bytes, the first in memory first, into the highest byte: bit 8 n of the factor to bit
/// 63 - n of the product. No two of its bits overlap, so there is no carry.
const GATHER: u64 = 0x8040_2010_0804_0201;

/// Packs truth values into bits, the first into the highest, after a byte that counts the bits that were added.
#[derive(Debug, Clone, Copy)]
pub struct PackBitsCoder;

impl Coder for PackBitsCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(1 + len.div_ceil(BITS))
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.max_encoded_len(input.len());
        let (padding, packed) = need
            .and_then(|need| output.get_mut(..need)?.split_first_mut())
            .ok_or_else(|| CodecError::output_full(need))?;
        *padding = (packed.len() * BITS - input.len()) as u8;
        let (whole, rest) = input.as_chunks::<BITS>();
        let mut seen = 0;
        for (byte, values) in packed.iter_mut().zip(whole) {
            seen |= u64::from_le_bytes(*values);
            *byte = pack(*values);
        }
        if let (Some(byte), false) = (packed.last_mut(), rest.is_empty()) {
            let mut values = [0; BITS];
            values[..rest.len()].copy_from_slice(rest);
            seen |= u64::from_le_bytes(values);
            *byte = pack(values);
        }
        if seen & NOT_TRUTH != 0 {
            let other = input.iter().enumerate().find(|(_, value)| **value > 1);
            let (at, value) = other.map_or((0, 0), |(at, value)| (at, *value));
            let text = format!(
                "element {at} is {value}, which packing into a bit would lose; truth values are 0 and 1"
            );
            return Err(CodecError::values(text));
        }
        Ok(1 + packed.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let len = count(input)?;
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        let packed = &input[1..];
        let (whole, rest) = output.as_chunks_mut::<BITS>();
        for (values, byte) in whole.iter_mut().zip(packed) {
            *values = unpack(*byte);
        }
        if let (Some(byte), false) = (packed.last(), rest.is_empty()) {
            let (values, padding) = (unpack(*byte), rest.len());
            if values[padding..].contains(&1) {
                return Err(CodecError::corrupt("bits are set after the last value"));
            }
            rest.copy_from_slice(&values[..padding]);
        }
        Ok(len)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        count(input).map(Some)
    }
}

/// Returns the number of booleans in a stream, from its first byte and its length.
fn count(stream: &[u8]) -> Result<usize> {
    let (&padding, packed) = stream
        .split_first()
        .ok_or_else(|| CodecError::truncated("the byte with the padding count is missing"))?;
    let padding = usize::from(padding);
    if padding >= BITS {
        return Err(CodecError::corrupt(format!("expected at most 7 bits of padding, got {padding}")));
    }
    let bits = packed.len().checked_mul(BITS).and_then(|bits| bits.checked_sub(padding));
    bits.ok_or_else(|| CodecError::truncated(format!("{padding} bits of padding in no byte")))
}

/// The lowest bits of eight bytes, the first as the highest.
fn pack(values: [u8; BITS]) -> u8 {
    (u64::from_le_bytes(values).wrapping_mul(GATHER) >> 56) as u8
}

/// Eight copies of a byte, each with another bit kept, the first with the highest; adding 127 moves any set bit to
/// the highest position, from where it is shifted to the lowest.
fn unpack(byte: u8) -> [u8; BITS] {
    const ONES: u64 = u64::from_ne_bytes([1; BITS]);
    let kept = (u64::from(byte) * ONES) & GATHER.swap_bytes();
    ((kept + 127 * ONES) >> 7 & ONES).to_le_bytes()
}
