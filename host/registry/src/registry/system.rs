//! Opens libraries by the system's loader.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::CodecType;

use super::opener::{Opened, Opener};
use crate::load::{self, FilterHalf, ForeignCodec, JsonHalf, LoadError, RecordError};
use crate::lock::{Lock, LockError};

/// The system's loader.
#[derive(Debug, Clone, Copy)]
pub(super) struct System<'a> {
    /// The list that has to admit a library, if one is configured.
    pub(super) lock: Option<&'a Result<Lock, LockError>>,
}

impl Opener for System<'_> {
    type Hdf5 = Arc<dyn FilterHalf>;
    type Nczarr = Arc<dyn JsonHalf>;

    fn open(&self, path: &Path) -> Result<Opened<Self::Hdf5, Self::Nczarr>, String> {
        let lock = self.lock.map(|lock| lock.as_ref().map_err(unusable)).transpose()?;
        let library = load::open_listed(path, lock).map_err(|error| match error {
            LoadError::Unreadable(source) => format!("cannot be read: {source}"),
            other => with_sources(&other),
        })?;
        let mut refused = Vec::new();
        let mut keep = |part: &str, error: RecordError| refused.push(format!("{part}: {error}"));
        let natives = library.native().unwrap_or_else(|error| {
            keep("native face", error);
            Vec::new()
        });
        let hdf5 = library.hdf5().and_then(|half| half.map_err(|error| keep("HDF5 half", error)).ok());
        let hdf5 = hdf5.map(|half| Arc::new(half) as Arc<dyn FilterHalf>);
        let nczarr = library
            .codecs()
            .into_iter()
            .filter_map(|half| half.map_err(|error| keep("codec half", error)).ok())
            .map(|half| Arc::new(half) as Arc<dyn JsonHalf>)
            .next();
        let defaults = library
            .default_codecs()
            .into_iter()
            .filter_map(|half| half.map_err(|error| keep("default codec half", error)).ok())
            .map(|half| Arc::new(half) as Arc<dyn JsonHalf>)
            .collect();
        let natives = natives.into_iter().map(|codec| Arc::new(codec) as Arc<dyn CodecType>).collect();
        Ok(Opened { natives, hdf5, nczarr, defaults, bound: Some(library.bound().clone()), refused })
    }

    fn hdf5(&self, half: &Self::Hdf5) -> (u32, String) {
        (half.facts().id, half.facts().name.clone())
    }

    fn nczarr(&self, half: &Self::Nczarr) -> (u32, String) {
        (half.facts().filter_id, half.facts().codec_id.clone())
    }

    fn join(&self, hdf5: &Self::Hdf5, nczarr: Option<&Self::Nczarr>) -> Result<Arc<dyn CodecType>, String> {
        // Lending is the registry's own business (`lent.rs`).
        Ok(Arc::new(ForeignCodec::new(Some(hdf5.clone()), nczarr.cloned())))
    }
}

/// Without its list no plugin is used.
pub(super) fn unusable(error: &LockError) -> String {
    format!("the list of plugins that may be used is of no use: {}", with_sources(error))
}

/// An error with what it is due to, on one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
