//! The checks, for people and for programs.

use ncz_conform::check::Check;
use serde_json::{Value, json};

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

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

/// The checks as JSON.
pub(crate) fn json(checks: &[&Check]) -> String {
    let check = |check: &&Check| json!({"id": check.id, "level": check.level, "scope": check.scope.word(), "about": check.about});
    let checks: Vec<Value> = checks.iter().map(check).collect();
    format!("{:#}\n", json!({"schema": SCHEMA, "checks": checks}))
}
