use ncz_codec::number::{PIECE, PIECE_BYTES};
use ncz_codec::{CodecError, Coder, Number, Result};

/// Casts numbers to the type that is stored, and back.
#[derive(Debug, Clone, Copy)]
pub struct AsTypeCoder {
    data: Number,
    stored: Number,
}

/// The conversion between two types.
#[derive(Clone, Copy)]
struct Cast {
    from: Number,
    to: Number,
    /// Whether to check for numbers that would be read back as others. Numbers without any counterpart in the other
    /// type are always detected.
    is_checked: bool,
}

impl AsTypeCoder {
    pub(crate) fn new(data: Number, stored: Number) -> Self {
        Self { data, stored }
    }
}

/// Buffers for one piece.
struct Pieces {
    integers: [i64; PIECE],
    floats: [f64; PIECE],
    swapped: [u8; PIECE_BYTES],
}

impl Cast {
    /// Casts all numbers of `input`; an error has the index and the text of the first number that is lost.
    fn all(self, input: &[u8], output: &mut [u8]) -> Result<(), (usize, String)> {
        let Self { from, to, .. } = self;
        // Only the byte order changes, also for NaN; integers wrap around and back.
        let keeps_bits = (from.is_float(), from.size()) == (to.is_float(), to.size());
        let mut pieces = Pieces { integers: [0; PIECE], floats: [0.0; PIECE], swapped: [0; PIECE_BYTES] };
        let rooms = output.chunks_mut(PIECE * to.size());
        for (index, (input, room)) in input.chunks(PIECE * from.size()).zip(rooms).enumerate() {
            if keeps_bits {
                room.copy_from_slice(input);
                from.order(room);
                to.order(room);
            } else if let Some((at, value)) = self.piece(input, room, &mut pieces) {
                return Err((index * PIECE + at, value));
            }
        }
        Ok(())
    }

    fn piece(self, input: &[u8], room: &mut [u8], pieces: &mut Pieces) -> Option<(usize, String)> {
        let Self { from, to, is_checked } = self;
        let count = input.len() / from.size();
        let (integers, floats) = (&mut pieces.integers[..count], &mut pieces.floats[..count]);
        let lost = match (from.is_float(), to.is_float()) {
            (true, true) => {
                from.read_floats(input, floats);
                to.write_floats(floats, room);
                to.first_too_large(floats).filter(|_| is_checked)
            }
            (true, false) => {
                from.read_floats(input, floats);
                let lost = to.floats_as_integers(floats, integers);
                to.write_integers(integers, room);
                lost
            }
            (false, false) if to.size() < from.size() => {
                if from.narrow(from.little(input, &mut pieces.swapped), to, room) || !is_checked {
                    return None;
                }
                from.read_integers(input, integers);
                integers.iter().position(|&bits| from.wrapped(to.wrapped(bits)) != bits)
            }
            (false, false) => {
                from.read_integers(input, integers);
                to.write_integers(integers, room);
                None
            }
            (false, true) => {
                from.read_integers(input, integers);
                from.integers_as_floats(integers, to, floats);
                to.write_floats(floats, room);
                // A floating-point number of twice the size holds every integer.
                let may_be_lost = is_checked && to.size() < 2 * from.size();
                let lost = |(&float, &bits): (&f64, &i64)| from.float_as_integer(float) != Some(bits);
                may_be_lost.then(|| floats.iter().zip(&*integers).position(lost)).flatten()
            }
        };
        let text = |at: usize| {
            if from.is_float() { format!("{:?}", floats[at]) } else { from.value(integers[at]).to_string() }
        };
        lost.map(|at| (at, text(at)))
    }
}

impl Coder for AsTypeCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        (len / self.data.size()).checked_mul(self.stored.size())
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.data.count(input.len())?;
        let need = self.max_encoded_len(input.len());
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        let cast = Cast { from: self.data, to: self.stored, is_checked: true };
        cast.all(input, output).map_err(|(at, value)| {
            CodecError::values(format!(
                "element {at}, {value}, cannot be kept as {}, and another number would be read",
                self.stored
            ))
        })?;
        Ok(output.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.decoded_len(input)?;
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        let cast = Cast { from: self.stored, to: self.data, is_checked: false };
        cast.all(input, output).map_err(|(at, value)| {
            CodecError::corrupt(format!("element {at} is {value}, which no {} is", self.data))
        })?;
        Ok(output.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let size = self.stored.size();
        if !input.len().is_multiple_of(size) {
            let text = format!("{} bytes are not whole numbers of {size} bytes", input.len());
            return Err(CodecError::truncated(text));
        }
        Ok((input.len() / size).checked_mul(self.data.size()))
    }
}
