//! Events for people who ask what takes so long or looks so odd: target `ncz_nczarr`. Texts are made only if somebody
//! listens; nothing is said for a single chunk.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ncz_registry::chain::FilterChain;
use ncz_store::Store;
use tracing::{debug, error, info};

use crate::error::SourceError;
use crate::metadata::{Documents, EachDocument};
use crate::model::{Hierarchy, Variable};

/// The codecs of a variable were bound to its chunks.
pub(crate) fn bound(variable: &Variable, chain: &FilterChain) {
    debug!(
        target: "ncz_nczarr", variable = ?variable.path, codecs = %chain.details(), chunk_bytes = chain.chunk_len(),
        "codecs bound"
    );
}

/// A dataset was written.
pub(crate) fn finished(store: &dyn Store, hierarchy: &Hierarchy, took: Duration) {
    info!(
        target: "ncz_nczarr", place = %store, format = ?hierarchy.format, variables = hierarchy.variables().count(),
        ?took, "dataset finished"
    );
}

/// A dataset went away with changes.
pub(crate) fn dropped(store: &dyn Store) {
    error!(
        target: "ncz_nczarr", place = %store,
        "dataset dropped without finish(): changes that were not flushed, and all of a new dataset, are lost"
    );
}

/// Documents that count what they are asked.
pub(crate) struct Opening<D> {
    documents: D,
    start: Instant,
    read: AtomicUsize,
    listed: AtomicUsize,
    /// What is asked together counts once.
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
            target: "ncz_nczarr", place = %store, format = ?hierarchy.format,
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
