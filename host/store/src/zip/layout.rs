//! Where in an archive the dataset lies: at its root, or below a prefix.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::error::StoreError;
use crate::key::KeyBuf;

/// Where in an archive the keys of the dataset begin.
///
/// zarr-python, tensorstore and most others put keys at the root of the archive; netcdf-c puts
/// them below a directory with the name of the dataset, as does who packs a folder as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ZipLayout {
    /// When opening: the root, if a metadata document (`.zgroup`, `zarr.json`, …) is there;
    /// else the one directory at the root that holds one. When creating: the root.
    #[default]
    Automatic,
    /// The root.
    Flat,
    /// Below this prefix. For netcdf-c it is one segment: the name of the file without extension.
    Prefix(KeyBuf),
}

/// The documents by which a place in an archive is known to be a group or an array.
const DOCUMENTS: [&str; 8] =
    [".zgroup", ".zarray", ".zattrs", ".zmetadata", "zarr.json", ".nczarr", ".nczgroup", ".nczarray"];

/// The prefix of the dataset among plain names; `None` is the root.
pub(super) fn find_prefix<'n>(
    names: impl Iterator<Item = Cow<'n, str>>,
    location: &str,
) -> Result<Option<KeyBuf>, StoreError> {
    let mut candidates = BTreeSet::new();
    let mut deeper = BTreeSet::new();
    for name in names {
        let (above, last) = name.rsplit_once('/').unwrap_or(("", &*name));
        if !DOCUMENTS.contains(&last) {
            continue;
        }
        match above.split_once('/') {
            None if above.is_empty() => return Ok(None),
            None => candidates.insert(above.to_owned()),
            Some((first, _)) => deeper.insert(first.to_owned()),
        };
    }
    let Some(first) = candidates.first() else {
        return Ok(None);
    };
    // what has documents further down only is a dataset beside it too
    if let Some(other) = candidates.union(&deeper).find(|other| *other != first) {
        let (one, other) = (first.clone(), other.clone());
        return Err(StoreError::AmbiguousPrefix { location: location.to_owned(), one, other });
    }
    Ok(KeyBuf::parse(first.as_str()).ok())
}

#[cfg(test)]
mod tests {
    use super::super::archive::plain;
    use super::*;

    fn found(names: &[&str]) -> Result<Option<String>, StoreError> {
        Ok(find_prefix(names.iter().map(|name| plain(name)), "x.zip")?.map(String::from))
    }

    #[test]
    fn a_prefix_is_found_only_where_it_is_the_only_reading() {
        assert_eq!(found(&[".zgroup", "a/.zarray", "b/.zarray"]).unwrap(), None);
        assert_eq!(found(&["d/.zgroup", "d/a/.zarray", "d/a/0"]).unwrap().as_deref(), Some("d"));
        for packed in ["/d/.zgroup", "./d/.zgroup", "d//./.zgroup"] {
            assert_eq!(found(&[packed]).unwrap().as_deref(), Some("d"));
        }
        assert_eq!(found(&["d/zarr.json", "__MACOSX/d/x", "README"]).unwrap().as_deref(), Some("d"));
        assert_eq!(found(&["x/y/.zarray", "z/0"]).unwrap(), None);
        assert_eq!(found(&["a", "b/c"]).unwrap(), None);
        assert_eq!(found(&["zarr.json", "d/zarr.json"]).unwrap(), None);
        for beside in [&["a/.zgroup", "b/.zarray"], &["a/.zgroup", "b/c/.zarray"]] {
            let error = found(beside).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("\"a\" and \"b\"") && text.contains("x.zip"), "{text}");
        }
    }
}
