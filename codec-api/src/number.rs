//! Numbers in chunks, for codecs that compute with them: types as numpy names them, either byte order, and casts as
//! numpy does them.
//!
//! Codecs work through a chunk in pieces of [`PIECE`] elements, as `i64` or `f64`: every integer type fits in `i64`
//! (`u64` by its bits), every floating-point type in `f64`. For `+`, `-`, `*` and `/`, arithmetic in `f64` followed by
//! [`Number::rounded`] gives the same bits as arithmetic in the narrower type.

mod half;
mod name;
mod scalar;
mod simd;
mod v3;

pub use scalar::Scalar;
pub use simd::PIECE_BYTES;
pub use v3::check_types;

use crate::error::{CodecError, Result};
use crate::repr::{ByteOrder, Dtype, Kind, Repr, Size};

/// The number of elements of one piece; pieces of two types fit in the L1 cache together.
pub const PIECE: usize = 512;

/// A type of numbers: integers of 1, 2, 4 or 8 bytes, floating-point numbers of 2, 4 or 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number(Dtype);

impl Number {
    /// Doubles, in which numpy computes when it combines an integer and a floating-point number.
    pub const DOUBLE: Self = Self(Dtype::little(Kind::Float, 8));

    /// Returns the number type of these elements.
    ///
    /// # Errors
    /// The elements are not numbers that this module supports.
    pub fn new(dtype: Dtype) -> Result<Self> {
        match (dtype.kind, dtype.size) {
            (Kind::Int | Kind::UInt, 1 | 2 | 4 | 8) | (Kind::Float, 2 | 4 | 8) => Ok(Self(dtype)),
            _ => Err(CodecError::unsupported(format!(
                "elements of {} bytes that are neither integers nor floating-point numbers of at most 8 bytes",
                dtype.size
            ))),
        }
    }

    /// The little-endian floating-point type of this size, if there is one.
    pub(crate) fn little_float(size: usize) -> Option<Self> {
        Self::new(Dtype::little(Kind::Float, size)).ok()
    }

    /// Returns the type as the element type of an array.
    pub fn dtype(self) -> Dtype {
        self.0
    }

    /// Returns the size of one number in bytes.
    pub fn size(self) -> usize {
        self.0.size
    }

    /// Tests whether the numbers are floating-point, which are read and written as `f64`; others as `i64`.
    pub fn is_float(self) -> bool {
        self.0.kind == Kind::Float
    }

    /// Tests whether the type is unsigned.
    #[inline]
    pub fn is_unsigned(self) -> bool {
        self.0.kind == Kind::UInt
    }

    /// Returns the type that holds the numbers of both, as `numpy.promote_types` does, little-endian.
    #[must_use]
    pub fn promoted(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        let (kind, size) = match (a.kind, b.kind) {
            (Kind::Float, Kind::Float) => (Kind::Float, a.size.max(b.size)),
            (Kind::Float, _) => (Kind::Float, a.size.max((b.size * 2).min(8))),
            (_, Kind::Float) => (Kind::Float, b.size.max((a.size * 2).min(8))),
            (one, two) if one == two => (one, a.size.max(b.size)),
            _ => {
                let (signed, unsigned) = if a.kind == Kind::Int { (a, b) } else { (b, a) };
                if unsigned.size == 8 {
                    (Kind::Float, 8)
                } else {
                    (Kind::Int, signed.size.max(unsigned.size * 2))
                }
            }
        };
        Self(Dtype::little(kind, size))
    }

    /// Tests whether this type can hold each number of `other`, which must be an integer type. (Floating-point types
    /// are excluded, because a NaN can lose bits in a conversion.)
    pub fn holds_integers_of(self, other: Self) -> bool {
        let bits = 8 * other.size();
        match (self.0.kind, other.0.kind) {
            (_, Kind::Float) => false,
            // The least value of a signed integer type is a power of two.
            (Kind::Float, kind) => {
                let digits = match self.size() {
                    2 => 11,
                    4 => 24,
                    _ => 53,
                };
                bits - usize::from(kind == Kind::Int) <= digits
            }
            (one, two) if one == two => self.size() >= other.size(),
            (Kind::Int, _) => self.size() > other.size(),
            _ => false,
        }
    }

    /// Returns the lowest bits of `value` as an integer of this type, which wraps around.
    #[inline]
    pub fn wrapped(self, value: i64) -> i64 {
        // A shift by the same amount for all numbers of a loop is vectorized.
        let above = 64 - 8 * self.0.size as u32;
        if self.is_unsigned() { ((value as u64) << above >> above) as i64 } else { value << above >> above }
    }

    /// Returns the mathematical value of an integer; for `u64` it differs from that of its `i64` bits.
    pub fn value(self, bits: i64) -> i128 {
        if self.is_unsigned() { i128::from(bits as u64) } else { i128::from(bits) }
    }

    /// Returns the bits of an integer of this type, or `None` if the type does not have that value.
    pub fn integer(self, value: i128) -> Option<i64> {
        let bits = self.wrapped(value as i64);
        (self.value(bits) == value).then_some(bits)
    }

    /// Returns the nearest value of this floating-point type; ties go to even.
    pub fn rounded(self, value: f64) -> f64 {
        match self.0.size {
            2 => half::to_f64(half::from_f64(value)),
            4 => f64::from(value as f32),
            _ => value,
        }
    }

    /// Returns the next larger number of this floating-point type; `value` must be one of its numbers.
    pub fn next_up(self, value: f64) -> f64 {
        match self.0.size {
            2 => half::to_f64(half::next_up(half::from_f64(value))),
            4 => f64::from((value as f32).next_up()),
            _ => value.next_up(),
        }
    }

    /// Returns the next smaller number of this floating-point type; `value` must be one of its numbers.
    pub fn next_down(self, value: f64) -> f64 {
        -self.next_up(-value)
    }

    /// Converts an integer of this type to the floating-point type `to`, rounded once.
    pub fn integer_as_float(self, bits: i64, to: Self) -> f64 {
        // Integers that f2 can hold at all are exact in f4.
        match (self.is_unsigned(), to.0.size) {
            (true, 8) => bits as u64 as f64,
            (false, 8) => bits as f64,
            (true, _) => to.rounded(f64::from(bits as u64 as f32)),
            (false, _) => to.rounded(f64::from(bits as f32)),
        }
    }

    /// Converts a floating-point number to an integer of this type, without its fraction; `None` for NaN and for values
    /// out of range, which are undefined in C.
    pub fn float_as_integer(self, value: f64) -> Option<i64> {
        let mut bits = [0];
        self.floats_as_integers(&[value], &mut bits).is_none().then_some(bits[0])
    }

    /// Converts each of `values` as [`float_as_integer`](Self::float_as_integer) does. An error is the index of the
    /// first value that has no integer; the other results are then not valid.
    pub fn floats_as_integers(self, values: &[f64], integers: &mut [i64]) -> Option<usize> {
        let bits = 8 * self.0.size as i32 - i32::from(!self.is_unsigned());
        let end = 2_f64.powi(bits);
        // Fractions are dropped, so a value between the least number and that number minus one becomes the least
        // number.
        let start = if self.is_unsigned() { -1.0 } else { (-end - 1.0).min((-end).next_down()) };
        let within = |value: f64| (value > start) & (value < end);
        if !values.iter().fold(true, |all, &value| all & within(value)) {
            return values.iter().position(|&value| !within(value));
        }
        let pairs = integers.iter_mut().zip(values);
        if bits < 32 {
            pairs.for_each(|(integer, &value)| *integer = i64::from(truncated(value)));
        } else if self.is_unsigned() {
            pairs.for_each(|(integer, &value)| *integer = value as u64 as i64);
        } else {
            pairs.for_each(|(integer, &value)| *integer = value as i64);
        }
        None
    }

    /// Returns the index of the first of `values` that is finite and would be infinite in this floating-point type.
    pub fn first_too_large(self, values: &[f64]) -> Option<usize> {
        // Half a step above the largest number: from here on, numbers are rounded to infinity.
        let limit = match self.0.size {
            2 => 65_520.0,
            4 => f64::from(f32::MAX) + 2_f64.powi(103),
            _ => return None,
        };
        let too_large = |value: f64| (value.abs() >= limit) & (value.abs() < f64::INFINITY);
        // A loop without an early exit is vectorized.
        if !values.iter().fold(false, |any, &value| any | too_large(value)) {
            return None;
        }
        values.iter().position(|&value| too_large(value))
    }

    /// Converts integers of this type to floating-point numbers of type `to`, each rounded once.
    pub fn integers_as_floats(self, integers: &[i64], to: Self, floats: &mut [f64]) {
        let pairs = floats.iter_mut().zip(integers);
        match (self.0.size, self.is_unsigned(), to.0.size) {
            // Exact in both types.
            (1 | 2, ..) | (4, false, 8) if to.0.size > self.0.size => {
                pairs.for_each(|(float, &bits)| *float = f64::from(bits as i32));
            }
            _ => pairs.for_each(|(float, &bits)| *float = self.integer_as_float(bits, to)),
        }
    }

    /// Reads integers of this type; `bytes` holds one for each of `values`.
    pub fn read_integers(self, bytes: &[u8], values: &mut [i64]) {
        fn each<const N: usize>(bytes: &[u8], values: &mut [i64], read: impl Fn([u8; N]) -> i64) {
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<N>().0) {
                *value = read(*bytes);
            }
        }
        use ByteOrder::{Big, Little};
        match (self.0.kind, self.0.size, self.0.order) {
            (Kind::UInt, 1, _) => each(bytes, values, |b| i64::from(u8::from_le_bytes(b))),
            (Kind::UInt, 2, Little) => each(bytes, values, |b| i64::from(u16::from_le_bytes(b))),
            (Kind::UInt, 2, Big) => each(bytes, values, |b| i64::from(u16::from_be_bytes(b))),
            (Kind::UInt, 4, Little) => each(bytes, values, |b| i64::from(u32::from_le_bytes(b))),
            (Kind::UInt, 4, Big) => each(bytes, values, |b| i64::from(u32::from_be_bytes(b))),
            (_, 1, _) => each(bytes, values, |b| i64::from(i8::from_le_bytes(b))),
            (_, 2, Little) => each(bytes, values, |b| i64::from(i16::from_le_bytes(b))),
            (_, 2, Big) => each(bytes, values, |b| i64::from(i16::from_be_bytes(b))),
            (_, 4, Little) => each(bytes, values, |b| i64::from(i32::from_le_bytes(b))),
            (_, 4, Big) => each(bytes, values, |b| i64::from(i32::from_be_bytes(b))),
            (_, _, Little) => each(bytes, values, i64::from_le_bytes),
            (_, _, Big) => each(bytes, values, i64::from_be_bytes),
        }
    }

    /// Writes integers of this type; only the lowest bits are used.
    pub fn write_integers(self, values: &[i64], bytes: &mut [u8]) {
        use ByteOrder::{Big, Little};
        match (self.0.size, self.0.order) {
            (1, _) => put(values, bytes, |v| (v as u8).to_le_bytes()),
            (2, Little) => put(values, bytes, |v| (v as u16).to_le_bytes()),
            (2, Big) => put(values, bytes, |v| (v as u16).to_be_bytes()),
            (4, Little) => put(values, bytes, |v| (v as u32).to_le_bytes()),
            (4, Big) => put(values, bytes, |v| (v as u32).to_be_bytes()),
            (_, Little) => put(values, bytes, i64::to_le_bytes),
            (_, Big) => put(values, bytes, i64::to_be_bytes),
        }
    }

    /// Reads floating-point numbers of this type; `bytes` holds one for each of `values`.
    pub fn read_floats(self, bytes: &[u8], values: &mut [f64]) {
        fn each<const N: usize>(bytes: &[u8], values: &mut [f64], read: impl Fn([u8; N]) -> f64) {
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<N>().0) {
                *value = read(*bytes);
            }
        }
        use ByteOrder::{Big, Little};
        match (self.0.size, self.0.order) {
            (2, Little) => each(bytes, values, |b| half::to_f64(u16::from_le_bytes(b))),
            (2, Big) => each(bytes, values, |b| half::to_f64(u16::from_be_bytes(b))),
            (4, Little) => each(bytes, values, |b| f64::from(f32::from_le_bytes(b))),
            (4, Big) => each(bytes, values, |b| f64::from(f32::from_be_bytes(b))),
            (_, Little) => each(bytes, values, f64::from_le_bytes),
            (_, Big) => each(bytes, values, f64::from_be_bytes),
        }
    }

    /// Writes floating-point numbers, rounded to this type.
    pub fn write_floats(self, values: &[f64], bytes: &mut [u8]) {
        use ByteOrder::{Big, Little};
        match (self.0.size, self.0.order) {
            (2, Little) => put(values, bytes, |v| half::from_f64(v).to_le_bytes()),
            (2, Big) => put(values, bytes, |v| half::from_f64(v).to_be_bytes()),
            (4, Little) => put(values, bytes, |v| (v as f32).to_le_bytes()),
            (4, Big) => put(values, bytes, |v| (v as f32).to_be_bytes()),
            (_, Little) => put(values, bytes, f64::to_le_bytes),
            (_, Big) => put(values, bytes, f64::to_be_bytes),
        }
    }

    /// Returns the representation of `input`, read as numbers of this type, after each is converted to type `to`.
    ///
    /// # Errors
    /// The input is known not to be integers, or the output would not fit in memory.
    pub fn replaced(self, input: &Repr, to: Self) -> Result<Repr> {
        let longer = |len: usize| {
            len.checked_mul(to.size()).filter(|&len| len <= isize::MAX as usize).ok_or_else(|| {
                CodecError::unsupported(format!("{len} numbers of {} bytes do not fit in memory", to.size()))
            })
        };
        Ok(match (input, input.size()?) {
            (Repr::Array { dtype, shape, .. }, _) if dtype.size == self.size() => {
                longer(self.count(input.size()?.bound().unwrap_or(0))?)?;
                Repr::Array { dtype: to.0, shape: shape.clone(), fill: None }
            }
            (_, Size::Exact(len)) => {
                let count = self.count(len)?;
                longer(count)?;
                Repr::Array { dtype: to.0, shape: vec![count as u64], fill: None }
            }
            (_, Size::AtMost(len)) => Repr::Bytes { size: Size::AtMost(longer(len / self.size())?) },
            (_, Size::Unknown) => Repr::Bytes { size: Size::Unknown },
        })
    }

    /// Returns how many numbers `len` bytes are.
    ///
    /// # Errors
    /// Bytes are left over.
    pub fn count(self, len: usize) -> Result<usize> {
        if len.is_multiple_of(self.size()) {
            return Ok(len / self.size());
        }
        Err(CodecError::unsupported(format!("{len} bytes are not whole numbers of type {self}")))
    }
}

/// Truncates a number within the range of `i32`. A cast also handles other numbers and is not vectorized.
#[inline]
fn truncated(value: f64) -> i32 {
    // From 1.5 * 2^52 on, doubles are integers only, and their lowest bits are those of the integer.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let nearest = (value + WHOLE) - WHOLE;
    let beyond = if nearest.abs() > value.abs() { 1_f64.copysign(value) } else { 0.0 };
    (nearest - beyond + WHOLE).to_bits() as i32
}

/// Returns the nearest integer, ties to even, like [`f64::round_ties_even`], but without a function call per number
/// on processors whose rounding instruction the program cannot assume.
#[inline]
pub fn round_ties_even(value: f64) -> f64 {
    // From here on, numbers have no fractions.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    let whole = WHOLE.copysign(value);
    let rounded = ((value + whole) - whole).copysign(value);
    if value.abs() < WHOLE { rounded } else { value }
}

/// The same for narrower numbers.
#[inline]
pub fn round_ties_even_f32(value: f32) -> f32 {
    const WHOLE: f32 = (1_u32 << 23) as f32;
    let whole = WHOLE.copysign(value);
    let rounded = ((value + whole) - whole).copysign(value);
    if value.abs() < WHOLE { rounded } else { value }
}

fn put<T: Copy, const N: usize>(values: &[T], bytes: &mut [u8], write: impl Fn(T) -> [u8; N]) {
    for (value, bytes) in values.iter().zip(bytes.as_chunks_mut::<N>().0) {
        *bytes = write(*value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_rounded_as_the_standard_library_does() {
        let mut bits = 1_u64;
        let random = std::iter::repeat_with(|| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Half of them between -2^12 and 2^12.
            if bits >> 33 & 1 == 0 {
                f64::from_bits(bits)
            } else {
                (bits as i64 >> 30) as f64 / (1 << 22) as f64
            }
        });
        let halves = (-9..9).map(|half| f64::from(half) / 2.0);
        let edges =
            [0.49999999999999994, 4503599627370495.5, 4503599627370497.0, f64::MAX, f64::INFINITY, 5e-324];
        let edges = edges.into_iter().flat_map(|edge| [edge, -edge, edge.next_up(), -edge.next_down()]);
        for value in random.take(100_000).chain(halves).chain(edges).chain([-0.0, f64::NAN]) {
            let (ours, theirs) = (round_ties_even(value), value.round_ties_even());
            assert!(
                ours.to_bits() == theirs.to_bits() || value.is_nan() && ours.is_nan(),
                "{value:?}: {ours:?}"
            );
            let narrow = value as f32;
            let (ours, theirs) = (round_ties_even_f32(narrow), narrow.round_ties_even());
            assert!(
                ours.to_bits() == theirs.to_bits() || narrow.is_nan() && ours.is_nan(),
                "{narrow:?}: {ours:?}"
            );
        }
    }

    #[test]
    fn the_first_that_is_too_large_is_the_first_that_becomes_infinite() {
        for (text, least) in [("<f2", 65_520.0), (">f4", 3.402_823_567_797_336_6e38), ("<f8", f64::MAX)] {
            let number = number(text);
            for value in [least, least.next_down(), least.next_up(), f64::MAX, f64::INFINITY, f64::NAN, 0.0] {
                let place = (value.is_finite() && number.rounded(value).is_infinite()).then_some(3);
                assert_eq!(number.first_too_large(&[1.0, f64::NAN, f64::INFINITY, value, value]), place);
                assert_eq!(number.first_too_large(&[0.0, 1.0, f64::NEG_INFINITY, -value]), place);
            }
        }
        assert_eq!(number("<f4").first_too_large(&[3.402_823_567_797_336_6e38]), Some(0));
    }

    #[test]
    fn fractions_are_dropped_as_a_cast_drops_them() {
        let edges = (0..31).flat_map(|bit| [0.0, 0.5, 0.75, 1.0, 1.5].map(|by| 2_f64.powi(bit) + by));
        let edges = edges.chain([0.0, 5e-324, 0.3, 0.5, 0.75, 2_147_483_647.0]);
        for value in edges.flat_map(|edge| [edge, edge.next_down(), edge.next_up()]) {
            for value in [value, -value] {
                assert_eq!(truncated(value), value as i32, "{value:?}");
            }
        }
        assert_eq!(truncated(-2_147_483_648.75), i32::MIN);
    }

    #[test]
    fn many_integers_become_the_floats_that_one_does() {
        for from in ["|i1", "|u1", "<i2", ">u2", "<i4", "<u4", ">i8", "<u8"].map(number) {
            let integers: Vec<i64> = (0..64)
                .flat_map(|bit| [-1, 0, 1].map(|by| from.wrapped((1_i64 << bit).wrapping_add(by))))
                .collect();
            for to in ["<f2", ">f4", "<f8"].map(number) {
                let mut floats = vec![0.0; integers.len()];
                from.integers_as_floats(&integers, to, &mut floats);
                let expected = integers.iter().map(|&bits| from.integer_as_float(bits, to));
                assert_eq!(floats, expected.collect::<Vec<_>>(), "{from} {to}");
            }
        }
    }

    #[test]
    fn types_are_promoted_as_numpy_does() {
        for (a, b, both) in [
            ("<i2", "|u1", "<i2"),
            ("<i2", "<u2", "<i4"),
            ("<i4", "<u8", "<f8"),
            ("|u1", "<f2", "<f2"),
            ("<u2", "<f2", "<f4"),
            ("<i4", "<f4", "<f8"),
            (">f4", "<f2", "<f4"),
            ("<i8", "<f2", "<f8"),
        ] {
            assert_eq!(number(a).promoted(number(b)).to_string(), both, "{a} {b}");
            assert_eq!(number(b).promoted(number(a)).to_string(), both, "{b} {a}");
        }
    }

    #[test]
    fn both_orders_hold_the_same_numbers() {
        for text in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"] {
            for order in ['<', '>'] {
                let number = number(&format!("{order}{text}"));
                let values =
                    [0, 1, -1, 127, i64::MIN, i64::MAX, 0x0102_0304_0506_0708].map(|v| number.wrapped(v));
                let mut bytes = vec![0; 7 * number.size()];
                number.write_integers(&values, &mut bytes);
                let mut read = [9; 7];
                number.read_integers(&bytes, &mut read);
                assert_eq!(read, values, "{number}");
            }
        }
        for text in ["f2", "f4", "f8"] {
            for order in ['<', '>'] {
                let number = number(&format!("{order}{text}"));
                let values = [0.0, -0.0, 1.5, f64::INFINITY, 6e-8, -65504.0].map(|v| number.rounded(v));
                let mut bytes = vec![0; 6 * number.size()];
                number.write_floats(&values, &mut bytes);
                let mut read = [9.0; 6];
                number.read_floats(&bytes, &mut read);
                assert_eq!(read.map(f64::to_bits), values.map(f64::to_bits), "{number}");
            }
        }
    }

    #[test]
    fn integers_of_floats_are_within_range_or_refused() {
        for (text, value, integer) in [
            ("|u1", 255.9, Some(255)),
            ("|u1", 256.0, None),
            ("|u1", -0.9, Some(0)),
            ("|u1", -1.0, None),
            ("|i1", -128.9, Some(-128)),
            ("|i1", -129.0, None),
            ("<i8", -9_223_372_036_854_775_808.0, Some(i64::MIN)),
            ("<i8", 9_223_372_036_854_775_808.0, None),
            ("<u8", 18_446_744_073_709_549_568.0, Some(-2048)),
            ("<u8", 18_446_744_073_709_551_616.0, None),
            ("<i8", -9_223_372_036_854_777_856.0, None),
            ("<i4", f64::NAN, None),
            ("<i4", f64::INFINITY, None),
        ] {
            assert_eq!(number(text).float_as_integer(value), integer, "{text} {value}");
        }
    }

    #[test]
    fn large_integers_are_rounded_once() {
        let f4 = number("<f4");
        // Halfway between two floats except for its last bit: rounded to a double first, it would go down.
        let bits: i64 = (1 << 60) + (1 << 36) + 1;
        assert_eq!(number("<i8").integer_as_float(bits, f4), f64::from(bits as f32));
        assert_ne!(number("<i8").integer_as_float(bits, f4), f64::from(bits as f64 as f32));
        assert_eq!(number("<u8").integer_as_float(-1, number("<f8")), 18_446_744_073_709_551_616.0);
        assert_eq!(number("<i4").integer_as_float(70_000, number("<f2")), f64::INFINITY);
    }
}
