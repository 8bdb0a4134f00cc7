//! Opening references as a dataset.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ncz_model::Session;
use ncz_store::references::{OpenTarget, ReferenceStore};
use ncz_store::{Access, FileStore, KeyBuf, ReadRange, Store, StoreError};
use ncz_zarr::Dataset as ZarrDataset;

use crate::dataset::Dataset;
use crate::location::{DatasetUrl, HttpLocation, Location, LocationError, Metadata, Mode, S3Location};

/// Opens the dataset of the references at a path or URL. `target` is the URL of those that have none; all other
/// references open like any dataset ([`ncz::open`](crate::open())).
///
/// # Errors
/// There are no references, they cannot be read ([`StoreError::BadReferences`]), or the metadata in them are damaged.
/// Files that they refer to are opened when they are read.
pub fn open(
    references: &DatasetUrl,
    target: Option<&str>,
    session: Session,
) -> Result<Dataset, LocationError> {
    let store = open_store(references, target)?;
    let opened = ZarrDataset::open(store, session, &references.read_options());
    opened.map(Dataset::new).map_err(|source| LocationError::Dataset {
        location: references.location.clone(),
        source: Box::new(source),
    })
}

/// Opens references as a store.
///
/// URLs in them are relative to the references. References from a server must not point to files of this machine.
///
/// # Errors
/// As [`open`].
pub fn open_store(references: &DatasetUrl, target: Option<&str>) -> Result<Arc<dyn Store>, LocationError> {
    let location = &references.location;
    let targets = Targets {
        references: location.clone(),
        stale_ok: references.mode.stale_ok,
        folders: Mutex::default(),
    };
    if references.is_folder_of_references() {
        return open_folder(references, target, targets);
    }
    let opened = targets.object(location).and_then(|(store, key)| {
        let mut json = Vec::new();
        match store.read(key.as_key(), ReadRange::All, ReferenceStore::MOST_BYTES, &mut json)? {
            true => ReferenceStore::open(location.to_string(), &json, target, Arc::new(targets)),
            false => Err(StoreError::NotFound { location: location.to_string() }),
        }
    });
    match opened {
        Ok(store) => Ok(Arc::new(store)),
        Err(source) => Err(LocationError::Store { location: location.clone(), source: Box::new(source) }),
    }
}

/// Opens the tables of references in a folder.
#[cfg(feature = "parquet")]
fn open_folder(
    references: &DatasetUrl,
    target: Option<&str>,
    targets: Targets,
) -> Result<Arc<dyn Store>, LocationError> {
    let location = &references.location;
    let folder = targets.folder(location.clone());
    let opened = folder.and_then(|folder| {
        ncz_store::references::parquet::ParquetStore::open(
            location.to_string(),
            folder,
            target,
            Arc::new(targets),
        )
    });
    match opened {
        Ok(store) => Ok(Arc::new(store)),
        Err(source) => Err(LocationError::Store { location: location.clone(), source: Box::new(source) }),
    }
}

#[cfg(not(feature = "parquet"))]
fn open_folder(
    references: &DatasetUrl,
    _: Option<&str>,
    _: Targets,
) -> Result<Arc<dyn Store>, LocationError> {
    let source = StoreError::Unsupported {
        location: references.location.to_string(),
        operation: "be read",
        remedy: "this ncz was built without references in Parquet (feature parquet)".to_owned(),
    };
    Err(LocationError::Store { location: references.location.clone(), source: Box::new(source) })
}

/// Opens the objects that references point into.
#[derive(Debug)]
struct Targets {
    references: Location,
    /// Whether objects may have changed.
    stale_ok: bool,
    /// Their folders, so that objects of one folder share connections. Locations of one URL may differ in their query,
    /// user or options.
    folders: Mutex<HashMap<String, Vec<Folder>>>,
}

/// A folder, and its store.
type Folder = (Location, Arc<dyn Store>);

impl OpenTarget for Targets {
    fn refuses_changed(&self) -> bool {
        !self.stale_ok
    }

    fn open(&self, url: &str) -> Result<(Arc<dyn Store>, KeyBuf), StoreError> {
        let local = url.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://")).and(url.get(7..));
        // fsspec takes such a path as it is: nothing in it is a fragment, a query or an escape.
        let location = if let Some(path) = local {
            Location::Path(path.into())
        } else if url.contains("://") {
            let parsed = DatasetUrl::parse(url).map_err(|error| self.refused(url, &error.to_string()))?;
            parsed.location
        } else {
            self.relative(url)?
        };
        if location.path().is_some() && self.references.path().is_none() {
            return Err(self.refused(url, "references from a server must not point to files of this machine"));
        }
        self.object(&location)
    }
}

impl Targets {
    /// The location of a path relative to the references.
    fn relative(&self, path: &str) -> Result<Location, StoreError> {
        match &self.references {
            Location::Path(references) => {
                let folder = references.parent().unwrap_or(Path::new(""));
                Ok(Location::Path(folder.join(path)))
            }
            _ if Path::new(path).is_absolute() => {
                Err(self.refused(path, "references from a server must not point to files of this machine"))
            }
            Location::S3(s3) => {
                let prefix = joined(&s3.prefix, path).ok_or_else(|| self.refused(path, ABOVE))?;
                Ok(Location::S3(Box::new(S3Location { prefix, ..(**s3).clone() })))
            }
            Location::Http(http) => {
                let (scheme, rest) = http.url.split_once("://").unwrap_or_default();
                let (host, from) = rest.split_once('/').unwrap_or((rest, ""));
                let path = joined(from, path).ok_or_else(|| self.refused(path, ABOVE))?;
                let url = format!("{scheme}://{host}/{path}");
                Ok(Location::Http(Box::new(HttpLocation { url, ..(**http).clone() })))
            }
        }
    }

    /// The store of the folder of an object, and the object's key there.
    fn object(&self, location: &Location) -> Result<(Arc<dyn Store>, KeyBuf), StoreError> {
        let name = location.file_name().unwrap_or_default();
        let key = KeyBuf::parse(name)?;
        let folder = match location {
            Location::Path(path) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                // Messages name the folder.
                let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
                Location::Path(folder.map_or_else(here, Path::to_owned))
            }
            Location::S3(s3) => {
                let folder = s3.prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
                Location::S3(Box::new(S3Location { prefix: folder.to_owned(), ..(**s3).clone() }))
            }
            Location::Http(http) => {
                let folder = http.url.rsplit_once('/').map_or(http.url.as_str(), |(folder, _)| folder);
                Location::Http(Box::new(HttpLocation { url: folder.to_owned(), ..(**http).clone() }))
            }
        };
        Ok((self.folder(folder)?, key))
    }

    /// The store of a folder.
    fn folder(&self, folder: Location) -> Result<Arc<dyn Store>, StoreError> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let address = folder.to_string();
        let known = folders.entry(address.clone()).or_default();
        if let Some((_, store)) = known.iter().find(|(location, _)| *location == folder) {
            return Ok(Arc::clone(store));
        }
        let store: Arc<dyn Store> = match &folder {
            Location::Path(path) => Arc::new(FileStore::open(path, Access::Read)?),
            _ => {
                // Whatever its extension, it is a folder.
                let mode = Mode { metadata: Some(Metadata::Zarr), ..Mode::default() };
                let url = DatasetUrl { location: folder.clone(), mode };
                url.open_folder().map_err(|error| match error {
                    LocationError::Store { source, .. } => *source,
                    error => self.refused(&address, &error.to_string()),
                })?
            }
        };
        known.push((folder, Arc::clone(&store)));
        Ok(store)
    }

    fn refused(&self, url: &str, reason: &str) -> StoreError {
        StoreError::BadReferences {
            location: self.references.to_string(),
            reason: format!("{:?}: {reason}", crate::location::redacted(url)),
        }
    }
}

const ABOVE: &str = "it leads above the top of the server";

/// A path relative to the folder of another one; `None` if it leads above the top.
fn joined(from: &str, path: &str) -> Option<String> {
    let mut segments: Vec<&str> = from.split('/').collect();
    segments.pop();
    if path.starts_with('/') {
        segments.clear();
    }
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_urls_are_those_of_objects_beside_the_references() {
        let targets = |url: &str| Targets {
            references: DatasetUrl::parse(url).unwrap().location,
            stale_ok: false,
            folders: Mutex::default(),
        };
        for (references, path, want) in [
            ("/data/refs/a.json", "../a.nc", "/data/refs/../a.nc"),
            ("/data/refs/a.json", "/other/a.nc", "/other/a.nc"),
            ("https://example.org/data/a.json", "b/a.nc", "https://example.org/data/b/a.nc"),
            ("https://example.org/data/a.json", "../a.nc", "https://example.org/a.nc"),
            ("s3://bucket/data/a.json", "./a.nc", "s3://bucket/data/a.nc"),
            ("s3://bucket/a.json", "a.nc", "s3://bucket/a.nc"),
        ] {
            assert_eq!(targets(references).relative(path).unwrap().to_string(), want, "{references} {path}");
        }
        assert!(targets("https://example.org/a.json").relative("../a.nc").is_err());
    }

    #[test]
    fn references_from_a_server_do_not_open_files_of_this_machine() {
        for references in ["https://example.org/a.json", "s3://bucket/a.json"] {
            let references = DatasetUrl::parse(references).unwrap().location;
            let targets = Targets { references, stale_ok: false, folders: Mutex::default() };
            for url in ["file:///etc/passwd", "/etc/passwd", "FILE:///etc/passwd"] {
                let error = targets.open(url).unwrap_err();
                assert!(error.to_string().contains("must not point to files of this machine"), "{error}");
            }
        }
    }
}
