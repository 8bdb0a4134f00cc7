//! Opening archives and beginning new ones.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Stat, fstat};
use rustix::io::Errno;

use super::archive::Archive;
use super::layout::ZipLayout;
use super::pending::{PendingChanges, State};
use super::{Contents, ZipStore};
use crate::error::{ObjectLocation, StoreError};
use crate::options::{Access, CreateOptions, Predicate};
use crate::parent_dir::{self, ParentDir};
use crate::sys;

pub(super) fn open(path: &Path, access: Access, layout: &ZipLayout) -> Result<ZipStore, StoreError> {
    let location = path.display().to_string();
    let failed = |error| open_error(path, error);
    let contents = match access {
        Access::Read => {
            let file = sys::open_file(rustix::fs::CWD, path).map_err(failed)?;
            Contents::Fixed(Arc::new(read_archive(path, file.into(), layout)?))
        }
        Access::ReadWrite => {
            // what is published takes the place of the archive, not of a link to it
            let real = std::fs::canonicalize(path)
                .map_err(|error| open_error(path, Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
            let parent = ParentDir::of(&real)?;
            let file = sys::open_file_to_write(&parent.dir, &*parent.name).map_err(failed)?;
            let archive = read_archive(path, file.into(), layout)?;
            parent.clean_stages(parent_dir::OLD_STAGE);
            let prefix = archive.prefix.clone();
            let state = State { base: Some(Arc::new(archive)), ..State::default() };
            Contents::PendingChanges(Box::new(PendingChanges::new(Arc::new(parent), prefix, state)))
        }
    };
    match &contents {
        Contents::Fixed(archive) if archive.entries == 0 => Err(StoreError::EmptyArchive { location }),
        Contents::PendingChanges(changing)
            if changing.state().base.as_ref().is_some_and(|base| base.entries == 0) =>
        {
            Err(StoreError::EmptyArchive { location })
        }
        _ => Ok(ZipStore { path: path.to_owned(), contents }),
    }
}

pub(super) fn create(path: &Path, options: CreateOptions, layout: ZipLayout) -> Result<ZipStore, StoreError> {
    let parent = ParentDir::of(path)?;
    check_target(path, &parent, options.replace_if.as_ref())?;
    parent.clean_stages(parent_dir::OLD_STAGE);
    let prefix = match layout {
        ZipLayout::Automatic | ZipLayout::Flat => None,
        ZipLayout::Prefix(prefix) => Some(prefix),
    };
    let mut changing = PendingChanges::new(Arc::new(parent), prefix, State::default());
    changing.durability = options.durability;
    changing.permissions = options.permissions;
    changing.replace_if = options.replace_if;
    // made now, so that a place that cannot be written to is known at once
    changing.stage().map_err(|error| {
        StoreError::from_io("create", ObjectLocation::store(path.display()), error.into())
    })?;
    Ok(ZipStore { path: path.to_owned(), contents: Contents::PendingChanges(Box::new(changing)) })
}

/// `None`: nothing is at the target. `Some`: an archive that may be replaced.
pub(super) fn check_target(
    path: &Path,
    parent: &ParentDir,
    replace_if: Option<&Predicate>,
) -> Result<Option<File>, StoreError> {
    match sys::stat_entry(&parent.dir, &*parent.name) {
        Err(Errno::NOENT) => return Ok(None),
        found => found.map_err(|error| open_error(path, error))?,
    };
    let Some(replace_if) = replace_if else {
        return Err(already(path));
    };
    let file: File = match sys::open_real_file(&parent.dir, &*parent.name) {
        Err(Errno::LOOP) => {
            let reason = "is a symbolic link, which is not followed to replace what it leads to";
            return Err(not_a_dataset(path, reason));
        }
        opened => opened.map_err(|error| open_error(path, error))?.into(),
    };
    let no_dataset = || not_a_dataset(path, "is a file, but not a dataset that may be replaced");
    let looked_at = file
        .try_clone()
        .map_err(|error| StoreError::from_io("open", ObjectLocation::store(path.display()), error))?;
    let archive = match read_archive(path, looked_at, &ZipLayout::Automatic) {
        Err(StoreError::BadArchive { .. } | StoreError::AmbiguousPrefix { .. }) => return Err(no_dataset()),
        read => read?,
    };
    // a dataset in a folder of an archive is not all that would be lost
    if archive.prefix.is_some() && archive.skipped.iter().any(|name| !is_of_macos(name)) {
        return Err(not_a_dataset(path, "holds other files beside the dataset"));
    }
    let existing = ZipStore { path: path.to_owned(), contents: Contents::Fixed(Arc::new(archive)) };
    if !replace_if(&existing)? {
        return Err(no_dataset());
    }
    Ok(Some(file))
}

/// What the Finder of macOS adds to an archive of a folder.
fn is_of_macos(name: &str) -> bool {
    name.starts_with("__MACOSX/") || name == ".DS_Store"
}

fn read_archive(path: &Path, file: File, layout: &ZipLayout) -> Result<Archive, StoreError> {
    let status: Stat = fstat(&file).map_err(|error| open_error(path, error))?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(open_error(path, Errno::ISDIR)),
        _ => return Err(not_a_dataset(path, "is not a regular file")),
    }
    Archive::read(Arc::new(file), &path.display().to_string(), layout)
}

fn open_error(path: &Path, error: Errno) -> StoreError {
    match error {
        Errno::NOENT | Errno::NOTDIR => StoreError::NotFound { location: path.display().to_string() },
        Errno::ISDIR => not_a_dataset(path, "is a directory, not a zip archive"),
        error => StoreError::from_io("open", ObjectLocation::store(path.display()), error.into()),
    }
}

fn already(path: &Path) -> StoreError {
    StoreError::AlreadyExists { at: ObjectLocation::store(path.display()) }
}

fn not_a_dataset(path: &Path, reason: &'static str) -> StoreError {
    StoreError::NotADataset { location: path.display().to_string(), reason }
}
