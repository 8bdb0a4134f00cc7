//! The writer: netcdf-c's layout, and numbers with the fewest digits that read back the same.

use super::{Json, special};

/// Writes the document in netcdf-c's style: `": "` after keys, `", "` between members of an object, `","` between those
/// of an array, no line break at the end. The text is strict JSON: bare words are quoted.
#[must_use]
pub fn to_text(json: &Json) -> String {
    let mut text = String::new();
    write(json, false, &mut text);
    text
}

/// Writes like [`to_text`], but `NaN` and `Infinity` stay bare, as writers of pure Zarr do in attributes.
#[must_use]
pub fn to_text_lenient(json: &Json) -> String {
    let mut text = String::new();
    write(json, true, &mut text);
    text
}

/// Writes the document in zarr-python's style: each member of an object and of an array on its own line, indented by
/// two blanks. Bare words stay bare with `bare`, else they are quoted.
#[must_use]
pub fn to_text_indented(json: &Json, bare: bool) -> String {
    let mut text = String::new();
    write_indented(json, bare, 0, &mut text);
    text
}

/// Appends a quoted string; only quotes, backslashes and control characters are escaped.
pub fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            control if control < ' ' => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Writes a finite number with the fewest digits that read back the same, always with a point or an exponent.
///
/// `shortest` is the shortest text that Rust's formatter gives for the number (`{:e}`), so that one function
/// serves `f32` and `f64`.
#[must_use]
pub fn float_text(shortest: &str) -> String {
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|&digit| digit != '.').collect();
    if !(-5..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.unsigned_abs());
    }
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        let zeros = "0".repeat(whole - digits.len());
        return format!("{sign}{digits}{zeros}.0");
    }
    let (before, after) = digits.split_at(whole);
    format!("{sign}{before}.{after}")
}

fn write(json: &Json, bare: bool, text: &mut String) {
    match json {
        Json::Null => text.push_str("null"),
        Json::Bool(true) => text.push_str("true"),
        Json::Bool(false) => text.push_str("false"),
        Json::Number(number) => match special(json) {
            Some(special) if !bare => write_string(special.word(), text),
            _ => text.push_str(number.as_str()),
        },
        Json::String(string) => write_string(string, text),
        Json::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write(item, bare, text);
            }
            text.push(']');
        }
        Json::Object(members) => {
            text.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                write_string(key, text);
                text.push_str(": ");
                write(value, bare, text);
            }
            text.push('}');
        }
    }
}

fn write_indented(json: &Json, bare: bool, depth: usize, text: &mut String) {
    let line = |depth: usize, text: &mut String| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    match json {
        Json::Array(items) if !items.is_empty() => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                line(depth + 1, text);
                write_indented(item, bare, depth + 1, text);
            }
            line(depth, text);
            text.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            text.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                line(depth + 1, text);
                write_string(key, text);
                text.push_str(": ");
                write_indented(value, bare, depth + 1, text);
            }
            line(depth, text);
            text.push('}');
        }
        flat => write(flat, bare, text),
    }
}

#[cfg(test)]
mod tests {
    use crate::json::json;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_layout_is_that_of_netcdf() {
        let json = json!({"a": {"b": [1, 2.5, "x"], "c": []}, "d": {}, "e": null});
        assert_eq!(to_text(&json), r#"{"a": {"b": [1,2.5,"x"], "c": []}, "d": {}, "e": null}"#);
    }

    #[test]
    fn floats_have_the_fewest_digits_and_look_like_floats() {
        for (value, text) in [
            (-999.0f64, "-999.0"),
            (0.1, "0.1"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1e300, "1e+300"),
            (1.5e-30, "1.5e-30"),
            (9.969209968386869e36, "9.969209968386869e+36"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (0.00012, "0.00012"),
        ] {
            assert_eq!(float_text(&format!("{value:e}")), text);
        }
        assert_eq!(float_text(&format!("{:e}", 9.96921e36f32)), "9.96921e+36");
        assert_eq!(float_text(&format!("{:e}", 0.1f32)), "0.1");
    }

    #[test]
    fn bare_words_are_quoted_unless_the_writer_is_lenient() {
        let json = super::super::Special::NaN.bare();
        assert_eq!((to_text(&json).as_str(), to_text_lenient(&json).as_str()), ("\"NaN\"", "NaN"));
    }

    proptest! {
        #[test]
        fn every_double_reads_back_to_the_bit(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = float_text(&format!("{value:e}"));
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap().is_f64());
        }

        #[test]
        fn every_float_reads_back_to_the_bit(bits in any::<u32>()) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = float_text(&format!("{value:e}"));
            prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits);
        }
    }
}
