//! Chunks in files, as zarr-python's `LocalStore` has them.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use crate::errors::{Failure, Kind};

/// Reads a file of at most `limit` bytes into `out`; returns whether there is one.
pub(crate) fn read(path: &Path, limit: usize, out: &mut Vec<u8>) -> Result<bool, Failure> {
    out.clear();
    let Some((file, len)) = open(path)? else { return Ok(false) };
    let len = usize::try_from(len).ok().filter(|&len| len <= limit);
    let Some(len) = len else {
        let text = format!("expected a chunk of at most {limit} bytes, got a longer file");
        return Err(Failure::new(Kind::Data, text));
    };
    out.try_reserve(len).map_err(|_| Failure::new(Kind::Memory, format!("no memory for {len} bytes")))?;
    file.take(len as u64).read_to_end(out).map_err(|error| failed("read", &error))?;
    Ok(true)
}

/// Reads a file of exactly the length of `out`; returns whether there is one of this length.
pub(crate) fn read_exactly(path: &Path, out: &mut [u8]) -> Result<bool, Failure> {
    let Some((mut file, len)) = open(path)? else { return Ok(false) };
    if len != out.len() as u64 {
        return Ok(false);
    }
    file.read_exact(out).map_err(|error| failed("read", &error))?;
    Ok(true)
}

/// Replaces a file as a whole: readers see the old or the new one.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    let mut file = match create(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(folder).and_then(|()| create(folder))
        }
        other => other,
    }
    .map_err(|error| failed("write", &error))?;
    file.write_all(bytes).map_err(|error| failed("write", &error))?;
    file.persist(path).map_err(|error| failed("write", &error.error))?;
    Ok(())
}

/// Removes a file, if there is one.
pub(crate) fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if !is_missing(error.kind()) => Err(failed("remove", &error)),
        _ => Ok(()),
    }
}

/// A file of another name beside the one to write, with the permissions that a new file has.
fn create(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".ncz-").suffix(".partial").tempfile_in(folder)
}

fn open(path: &Path) -> Result<Option<(File, u64)>, Failure> {
    let opened = File::open(path).and_then(|file| {
        let metadata = file.metadata()?;
        Ok((file, metadata))
    });
    match opened {
        // What is not a file is no chunk, as for zarr-python.
        Ok((_, metadata)) if metadata.is_dir() => Ok(None),
        Ok((file, metadata)) => Ok(Some((file, metadata.len()))),
        Err(error) if is_missing(error.kind()) => Ok(None),
        Err(error) => Err(failed("open", &error)),
    }
}

fn is_missing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory)
}

fn failed(action: &str, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Data, format!("cannot {action}: {error}"))
}
