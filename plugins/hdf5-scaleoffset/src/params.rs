//! The working words of HDF5's filter: scale type, scale factor, elements of a chunk, class, size, sign, byte order,
//! whether there is a fill value, and the fill value, least significant word first.

use ncz_codec::{ByteOrder, CodecError, Dtype, Kind, Result};

/// The number of working words.
pub(crate) const WORKING: usize = 20;
/// The number of words that a user gives.
pub(crate) const GIVEN: usize = 2;
/// The index of the first word of the fill value.
const FILL: usize = 8;
/// Scale types: decimal digits of floating-point numbers, powers of two (which HDF5 never had), bits of integers.
const DECIMAL: u32 = 0;
const BINARY: u32 = 1;
const BITS: u32 = 2;

/// The precision to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Floating-point numbers: the number of digits after the decimal point; negative numbers round to tens, hundreds
    /// and so on.
    Digits(i32),
    /// Integers: this many bits of what is above the least of a chunk; 0 for as many as a chunk needs, which loses
    /// nothing.
    Bits(u32),
}

/// The elements of a chunk and what is done with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    pub(crate) scale: Scale,
    /// Elements of a chunk.
    pub(crate) count: usize,
    /// Bytes of an element: 1, 2, 4 or 8; 4 or 8 of floating-point numbers.
    pub(crate) size: usize,
    pub(crate) signed: bool,
    pub(crate) order: ByteOrder,
    /// The bits of the fill value, in the least significant bits.
    pub(crate) fill: Option<u64>,
}

impl Scale {
    /// The first two words.
    pub(crate) fn words(self) -> [u32; GIVEN] {
        match self {
            Self::Digits(digits) => [DECIMAL, digits as u32],
            Self::Bits(bits) => [BITS, bits],
        }
    }

    pub(crate) fn parse(words: &[u32; GIVEN]) -> Result<Self> {
        match *words {
            [DECIMAL, digits] => Ok(Self::Digits(digits as i32)),
            [BINARY, _] => Err(CodecError::config(
                "cd_values[0]",
                "scaling by powers of two (1) was never part of HDF5; 0 scales by powers of ten",
            )),
            // HDF5 takes a negative number of bits for "as many as are needed".
            [BITS, bits] if (bits as i32) < 0 => Ok(Self::Bits(0)),
            [BITS, bits @ 0..=64] => Ok(Self::Bits(bits)),
            [BITS, bits] => {
                Err(CodecError::config("cd_values[1]", format!("{bits} bits are more than a number has")))
            }
            [other, _] => Err(CodecError::config(
                "cd_values[0]",
                format!(
                    "scale type {other} is neither 0 (digits of floating-point numbers) nor 2 (bits of integers)"
                ),
            )),
        }
    }
}

impl Params {
    /// For chunks of `count` numbers of `dtype`.
    pub(crate) fn new(scale: Scale, count: u64, dtype: Dtype, fill: Option<&[u8]>) -> Result<Self> {
        let count = u32::try_from(count)
            .map_err(|_| CodecError::unsupported(format!("{count} elements are too many for scaleoffset")))?;
        let params = Self {
            scale,
            count: count as usize,
            size: dtype.size,
            signed: dtype.kind == Kind::Int,
            order: dtype.order,
            fill: fill.filter(|fill| fill.len() == dtype.size).map(|fill| {
                let push = |value, &byte| value << 8 | u64::from(byte);
                match dtype.order {
                    ByteOrder::Little => fill.iter().rev().fold(0, push),
                    ByteOrder::Big => fill.iter().fold(0, push),
                }
            }),
        };
        match (dtype.kind, scale) {
            (Kind::Float, Scale::Digits(_)) if [4, 8].contains(&dtype.size) => {}
            (Kind::Int | Kind::UInt, Scale::Bits(_)) if [1, 2, 4, 8].contains(&dtype.size) => {}
            (Kind::Float, Scale::Bits(_)) if [4, 8].contains(&dtype.size) => {
                return Err(CodecError::config("cd_values[0]", "floating-point numbers need scale type 0"));
            }
            (Kind::Int | Kind::UInt, Scale::Digits(_)) => {
                return Err(CodecError::config("cd_values[0]", "integers need scale type 2"));
            }
            (kind, _) => {
                return Err(CodecError::unsupported(format!(
                    "scaleoffset takes integers and floating-point numbers of 4 or 8 bytes, not {kind:?} of {}",
                    dtype.size
                )));
            }
        }
        params.check()
    }

    /// Reads the words of the filter.
    pub(crate) fn parse(words: &[u32; WORKING]) -> Result<Self> {
        let [scale_type, factor, count, class, size, sign, order, filled, fill @ ..] = *words;
        let scale = Scale::parse(&[scale_type, factor])?;
        let wrong = |place: usize, what: &str| {
            CodecError::config(format!("cd_values[{place}]"), format!("{} is not a {what}", words[place]))
        };
        match (class, scale, size) {
            (0, Scale::Bits(_), 1 | 2 | 4 | 8) | (1, Scale::Digits(_), 4 | 8) => {}
            (0 | 1, _, 1 | 2 | 4 | 8) => return Err(wrong(0, "scale type for this class")),
            (0 | 1, ..) => return Err(wrong(4, "size of such numbers")),
            _ => return Err(wrong(3, "class of numbers")),
        }
        let params = Self {
            scale,
            count: count as usize,
            size: size as usize,
            signed: match sign {
                0 => false,
                1 => true,
                _ => return Err(wrong(5, "sign")),
            },
            order: match order {
                0 => ByteOrder::Little,
                1 => ByteOrder::Big,
                _ => return Err(wrong(6, "byte order")),
            },
            fill: match filled {
                0 => None,
                1 => Some((u64::from(fill[0]) | u64::from(fill[1]) << 32) & mask(8 * size)),
                _ => return Err(wrong(7, "answer to whether there is a fill value")),
            },
        };
        params.check()
    }

    /// The words of the filter.
    pub(crate) fn words(&self) -> [u32; WORKING] {
        let [scale_type, factor] = self.scale.words();
        let mut words = [0; WORKING];
        let class = matches!(self.scale, Scale::Digits(_));
        let order = self.order == ByteOrder::Big;
        words[..FILL].copy_from_slice(&[
            scale_type,
            factor,
            self.count as u32,
            class.into(),
            self.size as u32,
            self.signed.into(),
            order.into(),
            self.fill.is_some().into(),
        ]);
        let fill = self.fill.unwrap_or(0);
        words[FILL..FILL + 2].copy_from_slice(&[fill as u32, (fill >> 32) as u32]);
        words
    }

    /// The bits of an element.
    pub(crate) fn width(&self) -> u32 {
        8 * self.size as u32
    }

    /// The bytes of a chunk.
    pub(crate) fn len(&self) -> usize {
        self.count.saturating_mul(self.size)
    }

    fn check(self) -> Result<Self> {
        match self.scale {
            Scale::Bits(bits) if bits > self.width() => Err(CodecError::config(
                "cd_values[1]",
                format!("{bits} bits are more than the {} that a number has", self.width()),
            )),
            _ => Ok(self),
        }
    }
}

/// The lower `width` bits set.
pub(crate) fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(64 - width).unwrap_or(0)
}
