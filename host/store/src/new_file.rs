//! A new file, which is visible when it is complete.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::error::{ObjectLocation, StoreError};
use crate::hidden_file::HiddenFile;
use crate::options::{Durability, FilePermissions};
use crate::parent_dir::{self, ParentDir};
use crate::sys;
use crate::temp_names::TempNames;

/// Decides whether the file that exists at a path may be replaced.
type MayReplace = Box<dyn Fn(&Path) -> Result<bool, StoreError> + Send + Sync>;

/// A new file that takes its name, or replaces another file, as a whole.
///
/// Until [`publish`](Self::publish) it has a hidden name beside its target, `.NAME.ncz-...`, and is removed when it is
/// dropped. Several threads may write to it.
///
/// ```
/// use ncz_store::{FilePermissions, NewFile};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("new.nc");
/// let file = NewFile::create(&path, FilePermissions::default(), None)?;
/// let at = file.reserve(3);
/// file.write_at(b"CDF", at)?;
/// assert!(!path.exists());
/// file.publish()?;
/// assert_eq!(std::fs::read(&path)?, b"CDF");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NewFile {
    path: PathBuf,
    parent: Arc<ParentDir>,
    names: TempNames,
    hidden: HiddenFile,
    may_replace: Option<MayReplace>,
}

impl NewFile {
    /// Starts a file at `path`, whose folder must exist. A file that exists there is replaced when the new one is
    /// published, if `may_replace` says so, now and then; `None` replaces nothing.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] if something exists that is not to be replaced; [`StoreError::NotADataset`] if it is
    /// not a regular file, or `may_replace` refuses it; [`StoreError::NotFound`] without the folder; and I/O errors.
    pub fn create(
        path: impl AsRef<Path>,
        permissions: FilePermissions,
        may_replace: Option<MayReplace>,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let parent = Arc::new(ParentDir::of(&path)?);
        check(&path, &parent, may_replace.as_ref())?;
        parent.clean_stages(parent_dir::OLD_STAGE);
        let names = TempNames::default();
        let hidden = HiddenFile::create(&parent, &names, permissions.file);
        let hidden = hidden.map_err(|error| failed("create", &path, error))?;
        Ok(Self { path, parent, names, hidden, may_replace })
    }

    /// The path of the target.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reserves the next `len` bytes of the file; returns where they begin.
    #[must_use]
    pub fn reserve(&self, len: u64) -> u64 {
        self.hidden.reserve(len)
    }

    /// The end of what is reserved.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.hidden.end()
    }

    /// Writes bytes at `offset`.
    ///
    /// # Errors
    /// I/O errors, such as a full disk.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        sys::write_all_at(&self.hidden.file, bytes, offset)
            .map_err(|error| failed("write", &self.path, error))
    }

    /// Reads bytes from `offset`, as many as there are, at most all of `out`; returns their number.
    ///
    /// # Errors
    /// I/O errors.
    pub fn read_at(&self, out: &mut [u8], offset: u64) -> Result<usize, StoreError> {
        sys::read_at(&self.hidden.file, out, offset).map_err(|error| failed("read", &self.path, error))
    }

    /// The length of the file in bytes.
    ///
    /// # Errors
    /// I/O errors.
    pub fn len(&self) -> Result<u64, StoreError> {
        let status =
            rustix::fs::fstat(&self.hidden.file).map_err(|error| failed("read", &self.path, error))?;
        Ok(u64::try_from(status.st_size).unwrap_or_default())
    }

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// I/O errors.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.len()? == 0)
    }

    /// Sets the length of the file. Bytes that were never written are zero.
    ///
    /// # Errors
    /// I/O errors.
    pub fn set_len(&self, len: u64) -> Result<(), StoreError> {
        sys::set_len(&self.hidden.file, len).map_err(|error| failed("write", &self.path, error))
    }

    /// Makes the file durable and visible at its path.
    ///
    /// # Errors
    /// As for [`create`](Self::create); [`StoreError::Gone`] if the file to be replaced has changed; and I/O errors. The
    /// file *is* published after [`StoreError::NotRemoved`] and [`StoreError::NotDurable`].
    pub fn publish(&self) -> Result<(), StoreError> {
        let old = check(&self.path, &self.parent, self.may_replace.as_ref())?;
        let location = self.path.display();
        let durability = Durability::PowerLoss;
        let replaced = self.hidden.install(&location, &self.path, old.as_ref(), durability)?;
        self.hidden.finish(&location, &self.path, replaced, durability, &self.names)
    }
}

impl fmt::Debug for NewFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns the file at the target, if there is one and it may be replaced.
fn check(
    path: &Path,
    parent: &ParentDir,
    may_replace: Option<&MayReplace>,
) -> Result<Option<File>, StoreError> {
    let status = match sys::stat_entry(&parent.dir, &*parent.name) {
        Err(Errno::NOENT) => return Ok(None),
        found => found.map_err(|error| failed("open", path, error))?,
    };
    let refuse =
        |reason: &'static str| Err(StoreError::NotADataset { location: path.display().to_string(), reason });
    let Some(may_replace) = may_replace else {
        return Err(StoreError::AlreadyExists { at: ObjectLocation::store(path.display()) });
    };
    match rustix::fs::FileType::from_raw_mode(status.st_mode) {
        rustix::fs::FileType::RegularFile => {}
        rustix::fs::FileType::Symlink => {
            return refuse("is a symbolic link, which is not followed to replace what it leads to");
        }
        _ => return refuse("is not a regular file, and a file replaces only a file"),
    }
    let file =
        sys::open_real_file(&parent.dir, &*parent.name).map_err(|error| failed("open", path, error))?;
    if !may_replace(path)? {
        return refuse("is a file, but not a dataset that can be replaced");
    }
    Ok(Some(file.into()))
}

fn failed(operation: &'static str, path: &Path, error: Errno) -> StoreError {
    StoreError::from_io(operation, ObjectLocation::store(path.display()), error.into())
}
