//! From a place to its store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz_store::{
    Access, CreateOptions, Depth, EntryKind, FilePermissions, FileStore, Prefix, Store, StoreError,
    ZipLayout, ZipStore,
};

#[cfg(feature = "http")]
use ncz_store::http::HttpStore;
#[cfg(feature = "s3")]
use ncz_store::s3::S3Store;

use super::{Location, MARKS, Nesting, Place, PlaceError, Storage};

#[cfg(feature = "s3")]
use super::S3Location;
#[cfg(any(feature = "s3", feature = "http"))]
use super::{configured, surroundings::Process};

/// How many names are looked at where a dataset is missing.
const LOOKED_AT: usize = 1000;

/// Opens the store of a place. Whether a dataset is there is asked of paths only: elsewhere that takes requests.
pub(super) fn open(place: &Place, access: Access) -> Result<Arc<dyn Store>, PlaceError> {
    let storage = place.storage()?;
    let opened = match &place.location {
        Location::Path(path) if storage == Storage::Zip => {
            ZipStore::open(path, access, ZipLayout::Automatic).map(shared)
        }
        Location::Path(path) => FileStore::open(path, access).map(shared),
        #[cfg(feature = "s3")]
        Location::S3(s3) => {
            configured::s3(s3, &Process).and_then(|config| S3Store::open(config, access)).map(shared)
        }
        #[cfg(feature = "http")]
        Location::Http(_) if access == Access::ReadWrite => Err(read_only(place)),
        #[cfg(feature = "http")]
        Location::Http(http) => configured::http(http, &Process).and_then(HttpStore::open).map(shared),
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => Err(not_built(place, "S3 (feature s3)")),
        #[cfg(not(feature = "http"))]
        Location::Http(_) => Err(not_built(place, "HTTP (feature http)")),
    };
    opened.map_err(|source| PlaceError::Store { place: place.location.clone(), source: Box::new(source) })
}

fn shared<S: Store + 'static>(store: S) -> Arc<dyn Store> {
    Arc::new(store)
}

/// Whether a dataset can be made there, as far as the place alone tells.
pub(super) fn check_new(place: &Place) -> Result<(), StoreError> {
    match &place.location {
        Location::Path(_) => Ok(()),
        #[cfg(feature = "s3")]
        Location::S3(s3) => configured::s3(s3, &Process).map(drop),
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => Err(not_built(place, "S3 (feature s3)")),
        Location::Http(_) => Err(read_only(place)),
    }
}

/// Makes the store of a new dataset.
pub(super) fn create(place: &Place, options: CreateOptions) -> Result<Arc<dyn Store>, StoreError> {
    check_new(place)?;
    match &place.location {
        Location::Path(path) => {
            let options = options.permissions(FilePermissions::default().from_environment()?);
            match place.new_storage() {
                Storage::Zip => ZipStore::create(path, options, ZipLayout::Flat).map(shared),
                _ => FileStore::create(path, options).map(shared),
            }
        }
        #[cfg(feature = "s3")]
        Location::S3(s3) => S3Store::create(configured::s3(s3, &Process)?, options).map(shared),
        #[cfg(not(feature = "s3"))]
        Location::S3(_) => Err(not_built(place, "S3 (feature s3)")),
        Location::Http(_) => Err(read_only(place)),
    }
}

fn read_only(place: &Place) -> StoreError {
    StoreError::Unsupported {
        place: place.location.to_string(),
        what: "be written",
        remedy:
            "over HTTP datasets are only read; if this is a service that speaks S3's protocol, add #mode=s3"
                .to_owned(),
    }
}

#[cfg(not(all(feature = "s3", feature = "http")))]
fn not_built(place: &Place, what: &str) -> StoreError {
    StoreError::Unsupported {
        place: place.location.to_string(),
        what: "be reached",
        remedy: format!("this ncz was built without {what}"),
    }
}

/// What to say where no dataset is found in S3 or behind a server: what is there instead, as far as can be seen.
pub(super) fn nothing(place: &Place, store: &dyn Store) -> PlaceError {
    let refuse = |reason: String| PlaceError::NotADataset { place: place.location.clone(), reason };
    let name = place.location.file_name().unwrap_or_default();
    let marks = MARKS.join(", ");
    if name.to_ascii_lowercase().ends_with(".zip") {
        return refuse(format!(
            "is no Zarr dataset: it has none of {marks}; if it is a zip file, copy it to this machine first, zip files \
             are read there"
        ));
    }
    if !store.capabilities().list {
        return refuse(format!(
            "is no Zarr dataset: it has none of {marks}; check the URL, and that it is a dataset's and not that of a \
             folder with datasets, which a server without listing cannot tell"
        ));
    }
    let listing = match store.list(Prefix::ROOT, Depth::One, LOOKED_AT) {
        Ok(listing) => listing,
        Err(StoreError::TooManyEntries { .. }) => {
            return refuse(format!("is no Zarr dataset: of all that is there none is one of {marks}"));
        }
        Err(source) => {
            return PlaceError::Store { place: place.location.clone(), source: Box::new(source) };
        }
    };
    if listing.entries.is_empty() {
        return refuse("has nothing in it: no object's key begins so; check bucket and key".to_owned());
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
            refuse(format!("is no Zarr dataset: there are objects, but none of {marks}{below}"))
        }
        names => refuse(format!("is no dataset; there are some inside: {}", names.join(", "))),
    }
}

/// Whether one location lies inside the other one; two that are the same are not.
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

/// The path without links; that of something that does not exist yet, if its folder does.
fn resolved(path: &Path) -> Option<PathBuf> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    path.canonicalize().ok().or_else(|| Some(parent.canonicalize().ok()?.join(path.file_name()?)))
}

/// A text that is the same for all names of a location that is not on this machine.
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
    // What makes no sense is told of where it is opened.
    let config = configured::s3(s3, &Process).ok()?;
    // A bucket of Amazon's has its name for itself, in all regions.
    let service = config.endpoint.filter(|endpoint| !endpoint.contains(".amazonaws.com"));
    let service = service.unwrap_or_else(|| "amazon".to_owned());
    let slash = if config.prefix.is_empty() { "" } else { "/" };
    Some(format!("{service}/{}{slash}{}", config.bucket, config.prefix))
}
