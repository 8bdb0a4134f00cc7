//! Integers of one and two bytes, which zfp takes as larger ones of four (Zarr v3; zfp, `zfp_promote_int8_to_int32` and
//! its like).

use ncz_codec::{CodecError, Dtype, Kind, Result};

/// A type of integers of one or two bytes. The numbers are those in the working words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Small {
    I8 = 1,
    U8 = 2,
    I16 = 3,
    U16 = 4,
}

/// The bytes of what zfp takes.
const WIDE: usize = 4;

impl Small {
    pub(crate) const ALL: [Self; 4] = [Self::I8, Self::U8, Self::I16, Self::U16];

    pub(crate) fn of(dtype: &Dtype) -> Option<Self> {
        match (dtype.kind, dtype.size) {
            (Kind::Int, 1) => Some(Self::I8),
            (Kind::UInt, 1) => Some(Self::U8),
            (Kind::Int, 2) => Some(Self::I16),
            (Kind::UInt, 2) => Some(Self::U16),
            _ => None,
        }
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
        }
    }

    /// The bytes in memory of numbers that zfp takes as `wide` bytes.
    pub(crate) fn narrow_len(self, wide: usize) -> usize {
        wide / WIDE * self.size()
    }

    /// Numbers of four bytes in which the highest bit but the sign is that of the type: zfp's transform needs the room.
    pub(crate) fn widen(self, narrow: &[u8], wide: &mut Vec<u8>) -> Result<()> {
        let numbers = narrow.len() / self.size();
        wide.clear();
        wide.try_reserve(numbers.saturating_mul(WIDE)).map_err(|_| {
            CodecError::unsupported(format!(
                "no memory for {numbers} numbers of four bytes, as which zfp takes them"
            ))
        })?;
        let two = || narrow.as_chunks::<2>().0.iter();
        let mut put = |number: i32| wide.extend(number.to_le_bytes());
        match self {
            Self::I8 => narrow.iter().for_each(|byte| put(i32::from(byte.cast_signed()) << 23)),
            Self::U8 => narrow.iter().for_each(|byte| put((i32::from(*byte) - 0x80) << 23)),
            Self::I16 => two().for_each(|bytes| put(i32::from(i16::from_le_bytes(*bytes)) << 15)),
            Self::U16 => two().for_each(|bytes| put((i32::from(u16::from_le_bytes(*bytes)) - 0x8000) << 15)),
        }
        Ok(())
    }

    /// Converts the numbers back; loss is clamped to the range of the type.
    pub(crate) fn narrow(self, wide: &[u8], narrow: &mut [u8]) {
        let numbers = wide.as_chunks::<WIDE>().0.iter().map(|bytes| i32::from_le_bytes(*bytes));
        for (bytes, number) in narrow.chunks_mut(self.size()).zip(numbers) {
            let number = match self {
                Self::I8 => (number >> 23).clamp(-0x80, 0x7f),
                Self::U8 => ((number >> 23) + 0x80).clamp(0, 0xff),
                Self::I16 => (number >> 15).clamp(-0x8000, 0x7fff),
                Self::U16 => ((number >> 15) + 0x8000).clamp(0, 0xffff),
            };
            bytes.copy_from_slice(&number.to_le_bytes()[..bytes.len()]);
        }
    }
}
