//! The objects that references point into.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::error::StoreError;
use crate::key::KeyBuf;
use crate::store::{Stamp, Store};

/// Opens the objects that references point into.
pub trait OpenTarget: fmt::Debug + Send + Sync {
    /// Returns the store that holds the object at `url`, and its key there. `url` is as in the references: absolute, or
    /// relative to them.
    ///
    /// No object need exist there.
    ///
    /// # Errors
    /// The URL is not one of an object, or of a kind that is not supported.
    fn open(&self, url: &str) -> Result<(Arc<dyn Store>, KeyBuf), StoreError>;

    /// Whether an object that has changed since the references were written is refused.
    fn refuses_changed(&self) -> bool {
        true
    }
}

/// An object that references point into; opened when it is first read.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: Box<str>,
    /// What the object was when the references were written.
    pub(super) expected: Option<Stamp>,
    pub(super) opened: OnceLock<(Arc<dyn Store>, KeyBuf)>,
}

impl Target {
    pub(super) fn new(url: String, expected: Option<Stamp>) -> Self {
        Self { url: url.into(), expected, opened: OnceLock::new() }
    }

    /// Opens it with `open`, unless it is open, and checks that it has not changed. `references` names the references.
    pub(super) fn open(
        &self,
        references: &str,
        open: &dyn OpenTarget,
    ) -> Result<&(Arc<dyn Store>, KeyBuf), StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = open.open(&self.url)?;
        check(references, &self.url, self.expected.as_ref().filter(|_| open.refuses_changed()), &opened)?;
        Ok(self.opened.get_or_init(|| opened))
    }
}

/// Checks that an object is what it was. One that does not exist is an error when it is read.
pub(super) fn check(
    references: &str,
    url: &str,
    expected: Option<&Stamp>,
    (store, key): &(Arc<dyn Store>, KeyBuf),
) -> Result<(), StoreError> {
    let Some(expected) = expected else { return Ok(()) };
    let Some(found) = store.stamp(key.as_key())? else { return Ok(()) };
    let shown = |stamp: &Stamp| {
        let modified = stamp.modified.iter().map(|time| format!(", last changed {time} s after 1970"));
        let etag = stamp.etag.iter().map(|etag| format!(", ETag {etag}"));
        format!("{} bytes", stamp.length) + &modified.chain(etag).collect::<String>()
    };
    match expected.agrees(&found) {
        true => Ok(()),
        false => Err(StoreError::Stale {
            location: references.to_owned(),
            object: url.to_owned(),
            change: format!("expected {}, got {}", shown(expected), shown(&found)),
        }),
    }
}
