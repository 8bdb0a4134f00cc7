//! Datasets whose objects are ranges of other objects (Kerchunk).

mod document;
mod generate;
mod json;
#[cfg(feature = "parquet")]
pub mod parquet;
mod read;
mod target;
mod template;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use self::document::{Document, Reference};
pub use self::target::OpenTarget;
use self::target::Target;
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf, Prefix};
use crate::listing::list_sorted;
use crate::store::{
    Capabilities, Depth, Listing, ReadDone, ReadInto, ReadRange, ReadRequest, Stamp, Store, WriteMode,
};

/// A dataset of references, for reading: each key stands for bytes in the references, for an object elsewhere, or for a
/// range of one.
///
/// The references are the JSON of Kerchunk: version 1 with templates and rules (`gen`), or version 0. In templates and
/// rules, names and integer arithmetic are replaced; other expressions of Jinja are refused. The objects are opened when
/// they are first read. An object that does not exist is an error, never a missing chunk.
///
/// ```
/// use std::sync::Arc;
/// use ncz_store::references::{OpenTarget, ReferenceStore};
/// use ncz_store::{Key, KeyBuf, MemoryStore, Store, StoreError, StoreExt, WriteMode};
///
/// #[derive(Debug)]
/// struct Memory(Arc<MemoryStore>);
///
/// impl OpenTarget for Memory {
///     fn open(&self, url: &str) -> Result<(Arc<dyn Store>, KeyBuf), StoreError> {
///         Ok((self.0.clone(), KeyBuf::parse(url)?))
///     }
/// }
///
/// let files = Arc::new(MemoryStore::new("files"));
/// files.write(Key::parse("a.nc")?, b"head chunk", WriteMode::Replace)?;
/// let json = br#"{"version": 1, "refs": {".zgroup": "{}", "v/0": ["a.nc", 5, 5]}}"#;
/// let store = ReferenceStore::open("refs.json", json, None, Arc::new(Memory(files)))?;
/// assert_eq!(store.read_vec(Key::parse("v/0")?, 100)?, Some(b"chunk".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReferenceStore {
    name: String,
    references: BTreeMap<KeyBuf, Reference>,
    /// Keys that are none, as text.
    skipped: Vec<String>,
    /// By number; `None` for the target that was not given.
    targets: Vec<Option<Target>>,
    open: Arc<dyn OpenTarget>,
    capabilities: Capabilities,
}

impl ReferenceStore {
    /// The most bytes of references (1 GiB).
    pub const MOST_BYTES: u64 = document::MOST_BYTES;

    /// Reads references. `name` names them in messages; `target` is the URL of those that have none.
    ///
    /// # Errors
    /// [`StoreError::BadReferences`] if they are not JSON of references, are more than 16 Mi, or have expressions that
    /// are not supported.
    pub fn open(
        name: impl Into<String>,
        json: &[u8],
        target: Option<&str>,
        open: Arc<dyn OpenTarget>,
    ) -> Result<Self, StoreError> {
        let name = name.into();
        let document = json::parse(json);
        let document =
            document.map_err(|reason| StoreError::BadReferences { location: name.clone(), reason })?;
        let sources = document.sources.clone();
        check_sources(&name, &sources, &*open)?;
        Ok(Self::of_document(name, document, &sources, target, open))
    }

    fn of_document(
        name: String,
        document: Document,
        sources: &Sources,
        target: Option<&str>,
        open: Arc<dyn OpenTarget>,
    ) -> Self {
        let mut references = BTreeMap::new();
        let mut skipped = Vec::new();
        for (key, reference) in document.references {
            match KeyBuf::parse(key) {
                Ok(key) => drop(references.insert(key, reference)),
                Err(error) => skipped.push(error.to_string()),
            }
        }
        let target = target.map(str::to_owned);
        let urls = document.urls.into_iter().map(|url| url.or_else(|| target.clone()));
        let target_of = |url: String| {
            let expected = sources.get(&url).cloned();
            Target::new(url, expected)
        };
        let targets: Vec<Option<Target>> = urls.map(|url| url.map(target_of)).collect();
        // The first object stands for all. One that cannot be opened is an error when it is read.
        let first = targets.iter().flatten().next().and_then(|target| target.open(&name, &*open).ok());
        let of_first = first
            .map_or(Capabilities { local: true, ranges: true, ..Capabilities::default() }, |(store, _)| {
                store.capabilities()
            });
        let capabilities = Capabilities {
            list: true,
            ranges: of_first.ranges,
            local: of_first.local,
            in_flight: of_first.in_flight,
            ..Capabilities::default()
        };
        Self { name, references, skipped, targets, open, capabilities }
    }

    /// The object and the range that a key stands for; `None` if its bytes are in the references, or it does not exist.
    /// The range of a whole object is not known.
    ///
    /// # Errors
    /// The object cannot be opened.
    pub fn locate(&self, key: Key<'_>) -> Result<Option<ObjectRange<'_>>, StoreError> {
        let (url, range) = match self.references.get(key.as_str()) {
            None | Some(Reference::Inline(_)) => return Ok(None),
            Some(Reference::Whole(url)) => (*url, None),
            Some(Reference::Range { url, offset, len }) => (*url, Some(*offset..offset + len)),
        };
        let (store, key) = self.target(key, url)?;
        Ok(Some(ObjectRange { store, key: key.as_key(), range }))
    }

    fn read_only(&self, key: Key<'_>) -> StoreError {
        StoreError::ReadOnly { at: ObjectLocation::object(self, key) }
    }
}

/// What the objects were when references to them were written, by their URLs.
pub type Sources = BTreeMap<String, Stamp>;

/// The key of [`Sources`] beside the references. Other readers ignore it.
pub const SOURCES: &str = "ncz_sources";

/// Checks that no local object has changed. Others are checked when they are first read, since each takes a request.
fn check_sources(name: &str, sources: &Sources, open: &dyn OpenTarget) -> Result<(), StoreError> {
    for (url, expected) in sources.iter().filter(|_| open.refuses_changed()) {
        // What cannot be opened is an error when it is read.
        let Ok(opened) = open.open(url) else { continue };
        if !opened.0.capabilities().local {
            continue;
        }
        target::check(name, url, Some(expected), &opened)?;
    }
    Ok(())
}

/// A part of an object in another store.
#[derive(Debug, Clone)]
pub struct ObjectRange<'a> {
    /// The store.
    pub store: &'a Arc<dyn Store>,
    /// The object.
    pub key: Key<'a>,
    /// Its bytes; `None` for all.
    pub range: Option<std::ops::Range<u64>>,
}

/// Requests for one store: their numbers among all requests, and the requests.
type HandedOn<'a> = (&'a Arc<dyn Store>, Vec<usize>, Vec<ReadRequest<'a>>);

impl fmt::Display for ReferenceStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Store for ReferenceStore {
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
        let Some(reference) = self.references.get(key.as_str()) else { return Ok(false) };
        let read = self.read_reference(key, reference, range, max_len, out);
        if read.is_err() {
            out.clear();
        }
        read.map(|()| true)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let Some(reference) = self.references.get(key.as_str()) else { return Ok(None) };
        self.read_reference_into(key, reference, offset, out).map(Some)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        let Some(reference) = self.references.get(key.as_str()) else { return Ok(None) };
        self.reference_len(key, reference).map(Some)
    }

    /// A later version has other references, or its object has changed. The entity tag says both.
    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        Ok(self.stamps(&[key])?.pop().flatten())
    }

    /// Asks for each object once.
    fn stamps(&self, keys: &[Key<'_>]) -> Result<Vec<Option<Stamp>>, StoreError> {
        let mut objects = HashMap::new();
        let mut stamp = |key: &Key<'_>| {
            let reference = self.references.get(key.as_str());
            reference.map(|reference| self.reference_stamp(*key, reference, &mut objects)).transpose()
        };
        keys.iter().map(&mut stamp).collect()
    }

    /// Hands the requests for each store on together, so that they are in flight at the same time.
    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        let mut handed_on: Vec<HandedOn<'_>> = Vec::new();
        let mut buffer = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            if let Ok(Some(place)) = self.locate(request.key)
                && let Some(range) = place.range
                && let Some(part) = request.range.resolve(range.end - range.start)
                && part.end - part.start <= request.max_len
            {
                let range =
                    ReadRange::Bounded { offset: range.start + part.start, len: part.end - part.start };
                let request = ReadRequest { key: place.key, range, max_len: request.max_len };
                let same = handed_on.iter_mut().find(|(store, ..)| Arc::ptr_eq(store, place.store));
                match same {
                    Some((_, numbers, requests)) => {
                        numbers.push(index);
                        requests.push(request);
                    }
                    None => handed_on.push((place.store, vec![index], vec![request])),
                }
                continue;
            }
            let read = self.read(request.key, request.range, request.max_len, &mut buffer);
            if done(index, read.map(|found| found.then_some(buffer.as_slice()))).is_break() {
                return;
            }
        }
        for (store, numbers, requests) in handed_on {
            let stopped = std::sync::atomic::AtomicBool::new(false);
            store.read_many(&requests, &|number, answer| {
                let (Some(index), Some(request)) = (numbers.get(number), requests.get(number)) else {
                    return ControlFlow::Continue(());
                };
                let missing = || StoreError::NoObject { at: ObjectLocation::object(store, request.key) };
                let answer = answer.and_then(|bytes| bytes.ok_or_else(missing).map(Some));
                let flow = done(*index, answer);
                stopped.fetch_or(flow.is_break(), std::sync::atomic::Ordering::Relaxed);
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

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        let next = |from: &str| {
            let mut rest = self.references.range::<str, _>((Bound::Included(from), Bound::Unbounded));
            rest.next().map(|(key, _)| key.as_key())
        };
        let at = || ObjectLocation::below(self, prefix);
        let skipped = if prefix.is_root() { self.skipped.clone() } else { Vec::new() };
        Ok(Listing { entries: list_sorted(next, prefix, depth, max_entries, at)?, skipped })
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
