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
//! same append runs again ([`Dataset::recovered`](crate::Dataset::recovered)), so that no append is made twice, or until
//! something else is written.
//!
//! A zip archive is published as a whole, so only appends have a journal. It is a file beside the archive.
//!
//! A journal whose process runs on this machine is left as it is. So is a journal of another machine before step 2,
//! because nothing here shows whether its process runs. A journal of this process counts as left over: use only one
//! [`Dataset`](crate::Dataset) at a time to change a dataset.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ncz_store::{Key, Store, StoreError, StoreExt, WriteMode};
use serde_json::{Map, Value as Json, json};

use crate::data_error::DataError;
use crate::dataset::whole_document;
use crate::error::NczarrError;
use crate::json;
use crate::limits;

/// The version of the journal's form.
const VERSION: u64 = 1;

/// The consolidated metadata that any program may make again.
const CONSOLIDATED: &str = ".zmetadata";

/// What is appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appending {
    /// Where the records come from.
    pub source: String,
    /// Which of them: what was selected, as a text.
    pub part: String,
    /// The path of the dimension.
    pub dimension: String,
    /// Its length before.
    pub old: u64,
    /// Its length afterwards.
    pub new: u64,
}

/// A variable that gets longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Its path.
    pub variable: String,
    /// Its shape before.
    pub old: Vec<u64>,
    /// Its shape afterwards.
    pub new: Vec<u64>,
}

/// Growth that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// What is appended, if that is what it is.
    pub append: Option<Appending>,
    /// The variables that get longer; none before their new lengths are written.
    pub lengths: Vec<Lengths>,
    /// How far it has come.
    pub reached: Reached,
    /// The process that makes it, for people.
    pub writer: String,
    /// Whether that process runs: `None` where that cannot be known.
    pub running: Option<bool>,
}

/// Documents by their keys.
pub type Documents = Vec<(String, Option<Vec<u8>>)>;

/// How far growth has come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reached {
    /// Data are written, and none are visible: all lengths are the old ones.
    Data,
    /// The new lengths are being written: some documents, or all, have the old ones.
    Lengths,
    /// All is written.
    All,
    /// Some documents have the new lengths, and another program has changed this one: it can be neither finished nor
    /// undone.
    Changed(String),
}

/// What the journal holds.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    pub(crate) id: String,
    writer: Writer,
    append: Option<Appending>,
    lengths: Vec<Lengths>,
    /// The documents in the order in which they are replaced; `None` while data are written.
    documents: Option<Vec<Redo>>,
    /// Whether all of them are published together, with the data.
    whole: bool,
}

/// A document that is to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redo {
    pub(crate) key: String,
    /// The [`digest`] of what is replaced; `None`: there is no such document.
    pub(crate) was: Option<String>,
    /// What replaces it; `None`: it is deleted.
    pub(crate) text: Option<String>,
}

/// The process that writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Writer {
    host: String,
    /// What tells this start of the system, and the space of its process numbers, from others.
    boot: String,
    process: u64,
    /// When the process started, in the system's ticks: a later one may have its number.
    started: u64,
}

/// The result of looking for a journal before writing.
#[derive(Debug)]
pub(crate) enum Recovery {
    Unneeded,
    /// The growth is finished, or discarded. Its id, if its journal is still there.
    Settled(Interrupted, Option<String>),
    /// The process that writes it runs, or may run.
    Busy(Interrupted),
    /// It cannot be finished.
    Impossible(DataError),
}

/// How a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Old,
    New,
    Other,
}

/// Growth of the dataset in a store that is not finished, or was interrupted. Nothing is changed.
///
/// # Errors
/// The store fails; [`DataError::Journal`] for a journal that cannot be read.
pub fn interrupted(store: &dyn Store) -> Result<Option<Interrupted>, DataError> {
    let Some(journal) = read(store)? else { return Ok(None) };
    let states = journal.states(store)?;
    Ok(Some(journal.interrupted(&states)))
}

/// Finishes interrupted growth, or gives it up if nothing of it is visible, and removes its journal, also that of another
/// machine: the caller knows that no program is writing to the dataset. What can be neither finished nor given up stays
/// as it is, document by document.
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

/// What [`finish_or_discard`] would replace, as keys and contents (`None`: it would be deleted), and what it is about.
///
/// # Errors
/// The store fails; [`DataError::Journal`] for a journal that cannot be read.
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

/// Finishes interrupted growth, or gives it up, if its process cannot be running. The journal of a finished append stays.
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
            tracing::info!(target: "ncz_nczarr", place = %store, "{interrupted}; it is finished now");
        }
        Recovery::Settled(interrupted, _) => {
            tracing::info!(target: "ncz_nczarr", place = %store, "{interrupted}; it is settled now");
        }
        _ => {}
    }
    Ok(found)
}

/// The journal of a store, if there is one.
pub(crate) fn read(store: &dyn Store) -> Result<Option<Journal>, DataError> {
    let bytes = match store.read_vec(Key::JOURNAL, limits::JOURNAL_BYTES) {
        Ok(None) => return Ok(None),
        Ok(Some(bytes)) => bytes,
        // A service says this of what does not exist, to those who may not list.
        Err(StoreError::Denied { .. }) => return Ok(None),
        Err(source) => return Err(failed(store, source)),
    };
    match Journal::parse(&bytes) {
        Ok(journal) => Ok(Some(journal)),
        Err(reason) => Err(DataError::Journal { store: store.to_string(), reason }),
    }
}

/// A name that no other journal has.
pub(crate) fn new_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{:016x}", RandomState::new().hash_one((now, std::process::id())))
}

/// What tells one content of a document from others.
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
    /// The journal of this process.
    pub(crate) fn new(
        id: String,
        append: Option<Appending>,
        lengths: Vec<Lengths>,
        documents: Option<Vec<Redo>>,
        whole: bool,
    ) -> Self {
        Self { id, writer: Writer::this(), append, lengths, documents, whole }
    }

    /// Its form in the store.
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
        json::to_text(&Json::Object(object)).into_bytes()
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let parsed = json::parse(bytes).map_err(|error| error.to_string())?.value;
        let missing = |name: &str| format!("{name:?} is missing, or of another type");
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
            other => return Err(format!("it is of version {other}, and only {VERSION} is known")),
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
                    // What is written under these keys is metadata: a chunk is none.
                    let name = key.rsplit('/').next().unwrap_or_default();
                    if !matches!(name, ".zarray" | ".zattrs" | ".zgroup" | ".zmetadata" | "zarr.json") {
                        return Err(format!("{key:?} is the key of no metadata document"));
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

    /// Whether it is of the same append, so that who takes it over writes the same chunks.
    pub(crate) fn is_of(&self, append: &Appending) -> bool {
        self.append.as_ref() == Some(append)
    }

    /// Whether data are being written by a process of which it is not known whether it runs.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.documents.is_none() && self.writer.is_running().is_none()
    }

    /// How the documents are.
    fn states(&self, store: &dyn Store) -> Result<Vec<State>, DataError> {
        let documents = self.documents.as_deref().unwrap_or_default();
        let mut requests = Vec::with_capacity(documents.len());
        for redo in documents {
            let key = Key::parse(&redo.key);
            let key = key.map_err(|source| NczarrError::Metadata {
                key: redo.key.clone(),
                reason: source.to_string(),
            })?;
            requests.push(whole_document(key));
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

    /// How far it has come. Consolidated metadata come last and repeat what the other documents say: if another program
    /// has written them anew, only the others count.
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
            // What is published together is there if a part of it is.
            return if states.iter().any(is_new) { Reached::All } else { Reached::Data };
        }
        if let (Some((State::Other, others)), Some(last)) = (states.split_last(), documents.last())
            && matches!(last.key.as_str(), CONSOLIDATED | "zarr.json")
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

    /// Replaces what is still old, or gives up; the journal of what is given up is removed.
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
                    "it is of growth that was interrupted, some documents have the new lengths, and another program \
                     has changed {key:?} since"
                );
                Ok(Recovery::Impossible(DataError::Journal { store: store.to_string(), reason }))
            }
            Reached::Lengths => {
                for (redo, state) in self.documents.iter().flatten().zip(&states) {
                    let key = Key::parse(&redo.key);
                    let key = key.map_err(|source| NczarrError::Metadata {
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

    /// Removes it, if it is still there.
    pub(crate) fn remove(&self, store: &dyn Store) -> Result<(), DataError> {
        remove(store, &self.id)
    }
}

/// Removes the journal with this id, if it is still there.
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

    /// Whether another program has changed the document of a variable, and left it the new shape.
    fn has_new_shape(&self, stored: &[u8]) -> bool {
        let shape = |bytes: &[u8]| json::parse(bytes).ok()?.value.get("shape").cloned();
        let new = self.text.as_deref().and_then(|text| shape(text.as_bytes()));
        new.is_some() && new == shape(stored)
    }
}

impl Writer {
    /// This process.
    fn this() -> Self {
        let process = u64::from(std::process::id());
        Self {
            host: line("/proc/sys/kernel/hostname"),
            boot: this_boot(),
            process,
            started: started(process).map_or(0, |(started, _)| started),
        }
    }

    /// Whether it runs; of processes elsewhere that is not known. This one has no other journal at work.
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
            // The machine was started anew since.
            return Some(false);
        }
        if self.boot != this.boot {
            // Its number means another process here.
            return None;
        }
        Some(started(self.process).is_some_and(|(started, ended)| started == self.started && !ended))
    }
}

/// What tells this start of the system, and its space of process numbers, from others.
fn this_boot() -> String {
    let numbers = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", line("/proc/sys/kernel/random/boot_id"), numbers.display())
}

/// When a process of this machine started, in ticks, and whether it has ended already; `None`: there is none.
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

impl Interrupted {
    /// What happened, and what can be done.
    #[must_use]
    pub fn with_remedy(&self) -> String {
        let remedy = match (&self.reached, self.running) {
            (_, Some(true)) => return self.to_string(),
            (Reached::Data, None) => "if it does not, ncz verify --repair clears it away",
            (Reached::Data, _) => "the next program that writes, or ncz verify --repair, clears it away",
            (Reached::Changed(_), _) => {
                "ncz verify --repair leaves each document as it is and removes the journal: look at the lengths of the \
                 variables before it"
            }
            (Reached::Lengths | Reached::All, _) if self.append.is_some() => {
                "ncz verify --repair finishes it, and so does the same ncz copy --append, which appends nothing twice"
            }
            (Reached::Lengths | Reached::All, _) => {
                "the next program that writes, or ncz verify --repair, finishes it"
            }
        };
        format!("{self}; {remedy}")
    }
}

impl fmt::Display for Appending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, dimension, old, new, .. } = self;
        write!(f, "an append of {source} along {dimension:?}, from {old} to {new},")
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.append, self.lengths.as_slice()) {
            (Some(append), _) => append.fmt(f)?,
            (None, [first, more @ ..]) => {
                write!(f, "growth of {:?} from {:?} to {:?}", first.variable, first.old, first.new)?;
                if !more.is_empty() {
                    write!(f, ", and of {} more", more.len())?;
                }
            }
            (None, []) => f.write_str("growth")?,
        }
        let writer = &self.writer;
        if self.running == Some(true) {
            return write!(f, " is being made by {writer}");
        }
        match &self.reached {
            Reached::Data if self.running.is_none() => {
                write!(f, " was begun by {writer}, and it is not known whether that still runs; nothing of it is visible")
            }
            Reached::Data => f.write_str(" was interrupted; nothing of it is visible"),
            Reached::Lengths => f.write_str(
                " was interrupted while the new lengths were written, so that readers may see old and new ones side by side",
            ),
            Reached::All => f.write_str(" was interrupted when all was written"),
            Reached::Changed(key) => {
                write!(f, " was interrupted while the new lengths were written, and another program has changed {key:?} since")
            }
        }
    }
}
