//! The four types of numbers that zfp takes.

use zfp_rs::ZfpScalar;

/// A number as stored in a chunk.
pub(crate) trait Number: ZfpScalar {
    const SIZE: usize;
    /// The distance to neighbouring numbers in bits: the rounding that stays within the tolerance.
    const RESOLUTION: f64;

    /// From little-endian bytes, as many as the number has.
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    /// Whether zfp's transform, which adds and subtracts numbers of a block, does not overflow.
    fn is_in_range(self) -> bool;
    fn is_negative(self) -> bool;
    fn to_f64(self) -> f64;
}

macro_rules! number {
    ($type:ty, $resolution:expr, $in_range:expr) => {
        impl Number for $type {
            const SIZE: usize = size_of::<$type>();
            const RESOLUTION: f64 = $resolution;

            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(Self::default(), |bytes| Self::from_le_bytes(*bytes))
            }

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            fn is_in_range(self) -> bool {
                $in_range(self)
            }

            fn is_negative(self) -> bool {
                self < Self::default()
            }

            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    };
}

number!(i32, 0.0, |number| (-(1 << 30)..1 << 30).contains(&number));
number!(i64, 0.0, |number| (-(1 << 62)..1 << 62).contains(&number));
number!(f32, 1.0 / (1_u64 << 20) as f64, f32::is_finite);
number!(f64, 1.0 / (1_u64 << 49) as f64, f64::is_finite);
