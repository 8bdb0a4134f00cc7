//! Names in CDL.

/// Returns the name with a backslash before special characters of CDL, and before a leading digit.
#[must_use]
pub fn escaped_name(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for (at, character) in name.chars().enumerate() {
        match character {
            '0'..='9' if at == 0 => {
                escaped.push('\\');
                escaped.push(character);
            }
            ' ' | '!' | '"' | '#' | '$' | '&' | '\'' | '(' | ')' | '*' | ',' | ':' | ';' | '<' | '='
            | '>' | '?' | '[' | ']' | '\\' | '^' | '`' | '{' | '|' | '}' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            control if control.is_ascii_control() => {
                escaped.push_str(&format!("\\%{:02x}", u32::from(control)))
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// Whether a variable of this name needs a blank before the colon of its attributes.
pub(super) fn is_keyword(name: &str) -> bool {
    ["variables", "dimensions", "data", "group", "types"]
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_and_leading_digits_are_escaped() {
        assert_eq!(escaped_name("dim with space"), "dim\\ with\\ space");
        assert_eq!(escaped_name("0"), "\\0");
        assert_eq!(escaped_name("d.dot-x_1"), "d.dot-x_1");
        assert_eq!(escaped_name("température"), "température");
        assert_eq!(escaped_name("a(b)\u{1}"), "a\\(b\\)\\%01");
    }
}
