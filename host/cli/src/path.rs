//! Where a dataset is: plain paths, the `file://...#mode=...` of netcdf-c, and a plain answer for what
//! is no dataset that can be read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// A dataset as somebody named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The directory.
    pub(crate) path: PathBuf,
    /// What the words behind `#mode=` ask for, if they do.
    pub(crate) mode: Option<Mode>,
}

/// How a dataset's metadata are to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `mode=nczarr`.
    Nczarr,
    /// `mode=zarr`: without NCZarr's own keys.
    Zarr,
}

/// What is known of things that are not built.
const STORES: &[(&str, &str)] =
    &[("zip", "zip files"), ("s3", "S3"), ("gs3", "Google's storage"), ("bytes", "byte ranges over HTTP")];

impl Place {
    /// Reads a path or a `file:` URL.
    ///
    /// # Errors
    /// A URL of another kind, or a word in its mode that is not known.
    pub(crate) fn parse(text: &str) -> Result<Self, CliError> {
        let Some((scheme, rest)) = text.split_once("://") else { return Self::plain(text) };
        if !scheme.eq_ignore_ascii_case("file") {
            let what = match scheme.to_ascii_lowercase().as_str() {
                "s3" | "gs3" => "S3",
                "http" | "https" => "HTTP",
                _ => {
                    return Err(CliError::Usage(format!(
                        "{text:?}: {scheme:?} is no kind of place that ncz knows; give a path, or file://PATH"
                    )));
                }
            };
            return Err(CliError::Usage(format!(
                "{text:?}: reading and writing through {what} is not built yet; copy the dataset to a directory first"
            )));
        }
        let (path, fragment) = match rest.split_once('#') {
            Some((path, fragment)) => (path, Some(fragment)),
            None => (rest, None),
        };
        Self::with_fragment(text, path, fragment.unwrap_or(""))
    }

    /// A path without a scheme; `#mode=` behind it is taken as in a URL unless a file has that name.
    fn plain(text: &str) -> Result<Self, CliError> {
        match text.split_once("#mode=") {
            Some((path, words)) if !Path::new(text).exists() => {
                Self::with_fragment(text, path, &format!("mode={words}"))
            }
            _ => Self::with_fragment(text, text, ""),
        }
    }

    fn with_fragment(text: &str, path: &str, fragment: &str) -> Result<Self, CliError> {
        if path.is_empty() {
            return Err(CliError::Usage(format!("{text:?} names no path; give the directory of a dataset")));
        }
        let mut mode = None;
        for item in fragment.split('&').filter(|item| !item.is_empty()) {
            let Some(words) = item.strip_prefix("mode=") else {
                return Err(CliError::Usage(format!(
                    "{text:?}: {item:?} is not known here; the part behind # may be mode=nczarr or mode=zarr"
                )));
            };
            for word in words.split(',') {
                match word {
                    "file" => {}
                    // `mode=nczarr,zarr` is pure Zarr in netcdf-c.
                    "nczarr" => mode = mode.or(Some(Mode::Nczarr)),
                    "zarr" => mode = Some(Mode::Zarr),
                    other => return Err(CliError::Usage(unknown_mode(text, other))),
                }
            }
        }
        Ok(Self { path: PathBuf::from(path), mode })
    }
}

fn unknown_mode(text: &str, word: &str) -> String {
    match STORES.iter().find(|(known, _)| *known == word) {
        Some((_, what)) => {
            format!("{text:?}: mode word {word:?}: {what} are not built yet; use a directory (mode=file)")
        }
        None => format!("{text:?}: mode word {word:?} is not known here; known: nczarr, zarr, file"),
    }
}

/// Checks that a directory is at the path, and says what there is if not.
///
/// # Errors
/// Nothing is there, or something that is no Zarr dataset; what it is, and a way round, is in the message.
pub(crate) fn check_source(path: &Path) -> Result<(), CliError> {
    let refuse = |reason: String| Err(CliError::Source { path: path.to_owned(), reason });
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return refuse("does not exist; check the path".to_owned());
        }
        Err(source) => return Err(CliError::Look { path: path.to_owned(), source }),
    };
    if metadata.is_file() {
        let kind = FileKind::of(path).map_err(|source| CliError::Look { path: path.to_owned(), source })?;
        return refuse(kind.refusal(path));
    }
    if !metadata.is_dir() {
        return refuse("is neither a directory nor a file; give the directory of a dataset".to_owned());
    }
    let has = |folder: &Path, names: &[&str]| names.iter().any(|name| folder.join(name).exists());
    if has(path, MARKS) {
        return Ok(());
    }
    if has(path, &["zarr.json"]) {
        return refuse(
            "is a dataset of Zarr version 3, which ncz does not read yet; write a version 2 copy, for instance with \
             xarray.open_zarr(SRC).to_zarr(DST, zarr_format=2)"
                .to_owned(),
        );
    }
    let inside = datasets_inside(path, &has)?;
    match inside.as_slice() {
        [] => refuse(
            "is a directory, but no Zarr dataset: it has none of .zgroup, .zarray, .zattrs, .zmetadata and .nczarr"
                .to_owned(),
        ),
        names => refuse(format!(
            "is a directory, but no dataset; there are some inside: {}",
            names.join(", ")
        )),
    }
}

/// What makes a directory a dataset of version 2.
pub(crate) const MARKS: &[&str] = &[".zgroup", ".zarray", ".zattrs", ".zmetadata", ".nczarr"];

/// Names of datasets right below a directory, a few of them.
fn datasets_inside(path: &Path, has: &dyn Fn(&Path, &[&str]) -> bool) -> Result<Vec<String>, CliError> {
    let look = |source| CliError::Look { path: path.to_owned(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(look)?.take(1000) {
        let entry = entry.map_err(look)?.path();
        if has(&entry, MARKS) {
            names.push(entry.display().to_string());
        }
    }
    names.sort();
    names.truncate(5);
    Ok(names)
}

/// Files that people take for datasets, as their first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Hdf5,
    Netcdf3,
    Zip,
    Other,
}

impl FileKind {
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut head = [0; 8];
        let mut found = Vec::new();
        // An HDF5 file may begin behind a user block of 512 bytes times a power of two.
        for offset in [0, 512, 1024, 2048, 4096] {
            file.seek(SeekFrom::Start(offset))?;
            let len = read_up_to(&mut file, &mut head)?;
            if offset == 0 {
                found = head[..len].to_vec();
            }
            if head[..len] == *b"\x89HDF\r\n\x1a\n" {
                return Ok(Self::Hdf5);
            }
        }
        Ok(match found.as_slice() {
            [b'C', b'D', b'F', 1 | 2 | 5, ..] => Self::Netcdf3,
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Self::Zip,
            _ => Self::Other,
        })
    }

    fn refusal(self, path: &Path) -> String {
        let stem = path.file_stem().map_or_else(|| "out".into(), |stem| stem.to_string_lossy());
        let way_round = format!(
            "turn it into a directory first, with\n  nccopy {} 'file://{stem}.nczarr#mode=nczarr,file'\nor in Python with \
             xarray.open_dataset({:?}).to_zarr(\"{stem}.zarr\", zarr_format=2)",
            path.display(),
            path.display().to_string(),
        );
        match self {
            Self::Hdf5 => format!("is a netCDF-4 or HDF5 file, which ncz does not read; {way_round}"),
            Self::Netcdf3 => format!("is a netCDF-3 file, which ncz does not read; {way_round}"),
            Self::Zip => {
                "is a zip file; datasets inside zip files are not built yet: unpack it into a directory and give that"
                    .to_owned()
            }
            Self::Other => "is a file; a Zarr dataset is a directory with .zgroup or .zarray in it".to_owned(),
        }
    }
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

    fn parsed(text: &str) -> (String, Option<Mode>) {
        let place = Place::parse(text).unwrap();
        (place.path.display().to_string(), place.mode)
    }

    #[test]
    fn paths_and_file_urls_are_read() {
        assert_eq!(parsed("a/b.zarr"), ("a/b.zarr".into(), None));
        assert_eq!(parsed("a#b"), ("a#b".into(), None));
        assert_eq!(parsed("file:///a/b#mode=nczarr,file"), ("/a/b".into(), Some(Mode::Nczarr)));
        assert_eq!(parsed("file://b#mode=nczarr,zarr"), ("b".into(), Some(Mode::Zarr)));
        assert_eq!(parsed("b#mode=zarr"), ("b".into(), Some(Mode::Zarr)));
        assert_eq!(parsed("FILE://b"), ("b".into(), None));
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        for (text, want) in [
            ("s3://bucket/x", "S3"),
            ("https://example.org/x", "HTTP"),
            ("gopher://x", "gopher"),
            ("file://x#mode=nczarr,zip", "zip files"),
            ("file://x#mode=nczarr,s3", "S3"),
            ("file://x#mode=bogus", "bogus"),
            ("file://x#checksum=1", "checksum"),
            ("file://", "no path"),
        ] {
            let error = Place::parse(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn files_are_told_apart_by_their_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let behind_a_user_block = [&[0; 512][..], b"\x89HDF\r\n\x1a\n"].concat();
        for (content, want) in [
            (&b"\x89HDF\r\n\x1a\n"[..], FileKind::Hdf5),
            (&behind_a_user_block, FileKind::Hdf5),
            (b"CDF\x02rest", FileKind::Netcdf3),
            (b"PK\x03\x04rest", FileKind::Zip),
            (b"PK", FileKind::Other),
            (b"", FileKind::Other),
        ] {
            let path = folder.path().join("file");
            std::fs::write(&path, content).unwrap();
            assert_eq!(FileKind::of(&path).unwrap(), want);
        }
    }
}
