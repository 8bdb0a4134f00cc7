//! The directories that a walk through a store has visited.

use std::collections::{HashMap, HashSet};

use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::store::{DirectoryId, Store};

/// The directories that a walk through a store has visited. It refuses a directory that contains itself through symbolic
/// links, and too many paths to the same directories, whose number can double with every level. Stores without symbolic
/// links have neither.
///
/// Links that lead elsewhere, and a few to the same directory, are allowed.
#[derive(Debug, Default)]
pub struct Visited {
    by_path: HashMap<String, DirectoryId>,
    all: HashSet<DirectoryId>,
    again: usize,
}

impl Visited {
    /// Most visits in one walk to directories that were visited before.
    pub const AGAIN: usize = 10_000;

    /// Notes that the walk enters `prefix`.
    ///
    /// # Errors
    ///
    /// [`StoreError::LinkLoop`], [`StoreError::TooManyLinks`], and the failures of the store.
    pub fn enter(&mut self, store: &dyn Store, prefix: Prefix<'_>) -> Result<(), StoreError> {
        let Some(id) = store.directory_id(prefix)? else {
            return Ok(());
        };
        let above = Key::parse(prefix.as_str()).ok();
        let root = above.map(|_| Prefix::ROOT);
        for ancestor in root.into_iter().chain(above.into_iter().flat_map(Key::ancestors)) {
            let known = match self.by_path.get(ancestor.as_str()) {
                Some(known) => Some(*known),
                None => store.directory_id(ancestor)?,
            };
            if let Some(known) = known {
                self.by_path.insert(ancestor.as_str().to_owned(), known);
            }
            if known == Some(id) {
                let target = ObjectLocation::below(store, ancestor).to_string();
                return Err(StoreError::LinkLoop { at: ObjectLocation::below(store, prefix), target });
            }
        }
        self.by_path.insert(prefix.as_str().to_owned(), id);
        if !self.all.insert(id) {
            self.again += 1;
            if self.again > Self::AGAIN {
                return Err(StoreError::TooManyLinks {
                    at: ObjectLocation::below(store, prefix),
                    limit: Self::AGAIN,
                });
            }
        }
        Ok(())
    }
}
