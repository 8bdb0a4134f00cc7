//! Where the bytes of a dataset are.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{HttpLocation, S3Location};

/// Where a dataset is. `Display` names it for messages, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// A directory or a zip file.
    Path(PathBuf),
    /// In S3, or in what speaks its protocol.
    S3(Box<S3Location>),
    /// Behind an HTTP server.
    Http(Box<HttpLocation>),
}

impl Location {
    /// The path on this machine, if it is on one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::S3(_) | Self::Http(_) => None,
        }
    }

    /// What must stand in `mode=` before other words so that the text of this location means it again.
    pub(super) fn mode_words(&self) -> &'static str {
        match self {
            Self::S3(place) if place.needs_mode() => "s3,",
            _ => "",
        }
    }

    /// The last part of the name, such as `ocean.zarr`.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        match self {
            Self::Path(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::S3(place) => Some(place.name()),
            Self::Http(place) => Some(place.name()),
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
            Self::S3(place) => place.fmt(f),
            Self::Http(place) => place.fmt(f),
        }
    }
}
