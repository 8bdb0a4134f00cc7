//! Names of variables and groups in options: paths, or patterns such as `temp*`.

use glob::{MatchOptions, Pattern};

use crate::escape;

/// `*` and `?` match within one group; `**` matches groups.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// A name in an option. A name that contains `*`, `?` or `[` is a pattern, unless a path is spelled so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamePattern {
    path: String,
    pattern: Option<Pattern>,
}

impl NamePattern {
    /// Reads a name. A backslash makes the next character a part of it.
    pub(crate) fn parse(text: &str) -> Self {
        let path = full_path(&escape::unescape(text));
        let is_pattern = ['*', '?', '['].iter().any(|&special| escape::split_once(text, special).is_some());
        let pattern = is_pattern.then(|| full_path(&escaped_pattern(text)));
        Self { path, pattern: pattern.and_then(|pattern| Pattern::new(&pattern).ok()) }
    }

    /// The name as a path: `/t` for `t`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether this is the name of the path.
    pub(crate) fn is(&self, path: &str) -> bool {
        self.path == path
    }

    /// Whether this is the name of the path, or a pattern that matches it.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.is(path) || self.pattern.as_ref().is_some_and(|pattern| pattern.matches_with(path, OPTIONS))
    }

    /// Returns those of `paths` that are meant: the one with this name, else those that the pattern matches.
    pub(crate) fn select<'a>(&self, paths: impl IntoIterator<Item = &'a str> + Clone) -> Vec<&'a str> {
        match paths.clone().into_iter().find(|path| self.is(path)) {
            Some(path) => vec![path],
            None => paths.into_iter().filter(|path| self.matches(path)).collect(),
        }
    }
}

/// Returns the path of a variable: `/t` for `t`.
pub(crate) fn full_path(name: &str) -> String {
    format!("/{}", name.trim_start_matches('/'))
}

/// Returns a pattern in which the characters that a backslash escapes match themselves.
fn escaped_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped) => pattern.push_str(&Pattern::escape(escaped.encode_utf8(&mut [0; 4]))),
                None => pattern.push('\\'),
            },
            other => pattern.push(other),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 6] = ["/time", "/temp", "/temp_min", "/model/temp", "/a*", "/ab"];

    fn selected(text: &str) -> Vec<&'static str> {
        NamePattern::parse(text).select(PATHS)
    }

    #[test]
    fn a_pattern_matches_names_within_a_group() {
        assert_eq!(selected("temp"), ["/temp"]);
        assert_eq!(selected("temp*"), ["/temp", "/temp_min"]);
        assert_eq!(selected("t??e"), ["/time"]);
        assert_eq!(selected("*/temp"), ["/model/temp"]);
        assert_eq!(selected("**/temp"), ["/temp", "/model/temp"]);
        assert_eq!(selected("/model/*"), ["/model/temp"]);
        assert_eq!(selected("t[ei]m*"), ["/time", "/temp", "/temp_min"]);
        assert!(selected("x*").is_empty() && selected("[").is_empty() && selected("Temp*").is_empty());
    }

    #[test]
    fn a_name_that_is_spelled_like_a_pattern_is_a_name() {
        assert_eq!(selected("a*"), ["/a*"]);
        assert_eq!(selected(r"a\*"), ["/a*"]);
        assert!(selected(r"t\*").is_empty());
    }
}
