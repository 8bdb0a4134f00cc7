//! Splitting option values in which a backslash escapes the next character.

/// Returns the pieces between unescaped separators, still with their backslashes.
pub(crate) fn split(text: &str, separator: char) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((piece, after)) = split_once(rest, separator) {
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// Splits at the first unescaped separator.
pub(crate) fn split_once(text: &str, separator: char) -> Option<(&str, &str)> {
    positions(text, separator).next().map(|at| (&text[..at], &text[at + separator.len_utf8()..]))
}

/// Splits at the last unescaped separator.
pub(crate) fn rsplit_once(text: &str, separator: char) -> Option<(&str, &str)> {
    positions(text, separator).last().map(|at| (&text[..at], &text[at + separator.len_utf8()..]))
}

/// Returns a name with backslashes before the characters that mean something in lists and patterns of names.
pub(crate) fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        if [',', '&', '=', '\\', '*', '?', '['].contains(&character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Removes the backslashes that escape the next character.
pub(crate) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut escaped = false;
    for character in text.chars() {
        if character == '\\' && !escaped {
            escaped = true;
        } else {
            plain.push(character);
            escaped = false;
        }
    }
    if escaped {
        plain.push('\\');
    }
    plain
}

fn positions(text: &str, separator: char) -> impl Iterator<Item = usize> {
    let mut escaped = false;
    text.char_indices().filter_map(move |(at, character)| {
        let literal = escaped;
        escaped = character == '\\' && !literal;
        (character == separator && !literal).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text with a backslash before each of `special` and before each backslash.
    fn escape(text: &str, special: &[char]) -> String {
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            if character == '\\' || special.contains(&character) {
                escaped.push('\\');
            }
            escaped.push(character);
        }
        escaped
    }

    #[test]
    fn an_escaped_separator_separates_nothing() {
        assert_eq!(split(r"a\,b,c\\,d", ','), [r"a\,b", r"c\\", "d"]);
        assert_eq!(unescape(r"a\,b\\\x\"), r"a,b\x\");
        assert_eq!(rsplit_once("/g/d/10", '/'), Some(("/g/d", "10")));
        assert_eq!(split_once("plain", ','), None);
    }

    proptest! {
        #[test]
        fn any_name_can_be_written(names in prop::collection::vec(any::<String>(), 1..5)) {
            let text = names.iter().map(|name| escape(name, &['&'])).collect::<Vec<_>>().join("&");
            let read: Vec<String> = split(&text, '&').into_iter().map(unescape).collect();
            prop_assert_eq!(read, names);
        }
    }
}
