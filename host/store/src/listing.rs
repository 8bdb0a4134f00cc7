//! Listing what is below a prefix, for stores that know their keys in order.

use std::collections::BTreeMap;

use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf, Prefix};
use crate::store::{Depth, Entry, EntryKind};

/// The entries below `prefix`; `next` gives the first key that is not before a text.
pub(crate) fn list_sorted<'k>(
    next: impl Fn(&str) -> Option<Key<'k>>,
    prefix: Prefix<'_>,
    depth: Depth,
    max_entries: usize,
    at: impl Fn() -> ObjectLocation,
) -> Result<Vec<Entry>, StoreError> {
    let mut found: BTreeMap<KeyBuf, EntryKind> = BTreeMap::new();
    let below = if prefix.is_root() { String::new() } else { format!("{prefix}/") };
    let mut from = below.clone();
    while let Some(key) = next(&from) {
        let Some(rest) = key.as_str().strip_prefix(&below) else {
            break;
        };
        if key == Key::JOURNAL {
            from = format!("{key}\0");
            continue;
        }
        // a part of a key that ends before a slash is a key
        let directories = rest
            .match_indices('/')
            .filter_map(|(at, _)| Key::parse(key.as_str().get(..below.len() + at)?).ok());
        match depth {
            Depth::One => match directories.into_iter().next() {
                Some(directory) => {
                    found.insert(directory.to_buf(), EntryKind::Directory);
                    // '0' follows '/': on to the first key that is not below this directory
                    from = format!("{directory}0");
                }
                None => {
                    found.insert(key.to_buf(), EntryKind::Object);
                    from = format!("{key}\0");
                }
            },
            Depth::All => {
                for directory in directories {
                    if !found.contains_key(directory.as_str()) {
                        found.insert(directory.to_buf(), EntryKind::Directory);
                    }
                }
                found.insert(key.to_buf(), EntryKind::Object);
                from = format!("{key}\0");
            }
        }
        if found.len() > max_entries {
            return Err(StoreError::TooManyEntries { at: at(), limit: max_entries });
        }
    }
    Ok(found.into_iter().map(|(key, kind)| Entry { key, kind, len: None }).collect())
}
