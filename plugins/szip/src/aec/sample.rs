//! The three widths in which samples are kept, and the loops over them that must be fast.
//!
//! Eight (four) samples of 8 (16) bits are handled as lanes of one `u64`.

use super::bits::{BitReader, BitWriter};
use crate::error::SzError;

/// A sample as it is stored: 1, 2 or 4 bytes.
pub(super) trait Sample: Copy + Default + Into<u32> + Into<u64> {
    /// Returns its low bits; the caller ensures that the others are zero.
    fn cut(value: u32) -> Self;

    /// Fills `samples` from their bytes.
    fn load(samples: &mut [Self], bytes: &[u8], big_endian: bool);

    /// The reverse of `load`.
    fn store(samples: &[Self], bytes: &mut [u8], big_endian: bool);

    /// The bitwise or of all samples: in range if and only if each is, as the limit is 2^n - 1.
    fn union(samples: &[Self]) -> u32;

    /// Replaces each sample but the first by the mapped difference to its predecessor, and
    /// the first by zero: the unit-delay predictor with its mapper.
    fn map(samples: &[Self], mapped: &mut [Self], max: u32);

    /// The sum of all `sample >> k`.
    fn sum_shifted(block: &[Self], k: u32) -> u64;

    /// Writes the `k` low bits of each sample.
    fn put_low(block: &[Self], k: u32, out: &mut BitWriter<'_>);

    /// Ors `k` bits for each sample into it.
    fn take_low(block: &mut [Self], k: u32, input: &mut BitReader<'_>) -> Result<(), SzError>;
}

macro_rules! bytes_and_predictor {
    ($width:ty) => {
        #[inline(always)]
        fn cut(value: u32) -> Self {
            value as $width
        }

        fn load(samples: &mut [Self], bytes: &[u8], big_endian: bool) {
            let words = bytes.as_chunks().0;
            if big_endian {
                for (sample, word) in samples.iter_mut().zip(words) {
                    *sample = <$width>::from_be_bytes(*word);
                }
            } else {
                for (sample, word) in samples.iter_mut().zip(words) {
                    *sample = <$width>::from_le_bytes(*word);
                }
            }
        }

        fn store(samples: &[Self], bytes: &mut [u8], big_endian: bool) {
            let words = bytes.as_chunks_mut().0;
            if big_endian {
                for (word, sample) in words.iter_mut().zip(samples) {
                    *word = sample.to_be_bytes();
                }
            } else {
                for (word, sample) in words.iter_mut().zip(samples) {
                    *word = sample.to_le_bytes();
                }
            }
        }

        fn union(samples: &[Self]) -> u32 {
            u32::from(samples.iter().fold(0, |union, &sample| union | sample))
        }

        fn map(samples: &[Self], mapped: &mut [Self], max: u32) {
            let max = Self::cut(max);
            let (Some((first, mapped)), Some((_, nexts))) = (mapped.split_first_mut(), samples.split_first())
            else {
                return;
            };
            *first = 0;
            for ((target, &last), &next) in mapped.iter_mut().zip(samples).zip(nexts) {
                // No branch, so that the compiler uses vectors; what overflows is not chosen.
                let up = next.wrapping_sub(last);
                let down = last.wrapping_sub(next);
                let rising = if up <= last { up.wrapping_mul(2) } else { next };
                let falling = if down <= max.wrapping_sub(last) {
                    down.wrapping_mul(2).wrapping_sub(1)
                } else {
                    max.wrapping_sub(next)
                };
                *target = if next >= last { rising } else { falling };
            }
        }
    };
}

impl Sample for u8 {
    bytes_and_predictor!(u8);

    #[inline(always)]
    fn sum_shifted(block: &[u8], k: u32) -> u64 {
        let (words, rest) = block.as_chunks::<8>();
        let keep = lanes8(0xFF >> k);
        let mut sums = 0; // four lanes of 16 bits: at most 4 * 2 * 255 each
        for word in words {
            let shifted = (u64::from_le_bytes(*word) >> k) & keep;
            sums += (shifted & 0x00FF_00FF_00FF_00FF) + ((shifted >> 8) & 0x00FF_00FF_00FF_00FF);
        }
        let sum = sums.wrapping_mul(0x0001_0001_0001_0001) >> 48;
        rest.iter().fold(sum, |sum, &v| sum + u64::from(v >> k))
    }

    #[inline(always)]
    fn put_low(block: &[u8], k: u32, out: &mut BitWriter<'_>) {
        let (words, rest) = block.as_chunks::<8>();
        let keep = lanes8(low(k));
        for word in words {
            let v = u64::from_be_bytes(*word) & keep;
            let v = (v & 0x00FF_00FF_00FF_00FF) | ((v & 0xFF00_FF00_FF00_FF00) >> (8 - k));
            let v = (v & 0x0000_FFFF_0000_FFFF) | ((v & 0xFFFF_0000_FFFF_0000) >> (16 - 2 * k));
            let v = (v & 0x0000_0000_FFFF_FFFF) | ((v & 0xFFFF_FFFF_0000_0000) >> (32 - 4 * k));
            out.put_wide(v, 8 * k);
        }
        for &sample in rest {
            out.put(u64::from(sample) & low(k), k);
        }
    }

    #[inline(always)]
    fn take_low(block: &mut [u8], k: u32, input: &mut BitReader<'_>) -> Result<(), SzError> {
        let (words, rest) = block.as_chunks_mut::<8>();
        for word in words {
            let v = input.take_wide(8 * k)?;
            let v = ((v << (32 - 4 * k)) & 0xFFFF_FFFF_0000_0000) | (v & low(4 * k));
            let v = ((v << (16 - 2 * k)) & 0xFFFF_0000_FFFF_0000) | (v & lanes32(low(2 * k)));
            let v = ((v << (8 - k)) & 0xFF00_FF00_FF00_FF00) | (v & lanes16(low(k)));
            *word = (u64::from_be_bytes(*word) | v).to_be_bytes();
        }
        for sample in rest {
            *sample |= input.take(k)? as u8;
        }
        Ok(())
    }
}

impl Sample for u16 {
    bytes_and_predictor!(u16);

    #[inline(always)]
    fn sum_shifted(block: &[u16], k: u32) -> u64 {
        let sum = block.iter().fold(0u32, |sum, &v| sum + u32::from(v >> k));
        u64::from(sum)
    }

    #[inline(always)]
    fn put_low(block: &[u16], k: u32, out: &mut BitWriter<'_>) {
        let (words, rest) = block.as_chunks::<4>();
        for word in words {
            let v = word.iter().fold(0, |v, &sample| (v << k) | (u64::from(sample) & low(k)));
            out.put_wide(v, 4 * k);
        }
        for &sample in rest {
            out.put(u64::from(sample) & low(k), k);
        }
    }

    #[inline(always)]
    fn take_low(block: &mut [u16], k: u32, input: &mut BitReader<'_>) -> Result<(), SzError> {
        let (words, rest) = block.as_chunks_mut::<4>();
        for word in words {
            let v = input.take_wide(4 * k)?;
            for (sample, i) in word.iter_mut().zip([3, 2, 1, 0]) {
                *sample |= ((v >> (i * k)) & low(k)) as u16;
            }
        }
        for sample in rest {
            *sample |= input.take(k)? as u16;
        }
        Ok(())
    }
}

impl Sample for u32 {
    bytes_and_predictor!(u32);

    #[inline(always)]
    fn sum_shifted(block: &[u32], k: u32) -> u64 {
        block.iter().fold(0, |sum, &v| sum + u64::from(v >> k))
    }

    #[inline(always)]
    fn put_low(block: &[u32], k: u32, out: &mut BitWriter<'_>) {
        let (pairs, rest) = block.as_chunks::<2>();
        for &[a, b] in pairs {
            out.put_wide(((u64::from(a) & low(k)) << k) | (u64::from(b) & low(k)), 2 * k);
        }
        for &sample in rest {
            out.put(u64::from(sample) & low(k), k);
        }
    }

    #[inline(always)]
    fn take_low(block: &mut [u32], k: u32, input: &mut BitReader<'_>) -> Result<(), SzError> {
        for sample in block {
            *sample |= input.take(k)? as u32;
        }
        Ok(())
    }
}

/// A mask of the `n < 64` low bits.
#[inline(always)]
fn low(n: u32) -> u64 {
    (1 << n) - 1
}

#[inline(always)]
fn lanes8(byte: u64) -> u64 {
    byte * 0x0101_0101_0101_0101
}

#[inline(always)]
fn lanes16(word: u64) -> u64 {
    word * 0x0001_0001_0001_0001
}

#[inline(always)]
fn lanes32(word: u64) -> u64 {
    word * 0x0000_0001_0000_0001
}
