//! The codecs that the user requests for variables: the options `-F`, `--codec`, `-d` and `--compress`.
//!
//! `-F` is the option of nccopy. The precedence is that of its manual page ("Filter Specification"): a request that names
//! the variable; else one for all variables; else the codecs of the input. A request replaces the codecs of the input,
//! also if these are deflate, for which nccopy ignores it.

use std::fmt;

use ncz::registry::spec::{ChainSpec, SpecError, StageSpec};

use crate::escape;
use crate::name_pattern::NamePattern;

/// The codecs that are requested for a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RequestedCodecs {
    /// No codecs.
    None,
    /// This chain.
    Chain(ChainSpec),
    /// Codecs chosen by the type.
    ByType,
}

/// The variables that a [`CodecRequest`] is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selector {
    /// All variables; those that cannot have codecs stay as they are.
    All,
    /// These variables.
    Named(Vec<NamePattern>),
}

/// One option of the user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CodecRequest {
    pub(crate) selector: Selector,
    pub(crate) codecs: RequestedCodecs,
    /// The option and its value, for messages.
    pub(crate) given: OptionText,
}

/// An option and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionText {
    pub(crate) option: &'static str,
    pub(crate) text: String,
}

/// What is done with one variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision<'a> {
    /// It keeps the codecs of the input.
    Keep,
    /// A request names the variable.
    Named(&'a CodecRequest),
    /// A request is for all variables; one that cannot have the codecs is skipped.
    All(&'a CodecRequest),
}

/// An error in a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodecRequestError {
    /// No specification after the name.
    #[error(
        "a comma is missing between the variable and its filters; write VARIABLE,FILTERS such as t,zstd,3, or '*',FILTERS for every variable, or none"
    )]
    NoComma,
    /// A name is empty.
    #[error("a variable name is empty; write VARIABLE,FILTERS such as t,zstd,3")]
    NoName,
    /// The specification itself.
    #[error("cannot use the filters {text:?}")]
    Chain {
        /// The specification.
        text: String,
        /// What is wrong with it.
        source: SpecError,
    },
    /// Two requests for the same variable.
    #[error("{subject} has codecs already, from {other}; write a chain of several codecs as A|B")]
    Twice {
        /// A variable, or all.
        subject: String,
        /// The earlier option.
        other: OptionText,
    },
}

impl CodecRequest {
    /// Reads the value of `-F`: `none`, or `VARIABLES,FILTERS` where `VARIABLES` is `*` or names joined by
    /// `&`, and `FILTERS` is `none` or a chain. A backslash before `,`, `&` or `\` makes it part of a name.
    ///
    /// # Errors
    /// Any other form.
    pub(crate) fn parse_filter(text: &str) -> Result<Self, CodecRequestError> {
        let given = OptionText { option: "-F", text: text.to_owned() };
        if text == "none" {
            return Ok(Self { selector: Selector::All, codecs: RequestedCodecs::None, given });
        }
        let (names, filters) = escape::split_once(text, ',').ok_or(CodecRequestError::NoComma)?;
        Ok(Self { selector: Selector::parse(names)?, codecs: RequestedCodecs::parse(filters)?, given })
    }

    /// Reads the value of `--codec`: a chain in any form, or `VARIABLES=CHAIN`.
    ///
    /// # Errors
    /// Any other form.
    pub(crate) fn parse_codec(text: &str) -> Result<Self, CodecRequestError> {
        let given = OptionText { option: "--codec", text: text.to_owned() };
        // JSON can contain `=`; a name does not begin like JSON.
        let named = escape::split_once(text, '=').filter(|_| !text.trim_start().starts_with(['{', '[']));
        let (selector, chain) = match named {
            Some((names, chain)) => (Selector::parse(names)?, chain),
            None => (Selector::All, text),
        };
        Ok(Self { selector, codecs: RequestedCodecs::parse(chain)?, given })
    }

    /// Makes the request of `-d LEVEL` and `-s`.
    pub(crate) fn deflate(level: u32, shuffle: bool) -> Self {
        let mut stages = Vec::new();
        if shuffle {
            stages.push(StageSpec::Filter { id: 2, params: Vec::new() });
        }
        if level > 0 {
            stages.push(StageSpec::Filter { id: 1, params: vec![level] });
        }
        let codecs = if stages.is_empty() {
            RequestedCodecs::None
        } else {
            RequestedCodecs::Chain(ChainSpec::new(stages))
        };
        Self { selector: Selector::All, codecs, given: OptionText { option: "-d", text: level.to_string() } }
    }

    /// Makes the request of `--compress`.
    pub(crate) fn compress() -> Self {
        let given = OptionText { option: "--compress", text: String::new() };
        Self { selector: Selector::All, codecs: RequestedCodecs::ByType, given }
    }
}

impl Selector {
    fn parse(text: &str) -> Result<Self, CodecRequestError> {
        let names = escape::split(text, '&');
        if names.contains(&"*") {
            return Ok(Self::All);
        }
        let names: Vec<NamePattern> = names.into_iter().map(NamePattern::parse).collect();
        if names.iter().any(|name| name.path().trim_matches('/').is_empty()) {
            return Err(CodecRequestError::NoName);
        }
        Ok(Self::Named(names))
    }
}

impl RequestedCodecs {
    fn parse(text: &str) -> Result<Self, CodecRequestError> {
        if text.trim() == "none" {
            return Ok(Self::None);
        }
        let chain = ChainSpec::parse(text)
            .map_err(|source| CodecRequestError::Chain { text: text.to_owned(), source })?;
        Ok(if chain.is_empty() { Self::None } else { Self::Chain(chain) })
    }
}

/// Checks that there is one request for each variable.
///
/// # Errors
/// Two requests for the same variable, or for all variables.
pub(crate) fn check(requests: &[CodecRequest]) -> Result<(), Box<(OptionText, CodecRequestError)>> {
    for (index, request) in requests.iter().enumerate() {
        let twice = |subject: String, other: &CodecRequest| {
            let error = CodecRequestError::Twice { subject, other: other.given.clone() };
            Box::new((request.given.clone(), error))
        };
        for other in &requests[..index] {
            match (&request.selector, &other.selector) {
                (Selector::All, Selector::All) => {
                    return Err(twice("every variable".to_owned(), other));
                }
                (Selector::Named(names), Selector::Named(others)) => {
                    if let Some(name) = names.iter().find(|name| others.contains(name)) {
                        return Err(twice(format!("variable {:?}", name.path()), other));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns what is done with the variable of this path.
pub(crate) fn decide<'a>(requests: &'a [CodecRequest], path: &str) -> Decision<'a> {
    let any = |request: &CodecRequest, is_meant: fn(&NamePattern, &str) -> bool| matches!(&request.selector, Selector::Named(names) if names.iter().any(|name| is_meant(name, path)));
    let named = requests.iter().find(|request| any(request, NamePattern::is));
    // The last pattern that matches, as with the rules of most tools.
    let matched = || requests.iter().rfind(|request| any(request, NamePattern::matches));
    if let Some(request) = named.or_else(matched) {
        return Decision::Named(request);
    }
    match requests.iter().find(|request| request.selector == Selector::All) {
        Some(request) => Decision::All(request),
        None => Decision::Keep,
    }
}

/// Returns the first name in a request that means none of `paths`, with its option.
pub(crate) fn unknown<'a>(requests: &'a [CodecRequest], paths: &[&str]) -> Option<(&'a str, &'a OptionText)> {
    requests.iter().find_map(|request| match &request.selector {
        Selector::All => None,
        Selector::Named(names) => {
            let unknown = names.iter().find(|name| !paths.iter().any(|path| name.matches(path)));
            unknown.map(|name| (name.path(), &request.given))
        }
    })
}

impl fmt::Display for OptionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            f.write_str(self.option)
        } else {
            write!(f, "{} {}", self.option, self.text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(texts: &[&str]) -> Vec<CodecRequest> {
        texts.iter().map(|text| CodecRequest::parse_filter(text).unwrap()).collect()
    }

    fn named(names: &[&str]) -> Selector {
        Selector::Named(names.iter().map(|name| NamePattern::parse(name)).collect())
    }

    fn outcome(texts: &[&str], path: &str) -> String {
        let requests = requests(texts);
        check(&requests).unwrap();
        match decide(&requests, path) {
            Decision::Keep => "input".to_owned(),
            Decision::Named(request) | Decision::All(request) => match &request.codecs {
                RequestedCodecs::None => "unfiltered".to_owned(),
                RequestedCodecs::Chain(_) => request.given.text.clone(),
                RequestedCodecs::ByType => "by type".to_owned(),
            },
        }
    }

    #[test]
    fn the_eight_rows_that_nccopy_documents() {
        // The filters of the input (rows 4, 7 and 8) do not matter: "input" is its filters or none.
        assert_eq!(outcome(&["none"], "/t"), "unfiltered");
        assert_eq!(outcome(&["none", "t,none"], "/t"), "unfiltered");
        assert_eq!(outcome(&["none", "t,307,9"], "/t"), "t,307,9");
        assert_eq!(outcome(&["u,307,9"], "/t"), "input");
        assert_eq!(outcome(&["t,none"], "/t"), "unfiltered");
        assert_eq!(outcome(&["t,307,9"], "/t"), "t,307,9");
        assert_eq!(outcome(&[], "/t"), "input");
        assert_eq!(outcome(&["t,2|1,6"], "/t"), "t,2|1,6");
    }

    #[test]
    fn a_named_variable_overrides_all_in_any_order() {
        for texts in [["*,zstd,3", "g/t,307,9"], ["g/t,307,9", "*,zstd,3"]] {
            assert_eq!(outcome(&texts, "/g/t"), "g/t,307,9");
            assert_eq!(outcome(&texts, "/t"), "*,zstd,3");
        }
        assert_eq!(outcome(&["*,zstd,3", "t,none"], "/t"), "unfiltered");
        assert_eq!(outcome(&["*,none", "t,zstd"], "/u"), "unfiltered");
    }

    #[test]
    fn a_name_overrides_a_pattern_and_the_last_pattern_wins() {
        let texts = ["t*,zstd,3", "temp,none", "*_min,lz4", "*,1,1"];
        for (path, expected) in
            [("/time", "t*,zstd,3"), ("/temp", "unfiltered"), ("/t_min", "*_min,lz4"), ("/g/time", "*,1,1")]
        {
            assert_eq!(outcome(&texts, path), expected, "{path}");
        }
    }

    #[test]
    fn several_variables_and_escapes_are_read_as_nccopy_reads_them() {
        let request = CodecRequest::parse_filter(r"a\,b&/g/c\&d&e\\f,2|1,6").unwrap();
        assert_eq!(request.selector, named(&[r"a\,b", r"/g/c\&d", r"e\\f"]));
        assert_eq!(request.codecs, RequestedCodecs::Chain(ChainSpec::parse("2|1,6").unwrap()));
        assert_eq!(requests(&[r"\*,1,1"])[0].selector, named(&[r"\*"]));
        assert_eq!(requests(&["v&*,1,1"])[0].selector, Selector::All);
        assert_eq!(
            requests(&["v,[2]307,9"])[0].codecs,
            RequestedCodecs::Chain(ChainSpec::parse("307,9").unwrap())
        );
    }

    #[test]
    fn a_codec_is_for_all_or_for_the_names_before_the_equals_sign() {
        let all = CodecRequest::parse_codec(r#"{"id":"zstd","level":3}"#).unwrap();
        assert_eq!(all.selector, Selector::All);
        let json = r#"t&/g/u=[{"id":"shuffle","elementsize":4},{"id":"zlib","note":"a=b"}]"#;
        let two = CodecRequest::parse_codec(json).unwrap();
        assert_eq!(two.selector, named(&["t", "/g/u"]));
        assert!(matches!(two.codecs, RequestedCodecs::Chain(chain) if chain.stages().len() == 2));
        assert_eq!(CodecRequest::parse_codec(r#"{"id":"x","note":"a=b"}"#).unwrap().selector, Selector::All);
        assert_eq!(CodecRequest::parse_codec(r"a\=b=none").unwrap().selector, named(&["a=b"]));
        assert_eq!(CodecRequest::parse_codec("zstd,3").unwrap().selector, Selector::All);
        assert_eq!(CodecRequest::parse_codec("[]").unwrap().codecs, RequestedCodecs::None);
    }

    #[test]
    fn text_without_a_meaning_is_refused() {
        for text in ["", "t", ",307,9", "/,1", "t,", "t,|", "a&&b,1", "t,99999999", "t,{}"] {
            assert!(CodecRequest::parse_filter(text).is_err(), "{text:?} was accepted");
        }
        assert!(CodecRequest::parse_codec(r#"t={"level":3}"#).is_err());
    }

    #[test]
    fn two_requests_for_one_variable_are_refused() {
        for texts in [["t,1", "u&/t,307,9"], ["none", "*,307,9"], ["*,1", "*,2"]] {
            assert!(check(&requests(&texts)).is_err(), "{texts:?} was accepted");
        }
        let error = check(&requests(&["t,1", "t,307,9"])).unwrap_err().1;
        assert!(error.to_string().contains("from -F t,1;"), "{error}");
    }

    #[test]
    fn the_shorthands_of_deflate_make_the_chain_of_nccopy() {
        assert_eq!(
            CodecRequest::deflate(6, true).codecs,
            RequestedCodecs::Chain(ChainSpec::parse("2|1,6").unwrap())
        );
        assert_eq!(CodecRequest::deflate(0, false).codecs, RequestedCodecs::None);
    }
}
