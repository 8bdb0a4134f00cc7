//! The write-ahead journal of growth: the object `.ncz-journal` in the root of a dataset.
//!
//! New lengths take several documents: those of the variables, those of the groups, and consolidated metadata. A store
//! cannot replace them all at the same moment, so the journal holds them first:
//!
//! 1. Chunks are written beyond the old lengths, which no reader sees, and made durable. An append
//!    ([`Dataset::begin_append`](crate::Dataset::begin_append)) writes its journal before the chunks: it names the
//!    source and the lengths, and refuses a second append.
//! 2. The journal is written, or replaced, with the new documents. From this step on the growth counts.
//! 3. The documents are replaced.
//! 4. The journal is removed.
//!
//! After an interruption, the next program that opens the dataset for writing reads the journal. Before step 2 nothing
//! is visible, and the program removes the journal. After step 2 it replaces the documents that are still old. It
//! replaces a document only if its checksum is the one in the journal. The journal of a finished append stays until the
//! same append runs again ([`Dataset::recovered`](crate::Dataset::recovered)), so that no append is made twice, or
//! until something else is written.
//!
//! A zip archive is published as a whole, so only appends have a journal. It is a file next to the archive.
//!
//! A journal whose process runs on this machine is left as it is. So is a journal of another machine before step 2,
//! because nothing here shows whether its process runs. A journal of this process counts as left over: use only one
//! [`Dataset`](crate::Dataset) at a time to change a dataset.

use std::collections::HashMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ncz_model::json::{Json, Map, json};
use ncz_model::{Appending, DataError, Interrupted, Lengths, MetadataError, Reached, json, limits};
use ncz_store::{Key, Store, StoreError, StoreExt, WriteMode};

use crate::metadata::document;

/// The version of the journal's format.
const VERSION: u64 = 1;

/// The key of the consolidated metadata, which any program may recreate.
const CONSOLIDATED: &str = document::ZMETADATA;

/// Documents by their keys.
pub type Documents = Vec<(String, Option<Vec<u8>>)>;

/// The content of the journal.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    pub(crate) id: String,
    writer: Writer,
    append: Option<Appending>,
    lengths: Vec<Lengths>,
    /// The documents, in the order in which they are replaced; `None` while data are being written.
    documents: Option<Vec<Redo>>,
    /// Whether all documents are published together, with the data.
    whole: bool,
}

/// A document to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redo {
    pub(crate) key: String,
    /// The [`digest`] of the document that is replaced; `None` if it does not exist.
    pub(crate) was: Option<String>,
    /// The new content; `None` if the document is deleted.
    pub(crate) text: Option<String>,
}

/// The process that writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Writer {
    host: String,
    /// Identifies this boot of the system, and its namespace of process numbers.
    boot: String,
    process: u64,
    /// The start time of the process, in the system's ticks: a later process may have the same number.
    started: u64,
}

/// The result of looking for a journal before writing.
#[derive(Debug)]
pub(crate) enum Recovery {
    Unneeded,
    /// The growth is finished or discarded. The id is that of its journal, if it still exists.
    Settled(Interrupted, Option<String>),
    /// The process that writes it is or may be running.
    Busy(Interrupted),
    /// The growth cannot be finished.
    Impossible(DataError),
}

/// The state of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Old,
    New,
    Other,
}

/// Returns growth of the dataset in a store that is not finished, or was interrupted. Nothing is changed.
///
/// # Errors
/// The store fails; [`DataError::Journal`] if the journal cannot be read.
pub fn interrupted(store: &dyn Store) -> Result<Option<Interrupted>, DataError> {
    let Some(journal) = read(store)? else { return Ok(None) };
    let states = journal.states(store)?;
    Ok(Some(journal.interrupted(&states)))
}

/// Finishes interrupted growth, or discards it if nothing of it is visible, and removes its journal, also that of
/// another machine: the caller must know that no program is writing to the dataset. If it can be neither finished nor
/// discarded, each document stays as it is.
///
/// # Errors
/// The store fails.
pub fn finish_or_discard(store: &dyn Store) -> Result<Option<Interrupted>, DataError> {
    let journal = match read(store) {
        Ok(None) => return Ok(None),
        Ok(Some(journal)) => journal,
        Err(DataError::Journal { .. }) => {
            delete(store)?;
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let found = journal.finish(store)?;
    let interrupted = match found {
        Recovery::Settled(interrupted, _) | Recovery::Busy(interrupted) => interrupted,
        Recovery::Unneeded | Recovery::Impossible(_) => {
            let states = journal.states(store)?;
            journal.interrupted(&states)
        }
    };
    delete(store)?;
    Ok(Some(interrupted))
}

/// Returns the interrupted growth, and the documents that [`finish_or_discard`] would replace, as keys and contents;
/// the content is `None` if the document would be deleted.
///
/// # Errors
/// The store fails; [`DataError::Journal`] if the journal cannot be read.
pub fn redo_documents(store: &dyn Store) -> Result<Option<(Interrupted, Documents)>, DataError> {
    let Some(journal) = read(store)? else { return Ok(None) };
    let states = journal.states(store)?;
    let interrupted = journal.interrupted(&states);
    let documents = match interrupted.reached {
        Reached::Lengths => journal.documents.unwrap_or_default(),
        _ => Vec::new(),
    };
    let replaced = documents.into_iter().zip(states).filter(|(_, state)| *state == State::Old);
    let replaced = replaced.map(|(redo, _)| (redo.key, redo.text.map(String::into_bytes))).collect();
    Ok(Some((interrupted, replaced)))
}

/// Finishes interrupted growth, or discards it, if its process cannot be running. The journal of a finished append
/// stays.
pub(crate) fn recover(store: &dyn Store) -> Result<Recovery, DataError> {
    let journal = match read(store) {
        Ok(None) => return Ok(Recovery::Unneeded),
        Ok(Some(journal)) => journal,
        Err(error @ DataError::Journal { .. }) => return Ok(Recovery::Impossible(error)),
        Err(error) => return Err(error),
    };
    let is_busy = match journal.writer.is_running() {
        Some(running) => running,
        // An archive is published after its journal is complete.
        None => {
            journal.documents.is_none()
                || journal.whole && matches!(journal.reached(&journal.states(store)?), Reached::Data)
        }
    };
    if is_busy {
        let states = journal.states(store)?;
        return Ok(Recovery::Busy(journal.interrupted(&states)));
    }
    let found = journal.finish(store)?;
    match &found {
        Recovery::Settled(interrupted, Some(_)) if interrupted.append.is_none() => {
            journal.remove(store)?;
            tracing::info!(target: "ncz_zarr", store = %store, "{interrupted}; it is finished now");
        }
        Recovery::Settled(interrupted, _) => {
            tracing::info!(target: "ncz_zarr", store = %store, "{interrupted}; it is settled now");
        }
        _ => {}
    }
    Ok(found)
}

/// Reads the journal of a store, if it has one.
pub(crate) fn read(store: &dyn Store) -> Result<Option<Journal>, DataError> {
    let bytes = match store.read_vec(Key::JOURNAL, limits::JOURNAL_BYTES) {
        Ok(None) => return Ok(None),
        Ok(Some(bytes)) => bytes,
        // A service gives this answer for a missing object if listing is not allowed.
        Err(StoreError::Denied { .. }) => return Ok(None),
        Err(source) => return Err(failed(store, source)),
    };
    match Journal::parse(&bytes) {
        Ok(journal) => Ok(Some(journal)),
        Err(reason) => Err(DataError::Journal { store: store.to_string(), reason }),
    }
}

/// Makes an id that no other journal has.
pub(crate) fn new_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{:016x}", RandomState::new().hash_one((now, std::process::id())))
}

/// Returns the length and checksum of a document, which identify its content.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("{} {:08x}", bytes.len(), crc32c::crc32c(bytes))
}

fn delete(store: &dyn Store) -> Result<(), DataError> {
    store.delete(Key::JOURNAL).map(|_| ()).map_err(|source| failed(store, source))
}

fn failed(store: &dyn Store, source: StoreError) -> DataError {
    DataError::Store { store: store.to_string(), source }
}

impl Journal {
    /// Makes a journal of this process.
    pub(crate) fn new(
        id: String,
        append: Option<Appending>,
        lengths: Vec<Lengths>,
        documents: Option<Vec<Redo>>,
        whole: bool,
    ) -> Self {
        Self { id, writer: Writer::this(), append, lengths, documents, whole }
    }

    /// Serializes the journal.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Writer { host, boot, process, started } = &self.writer;
        let mut object = Map::new();
        let mut put = |name: &str, value: Json| object.insert(name.to_owned(), value);
        put("what", json!("the dataset is getting longer, or that was interrupted; ncz info says more"));
        put("version", json!(VERSION));
        put("program", json!(concat!("ncz ", env!("CARGO_PKG_VERSION"))));
        put("id", json!(self.id));
        put("writer", json!({"host": host, "boot": boot, "process": process, "started": started}));
        if let Some(Appending { source, part, dimension, old, new }) = &self.append {
            let append =
                json!({"source": source, "part": part, "dimension": dimension, "old": old, "new": new});
            put("append", append);
        }
        let lengths = self.lengths.iter();
        let lengths = lengths
            .map(|Lengths { variable, old, new }| json!({"variable": variable, "old": old, "new": new}));
        put("lengths", lengths.collect());
        put("whole", json!(self.whole));
        if let Some(documents) = &self.documents {
            let documents = documents.iter();
            let documents =
                documents.map(|Redo { key, was, text }| json!({"key": key, "was": was, "text": text}));
            put("documents", documents.collect());
        }
        json::to_text(&Json::from(object)).into_bytes()
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let parsed = json::parse(bytes).map_err(|error| error.to_string())?.value;
        let missing = |name: &str| format!("{name:?} is missing, or has the wrong type");
        let text = |json: &Json, name: &str| {
            json.get(name).and_then(Json::as_str).map(str::to_owned).ok_or_else(|| missing(name))
        };
        let number =
            |json: &Json, name: &str| json.get(name).and_then(Json::as_u64).ok_or_else(|| missing(name));
        let optional = |json: &Json, name: &str| match json.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(missing(name)),
        };
        let list = |json: &Json, name: &str| {
            json.get(name).and_then(Json::as_array).cloned().ok_or_else(|| missing(name))
        };
        let shape = |json: &Json, name: &str| {
            let lens: Option<Vec<u64>> = json.get(name)?.as_array()?.iter().map(Json::as_u64).collect();
            lens
        };
        match number(&parsed, "version")? {
            VERSION => {}
            other => return Err(format!("it has version {other}, and only {VERSION} is supported")),
        }
        let writer = parsed.get("writer").ok_or_else(|| missing("writer"))?;
        let writer = Writer {
            host: text(writer, "host")?,
            boot: text(writer, "boot")?,
            process: number(writer, "process")?,
            started: number(writer, "started")?,
        };
        let append = match parsed.get("append") {
            None => None,
            Some(append) => Some(Appending {
                source: text(append, "source")?,
                part: text(append, "part")?,
                dimension: text(append, "dimension")?,
                old: number(append, "old")?,
                new: number(append, "new")?,
            }),
        };
        let lengths = list(&parsed, "lengths")?.into_iter().map(|entry| {
            let (old, new) = (shape(&entry, "old"), shape(&entry, "new"));
            let (Some(old), Some(new)) = (old, new) else { return Err(missing("lengths")) };
            Ok(Lengths { variable: text(&entry, "variable")?, old, new })
        });
        let documents = match parsed.get("documents") {
            None => None,
            Some(_) => {
                let documents = list(&parsed, "documents")?.into_iter().map(|entry| {
                    let key = text(&entry, "key")?;
                    // Only metadata documents are written under these keys, never chunks.
                    let name = key.rsplit('/').next().unwrap_or_default();
                    if !matches!(
                        name,
                        document::ZARRAY
                            | document::ZATTRS
                            | document::ZGROUP
                            | document::ZMETADATA
                            | document::ZARR_JSON
                    ) {
                        return Err(format!("{key:?} is not the key of a metadata document"));
                    }
                    Key::parse(&key).map_err(|error| error.to_string())?;
                    Ok(Redo { key, was: optional(&entry, "was")?, text: optional(&entry, "text")? })
                });
                Some(documents.collect::<Result<Vec<_>, String>>()?)
            }
        };
        let lengths = lengths.collect::<Result<Vec<_>, String>>()?;
        let whole = parsed.get("whole").and_then(Json::as_bool).ok_or_else(|| missing("whole"))?;
        Ok(Self { id: text(&parsed, "id")?, writer, append, lengths, documents, whole })
    }

    /// Whether it belongs to the same append, so that a program that continues it writes the same chunks.
    pub(crate) fn is_of(&self, append: &Appending) -> bool {
        self.append.as_ref() == Some(append)
    }

    /// Whether data are being written by a process that may or may not be running.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.documents.is_none() && self.writer.is_running().is_none()
    }

    /// Returns the states of the documents.
    fn states(&self, store: &dyn Store) -> Result<Vec<State>, DataError> {
        let documents = self.documents.as_deref().unwrap_or_default();
        let mut requests = Vec::with_capacity(documents.len());
        for redo in documents {
            let key = Key::parse(&redo.key);
            let key = key.map_err(|source| MetadataError::Metadata {
                key: redo.key.clone(),
                reason: source.to_string(),
            })?;
            requests.push(document::request(key));
        }
        let states = Mutex::new(Ok(HashMap::new()));
        store.read_many(&requests, &|at, stored| {
            let mut states = states.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *states, documents.get(at), stored) {
                (Ok(known), Some(redo), Ok(stored)) => {
                    known.insert(at, redo.state(stored));
                    ControlFlow::Continue(())
                }
                (_, _, Err(source)) => {
                    *states = Err(failed(store, source));
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Break(()),
            }
        });
        let states = states.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        Ok((0..documents.len()).map(|at| states.get(&at).copied().unwrap_or(State::Other)).collect())
    }

    /// Returns the state that the growth has reached. Consolidated metadata come last and repeat the other documents:
    /// if another program has rewritten them, only the other documents count.
    fn reached(&self, states: &[State]) -> Reached {
        let documents = match &self.documents {
            Some(documents) if !documents.is_empty() => documents,
            _ => return Reached::Data,
        };
        let is_new = |state: &State| *state == State::New;
        if states.iter().all(is_new) {
            return Reached::All;
        }
        if self.whole {
            // Documents that are published together all exist if one of them does.
            return if states.iter().any(is_new) { Reached::All } else { Reached::Data };
        }
        if let (Some((State::Other, others)), Some(last)) = (states.split_last(), documents.last())
            && matches!(last.key.as_str(), CONSOLIDATED | document::ZARR_JSON)
            && !others.is_empty()
            && others.iter().all(is_new)
        {
            return Reached::All;
        }
        let is_other = |(redo, state): &(&Redo, &State)| **state == State::Other && redo.key != CONSOLIDATED;
        match documents.iter().zip(states).find(is_other) {
            None => Reached::Lengths,
            Some(_) if !states.iter().any(is_new) => Reached::Data,
            Some((redo, _)) => Reached::Changed(redo.key.clone()),
        }
    }

    fn interrupted(&self, states: &[State]) -> Interrupted {
        Interrupted {
            append: self.append.clone(),
            lengths: self.lengths.clone(),
            reached: self.reached(states),
            writer: format!("process {} on {:?}", self.writer.process, self.writer.host),
            running: self.writer.is_running(),
        }
    }

    /// Replaces the documents that are still old, or discards the growth and removes its journal.
    fn finish(&self, store: &dyn Store) -> Result<Recovery, DataError> {
        let states = self.states(store)?;
        let interrupted = self.interrupted(&states);
        match &interrupted.reached {
            Reached::Data => {
                self.remove(store)?;
                Ok(Recovery::Settled(interrupted, None))
            }
            Reached::All => Ok(Recovery::Settled(interrupted, Some(self.id.clone()))),
            Reached::Changed(key) => {
                let reason = format!(
                    "it belongs to growth that was interrupted: some documents have the new lengths, and another \
                     program has changed {key:?} since"
                );
                Ok(Recovery::Impossible(DataError::Journal { store: store.to_string(), reason }))
            }
            Reached::Lengths => {
                for (redo, state) in self.documents.iter().flatten().zip(&states) {
                    let key = Key::parse(&redo.key);
                    let key = key.map_err(|source| MetadataError::Metadata {
                        key: redo.key.clone(),
                        reason: source.to_string(),
                    })?;
                    let done = match (state, &redo.text) {
                        (State::New, _) => Ok(()),
                        (State::Old, Some(text)) => store.write(key, text.as_bytes(), WriteMode::Replace),
                        // Consolidated metadata that another program made meanwhile do not have the new lengths.
                        (State::Old, None) | (State::Other, _) => store.delete(key).map(|_| ()),
                    };
                    done.map_err(|source| failed(store, source))?;
                }
                store.sync().map_err(|source| failed(store, source))?;
                Ok(Recovery::Settled(interrupted, Some(self.id.clone())))
            }
        }
    }

    /// Removes the journal, if it still exists.
    pub(crate) fn remove(&self, store: &dyn Store) -> Result<(), DataError> {
        remove(store, &self.id)
    }
}

/// Removes the journal with this id, if it still exists.
pub(crate) fn remove(store: &dyn Store, id: &str) -> Result<(), DataError> {
    match read(store)? {
        Some(there) if there.id == id => delete(store),
        _ => Ok(()),
    }
}

impl Redo {
    fn state(&self, stored: Option<&[u8]>) -> State {
        if stored == self.text.as_deref().map(str::as_bytes) {
            State::New
        } else if stored.map(digest) == self.was {
            State::Old
        } else if stored.is_some_and(|stored| self.has_new_shape(stored)) {
            State::New
        } else {
            State::Other
        }
    }

    /// Whether another program has changed the document of a variable, but kept the new shape.
    fn has_new_shape(&self, stored: &[u8]) -> bool {
        let shape = |bytes: &[u8]| json::parse(bytes).ok()?.value.get("shape").cloned();
        let new = self.text.as_deref().and_then(|text| shape(text.as_bytes()));
        new.is_some() && new == shape(stored)
    }
}

impl Writer {
    /// Describes this process.
    fn this() -> Self {
        let process = u64::from(std::process::id());
        Self {
            host: line("/proc/sys/kernel/hostname"),
            boot: this_boot(),
            process,
            started: started(process).map_or(0, |(started, _)| started),
        }
    }

    /// Whether the process is running; not known for other machines. This process has no other journal in use.
    fn is_running(&self) -> Option<bool> {
        let this = Self::this();
        if *self == this {
            return Some(false);
        }
        if this.host.is_empty() || self.host != this.host {
            return None;
        }
        let start = |boot: &str| boot.split(' ').next().unwrap_or_default().to_owned();
        if start(&self.boot) != start(&this.boot) {
            // The machine was rebooted since.
            return Some(false);
        }
        if self.boot != this.boot {
            // Its process number has another meaning in this namespace.
            return None;
        }
        Some(started(self.process).is_some_and(|(started, ended)| started == self.started && !ended))
    }
}

/// Identifies this boot of the system, and its namespace of process numbers.
fn this_boot() -> String {
    let numbers = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", line("/proc/sys/kernel/random/boot_id"), numbers.display())
}

/// Returns the start time of a process of this machine, in ticks, and whether it has already ended; `None` if there is
/// no such process.
fn started(process: u64) -> Option<(u64, bool)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program comes second, in brackets, and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    Some((fields.nth(18)?.parse().ok()?, ended))
}

fn line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| String::new(), |text| text.trim().to_owned())
}
