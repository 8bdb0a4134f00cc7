//! The state of the source: what the plan was made of must be what the parts are copied from.

use std::fmt::{self, Write};

use ncz_model::{Container, DataError, Hierarchy, SlabPart};
use ncz_store::{Key, Stamp, Store, StoreError};
use sha2::{Digest, Sha256};

use super::super::Selection;
use super::{Part, PartsError, SourceState, hex};
use crate::byte_array::keyed_array;
use crate::location::{DatasetUrl, Storage};
use crate::parallelism::Parallelism;

/// How a file differs.
pub(super) const OTHER_FILE: &str = "its file is another version";

/// For so many objects their versions are asked for together.
const BATCH: usize = 4096;

/// The state of a source apart from its chunks.
pub(super) fn state(url: &DatasetUrl, hierarchy: &Hierarchy) -> Result<SourceState, PartsError> {
    let mut hash = Hash::new();
    // Writing to a hash does not fail.
    let _ = write!(hash, "{:?} {:?} {:?}", hierarchy.format, hierarchy.root, hierarchy.root_array);
    Ok(SourceState { metadata: hash.text(), file: file(url)? })
}

/// The version of the file of a source, if it is in one file or its references are.
pub(super) fn file(url: &DatasetUrl) -> Result<Option<Stamp>, PartsError> {
    let is_document = url.storage()? == Storage::References && !url.is_folder_of_references();
    if is_document || is_one_file(url)? { url.stamp_of_file() } else { Ok(None) }
}

/// Says what differs from the state when the plan was made.
pub(super) fn difference(planned: &SourceState, now: &SourceState) -> Option<&'static str> {
    if planned.file != now.file {
        return Some(OTHER_FILE);
    }
    (planned.metadata != now.metadata).then_some("its metadata differ")
}

/// Whether all of the source is in one file.
pub(super) fn is_one_file(url: &DatasetUrl) -> Result<bool, PartsError> {
    Ok(matches!(url.storage()?, Storage::File | Storage::Zip))
}

/// Notes in each part which versions of objects it reads.
pub(super) fn note_objects(
    source: &dyn Container,
    selection: &Selection,
    parts: &mut [Part],
) -> Result<(), PartsError> {
    let store = &**source.store();
    let parallelism = Parallelism {
        pool: &source.session().pool,
        stores: [store; 2],
        bytes: 1 << 10,
        one_by_one: false,
        limit: u64::MAX,
    };
    let states = parallelism.for_each(parts.len() as u64, Vec::new, |hashes, number| {
        if let Some(part) = parts.get(number as usize) {
            hashes.push((number as usize, objects(source, selection, part)?));
        }
        Ok::<_, PartsError>(())
    })?;
    for (number, hash) in states.into_iter().flatten() {
        if let Some(part) = parts.get_mut(number) {
            part.objects = Some(hash);
        }
    }
    Ok(())
}

/// Whether the objects that a part reads are those that were there when the plan was made.
pub(super) fn has_same_objects(
    source: &dyn Container,
    selection: &Selection,
    part: &Part,
) -> Result<bool, PartsError> {
    match &part.objects {
        None => Ok(true),
        Some(planned) => Ok(objects(source, selection, part)? == *planned),
    }
}

/// The hash of the versions of all objects that a part reads.
fn objects(source: &dyn Container, selection: &Selection, part: &Part) -> Result<String, PartsError> {
    let store = &**source.store();
    let mut hash = Hash::new();
    for region in &part.regions {
        let variable = source.hierarchy().variable(&region.variable).map_err(DataError::from)?;
        let keys = keyed_array(source, variable)?;
        let window = selection.window(variable).part(&region.start, &region.shape);
        let (from, _) = window.cut(&region.start, &region.shape);
        let mut names = from.parts(keys.object_shape()).map(|SlabPart { chunk, .. }| keys.object_key(&chunk));
        loop {
            let batch: Vec<String> = names.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            for (key, stamp) in batch.iter().zip(stamps(store, &batch).map_err(PartsError::store(store))?) {
                let _ = writeln!(hash, "{key:?} {stamp:?}");
            }
        }
    }
    Ok(hash.text())
}

fn stamps(store: &dyn Store, keys: &[String]) -> Result<Vec<Option<Stamp>>, StoreError> {
    let keys = keys.iter().map(|key| Key::parse(key)).collect::<Result<Vec<_>, _>>()?;
    store.stamps(&keys)
}

/// A hash that text is written to.
pub(super) struct Hash(Sha256);

impl Hash {
    pub(super) fn new() -> Self {
        Self(Sha256::new())
    }

    /// The hash of what was written.
    pub(super) fn text(self) -> String {
        hex(&self.0.finalize())
    }
}

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl DatasetUrl {
    /// The version of the file that the dataset is in.
    fn stamp_of_file(&self) -> Result<Option<Stamp>, PartsError> {
        let (store, key) = self.open_file_store()?;
        store.stamp(key.as_key()).map_err(PartsError::store(&store))
    }
}
