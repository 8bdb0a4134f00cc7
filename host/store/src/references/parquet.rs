//! References in Parquet: a folder with `.zmetadata`, and for each array files `refs.0.parq`, `refs.1.parq`, each with the
//! references of as many chunks (fsspec, "LazyReferenceMapper"; Kerchunk).
//!
//! A file is read when one of its chunks is.

mod record;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;

pub use self::record::{Row, encode};

use super::document::{Document, MOST_URL, Reference};
use super::read::bytes_stamp;
use super::{OpenTarget, ReferenceStore, Sources, check_sources};
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf, Prefix};
use crate::listing::list_sorted;
use crate::store::{
    Capabilities, Depth, Listing, ReadDone, ReadInto, ReadRange, ReadRequest, Stamp, Store, StoreExt,
    WriteMode,
};

/// The name of the document with the metadata of all arrays and groups.
pub const METADATA: &str = ".zmetadata";

/// The most bytes of the metadata, and of one file of references (256 MiB).
const MOST_BYTES: u64 = 256 << 20;

/// The most references of a file.
const MOST_RECORDS: u64 = 1 << 20;

/// The most files whose references are kept.
const KEPT: usize = 32;

/// The key of the file of references with this number of an array.
#[must_use]
pub fn record_key(array: &str, number: u64) -> String {
    let name = format!("refs.{number}.parq");
    if array.is_empty() { name } else { format!("{array}/{name}") }
}

/// A dataset of references in Parquet, for reading. Its objects are as those of a [`ReferenceStore`].
#[derive(Debug)]
pub struct ParquetStore {
    name: String,
    folder: Arc<dyn Store>,
    documents: BTreeMap<KeyBuf, Box<[u8]>>,
    /// The number of chunks of each array along its dimensions, by its key.
    counts: HashMap<String, Vec<u64>>,
    record_size: u64,
    sources: Sources,
    target: Option<String>,
    open: Arc<dyn OpenTarget>,
    capabilities: Capabilities,
    /// The files that were read last, the last one at the end; `None` for one that does not exist.
    records: Mutex<VecDeque<Kept>>,
}

/// The most arrays whose files are looked at to see where the objects are.
const LOOKED_AT: usize = 8;

type Kept = ((String, u64), Option<Arc<ReferenceStore>>);

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    metadata: BTreeMap<String, &'a RawValue>,
    record_size: u64,
    #[serde(default)]
    ncz_sources: Sources,
}

#[derive(Deserialize)]
struct ArrayMetadata {
    shape: Vec<u64>,
    chunks: Vec<u64>,
    #[serde(default)]
    dimension_separator: Option<String>,
}

impl ParquetStore {
    /// Opens the references in a folder: reads its metadata. `name` names them in messages; `target` is the URL of those
    /// that have none.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::BadReferences`], and failures of the folder.
    pub fn open(
        name: impl Into<String>,
        folder: Arc<dyn Store>,
        target: Option<&str>,
        open: Arc<dyn OpenTarget>,
    ) -> Result<Self, StoreError> {
        let name = name.into();
        let bad = |reason: String| StoreError::BadReferences { location: name.clone(), reason };
        let json = folder.read_vec(Key::parse(METADATA)?, MOST_BYTES)?;
        let json = json.ok_or_else(|| StoreError::NotFound { location: name.clone() })?;
        let parsed: Metadata<'_> = serde_json::from_slice(&json).map_err(|error| bad(error.to_string()))?;
        if !(1..=MOST_RECORDS).contains(&parsed.record_size) {
            return Err(bad(format!(
                "its files have {} references, possible are 1 to {MOST_RECORDS}",
                parsed.record_size
            )));
        }
        let (mut documents, mut counts) = (BTreeMap::new(), HashMap::new());
        let mut all = String::from("{\"zarr_consolidated_format\":1,\"metadata\":{");
        for (number, (key, document)) in parsed.metadata.iter().enumerate() {
            let quoted = serde_json::to_string(key).map_err(|error| bad(error.to_string()))?;
            let comma = if number == 0 { "" } else { "," };
            all.push_str(&format!("{comma}{quoted}:{}", document.get()));
            if let Some(array) = key.strip_suffix(".zarray") {
                let read: ArrayMetadata =
                    serde_json::from_str(document.get()).map_err(|error| bad(format!("{key:?}: {error}")))?;
                let lens = read.shape.iter().zip(&read.chunks);
                let of_array: Option<Vec<u64>> =
                    lens.map(|(len, chunk)| (*chunk > 0).then(|| len.div_ceil(*chunk))).collect();
                let of_array = of_array
                    .filter(|counts| counts.len() == read.chunks.len() && counts.len() == read.shape.len());
                let of_array =
                    of_array.ok_or_else(|| bad(format!("{key:?}: its chunks do not fit its shape")))?;
                if read.dimension_separator.is_some_and(|separator| separator != ".") {
                    return Err(bad(format!("{key:?}: its keys must be separated by dots")));
                }
                counts.insert(array.trim_end_matches('/').to_owned(), of_array);
            }
            documents.insert(KeyBuf::parse(key.as_str())?, document.get().as_bytes().into());
        }
        all.push_str("}}");
        documents.insert(KeyBuf::parse(METADATA)?, all.into_bytes().into());
        let Capabilities { local, in_flight, .. } = folder.capabilities();
        let capabilities = Capabilities { ranges: true, local, in_flight, ..Capabilities::default() };
        let target = target.map(str::to_owned);
        let sources = parsed.ncz_sources;
        check_sources(&name, &sources, &*open)?;
        let (record_size, records) = (parsed.record_size, Mutex::default());
        let mut store = Self {
            name,
            folder,
            documents,
            counts,
            record_size,
            sources,
            target,
            open,
            capabilities,
            records,
        };
        store.capabilities = store.of_objects();
        Ok(store)
    }

    /// The capabilities of the objects, for which those of the first file stand that has any. What cannot be read is an
    /// error later.
    fn of_objects(&self) -> Capabilities {
        let arrays = self.documents.keys().filter_map(|key| key.as_str().strip_suffix("/.zarray"));
        let mut records =
            arrays.take(LOOKED_AT).filter_map(|array| self.read_record(array, 0).ok().flatten());
        let of_objects =
            records.find(|record| !record.targets.is_empty()).map(|record| record.capabilities());
        Capabilities { list: false, ..of_objects.unwrap_or(self.capabilities) }
    }

    /// The references of the file that has a key; `None` if no file has it.
    fn record(&self, key: Key<'_>) -> Result<Option<Arc<ReferenceStore>>, StoreError> {
        let (array, chunk) = key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()));
        let Some(number) = self.counts.get(array).and_then(|counts| chunk_number(chunk, counts)) else {
            return Ok(None);
        };
        let wanted = (array.to_owned(), number / self.record_size);
        let kept = || self.records.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = kept();
            if let Some(at) = kept.iter().position(|(record, _)| *record == wanted)
                && let Some(found) = kept.remove(at)
            {
                let record = found.1.clone();
                kept.push_back(found);
                return Ok(record);
            }
        }
        let record = self.read_record(&wanted.0, wanted.1)?;
        let mut kept = kept();
        while kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((wanted, record.clone()));
        Ok(record)
    }

    fn read_record(&self, array: &str, number: u64) -> Result<Option<Arc<ReferenceStore>>, StoreError> {
        let name = record_key(array, number);
        let Some(bytes) = self.folder.read_vec(Key::parse(&name)?, MOST_BYTES)? else { return Ok(None) };
        let counts = self.counts.get(array).map(Vec::as_slice).unwrap_or_default();
        let first = number.saturating_mul(self.record_size);
        let mut document = Document::default();
        let parsed = record::decode(bytes, self.record_size, &mut |row, reference| {
            let chunk = chunk_key(first.saturating_add(row), counts);
            let key = if array.is_empty() { chunk } else { format!("{array}/{chunk}") };
            add(&mut document, key, reference)
        });
        parsed.map_err(|reason| StoreError::BadReferences {
            location: self.name.clone(),
            reason: format!("{name:?}: {reason}"),
        })?;
        let open = Arc::clone(&self.open);
        let store = ReferenceStore::of_document(
            self.name.clone(),
            document,
            &self.sources,
            self.target.as_deref(),
            open,
        );
        Ok(Some(Arc::new(store)))
    }

    fn read_only(&self, key: Key<'_>) -> StoreError {
        StoreError::ReadOnly { at: ObjectLocation::object(self, key) }
    }
}

/// The number of a chunk in row-major order, by the last part of its key.
fn chunk_number(chunk: &str, counts: &[u64]) -> Option<u64> {
    if counts.is_empty() {
        return (chunk == "0").then_some(0);
    }
    let mut parts = chunk.split('.');
    let number = counts.iter().try_fold(0_u64, |number, count| {
        let text = parts.next()?;
        let at: u64 = text.parse().ok().filter(|at| at < count)?;
        (text == at.to_string()).then_some(())?;
        number.checked_mul(*count)?.checked_add(at)
    })?;
    parts.next().is_none().then_some(number)
}

/// The last part of the key of a chunk.
fn chunk_key(mut number: u64, counts: &[u64]) -> String {
    let mut parts: Vec<String> = Vec::with_capacity(counts.len());
    for (axis, count) in counts.iter().enumerate().rev() {
        // What is beyond the last chunk has a key beyond the array, which is not asked for.
        let at = if axis == 0 { number } else { number.checked_rem(*count).unwrap_or(0) };
        parts.push(at.to_string());
        number = number.checked_div(*count).unwrap_or(0);
    }
    parts.reverse();
    if parts.is_empty() { number.to_string() } else { parts.join(".") }
}

impl fmt::Display for ParquetStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Store for ParquetStore {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        out.clear();
        if let Some(document) = self.documents.get(key.as_str()) {
            let part = range.checked(document.len() as u64, max_len, || ObjectLocation::object(self, key))?;
            out.extend_from_slice(document.get(part.start as usize..part.end as usize).unwrap_or_default());
            return Ok(true);
        }
        match self.record(key)? {
            Some(record) => record.read(key, range, max_len, out),
            None => Ok(false),
        }
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        if let Some(document) = self.documents.get(key.as_str()) {
            let rest =
                usize::try_from(offset).ok().and_then(|offset| document.get(offset..)).unwrap_or_default();
            let filled = rest.len().min(out.len());
            if let (Some(to), Some(from)) = (out.get_mut(..filled), rest.get(..filled)) {
                to.copy_from_slice(from);
            }
            return Ok(Some(ReadInto { filled, object_len: document.len() as u64 }));
        }
        match self.record(key)? {
            Some(record) => record.read_into(key, offset, out),
            None => Ok(None),
        }
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        if let Some(document) = self.documents.get(key.as_str()) {
            return Ok(Some(document.len() as u64));
        }
        match self.record(key)? {
            Some(record) => record.len(key),
            None => Ok(None),
        }
    }

    /// As that of a [`ReferenceStore`].
    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        Ok(self.stamps(&[key])?.pop().flatten())
    }

    /// Asks for each object once for each file of references.
    fn stamps(&self, keys: &[Key<'_>]) -> Result<Vec<Option<Stamp>>, StoreError> {
        let mut stamps = vec![None; keys.len()];
        let mut handed_on: Vec<(Arc<ReferenceStore>, Vec<usize>, Vec<Key<'_>>)> = Vec::new();
        for ((at, key), stamp) in keys.iter().enumerate().zip(&mut stamps) {
            if let Some(document) = self.documents.get(key.as_str()) {
                *stamp = Some(bytes_stamp(document));
            } else if let Some(record) = self.record(*key)? {
                match handed_on.iter_mut().find(|(store, ..)| Arc::ptr_eq(store, &record)) {
                    Some((_, numbers, keys)) => {
                        numbers.push(at);
                        keys.push(*key);
                    }
                    None => handed_on.push((record, vec![at], vec![*key])),
                }
            }
        }
        for (record, numbers, keys) in handed_on {
            for (at, found) in numbers.into_iter().zip(record.stamps(&keys)?) {
                if let Some(stamp) = stamps.get_mut(at) {
                    *stamp = found;
                }
            }
        }
        Ok(stamps)
    }

    /// Hands the requests of each file of references on together.
    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        let mut handed_on: Vec<(Arc<ReferenceStore>, Vec<usize>, Vec<ReadRequest<'_>>)> = Vec::new();
        let mut buffer = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let record = match self.documents.contains_key(request.key.as_str()) {
                true => Ok(None),
                false => self.record(request.key),
            };
            let answer = match record {
                Ok(Some(record)) => {
                    match handed_on.iter_mut().find(|(store, ..)| Arc::ptr_eq(store, &record)) {
                        Some((_, numbers, requests)) => {
                            numbers.push(index);
                            requests.push(*request);
                        }
                        None => handed_on.push((record, vec![index], vec![*request])),
                    }
                    continue;
                }
                Ok(None) => self.read(request.key, request.range, request.max_len, &mut buffer),
                Err(error) => Err(error),
            };
            if done(index, answer.map(|found| found.then_some(buffer.as_slice()))).is_break() {
                return;
            }
        }
        for (record, numbers, requests) in handed_on {
            let stopped = AtomicBool::new(false);
            record.read_many(&requests, &|number, answer| {
                let Some(index) = numbers.get(number) else { return ControlFlow::Continue(()) };
                let flow = done(*index, answer);
                stopped.fetch_or(flow.is_break(), Ordering::Relaxed);
                flow
            });
            if stopped.into_inner() {
                return;
            }
        }
    }

    fn write(&self, key: Key<'_>, _bytes: &[u8], _mode: WriteMode) -> Result<(), StoreError> {
        Err(self.read_only(key))
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        Err(self.read_only(key))
    }

    /// Lists the metadata: what chunks there are is known when their files are read.
    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        let next = |from: &str| {
            self.documents
                .range::<str, _>((Bound::Included(from), Bound::Unbounded))
                .next()
                .map(|(key, _)| key.as_key())
        };
        let at = || ObjectLocation::below(self, prefix);
        Ok(Listing { entries: list_sorted(next, prefix, depth, max_entries, at)?, skipped: Vec::new() })
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Adds a reference of a table.
fn add(document: &mut Document, key: String, row: Row) -> Result<(), String> {
    let mut number = |url: Option<String>| {
        if url.as_ref().is_some_and(|url| url.len() > MOST_URL) {
            return Err(format!("a URL is longer than {MOST_URL} bytes"));
        }
        // References of a file that follow each other are mostly ones into the same object.
        match document.urls.last() {
            Some(last) if *last == url => Ok(document.urls.len() as u32 - 1),
            _ => document.add_url(url),
        }
    };
    let reference = match row {
        Row::Missing => return Ok(()),
        Row::Inline(bytes) => Reference::Inline(bytes.into()),
        Row::Whole(url) => Reference::Whole(number(url)?),
        Row::Range { url, offset, len } => {
            offset.checked_add(len).ok_or("a range does not end within 64 bits")?;
            Reference::Range { url: number(url)?, offset, len }
        }
    };
    document.references.insert(key, reference);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_numbered_in_row_major_order() {
        for (key, counts, number) in
            [("0", &[][..], 0), ("3", &[4], 3), ("1.2", &[2, 3], 5), ("1.0.4", &[2, 3, 5], 19)]
        {
            assert_eq!(chunk_number(key, counts), Some(number), "{key}");
            assert_eq!(chunk_key(number, counts), key);
        }
        for key in ["4", "1.2", "01", "+1", "", "a"] {
            assert_eq!(chunk_number(key, &[4]), None, "{key}");
        }
    }
}
