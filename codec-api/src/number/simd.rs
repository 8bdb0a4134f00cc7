//! Loops over numbers in memory that the compiler can vectorize: without an early exit and without wider intermediate
//! numbers.

use std::ops::BitOr;

use super::{Number, PIECE};
use crate::repr::ByteOrder;

/// Room for a piece of any type.
pub const PIECE_BYTES: usize = 8 * PIECE;

impl Number {
    /// Returns the numbers of a piece in little-endian order: `bytes` themselves, or a swapped copy in
    /// `room`.
    pub fn little<'a>(self, bytes: &'a [u8], room: &'a mut [u8; PIECE_BYTES]) -> &'a [u8] {
        if self.0.order == ByteOrder::Little || self.0.size == 1 {
            return bytes;
        }
        let room = &mut room[..bytes.len()];
        room.copy_from_slice(bytes);
        self.order(room);
        room
    }

    /// Converts little-endian numbers to the byte order of this type.
    pub fn order(self, bytes: &mut [u8]) {
        fn each<const N: usize>(bytes: &mut [u8], swapped: impl Fn([u8; N]) -> [u8; N]) {
            for bytes in bytes.as_chunks_mut::<N>().0 {
                *bytes = swapped(*bytes);
            }
        }
        match (self.0.order, self.0.size) {
            (ByteOrder::Big, 2) => each(bytes, |b| u16::from_be_bytes(b).to_le_bytes()),
            (ByteOrder::Big, 4) => each(bytes, |b| u32::from_be_bytes(b).to_le_bytes()),
            (ByteOrder::Big, 8) => each(bytes, |b| u64::from_be_bytes(b).to_le_bytes()),
            _ => {}
        }
    }

    /// Writes the lowest bytes of little-endian integers of this type as integers of the narrower type `to`. Returns
    /// whether all integers keep their values; if not, the caller looks for the first that does not.
    pub fn narrow(self, bytes: &[u8], to: Self, room: &mut [u8]) -> bool {
        fn each<const N: usize, const M: usize, T: Copy + Default + BitOr<Output = T> + Into<u64>>(
            bytes: &[u8],
            room: &mut [u8],
            read: impl Fn([u8; N]) -> T,
            above_least: impl Fn(T) -> T,
            write: impl Fn(T) -> [u8; M],
        ) -> u64 {
            let mut all = T::default();
            for (room, bytes) in room.as_chunks_mut::<M>().0.iter_mut().zip(bytes.as_chunks::<N>().0) {
                let value = read(*bytes);
                all = all | above_least(value);
                *room = write(value);
            }
            all.into()
        }
        let bits = 8 * to.0.size;
        // Offset by the least number of the type, its numbers are those without a bit above its width.
        let least = if to.is_unsigned() { 0_u64 } else { 1 << (bits - 1) };
        let (in_2, in_4) = (|v: u16| v.wrapping_add(least as u16), |v: u32| v.wrapping_add(least as u32));
        let in_8 = |v: u64| v.wrapping_add(least);
        let all = match (self.0.size, to.0.size) {
            (2, _) => each(bytes, room, u16::from_le_bytes, in_2, |v| [v as u8]),
            (4, 1) => each(bytes, room, u32::from_le_bytes, in_4, |v| [v as u8]),
            (4, _) => each(bytes, room, u32::from_le_bytes, in_4, |v| (v as u16).to_le_bytes()),
            (_, 1) => each(bytes, room, u64::from_le_bytes, in_8, |v| [v as u8]),
            (_, 2) => each(bytes, room, u64::from_le_bytes, in_8, |v| (v as u16).to_le_bytes()),
            (_, _) => each(bytes, room, u64::from_le_bytes, in_8, |v| (v as u32).to_le_bytes()),
        };
        to.order(room);
        all >> bits == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGERS: [&str; 14] =
        ["|i1", "|u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8"];

    #[test]
    fn narrow_integers_are_those_that_round_trip() {
        let edges = (0..64).flat_map(|bit| [-1, 0, 1].map(|by| (1_i64 << bit).wrapping_add(by)));
        let values: Vec<i64> = edges.flat_map(|value| [value, value.wrapping_neg()]).collect();
        for (from, to) in INTEGERS.iter().flat_map(|from| INTEGERS.iter().map(move |to| (from, to))) {
            let (from, to) = (from.parse::<Number>().unwrap(), to.parse::<Number>().unwrap());
            if to.size() >= from.size() {
                continue;
            }
            for value in values.iter().map(|&value| from.wrapped(value)) {
                // Among zeros, at any position.
                for at in [0, 20] {
                    let mut integers = [0; 21];
                    integers[at] = value;
                    let (mut bytes, mut expected) = ([0; 21 * 8], [0; 21 * 4]);
                    let (mut room, mut narrow) = ([0; PIECE_BYTES], [0; 21 * 4]);
                    let (bytes, narrow) = (&mut bytes[..21 * from.size()], &mut narrow[..21 * to.size()]);
                    from.write_integers(&integers, bytes);
                    let same = from.narrow(from.little(bytes, &mut room), to, narrow);
                    assert_eq!(same, from.wrapped(to.wrapped(value)) == value, "{value} {from} {to}");
                    let expected = &mut expected[..21 * to.size()];
                    to.write_integers(&integers, expected);
                    assert_eq!(narrow, expected, "{value} {from} {to}");
                }
            }
        }
    }
}
