//! The files of a run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ncz_registry::search_path::Environment;

use crate::error::Error;

/// The file of a library.
#[derive(Debug)]
pub(crate) struct LibraryFile {
    /// As it was given.
    pub(crate) path: PathBuf,
    pub(crate) absolute: PathBuf,
    pub(crate) size: u64,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) crc32: u32,
}

/// The files that are meant: files as they are, and of folders each file with the name of a plugin, sorted by name.
/// A file that is meant twice comes once.
pub(crate) fn all(given: &[PathBuf]) -> Result<Vec<LibraryFile>, Error> {
    let mut files: Vec<LibraryFile> = Vec::new();
    for path in given {
        let unreadable = |source| Error::Unreadable { path: path.clone(), source };
        let paths = match fs::metadata(path).map_err(unreadable)?.is_dir() {
            false => vec![path.clone()],
            true => plugins_in(path)?,
        };
        for path in paths {
            let file = look(path)?;
            if files.iter().all(|known| known.absolute != file.absolute) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

fn plugins_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Unreadable { path: folder.to_owned(), source };
    let platform = Environment::capture().platform;
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A link that leads nowhere and a folder of such a name are not plugins.
        let is_file = fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_file());
        if platform.matches(&entry.file_name()) && is_file {
            paths.push(entry.path());
        }
    }
    if paths.is_empty() {
        return Err(Error::EmptyFolder { path: folder.to_owned(), pattern: platform.name_pattern() });
    }
    paths.sort();
    Ok(paths)
}

fn look(path: PathBuf) -> Result<LibraryFile, Error> {
    let read = || -> io::Result<_> {
        let metadata = fs::metadata(&path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is neither a file nor a folder"));
        }
        Ok((metadata, fs::read(&path)?, std::path::absolute(&path)?))
    };
    match read() {
        Ok((metadata, bytes, absolute)) => Ok(LibraryFile {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            crc32: crc32fast::hash(&bytes),
            absolute,
            path,
        }),
        Err(source) => Err(Error::Unreadable { path, source }),
    }
}
