//! The store of a location: opened or created.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz_store::{
    Access, CreateOptions, Depth, EntryKind, FilePermissions, FileStore, KeyBuf, ObjectLocation, Prefix,
    Store, StoreError, ZipLayout, ZipStore,
};

#[cfg(feature = "http")]
use ncz_store::http::HttpStore;
#[cfg(feature = "s3")]
use ncz_store::s3::S3Store;

use super::{DatasetUrl, Location, LocationError, MARKS, Nesting, Storage};
use crate::references;

#[cfg(feature = "s3")]
use super::S3Location;
#[cfg(any(feature = "s3", feature = "http"))]
use super::{configured, environment::Process};

/// The number of names to examine if no dataset is found.
const LOOKED_AT: usize = 1000;

/// Opens the store of a location. Only for paths it is checked whether there is a dataset: elsewhere that takes
/// requests.
pub(super) fn open(url: &DatasetUrl, access: Access) -> Result<Arc<dyn Store>, LocationError> {
    let storage = url.storage()?;
    match (storage, access) {
        (Storage::File, _) => return Err(is_file(url)),
        (Storage::References, Access::Read) => return references::open_store(url, None),
        (Storage::References, Access::ReadWrite) => {
            let source = Box::new(StoreError::ReadOnly { at: ObjectLocation::store(&url.location) });
            return Err(LocationError::Store { location: url.location.clone(), source });
        }
        _ => {}
    }
    let opened = match &url.location {
        Location::Path(path) if storage == Storage::Zip => {
            ZipStore::open(path, access, ZipLayout::Automatic).map(shared)
        }
        Location::Path(path) => FileStore::open(path, access).map(shared),
        #[cfg(feature = "s3")]
        Location::S3(s3) => {
            configured::s3(s3, &Process).and_then(|config| S3Store::open(config, access)).map(shared)
        }
        #[cfg(feature = "http")]
        Location::Http(_) if access == Access::ReadWrite => Err(read_only(url)),
        #[cfg(feature = "http")]
        Location::Http(http) => configured::http(http, &Process).and_then(HttpStore::open).map(shared),
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => Err(not_built(url, "S3 (feature s3)")),
        #[cfg(not(feature = "http"))]
        Location::Http(_) => Err(not_built(url, "HTTP (feature http)")),
    };
    opened.map_err(|source| LocationError::Store { location: url.location.clone(), source: Box::new(source) })
}

/// Opens the store around a netCDF file, and returns the key of the file in it.
pub(super) fn open_file(url: &DatasetUrl) -> Result<(Arc<dyn Store>, KeyBuf), LocationError> {
    let opened = match &url.location {
        Location::Path(path) => file_in_directory(path),
        #[cfg(feature = "s3")]
        Location::S3(s3) => {
            let (prefix, name) = s3.prefix.rsplit_once('/').unwrap_or(("", s3.prefix.as_str()));
            let around = S3Location { prefix: prefix.to_owned(), ..(**s3).clone() };
            let store =
                configured::s3(&around, &Process).and_then(|config| S3Store::open(config, Access::Read));
            store.and_then(|store| Ok((shared(store), KeyBuf::parse(name)?)))
        }
        #[cfg(feature = "http")]
        Location::Http(http) => {
            let split = http.split().ok_or_else(|| StoreError::InvalidOptions {
                location: http.to_string(),
                reason: "the URL names a server, but no file there; add the path of the file".to_owned(),
            });
            split.and_then(|(around, name)| {
                let store = HttpStore::open(configured::http(&around, &Process)?)?;
                Ok((shared(store), KeyBuf::parse(name)?))
            })
        }
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => Err(not_built(url, "S3 (feature s3)")),
        #[cfg(not(feature = "http"))]
        Location::Http(_) => Err(not_built(url, "HTTP (feature http)")),
    };
    opened.map_err(|source| LocationError::Store { location: url.location.clone(), source: Box::new(source) })
}

fn file_in_directory(path: &Path) -> Result<(Arc<dyn Store>, KeyBuf), StoreError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    let name = name.to_str().ok_or_else(|| StoreError::Unsupported {
        location: path.display().to_string(),
        operation: "be read by its name, which is not UTF-8",
        remedy: "rename it, or make a link to it".to_owned(),
    })?;
    Ok((shared(FileStore::open(parent, Access::Read)?), KeyBuf::parse(name)?))
}

/// The error of an operation on Zarr datasets for a netCDF file.
fn is_file(url: &DatasetUrl) -> LocationError {
    let name = url.location.file_name().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
    LocationError::NetcdfFile { location: url.location.clone(), zarr: format!("{stem}.zarr") }
}

fn shared<S: Store + 'static>(store: S) -> Arc<dyn Store> {
    Arc::new(store)
}

/// Whether a dataset can be created there, as far as the URL decides it.
pub(super) fn check_new(url: &DatasetUrl) -> Result<(), StoreError> {
    match &url.location {
        Location::Path(_) => Ok(()),
        #[cfg(feature = "s3")]
        Location::S3(s3) => configured::s3(s3, &Process).map(drop),
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => Err(not_built(url, "S3 (feature s3)")),
        Location::Http(_) => Err(read_only(url)),
    }
}

/// Creates the store of a new dataset.
pub(super) fn create(url: &DatasetUrl, options: CreateOptions) -> Result<Arc<dyn Store>, StoreError> {
    check_new(url)?;
    match &url.location {
        Location::Path(path) => {
            let options = options.permissions(FilePermissions::default().from_environment()?);
            match url.new_storage() {
                Storage::Zip => ZipStore::create(path, options, ZipLayout::Flat).map(shared),
                _ => FileStore::create(path, options).map(shared),
            }
        }
        #[cfg(feature = "s3")]
        Location::S3(s3) => S3Store::create(configured::s3(s3, &Process)?, options).map(shared),
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => Err(not_built(url, "S3 (feature s3)")),
        Location::Http(_) => Err(read_only(url)),
    }
}

/// Reserves a location in S3 for a dataset that several programs write.
pub(super) fn begin_shared(url: &DatasetUrl, token: &str) -> Result<(), StoreError> {
    match &url.location {
        #[cfg(feature = "s3")]
        Location::S3(s3) => S3Store::begin_shared(configured::s3(s3, &Process)?, token),
        _ => Err(not_shared(url, token)),
    }
}

/// Opens the store of a dataset in S3 that several programs write.
pub(super) fn open_shared(url: &DatasetUrl, token: &str) -> Result<Arc<dyn Store>, StoreError> {
    match &url.location {
        #[cfg(feature = "s3")]
        Location::S3(s3) => S3Store::open_shared(configured::s3(s3, &Process)?, token).map(shared),
        _ => Err(not_shared(url, token)),
    }
}

fn not_shared(url: &DatasetUrl, _token: &str) -> StoreError {
    StoreError::Unsupported {
        location: url.location.to_string(),
        operation: "be written by several programs",
        remedy: "name a directory or a prefix in S3, with an ncz that was built with S3 (feature s3)"
            .to_owned(),
    }
}

fn read_only(url: &DatasetUrl) -> StoreError {
    StoreError::Unsupported {
        location: url.location.to_string(),
        operation: "be written",
        remedy: "HTTP is read-only; if this service has the S3 protocol, add #mode=s3".to_owned(),
    }
}

#[cfg(not(all(feature = "s3", feature = "http")))]
fn not_built(url: &DatasetUrl, what: &str) -> StoreError {
    StoreError::Unsupported {
        location: url.location.to_string(),
        operation: "be reached",
        remedy: format!("this ncz was built without {what}"),
    }
}

/// The error for a location in S3 or on a server without a dataset: names what exists instead, if that is visible.
pub(super) fn nothing(url: &DatasetUrl, store: &dyn Store) -> LocationError {
    let refuse = |reason: String| LocationError::NotADataset { location: url.location.clone(), reason };
    let name = url.location.file_name().unwrap_or_default();
    let marks = MARKS.join(", ");
    if name.to_ascii_lowercase().ends_with(".zip") {
        return refuse(format!(
            "is not a Zarr dataset: it has none of {marks}; if it is a zip file, copy it to this machine first, zip files \
             are read there"
        ));
    }
    if !store.capabilities().list {
        return refuse(format!(
            "is not a Zarr dataset: it has none of {marks}; check the URL, and that it is the URL of a dataset and not of a \
             folder with datasets, which cannot be seen on a server without listings"
        ));
    }
    let listing = match store.list(Prefix::ROOT, Depth::One, LOOKED_AT) {
        Ok(listing) => listing,
        Err(StoreError::TooManyEntries { .. }) => {
            return refuse(format!("is not a Zarr dataset: none of its many objects is one of {marks}"));
        }
        Err(source) => {
            return LocationError::Store { location: url.location.clone(), source: Box::new(source) };
        }
    };
    if listing.entries.is_empty() {
        return refuse("is empty: no key begins with this prefix; check bucket and key".to_owned());
    }
    let folders = || listing.entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
    let is_inside = |name: &&str| {
        MARKS.iter().any(|mark| {
            let key = format!("{name}/{mark}");
            ncz_store::Key::parse(&key).is_ok_and(|key| store.len(key).is_ok_and(|len| len.is_some()))
        })
    };
    // A few requests each; this is not the moment to be thorough.
    let inside: Vec<&str> =
        folders().map(|entry| entry.key.as_str()).take(10).filter(is_inside).take(5).collect();
    match inside.as_slice() {
        [] => {
            let names: Vec<&str> = folders().map(|entry| entry.key.as_str()).take(5).collect();
            let below = match names.as_slice() {
                [] => String::new(),
                names => format!("; look further down, in {}", names.join(", ")),
            };
            refuse(format!("is not a Zarr dataset: there are objects, but none of {marks}{below}"))
        }
        names => refuse(format!("is not a dataset; there are some inside: {}", names.join(", "))),
    }
}

/// Whether one location is inside the other one. Equal locations are not.
pub(super) fn nests(one: &Location, other: &Location) -> Option<Nesting> {
    let (one, other) = match (one, other) {
        (Location::Path(one), Location::Path(other)) => {
            let (one, other) = (resolved(one)?, resolved(other)?);
            return nesting(one == other, one.starts_with(&other), other.starts_with(&one));
        }
        _ => (address(one)?, address(other)?),
    };
    let is_below = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/') || outer.ends_with('/'))
    };
    nesting(one == other, is_below(&one, &other), is_below(&other, &one))
}

fn nesting(is_same: bool, is_inside: bool, is_around: bool) -> Option<Nesting> {
    match (is_same, is_inside, is_around) {
        (false, true, _) => Some(Nesting::Inside),
        (false, _, true) => Some(Nesting::Around),
        _ => None,
    }
}

/// The path without links. The path itself need not exist, its folder must.
fn resolved(path: &Path) -> Option<PathBuf> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    path.canonicalize().ok().or_else(|| Some(parent.canonicalize().ok()?.join(path.file_name()?)))
}

/// A text that is the same for all URLs of one remote location.
fn address(location: &Location) -> Option<String> {
    match location {
        Location::Path(_) => None,
        #[cfg(feature = "s3")]
        Location::S3(s3) => s3_address(s3),
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => None,
        Location::Http(http) => Some(http.url.clone()),
    }
}

#[cfg(feature = "s3")]
fn s3_address(s3: &S3Location) -> Option<String> {
    // Errors are reported when the location is opened.
    let config = configured::s3(s3, &Process).ok()?;
    // The name of an Amazon bucket is unique across all regions.
    let service = config.endpoint.filter(|endpoint| !endpoint.contains(".amazonaws.com"));
    let service = service.unwrap_or_else(|| "amazon".to_owned());
    let slash = if config.prefix.is_empty() { "" } else { "/" };
    Some(format!("{service}/{}{slash}{}", config.bucket, config.prefix))
}
