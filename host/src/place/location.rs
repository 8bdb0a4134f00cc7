//! Where the bytes of a dataset are.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a dataset is. `Display` names it for messages, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// A directory or a zip file.
    Path(PathBuf),
}

impl Location {
    /// The path on this machine, if it is on one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
        }
    }

    /// The last part of the name, such as `ocean.zarr`.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        match self {
            Self::Path(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        }
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
        }
    }
}
