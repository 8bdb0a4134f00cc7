//! Base64 with the standard alphabet (RFC 4648), which Zarr v2 uses for the fill values of byte strings.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Decodes the text; `None` if it is not padded Base64.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    if text.len() - body.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in body.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &letter in group {
            let six = ALPHABET.iter().position(|&known| known == letter)?;
            bits = bits << 6 | u32::try_from(six).ok()?;
        }
        bits <<= 6 * (4 - group.len());
        let [_, first, second, third] = bits.to_be_bytes();
        bytes.extend([first, second, third].iter().take(group.len() * 6 / 8));
    }
    Some(bytes)
}

/// Encodes the bytes as padded Base64.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut padded = [0u8; 3];
        for (to, &from) in padded.iter_mut().zip(group) {
            *to = from;
        }
        let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for at in 0..4 {
            let six = (bits >> (18 - 6 * at) & 63) as usize;
            text.push(if at <= group.len() { char::from(ALPHABET[six]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648_hold() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
        for text in ["Zg", "Z===", "Zg=a", "Z g=", "é123"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
