//! The checks, for people.

use ncz_conform::check::Check;

/// A line a check.
pub(crate) fn text(checks: &[&Check]) -> String {
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for check in checks {
        text.push_str(&format!(
            "{:width$}  {:>2}  {:12}  {}\n",
            check.id,
            check.level,
            check.scope.word(),
            check.about
        ));
    }
    text
}
