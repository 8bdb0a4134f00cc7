//! LZF streams: pieces of literal bytes and references to what came before.
//!
//! A token begins with a byte whose upper three bits are its kind: 0 is a run of literals, whose count less one is in
//! the lower five bits; 1 to 6 is a reference of that many bytes plus 2; 7 is a reference of 9 bytes plus the value of
//! the next byte. The lower five bits of a reference are the upper bits of its distance, less one; the lower bits are
//! in a following byte. The stream has no end mark.

/// The longest run of literals.
const RUN_MAX: usize = 32;
/// A reference reaches less far back than this, and one more.
const REACH: usize = 1 << 13;
/// The longest reference.
const REFERENCE_MAX: usize = 264;
/// The length of a reference that takes a byte more, less two.
const LONG: usize = 7;
/// The number of bits of an index of the table.
const PLACES: u32 = 17;

/// The errors of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It ends within a piece.
    Cut,
    /// A reference points before the first byte.
    Reference,
    /// It decodes to more than the output holds.
    OutputFull,
}

/// The most bytes that `len` bytes take: all of them literals.
pub(crate) fn bound(len: usize) -> Option<usize> {
    len.checked_add(len.div_ceil(RUN_MAX))
}

/// The last position of each three-byte sequence.
pub(crate) struct Table {
    /// Positions, with `start` added.
    seen: Vec<u32>,
    /// Positions up to this one are from an earlier chunk, or unset.
    start: u32,
}

impl Default for Table {
    fn default() -> Self {
        Self { seen: vec![0; 1 << PLACES], start: 0 }
    }
}

impl Table {
    /// Forgets everything; the positions to come are less than `len`.
    fn begin(&mut self, end: u32, len: u32) -> u32 {
        self.start = match end.checked_add(len) {
            Some(_) => end,
            None => {
                self.seen.fill(0);
                0
            }
        };
        self.start
    }
}

/// The state that a thread keeps between chunks.
#[derive(Default)]
pub(crate) struct Memory {
    table: Table,
    end: u32,
}

impl Memory {
    /// Writes `input` as a stream to `output` and returns its length; `None` if it does not fit, which it does with
    /// [`bound`] bytes, or if `input` has 4 GiB or more.
    ///
    /// References are searched for at the same positions as in liblzf, as h5py builds it, so that the streams are
    /// equal.
    pub(crate) fn encode(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        let len = u32::try_from(input.len()).ok()?;
        let start = self.table.begin(self.end, len);
        self.end = start + len;
        let seen: &mut [u32; 1 << PLACES] = self.table.seen.as_mut_slice().try_into().ok()?;
        let mut writer = Writer { output, at: 0 };
        let (mut at, mut literals) = (0, 0);
        while at + 2 < input.len() {
            let place = place(input, at);
            let last = std::mem::replace(&mut seen[place], start + at as u32);
            // The first byte is never referenced, so 0 and `start` mean "not found".
            let found = last.checked_sub(start).map(|last| last as usize).filter(|&last| {
                last > 0
                    && at - last <= REACH
                    && at + 4 < input.len()
                    && input[last..last + 3] == input[at..at + 3]
            });
            let Some(from) = found else {
                at += 1;
                continue;
            };
            let length = matching(input, from, at);
            writer.literals(&input[literals..at])?;
            writer.reference(at - from - 1, length)?;
            at += length;
            literals = at;
            if at + 2 >= input.len() {
                break;
            }
            seen[self::place(input, at - 1)] = start + (at - 1) as u32;
        }
        writer.literals(&input[literals..])?;
        Some(writer.at)
    }
}

/// Returns the table index of the three bytes at `at`.
fn place(input: &[u8], at: usize) -> usize {
    let bytes = &input[at..at + 3];
    let hash = u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2]);
    ((hash >> (24 - PLACES)).wrapping_sub(hash) & ((1 << PLACES) - 1)) as usize
}

/// Returns how many bytes at `from` and `at` are equal, at least 3; two bytes more than needed remain at the end.
fn matching(input: &[u8], from: usize, at: usize) -> usize {
    let most = (input.len() - at - 2).min(REFERENCE_MAX);
    // liblzf compares 16 bytes at a time if there are more.
    let most = if most > 16 { most.max(19) } else { most };
    let pairs = input[from..].iter().zip(&input[at..at + most]);
    pairs.take_while(|(one, other)| one == other).count().max(3)
}

/// Writes pieces.
struct Writer<'a> {
    output: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn literals(&mut self, bytes: &[u8]) -> Option<()> {
        for run in bytes.chunks(RUN_MAX) {
            let (head, to) = self.output.get_mut(self.at..self.at + 1 + run.len())?.split_first_mut()?;
            *head = (run.len() - 1) as u8;
            to.copy_from_slice(run);
            self.at += 1 + run.len();
        }
        Some(())
    }

    fn reference(&mut self, back: usize, length: usize) -> Option<()> {
        let (high, low) = ((back >> 8) as u8, back as u8);
        let length = length - 2;
        if length < LONG {
            let piece = [high | (length << 5) as u8, low];
            self.output.get_mut(self.at..self.at + 2)?.copy_from_slice(&piece);
            self.at += 2;
        } else {
            let piece = [high | (LONG << 5) as u8, (length - LONG) as u8, low];
            self.output.get_mut(self.at..self.at + 3)?.copy_from_slice(&piece);
            self.at += 3;
        }
        Some(())
    }
}

/// One piece of a stream.
enum Piece<'a> {
    Literals(&'a [u8]),
    Reference { back: usize, length: usize },
}

/// Takes the piece that `stream` begins with.
fn piece<'a>(stream: &mut &'a [u8]) -> Result<Option<Piece<'a>>, Fault> {
    let Some((&head, rest)) = stream.split_first() else { return Ok(None) };
    let head = usize::from(head);
    let (piece, rest) = match head >> 5 {
        0 => {
            let (run, rest) = rest.split_at_checked(head + 1).ok_or(Fault::Cut)?;
            (Piece::Literals(run), rest)
        }
        LONG => {
            let &[length, low, ref rest @ ..] = rest else { return Err(Fault::Cut) };
            (Piece::Reference { back: back(head, low), length: LONG + 2 + usize::from(length) }, rest)
        }
        length => {
            let &[low, ref rest @ ..] = rest else { return Err(Fault::Cut) };
            (Piece::Reference { back: back(head, low), length: length + 2 }, rest)
        }
    };
    *stream = rest;
    Ok(Some(piece))
}

/// The distance of a reference.
fn back(head: usize, low: u8) -> usize {
    ((head & 0x1f) << 8 | usize::from(low)) + 1
}

/// The length of what `stream` decodes to.
pub(crate) fn decoded_len(mut stream: &[u8]) -> Result<usize, Fault> {
    let mut total = 0_usize;
    while let Some(piece) = piece(&mut stream)? {
        // No token decodes to more than a hundred times its own length: this overflows only with 32-bit addresses.
        total = total.saturating_add(match piece {
            Piece::Literals(run) => run.len(),
            Piece::Reference { length, .. } => length,
        });
    }
    Ok(total)
}

/// Decodes `stream` and returns the length.
pub(crate) fn decode(mut stream: &[u8], output: &mut [u8]) -> Result<usize, Fault> {
    let mut at = 0;
    while let Some(piece) = piece(&mut stream)? {
        match piece {
            Piece::Literals(run) => {
                output.get_mut(at..at + run.len()).ok_or(Fault::OutputFull)?.copy_from_slice(run);
                at += run.len();
            }
            Piece::Reference { back, length } => {
                let from = at.checked_sub(back).ok_or(Fault::Reference)?;
                let both = output.get_mut(from..at + length).ok_or(Fault::OutputFull)?;
                // A part that has been copied can be copied again as a whole: a long reference can overlap itself.
                let mut there = back;
                while there < both.len() {
                    let next = there.min(both.len() - there);
                    both.copy_within(..next, there);
                    there += next;
                }
                at += length;
            }
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(memory: &mut Memory, data: &[u8]) -> Vec<u8> {
        let mut stream = vec![0; bound(data.len()).unwrap()];
        let end = memory.encode(data, &mut stream).unwrap();
        stream.truncate(end);
        let mut back = vec![0; data.len()];
        assert_eq!(decode(&stream, &mut back), Ok(data.len()));
        assert!(back == data);
        assert_eq!(decoded_len(&stream), Ok(data.len()));
        stream
    }

    #[test]
    fn what_an_earlier_chunk_left_in_the_table_changes_nothing() {
        let data: Vec<u8> = (0..20_000_u32).map(|n| ((n * n) >> 7) as u8).collect();
        let fresh = round_trip(&mut Memory::default(), &data);
        let mut memory = Memory::default();
        for end in [7, 20_000, u32::MAX - 20_000, u32::MAX - 19_999, u32::MAX] {
            memory.end = memory.end.max(end);
            assert!(round_trip(&mut memory, &data) == fresh);
        }
        assert_eq!(memory.end, 20_000, "the table has begun again");
    }

    #[test]
    fn references_have_all_lengths_and_reach_as_far_as_they_can() {
        let mut memory = Memory::default();
        for length in 3..600 {
            for gap in [0, 1, 5, 8187, 8188, 8189, 8190, 8191, 8192, 8193] {
                let piece: Vec<u8> = (0..length).map(|n| (n * 7 % 251) as u8).collect();
                let gap: Vec<u8> = (0..gap).map(|n| (n / 3 % 256) as u8).collect();
                if length % 50 < 4 || gap.len() < 9 {
                    round_trip(&mut memory, &[b"!", &piece[..], &gap, &piece].concat());
                }
            }
        }
    }

    #[test]
    fn damage_is_named() {
        let mut output = [0; 9];
        assert_eq!(decode(&[2, b'a', b'b'], &mut output), Err(Fault::Cut));
        assert_eq!(decode(&[0x20], &mut output), Err(Fault::Cut));
        assert_eq!(decode(&[0xe0, 0], &mut output), Err(Fault::Cut));
        assert_eq!(decode(&[0, b'a', 0x20, 1], &mut output), Err(Fault::Reference));
        assert_eq!(decode(&[0, b'a', 0xe0, 0, 0], &mut output), Err(Fault::OutputFull));
        assert_eq!(decode(&[0, b'a', 0xc0, 0], &mut output), Ok(9));
        assert_eq!(output, [b'a'; 9]);
    }
}
