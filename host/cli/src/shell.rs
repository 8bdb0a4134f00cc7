//! Quoting for a shell.

/// Returns a text as one word of a POSIX shell.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn text_with_special_characters_is_quoted() {
        assert_eq!(quoted("/a/b-1.zarr"), "/a/b-1.zarr");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("x#mode=s3&a"), "'x#mode=s3&a'");
    }
}
