//! Which codecs the user wants for which variables: the options `-F`, `--codec`, `-d` and `--compress`.
//!
//! `-F` is that of nccopy. Who wins is what nccopy documents (manual page, "Filter Specification"): a
//! specification that names the variable; else one for all variables; else the codecs of the input.
//! A specification replaces the codecs of the input, which nccopy itself gets wrong for deflate.

use std::fmt;

use ncz::registry::spec::{ChainSpec, SpecError, StageSpec};

use crate::escape;

/// What is to become of a variable's codecs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wish {
    /// No codec.
    Nothing,
    /// These.
    Chain(ChainSpec),
    /// Whatever suits the type.
    Sensible,
}

/// Whom a [`Request`] is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selector {
    /// All variables; those that cannot carry codecs are left as they are.
    All,
    /// These variables, by path.
    Named(Vec<String>),
}

/// One option as the user gave it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) selector: Selector,
    pub(crate) wish: Wish,
    /// The option and its value, for messages.
    pub(crate) given: Given,
}

/// An option and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) option: &'static str,
    pub(crate) text: String,
}

/// What was decided for one variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision<'a> {
    /// The codecs of the input.
    Keep,
    /// The user named the variable.
    Named(&'a Request),
    /// The user spoke of all variables; one that cannot carry the codecs is skipped.
    All(&'a Request),
}

/// What is wrong with a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterSpecError {
    /// No specification behind the name.
    #[error(
        "the variable and its filters are missing a comma between them; write VARIABLE,FILTERS such as t,zstd,3, or '*',FILTERS for every variable, or none"
    )]
    NoComma,
    /// A name is empty.
    #[error("a variable's name is empty; write VARIABLE,FILTERS such as t,zstd,3")]
    NoName,
    /// The specification itself.
    #[error("the filters {text:?} are not usable")]
    Chain {
        /// The specification.
        text: String,
        /// What is wrong with it.
        source: SpecError,
    },
    /// Two requests for the same variable.
    #[error("{for_whom} was given codecs already, by {other}; one chain of several codecs is written A|B")]
    Twice {
        /// A variable, or all.
        for_whom: String,
        /// The earlier option.
        other: Given,
    },
}

impl Request {
    /// Reads the value of `-F`: `none`, or `VARIABLES,FILTERS` where `VARIABLES` is `*` or names joined by
    /// `&`, and `FILTERS` is `none` or a chain. A backslash before `,`, `&` or `\` makes it part of a name.
    ///
    /// # Errors
    /// Any other form.
    pub(crate) fn parse_filter(text: &str) -> Result<Self, FilterSpecError> {
        let given = Given { option: "-F", text: text.to_owned() };
        if text == "none" {
            return Ok(Self { selector: Selector::All, wish: Wish::Nothing, given });
        }
        let (names, filters) = escape::split_once(text, ',').ok_or(FilterSpecError::NoComma)?;
        Ok(Self { selector: Selector::parse(names)?, wish: Wish::parse(filters)?, given })
    }

    /// Reads the value of `--codec`: a chain in any form, or `VARIABLES=CHAIN`.
    ///
    /// # Errors
    /// Any other form.
    pub(crate) fn parse_codec(text: &str) -> Result<Self, FilterSpecError> {
        let given = Given { option: "--codec", text: text.to_owned() };
        // JSON may hold a `=`; a name does not begin like JSON.
        let named = escape::split_once(text, '=').filter(|_| !text.trim_start().starts_with(['{', '[']));
        let (selector, chain) = match named {
            Some((names, chain)) => (Selector::parse(names)?, chain),
            None => (Selector::All, text),
        };
        Ok(Self { selector, wish: Wish::parse(chain)?, given })
    }

    /// The shorthands `-d LEVEL` and `-s`.
    pub(crate) fn deflate(level: u32, shuffle: bool) -> Self {
        let mut stages = Vec::new();
        if shuffle {
            stages.push(StageSpec::Filter { id: 2, params: Vec::new() });
        }
        if level > 0 {
            stages.push(StageSpec::Filter { id: 1, params: vec![level] });
        }
        let wish = if stages.is_empty() { Wish::Nothing } else { Wish::Chain(ChainSpec::new(stages)) };
        Self { selector: Selector::All, wish, given: Given { option: "-d", text: level.to_string() } }
    }

    /// `--compress`.
    pub(crate) fn compress() -> Self {
        let given = Given { option: "--compress", text: String::new() };
        Self { selector: Selector::All, wish: Wish::Sensible, given }
    }
}

impl Selector {
    fn parse(text: &str) -> Result<Self, FilterSpecError> {
        let names = escape::split(text, '&');
        if names.contains(&"*") {
            return Ok(Self::All);
        }
        let names: Vec<String> = names.into_iter().map(escape::unescape).collect();
        if names.iter().any(|name| name.trim_matches('/').is_empty()) {
            return Err(FilterSpecError::NoName);
        }
        Ok(Self::Named(names.iter().map(|name| full_path(name)).collect()))
    }
}

impl Wish {
    fn parse(text: &str) -> Result<Self, FilterSpecError> {
        if text.trim() == "none" {
            return Ok(Self::Nothing);
        }
        let chain = ChainSpec::parse(text)
            .map_err(|source| FilterSpecError::Chain { text: text.to_owned(), source })?;
        Ok(if chain.is_empty() { Self::Nothing } else { Self::Chain(chain) })
    }
}

/// The path of a variable as somebody named it: `t` is `/t`.
pub(crate) fn full_path(name: &str) -> String {
    format!("/{}", name.trim_start_matches('/'))
}

/// Checks that no variable gets two answers.
///
/// # Errors
/// It does; also two requests for all variables.
pub(crate) fn check(requests: &[Request]) -> Result<(), Box<(Given, FilterSpecError)>> {
    for (index, request) in requests.iter().enumerate() {
        let twice = |for_whom: String, other: &Request| {
            let error = FilterSpecError::Twice { for_whom, other: other.given.clone() };
            Box::new((request.given.clone(), error))
        };
        for other in &requests[..index] {
            match (&request.selector, &other.selector) {
                (Selector::All, Selector::All) => {
                    return Err(twice("every variable".to_owned(), other));
                }
                (Selector::Named(names), Selector::Named(others)) => {
                    if let Some(name) = names.iter().find(|name| others.contains(name)) {
                        return Err(twice(format!("variable {name:?}"), other));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Decides for one variable, by its path.
pub(crate) fn decide<'a>(requests: &'a [Request], path: &str) -> Decision<'a> {
    let named = |request: &&Request| matches!(&request.selector, Selector::Named(names) if names.iter().any(|name| name == path));
    if let Some(request) = requests.iter().find(named) {
        return Decision::Named(request);
    }
    match requests.iter().find(|request| request.selector == Selector::All) {
        Some(request) => Decision::All(request),
        None => Decision::Keep,
    }
}

/// The names that some request mentions and `known` does not have, each with its option.
pub(crate) fn unknown(requests: &[Request], known: impl Fn(&str) -> bool) -> Option<(&str, &Given)> {
    requests.iter().find_map(|request| match &request.selector {
        Selector::All => None,
        Selector::Named(names) => {
            names.iter().find(|name| !known(name)).map(|name| (name.as_str(), &request.given))
        }
    })
}

impl fmt::Display for Given {
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

    fn requests(texts: &[&str]) -> Vec<Request> {
        texts.iter().map(|text| Request::parse_filter(text).unwrap()).collect()
    }

    fn outcome(texts: &[&str], path: &str) -> String {
        let requests = requests(texts);
        check(&requests).unwrap();
        match decide(&requests, path) {
            Decision::Keep => "input".to_owned(),
            Decision::Named(request) | Decision::All(request) => match &request.wish {
                Wish::Nothing => "unfiltered".to_owned(),
                Wish::Chain(_) => request.given.text.clone(),
                Wish::Sensible => "sensible".to_owned(),
            },
        }
    }

    #[test]
    fn the_eight_rows_that_nccopy_documents() {
        // What the input has (rows 4, 7 and 8) is looked at by nobody: "input" is its filters or none.
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
    fn a_variable_that_is_named_wins_over_all_in_any_order() {
        for texts in [["*,zstd,3", "g/t,307,9"], ["g/t,307,9", "*,zstd,3"]] {
            assert_eq!(outcome(&texts, "/g/t"), "g/t,307,9");
            assert_eq!(outcome(&texts, "/t"), "*,zstd,3");
        }
        assert_eq!(outcome(&["*,zstd,3", "t,none"], "/t"), "unfiltered");
        assert_eq!(outcome(&["*,none", "t,zstd"], "/u"), "unfiltered");
    }

    #[test]
    fn several_variables_and_escapes_are_read_as_nccopy_reads_them() {
        let request = Request::parse_filter(r"a\,b&/g/c\&d&e\\f,2|1,6").unwrap();
        assert_eq!(request.selector, Selector::Named(vec!["/a,b".into(), "/g/c&d".into(), r"/e\f".into()]));
        assert_eq!(request.wish, Wish::Chain(ChainSpec::parse("2|1,6").unwrap()));
        assert_eq!(requests(&[r"\*,1,1"])[0].selector, Selector::Named(vec!["/*".into()]));
        assert_eq!(requests(&["v&*,1,1"])[0].selector, Selector::All);
        assert_eq!(requests(&["v,[2]307,9"])[0].wish, Wish::Chain(ChainSpec::parse("307,9").unwrap()));
    }

    #[test]
    fn a_codec_is_for_all_or_for_those_before_the_equals_sign() {
        let all = Request::parse_codec(r#"{"id":"zstd","level":3}"#).unwrap();
        assert_eq!(all.selector, Selector::All);
        let json = r#"t&/g/u=[{"id":"shuffle","elementsize":4},{"id":"zlib","note":"a=b"}]"#;
        let two = Request::parse_codec(json).unwrap();
        assert_eq!(two.selector, Selector::Named(vec!["/t".into(), "/g/u".into()]));
        assert!(matches!(two.wish, Wish::Chain(chain) if chain.stages().len() == 2));
        assert_eq!(Request::parse_codec(r#"{"id":"x","note":"a=b"}"#).unwrap().selector, Selector::All);
        assert_eq!(
            Request::parse_codec(r"a\=b=none").unwrap().selector,
            Selector::Named(vec!["/a=b".into()])
        );
        assert_eq!(Request::parse_codec("zstd,3").unwrap().selector, Selector::All);
        assert_eq!(Request::parse_codec("[]").unwrap().wish, Wish::Nothing);
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        for text in ["", "t", ",307,9", "/,1", "t,", "t,|", "a&&b,1", "t,99999999", "t,{}"] {
            assert!(Request::parse_filter(text).is_err(), "{text:?} was accepted");
        }
        assert!(Request::parse_codec(r#"t={"level":3}"#).is_err());
    }

    #[test]
    fn two_answers_for_one_variable_are_refused() {
        for texts in [["t,1", "u&/t,307,9"], ["none", "*,307,9"], ["*,1", "*,2"]] {
            assert!(check(&requests(&texts)).is_err(), "{texts:?} was accepted");
        }
        let error = check(&requests(&["t,1", "t,307,9"])).unwrap_err().1;
        assert!(error.to_string().contains("by -F t,1;"), "{error}");
    }

    #[test]
    fn the_shorthands_of_deflate_make_the_chain_of_nccopy() {
        assert_eq!(Request::deflate(6, true).wish, Wish::Chain(ChainSpec::parse("2|1,6").unwrap()));
        assert_eq!(Request::deflate(0, false).wish, Wish::Nothing);
    }
}
