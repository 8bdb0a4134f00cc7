//! Escapes third-party text for its context.

/// The text without characters that terminals obey and that change how other text looks: control characters become
/// their pictures, invisible ones their numbers. Line ends and tabs stay.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => shown.push('\u{2421}'),
            c if is_invisible(c) => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// The text in one line, visible.
pub(super) fn line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text for XML and HTML, between tags and in quoted values of attributes.
pub(super) fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// [`markup`] for values of XML attributes, in which line ends would become spaces.
pub(super) fn attribute(text: &str) -> String {
    markup(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// The text for a cell of a Markdown table.
pub(super) fn cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '!' => escaped.extend(['\\', c]),
            // Addresses that GitHub would make links of.
            ':' if escaped.ends_with("http") || escaped.ends_with("https") => escaped.push_str("&#58;"),
            '@' => escaped.push_str("&#64;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Tests for characters that are invisible, or that reorder the text around them: controls of the second set, marks of
/// direction, zero widths, tags, and what is not a character.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_of_it() {
        assert_eq!(visible("a\x1b[31mb\r\x07\x7f\n\tc"), "a␛[31mb␍␇␡\n\tc");
        assert_eq!(visible("\u{202e}gnp\u{9b}31m"), "\\u{202e}gnp\\u{9b}31m");
        assert_eq!(visible("Grüße, 圧縮 😀"), "Grüße, 圧縮 😀");
        assert_eq!(line(" two\nlines\t"), "two lines");
    }

    #[test]
    fn markup_has_no_tags_quotes_or_forbidden_characters() {
        assert_eq!(markup("<b a='\"'>&\0\u{fffe}"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;␀\\u{fffe}");
        assert_eq!(attribute("a\nb"), "a&#10;b");
        for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let escaped = markup(&c.to_string());
            // XML 1.0, production 2.
            let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
            assert!(escaped.chars().all(allowed) && !escaped.contains(['<', '>', '"', '\'']), "{c:?}");
        }
    }

    #[test]
    fn a_cell_stays_a_cell() {
        assert_eq!(
            cell("a|b\n<i>`x` *y* [z](http://w)"),
            "a\\|b &lt;i&gt;\\`x\\` \\*y\\* \\[z\\](http&#58;//w)"
        );
    }
}
