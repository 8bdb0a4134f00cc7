//! The selection of checks and targets.

use crate::cases;
use crate::check::{Check, Scope, Target};
use crate::error::Error;

/// The checks to run, and their targets.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Checks to run; all if it is empty. An id, a group, the beginning of an id, or a pattern with `*` and `?`.
    pub include: Vec<String>,
    /// Checks not to run, in the same way.
    pub exclude: Vec<String>,
    /// Targets to run on; all if it is empty.
    pub targets: Vec<Target>,
}

/// The check that tests whether a library opens at all.
pub(crate) const LOAD: &str = "library.load";

impl Selection {
    /// The checks to run at a level, in the order of reports.
    ///
    /// # Errors
    /// A pattern fits no check, or no check is left.
    pub fn checks(&self, level: u8) -> Result<Vec<&'static Check>, Error> {
        let mut wanted: Vec<_> = cases::all().collect();
        if !self.include.is_empty() {
            let included = all_that_match(&self.include)?;
            wanted.retain(|check| included.contains(&check.id));
        }
        let excluded = all_that_match(&self.exclude)?;
        wanted.retain(|check| !excluded.contains(&check.id));
        let begins = wanted.iter().map(|check| (check.id, check.level)).min_by_key(|(_, level)| *level);
        wanted.retain(|check| check.level <= level);
        if wanted.is_empty() { Err(Error::NothingChosen { level, begins }) } else { Ok(wanted) }
    }

    /// Whether to run on the target.
    pub fn has(&self, target: &Target) -> bool {
        self.targets.is_empty() || self.targets.contains(target)
    }
}

/// The targets of a library on which a check runs.
pub(crate) fn targets_of<'a>(check: &Check, targets: &'a [Target]) -> impl Iterator<Item = &'a Target> {
    let scope = check.scope;
    targets.iter().filter(move |target| scope.has(target))
}

/// Whether a check can run although the library does not open.
pub(crate) fn needs_no_opening(check: &Check) -> bool {
    check.scope == Scope::File
}

/// The ids of the checks that any of the patterns fits.
fn all_that_match(patterns: &[String]) -> Result<Vec<&'static str>, Error> {
    let mut found = Vec::new();
    for pattern in patterns {
        let before = found.len();
        found.extend(cases::all().map(|check| check.id).filter(|id| fits(pattern, id)));
        if found.len() == before {
            return Err(Error::NothingMatches { pattern: pattern.clone(), near: nearest(pattern) });
        }
    }
    Ok(found)
}

/// Whether a pattern means the check `id`. A whole id means only that check, even if others begin with it.
fn fits(pattern: &str, id: &str) -> bool {
    if pattern.contains(['*', '?']) {
        return glob(pattern.as_bytes(), id.as_bytes());
    }
    pattern == id || (cases::by_id(pattern).is_none() && !pattern.is_empty() && id.starts_with(pattern))
}

/// Whether a pattern of `*` (any text) and `?` (any character) fits the whole text.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), None) => glob(rest, text),
        (Some((b'*', rest)), Some((_, tail))) => glob(rest, text) || glob(pattern, tail),
        (Some((b'?', rest)), Some((_, tail))) => glob(rest, tail),
        (Some((wanted, rest)), Some((there, tail))) => wanted == there && glob(rest, tail),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// The id or group that is most like the text, or the id whose part after the dot is.
fn nearest(text: &str) -> Option<&'static str> {
    let distance = |name: &str| strsim::damerau_levenshtein(text, name);
    let names = cases::all().flat_map(|check| {
        let (group, rule) = check.id.split_once('.').unwrap_or((check.id, check.id));
        [(distance(check.id), check.id), (distance(rule), check.id), (distance(group), group)]
    });
    let near = names.min()?;
    (near.0 <= text.len() / 3).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_ids_beginnings_or_globs() {
        assert!(glob(b"damaged.*", b"damaged.flipped") && glob(b"*.r?ndom", b"roundtrip.random"));
        assert!(!glob(b"damaged", b"damaged.flipped") && !glob(b"a?", b"a"));
        assert!(fits("library", "library.load") && fits("library.lo", "library.load"));
        assert!(fits("library.load", "library.load") && !fits("library.load", "library.load-time"));
        assert!(!fits("", "library.load"));
    }

    #[test]
    fn what_fits_nothing_is_reported_with_what_was_perhaps_meant() {
        let select = |include: &str| {
            Selection { include: vec![include.to_owned()], ..Selection::default() }.checks(10)
        };
        assert_eq!(select("library.load").unwrap().len(), 1);
        let error = select("library.laod").unwrap_err().to_string();
        assert!(error.contains("did you mean library.load?"), "{error}");
        let error = select("librarry").unwrap_err().to_string();
        assert!(error.contains("did you mean library?"), "{error}");
        let error = select("qqqq").unwrap_err().to_string();
        assert!(error.contains("--list"), "{error}");
        let nothing = Selection { exclude: vec!["*".to_owned()], ..Selection::default() }.checks(10);
        assert!(matches!(nothing, Err(Error::NothingChosen { level: 10, begins: None })), "{nothing:?}");
    }
}
