//! What is at a path: a directory, a zip file, a netCDF file, or something that is often taken for a dataset.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::{LocationError, MARKS};

/// What stores a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// A directory, one file an object.
    Directory,
    /// A zip file, one entry an object.
    Zip,
    /// A bucket of S3, or of a service with its protocol.
    S3,
    /// An HTTP server, for reading.
    Http,
    /// A netCDF or HDF5 file, on this machine, in S3 or on an HTTP server.
    File,
    /// JSON of references to other files, on this machine, in S3 or on an HTTP server.
    References,
}

impl Storage {
    /// The word of netCDF's mode; it has none for HTTP and for references.
    #[must_use]
    pub fn mode_word(self) -> &'static str {
        match self {
            Self::Directory => "file",
            Self::Zip => "zip",
            Self::S3 => "s3",
            Self::Http => "http",
            Self::File => "bytes",
            Self::References => "references",
        }
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::Zip => "a zip file",
            Self::S3 => "in S3",
            Self::Http => "on an HTTP server",
            Self::File => "a netCDF or HDF5 file",
            Self::References => "a file of references",
        })
    }
}

/// Finds the storage of the dataset at a path. The error says what exists instead.
pub(super) fn storage(path: &Path) -> Result<Storage, LocationError> {
    let refuse = |reason: String| Err(LocationError::NotADataset { location: path.into(), reason });
    let look = |source| LocationError::Look { location: path.into(), source };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let fragment = path.to_string_lossy().contains('#');
            let hint = if fragment {
                format!(", and the text after #: mode= with {}", super::mode::KNOWN)
            } else {
                String::new()
            };
            return refuse(format!("does not exist; check the path{hint}"));
        }
        Err(source) => return Err(look(source)),
    };
    if metadata.is_file() && metadata.len() == 0 {
        return refuse("is an empty file; the program that writes it did not finish, or failed".to_owned());
    }
    if metadata.is_file() {
        return match FileKind::of(path).map_err(look)? {
            FileKind::Zip => Ok(Storage::Zip),
            FileKind::Netcdf => Ok(Storage::File),
            FileKind::References => Ok(Storage::References),
            FileKind::Other => refuse(NO_KIND.to_owned()),
        };
    }
    if !metadata.is_dir() {
        return refuse(
            "is neither a directory nor a file; give a netCDF file, or the directory of a dataset".to_owned(),
        );
    }
    let has_mark = |folder: &Path| MARKS.iter().any(|name| folder.join(name).exists());
    if has_mark(path) {
        if has_tables(path).map_err(look)? {
            return Ok(Storage::References);
        }
        return Ok(Storage::Directory);
    }
    let inside = datasets_inside(path, &has_mark)?;
    match inside.as_slice() {
        [] => refuse(format!("is a directory, but not a Zarr dataset: it has none of {}", MARKS.join(", "))),
        names => {
            refuse(format!("is a directory, but not a dataset; there are some inside: {}", names.join(", ")))
        }
    }
}

/// Whether a directory has references in Parquet: its only metadata are a `.zmetadata` that says how many references are
/// in a file.
fn has_tables(path: &Path) -> io::Result<bool> {
    const MARK: &[u8] = b"\"record_size\"";
    const ENDS: u64 = 256;
    if MARKS.iter().any(|name| *name != ".zmetadata" && path.join(name).exists()) {
        return Ok(false);
    }
    let mut file = File::open(path.join(".zmetadata"))?;
    let len = file.metadata()?.len();
    for start in [0, len.saturating_sub(ENDS)] {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&file).take(ENDS).read_to_end(&mut bytes)?;
        if bytes.windows(MARK.len()).any(|window| window == MARK) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Names of datasets right below a directory, a few of them.
fn datasets_inside(path: &Path, has_mark: &dyn Fn(&Path) -> bool) -> Result<Vec<String>, LocationError> {
    let look = |source| LocationError::Look { location: path.into(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(look)?.take(1000) {
        let entry = entry.map_err(look)?.path();
        if has_mark(&entry) {
            names.push(entry.display().to_string());
        }
    }
    names.sort();
    names.truncate(5);
    Ok(names)
}

/// The type of a file, found by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    /// HDF5, or a classic netCDF file.
    Netcdf,
    Zip,
    /// JSON of references.
    References,
    Other,
}

const NO_KIND: &str = "is a file, but not a dataset: a netCDF-4 or HDF5 file begins with \\x89HDF, a classic netCDF file with \
                       CDF and 1, 2 or 5; references are a JSON object with \"refs\"; a Zarr dataset is a directory or a zip \
                       file with zarr.json, .zgroup or .zarray in it";

/// The directory of an archive without entries, or after other bytes, is searched in this many last bytes.
const ZIP_END: u64 = 22 + 65535;

/// What references have near their start, and other JSON has not.
const OF_REFERENCES: [&[u8]; 5] = [b"\"refs\"", b"\"templates\"", b".zgroup\"", b".zarray\"", b".zattrs\""];

impl FileKind {
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut head = [0; 8];
        let len = read_up_to(&mut file, &mut head)?;
        match &head[..len] {
            [b'C', b'D', b'F', 1 | 2 | 5, ..] => return Ok(Self::Netcdf),
            [b'P', b'K', 3 | 5, 4 | 6, ..] => return Ok(Self::Zip),
            head if head.trim_ascii_start().starts_with(b"{") && is_references(&mut file)? => {
                return Ok(Self::References);
            }
            _ => {}
        }
        let len = file.metadata()?.len();
        // An HDF5 file may begin after a user block of 512 bytes times a power of two.
        let mut offset = 0;
        while offset < len {
            file.seek(SeekFrom::Start(offset))?;
            if read_up_to(&mut file, &mut head)? == head.len() && head == *b"\x89HDF\r\n\x1a\n" {
                return Ok(Self::Netcdf);
            }
            offset = (2 * offset).max(512);
        }
        // Other bytes may precede an archive.
        file.seek(SeekFrom::Start(len.saturating_sub(ZIP_END)))?;
        let mut end = Vec::new();
        file.take(ZIP_END).read_to_end(&mut end)?;
        Ok(if end.windows(4).any(|bytes| bytes == b"PK\x05\x06") { Self::Zip } else { Self::Other })
    }
}

/// Whether a file of JSON has what references have near their start.
fn is_references(file: &mut File) -> io::Result<bool> {
    let mut head = [0; 4096];
    file.seek(SeekFrom::Start(0))?;
    let len = read_up_to(file, &mut head)?;
    let has = |mark: &&[u8]| head[..len].windows(mark.len()).any(|bytes| bytes == *mark);
    Ok(OF_REFERENCES.iter().any(has))
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match file.read(&mut buffer[len..])? {
            0 => break,
            more => len += more,
        }
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_distinguished_by_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let after_a_user_block = [&[0; 512][..], b"\x89HDF\r\n\x1a\n"].concat();
        let after_a_long_user_block = [&[0; 1 << 16][..], b"\x89HDF\r\n\x1a\n"].concat();
        let after_a_script = [&b"#!/bin/sh\n"[..], b"PK\x03\x04...", b"PK\x05\x06", &[0; 18]].concat();
        for (content, want) in [
            (&b"\x89HDF\r\n\x1a\n"[..], FileKind::Netcdf),
            (&after_a_user_block, FileKind::Netcdf),
            (&after_a_long_user_block, FileKind::Netcdf),
            (b"CDF\x02rest", FileKind::Netcdf),
            (b"CDF\x03rest", FileKind::Other),
            (b"{\"version\": 1, \"refs\": {}}", FileKind::References),
            (b" \n {\"v/.zarray\": \"\"}", FileKind::References),
            (b"{\"zarr_format\": 3}", FileKind::Other),
            (b"\x89HDF\r\n\x1a", FileKind::Other),
            (b"PK\x03\x04rest", FileKind::Zip),
            (&after_a_script, FileKind::Zip),
            (b"PK", FileKind::Other),
            (b"", FileKind::Other),
        ] {
            let path = folder.path().join("file");
            std::fs::write(&path, content).unwrap();
            assert_eq!(FileKind::of(&path).unwrap(), want);
        }
    }
}
