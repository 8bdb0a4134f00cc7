//! Changes to short texts: words, numbers and signs put together.

use fastrand::Rng;

use super::{any, bytes};

/// Numbers at which something changes.
pub(super) const NUMBERS: [&str; 30] = [
    "0",
    "-0",
    "1",
    "2",
    "-1",
    "3",
    "7",
    "8",
    "9",
    "16",
    "32",
    "64",
    "65",
    "255",
    "256",
    "65535",
    "65536",
    "1000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "0.5",
    "1e18",
    "1e400",
];

/// Changes a text in one way: a sign, a number or one of `words` inserted, replaced, or as bytes.
pub fn mutate(text: &mut Vec<u8>, other: &[u8], words: &[&str], rng: &mut Rng) {
    let new = match rng.u32(..4) {
        0 => any(&NUMBERS, rng),
        1 => any(&["", " ", "\t", "\u{e9}", "\u{feff}", "\u{1f600}", "\u{0}", "%20", "..", "//"], rng),
        _ => any(words, rng),
    };
    let at = rng.usize(..=text.len());
    match rng.u32(..4) {
        0 => bytes::mutate(text, other, rng),
        1 => drop(text.splice(at..at, new.bytes())),
        _ => {
            // A whole token: what a number or a word extends over.
            let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-+".contains(byte);
            let start = at - text[..at].iter().rev().take_while(|byte| is_token(byte)).count();
            let end = at + text[at..].iter().take_while(|byte| is_token(byte)).count();
            text.splice(start..end, new.bytes());
        }
    }
}
