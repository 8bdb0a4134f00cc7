//! Documents as parsed objects: from the store, or from `.zmetadata`.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

use super::Documents;
use crate::error::{NczarrError, VariableFault};
use crate::json::{self, JsonError};
use crate::limits;
use crate::model::Warning;

/// What stood under each key that was looked at; `None` for keys that do not exist.
pub(super) type Seen = IndexMap<String, Option<Arc<Map<String, Json>>>>;

/// Reads documents and remembers them.
pub(super) struct Loader<'a> {
    source: &'a dyn Documents,
    /// The content of `.zmetadata`, if it is all that is read.
    only: Option<Map<String, Json>>,
    pub(super) seen: Seen,
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
        Self { source, only: None, seen: Seen::new(), warnings: Vec::new() }
    }

    /// From now on reads from these documents alone.
    pub(super) fn read_only_from(&mut self, documents: Map<String, Json>) {
        self.seen.clear();
        self.only = Some(documents);
    }

    /// The object under a key.
    pub(super) fn object(&mut self, key: &str) -> Result<Option<Arc<Map<String, Json>>>, LoadError> {
        if let Some(seen) = self.seen.get(key) {
            return Ok(seen.clone());
        }
        let object = match &mut self.only {
            // What was taken out is in `seen`; the names stay, for the children.
            Some(documents) => match documents.get_mut(key).map(Json::take) {
                None => None,
                Some(Json::Object(object)) => Some(Arc::new(object)),
                Some(_) => return Err(LoadError::Broken(NO_OBJECT)),
            },
            None => self.parsed(key)?,
        };
        self.seen.insert(key.to_owned(), object.clone());
        Ok(object)
    }

    /// The object under a key on which the whole dataset depends.
    pub(super) fn required(&mut self, key: &str) -> Result<Option<Arc<Map<String, Json>>>, NczarrError> {
        self.object(key).map_err(|error| error.of_dataset(key))
    }

    /// The names right below a group that are not hidden, sorted by their bytes.
    pub(super) fn children(&mut self, prefix: &str) -> Result<Vec<String>, NczarrError> {
        let names: BTreeSet<String> = match &self.only {
            Some(documents) => {
                documents.keys().filter_map(|key| child_of(prefix, key)).map(str::to_owned).collect()
            }
            None => {
                let error = |source| NczarrError::Read { key: prefix.to_owned(), source };
                self.source.children(prefix).map_err(error)?.into_iter().collect()
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

    fn parsed(&mut self, key: &str) -> Result<Option<Arc<Map<String, Json>>>, LoadError> {
        let error = |source| LoadError::Store(NczarrError::Read { key: key.to_owned(), source });
        let Some(bytes) = self.source.document(key).map_err(error)? else { return Ok(None) };
        let (len, most) = (bytes.len(), limits::document_bytes(key));
        if len > most {
            return Err(LoadError::Broken(JsonError::TooLarge { len, most }));
        }
        let parsed = json::parse(&bytes).map_err(LoadError::Broken)?;
        for name in parsed.duplicates {
            self.warn(key, format!("the key {name:?} stands twice in one object; the last value is used"));
        }
        match parsed.value {
            Json::Object(object) => Ok(Some(Arc::new(object))),
            _ => Err(LoadError::Broken(NO_OBJECT)),
        }
    }
}

const NO_OBJECT: JsonError = JsonError::Syntax { at: 0, expected: "an object" };

fn child_of<'k>(prefix: &str, key: &'k str) -> Option<&'k str> {
    let rest = if prefix.is_empty() { key } else { key.strip_prefix(prefix)?.strip_prefix('/')? };
    rest.split_once('/').map(|(name, _)| name)
}
