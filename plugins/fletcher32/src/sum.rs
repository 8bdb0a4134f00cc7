/// Words that are summed side by side, so that the compiler uses vector registers.
const LANES: usize = 8;
/// Rows of words in a block: with more, a lane's second sum could overflow 32 bits (360 * 361 / 2 * 65535 < 2^32).
const ROWS: usize = 360;

/// The running Fletcher-32 sum of HDF5 (`H5_checksum_fletcher32`): of the 16-bit words w1 .. wn, the sum of all and
/// the sum of its running values, both in ones' complement.
///
/// The words are most significant byte first. They are summed least significant byte first here, without swapping
/// each: in ones' complement, swapping the bytes of all words swaps the bytes of the sum (RFC 1071, section 2).
#[derive(Default)]
pub(crate) struct Sum {
    first: u64,
    second: u64,
}

impl Sum {
    /// Bytes to add at a time.
    pub(crate) const BLOCK: usize = 2 * LANES * ROWS;

    /// Adds [`BLOCK`](Self::BLOCK) bytes, or fewer if they are the last.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let mut first = [0_u32; LANES];
        let mut second = [0_u32; LANES];
        let (rows, rest) = bytes.as_chunks::<{ 2 * LANES }>();
        for row in rows {
            let words: [u16; LANES] =
                std::array::from_fn(|lane| u16::from_le_bytes([row[2 * lane], row[2 * lane + 1]]));
            // Two loops over whole rows: the compiler makes vector code of each, but not of both in one.
            for (first, word) in first.iter_mut().zip(words) {
                *first += u32::from(word);
            }
            for (second, first) in second.iter_mut().zip(first) {
                *second += first;
            }
        }
        // A lane's second sum counts its words as rows from the end; in words from the end that is
        // LANES for each row, less the lane's own distance from the start of the row.
        let words = (rows.len() * LANES) as u64;
        self.second += words * self.first;
        for (lane, (&first, &second)) in first.iter().zip(&second).enumerate() {
            self.first += u64::from(first);
            self.second += LANES as u64 * u64::from(second) - lane as u64 * u64::from(first);
        }
        let (pairs, odd) = rest.as_chunks::<2>();
        for pair in pairs {
            self.word(u16::from_le_bytes(*pair));
        }
        // A single last byte is the high half of its word, which is the low half before the swap.
        if let &[last] = odd {
            self.word(u16::from(last));
        }
        self.first = fold(self.first);
        self.second = fold(self.second);
    }

    /// The checksum: the second sum in the high half.
    pub(crate) fn finish(self) -> u32 {
        (u32::from(swapped(self.second)) << 16) | u32::from(swapped(self.first))
    }

    fn word(&mut self, word: u16) {
        self.first += u64::from(word);
        self.second += self.first;
    }
}

/// The same value modulo 65535 in 16 bits and a little; zero only for zero.
fn fold(sum: u64) -> u64 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    (sum & 0xffff) + (sum >> 16)
}

/// The ones' complement number of 16 bits, with its bytes swapped.
fn swapped(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (sum as u16).swap_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, word by word.
    fn slow(bytes: &[u8]) -> u32 {
        let add = |a: u32, b: u32| ((a + b) & 0xffff) + ((a + b) >> 16);
        let (mut first, mut second) = (0, 0);
        for word in bytes.chunks(2) {
            let word = u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
            first = add(first, word);
            second = add(second, first);
        }
        second << 16 | first
    }

    fn fast(bytes: &[u8]) -> u32 {
        let mut sum = Sum::default();
        bytes.chunks(Sum::BLOCK).for_each(|block| sum.add(block));
        sum.finish()
    }

    #[test]
    fn the_largest_words_overflow_nothing() {
        for length in [0, 1, 2, 31, 32, 33, Sum::BLOCK - 1, Sum::BLOCK, Sum::BLOCK + 1, 5 * Sum::BLOCK + 7] {
            for byte in [0, 0xff, 1] {
                let bytes = vec![byte; length];
                assert_eq!(fast(&bytes), slow(&bytes), "{length} of {byte}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_fast_sum_is_the_definition(bytes in proptest::collection::vec(any::<u8>(), 0..30_000)) {
            prop_assert_eq!(fast(&bytes), slow(&bytes));
        }
    }
}
