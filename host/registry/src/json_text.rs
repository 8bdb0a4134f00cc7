//! Values that reports write as texts: functions for `#[serde(serialize_with = ..)]`.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::Serializer;

/// As people see it.
pub(crate) fn text<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// As displayed, or null.
pub(crate) fn option<S: Serializer>(value: &Option<impl Display>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

/// A list of what people see.
pub(crate) fn list<S: Serializer, T: Display>(values: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(ToString::to_string))
}

/// A path; bytes that are not UTF-8 are replaced.
pub(crate) fn path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// A path, or null.
pub(crate) fn option_path<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    option(&path.as_ref().map(|path| path.display()), to)
}
