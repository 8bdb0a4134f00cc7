//! The arithmetic of quantization, on elements as bytes in the machine's order.

use std::f64::consts::{LN_2, LN_10};

use super::{Quantize, QuantizeMode};

/// The bits of a decimal digit.
const BITS: f64 = LN_10 / LN_2;
/// The decimal digits of a bit.
const DIGITS: f64 = LN_2 / LN_10;

/// Defines the quantizer of one width; the two widths differ only in their constants.
macro_rules! width {
    ($name:ident, $real:ident, $bits:ident, $mantissa:literal) => {
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name {
            mode: QuantizeMode,
            digits: i32,
            /// The bits that are kept, if they are the same for all values.
            kept: $bits,
            fill: $real,
        }

        impl $name {
            const MANTISSA: i32 = $mantissa;

            pub(super) fn new(quantize: Quantize, fill: $real) -> Self {
                let digits = i32::from(quantize.significant());
                let bits = match quantize.mode() {
                    // One more than the digits need: the first bit is implied.
                    QuantizeMode::BitGroom => (f64::from(digits) * BITS).ceil() as i32 + 1,
                    _ => digits,
                };
                Self { mode: quantize.mode(), digits, kept: Self::mask(bits), fill }
            }

            pub(super) fn apply(&self, first: u64, elements: &mut [u8]) {
                let (elements, _) = elements.as_chunks_mut();
                let mut odd = first % 2 == 1;
                for element in elements {
                    let value = $real::from_ne_bytes(*element);
                    if value.is_finite() && value != 0.0 && value != self.fill {
                        *element = $bits::to_ne_bytes(self.quantized(value, odd));
                    }
                    odd = !odd;
                }
            }

            fn quantized(&self, value: $real, odd: bool) -> $bits {
                let bits = value.to_bits();
                match self.mode {
                    QuantizeMode::BitGroom if odd => bits | !self.kept,
                    QuantizeMode::BitGroom => bits & self.kept,
                    QuantizeMode::BitRound => Self::rounded(bits, self.kept),
                    QuantizeMode::GranularBitRound => {
                        Self::rounded(bits, Self::mask(granular_bits(f64::from(value), self.digits)))
                    }
                }
            }

            /// Rounds to the nearest number that has only bits in `kept`; ties go away from 0.
            fn rounded(bits: $bits, kept: $bits) -> $bits {
                bits.wrapping_add(!kept & (kept >> 1)) & kept
            }

            /// A mask of sign, exponent and the first `kept` bits of the mantissa.
            fn mask(kept: i32) -> $bits {
                $bits::MAX << (Self::MANTISSA - kept).clamp(0, Self::MANTISSA)
            }
        }

        const _: () = assert!($real::MANTISSA_DIGITS == $mantissa + 1);
    };
}

width!(Float, f32, u32, 23);
width!(Double, f64, u64, 52);

/// The number of mantissa bits that GranularBR keeps of a finite number that is not 0.
fn granular_bits(value: f64, digits: i32) -> i32 {
    let (mantissa, exponent) = split(value.abs());
    let log = mantissa.log10();
    let exponent = f64::from(exponent);
    let places = (exponent * DIGITS + log).floor() as i32 + 1;
    let power = (BITS * f64::from(places - digits)).floor() as i32;
    ((exponent - BITS * log).floor() as i32 - power).abs() - 1
}

/// C's `frexp` of a positive number: a mantissa from 0.5 to less than 1, and its exponent of 2.
fn split(value: f64) -> (f64, i32) {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    const HALF: u64 = 0.5f64.to_bits();
    // A subnormal number is made a normal one first.
    let (value, less) = if value < f64::MIN_POSITIVE { (value * 2f64.powi(64), 64) } else { (value, 0) };
    let bits = value.to_bits();
    let exponent = (bits >> MANTISSA) as i32 - (HALF >> MANTISSA) as i32 - less;
    (f64::from_bits(bits & ((1 << MANTISSA) - 1) | HALF), exponent)
}
