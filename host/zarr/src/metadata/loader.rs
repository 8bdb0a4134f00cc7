//! Loads and parses documents, from the store or from `.zmetadata`.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use ncz_model::json::{self, JsonError};
use ncz_model::json::{Json, Map};
use ncz_model::{MetadataError, SourceError, VariableError, Warning, limits};
use ncz_store::StoreError;

use super::Documents;
use crate::metadata::document;

/// A parsed document.
pub(super) type Object = Arc<Map>;

/// The object of each key that was read; `None` for keys that do not exist.
pub(super) type Seen = IndexMap<String, Option<Object>>;

/// Reads documents and caches them, so that each is requested once.
pub(super) struct Loader<'a> {
    source: &'a dyn Documents,
    /// The content of `.zmetadata`, if it is all that is read.
    only: Option<Map>,
    pub(super) seen: Seen,
    /// Documents that are not JSON.
    broken: HashMap<String, JsonError>,
    /// The errors of requested documents, for the code that needs them.
    failed: IndexMap<String, SourceError>,
    listed: HashMap<String, BTreeSet<String>>,
    /// The number of arrays and groups found so far.
    members: usize,
    pub(super) warnings: Vec<Warning>,
}

/// Why a document could not be loaded: the store failed, or the content is broken.
pub(super) enum LoadError {
    Store(MetadataError),
    Broken(JsonError),
}

impl LoadError {
    /// The error if the whole dataset depends on the document.
    pub(super) fn of_dataset(self, key: &str) -> MetadataError {
        match self {
            Self::Store(error) => error,
            Self::Broken(source) => MetadataError::Document { key: key.to_owned(), source },
        }
    }

    /// The error if only a variable depends on the document; a failing store is still an error of the whole dataset.
    pub(super) fn of_variable(self, key: &str) -> Result<VariableError, MetadataError> {
        match self {
            Self::Store(error) => Err(error),
            Self::Broken(source) => Ok(VariableError::Document { key: key.to_owned(), source }),
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

    /// Reads only from the documents in this `.zmetadata` from now on. They are not copied: nobody else has them.
    pub(super) fn read_only_from_zmetadata(&mut self, zmetadata: Object) {
        self.seen.clear();
        let documents = Arc::unwrap_or_clone(zmetadata).swap_remove("metadata");
        self.read_only_from(documents.and_then(Json::into_object).unwrap_or_default());
    }

    /// Reads only from these documents from now on.
    pub(super) fn read_only_from(&mut self, documents: Map) {
        self.seen.clear();
        self.broken.clear();
        self.failed.clear();
        self.only = Some(documents);
    }

    /// Whether documents are read, not only `.zmetadata`.
    pub(super) fn reads_documents(&self) -> bool {
        self.only.is_none()
    }

    /// Requests documents that will be needed, all together. An error of one document is reported when it is used; a
    /// service that cannot be reached, or fails, is an error at once, because requests were already retried.
    pub(super) fn ask<K: Into<String>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(), MetadataError> {
        let stopped = self.fetch(keys).filter(|key| self.failed.get(key).is_some_and(is_service));
        match stopped.and_then(|key| self.failed.shift_remove_entry(&key)) {
            Some((key, source)) => Err(MetadataError::Read { key, source }),
            None => Ok(()),
        }
    }

    /// Requests documents like [`ask`](Self::ask), but none may fail: a failing store is an error at once.
    pub(super) fn ask_needed<K: Into<String>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(), MetadataError> {
        match self.fetch(keys).and_then(|key| self.failed.shift_remove_entry(&key)) {
            Some((key, source)) => Err(MetadataError::Read { key, source }),
            None => Ok(()),
        }
    }

    /// Fetches documents; returns the key at which the store failed. Denials do not count.
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

    /// The object of a key.
    pub(super) fn object(&mut self, key: &str) -> Result<Option<Object>, LoadError> {
        if let Some(seen) = self.seen.get(key) {
            return Ok(seen.clone());
        }
        if let Some(documents) = &mut self.only {
            // The object moves to `seen`; the names stay, for the children.
            let object = match documents.get_mut(key).map(std::mem::take) {
                None => None,
                Some(Json::Object(object)) => Some(object),
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
                true => MetadataError::Denied { key, source },
                false => MetadataError::Read { key, source },
            }));
        }
        Ok(self.seen.get(key).cloned().flatten())
    }

    /// The object of a key on which the whole dataset depends.
    pub(super) fn required(&mut self, key: &str) -> Result<Option<Object>, MetadataError> {
        self.object(key).map_err(|error| error.of_dataset(key))
    }

    /// The object of a key that need not exist. If a service may answer "denied" for missing objects, that answer
    /// counts as missing; if no other document is found instead, [`nothing`](Self::nothing) returns the answer.
    pub(super) fn probe(&mut self, key: &str) -> Result<Option<Object>, LoadError> {
        match self.object(key) {
            Err(LoadError::Store(MetadataError::Denied { key, source })) => {
                self.failed.insert(key, source);
                Ok(None)
            }
            other => other,
        }
    }

    /// Whether such a document exists, even if it is broken.
    pub(super) fn is_there(&mut self, key: &str) -> Result<bool, MetadataError> {
        match self.probe(key) {
            Ok(found) => Ok(found.is_some()),
            Err(LoadError::Broken(_)) => Ok(true),
            Err(LoadError::Store(error)) => Err(error),
        }
    }

    /// Whether the store denied this requested document.
    pub(super) fn is_hidden(&self, key: &str) -> bool {
        self.failed.get(key).is_some_and(is_denied)
    }

    /// The error if no document was found: there is no dataset, or access is denied.
    pub(super) fn nothing(&mut self) -> MetadataError {
        match self.failed.shift_remove_index(0) {
            Some((key, source)) => MetadataError::Denied { key, source },
            None => MetadataError::NotADataset,
        }
    }

    /// Announces that the content of groups will be requested.
    pub(super) fn enter(&mut self, groups: &[String]) -> Result<(), MetadataError> {
        for path in groups {
            let prefix = path.trim_matches('/');
            let refused = |source| MetadataError::Read { key: path.clone(), source };
            self.source.enter(prefix).map_err(refused)?;
        }
        Ok(())
    }

    /// Adds to the number of arrays and groups, which is limited because symbolic links can multiply them.
    pub(super) fn count(&mut self, group: &str, members: usize) -> Result<(), MetadataError> {
        self.members = self.members.saturating_add(members);
        if self.members > limits::MEMBERS {
            let reason = format!(
                "the dataset has more than {} arrays and groups, which is the limit",
                limits::MEMBERS
            );
            return Err(MetadataError::Metadata { key: group.to_owned(), reason });
        }
        Ok(())
    }

    /// Lists the content of groups, all together.
    pub(super) fn list(&mut self, prefixes: &[&str]) -> Result<(), MetadataError> {
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

    /// The names directly below a group that are not hidden, sorted by their bytes.
    pub(super) fn children(&mut self, prefix: &str) -> Result<Vec<String>, MetadataError> {
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
            let reason = format!("it has {} children, the limit is {}", names.len(), limits::CHILDREN);
            return Err(MetadataError::Metadata { key: prefix.to_owned(), reason });
        }
        Ok(names.into_iter().filter(|name| !name.starts_with('.') && !name.is_empty()).collect())
    }

    pub(super) fn warn(&mut self, at: &str, text: impl Into<String>) {
        self.warnings.push(Warning { at: at.to_owned(), text: text.into() });
    }
}

const NO_OBJECT: JsonError = JsonError::Syntax { at: 0, expected: "an object" };

fn parse(key: &str, bytes: &[u8], warnings: &mut Vec<Warning>) -> Result<Object, JsonError> {
    let (len, most) = (bytes.len(), document::max_bytes(key));
    if len > most {
        return Err(JsonError::TooLarge { len, most });
    }
    let parsed = json::parse(bytes)?;
    warnings.extend(parsed.duplicates.into_iter().map(|name| Warning {
        at: key.to_owned(),
        text: format!("the key {name:?} occurs twice in one object; the last value is used"),
    }));
    match parsed.value {
        Json::Object(object) => Ok(object),
        _ => Err(NO_OBJECT),
    }
}

fn is_denied(error: &SourceError) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Denied { .. }))
}

fn is_service(error: &SourceError) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Service { .. }))
}

fn not_listed(prefix: &str, source: SourceError) -> MetadataError {
    match source.downcast_ref() {
        Some(StoreError::Denied { .. } | StoreError::Unsupported { .. }) => {
            MetadataError::NotListed { group: format!("/{prefix}"), source }
        }
        _ => MetadataError::Read { key: prefix.to_owned(), source },
    }
}

fn child_of<'k>(prefix: &str, key: &'k str) -> Option<&'k str> {
    let rest = if prefix.is_empty() { key } else { key.strip_prefix(prefix)?.strip_prefix('/')? };
    rest.split_once('/').map(|(name, _)| name)
}
