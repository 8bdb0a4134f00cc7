//! The usual cases, several numbers at a time.

use ncz_codec::number::{PIECE_BYTES, round_ties_even, round_ties_even_f32};

use super::{Arithmetic, FixedScaleOffsetCoder};

impl FixedScaleOffsetCoder {
    /// Encodes a piece of floating-point numbers if that can be done in their own type, as integers of at most 4 bytes
    /// or as the same type; returns whether every number was encoded and can be decoded.
    pub(super) fn encode_at_once(&self, arithmetic: Arithmetic, piece: &[u8], room: &mut [u8]) -> bool {
        // From 1.5 * 2^23 (or 2^52) on, floats are integers only, and their lowest bits are those of the integer:
        // adding it rounds to nearest, ties to even.
        const WHOLE_F32: f32 = 12_582_912.0;
        const WHOLE: f64 = 6_755_399_441_055_744.0;
        let Arithmetic::Floats(arithmetic) = arithmetic else { return false };
        if !self.dtype.is_float() {
            return false;
        }
        let mut swapped = [0; PIECE_BYTES];
        let piece = self.dtype.little(piece, &mut swapped);
        let [least, most] = self.readable;
        let (offset, scale) = (arithmetic.offset as f32, arithmetic.scale as f32);
        let scaled_f32 = |bytes| (f32::from_le_bytes(bytes) - offset) * scale;
        let scaled = |bytes| (f64::from_le_bytes(bytes) - arithmetic.offset) * arithmetic.scale;
        let is_done = if self.astype.is_float() {
            let (least_f32, most_f32) = (least as f32, most as f32);
            match (self.dtype.size(), self.astype.size()) {
                (4, 4) => encode_each(
                    piece,
                    room,
                    |bytes| round_ties_even_f32(scaled_f32(bytes)),
                    |value| (value >= least_f32) & (value <= most_f32),
                    f32::to_le_bytes,
                ),
                (8, 8) => encode_each(
                    piece,
                    room,
                    |bytes| round_ties_even(scaled(bytes)),
                    |value| (value >= least) & (value <= most),
                    f64::to_le_bytes,
                ),
                _ => false,
            }
        } else if [least, most] != Self::ends(self.astype) {
            false
        } else {
            let f32s = |bytes| scaled_f32(bytes) + WHOLE_F32;
            let f64s_of_f32 = |bytes| f64::from(scaled_f32(bytes)) + WHOLE;
            let f64s = |bytes| scaled(bytes) + WHOLE;
            let ends_f32 = [least as f32 + WHOLE_F32, most as f32 + WHOLE_F32];
            let ends = [least + WHOLE, most + WHOLE];
            let within_f32 = |value: f32| (value >= ends_f32[0]) & (value <= ends_f32[1]);
            let within = |value: f64| (value >= ends[0]) & (value <= ends[1]);
            // The lowest bytes of what was added to.
            let low_1 = |value: f64| [value.to_bits() as u8];
            let low_2 = |value: f64| (value.to_bits() as u16).to_le_bytes();
            let low_4 = |value: f64| (value.to_bits() as u32).to_le_bytes();
            let low_1_f32 = |value: f32| [value.to_bits() as u8];
            let low_2_f32 = |value: f32| (value.to_bits() as u16).to_le_bytes();
            match (self.dtype.size(), self.astype.size()) {
                (4, 1) => encode_each(piece, room, f32s, within_f32, low_1_f32),
                (4, 2) => encode_each(piece, room, f32s, within_f32, low_2_f32),
                // Too wide for what is added to f4.
                (4, 4) => encode_each(piece, room, f64s_of_f32, within, low_4),
                (8, 1) => encode_each(piece, room, f64s, within, low_1),
                (8, 2) => encode_each(piece, room, f64s, within, low_2),
                (8, 4) => encode_each(piece, room, f64s, within, low_4),
                _ => false,
            }
        };
        self.astype.order(room);
        is_done
    }
}

/// Encodes each number of a piece; returns whether all are valid. The loop has no early exit.
fn encode_each<const N: usize, const M: usize, F: Copy>(
    piece: &[u8],
    room: &mut [u8],
    encoded: impl Fn([u8; N]) -> F,
    is_good: impl Fn(F) -> bool,
    write: impl Fn(F) -> [u8; M],
) -> bool {
    let mut all = true;
    for (room, bytes) in room.as_chunks_mut().0.iter_mut().zip(piece.as_chunks().0) {
        let value = encoded(*bytes);
        all &= is_good(value);
        *room = write(value);
    }
    all
}

#[cfg(test)]
mod tests {
    use ncz_codec::Number;
    use ncz_codec::number::PIECE;
    use proptest::prelude::*;

    use super::*;
    use crate::factor::Factor;

    const TYPES: [&str; 12] =
        ["|i1", "|u1", "<i2", ">u2", ">i4", "<u4", "<i8", "<f2", "<f4", ">f4", "<f8", ">f8"];

    #[test]
    fn the_ends_of_a_type_are_the_last_that_are_kept() {
        for dtype in ["<f4", ">f8"].map(|text| text.parse::<Number>().unwrap()) {
            for astype in TYPES[..6].iter().map(|text| text.parse::<Number>().unwrap()) {
                let one = Factor::Integer(1);
                let coder = FixedScaleOffsetCoder::new(Factor::Integer(0), one, dtype, astype).unwrap();
                let [least, most] = FixedScaleOffsetCoder::ends(astype);
                for (value, is_kept) in
                    [(least, true), (most, true), (least - 1.0, false), (most + 1.0, false)]
                {
                    let value = [dtype.rounded(value)];
                    let is_kept = if value[0] == least { true } else { is_kept && value[0] == most };
                    let (mut piece, mut room) = (vec![0; dtype.size()], vec![0; astype.size()]);
                    dtype.write_floats(&value, &mut piece);
                    assert_eq!(
                        coder.encode_at_once(coder.arithmetic.clone().unwrap(), &piece, &mut room),
                        is_kept,
                        "{value:?} {dtype} {astype}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_at_once_is_what_is_encoded_step_by_step(
            bits in proptest::collection::vec(any::<u64>(), 1..PIECE),
            least_bits in 40..63_u32,
            strange in proptest::option::weighted(0.2, (any::<prop::sample::Index>(), any::<f64>())),
            offset in prop_oneof![Just(0.0), Just(-0.0), Just(0.5), -300.0..300.0, Just(1e30)],
            scale in prop_oneof![Just(1.0), Just(-1.0), Just(0.5), Just(100.0), 1e-3..300.0, Just(1e-37)],
            dtype in proptest::sample::select(&TYPES[8..]),
            astype in proptest::sample::select(&TYPES[..]),
        ) {
            let (dtype, astype): (Number, Number) = (dtype.parse().unwrap(), astype.parse().unwrap());
            let factors = (Factor::Float(offset), Factor::Float(scale));
            let Ok(coder) = FixedScaleOffsetCoder::new(factors.0, factors.1, dtype, astype) else { return Ok(()) };
            // Including halves of integers.
            let mut values: Vec<f64> =
                bits.iter().map(|&bits| (bits as i64 >> least_bits) as f64 / 8.0 / scale.min(1.0)).collect();
            if let Some((at, value)) = strange {
                *at.get_mut(&mut values) = value;
            }
            let mut piece = vec![0; values.len() * dtype.size()];
            dtype.write_floats(&values, &mut piece);
            let [mut at_once, mut steps] = [(); 2].map(|()| vec![0; values.len() * astype.size()]);
            let Ok(arithmetic) = coder.arithmetic.clone() else { return Ok(()) };
            let is_done = coder.encode_at_once(arithmetic, &piece, &mut at_once);
            let lost = coder.encode_piece(arithmetic, &piece, &mut steps).or_else(|| coder.unreadable(&piece, &steps));
            if is_done {
                prop_assert_eq!(lost, None);
                prop_assert_eq!(at_once, steps);
            } else if !astype.is_float() && astype.size() <= 4 && coder.readable == FixedScaleOffsetCoder::ends(astype) {
                prop_assert!(lost.is_some());
            }
        }
    }
}
