use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zip::ZipArchive;

use crate::{Error, workspace_root};

/// What all entries of one fixture may unpack to.
const UNPACKED: u64 = 64 << 20;

/// The folder `tests/fixtures`; its README says who wrote what.
#[must_use]
pub fn fixtures() -> PathBuf {
    workspace_root().join("tests/fixtures")
}

/// Unpacks a dataset that is stored as a zip file into a temporary folder, which is the root of the dataset.
///
/// `zip` is relative to [`fixtures`], for instance `netcdf-c-4.10.2/nczarr/filters.zip`. The folder is removed when
/// the returned value is dropped.
///
/// # Errors
///
/// [`Error::Io`], [`Error::Zip`], and [`Error::Fixture`] for an entry that would lie outside the folder, is a link,
/// or brings the whole over 64 MiB.
pub fn unpack(zip: impl AsRef<Path>) -> Result<TempDir, Error> {
    let path = fixtures().join(zip);
    let folder = tempfile::tempdir().map_err(Error::io(&std::env::temp_dir()))?;
    let file = File::open(&path).map_err(Error::io(&path))?;
    let mut archive = ZipArchive::new(file).map_err(Error::zip(&path))?;
    let mut left = UNPACKED;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(Error::zip(&path))?;
        let inside = entry.enclosed_name().filter(|_| !entry.is_symlink());
        let Some(inside) = inside else {
            return Err(Error::fixture(&path, format!("entry {index} is a link or lies outside")));
        };
        let target = folder.path().join(&inside);
        if entry.is_dir() {
            std::fs::create_dir_all(&target).map_err(Error::io(&target))?;
            continue;
        }
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(Error::io(parent))?;
        }
        let bytes = read_entry(&mut entry, left).map_err(Error::io(&target))?;
        left = match left.checked_sub(bytes.len() as u64) {
            Some(left) => left,
            None => return Err(Error::fixture(&path, format!("unpacks to more than {UNPACKED} bytes"))),
        };
        // an entry that comes twice would be lost without a word
        File::create_new(&target)
            .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
            .map_err(Error::io(&target))?;
    }
    Ok(folder)
}

/// Reads an entry, at most one byte more than `limit`, so that the caller sees that it is too long.
pub(crate) fn read_entry(entry: &mut impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_is_unpacked_with_its_folders() {
        let dataset = unpack("netcdf-c-4.10.2/nczarr/filters.zip").unwrap();
        assert!(dataset.path().join(".zgroup").is_file());
        let metadata = std::fs::read_to_string(dataset.path().join("szip/.zarray")).unwrap();
        assert!(metadata.contains("szip"), "{metadata}");
    }

    #[test]
    fn every_dataset_of_the_fixtures_unpacks() {
        let mut folders = vec![fixtures()];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "zip") {
                    unpack(&path).unwrap();
                    count += 1;
                }
            }
        }
        assert!(count > 90, "{count} datasets");
    }

    #[test]
    fn an_entry_outside_the_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.zip");
        let mut writer = zip::ZipWriter::new(File::create(&path).unwrap());
        writer.start_file("../outside", zip::write::SimpleFileOptions::default()).unwrap();
        writer.finish().unwrap();
        assert!(matches!(unpack(&path), Err(Error::Fixture { .. })));
        assert!(!folder.path().join("outside").exists());
    }
}
