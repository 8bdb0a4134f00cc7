//! Where the parts of a copy are until it is finished.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz_model::Format;
use ncz_store::{
    Access, Depth, Durability, EntryKind, FilePermissions, FileStore, Key, Prefix, Store, StoreError,
    StoreExt, WriteMode,
};
use serde::{Deserialize, Serialize};

use super::super::resume::remove_unfinished;
use super::PartsError;
use super::error::Failure;
use crate::location::{DatasetUrl, Location, Storage, is_dataset};

/// Follows the name of the target.
pub(super) const ENDING: &str = ".ncz-parts";
/// The object that says which plan it is.
const CLAIM: &str = "claim.json";
/// The plan, for a user who has lost it.
pub(super) const PLAN: &str = "plan.json";
/// The folder of what is known of complete parts.
pub(super) const DONE: &str = "done";
/// The folder with the objects of the copy.
const DATA: &str = "data";
/// The longest record.
pub(super) const LONGEST: u64 = 64 << 20;

/// The location of the parts of a copy.
#[derive(Debug)]
pub(super) struct Staging {
    target: DatasetUrl,
    /// The location of the records.
    beside: DatasetUrl,
}

/// The stores of a copy that is not finished.
#[derive(Debug)]
pub(super) struct Stores {
    /// Says which plan it is, and which parts are complete.
    pub(super) records: Arc<dyn Store>,
    /// The objects of the copy.
    pub(super) data: Arc<dyn Store>,
}

/// Which plan it is.
#[derive(Serialize, Deserialize)]
struct Claim {
    token: String,
}

impl Staging {
    /// The location of the parts of a copy to `target`.
    ///
    /// # Errors
    /// The target cannot be written in parts.
    pub(super) fn of(target: &DatasetUrl, format: Format) -> Result<Self, PartsError> {
        let location = target.location.clone();
        let what = match target.new_storage() {
            _ if format.is_netcdf() => Some("a netCDF file"),
            _ if target.names_references() => Some("a name for references"),
            Storage::Zip => Some("a zip file"),
            Storage::Http => Some("on a server that is only read"),
            _ => None,
        };
        if let Some(what) = what {
            return Err(PartsError::OneFile { location, what });
        }
        let records = match &location {
            Location::Path(path) => path.file_name().map(|name| {
                let mut name = OsString::from(name);
                name.push(ENDING);
                Location::Path(path.with_file_name(name))
            }),
            Location::S3(s3) if !s3.prefix.is_empty() => {
                let mut records = s3.clone();
                records.prefix.push_str(ENDING);
                Some(Location::S3(records))
            }
            _ => None,
        };
        let records = records.ok_or(PartsError::NoName { location })?;
        let beside = DatasetUrl { location: records, mode: target.mode };
        Ok(Self { target: target.clone(), beside })
    }

    /// Checks that nothing is at the target. In S3 only [`begin`](Self::begin) does.
    pub(super) fn check_free(&self) -> Result<(), PartsError> {
        let Some((folder, target)) = self.paths() else { return Ok(()) };
        if fs::symlink_metadata(target).is_ok() {
            return Err(PartsError::Exists { location: self.target.location.clone() });
        }
        match fs::symlink_metadata(folder) {
            Ok(_) => Err(self.taken(folder)),
            Err(_) => Ok(()),
        }
    }

    /// Reserves the target for a plan, and keeps its text.
    pub(super) fn begin(&self, token: &str, plan: &str) -> Result<(), PartsError> {
        self.check_free()?;
        match self.paths() {
            Some((folder, _)) => {
                make_directory(folder, self.permissions()?).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => self.taken(folder),
                    _ => io_error("create", folder)(error),
                })?;
            }
            None => self.target.begin_shared(token).map_err(|error| match error {
                StoreError::AlreadyExists { .. } => {
                    PartsError::Exists { location: self.target.location.clone() }
                }
                error => PartsError::store(&self.target.location)(error),
            })?,
        }
        let claim = serde_json::to_vec(&Claim { token: token.to_owned() }).map_err(PartsError::Json)?;
        let write = || {
            if let Some((folder, _)) = self.paths() {
                let data = folder.join(DATA);
                make_directory(&data, self.permissions()?).map_err(io_error("create", &data))?;
            }
            let records = self.open_records()?;
            let write = |name, bytes: &[u8]| {
                records.write(key(name)?, bytes, WriteMode::Replace).map_err(PartsError::store(self))
            };
            write(CLAIM, &claim)?;
            write(PLAN, plan.as_bytes())
        };
        write().inspect_err(|_| {
            // The error says why the target is not reserved; what is left of it says so too.
            let _ = match self.paths() {
                Some((folder, _)) => fs::remove_dir_all(folder).map_err(io_error("remove", folder)),
                None => self
                    .target
                    .open_shared(token)
                    .and_then(|data| data.publish())
                    .map_err(PartsError::store(self)),
            };
        })
    }

    /// Opens what [`begin`](Self::begin) made.
    ///
    /// # Errors
    /// It is not there, or it is of another plan.
    pub(super) fn open(&self, token: &str) -> Result<Stores, PartsError> {
        let records = self.records(token)?;
        let data: Arc<dyn Store> = match self.paths() {
            Some((folder, _)) => {
                let store =
                    FileStore::open(folder.join(DATA), Access::ReadWrite).map_err(self.not_reserved())?;
                // A part is made durable as a whole.
                let store = store.with_durability(Durability::Process);
                Arc::new(store.with_permissions(self.permissions()?))
            }
            None => self.target.open_shared(token).map_err(self.not_reserved())?,
        };
        Ok(Stores { records, data })
    }

    /// Makes durable what was written to the copy.
    pub(super) fn sync(&self) -> Result<(), PartsError> {
        let Some((folder, _)) = self.paths() else { return Ok(()) };
        let store = FileStore::open(folder.join(DATA), Access::ReadWrite);
        store.and_then(|store| store.sync()).map_err(PartsError::store(self))
    }

    /// The target, if it is no longer reserved: an earlier call has made the copy the target, or somebody else has
    /// written there.
    pub(super) fn unreserved(&self, token: &str) -> Result<Option<Arc<dyn Store>>, PartsError> {
        let is_reserved = match self.paths() {
            Some((folder, target)) => folder.join(DATA).exists() || !target.is_dir(),
            None => match self.target.open_shared(token) {
                Err(StoreError::Gone { .. }) => false,
                opened => opened.map(|_| true).map_err(PartsError::store(&self.target.location))?,
            },
        };
        Ok(if is_reserved { None } else { Some(self.target.open_any_store(Access::Read)?) })
    }

    /// Makes the complete copy the target. Nothing may be open in it but `data`, which is in S3.
    pub(super) fn publish(&self, data: Arc<dyn Store>) -> Result<(), PartsError> {
        let Some((folder, target)) = self.paths() else {
            return data.publish().map_err(PartsError::store(&self.target.location));
        };
        drop(data);
        let data = folder.join(DATA);
        self.sync()?;
        if fs::symlink_metadata(target).is_ok() {
            return Err(PartsError::Exists { location: self.target.location.clone() });
        }
        fs::rename(&data, target).map_err(io_error("rename", &data))
    }

    /// Removes from the target what parts have not finished, and makes its name durable. What still runs fails only now,
    /// when it is seen that the copy is finished.
    pub(super) fn settle_target(&self) -> Result<(), PartsError> {
        let Some((_, target)) = self.paths() else { return Ok(()) };
        remove_unfinished(target).map_err(io_error("clean", target))?;
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(io_error("flush", parent))
    }

    /// Removes the records: the plan, and those with these keys. Another call may do it at the same time.
    pub(super) fn remove(&self, records: &dyn Store, keys: &[String]) -> Result<(), PartsError> {
        self.remove_all(records, keys).map_err(|source| PartsError::NotRemoved {
            location: self.target.location.clone(),
            staging: self.to_string(),
            source,
        })
    }

    /// Gives the target free: removes what parts have written, and the records with these keys. It can run again if it was
    /// interrupted.
    pub(super) fn discard(&self, token: &str, keys: &[String]) -> Result<(), PartsError> {
        let records = match self.paths() {
            Some(_) => self.records(token)?,
            None => self.discard_objects(token)?,
        };
        let failed = |source| PartsError::NotDiscarded { staging: self.to_string(), source };
        self.remove_all(&*records, keys).map_err(failed)
    }

    /// Removes what parts have written in S3. Returns the store of the records.
    fn discard_objects(&self, token: &str) -> Result<Arc<dyn Store>, PartsError> {
        let failed = PartsError::store(&self.target.location);
        let data = match self.target.open_shared(token) {
            Ok(data) => data,
            // An earlier call has removed them, or the copy is finished.
            Err(StoreError::Gone { .. }) => {
                let records = self.records(token)?;
                let target = self.target.open_any_store(Access::Read)?;
                return match is_dataset(&*target).map_err(&failed)? {
                    true => Err(PartsError::NotReserved { staging: self.to_string() }),
                    false => Ok(records),
                };
            }
            Err(error) => return Err(failed(error)),
        };
        for entry in data.list(Prefix::ROOT, Depth::All, usize::MAX).map_err(&failed)?.entries {
            if entry.kind == EntryKind::Object {
                data.delete(entry.key.as_key()).map_err(&failed)?;
            }
        }
        data.publish().map_err(&failed)?;
        self.open_records()
    }

    /// Removes everything beside the target, last what says which plan it is of.
    fn remove_all(&self, records: &dyn Store, keys: &[String]) -> Result<(), Failure> {
        let Some((folder, _)) = self.paths() else {
            for key in keys.iter().map(String::as_str).chain([PLAN, CLAIM]) {
                records.delete(Key::parse(key)?)?;
            }
            return Ok(());
        };
        for name in [DONE, DATA] {
            unless_gone(fs::remove_dir_all(folder.join(name)))?;
        }
        unless_gone(fs::remove_file(folder.join(PLAN)))?;
        Ok(unless_gone(fs::remove_dir_all(folder))?)
    }

    /// The folder of the parts and the target, if they are directories.
    pub(super) fn paths(&self) -> Option<(&Path, &Path)> {
        Some((self.beside.location.path()?, self.target.location.path()?))
    }

    fn permissions(&self) -> Result<FilePermissions, PartsError> {
        FilePermissions::default().from_environment().map_err(PartsError::store(self))
    }

    fn open_records(&self) -> Result<Arc<dyn Store>, PartsError> {
        Ok(match self.beside.location.path() {
            Some(folder) => {
                let store = FileStore::open(folder, Access::ReadWrite).map_err(self.not_reserved())?;
                Arc::new(store.with_permissions(self.permissions()?))
            }
            None => self.beside.open_any_store(Access::ReadWrite)?,
        })
    }

    /// The records, if they are of this plan.
    pub(super) fn records(&self, token: &str) -> Result<Arc<dyn Store>, PartsError> {
        let records = self.open_records()?;
        let claim = records.read_vec(key(CLAIM)?, LONGEST).map_err(PartsError::store(self))?;
        let claim = claim.ok_or_else(|| match self.paths() {
            Some((folder, _)) if folder.exists() => PartsError::Unclaimed { staging: self.to_string() },
            _ => PartsError::NotReserved { staging: self.to_string() },
        })?;
        match serde_json::from_slice::<Claim>(&claim) {
            Ok(claim) if claim.token == token => Ok(records),
            _ => Err(PartsError::OtherPlan { staging: self.to_string() }),
        }
    }

    /// The error of a copy that is probably finished.
    pub(super) fn finished(&self) -> PartsError {
        PartsError::Finished { location: self.target.location.clone() }
    }

    /// The error of a folder that exists already.
    fn taken(&self, folder: &Path) -> PartsError {
        let staging = self.to_string();
        match [CLAIM, PLAN].iter().all(|name| folder.join(name).exists()) {
            true => PartsError::Busy { staging },
            false => PartsError::Unclaimed { staging },
        }
    }

    /// The error of something that cannot be opened.
    fn not_reserved(&self) -> impl Fn(StoreError) -> PartsError {
        let staging = self.to_string();
        move |error| match error {
            StoreError::NotFound { .. } | StoreError::Gone { .. } => {
                PartsError::NotReserved { staging: staging.clone() }
            }
            error => PartsError::store(&staging)(error),
        }
    }
}

impl std::fmt::Display for Staging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.beside.location.fmt(f)
    }
}

fn key(name: &str) -> Result<Key<'_>, PartsError> {
    Key::parse(name).map_err(|error| PartsError::store(name)(error.into()))
}

/// What is not there does not have to be removed.
fn unless_gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> PartsError {
    let path: PathBuf = path.to_owned();
    move |source| PartsError::Io { action, path: path.clone(), source }
}

fn make_directory(path: &Path, permissions: FilePermissions) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(permissions.directory).create(path)
}
