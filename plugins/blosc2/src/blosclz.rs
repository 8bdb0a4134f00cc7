//! BloscLZ, the compressor that Blosc brings itself (blosclz.c, format version 1).
//!
//! A stream is a list of literals (a count and as many bytes) and matches (a length, and the distance back to the same
//! bytes). It begins and ends with literals.
//!
//! The encoder is our own: c-blosc's gives up on data that C-Blosc2's compresses sevenfold.

/// Distances from this on are stored in two further bytes.
const FAR: usize = 8191;
/// The upper three bits of a control byte are its kind; the lower five are a count or part of a distance.
const LOW: u8 = 31;
/// In the first control byte, which is one of literals: the mark of the format.
const MARK: u8 = 1 << 5;
/// The literals after one control byte.
const LITERALS_MAX: usize = 32;
/// The longest distance.
const DISTANCE_MAX: usize = 65535 + FAR - 1;
/// The least length of a match, and of one that is far away: a shorter one gains nothing.
const LENGTH_LEAST: usize = 4;
const FAR_LENGTH_LEAST: usize = 7;
/// The number of bytes at the end that are not part of a match, and of those where no match begins.
const END: usize = 5;
const NO_START: usize = 12;

/// Compresses `input` and returns the length; `None` if it does not fit. `table` is work space. Greater levels, of 1 to
/// 9, search longer.
pub(crate) fn compress(level: u8, table: &mut Vec<u32>, input: &[u8], output: &mut [u8]) -> Option<usize> {
    let bits = match level {
        1 => 12,
        2 => 13,
        _ => 14,
    };
    // After this many literals in a row only every second position is searched, after twice as many every third.
    let patience = 4 + u32::from(level);
    table.clear();
    table.resize(1 << bits, 0);
    let place = |word: u32| (word.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize;
    let mut output = Output { bytes: output, len: 0 };
    let (mut at, mut done) = (1, 0);
    let limit = input.len().saturating_sub(NO_START);
    while at < limit {
        let word = word(input, at);
        let from = std::mem::replace(&mut table[place(word)], at as u32) as usize;
        let distance = at - from;
        let length = match self::word(input, from) == word && distance <= DISTANCE_MAX {
            true => 4 + common(&input[from + 4..], &input[at + 4..input.len() - END]),
            false => 0,
        };
        if length < if distance > FAR { FAR_LENGTH_LEAST } else { LENGTH_LEAST } {
            at += 1 + ((at - done) >> patience);
            continue;
        }
        // The bytes before may match too; the first byte is a literal.
        let before = input[done.max(1)..at].iter().rev().zip(input[..from].iter().rev());
        let more = before.take_while(|(one, other)| one == other).count();
        output.literals(&input[done..at - more])?;
        output.repeat(distance, length + more)?;
        at += length;
        done = at;
        for near in [at - 2, at - 1] {
            table[place(self::word(input, near))] = near as u32;
        }
    }
    output.literals(&input[done..])?;
    *output.bytes.first_mut()? |= MARK;
    Some(output.len)
}

fn word(input: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(input[at..].first_chunk().copied().unwrap_or_default())
}

/// Returns the length of the common prefix of two slices; the second is not longer than the first.
fn common(one: &[u8], other: &[u8]) -> usize {
    let mut length = 0;
    for (one, other) in one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0) {
        let differ = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differ != 0 {
            return length + differ.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + one[length..].iter().zip(&other[length..]).take_while(|(one, other)| one == other).count()
}

struct Output<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Output<'_> {
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.len..self.len + bytes.len())?.copy_from_slice(bytes);
        self.len += bytes.len();
        Some(())
    }

    fn literals(&mut self, literals: &[u8]) -> Option<()> {
        for run in literals.chunks(LITERALS_MAX) {
            self.push(&[run.len() as u8 - 1])?;
            self.push(run)?;
        }
        Some(())
    }

    fn repeat(&mut self, distance: usize, length: usize) -> Option<()> {
        let (near, far) = match distance - 1 {
            near @ ..FAR => (near, None),
            far => (FAR, Some(far - FAR)),
        };
        let (high, low) = ((near >> 8) as u8, near as u8);
        let mut length = length - 2;
        if length < 7 {
            self.push(&[(length as u8) << 5 | high])?;
        } else {
            self.push(&[7 << 5 | high])?;
            length -= 7;
            while length >= 255 {
                self.push(&[255])?;
                length -= 255;
            }
            self.push(&[length as u8])?;
        }
        self.push(&[low])?;
        match far {
            Some(far) => self.push(&[(far >> 8) as u8, far as u8]),
            None => Some(()),
        }
    }
}

/// Decodes `input` into `output`; `None` if it is damaged or does not fill it.
pub(crate) fn decompress(input: &[u8], output: &mut [u8]) -> Option<()> {
    let mut input = input.iter();
    // The first one is always literal: its upper bits mark the format.
    let mut control = input.next()? & LOW;
    let mut at = 0_usize;
    loop {
        if control <= LOW {
            let count = usize::from(control) + 1;
            let end = at.checked_add(count).filter(|&end| end <= output.len())?;
            let literals = input.as_slice().get(..count)?;
            // Copies of a known length are faster, and what is copied too much is written over, if there is room.
            match (input.as_slice().first_chunk::<LITERALS_MAX>(), output[at..].first_chunk_mut()) {
                (Some(from), Some(to)) => *to = *from,
                _ => output[at..end].copy_from_slice(literals),
            }
            input = input.as_slice()[count..].iter();
            at += count;
        } else {
            let mut length = usize::from(control >> 5) + 2;
            if control >> 5 == 7 {
                loop {
                    let more = *input.next()?;
                    length += usize::from(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let mut distance = usize::from(control & LOW) << 8 | usize::from(*input.next()?);
            if distance == FAR {
                distance += usize::from(*input.next()?) << 8 | usize::from(*input.next()?);
            }
            repeat(output, at, distance + 1, length)?;
            at += length;
        }
        match input.next() {
            Some(&next) => control = next,
            None => return (at == output.len()).then_some(()),
        }
    }
}

/// Copies the `length` bytes at `distance` before `at` to `at`; they may overlap.
fn repeat(output: &mut [u8], at: usize, distance: usize, length: usize) -> Option<()> {
    let start = at.checked_sub(distance)?;
    let end = at.checked_add(length).filter(|&end| end <= output.len())?;
    const AT_ONCE: usize = 16;
    if distance >= AT_ONCE && length <= AT_ONCE {
        // As for literals.
        let (from, to) = output.split_at_mut(at);
        let from = from[start..].first_chunk::<AT_ONCE>();
        if let (Some(from), Some(to)) = (from, to.first_chunk_mut()) {
            *to = *from;
            return Some(());
        }
    }
    if distance == 1 {
        let byte = output[start];
        output[at..end].fill(byte);
        return Some(());
    }
    // The copy can itself be the source of the next copy, so pieces grow.
    let mut to = at;
    while to < end {
        let piece = (to - start).min(end - to);
        output.copy_within(start..start + piece, to);
        to += piece;
    }
    Some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    #[test]
    fn literals_runs_and_matches_are_distinguished() {
        let mut output = [0; 12];
        // Two literals, a match of 4 two bytes back, a run of 6.
        decompress(&[1 << 5 | 1, b'a', b'b', 2 << 5, 1, 4 << 5, 0], &mut output).unwrap();
        assert_eq!(&output, b"abababbbbbbb".as_slice());
    }

    fn encoded(level: u8, input: &[u8]) -> Vec<u8> {
        let mut stream = vec![0; input.len() + input.len() / 32 + 1];
        let len = compress(level, &mut Vec::new(), input, &mut stream).unwrap();
        stream.truncate(len);
        stream
    }

    #[test]
    fn matches_near_and_far_short_and_long_round_trip() {
        let noise = |len: usize, seed: u32| {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            (0..len).map(|_| next()).collect::<Vec<u8>>()
        };
        for gap in [0, 1, 8000, 8180, 8190, 8191, 8192, 8200, 9000, 65535, 73000, 73724, 73725, 80000] {
            for length in [3, 4, 7, 8, 9, 10, 100, 263, 264, 265, 600] {
                let (part, between) = (noise(length, 1), noise(gap, 2));
                let input = [&part[..], &between, &part, &noise(13, 3)].concat();
                for level in [1, 5, 9] {
                    let mut output = vec![0; input.len()];
                    decompress(&encoded(level, &input), &mut output).unwrap();
                    assert!(output == input, "{gap} {length} {level}");
                }
                // More noise than the table has room for is forgotten.
                let literals = input.len() + input.len().div_ceil(LITERALS_MAX);
                let found = encoded(9, &input).len() + length / 2 < literals;
                assert!(found || length < 100 || gap > 9000, "{gap} {length}");
            }
        }
    }

    #[test]
    fn every_length_is_restored_and_a_small_buffer_is_not_an_error() {
        for length in 1..200 {
            let input: Vec<u8> = (0..length).map(|n| (n / 9 % 5) as u8).collect();
            let stream = encoded(5, &input);
            let mut output = vec![0; input.len()];
            decompress(&stream, &mut output).unwrap();
            assert_eq!(output, input);
            for room in 0..stream.len() {
                assert_eq!(compress(5, &mut Vec::new(), &input, &mut vec![0; room]), None);
            }
        }
    }

    #[test]
    fn nothing_before_the_start_is_repeated_and_nothing_after_the_end_written() {
        assert_eq!(decompress(&[0, b'a', 1 << 5, 1], &mut [0; 4]), None);
        assert_eq!(decompress(&[0, b'a', 7 << 5, 200, 0], &mut [0; 4]), None);
        assert_eq!(decompress(&[5, b'a'], &mut [0; 6]), None);
        assert_eq!(decompress(&[], &mut []), None);
        // Too little is damage, too.
        assert_eq!(decompress(&[0, b'a'], &mut [0; 2]), None);
    }
}
