//! Numbers of any width after each other, most significant bit first: the part that the codecs nbit and scaleoffset
//! have in common.
//!
//! ```
//! let mut bytes = [0; 2];
//! let mut writer = ncz_packed_bits::Writer::new(&mut bytes);
//! writer.put(0b101, 3).and_then(|()| writer.put(0x3ff, 10)).unwrap();
//! assert_eq!(writer.finish(), Some(2));
//! assert_eq!(bytes, [0b1011_1111, 0b1111_1000]);
//! let mut reader = ncz_packed_bits::Reader::new(&bytes);
//! assert_eq!((reader.take(3), reader.take(10), reader.take(4)), (Some(0b101), Some(0x3ff), None));
//! ```

#![forbid(unsafe_code)]

/// Bits of what is read and written at a time.
const WORD: u32 = 64;

/// Writes numbers.
#[derive(Debug)]
pub struct Writer<'a> {
    output: &'a mut [u8],
    at: usize,
    /// The last `count` bits are still to be written; the bits above them have no meaning.
    pending: u64,
    /// At most 63.
    count: u32,
}

impl<'a> Writer<'a> {
    /// Starts at the first bit of `output`.
    pub fn new(output: &'a mut [u8]) -> Self {
        Self { output, at: 0, pending: 0, count: 0 }
    }

    /// Writes the lower `width` bits of `value`, 0 to 64; `None` if the output is full.
    #[inline]
    pub fn put(&mut self, value: u64, width: u32) -> Option<()> {
        let room = WORD - self.count;
        if width < room {
            self.pending = (self.pending << width) | (value & mask(width));
            self.count += width;
            return Some(());
        }
        let rest = width - room;
        let value = value & mask(width);
        let word = shifted(self.pending, room) | (value >> rest);
        self.output.get_mut(self.at..self.at + 8)?.copy_from_slice(&word.to_be_bytes());
        self.at += 8;
        self.pending = value & mask(rest);
        self.count = rest;
        Some(())
    }

    /// Fills the last byte up with zeros and returns how many bytes were written; `None` if the output is full.
    pub fn finish(self) -> Option<usize> {
        let bytes = self.count.div_ceil(8) as usize;
        let word = shifted(self.pending, WORD - self.count).to_be_bytes();
        self.output.get_mut(self.at..self.at + bytes)?.copy_from_slice(&word[..bytes]);
        Some(self.at + bytes)
    }
}

/// Reads numbers.
#[derive(Debug)]
pub struct Reader<'a> {
    input: &'a [u8],
    /// The last `count` bits are still to be read; the bits above them have no meaning.
    pending: u64,
    count: u32,
}

impl<'a> Reader<'a> {
    /// Starts at the first bit of `input`.
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, pending: 0, count: 0 }
    }

    /// Reads `width` bits, 0 to 64; `None` if there are fewer.
    #[inline]
    pub fn take(&mut self, width: u32) -> Option<u64> {
        if width <= self.count {
            self.count -= width;
            return Some((self.pending >> self.count) & mask(width));
        }
        let rest = width - self.count;
        let upper = self.pending & mask(self.count);
        let (word, bits) = match self.input.split_first_chunk::<8>() {
            Some((word, input)) => {
                self.input = input;
                (u64::from_be_bytes(*word), WORD)
            }
            None => {
                let mut word = 0;
                for &byte in self.input {
                    word = word << 8 | u64::from(byte);
                }
                let bits = 8 * self.input.len() as u32;
                self.input = &[];
                (word, bits)
            }
        };
        self.pending = word;
        self.count = bits.checked_sub(rest)?;
        Some(shifted(upper, rest) | (shifted_down(word, self.count) & mask(rest)))
    }
}

/// The lower `width` bits set.
fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(WORD - width).unwrap_or(0)
}

fn shifted(value: u64, by: u32) -> u64 {
    value.checked_shl(by).unwrap_or(0)
}

fn shifted_down(value: u64, by: u32) -> u64 {
    value.checked_shr(by).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_of_all_widths_come_back_and_are_the_bits_in_order(
            numbers in proptest::collection::vec((any::<u64>(), 0..=64_u32), 0..60),
        ) {
            let bits: String = numbers.iter().map(|&(value, width)| {
                let digits = format!("{value:064b}");
                digits[64 - width as usize..].to_owned()
            }).collect();
            let bytes: Vec<u8> = bits.as_bytes().chunks(8).map(|byte| {
                let byte = std::str::from_utf8(byte).unwrap();
                u8::from_str_radix(&format!("{byte:0<8}"), 2).unwrap()
            }).collect();
            let mut output = vec![0xa5; bytes.len()];
            let mut writer = Writer::new(&mut output);
            for &(value, width) in &numbers {
                prop_assert_eq!(writer.put(value, width), Some(()));
            }
            prop_assert_eq!(writer.finish(), Some(bytes.len()));
            prop_assert_eq!(&output, &bytes);
            let mut reader = Reader::new(&bytes);
            for &(value, width) in &numbers {
                prop_assert_eq!(reader.take(width), Some(value & mask(width)));
            }
            prop_assert_eq!(reader.take(8), None);
        }

        #[test]
        fn what_does_not_fit_is_refused(width in 1..=64_u32, numbers in 1..40_u32) {
            let mut output = vec![0; (width * numbers).div_ceil(8) as usize - 1];
            let mut writer = Writer::new(&mut output);
            let all = (0..numbers).try_for_each(|_| writer.put(u64::MAX, width));
            prop_assert!(all.is_none() || writer.finish().is_none());
            let mut reader = Reader::new(&output);
            prop_assert!((0..numbers).try_for_each(|_| reader.take(width).map(drop)).is_none());
        }
    }
}
