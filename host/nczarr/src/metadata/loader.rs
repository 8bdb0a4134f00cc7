//! Documents as parsed objects: from the store, or from `.zmetadata`.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use ncz_store::StoreError;
use serde_json::{Map, Value as Json};

use super::Documents;
use crate::error::{NczarrError, SourceError, VariableFault};
use crate::json::{self, JsonError};
use crate::limits;
use crate::model::Warning;

/// A parsed document.
pub(super) type Object = Arc<Map<String, Json>>;

/// What stood under each key that was looked at; `None` for keys that do not exist.
pub(super) type Seen = IndexMap<String, Option<Object>>;

/// Reads documents and remembers them, so that each is asked for once.
pub(super) struct Loader<'a> {
    source: &'a dyn Documents,
    /// The content of `.zmetadata`, if it is all that is read.
    only: Option<Map<String, Json>>,
    pub(super) seen: Seen,
    /// Documents that are no JSON.
    broken: HashMap<String, JsonError>,
    /// Why documents that were asked for could not be had, for whoever needs them.
    failed: IndexMap<String, SourceError>,
    listed: HashMap<String, BTreeSet<String>>,
    /// Arrays and groups found so far, wherever they are named.
    members: usize,
    pub(super) warnings: Vec<Warning>,
}

/// Why a document could not be had: the store failed, or the content is broken.
pub(super) enum LoadError {
    Store(NczarrError),
    Broken(JsonError),
}

impl LoadError {
    /// The error where the whole dataset depends on the document.
    pub(super) fn of_dataset(self, key: &str) -> NczarrError {
        match self {
            Self::Store(error) => error,
            Self::Broken(source) => NczarrError::Document { key: key.to_owned(), source },
        }
    }

    /// The fault where only a variable depends on it; a failing store is still an error of the whole.
    pub(super) fn of_variable(self, key: &str) -> Result<VariableFault, NczarrError> {
        match self {
            Self::Store(error) => Err(error),
            Self::Broken(source) => Ok(VariableFault::Document { key: key.to_owned(), source }),
        }
    }
}

impl<'a> Loader<'a> {
    pub(super) fn new(source: &'a dyn Documents) -> Self {
        Self {
            source,
            only: None,
            seen: Seen::new(),
            broken: HashMap::new(),
            failed: IndexMap::new(),
            listed: HashMap::new(),
            members: 0,
            warnings: Vec::new(),
        }
    }

    /// From now on reads from these documents alone.
    pub(super) fn read_only_from(&mut self, documents: Map<String, Json>) {
        self.seen.clear();
        self.broken.clear();
        self.failed.clear();
        self.only = Some(documents);
    }

    /// Whether documents are read, and not `.zmetadata` alone.
    pub(super) fn reads_documents(&self) -> bool {
        self.only.is_none()
    }

    /// Asks for documents that will be needed, all together. What is wrong with one is told when it is looked at; a
    /// service that cannot be reached, or fails, is an error at once: it was tried often enough.
    pub(super) fn ask<K: Into<String>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(), NczarrError> {
        let stopped = self.fetch(keys).filter(|key| self.failed.get(key).is_some_and(is_service));
        match stopped.and_then(|key| self.failed.shift_remove_entry(&key)) {
            Some((key, source)) => Err(NczarrError::Read { key, source }),
            None => Ok(()),
        }
    }

    /// As [`ask`](Self::ask), where no document may fail: a failing store is an error at once.
    pub(super) fn ask_needed<K: Into<String>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(), NczarrError> {
        match self.fetch(keys).and_then(|key| self.failed.shift_remove_entry(&key)) {
            Some((key, source)) => Err(NczarrError::Read { key, source }),
            None => Ok(()),
        }
    }

    /// Gives the key at which the store failed; denials do not count.
    fn fetch<K: Into<String>>(&mut self, keys: impl IntoIterator<Item = K>) -> Option<String> {
        if self.only.is_some() {
            return None;
        }
        let unknown = |key: &String| {
            !self.seen.contains_key(key) && !self.broken.contains_key(key) && !self.failed.contains_key(key)
        };
        let keys: IndexSet<String> = keys.into_iter().map(Into::into).filter(unknown).collect();
        if keys.is_empty() {
            return None;
        }
        let asked: Vec<&str> = keys.iter().map(String::as_str).collect();
        let Self { source, seen, broken, failed, warnings, .. } = self;
        let mut stopped = None;
        source.documents(&asked, &mut |at, answer| {
            let Some(key) = keys.get_index(at) else { return ControlFlow::Continue(()) };
            match answer.map(|bytes| bytes.map(|bytes| parse(key, bytes, warnings)).transpose()) {
                Ok(Ok(object)) => {
                    seen.insert(key.clone(), object);
                }
                Ok(Err(error)) => {
                    broken.insert(key.clone(), error);
                }
                Err(error) => {
                    let denied = is_denied(&error);
                    failed.insert(key.clone(), error);
                    if !denied {
                        stopped = Some(key.clone());
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        });
        stopped
    }

    /// The object under a key.
    pub(super) fn object(&mut self, key: &str) -> Result<Option<Object>, LoadError> {
        if let Some(seen) = self.seen.get(key) {
            return Ok(seen.clone());
        }
        if let Some(documents) = &mut self.only {
            // What was taken out is in `seen`; the names stay, for the children.
            let object = match documents.get_mut(key).map(Json::take) {
                None => None,
                Some(Json::Object(object)) => Some(Arc::new(object)),
                Some(_) => return Err(LoadError::Broken(NO_OBJECT)),
            };
            self.seen.insert(key.to_owned(), object.clone());
            return Ok(object);
        }
        self.fetch([key]);
        if let Some(error) = self.broken.get(key) {
            return Err(LoadError::Broken(error.clone()));
        }
        if let Some(source) = self.failed.shift_remove(key) {
            let (denied, key) = (is_denied(&source), key.to_owned());
            return Err(LoadError::Store(match denied {
                true => NczarrError::Denied { key, source },
                false => NczarrError::Read { key, source },
            }));
        }
        Ok(self.seen.get(key).cloned().flatten())
    }

    /// The object under a key on which the whole dataset depends.
    pub(super) fn required(&mut self, key: &str) -> Result<Option<Object>, NczarrError> {
        self.object(key).map_err(|error| error.of_dataset(key))
    }

    /// The object under a key where nothing need be. A service that may say "denied" of what does not exist is taken
    /// to mean that; where nothing else is found in its place, [`nothing`](Self::nothing) tells what it said.
    pub(super) fn probe(&mut self, key: &str) -> Result<Option<Object>, LoadError> {
        match self.object(key) {
            Err(LoadError::Store(NczarrError::Denied { key, source })) => {
                self.failed.insert(key, source);
                Ok(None)
            }
            other => other,
        }
    }

    /// Whether the store denied a document that it was asked for.
    pub(super) fn is_hidden(&self, key: &str) -> bool {
        self.failed.get(key).is_some_and(is_denied)
    }

    /// The error where no document was found: that there is no dataset, or that it may not be seen.
    pub(super) fn nothing(&mut self) -> NczarrError {
        match self.failed.shift_remove_index(0) {
            Some((key, source)) => NczarrError::Denied { key, source },
            None => NczarrError::NotADataset,
        }
    }

    /// Notes that what is in groups is about to be asked for.
    pub(super) fn enter(&mut self, groups: &[String]) -> Result<(), NczarrError> {
        for path in groups {
            let prefix = path.trim_matches('/');
            let refused = |source| NczarrError::Read { key: path.clone(), source };
            self.source.enter(prefix).map_err(refused)?;
        }
        Ok(())
    }

    /// Adds to the number of arrays and groups, which is bounded: symbolic links can multiply them.
    pub(super) fn count(&mut self, group: &str, members: usize) -> Result<(), NczarrError> {
        self.members = self.members.saturating_add(members);
        if self.members > limits::MEMBERS {
            let reason =
                format!("the dataset has more than {} arrays and groups, which is the most", limits::MEMBERS);
            return Err(NczarrError::Metadata { key: group.to_owned(), reason });
        }
        Ok(())
    }

    /// Asks what is in groups, all together.
    pub(super) fn list(&mut self, prefixes: &[&str]) -> Result<(), NczarrError> {
        if self.only.is_some() || prefixes.is_empty() {
            return Ok(());
        }
        for (prefix, names) in prefixes.iter().zip(self.source.all_children(prefixes)) {
            let names = names.map_err(|source| not_listed(prefix, source))?;
            self.count(prefix, names.len())?;
            self.listed.insert((*prefix).to_owned(), names.into_iter().collect());
        }
        Ok(())
    }

    /// The names right below a group that are not hidden, sorted by their bytes.
    pub(super) fn children(&mut self, prefix: &str) -> Result<Vec<String>, NczarrError> {
        let names: BTreeSet<String> = match &self.only {
            Some(documents) => {
                documents.keys().filter_map(|key| child_of(prefix, key)).map(str::to_owned).collect()
            }
            None => {
                if !self.listed.contains_key(prefix) {
                    self.list(&[prefix])?;
                }
                self.listed.get(prefix).cloned().unwrap_or_default()
            }
        };
        if names.len() > limits::CHILDREN {
            let reason = format!("it has {} children, {} are the most", names.len(), limits::CHILDREN);
            return Err(NczarrError::Metadata { key: prefix.to_owned(), reason });
        }
        Ok(names.into_iter().filter(|name| !name.starts_with('.') && !name.is_empty()).collect())
    }

    pub(super) fn warn(&mut self, at: &str, text: impl Into<String>) {
        self.warnings.push(Warning { at: at.to_owned(), text: text.into() });
    }
}

const NO_OBJECT: JsonError = JsonError::Syntax { at: 0, expected: "an object" };

fn parse(key: &str, bytes: &[u8], warnings: &mut Vec<Warning>) -> Result<Object, JsonError> {
    let (len, most) = (bytes.len(), limits::document_bytes(key));
    if len > most {
        return Err(JsonError::TooLarge { len, most });
    }
    let parsed = json::parse(bytes)?;
    warnings.extend(parsed.duplicates.into_iter().map(|name| Warning {
        at: key.to_owned(),
        text: format!("the key {name:?} stands twice in one object; the last value is used"),
    }));
    match parsed.value {
        Json::Object(object) => Ok(Arc::new(object)),
        _ => Err(NO_OBJECT),
    }
}

fn is_denied(error: &SourceError) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Denied { .. }))
}

fn is_service(error: &SourceError) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Service { .. }))
}

fn not_listed(prefix: &str, source: SourceError) -> NczarrError {
    match source.downcast_ref() {
        Some(StoreError::Denied { .. } | StoreError::Unsupported { .. }) => {
            NczarrError::NotListed { group: format!("/{prefix}"), source }
        }
        _ => NczarrError::Read { key: prefix.to_owned(), source },
    }
}

fn child_of<'k>(prefix: &str, key: &'k str) -> Option<&'k str> {
    let rest = if prefix.is_empty() { key } else { key.strip_prefix(prefix)?.strip_prefix('/')? };
    rest.split_once('/').map(|(name, _)| name)
}
