//! The text form of a chain: `2|1,6`, with typed constants (netCDF filter documentation, "Filter
//! Specification Syntax").

use super::StageSpec;

/// The errors in the text form of a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecTextError {
    /// A filter is empty.
    #[error("a filter is missing; write filters as ID,PARAM,PARAM and join them by |, e.g. 2|1,6")]
    NoFilter,
    /// A filter id is neither a number from 1 to 65535 nor a name.
    #[error("{text:?} is neither a filter id (1 to 65535) nor a codec name")]
    Id {
        /// The text found.
        text: String,
    },
    /// The `[format]` prefix is not closed or not a number.
    #[error("the prefix [format] is malformed; write e.g. [1]2|1,6 or leave it out")]
    Format,
    /// A parameter is not a constant.
    #[error("parameter {text:?} {problem}")]
    Param {
        /// The parameter.
        text: String,
        /// Why it is not usable.
        problem: &'static str,
    },
}

/// Reads `[format]spec|spec`; the format is checked and otherwise without meaning, as in netcdf-c.
pub(super) fn parse_spec_text(text: &str) -> Result<Vec<StageSpec>, SpecTextError> {
    let mut rest = text.trim_start_matches(' ');
    if let Some(prefixed) = rest.strip_prefix('[') {
        let (format, after) = prefixed.split_once(']').ok_or(SpecTextError::Format)?;
        format.trim().parse::<u32>().map_err(|_| SpecTextError::Format)?;
        rest = after;
    }
    rest.split('|').map(parse_stage).collect()
}

/// Writes filters as text: ids and parameters as plain unsigned numbers.
pub fn format_spec_text(filters: &[(u32, &[u32])]) -> String {
    let mut text = String::new();
    for (index, (id, params)) in filters.iter().enumerate() {
        if index > 0 {
            text.push('|');
        }
        text.push_str(&id.to_string());
        for word in *params {
            text.push(',');
            text.push_str(&word.to_string());
        }
    }
    text
}

fn parse_stage(text: &str) -> Result<StageSpec, SpecTextError> {
    let mut items = text.split(',').map(|item| item.trim_start_matches(' '));
    let head = items.next().unwrap_or("");
    if head.is_empty() {
        return Err(SpecTextError::NoFilter);
    }
    let mut params = Vec::new();
    for item in items {
        push_param(item, &mut params)?;
    }
    let bad_id = || SpecTextError::Id { text: head.to_owned() };
    if head.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let nameable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !head.chars().all(nameable) {
            return Err(bad_id());
        }
        return Ok(StageSpec::Named { name: head.to_owned(), params });
    }
    let digits = head.bytes().all(|b| b.is_ascii_digit());
    match head.parse::<u32>() {
        Ok(id @ 1..=65535) if digits => Ok(StageSpec::Filter { id, params }),
        _ => Err(bad_id()),
    }
}

/// Appends the words of one constant.
///
/// Tags as in netcdf-c: `b ub s us` mask to their width, `u` and none are 32 bits, `f` (or a trailing
/// point) a float, `d` a double and `l ul` 64 bits, in two words. It refuses values that netcdf-c
/// silently misreads (an untagged value over 32 bits, an untagged fraction, other characters after the number).
fn push_param(text: &str, words: &mut Vec<u32>) -> Result<(), SpecTextError> {
    let bad = |problem| SpecTextError::Param { text: text.to_owned(), problem };
    let lower = text.to_ascii_lowercase();
    let number_end = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (number, tag) = lower.split_at(number_end);
    if number.is_empty() {
        return Err(bad("is not a number"));
    }
    let integer = || number.parse::<i128>().map_err(|_| bad("is not a whole number"));
    let within = |value: i128, least: i128, most: i128, problem| {
        if (least..=most).contains(&value) { Ok(value) } else { Err(bad(problem)) }
    };
    const OVER_32: &str = "does not fit 32 bits; write it with the tag l or ul as 64 bits in two words";
    const OVER_64: &str = "does not fit 64 bits";
    match tag {
        "" if let Some(digits) = number.strip_suffix('.') => {
            let digits = Some(digits).filter(|digits| !digits.contains('.'));
            words.push(digits.and_then(parse_f32).ok_or_else(|| bad("is not a number"))?.to_bits());
        }
        "" => {
            if number.contains('.') {
                return Err(bad("is a fraction without a tag; write f (float) or d (double) after it"));
            }
            words.push(within(integer()?, i128::from(i32::MIN), i128::from(u32::MAX), OVER_32)? as u32);
        }
        "b" | "ub" => words
            .push((within(integer()?, i128::from(i64::MIN), i128::from(u64::MAX), OVER_64)? & 0xFF) as u32),
        "s" | "us" => {
            words.push(
                (within(integer()?, i128::from(i64::MIN), i128::from(u64::MAX), OVER_64)? & 0xFFFF) as u32,
            );
        }
        "u" => words.push(within(integer()?, i128::from(i32::MIN), i128::from(u32::MAX), OVER_32)? as u32),
        "f" => words.push(parse_f32(number).ok_or_else(|| bad("is not a float"))?.to_bits()),
        "d" => {
            let value = number.parse().ok().filter(|value: &f64| value.is_finite());
            let value = value.ok_or_else(|| bad("is not a double"))?;
            words.extend(ncz_codec::params::f64_words(value));
        }
        "l" | "ul" => {
            let value = within(integer()?, i128::from(i64::MIN), i128::from(u64::MAX), OVER_64)?;
            words.extend(ncz_codec::params::u64_words(value as u64));
        }
        _ => return Err(bad("ends in characters that are not a type tag (b ub s us u f d l ul)")),
    }
    Ok(())
}

/// A float from decimal text; words such as "inf" have no digits and do not reach this function.
fn parse_f32(text: &str) -> Option<f32> {
    text.parse().ok().filter(|value: &f32| value.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(param: &str) -> Result<Vec<u32>, SpecTextError> {
        let mut words = Vec::new();
        push_param(param, &mut words).map(|()| words)
    }

    #[test]
    fn tagged_constants_are_those_of_netcdf_c() {
        // Each pair was printed by netcdf-c's own parser.
        for (text, want) in [
            ("-17b", vec![239]),
            ("300b", vec![44]),
            ("23ub", vec![23]),
            ("-25s", vec![65511]),
            ("27US", vec![27]),
            ("-5u", vec![4294967291]),
            ("77", vec![77]),
            ("-5", vec![4294967291]),
            ("3.14f", vec![1078523331]),
            ("789.", vec![0x4445_4000]),
            ("3.14d", vec![1374389535, 1074339512]),
            ("12345678.12345678D", vec![3287505826, 1097305129]),
            ("-9223372036854775807L", vec![1, 2147483648]),
            ("18446744073709551615UL", vec![4294967295, 4294967295]),
        ] {
            assert_eq!(words(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_netcdf_c_cuts_in_silence_is_refused() {
        for text in [
            "5000000000",
            "3.14",
            "1e3",
            "0x10",
            "1.5s",
            "3abc",
            "",
            "12 ",
            "4294967296u",
            "-2147483649",
            "f",
            "--1",
            "1e99f",
            "1e999d",
            "1..",
            "1.5.",
        ] {
            assert!(words(text).is_err(), "{text:?} was accepted as {:?}", words(text));
        }
    }

    #[test]
    fn lists_and_prefixes() {
        assert_eq!(
            parse_spec_text(" [2] 2, 4 | 1,6").unwrap_err(),
            SpecTextError::Param { text: "4 ".into(), problem: "is not a whole number" }
        );
        assert_eq!(parse_spec_text("[2] 2, 4| 1,6").unwrap().len(), 2);
        for text in ["", "|1", "1|", "0", "65536", "-1", "[x]1", "[1", "+3", "9zip!"] {
            assert!(parse_spec_text(text).is_err(), "{text:?} was accepted");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(id in 1u32..65536, params: Vec<u32>) {
            let text = format_spec_text(&[(id, &params), (3, &[])]);
            let read = parse_spec_text(&text).unwrap();
            prop_assert_eq!(read, vec![StageSpec::Filter { id, params }, StageSpec::Filter { id: 3, params: vec![] }]);
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text: String) {
            let _ = parse_spec_text(&text);
        }
    }
}
