//! Names of objects: their rules, and paths of them.

use crate::error::MetadataError;
use crate::limits;

/// Checks a name by the rules of netCDF, and by those of stores if the name becomes part of a key.
pub fn check(kind: &'static str, name: &str) -> Result<(), MetadataError> {
    match broken_rule(kind, name) {
        Some(reason) => Err(MetadataError::Name { kind, name: name.to_owned(), reason }),
        None => Ok(()),
    }
}

/// Returns the reason why a name in metadata cannot be part of a key; `None` if it can.
#[must_use]
pub fn broken_key_rule(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.contains('/') {
        return Some("it contains a slash");
    }
    if name.chars().any(char::is_control) {
        return Some("it contains a control character");
    }
    name.starts_with('.').then_some("it starts with a dot")
}

/// The path of an object in a group.
#[must_use]
pub fn join_path(group: &str, name: &str) -> String {
    if group == "/" { format!("/{name}") } else { format!("{group}/{name}") }
}

/// Returns the reason why netCDF does not allow a name of this kind; `None` if it does.
#[must_use]
pub fn broken_rule(kind: &str, name: &str) -> Option<&'static str> {
    let Some(first) = name.chars().next() else { return Some("it is empty") };
    if name.len() > limits::NAME_BYTES {
        return Some("it is longer than 256 bytes");
    }
    if name.contains('/') {
        return Some("it contains a slash");
    }
    if name.chars().any(char::is_control) {
        return Some("it contains a control character");
    }
    if name.ends_with(' ') {
        return Some("it ends with a blank");
    }
    if matches!(kind, "type" | "field" | "enumerator") && first == ' ' {
        return Some("it starts with a blank");
    }
    let is_key = matches!(kind, "variable" | "group");
    if is_key && name.starts_with('.') {
        return Some("it starts with a dot, and Zarr hides such names");
    }
    if kind != "attribute" && first.is_ascii_punctuation() && first != '_' {
        return Some("it starts with a punctuation mark");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_netcdf_or_zarr_cannot_hold_are_refused() {
        for name in ["", "a/b", "a\nb", "a ", ".zarray", "..", "-a", &"x".repeat(257)] {
            assert!(check("variable", name).is_err(), "{name:?}");
        }
        for name in ["a", "_a", "0", "température", "dim with space", "d.dot", "a-x"] {
            check("variable", name).unwrap();
        }
    }
}
