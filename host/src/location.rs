//! The location of a dataset: paths, `file://` URLs, S3 and HTTP servers.
//!
//! A [`DatasetUrl`] is what a user types: a path or a URL, with the mode words of netCDF after `#` or without. Parsed,
//! it is a [`Location`] and a [`Mode`]. Opening one infers storage, Zarr version and format. A netCDF or HDF5 file is
//! recognised by its first bytes on this machine, and elsewhere by its extension ([`FILE_EXTENSIONS`]) or by
//! `#mode=bytes`.
//!
//! ```no_run
//! use ncz::location::DatasetUrl;
//! # let session = ncz::model::Session::new(std::sync::Arc::new(ncz::registry::Registry::builder().build()), ncz::model::Pool::serial());
//!
//! let dataset = DatasetUrl::parse("ocean.zip#mode=zarr")?.open(session)?;
//! println!("{:?}", dataset.hierarchy().format);
//! # Ok::<(), ncz::location::LocationError>(())
//! ```

#[cfg(any(feature = "s3", feature = "http"))]
mod configured;
mod dataset_url;
#[cfg(any(feature = "s3", feature = "http"))]
mod environment;
mod found;
mod fragment;
mod http;
mod mode;
mod parse;
#[cfg(feature = "s3")]
mod profile;
#[cfg(any(feature = "s3", feature = "http"))]
mod rc;
mod redact;
mod s3;
mod stores;
mod url;

use std::fmt;
use std::path::{Path, PathBuf};

use ncz_model::{DataError, Format, MetadataError, PoolError, Remedy};
use ncz_store::{Key, Store, StoreError, StoreExt};
use ncz_zarr::metadata::document;

pub use self::dataset_url::DatasetUrl;
pub use self::found::Storage;
pub use self::http::HttpLocation;
pub use self::mode::{Metadata, Mode};
pub use self::redact::{Secrets, redacted};
pub use self::s3::{Addressing, S3Location, S3Options, Service};
pub use ncz_store::Secret;

/// The location of a dataset. `Display` names it for messages, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// A directory, a zip file or a netCDF file.
    Path(PathBuf),
    /// In S3, or in a service with its protocol.
    S3(Box<S3Location>),
    /// On an HTTP server.
    Http(Box<HttpLocation>),
}

impl Location {
    /// The path, if the dataset is in a local file system.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::S3(_) | Self::Http(_) => None,
        }
    }

    /// The words that `mode=` needs, before others, so that the text of this location is read back as this location.
    fn mode_words(&self) -> &'static str {
        match self {
            Self::S3(s3) if s3.needs_mode() => "s3,",
            _ => "",
        }
    }

    /// The last part of the name, such as `ocean.zarr`.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        match self {
            Self::Path(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::S3(s3) => Some(s3.name()),
            Self::Http(http) => Some(http.name()),
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
            Self::S3(s3) => s3.fmt(f),
            Self::Http(http) => http.fmt(f),
        }
    }
}

/// Why no dataset could be opened or created at a location.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The text is not a location, or one that is not supported.
    #[error("{text:?}: {reason}")]
    Text {
        /// The text, without secrets.
        text: String,
        /// What is wrong, and what can be written instead.
        reason: String,
    },
    /// There is no dataset at the path.
    #[error("{location} {reason}")]
    NotADataset {
        /// The location.
        location: Location,
        /// What exists instead and the remedy, as the rest of a sentence.
        reason: String,
    },
    /// The dataset is a netCDF file, and the operation is one on Zarr datasets.
    #[error(
        "{location} is a netCDF or HDF5 file, which is only read; to change it, make a Zarr dataset of it first: ncz copy \
         {location} {zarr}"
    )]
    NetcdfFile {
        /// The location.
        location: Location,
        /// A name for the Zarr dataset.
        zarr: String,
    },
    /// The path cannot be examined.
    #[error("cannot examine {location}")]
    Look {
        /// The location.
        location: Location,
        /// What the system says.
        source: std::io::Error,
    },
    /// The store could not be opened.
    #[error("cannot open {location}")]
    Store {
        /// The location.
        location: Location,
        /// Why.
        source: Box<StoreError>,
    },
    /// The store of a new dataset could not be created.
    #[error("cannot create {location}")]
    CreateStore {
        /// The location.
        location: Location,
        /// Why.
        source: Box<StoreError>,
    },
    /// The new dataset could not be created in its store.
    #[error("cannot create the dataset in {location}")]
    Create {
        /// The location.
        location: Location,
        /// Why.
        source: Box<DataError>,
    },
    /// The mode words ask for another format than that of the hierarchy.
    #[error("the mode of {location} asks for the format {requested:?}, the hierarchy has {format:?}")]
    Format {
        /// The location.
        location: Location,
        /// The format of the mode words.
        requested: Format,
        /// The format of the hierarchy.
        format: Format,
    },
    /// The threads of the dataset could not be started.
    #[error(transparent)]
    Threads(#[from] PoolError),
    /// There are two datasets at the path.
    #[error("say which one to read: {location}#mode={}v2 or {location}#mode={}v3", location.mode_words(), location.mode_words())]
    Ambiguous {
        /// The location.
        location: Location,
        /// What makes it two.
        source: MetadataError,
    },
    /// The dataset could not be read.
    #[error("cannot read the dataset in {location}")]
    Dataset {
        /// The location.
        location: Location,
        /// Why.
        source: Box<DataError>,
    },
}

impl LocationError {
    /// What can be done about it, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Dataset { source, .. } | Self::Create { source, .. } => source.remedy(),
            _ => None,
        }
    }

    /// The error for a text that a user typed. Text and reason are stored without the secrets in it.
    fn text(typed: &str, reason: &str) -> Self {
        Self::Text { text: redacted(typed), reason: Secrets::in_url(typed).hide(reason) }
    }
}

/// How two locations are nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// The first is inside the second.
    Inside,
    /// The second is inside the first.
    Around,
}

/// The extensions of netCDF and HDF5 files, by which they are recognised in S3 and on HTTP servers.
pub const FILE_EXTENSIONS: [&str; 6] = ["nc", "nc4", "h5", "hdf5", "cdf", "nc3"];

/// What makes a directory or an archive a dataset: one of these at its root.
pub const MARKS: [&str; 6] = [
    document::ZARR_JSON,
    document::ZGROUP,
    document::ZARRAY,
    document::ZATTRS,
    document::ZMETADATA,
    document::NCZARR,
];

/// Whether a store holds a dataset.
///
/// # Errors
/// The store fails.
pub fn is_dataset(store: &dyn Store) -> Result<bool, StoreError> {
    for mark in MARKS {
        if let Ok(key) = Key::parse(mark)
            && store.exists(key)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}
