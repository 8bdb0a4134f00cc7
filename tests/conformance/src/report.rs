//! Reports of a run: for the terminal, for programs, for build servers, for a browser, for a page of documentation.
//!
//! A plugin controls much of the printed text: its name, its messages, its output to stderr. Each report escapes
//! all of it in its own way.

pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod text;

mod escape;
mod format;
mod package;

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::Error;

/// Writes a report to a file, whole or not at all, or to standard output if the path is `-`.
///
/// # Errors
/// [`Error::Report`]: the folder is not there or not to be written to, or the disk is full.
pub fn save(path: &Path, report: &str) -> Result<(), Error> {
    let written = if path == Path::new("-") {
        io::stdout().lock().write_all(report.as_bytes())
    } else {
        replace(path, report)
    };
    written.map_err(|source| Error::Report { path: path.to_owned(), source })
}

/// Looks before a long run whether a report could be written there.
///
/// # Errors
/// [`Error::Report`]: the folder does not exist or is not writable, or a folder has the name of the file.
pub fn check(path: &Path) -> Result<(), Error> {
    let refused = |source: io::Error| Err(Error::Report { path: path.to_owned(), source });
    if path == Path::new("-") {
        return Ok(());
    }
    if path.is_dir() {
        return refused(io::ErrorKind::IsADirectory.into());
    }
    if is_special(path) {
        return Ok(());
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // What is made here is gone at once.
    tempfile::tempfile_in(folder(&path)).map(drop).or_else(refused)
}

/// Tests whether it is a device or a pipe, which is written to directly and cannot be replaced by a file.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

fn replace(path: &Path, report: &str) -> io::Result<()> {
    if is_special(path) {
        return std::fs::write(path, report);
    }
    // A link stays one: what it leads to is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // What a new file has, less what the umask takes.
    let mut file = tempfile::Builder::new()
        .prefix(".ncz-conform-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(&path))?;
    file.write_all(report.as_bytes())?;
    file.persist(&path)?;
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
