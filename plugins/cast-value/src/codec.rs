use ncz_codec::number::{PIECE, PIECE_BYTES};
use ncz_codec::{CodecError, Coder, Result};

use crate::cast::{Cast, Fault, Held};

/// Casts numbers to another type, and back.
#[derive(Debug, Clone)]
pub struct CastValueCoder {
    pub(crate) encode: Direction,
    pub(crate) decode: Direction,
    /// Whether what is encoded may be a number that decoders do not take.
    pub(crate) is_tried: bool,
}

/// One of the two directions.
#[derive(Debug, Clone)]
pub(crate) struct Direction {
    pub(crate) cast: Cast,
    pub(crate) map: ScalarMap,
}

/// The replacements that apply first, ordered by their keys.
#[derive(Debug, Clone)]
pub(crate) struct ScalarMap(Vec<(i64, Held)>);

/// The numbers of a piece, in the one list or the other.
#[derive(Debug)]
pub struct CastValueScratch {
    integers: [i64; PIECE],
    floats: [f64; PIECE],
    /// Numbers that the map has: the index in the piece, and the index in the map.
    mapped: Vec<(usize, usize)>,
}

impl CastValueCoder {
    pub(crate) fn new(encode: Direction, decode: Direction) -> Self {
        let Cast { from, to, .. } = encode.cast;
        // The largest integers become floating-point numbers beyond the range of their type, and a map can produce any
        // number.
        let is_rounded = !from.is_float() && to.is_float() && !to.holds_integers_of(from);
        let is_tried = is_rounded || !encode.map.0.is_empty();
        Self { encode, decode, is_tried }
    }

    /// The fill value as elements are encoded.
    pub(crate) fn encode_fill(&self, fill: &[u8]) -> Result<Vec<u8>> {
        let Cast { from, to, .. } = self.encode.cast;
        if fill.len() != from.size() {
            return Err(CodecError::size(from.size(), fill.len(), "the fill value"));
        }
        let fill = Held::read(from, fill);
        match self.encode.one(fill) {
            Ok(fill) => Ok(fill.bytes(to)),
            Err(fault) => Err(CodecError::unsupported(format!(
                "the fill value {} {}; choose another fill value, or map it in scalar_map",
                fill.shown(from),
                self.encode.reason(fault)
            ))),
        }
    }
}

impl CastValueCoder {
    /// Refuses what was encoded if decoders would.
    fn try_to_read(&self, piece: &mut CastValueScratch, stored: &[u8]) -> Result<()> {
        let Cast { from, to, .. } = self.decode.cast;
        let mut read = [0; PIECE_BYTES];
        for (index, stored) in stored.chunks(PIECE * from.size()).enumerate() {
            let read = &mut read[..stored.len() / from.size() * to.size()];
            if let Some((at, fault)) = self.decode.run(piece, stored, read) {
                let value = Held::read(from, &stored[at * from.size()..][..from.size()]).shown(from);
                return Err(CodecError::values(format!(
                    "element {} would be stored as {value}, which {} when it is read; choose another data_type, or map it in \
                     scalar_map",
                    index * PIECE + at,
                    self.decode.reason(fault)
                )));
            }
        }
        Ok(())
    }
}

impl ScalarMap {
    /// Of two pairs of a number the first counts.
    pub(crate) fn new(pairs: Vec<(Held, Held)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().map(|(input, output)| (input.key(), output)).collect();
        pairs.sort_by_key(|(key, _)| *key);
        pairs.dedup_by_key(|(key, _)| *key);
        Self(pairs)
    }

    /// Returns the index of the pair of a number.
    fn place(&self, value: Held) -> Option<usize> {
        let key = value.key();
        self.0.binary_search_by_key(&key, |(key, _)| *key).ok()
    }
}

impl Direction {
    fn one(&self, value: Held) -> std::result::Result<Held, Fault> {
        match self.map.place(value) {
            Some(at) => Ok(self.map.0[at].1),
            None => self.cast.one(value),
        }
    }

    /// Why a number cannot be cast, after the number.
    fn reason(&self, fault: Fault) -> String {
        let to = self.cast.to.v3();
        match fault {
            Fault::NotFinite => format!("{fault}, and {to} cannot hold it"),
            Fault::OutOfRange => format!("{fault} of {to}, and out_of_range is not set"),
        }
    }

    /// Casts whole numbers of `input`, as many as fit in `output`; an error is the index of the first that cannot be
    /// cast.
    fn run(&self, piece: &mut CastValueScratch, input: &[u8], output: &mut [u8]) -> Option<(usize, Fault)> {
        let Cast { from, to, .. } = self.cast;
        let CastValueScratch { integers, floats, mapped } = piece;
        let count = input.len() / from.size();
        let (integers, floats) = (&mut integers[..count], &mut floats[..count]);
        mapped.clear();
        // Zeros can be cast to all types.
        if from.is_float() {
            from.read_floats(input, floats);
            self.take_out(floats, Held::Float, mapped);
        } else {
            from.read_integers(input, integers);
            self.take_out(integers, Held::Integer, mapped);
        }
        let fault = match (from.is_float(), to.is_float()) {
            (false, false) => self.cast.integers_to_integers(integers),
            (false, true) => self.cast.integers_to_floats(integers, floats),
            (true, false) => self.cast.floats_to_integers(floats, integers),
            (true, true) => self.cast.floats_to_floats(floats),
        };
        if fault.is_some() {
            return fault;
        }
        for &(place, at) in &*mapped {
            match self.map.0[at].1 {
                Held::Integer(integer) => integers[place] = integer,
                Held::Float(float) => floats[place] = float,
            }
        }
        if to.is_float() {
            to.write_floats(floats, output);
        } else {
            to.write_integers(integers, output);
        }
        None
    }

    /// Records which numbers the map has, and replaces them by zeros.
    fn take_out<T: Copy + Default>(
        &self,
        values: &mut [T],
        held: impl Fn(T) -> Held,
        mapped: &mut Vec<(usize, usize)>,
    ) {
        if self.map.0.is_empty() {
            return;
        }
        for (place, value) in values.iter_mut().enumerate() {
            if let Some(at) = self.map.place(held(*value)) {
                mapped.push((place, at));
                *value = T::default();
            }
        }
    }

    /// Casts all of `input`; `fault` makes the error from the number and its index.
    fn all(
        &self,
        piece: &mut CastValueScratch,
        input: &[u8],
        output: &mut [u8],
        fault: impl Fn(String) -> CodecError,
    ) -> Result<usize> {
        let Cast { from, to, .. } = self.cast;
        if !input.len().is_multiple_of(from.size()) {
            let text = format!("{} bytes are not whole numbers of type {}", input.len(), from.v3());
            return Err(CodecError::truncated(text));
        }
        let need = (input.len() / from.size()).checked_mul(to.size());
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        let pieces = input.chunks(PIECE * from.size()).zip(output.chunks_mut(PIECE * to.size()));
        for (index, (input, output)) in pieces.enumerate() {
            if let Some((at, reason)) = self.run(piece, input, output) {
                let value = Held::read(from, &input[at * from.size()..][..from.size()]).shown(from);
                let text =
                    format!("element {} is {value}, which {}", index * PIECE + at, self.reason(reason));
                return Err(fault(text));
            }
        }
        Ok(output.len())
    }
}

impl Coder for CastValueCoder {
    type Scratch = CastValueScratch;

    fn scratch(&self) -> CastValueScratch {
        CastValueScratch { integers: [0; PIECE], floats: [0.0; PIECE], mapped: Vec::new() }
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        let Cast { from, to, .. } = self.encode.cast;
        (len / from.size()).checked_mul(to.size())
    }

    fn encode(&self, scratch: &mut CastValueScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let len = self.encode.all(scratch, input, output, |text| {
            CodecError::values(format!("{text}; set out_of_range, or map it in scalar_map.encode"))
        })?;
        if self.is_tried {
            self.try_to_read(scratch, &output[..len])?;
        }
        Ok(len)
    }

    fn decode(&self, scratch: &mut CastValueScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.decode.all(scratch, input, output, CodecError::corrupt)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let Cast { from, to, .. } = self.decode.cast;
        if !input.len().is_multiple_of(from.size()) {
            let text = format!("{} bytes are not whole numbers of type {}", input.len(), from.v3());
            return Err(CodecError::truncated(text));
        }
        Ok((input.len() / from.size()).checked_mul(to.size()))
    }
}
