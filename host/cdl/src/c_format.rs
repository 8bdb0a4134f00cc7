//! The attribute `C_format`: a format of C's `printf`, with which a variable's numbers are printed.

/// A format with one conversion for numbers, as in `C_format` and `zmapio -F`.
///
/// ```
/// use ncz_cdl::CFormat;
///
/// let mut text = Vec::new();
/// if let Some(format) = CFormat::parse(b"%6.2f m", true) {
///     format.write_float(2.5, &mut text);
/// }
/// assert_eq!(text, b"  2.50 m");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CFormat {
    before: Vec<u8>,
    after: Vec<u8>,
    left: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    conversion: u8,
}

/// The longest accepted format, the widest field and the most digits.
const LONGEST: usize = 99;

impl CFormat {
    /// Parses a format; `None` if it is invalid, or its conversion is not for whole numbers (`floating` false) or
    /// fractions (`floating` true).
    #[must_use]
    pub fn parse(text: &[u8], floating: bool) -> Option<Self> {
        if text.is_empty() || text.len() > LONGEST {
            return None;
        }
        let (before, mut rest) = literal(text);
        rest = rest.strip_prefix(b"%")?;
        let mut format = Self {
            before,
            after: Vec::new(),
            left: false,
            plus: false,
            blank: false,
            alternate: false,
            zeros: false,
            width: 0,
            precision: None,
            conversion: 0,
        };
        while let Some((&flag, after)) = rest.split_first() {
            match flag {
                b'-' => format.left = true,
                b'+' => format.plus = true,
                b' ' => format.blank = true,
                b'#' => format.alternate = true,
                b'0' => format.zeros = true,
                _ => break,
            }
            rest = after;
        }
        (format.width, rest) = number(rest);
        if let Some(after) = rest.strip_prefix(b".") {
            let (precision, after) = number(after);
            format.precision = Some(precision);
            rest = after;
        }
        while let Some(after) = [b'h', b'l', b'L'].iter().find_map(|letter| rest.strip_prefix(&[*letter])) {
            rest = after;
        }
        let (&conversion, after) = rest.split_first()?;
        let fits: &[u8] = if floating { b"eEfFgG" } else { b"diuxXo" };
        if !fits.contains(&conversion) || format.width > LONGEST || format.precision > Some(LONGEST) {
            return None;
        }
        format.conversion = conversion;
        let (after, rest) = literal(after);
        format.after = after;
        rest.is_empty().then_some(format)
    }

    /// Appends a finite number.
    pub fn write_float(&self, value: f64, out: &mut Vec<u8>) {
        let size = value.abs();
        let digits = match self.conversion.to_ascii_lowercase() {
            b'e' => exponential(size, self.precision.unwrap_or(6), self.alternate),
            b'f' => {
                let point = if self.alternate && self.precision == Some(0) { "." } else { "" };
                format!("{size:.*}{point}", self.precision.unwrap_or(6))
            }
            _ => general(size, self.precision.unwrap_or(6).max(1), self.alternate),
        };
        let digits = if self.conversion.is_ascii_uppercase() { digits.to_ascii_uppercase() } else { digits };
        self.field(value.is_sign_negative(), &digits, self.zeros, out);
    }

    /// Appends a whole number of `bits` bits.
    pub fn write_integer(&self, value: i128, bits: u32, out: &mut Vec<u8>) {
        // C prints the bits of a negative number as an unsigned number of at least 32 bits.
        let unsigned = if value < 0 { value + (1i128 << bits.max(32)) } else { value };
        let (negative, mut digits) = match self.conversion {
            b'd' | b'i' => (value < 0, value.unsigned_abs().to_string()),
            b'x' => (false, format!("{unsigned:x}")),
            b'X' => (false, format!("{unsigned:X}")),
            b'o' => (false, format!("{unsigned:o}")),
            _ => (false, unsigned.to_string()),
        };
        if let Some(precision) = self.precision {
            digits = format!("{}{digits}", "0".repeat(precision.saturating_sub(digits.len())));
        }
        if self.alternate && value != 0 {
            match self.conversion {
                b'x' => digits.insert_str(0, "0x"),
                b'X' => digits.insert_str(0, "0X"),
                b'o' => digits.insert(0, '0'),
                _ => {}
            }
        }
        self.field(negative, &digits, self.zeros && self.precision.is_none(), out);
    }

    fn field(&self, negative: bool, digits: &str, zeros: bool, out: &mut Vec<u8>) {
        let signed = !matches!(self.conversion, b'u' | b'x' | b'X' | b'o');
        let sign: &[u8] = match (negative, self.plus && signed, self.blank && signed) {
            (true, _, _) => b"-",
            (_, true, _) => b"+",
            (_, _, true) => b" ",
            _ => b"",
        };
        let padding = self.width.saturating_sub(sign.len() + digits.len());
        let pad = |byte: u8, out: &mut Vec<u8>| out.resize(out.len() + padding, byte);
        out.extend_from_slice(&self.before);
        if !self.left && !zeros {
            pad(b' ', out);
        }
        out.extend_from_slice(sign);
        if !self.left && zeros {
            pad(b'0', out);
        }
        out.extend_from_slice(digits.as_bytes());
        if self.left {
            pad(b' ', out);
        }
        out.extend_from_slice(&self.after);
    }
}

/// The text up to the next conversion, with `%%` as a percent sign, and the rest.
fn literal(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut plain = Vec::new();
    let mut rest = text;
    loop {
        match rest {
            [b'%', b'%', after @ ..] => {
                plain.push(b'%');
                rest = after;
            }
            [] | [b'%', ..] => return (plain, rest),
            [byte, after @ ..] => {
                plain.push(*byte);
                rest = after;
            }
        }
    }
}

fn number(text: &[u8]) -> (usize, &[u8]) {
    let mut value = 0usize;
    let mut rest = text;
    while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
        value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
        rest = after;
    }
    (value, rest)
}

/// Formats a number without a sign as `%e`.
fn exponential(size: f64, precision: usize, point: bool) -> String {
    let text = format!("{size:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if point && precision == 0 { "." } else { "" };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{mantissa}{point}e{sign}{exponent:0>2}")
}

/// Formats a number without a sign as `%g`.
fn general(size: f64, precision: usize, alternate: bool) -> String {
    let scientific = format!("{size:.*e}", precision - 1);
    let exponent: i64 = scientific.split_once('e').and_then(|(_, text)| text.parse().ok()).unwrap_or(0);
    let most = i64::try_from(precision).unwrap_or(i64::MAX);
    let trim = |text: String| match text.contains('.') && !alternate {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if exponent < -4 || exponent >= most {
        let text = exponential(size, precision - 1, alternate);
        let (mantissa, tail) = text.split_once('e').unwrap_or((&text, "+00"));
        format!("{}e{tail}", trim(mantissa.to_owned()))
    } else {
        let places = usize::try_from(most - 1 - exponent).unwrap_or(0);
        let point = if alternate && places == 0 { "." } else { "" };
        trim(format!("{size:.places$}{point}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(format: &str, value: f64) -> Option<String> {
        let mut text = Vec::new();
        CFormat::parse(format.as_bytes(), true)?.write_float(value, &mut text);
        Some(String::from_utf8(text).unwrap())
    }

    fn integer(format: &str, value: i128) -> Option<String> {
        let mut text = Vec::new();
        CFormat::parse(format.as_bytes(), false)?.write_integer(value, 32, &mut text);
        Some(String::from_utf8(text).unwrap())
    }

    // The expected texts come from printf of the C library.
    #[test]
    fn fractions_are_formatted_as_by_printf() {
        for (format, value, text) in [
            ("%.3f", -1.23456, "-1.235"),
            ("%8.2e|", 123456., "1.23e+05|"),
            ("%10.2e|", 123456., "  1.23e+05|"),
            ("%-10.1f|", 2.25, "2.2       |"),
            ("%+06.1f", 2.25, "+002.2"),
            ("%g", 1e-5, "1e-05"),
            ("%g", 100000., "100000"),
            ("%g", 1000000., "1e+06"),
            ("%#.3g", 1., "1.00"),
            ("%G%%", 1e-10, "1E-10%"),
            ("%.0f", 0.5, "0"),
            ("%lf", 0.1, "0.100000"),
            ("% .1f", 3., " 3.0"),
        ] {
            assert_eq!(float(format, value).as_deref(), Some(text), "{format}");
        }
    }

    #[test]
    fn whole_numbers_are_formatted_as_by_printf() {
        for (format, value, text) in [
            ("%5d|", -42, "  -42|"),
            ("%05d", -42, "-0042"),
            ("%.5d", 42, "00042"),
            ("0x%04x", 255, "0x00ff"),
            ("%#x", 255, "0xff"),
            ("%u", -1, "4294967295"),
            ("%lld", 7, "7"),
            ("%o", 8, "10"),
        ] {
            assert_eq!(integer(format, value).as_deref(), Some(text), "{format}");
        }
    }

    #[test]
    fn formats_that_do_not_fit_are_none() {
        for format in ["", "%", "%s", "%d", "%f %f", "%*f", "%1000f", "no conversion", "%n"] {
            assert_eq!(float(format, 1.), None, "{format}");
        }
        assert_eq!(integer("%f", 1), None);
    }
}
