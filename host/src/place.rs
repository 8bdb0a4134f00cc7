//! Where a dataset is: plain paths, the `file://...#mode=...` of netcdf-c, and what is found there.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use ncz::nczarr::{Pool, Session};
//! use ncz::place::Place;
//! use ncz::registry::Registry;
//! use ncz::store::Access;
//!
//! let session = Session::new(Arc::new(Registry::builder().build()), Pool::serial());
//! let dataset = Place::parse("ocean.zip#mode=zarr")?.open(Access::Read, session)?;
//! println!("{:?}", dataset.hierarchy().format);
//! # Ok::<(), ncz::place::PlaceError>(())
//! ```

mod found;
mod location;
mod mode;
mod shown;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz_nczarr::metadata::{ConsolidatedPolicy, ReadOptions};
use ncz_nczarr::{DataError, Dataset, Format, NczarrError, Session, limits};
use ncz_store::{
    Access, CreateOptions, Depth, Entry, EntryKind, FilePermissions, FileStore, Key, Prefix, Store,
    StoreError, StoreExt, ZipLayout, ZipStore,
};

use crate::copy::strangers::DOCUMENTS;

pub use self::found::Storage;
pub use self::location::Location;
pub use self::mode::{Metadata, Mode};
pub use self::shown::{Secrets, shown};

/// A dataset as somebody named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it is.
    pub location: Location,
    /// What the words behind `#` ask for.
    pub mode: Mode,
}

/// Why no dataset could be opened or made at a place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The text names no place, or one that is not built.
    #[error("{text:?}: {reason}")]
    Text {
        /// What was written, without secrets.
        text: String,
        /// What is wrong, and what can be written instead.
        reason: String,
    },
    /// There is no dataset at the path.
    #[error("{place} {reason}")]
    NotADataset {
        /// The place.
        place: Location,
        /// What is there instead and what to do, as the rest of a sentence.
        reason: String,
    },
    /// The path cannot be looked at.
    #[error("cannot look at {place}")]
    Look {
        /// The place.
        place: Location,
        /// What the system says.
        source: std::io::Error,
    },
    /// The store could not be opened.
    #[error("cannot open {place}")]
    Store {
        /// The place.
        place: Location,
        /// Why.
        source: Box<StoreError>,
    },
    /// There are two datasets at the path.
    #[error("say which one to read: {place}#mode=v2 or {place}#mode=v3")]
    Ambiguous {
        /// The place.
        place: Location,
        /// What makes it two.
        source: NczarrError,
    },
    /// The dataset could not be read.
    #[error("cannot read the dataset in {place}")]
    Dataset {
        /// The place.
        place: Location,
        /// Why.
        source: Box<DataError>,
    },
}

impl PlaceError {
    /// What is wrong with a text that somebody typed. Neither keeps the secrets in it.
    fn text(typed: &str, reason: &str) -> Self {
        Self::Text { text: shown(typed), reason: Secrets::of_place(typed).hide(reason) }
    }
}

impl Place {
    /// Reads a path or a `file:` URL, with `#mode=...` behind it or not.
    ///
    /// # Errors
    /// [`PlaceError::Text`] for a URL of another kind, and for words behind `#` that are not known.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let wrong = |reason: String| PlaceError::text(text, &reason);
        let (path, fragment) = match text.split_once("://") {
            Some((scheme, rest)) => {
                check_scheme(scheme).map_err(wrong)?;
                rest.split_once('#').unwrap_or((rest, ""))
            }
            // A file may have such a name.
            None => match text.rsplit_once('#') {
                Some((path, fragment)) if Mode::is_fragment(fragment) && !Path::new(text).exists() => {
                    (path, fragment)
                }
                _ => (text, ""),
            },
        };
        if path.is_empty() {
            return Err(wrong("it names no path; give the directory or zip file of a dataset".to_owned()));
        }
        Ok(Self {
            location: Location::Path(PathBuf::from(path)),
            mode: Mode::parse(fragment).map_err(wrong)?,
        })
    }

    /// What stores the dataset that is there.
    ///
    /// # Errors
    /// Nothing is there, or something that is no Zarr dataset, or the mode asks for another storage.
    pub fn storage(&self) -> Result<Storage, PlaceError> {
        let Location::Path(path) = &self.location;
        let found = found::storage(path)?;
        match self.mode.storage {
            Some(wanted) if wanted != found => Err(PlaceError::NotADataset {
                place: self.location.clone(),
                reason: format!("is {found}, but the mode behind # says {}", wanted.mode_word()),
            }),
            _ => Ok(found),
        }
    }

    /// Opens the store of the dataset that is there.
    ///
    /// # Errors
    /// As [`storage`](Self::storage), and the failures of the place.
    pub fn open_store(&self, access: Access) -> Result<Arc<dyn Store>, PlaceError> {
        let error = |source| PlaceError::Store { place: self.location.clone(), source: Box::new(source) };
        let Location::Path(path) = &self.location;
        Ok(match self.storage()? {
            Storage::Directory => Arc::new(FileStore::open(path, access).map_err(error)?),
            Storage::Zip => Arc::new(ZipStore::open(path, access, ZipLayout::Automatic).map_err(error)?),
        })
    }

    /// Opens the dataset that is there: infers storage, version and format, unless the mode says them. The draft of
    /// NCZarr over Zarr version 3, an experiment, is not inferred: `#mode=nczarr,v3` asks for it.
    ///
    /// # Errors
    /// There is no dataset; it can be read in several ways; its root metadata are damaged.
    pub fn open(&self, access: Access, session: Session) -> Result<Dataset, PlaceError> {
        let place = || self.location.clone();
        let opened = Dataset::open(self.open_store(access)?, session, &self.read_options());
        opened.map_err(|error| match error {
            DataError::Metadata(source @ NczarrError::Ambiguous { .. }) => {
                PlaceError::Ambiguous { place: place(), source }
            }
            source => PlaceError::Dataset { place: place(), source: Box::new(source) },
        })
    }

    /// How the mode asks to read metadata.
    #[must_use]
    pub fn read_options(&self) -> ReadOptions {
        let consolidated = match self.mode.consolidated {
            true => ConsolidatedPolicy::Only,
            false => ConsolidatedPolicy::Compare,
        };
        ReadOptions {
            consolidated,
            pure: self.mode.metadata == Some(Metadata::Zarr),
            version: self.mode.version,
            nczarr3: self.mode.new_format() == Some(Format::Nczarr3),
            ..ReadOptions::default()
        }
    }

    /// What a new dataset here is stored in: as the mode says, else a zip file if the path ends in `.zip`.
    #[must_use]
    pub fn new_storage(&self) -> Storage {
        let path = self.location.path();
        let ending = path.and_then(Path::extension);
        let is_zip = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
        self.mode.storage.unwrap_or(if is_zip { Storage::Zip } else { Storage::Directory })
    }

    /// Makes the store of a new dataset; it becomes visible when it is published.
    ///
    /// # Errors
    /// Something is there: anything at all, or with `overwrite` anything but a dataset in the same storage without
    /// other files beside it.
    /// A value of `NC_DEFAULT_CREATE_PERMS` or `NC_DEFAULT_DIR_PERMS` in the environment that is no number.
    pub fn create_store(&self, overwrite: bool) -> Result<Arc<dyn Store>, StoreError> {
        let mut options = CreateOptions::new().permissions(FilePermissions::default().from_environment()?);
        if overwrite {
            options = options.replace_if(may_be_replaced);
        }
        let Location::Path(path) = &self.location;
        Ok(match self.new_storage() {
            Storage::Directory => Arc::new(FileStore::create(path, options)?),
            Storage::Zip => Arc::new(ZipStore::create(path, options, ZipLayout::Flat)?),
        })
    }
}

/// What makes a directory or an archive a dataset: one of these at its root.
pub const MARKS: [&str; 6] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata", ".nczarr"];

/// Whether a store holds a dataset.
///
/// # Errors
/// The store cannot be asked.
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

/// Whether a store holds a dataset and nothing beside it that would be lost with it.
fn may_be_replaced(store: &dyn Store) -> Result<bool, StoreError> {
    if !is_dataset(store)? {
        return Ok(false);
    }
    let root = store.list(Prefix::ROOT, Depth::One, limits::CHILDREN)?;
    let is_stranger = |entry: &&Entry| {
        let name = entry.key.as_str();
        // The chunks of an array at the root begin with a digit.
        let belongs = DOCUMENTS.contains(&name)
            || name == ".DS_Store"
            || name.starts_with(|c: char| c.is_ascii_digit());
        entry.kind == EntryKind::Object && !belongs
    };
    match root.entries.iter().find(is_stranger) {
        None => Ok(true),
        Some(_) => Err(StoreError::NotADataset {
            place: store.to_string(),
            reason: "holds other files beside the dataset",
        }),
    }
}

fn check_scheme(scheme: &str) -> Result<(), String> {
    let what = match scheme.to_ascii_lowercase().as_str() {
        "file" => return Ok(()),
        "s3" | "gs3" => "S3",
        "http" | "https" => "HTTP",
        _ => {
            return Err(format!(
                "{scheme:?} is no kind of place that ncz knows; give a path, or file://PATH"
            ));
        }
    };
    Err(format!("reading and writing through {what} is not built yet; copy the dataset to a directory first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Mode) {
        let place = Place::parse(text).unwrap();
        (place.location.to_string(), place.mode)
    }

    fn words(fragment: &str) -> Mode {
        Mode::parse(fragment).unwrap()
    }

    #[test]
    fn paths_and_file_urls_are_read() {
        assert_eq!(parsed("a/b.zarr"), ("a/b.zarr".into(), Mode::default()));
        assert_eq!(parsed("a#b"), ("a#b".into(), Mode::default()));
        assert_eq!(parsed("file:///a/b#mode=nczarr,file"), ("/a/b".into(), words("mode=nczarr,file")));
        assert_eq!(parsed("file://b#mode=nczarr,zarr"), ("b".into(), words("mode=zarr")));
        assert_eq!(parsed("b#mode=zarr"), ("b".into(), words("mode=zarr")));
        assert_eq!(parsed("b#zarr"), ("b".into(), words("mode=zarr")));
        assert_eq!(parsed("FILE://b"), ("b".into(), Mode::default()));
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        for (text, want) in [
            ("s3://bucket/x", "S3"),
            ("https://example.org/x", "HTTP"),
            ("gopher://x", "gopher"),
            ("file://x#mode=nczarr,s3", "S3"),
            ("file://x#mode=bogus", "bogus"),
            ("file://x#checksum=1", "checksum"),
            ("file://", "no path"),
        ] {
            let error = Place::parse(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn the_ending_says_what_a_new_dataset_is_stored_in_unless_the_mode_does() {
        for (text, want) in [
            ("a.zarr", Storage::Directory),
            ("a.zip", Storage::Zip),
            ("a.ZIP", Storage::Zip),
            ("file://a.zip#mode=nczarr,file", Storage::Directory),
            ("a.nczarr#mode=zip", Storage::Zip),
        ] {
            assert_eq!(Place::parse(text).unwrap().new_storage(), want, "{text}");
        }
    }
}
