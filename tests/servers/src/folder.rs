use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};

use bytes::Bytes;

/// Every file below a folder, by its path with slashes.
pub(crate) fn read(folder: &Path) -> io::Result<BTreeMap<String, Bytes>> {
    let mut files = BTreeMap::new();
    let mut left = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = left.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name =
                entry.file_name().into_string().map_err(|name| bad(&format!("not UTF-8: {name:?}")))?;
            let path = format!("{prefix}{name}");
            if entry.metadata()?.is_dir() {
                left.push((entry.path(), format!("{path}/")));
            } else {
                files.insert(path, Bytes::from(std::fs::read(entry.path())?));
            }
        }
    }
    Ok(files)
}

/// Writes files below a folder; a path that ends in a slash is a folder.
pub(crate) fn write<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a str, &'a Bytes)>,
) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (path, bytes) in files {
        let inside = Path::new(path).components().all(|component| matches!(component, Component::Normal(_)));
        if !inside || path.contains("//") {
            return Err(bad(&format!("the key {path} cannot be a file")));
        }
        let file = folder.join(path);
        if path.ends_with('/') {
            std::fs::create_dir_all(&file)?;
            continue;
        }
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&file, bytes)?;
    }
    Ok(())
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_owned())
}
