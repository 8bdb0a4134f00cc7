//! Documents that are almost JSON.

use ncz_model::json;

/// Precedes a quoted word that was bare in the document; an unused character.
pub(super) const MARK: char = '\u{10FFFD}';

/// Returns the end of the object at the start of a document; `None` if it is incomplete.
pub(super) fn object_end(bytes: &[u8]) -> Option<usize> {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if bytes.get(start) != Some(&b'{') {
        return None;
    }
    let mut depth = 0usize;
    let mut scan = Scan { in_string: false, escaped: false };
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        match scan.structure(byte) {
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Whether `tail` may be the end of an older document, which was longer: with something before it, it would be one
/// object. Another whole object is not.
pub(super) fn is_older_end(tail: &[u8]) -> bool {
    // It may begin inside a string, or after a backslash there.
    let starts = [(false, false), (true, false), (true, true)];
    starts.into_iter().any(|(in_string, escaped)| closes(tail, Scan { in_string, escaped }))
}

fn closes(tail: &[u8], mut scan: Scan) -> bool {
    let mut open = Vec::new();
    let mut closed = false;
    for &byte in tail {
        // Nothing but blanks may follow the brace that closes the whole.
        match scan.structure(byte) {
            Some(b'{' | b'[') => open.push(byte),
            Some(byte @ (b'}' | b']')) => match open.pop() {
                Some(opened) if (opened == b'{') == (byte == b'}') => closed = false,
                Some(_) => return false,
                None => closed = byte == b'}',
            },
            Some(byte) if byte.is_ascii_whitespace() => {}
            _ => closed = false,
        }
    }
    closed && open.is_empty() && !scan.in_string
}

/// The document with every word that JSON does not have in quotes, after a [`MARK`]; `None` if there is none, or the
/// bytes are not text.
pub(super) fn quoted(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains(MARK))?;
    let mut scan = Scan { in_string: false, escaped: false };
    let (mut out, mut word, mut any) = (String::with_capacity(text.len()), String::new(), false);
    for character in text.chars() {
        let was_in_string = scan.in_string;
        let byte = u8::try_from(character).unwrap_or(b'x');
        let structure = scan.structure(byte);
        let ends = was_in_string
            || character.is_ascii_whitespace()
            || matches!(structure, Some(b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"'));
        if !ends {
            word.push(character);
            continue;
        }
        any |= push_word(&mut word, &mut out);
        out.push(character);
    }
    any |= push_word(&mut word, &mut out);
    any.then(|| out.into_bytes())
}

fn push_word(word: &mut String, out: &mut String) -> bool {
    let is_foreign = !word.is_empty() && json::parse(word.as_bytes()).is_err();
    if is_foreign {
        json::write_string(&format!("{MARK}{word}"), out);
    } else {
        out.push_str(word);
    }
    word.clear();
    is_foreign
}

/// Whether a byte of JSON is inside of a text.
struct Scan {
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// The byte, if it is outside of strings; quotes count as outside.
    fn structure(&mut self, byte: u8) -> Option<u8> {
        if !self.in_string {
            self.in_string = byte == b'"';
            return Some(byte);
        }
        let ends = byte == b'"' && !self.escaped;
        self.escaped = byte == b'\\' && !self.escaped;
        self.in_string = !ends;
        ends.then_some(byte)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_object_ends_at_its_last_brace() {
        for (text, wanted) in [
            (r#"{"a": "}"} rest"#, Some(10)),
            (r#" {"a": [{}]}"#, Some(12)),
            (r#"{"a\"}": 1}"#, Some(11)),
            (r#"{"a": [}"#, None),
            ("[1]", None),
            ("", None),
        ] {
            assert_eq!(object_end(text.as_bytes()), wanted, "{text}");
        }
    }

    #[test]
    fn every_end_of_a_document_is_one_and_a_whole_document_is_not() {
        let old = br#"{"units": "K {", "a\"b": [1, {"c": [2]}], "_nczarr_attr": {"types": {"x": ">S1"}}}"#;
        for at in 1..old.len() {
            assert!(is_older_end(&old[at..]), "{:?}", std::str::from_utf8(&old[at..]));
        }
        for tail in [&b"{}"[..], b"{\"a\": 1}", b" ", b"x", b"]", b"}}x", b"{", b"} {\"a\": 2}"] {
            assert!(!is_older_end(tail), "{:?}", std::str::from_utf8(tail));
        }
    }

    #[test]
    fn words_are_quoted_and_nothing_else() {
        let text = r#"{"units": nan, "b": [0x10, 5., 1.5e3, NaN], "c": "nan, \" 5.", "d": -nan, "e": null}"#;
        let wanted = text
            .replace(": nan", &format!(": \"{MARK}nan\""))
            .replace("0x10", &format!("\"{MARK}0x10\""))
            .replace(" 5., 1", &format!(" \"{MARK}5.\", 1"))
            .replace("-nan", &format!("\"{MARK}-nan\""));
        assert_eq!(quoted(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap()), Some(wanted));
        assert_eq!(quoted(br#"{"a": [1, true, "x"], "b": -Infinity}"#), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at_without_a_panic(bytes in prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), Just(b'"'), Just(b'\\'), Just(b'n'), Just(b','), any::<u8>()], 0..40)) {
            object_end(&bytes);
            is_older_end(&bytes);
            if let Some(text) = quoted(&bytes) {
                prop_assert!(text.len() > bytes.len());
            }
        }
    }
}
