//! Damaged streams, each made again from its sort, a seed and its number.

use std::fmt;

use fastrand::Rng;

/// The header part of a stream, which is damaged more often than the rest.
const HEAD: usize = 64;
/// The first bytes, which contain stated lengths.
const LENGTHS_HEAD: usize = 32;
/// The most bytes that are put after a stream.
const TAIL_MAX: usize = 1000;

/// A change of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// Its end is missing.
    Truncated,
    /// Other bytes follow.
    Extended,
    /// One to eight of its bits are flipped.
    Flipped,
    /// It continues with another stream.
    Spliced,
    /// Random bytes, whole or after a good beginning.
    Random,
    /// A word of its head is a huge or an odd number.
    Lengths,
}

/// A damaged stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What was done, such as `cut to 17 of 5000 bytes`.
    pub what: String,
}

/// Makes the damaged streams of one sort out of one stream.
#[derive(Debug, Clone, Copy)]
pub struct Mutator<'a> {
    /// What is done.
    pub sort: Sort,
    /// From which all random choices follow.
    pub seed: u64,
    /// How many there are.
    pub count: usize,
    /// The stream.
    pub stream: &'a [u8],
    /// Another stream of the same codec.
    pub other: &'a [u8],
}

impl Sort {
    /// All sorts.
    pub const ALL: [Self; 6] =
        [Self::Truncated, Self::Extended, Self::Flipped, Self::Spliced, Self::Random, Self::Lengths];
}

impl Mutator<'_> {
    /// Damaged stream number `index`. It differs from the stream in content or length, except for splices and
    /// numbers that happen to give it again.
    pub fn make(&self, index: usize) -> Mutation {
        // Far apart, whatever the seeds and numbers are.
        let mut rng = Rng::with_seed(self.seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        match self.sort {
            Sort::Truncated => self.truncated(index, &mut rng),
            Sort::Extended => self.extended(&mut rng),
            Sort::Flipped => self.flipped(&mut rng),
            Sort::Spliced => self.spliced(&mut rng),
            Sort::Random => self.random(&mut rng),
            Sort::Lengths => self.lengths(index, &mut rng),
        }
    }

    /// Every length if there are enough numbers for it, else the shortest, the longest, and some between.
    fn truncated(&self, index: usize, rng: &mut Rng) -> Mutation {
        let len = self.stream.len();
        let third = (self.count / 3).min(2 * HEAD);
        let keep = match index {
            _ if len <= self.count => index % len.max(1),
            _ if index < third => index,
            _ if index < 2 * third => len - 1 - (index - third),
            _ => rng.usize(..len),
        };
        let keep = keep.min(len.saturating_sub(1));
        Mutation { bytes: self.stream[..keep].to_vec(), what: format!("cut to {keep} of {len} bytes") }
    }

    fn extended(&self, rng: &mut Rng) -> Mutation {
        let mut bytes = self.stream.to_vec();
        let what = match rng.u8(..4) {
            0 => {
                let byte = rng.u8(..);
                bytes.push(byte);
                format!("one byte {byte:#04x} more")
            }
            1 => {
                let more = rng.usize(1..=TAIL_MAX);
                bytes.resize(bytes.len() + more, 0);
                format!("{more} zeros more")
            }
            2 => {
                let more = rng.usize(1..=TAIL_MAX);
                bytes.extend((0..more).map(|_| rng.u8(..)));
                format!("{more} random bytes more")
            }
            _ => {
                let more = rng.usize(1..=self.other.len().max(1)).min(self.other.len());
                bytes.extend_from_slice(&self.other[..more]);
                format!("the first {more} bytes of another stream more")
            }
        };
        Mutation { bytes, what }
    }

    fn flipped(&self, rng: &mut Rng) -> Mutation {
        let mut bytes = self.stream.to_vec();
        if bytes.is_empty() {
            return Mutation { bytes, what: "nothing to flip".to_owned() };
        }
        let flips = if rng.bool() { 1 } else { rng.usize(1..=8) };
        let mut places = Vec::with_capacity(flips);
        // Each position once, so that no flip undoes another.
        for _ in 0..flips {
            let end = if rng.bool() { bytes.len().min(HEAD) } else { bytes.len() };
            let place = (rng.usize(..end), rng.u8(..8));
            if !places.contains(&place) {
                bytes[place.0] ^= 1 << place.1;
                places.push(place);
            }
        }
        let places: Vec<String> = places.iter().map(|(byte, bit)| format!("{byte}.{bit}")).collect();
        Mutation { bytes, what: format!("bits flipped at byte.bit {}", places.join(" ")) }
    }

    fn spliced(&self, rng: &mut Rng) -> Mutation {
        let head = rng.usize(..=self.stream.len());
        let from = rng.usize(..=self.other.len());
        if rng.bool() {
            let bytes = [&self.stream[..head], &self.other[from..]].concat();
            return Mutation { bytes, what: format!("{head} bytes, then another stream from byte {from}") };
        }
        let mut bytes = self.stream.to_vec();
        let part = rng.usize(..=(bytes.len() - head).min(self.other.len() - from));
        bytes[head..head + part].copy_from_slice(&self.other[from..from + part]);
        let what = format!("{part} bytes from byte {head} are those of another stream from byte {from}");
        Mutation { bytes, what }
    }

    fn random(&self, rng: &mut Rng) -> Mutation {
        let good = if rng.bool() { 0 } else { rng.usize(..=self.stream.len().min(HEAD)) };
        let most = if rng.bool() { HEAD } else { 2 * self.stream.len() };
        let len = rng.usize(..=most);
        let mut bytes = self.stream[..good].to_vec();
        bytes.extend((0..len).map(|_| rng.u8(..)));
        Mutation { bytes, what: format!("{good} good bytes, then {len} random ones") }
    }

    /// First the usual words at the usual offsets, then any.
    fn lengths(&self, index: usize, rng: &mut Rng) -> Mutation {
        const PLACES: [usize; 4] = [0, 4, 8, 12];
        const USUAL: [(usize, u64); 3] = [(4, 0x7fff_ffff), (4, 0x4000_0000), (8, 0x7fff_ffff_ffff_ffff)];
        const WORDS: [u64; 10] = [
            0,
            1,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x1_0000_0000,
            0x10_0000_0000,
            0x7fff_ffff_ffff_ffff,
            0x8000_0000_0000_0000,
            u64::MAX,
        ];
        let mut bytes = self.stream.to_vec();
        let (place, rest) = (index % PLACES.len(), index / PLACES.len());
        let (width, at, word, big) = match USUAL.get(rest / 2) {
            Some(&(width, word)) => (width, PLACES[place], word, rest % 2 == 1),
            None => {
                let width = [1, 2, 4, 4, 8, 8][rng.usize(..6)];
                let word = match rng.u8(..4) {
                    // Numbers of a size that a careless decoder would still take memory for.
                    0 => rng.u64(..) >> rng.u32(24..40),
                    _ => WORDS[rng.usize(..WORDS.len())],
                };
                (width, rng.usize(..=LENGTHS_HEAD - width), word, rng.bool())
            }
        };
        let width = width.min(bytes.len());
        let at = at.min(bytes.len() - width);
        let written = if big { word.to_be_bytes() } else { word.to_le_bytes() };
        let written = if big { &written[8 - width..] } else { &written[..width] };
        bytes[at..at + width].copy_from_slice(written);
        let order = if big { "big" } else { "little" };
        let what = format!("the {width} bytes from byte {at} say {word:#x} ({order}-endian)");
        Mutation { bytes, what }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Truncated => "truncated",
            Self::Extended => "extended",
            Self::Flipped => "flipped",
            Self::Spliced => "spliced",
            Self::Random => "random",
            Self::Lengths => "lengths",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn mutator<'a>(sort: Sort, count: usize, stream: &'a [u8], other: &'a [u8]) -> Mutator<'a> {
        Mutator { sort, seed: 7, count, stream, other }
    }

    #[test]
    fn a_number_gives_the_same_stream_again_and_others_give_others() {
        let (stream, other) = ((0..=255).collect::<Vec<u8>>(), vec![9; 300]);
        for sort in Sort::ALL {
            let mutator = mutator(sort, 500, &stream, &other);
            let made: Vec<Mutation> = (0..500).map(|index| mutator.make(index)).collect();
            assert_eq!(made[77], mutator.make(77), "{sort}");
            let different: HashSet<&[u8]> = made.iter().map(|mutation| &mutation.bytes[..]).collect();
            assert!(different.len() > 200, "{sort}: {}", different.len());
        }
    }

    #[test]
    fn streams_of_any_length_are_damaged() {
        for len in 0..40 {
            let stream = vec![1; len];
            for sort in Sort::ALL {
                let mutator = mutator(sort, 100, &stream, &stream[..len / 2]);
                (0..100).for_each(|index| drop(mutator.make(index)));
            }
        }
    }

    #[test]
    fn every_length_is_cut_where_there_are_enough_numbers() {
        let stream = [5; 90];
        let lengths = |count| {
            let mutator = mutator(Sort::Truncated, count, &stream, &stream);
            (0..count).map(|index| mutator.make(index).bytes.len()).collect::<HashSet<_>>()
        };
        assert_eq!(lengths(90), (0..90).collect());
        let some = lengths(60);
        assert!((0..20).chain(70..90).all(|len| some.contains(&len)), "{some:?}");
    }
}
