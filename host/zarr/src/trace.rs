//! Trace events, with the target `ncz_zarr`. Texts are made only if there is a subscriber; there are no events for
//! single chunks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ncz_model::{Hierarchy, SourceError};
use ncz_store::Store;
use tracing::{error, info};

use crate::metadata::{Documents, EachDocument};

/// A dataset was written.
pub(crate) fn finished(store: &dyn Store, hierarchy: &Hierarchy, took: Duration) {
    info!(
        target: "ncz_zarr", store = %store, format = ?hierarchy.format, variables = hierarchy.variables().count(),
        ?took, "dataset finished"
    );
}

/// A dataset was dropped with unsaved changes.
pub(crate) fn dropped(store: &dyn Store) {
    error!(
        target: "ncz_zarr", store = %store,
        "dataset dropped without finish(): changes that were not flushed, and all of a new dataset, are lost"
    );
}

/// A wrapper of documents that counts requests.
pub(crate) struct Opening<D> {
    documents: D,
    start: Instant,
    read: AtomicUsize,
    listed: AtomicUsize,
    /// Round trips: requests that are made together count once.
    rounds: AtomicUsize,
}

impl<D: Documents> Opening<D> {
    /// Starts to open a dataset.
    pub(crate) fn of(documents: D) -> Self {
        let (read, listed, rounds) = Default::default();
        Self { documents, start: Instant::now(), read, listed, rounds }
    }

    /// The dataset is open.
    pub(crate) fn done(&self, store: &dyn Store, hierarchy: &Hierarchy) {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        info!(
            target: "ncz_zarr", store = %store, format = ?hierarchy.format,
            variables = hierarchy.variables().count(), unreadable = hierarchy.unreadable().count(),
            consolidated = ?hierarchy.consolidated, documents = count(&self.read), listings = count(&self.listed),
            rounds = count(&self.rounds), took = ?self.start.elapsed(), "dataset opened"
        );
    }

    fn count(&self, what: &AtomicUsize, number: usize) {
        what.fetch_add(number, Ordering::Relaxed);
        self.rounds.fetch_add(1, Ordering::Relaxed);
    }
}

impl<D: Documents> Documents for Opening<D> {
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        self.count(&self.read, 1);
        self.documents.document(key)
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        self.count(&self.listed, 1);
        self.documents.children(prefix)
    }

    fn enter(&self, prefix: &str) -> Result<(), SourceError> {
        self.documents.enter(prefix)
    }

    fn documents(&self, keys: &[&str], each: &mut EachDocument<'_>) {
        self.count(&self.read, keys.len());
        self.documents.documents(keys, each);
    }

    fn all_children(&self, prefixes: &[&str]) -> Vec<Result<Vec<String>, SourceError>> {
        self.count(&self.listed, prefixes.len());
        self.documents.all_children(prefixes)
    }
}
