//! Floating-point numbers of both sizes, rounded as the C library does it.

/// A floating-point number whose bits are those of an element.
pub(crate) trait Number: Copy + PartialOrd {
    fn of_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn is_finite(self) -> bool;
    /// 10 to the power of `digits`.
    fn power(digits: f64) -> Self;
    /// `self` times `power`, less `least` times `power`.
    fn above(self, least: Self, power: Self) -> Self;
    /// Returns the nearest integer, ties away from zero.
    fn rounded(self) -> i64;
    /// Whether it rounds to more than an integer of this size holds.
    fn is_too_large(self) -> bool;
    /// `steps` divided by `power`, and `least` added.
    fn at(steps: u64, least: Self, power: Self) -> Self;
    /// Whether `other` counts as the same number in looking for the least and the greatest one.
    fn is_near(self, other: Self, digits: i32) -> bool;
    /// Whether `other` counts as the same number in writing.
    fn is_same(self, other: Self, digits: i32) -> bool;
}

macro_rules! number {
    ($float:ty, $bits:ty, $size:literal) => {
        impl Number for $float {
            fn of_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }

            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            fn is_finite(self) -> bool {
                self.is_finite()
            }

            fn power(digits: f64) -> Self {
                (10.0 as $float).powf(digits as $float)
            }

            fn above(self, least: Self, power: Self) -> Self {
                self * power - least * power
            }

            fn rounded(self) -> i64 {
                self.round() as i64
            }

            fn is_too_large(self) -> bool {
                self.round() > (2.0 as $float).powi(8 * $size - 1)
            }

            fn at(steps: u64, least: Self, power: Self) -> Self {
                steps as $float / power + least
            }

            fn is_near(self, other: Self, digits: i32) -> bool {
                // In double precision for both sizes, as HDF5 has it.
                f64::from((self - other).abs()) < 10_f64.powf(-f64::from(digits))
            }

            fn is_same(self, other: Self, digits: i32) -> bool {
                (self - other).abs() < Self::power(-f64::from(digits))
            }
        }
    };
}

number!(f32, u32, 4);
number!(f64, u64, 8);
