use ncz_codec::{CodecError, Coder, Result, copy_bytes};

use crate::config::WORKING;

/// Rounds numbers when it encodes; there is nothing to decode.
#[derive(Debug, Clone, Copy)]
pub struct BitRoundH5Coder {
    numbers: Numbers,
}

/// The element type of a chunk.
#[derive(Debug, Clone, Copy)]
enum Numbers {
    Single(Single),
    Double(Double),
    /// The words do not state the size of a number.
    Unknown {
        words: usize,
        size: u32,
    },
}

/// Defines the rounding of one width; the two differ in nothing but their numbers.
macro_rules! width {
    ($name:ident, $real:ident, $bits:ident, $mantissa:literal) => {
        #[derive(Debug, Clone, Copy)]
        struct $name {
            /// Sign, exponent and the bits of the mantissa that are kept.
            kept: $bits,
            /// Half of the last bit that is kept; 0 if all are kept.
            half: $bits,
            /// NaN, which no number equals, if there is no fill value.
            fill: $real,
        }

        impl $name {
            fn new(keepbits: u32, fill: Option<$bits>) -> Self {
                let fill = fill.map_or($real::NAN, $real::from_bits);
                // HDF5's filter rounds nothing if no bit is kept, or all are.
                match $mantissa - i64::from(keepbits) {
                    dropped @ 1..$mantissa => {
                        Self { kept: $bits::MAX << dropped, half: 1 << (dropped - 1), fill }
                    }
                    _ => Self { kept: $bits::MAX, half: 0, fill },
                }
            }

            fn round(&self, input: &[u8], output: &mut [u8]) {
                let (input, output) = (input.as_chunks().0, output.as_chunks_mut().0);
                for (number, rounded) in input.iter().zip(output) {
                    let number = $real::from_le_bytes(*number);
                    let is_kept = number == self.fill || number == 0.0 || number.is_nan();
                    // Of two numbers as near it is the one farther from 0, which may be infinity.
                    let nearest = number.to_bits().wrapping_add(self.half) & self.kept;
                    *rounded = if is_kept { number.to_bits() } else { nearest }.to_le_bytes();
                }
            }
        }

        const _: () = assert!($real::MANTISSA_DIGITS == $mantissa + 1);
    };
}

width!(Single, f32, u32, 23);
width!(Double, f64, u64, 52);

impl BitRoundH5Coder {
    pub(crate) fn new(words: &[u32]) -> Self {
        let numbers = match *words {
            [keepbits, 4, has_fill, low, _, ..] => {
                Numbers::Single(Single::new(keepbits, (has_fill != 0).then_some(low)))
            }
            [keepbits, 8, has_fill, low, high, ..] => {
                let fill = u64::from(high) << 32 | u64::from(low);
                Numbers::Double(Double::new(keepbits, (has_fill != 0).then_some(fill)))
            }
            _ => Numbers::Unknown { words: words.len(), size: words.get(1).copied().unwrap_or(0) },
        };
        Self { numbers }
    }
}

impl Coder for BitRoundH5Coder {
    type Scratch = ();

    const HAS_FIXED_LEN: bool = true;

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let len = input.len();
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        let check = |size: usize| match len % size {
            0 => Ok(()),
            _ => Err(CodecError::unsupported(format!("{len} bytes are not whole numbers of {size} bytes"))),
        };
        match self.numbers {
            Numbers::Single(single) => check(4).map(|()| single.round(input, output)),
            Numbers::Double(double) => check(8).map(|()| double.round(input, output)),
            Numbers::Unknown { words, size } if words >= WORKING => Err(CodecError::config(
                "cd_values[1]",
                format!("numbers of {size} bytes are not rounded, those of 4 or 8 are"),
            )),
            Numbers::Unknown { words, .. } => Err(CodecError::config(
                "cd_values",
                format!("bitroundh5 rounds with {WORKING} parameters, {words} are stored"),
            )),
        }?;
        Ok(len)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        copy_bytes(input, output)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Ok(Some(input.len()))
    }
}
