//! The names that a codec's project uses.

/// A codec's name in its different spellings.
pub(super) struct Names {
    /// `acme-fpz`: the codec, and its package.
    pub(super) codec: String,
    /// `acme_fpz`: the crate.
    pub(super) snake: String,
    /// `AcmeFpz`: the configuration's type.
    pub(super) camel: String,
}

/// The most letters of a name: it is part of the name of a file.
const LETTERS_MAX: usize = 64;

/// Words that cannot be the name of a crate or of a type of a project that uses `ncz-codec`.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "codec",
    "codec-config",
    "codec-error",
    "codec-info",
    "coder",
    "const",
    "container",
    "continue",
    "core",
    "crate",
    "dialect",
    "do",
    "dtype",
    "dyn",
    "else",
    "enum",
    "env",
    "err",
    "error-kind",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "kind",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "ncz-codec",
    "none",
    "ok",
    "option",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "repr",
    "result",
    "return",
    "self",
    "serde-json",
    "size",
    "some",
    "static",
    "std",
    "string",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "vec",
    "virtual",
    "where",
    "while",
];

impl Names {
    /// Checks a codec's name and derives the other names from it; the error says what is wrong.
    pub(super) fn new(codec: &str) -> Result<Self, String> {
        let refused = |why: &str| Err(format!("the name {codec:?} {why}"));
        if codec.len() > LETTERS_MAX {
            return refused("is longer than 64 letters");
        }
        let words: Vec<&str> = codec.split('-').collect();
        let is_word = |word: &&str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if !codec.starts_with(|first: char| first.is_ascii_lowercase()) || !words.iter().all(is_word) {
            return refused(
                "is not a letter followed by small letters, digits and single hyphens, such as acme-fpz",
            );
        }
        if RESERVED.contains(&codec) {
            return refused("is a word of Rust or of the project; choose another one, such as acme-fpz");
        }
        let camel = words.iter().map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
        Ok(Self { codec: codec.to_owned(), snake: words.join("_"), camel })
    }

    /// The file of the plugin. Hosts look for `lib*.so*`, and for `*.dll` on Windows.
    pub(super) fn library(&self) -> String {
        use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

        format!("{DLL_PREFIX}h5{}{DLL_SUFFIX}", self.snake)
    }

    /// The command that builds the plugin in C.
    pub(super) fn build_c(&self) -> String {
        format!("cc -shared -fPIC -O2 -fvisibility=hidden -I include -o {} {}.c", self.library(), self.snake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_the_crate_the_type_and_the_library() {
        let names = Names::new("acme-fp2-z").unwrap();
        assert_eq!((names.snake.as_str(), names.camel.as_str()), ("acme_fp2_z", "AcmeFp2Z"));
        assert!(names.library().contains("h5acme_fp2_z"));
    }

    #[test]
    fn names_that_no_crate_can_have_are_refused() {
        for name in
            ["", "-a", "a-", "a--b", "2a", "A", "a_b", "a/b", "é", "self", "ncz-codec", &"a".repeat(65)]
        {
            assert!(Names::new(name).is_err(), "{name}");
        }
    }
}
