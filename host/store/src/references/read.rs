//! Reading of what references point at.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::ReferenceStore;
use super::document::Reference;
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf};
use crate::store::{ReadInto, ReadRange, Stamp, Store};

impl ReferenceStore {
    pub(super) fn read_reference(
        &self,
        key: Key<'_>,
        reference: &Reference,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let at = || ObjectLocation::object(self, key);
        let (url, range) = match reference {
            Reference::Inline(bytes) => {
                let range = range.checked(bytes.len() as u64, max_len, at)?;
                // A range of a slice that is in memory.
                let part = bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
                out.try_reserve_exact(part.len())
                    .map_err(|_| StoreError::OutOfMemory { at: at(), len: part.len() as u64 })?;
                out.extend_from_slice(part);
                return Ok(());
            }
            Reference::Whole(url) => (*url, range),
            Reference::Range { url, offset, len } => {
                let part = range.checked(*len, max_len, at)?;
                let part = ReadRange::Bounded { offset: offset + part.start, len: part.end - part.start };
                (*url, part)
            }
        };
        let (store, target) = self.target(key, url)?;
        match store.read(target.as_key(), range, max_len, out)? {
            true => Ok(()),
            false => Err(missing(store, target)),
        }
    }

    pub(super) fn read_reference_into(
        &self,
        key: Key<'_>,
        reference: &Reference,
        offset: u64,
        out: &mut [u8],
    ) -> Result<ReadInto, StoreError> {
        let (url, start, object_len) = match reference {
            Reference::Inline(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
                let rest = rest.unwrap_or_default();
                let filled = rest.len().min(out.len());
                if let (Some(to), Some(from)) = (out.get_mut(..filled), rest.get(..filled)) {
                    to.copy_from_slice(from);
                }
                return Ok(ReadInto { filled, object_len: bytes.len() as u64 });
            }
            Reference::Whole(url) => {
                let (store, target) = self.target(key, *url)?;
                let read = store.read_into(target.as_key(), offset, out)?;
                return read.ok_or_else(|| missing(store, target));
            }
            Reference::Range { url, offset, len } => (*url, *offset, *len),
        };
        let left = object_len.saturating_sub(offset);
        let filled = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        let Some(part) = out.get_mut(..filled).filter(|part| !part.is_empty()) else {
            return Ok(ReadInto { filled: 0, object_len });
        };
        let (store, target) = self.target(key, url)?;
        let read = store.read_into(target.as_key(), start + offset, part)?;
        let read = read.ok_or_else(|| missing(store, target))?;
        if read.filled < filled {
            return Err(StoreError::OutOfRange {
                at: ObjectLocation::object(store, target.as_key()),
                object_len: read.object_len,
                range: ReadRange::Bounded { offset: start, len: object_len }.to_string(),
            });
        }
        Ok(ReadInto { filled, object_len })
    }

    pub(super) fn reference_len(&self, key: Key<'_>, reference: &Reference) -> Result<u64, StoreError> {
        match reference {
            Reference::Inline(bytes) => Ok(bytes.len() as u64),
            Reference::Range { len, .. } => Ok(*len),
            Reference::Whole(url) => {
                let (store, target) = self.target(key, *url)?;
                store.len(target.as_key())?.ok_or_else(|| missing(store, target))
            }
        }
    }

    /// The version of the bytes that a reference stands for. `objects` are the versions of objects that are known.
    pub(super) fn reference_stamp(
        &self,
        key: Key<'_>,
        reference: &Reference,
        objects: &mut HashMap<u32, Stamp>,
    ) -> Result<Stamp, StoreError> {
        let (url, range) = match reference {
            Reference::Inline(bytes) => return Ok(bytes_stamp(bytes)),
            Reference::Whole(url) => (*url, None),
            Reference::Range { url, offset, len } => (*url, Some((*offset, *len))),
        };
        let object = match objects.entry(url) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(entry) => {
                let (store, target) = self.target(key, url)?;
                let found = store.stamp(target.as_key())?;
                entry.insert(found.ok_or_else(|| missing(store, target))?)
            }
        };
        let name = self.targets.get(url as usize).and_then(Option::as_ref).map_or("", |target| &target.url);
        let etag = object.etag.as_deref().unwrap_or_default();
        let (length, part) = match range {
            None => (object.length, String::new()),
            Some((offset, len)) => (len, format!(" from {offset} of {}", object.length)),
        };
        Ok(Stamp { length, modified: object.modified.clone(), etag: Some(format!("{etag} {name}{part}")) })
    }

    /// The store and key of an object that a reference points into.
    pub(super) fn target(&self, key: Key<'_>, url: u32) -> Result<&(Arc<dyn Store>, KeyBuf), StoreError> {
        match self.targets.get(url as usize) {
            Some(Some(target)) => target.open(&self.name, &*self.open),
            _ => Err(StoreError::BadReferences {
                location: self.to_string(),
                reason: format!(
                    "the reference {:?} has no URL, it is one into the target that the reader gives; give the target",
                    key.as_str()
                ),
            }),
        }
    }
}

/// The version of bytes in the references.
pub(super) fn bytes_stamp(bytes: &[u8]) -> Stamp {
    Stamp { length: bytes.len() as u64, modified: None, etag: Some(STANDARD.encode(bytes)) }
}

/// The object of a reference does not exist: not a missing chunk, which would read as fill.
fn missing(store: &Arc<dyn Store>, key: &KeyBuf) -> StoreError {
    StoreError::NoObject { at: ObjectLocation::object(store, key.as_key()) }
}
