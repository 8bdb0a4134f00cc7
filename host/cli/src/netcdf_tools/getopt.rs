//! Parses one-letter options like getopt of the C library: `-hsv a,b`, `-va,b`, options after operands, and `--` before
//! operands that look like options.

use std::collections::VecDeque;
use std::ffi::OsString;

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Arguments {
    /// Options in order, with the arguments of those that take one.
    pub(crate) options: Vec<(char, Option<String>)>,
    /// Operands in order.
    pub(crate) operands: Vec<String>,
}

/// An error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GetoptError {
    /// An option that the tool does not have.
    #[error("invalid option -- '{0}'")]
    Unknown(char),
    /// An option without its argument.
    #[error("option requires an argument -- '{0}'")]
    NoArgument(char),
    /// An argument that is not UTF-8.
    #[error("argument {0:?} is not UTF-8")]
    NotText(OsString),
}

/// Parses a command line without the program name. `letters` are the options, with `:` after each that takes an argument,
/// as in `hv:`.
pub(crate) fn parse(
    letters: &str,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Arguments, GetoptError> {
    let texts: Result<VecDeque<String>, _> = arguments.into_iter().map(OsString::into_string).collect();
    let mut rest = texts.map_err(GetoptError::NotText)?;
    let mut found = Arguments::default();
    while let Some(text) = rest.pop_front() {
        if text == "--" {
            found.operands.extend(rest);
            break;
        }
        // A single `-` is an operand: standard input.
        let Some(mut cluster) = text.strip_prefix('-').filter(|cluster| !cluster.is_empty()) else {
            found.operands.push(text);
            continue;
        };
        while let Some(letter) = cluster.chars().next() {
            cluster = &cluster[letter.len_utf8()..];
            let at = letters.find(letter).filter(|_| letter != ':');
            let at = at.ok_or(GetoptError::Unknown(letter))?;
            if !letters[at + letter.len_utf8()..].starts_with(':') {
                found.options.push((letter, None));
                continue;
            }
            let argument = match cluster {
                "" => rest.pop_front().ok_or(GetoptError::NoArgument(letter))?,
                attached => attached.to_owned(),
            };
            found.options.push((letter, Some(argument)));
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, GetoptError> {
        parse("hsv:F:", line.split(' ').map(OsString::from))
    }

    #[test]
    fn options_can_be_joined_and_arguments_attached() {
        let wanted = [('h', None), ('s', None), ('v', Some("a,b".to_owned())), ('F', Some("-1".to_owned()))];
        for line in ["-hsva,b -F -1 in", "-h -s -v a,b in -F-1", "in -hs -va,b -F -1"] {
            let found = parsed(line).unwrap();
            assert_eq!(found.options, wanted, "{line}");
            assert_eq!(found.operands, ["in"], "{line}");
        }
    }

    #[test]
    fn one_dash_and_everything_after_two_dashes_are_operands() {
        let found = parsed("-h - -- -v -s").unwrap();
        assert_eq!(found.options, [('h', None)]);
        assert_eq!(found.operands, ["-", "-v", "-s"]);
    }

    #[test]
    fn unknown_options_and_missing_arguments_are_errors() {
        assert_eq!(parsed("-hx in"), Err(GetoptError::Unknown('x')));
        assert_eq!(parsed("-: in"), Err(GetoptError::Unknown(':')));
        assert_eq!(parsed("in -hv"), Err(GetoptError::NoArgument('v')));
    }
}
