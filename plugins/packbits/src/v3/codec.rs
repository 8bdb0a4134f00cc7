use ncz_codec::{CodecError, Coder, Result, Size};

use super::Padding;
use super::bits::Bits;

/// Truth values of a packed byte.
const BITS: usize = 8;
/// The bits that are zero in a byte with a boolean.
const NOT_TRUTH: u64 = u64::from_ne_bytes([0xfe; BITS]);
/// Moves the lowest bits of eight bytes into the highest byte, the first in memory to its lowest bit. No two bits of
/// the product overlap, so there is no carry.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// Packs the bits that count of numbers, from the lowest of each byte up.
#[derive(Debug, Clone, Copy)]
pub struct PackBitsV3Coder {
    padding: Padding,
    bits: Bits,
    /// The number of elements of a chunk, which a stream does not always state.
    count: usize,
}

impl PackBitsV3Coder {
    pub(super) fn new(padding: Padding, bits: Bits, count: usize) -> Self {
        Self { padding, bits, count }
    }

    /// The expected length of a stream: if zarrs wrote it, the padding byte can be missing.
    pub(super) fn size(&self) -> Size {
        match (self.padding, self.bits.is_whole()) {
            (Padding::FirstByte | Padding::LastByte, true) => Size::AtMost(self.stored_len()),
            _ => Size::Exact(self.stored_len()),
        }
    }

    /// Returns the length of the stream of a chunk, as this codec writes it.
    fn stored_len(&self) -> usize {
        self.packed_len() + usize::from(self.padding != Padding::None)
    }

    fn chunk_len(&self) -> usize {
        self.count * self.bits.element()
    }

    fn numbers(&self) -> usize {
        self.count * self.bits.components
    }

    fn packed_len(&self) -> usize {
        (self.numbers() * self.bits.stored() as usize).div_ceil(BITS)
    }

    /// The bits that fill the last byte up.
    fn padding_bits(&self) -> u8 {
        (self.packed_len() * BITS - self.numbers() * self.bits.stored() as usize) as u8
    }

    /// Packs numbers; an error is the index of the first that decoding would not restore.
    fn pack(&self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        if self.bits.is_whole() {
            output.copy_from_slice(input);
            return None;
        }
        if self.bits.width == 1 {
            return pack_truth(input, output);
        }
        let stored = self.bits.stored();
        let (mut held, mut count) = (0_u128, 0);
        let mut bytes = output.iter_mut();
        for (place, number) in input.chunks(self.bits.size()).enumerate() {
            let number = read(number);
            let bits = self.bits.cut(number);
            if self.bits.restored(bits) != number {
                return Some(place);
            }
            held |= u128::from(bits) << count;
            count += stored;
            while count >= 8 {
                if let Some(byte) = bytes.next() {
                    *byte = held as u8;
                }
                held >>= 8;
                count -= 8;
            }
        }
        if let (Some(byte), true) = (bytes.next(), count > 0) {
            *byte = held as u8;
        }
        None
    }

    fn unpack(&self, packed: &[u8], output: &mut [u8]) -> Result<()> {
        if self.bits.is_whole() {
            output.copy_from_slice(packed);
            return Ok(());
        }
        let stored = self.bits.stored();
        let mask = u128::from(u64::MAX >> (64 - stored));
        let (mut held, mut count) = (0_u128, 0);
        let mut bytes = packed.iter();
        for number in output.chunks_mut(self.bits.size()) {
            while count < stored {
                held |= u128::from(bytes.next().copied().unwrap_or_default()) << count;
                count += 8;
            }
            let restored = self.bits.restored((held & mask) as u64).to_le_bytes();
            number.copy_from_slice(&restored[..number.len()]);
            held >>= stored;
            count -= stored;
        }
        if held != 0 {
            return Err(CodecError::corrupt("bits are set after the last number"));
        }
        Ok(())
    }

    /// Why a number is not packed.
    fn lost(&self, input: &[u8], place: usize) -> CodecError {
        let Bits { first, last, width, components, .. } = self.bits;
        let element = place / components;
        if width == 1 {
            return CodecError::values(format!(
                "element {element} is {}, which packing into a bit would lose; truth values are 0 and 1",
                input.get(place).copied().unwrap_or_default()
            ));
        }
        let size = self.bits.size();
        let number = input.get(place * size..(place + 1) * size).map_or(0, read);
        CodecError::values(format!(
            "element {element} has the bits {number:#x}, of which the bits {first} to {last} do not keep all; choose other values \
             of first_bit and last_bit, or round the numbers first"
        ))
    }
}

impl Coder for PackBitsV3Coder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // Only chunks are ever encoded; other lengths have no encoding, but the function must return a value.
        if len == self.chunk_len() { Some(self.stored_len()) } else { len.checked_add(1) }
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        if input.len() != self.chunk_len() {
            return Err(CodecError::size(
                self.chunk_len(),
                input.len(),
                "the chunk that packbits was configured for",
            ));
        }
        let len = self.stored_len();
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        let packed = match self.padding {
            Padding::None => &mut *output,
            Padding::FirstByte => {
                output[0] = self.padding_bits();
                &mut output[1..]
            }
            Padding::LastByte => {
                output[len - 1] = self.padding_bits();
                &mut output[..len - 1]
            }
        };
        match self.pack(input, packed) {
            None => Ok(len),
            Some(place) => Err(self.lost(input, place)),
        }
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let want = self.stored_len();
        // Numbers that are stored whole have no padding byte if zarrs wrote them.
        let bare = self.bits.is_whole() && input.len() == self.packed_len();
        match input.len() {
            len if len < want && !bare => {
                return Err(CodecError::truncated(format!("{len} of {want} bytes are present")));
            }
            len if len > want => return Err(CodecError::trailing(len - want)),
            _ => {}
        }
        let (padding, packed) = match self.padding {
            _ if bare => (None, input),
            Padding::None => (None, input),
            Padding::FirstByte => (input.first(), &input[1..]),
            Padding::LastByte => (input.last(), &input[..want - 1]),
        };
        if let Some(&found) = padding.filter(|&&found| found != self.padding_bits()) {
            let text = format!("{found} bits of padding, but {} bits pad the last byte", self.padding_bits());
            return Err(CodecError::corrupt(text));
        }
        let len = self.chunk_len();
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        self.unpack(packed, output)?;
        Ok(len)
    }

    fn decoded_len(&self, _input: &[u8]) -> Result<Option<usize>> {
        Ok(Some(self.chunk_len()))
    }
}

/// Packs booleans; an error is the index of the first byte that is not a boolean.
fn pack_truth(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let mut seen = 0;
    for (byte, values) in output.iter_mut().zip(input.chunks(BITS)) {
        let mut all = [0; BITS];
        all[..values.len()].copy_from_slice(values);
        let values = u64::from_le_bytes(all);
        seen |= values;
        *byte = (values.wrapping_mul(GATHER) >> 56) as u8;
    }
    if seen & NOT_TRUTH == 0 { None } else { input.iter().position(|value| *value > 1) }
}

/// A little-endian number of up to 8 bytes.
fn read(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
