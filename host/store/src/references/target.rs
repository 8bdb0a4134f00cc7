//! The objects that references point into.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::error::StoreError;
use crate::key::KeyBuf;
use crate::store::Store;

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
}

/// An object that references point into; opened when it is first read.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: Box<str>,
    pub(super) opened: OnceLock<(Arc<dyn Store>, KeyBuf)>,
}

impl Target {
    pub(super) fn new(url: String) -> Self {
        Self { url: url.into(), opened: OnceLock::new() }
    }

    /// Opens it with `open`, unless it is open.
    pub(super) fn open(&self, open: &dyn OpenTarget) -> Result<&(Arc<dyn Store>, KeyBuf), StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = open.open(&self.url)?;
        Ok(self.opened.get_or_init(|| opened))
    }
}
