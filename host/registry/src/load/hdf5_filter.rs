//! The HDF5 filter of a library that runs in this process.

use std::fmt;
use std::sync::Arc;

use ncz_codec::abi::hdf5;

use super::Library;
use super::c_faces::FilterFacts;
use super::record::Hdf5Record;

/// An HDF5 filter of a library that runs in this process.
#[derive(Clone)]
pub struct Hdf5Filter {
    library: Arc<Library>,
    record: Hdf5Record,
}

impl Hdf5Filter {
    pub(super) fn new(library: Arc<Library>, record: Hdf5Record) -> Self {
        Self { library, record }
    }

    /// The library.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// The filter id, 1 to 65535.
    pub fn id(&self) -> u32 {
        self.record.facts.id
    }

    /// The name for people; may be empty.
    pub fn name(&self) -> &str {
        &self.record.facts.name
    }

    /// Whether the filter declares that it encodes.
    pub fn encodes(&self) -> bool {
        self.record.facts.encodes
    }

    /// Whether the filter declares that it decodes.
    pub fn decodes(&self) -> bool {
        self.record.facts.decodes
    }

    /// Whether the filter tests types before it runs.
    pub fn has_can_apply(&self) -> bool {
        self.record.facts.has_can_apply
    }

    /// Whether the filter makes working parameters of the user's.
    pub fn has_set_local(&self) -> bool {
        self.record.facts.has_set_local
    }

    pub(super) fn facts(&self) -> &FilterFacts {
        &self.record.facts
    }

    pub(super) fn filter(&self) -> hdf5::Filter {
        self.record.filter
    }

    pub(super) fn can_apply(&self) -> Option<hdf5::CanApply> {
        self.record.can_apply
    }

    pub(super) fn set_local_function(&self) -> Option<hdf5::SetLocal> {
        self.record.set_local
    }

    /// The record in the library's memory.
    pub(super) fn class(&self) -> *const hdf5::Class2 {
        self.record.class.0
    }

    /// Calls the filter function, exclusively unless the filter is known to be thread-safe. If `fails` is true
    /// for the result, the messages on the error stack are returned with it.
    pub(super) fn with_words<R>(
        &self,
        call: impl FnOnce() -> R,
        fails: impl FnOnce(&R) -> bool,
    ) -> (R, Vec<String>) {
        let library = &self.library;
        let _call = (!library.is_parallel(&self.record.facts)).then(|| library.one_call());
        library.forget_words();
        let result = call();
        let words = if fails(&result) { library.take_words() } else { Vec::new() };
        (result, words)
    }

    /// Returns the name for use in sentences, or the number if the name is empty.
    pub(super) fn title(&self) -> String {
        let name = self.record.facts.short_name();
        if name.is_empty() { self.id().to_string() } else { name.to_owned() }
    }
}

impl fmt::Debug for Hdf5Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hdf5Filter").field("id", &self.id()).field("library", &self.library).finish()
    }
}
