//! Numbers of CDL, and their conversion to types.

use super::error::CdlErrorKind;
use ncz_model::NcType;

/// The longest text of a number in bytes.
pub(super) const MOST_BYTES: usize = 4096;

/// A number, before it has the type of its variable or attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number<'a> {
    /// As written.
    pub(super) text: &'a str,
    pub(super) kind: NumberKind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NumberKind<'a> {
    /// A whole number; the tag is the type of its suffix. Hexadecimal digits are the bits of a number: 0xFF is -1 as a
    /// byte.
    Whole { negative: bool, magnitude: u64, tag: Option<NcType>, is_bits: bool },
    /// A number with a point or an exponent: its digits, and its value as a double.
    Decimal { digits: &'a str, value: f64 },
    /// A number with the suffix of a float, and special values such as `NaNf`.
    Float(f32),
}

/// Whether a byte can be part of a number or of a word such as `NaN`.
pub(super) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_')
}

impl<'a> Number<'a> {
    /// Parses a number.
    pub(super) fn parse(text: &'a str) -> Result<Self, CdlErrorKind> {
        let wrong = |reason| CdlErrorKind::Number { text: text.to_owned(), reason };
        if let Some(kind) = word(text) {
            return Ok(Self { text, kind });
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        let hexadecimal = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
        if let Some(digits) = hexadecimal {
            let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            let (digits, suffix) = digits.split_at(end);
            if digits.is_empty() {
                return Err(wrong("0x needs hexadecimal digits after it"));
            }
            let magnitude = u64::from_str_radix(digits, 16).map_err(|_| wrong("it has more than 64 bits"))?;
            return Self::whole(text, (negative, magnitude, true), suffix);
        }
        let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        let (digits, suffix) = unsigned.split_at(end);
        let is_decimal = suffix.starts_with(['.', 'e', 'E', 'f', 'F', 'd', 'D']);
        if is_decimal {
            return Self::decimal(text);
        }
        if digits.is_empty() {
            return Err(wrong("it has no digits"));
        }
        // As in C, a leading zero makes it octal.
        let magnitude = if digits.len() > 1 && digits.starts_with('0') {
            u64::from_str_radix(digits, 8).map_err(|_| {
                wrong("a leading 0 makes it octal; write it without, or with digits from 0 to 7")
            })?
        } else {
            digits.parse().map_err(|_| wrong("it has more than 64 bits"))?
        };
        Self::whole(text, (negative, magnitude, false), suffix)
    }

    fn whole(
        text: &'a str,
        (negative, magnitude, is_bits): (bool, u64, bool),
        suffix: &str,
    ) -> Result<Self, CdlErrorKind> {
        let tag = tag(suffix).ok_or_else(|| CdlErrorKind::Number {
            text: text.to_owned(),
            reason: "expected after the digits of an integer: b, ub, s, us, l, ul, u, ll or ull, or nothing",
        })?;
        let number = Self { text, kind: NumberKind::Whole { negative, magnitude, tag, is_bits } };
        if let Some(tag) = tag {
            number.check_tag(tag)?;
        } else if negative && magnitude > 1 << 63 {
            return Err(CdlErrorKind::Range { text: text.to_owned(), nc_type: NcType::Int64 });
        }
        Ok(number)
    }

    /// Checks that the value fits the type of the suffix.
    fn check_tag(&self, tag: NcType) -> Result<(), CdlErrorKind> {
        let fits = match tag {
            NcType::Byte => i8::of(self).is_some(),
            NcType::UByte => u8::of(self).is_some(),
            NcType::Short => i16::of(self).is_some(),
            NcType::UShort => u16::of(self).is_some(),
            NcType::Int => i32::of(self).is_some(),
            NcType::UInt => u32::of(self).is_some(),
            NcType::Int64 => i64::of(self).is_some(),
            _ => u64::of(self).is_some(),
        };
        if fits { Ok(()) } else { Err(CdlErrorKind::Range { text: self.text.to_owned(), nc_type: tag }) }
    }

    fn decimal(text: &'a str) -> Result<Self, CdlErrorKind> {
        let wrong = |reason| CdlErrorKind::Number { text: text.to_owned(), reason };
        let range = |nc_type| CdlErrorKind::Range { text: text.to_owned(), nc_type };
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = text.get(digits.len()..).unwrap_or_default();
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || b".+-eE".contains(&byte));
        let value: Option<f64> = if plain { digits.parse().ok() } else { None };
        let value = value.ok_or_else(|| wrong("write it like 1.5, 1e-3 or 1.5f"))?;
        let kind = match suffix {
            "f" | "F" => {
                let value: f32 = digits.parse().map_err(|_| wrong("write it like 1.5f"))?;
                if value.is_infinite() {
                    return Err(range(NcType::Float));
                }
                NumberKind::Float(value)
            }
            "" | "d" | "D" | "l" | "L" if value.is_infinite() => return Err(range(NcType::Double)),
            "" | "d" | "D" | "l" | "L" => NumberKind::Decimal { digits, value },
            _ => {
                return Err(wrong("expected after a number with a point or an exponent: f or d, or nothing"));
            }
        };
        Ok(Self { text, kind })
    }

    /// The type that it gives to an attribute.
    pub(super) fn nc_type(&self) -> NcType {
        match self.kind {
            NumberKind::Float(_) => NcType::Float,
            NumberKind::Decimal { .. } => NcType::Double,
            NumberKind::Whole { tag: Some(tag), .. } => tag,
            NumberKind::Whole { negative, magnitude, tag: None, .. } => match (negative, magnitude) {
                (true, 0..=0x8000_0000) | (false, 0..=0x7FFF_FFFF) => NcType::Int,
                (true, _) => NcType::Int64,
                (false, 0..=0xFFFF_FFFF) => NcType::UInt,
                (false, _) => NcType::UInt64,
            },
        }
    }

    /// Converts the value to a number type.
    pub(super) fn to<T: Element>(self) -> Result<T, CdlErrorKind> {
        T::of(&self).ok_or_else(|| match self.kind {
            NumberKind::Decimal { value, .. } if value.is_finite() && value.fract() != 0.0 => {
                CdlErrorKind::Fraction { text: self.text.to_owned(), nc_type: T::TYPE }
            }
            NumberKind::Float(value) if value.fract() != 0.0 && value.is_finite() => {
                CdlErrorKind::Fraction { text: self.text.to_owned(), nc_type: T::TYPE }
            }
            _ => CdlErrorKind::Range { text: self.text.to_owned(), nc_type: T::TYPE },
        })
    }
}

fn word(text: &str) -> Option<NumberKind<'static>> {
    let double = |value| Some(NumberKind::Decimal { digits: "", value });
    match text {
        "NaN" | "nan" => double(f64::NAN),
        "Infinity" | "DoubleInf" => double(f64::INFINITY),
        "-Infinity" => double(f64::NEG_INFINITY),
        "NaNf" | "nanf" => Some(NumberKind::Float(f32::NAN)),
        "Infinityf" | "Inff" | "FloatInf" => Some(NumberKind::Float(f32::INFINITY)),
        "-Infinityf" | "-Inff" => Some(NumberKind::Float(f32::NEG_INFINITY)),
        _ => None,
    }
}

/// Returns the type of a suffix; the inner `None` means no suffix, the outer `None` an unknown suffix.
fn tag(suffix: &str) -> Option<Option<NcType>> {
    if suffix.len() > 3 {
        return None;
    }
    let lower = suffix.to_ascii_lowercase();
    let (unsigned, letters) = match lower.strip_prefix('u').or_else(|| lower.strip_suffix('u')) {
        Some(letters) => (true, letters),
        None => (false, lower.as_str()),
    };
    Some(Some(match (letters, unsigned) {
        ("", false) => return Some(None),
        ("b", false) => NcType::Byte,
        ("b", true) => NcType::UByte,
        ("s", false) => NcType::Short,
        ("s", true) => NcType::UShort,
        ("l", false) => NcType::Int,
        ("" | "l", true) => NcType::UInt,
        ("ll", false) => NcType::Int64,
        ("ll", true) => NcType::UInt64,
        _ => return None,
    }))
}

/// A number type of variables and attributes.
pub(super) trait Element: Copy {
    const TYPE: NcType;

    /// Converts a number, if the type can hold it.
    fn of(number: &Number<'_>) -> Option<Self>;

    /// Converts a character between quotes.
    fn of_letter(letter: u8) -> Self;

    /// Parses the number at the start of these bytes; returns it and its length. Only for plain numbers whose end is in
    /// the bytes.
    fn quick(bytes: &[u8]) -> Option<(Self, usize)>;

    fn push(self, bytes: &mut Vec<u8>);
}

/// Whether this byte ends a number.
fn ends(byte: u8) -> bool {
    matches!(byte, b',' | b' ' | b';' | b'}' | b'\n' | b'\r' | b'\t')
}

macro_rules! whole_numbers {
    ($($number:ty, $bits:ty => $variant:ident, $letter:expr;)*) => {$(
        impl Element for $number {
            const TYPE: NcType = NcType::$variant;

            fn of(number: &Number<'_>) -> Option<Self> {
                match number.kind {
                    NumberKind::Whole { negative: false, magnitude, is_bits: true, .. } => {
                        magnitude.try_into().ok().or_else(|| Some(<$bits>::try_from(magnitude).ok()? as $number))
                    }
                    NumberKind::Whole { negative: false, magnitude, .. } => magnitude.try_into().ok(),
                    NumberKind::Whole { negative: true, magnitude, tag, .. } => {
                        // Unsigned numbers must not have a sign, even if the value is 0.
                        let unsigned = [NcType::UByte, NcType::UShort, NcType::UInt, NcType::UInt64];
                        if tag.is_some_and(|tag| unsigned.contains(&tag)) {
                            return None;
                        }
                        (-i128::from(magnitude)).try_into().ok()
                    }
                    NumberKind::Decimal { value, .. } => whole(value)?.try_into().ok(),
                    NumberKind::Float(value) => whole(f64::from(value))?.try_into().ok(),
                }
            }

            fn of_letter(letter: u8) -> Self {
                $letter(letter)
            }

            fn quick(bytes: &[u8]) -> Option<(Self, usize)> {
                let negative = *bytes.first()? == b'-';
                let start = usize::from(negative);
                let (mut magnitude, mut at) = (0i64, start);
                loop {
                    let byte = *bytes.get(at)?;
                    match byte {
                        b'0'..=b'9' if at < start + 18 => magnitude = magnitude * 10 + i64::from(byte - b'0'),
                        _ if ends(byte) && at > start => break,
                        _ => return None,
                    }
                    at += 1;
                }
                if at > start + 1 && bytes.get(start) == Some(&b'0') {
                    return None;
                }
                let value = if negative { -magnitude } else { magnitude };
                Some((value.try_into().ok()?, at))
            }

            fn push(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

whole_numbers! {
    i8, u8 => Byte, |letter: u8| letter as i8;
    u8, u8 => UByte, |letter: u8| letter;
    i16, u16 => Short, i16::from;
    u16, u16 => UShort, u16::from;
    i32, u32 => Int, i32::from;
    u32, u32 => UInt, u32::from;
    i64, u64 => Int64, i64::from;
    u64, u64 => UInt64, u64::from;
}

/// Converts a double to the equal whole number; `None` if it is a fraction or has more than 127 bits.
fn whole(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() < 1e38).then_some(value as i128)
}

/// Implements [`Element`] for float types, with the integers and powers of ten that they hold exactly.
macro_rules! floats {
    ($($float:ident => $variant:ident, integers of $bits:literal bits, $powers:expr;)*) => {$(
        impl Element for $float {
            const TYPE: NcType = NcType::$variant;

            fn of(number: &Number<'_>) -> Option<Self> {
                Some(match number.kind {
                    NumberKind::Whole { negative, magnitude, .. } => {
                        let value = magnitude as Self;
                        if negative { -value } else { value }
                    }
                    NumberKind::Decimal { value, .. } if !value.is_finite() => value as Self,
                    // Rounded once, from the digits.
                    NumberKind::Decimal { digits, .. } => {
                        digits.parse().ok().filter(|value: &Self| value.is_finite())?
                    }
                    NumberKind::Float(value) => Self::from(value),
                })
            }

            fn of_letter(letter: u8) -> Self {
                Self::from(letter)
            }

            fn quick(bytes: &[u8]) -> Option<(Self, usize)> {
                let (decimal, at) = Decimal::read(bytes)?;
                // Within these bounds a single rounding gives the nearest number.
                if decimal.mantissa < 1 << $bits
                    && let Some(power) = $powers.get(decimal.places)
                {
                    let value = decimal.mantissa as Self / power;
                    return Some((if decimal.negative { -value } else { value }, at));
                }
                let value: Self = str::from_utf8(bytes.get(..at)?).ok()?.parse().ok()?;
                value.is_finite().then_some((value, at))
            }

            fn push(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

floats! {
    f32 => Float, integers of 24 bits, [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
    f64 => Double, integers of 53 bits, [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
}

/// Digits with or without a point.
struct Decimal {
    negative: bool,
    /// All digits as one number.
    mantissa: u64,
    /// The number of digits after the point.
    places: usize,
}

impl Decimal {
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let negative = *bytes.first()? == b'-';
        let start = usize::from(negative);
        let (mut mantissa, mut at, mut point) = (0u64, start, None);
        loop {
            let byte = *bytes.get(at)?;
            match byte {
                b'0'..=b'9' if at < start + 19 => mantissa = mantissa * 10 + u64::from(byte - b'0'),
                b'.' if point.is_none() => point = Some(at),
                _ if ends(byte) => break,
                _ => return None,
            }
            at += 1;
        }
        let digits = at - start - usize::from(point.is_some());
        // A leading zero makes the digits octal.
        let is_octal = point.is_none() && digits > 1 && bytes.get(start) == Some(&b'0');
        // The full parser refuses whole numbers of more than 64 bits.
        let is_long = point.is_none() && digits > 18;
        if digits == 0 || is_octal || is_long {
            return None;
        }
        let places = point.map_or(0, |point| at - point - 1);
        Some((Self { negative, mantissa, places }, at))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(text: &str) -> Result<NcType, CdlErrorKind> {
        Number::parse(text).map(|number| number.nc_type())
    }

    #[test]
    fn suffixes_name_types() {
        for (text, nc_type) in [
            ("1b", NcType::Byte),
            ("1UB", NcType::UByte),
            ("1bu", NcType::UByte),
            ("1s", NcType::Short),
            ("1US", NcType::UShort),
            ("1", NcType::Int),
            ("1L", NcType::Int),
            ("1u", NcType::UInt),
            ("1UL", NcType::UInt),
            ("1ll", NcType::Int64),
            ("1ULL", NcType::UInt64),
            ("3000000000", NcType::UInt),
            ("-3000000000", NcType::Int64),
            ("5000000000", NcType::UInt64),
            ("1.", NcType::Double),
            (".5", NcType::Double),
            ("1e3", NcType::Double),
            ("1.5L", NcType::Double),
            ("1.5d", NcType::Double),
            ("1f", NcType::Float),
            ("-1.5e-3F", NcType::Float),
            ("NaN", NcType::Double),
            ("-Infinityf", NcType::Float),
            ("0x1F", NcType::Int),
            ("0xFFus", NcType::UShort),
        ] {
            assert_eq!(typed(text), Ok(nc_type), "{text}");
        }
    }

    #[test]
    fn invalid_numbers_and_numbers_out_of_range_are_refused() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "1x",
            "1bb",
            "1ulll",
            "1-2",
            "08",
            "0x",
            "1e",
            "1.5b",
            "1.5ff",
            "e5",
            "inf",
            "--1",
            "99999999999999999999",
            "1e400",
            "1e39f",
            "200b",
            "-1u",
            "-1ub",
            "300ub",
            "40000s",
            "3000000000L",
            "-9223372036854775809",
            "9223372036854775808LL",
            "0x1FFFFFFFFFFFFFFFF",
            "1_000",
        ] {
            assert!(Number::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn types_accept_numbers_that_they_can_hold() {
        let number = |text| Number::parse(text).unwrap();
        assert_eq!(number("017").to::<i32>(), Ok(15));
        assert_eq!(number("-128").to::<i8>(), Ok(-128));
        assert_eq!(number("0xaf").to::<i8>(), Ok(-81));
        assert!(number("0x1af").to::<i8>().is_err());
        assert_eq!(number("1e3").to::<i16>(), Ok(1000));
        assert_eq!(number("-9223372036854775808").to::<i64>(), Ok(i64::MIN));
        assert_eq!(number("18446744073709551615").to::<u64>(), Ok(u64::MAX));
        assert_eq!(number("3.4e38").to::<f32>(), Ok(3.4e38));
        assert_eq!(number("-0").to::<f64>().map(f64::to_bits), Ok((-0.0f64).to_bits()));
        assert!(number("1.1f").to::<f64>().is_ok_and(|value| value == f64::from(1.1f32)));
        assert!(matches!(number("128").to::<i8>(), Err(CdlErrorKind::Range { .. })));
        assert!(matches!(number("1e39").to::<f32>(), Err(CdlErrorKind::Range { .. })));
        assert!(matches!(number("-1").to::<u64>(), Err(CdlErrorKind::Range { .. })));
        assert!(matches!(number("3.5").to::<i32>(), Err(CdlErrorKind::Fraction { .. })));
        assert!(matches!(number("NaN").to::<i32>(), Err(CdlErrorKind::Range { .. })));
    }

    fn agree<T: Element + PartialEq + std::fmt::Debug>(text: &str) {
        let list = format!("{text}, 1");
        if let Some((value, len)) = T::quick(list.as_bytes()) {
            assert_eq!(len, text.len());
            assert_eq!(Number::parse(text).and_then(Number::to::<T>), Ok(value), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_quick_parser_reads_the_same_as_the_full_parser(text in "-?[0-9]{0,20}(\\.[0-9]{0,20})?") {
            agree::<i8>(&text);
            agree::<i64>(&text);
            agree::<u64>(&text);
            agree::<f32>(&text);
            agree::<f64>(&text);
        }
    }
}
