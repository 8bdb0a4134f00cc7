use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use bytes::Bytes;

/// Every file below a folder, by its path with slashes.
pub(crate) fn read(folder: &Path) -> io::Result<BTreeMap<String, Bytes>> {
    let mut files = BTreeMap::new();
    let mut left = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = left.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|name| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("not UTF-8: {name:?}"))
            })?;
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
