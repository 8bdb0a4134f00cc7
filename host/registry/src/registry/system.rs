//! Opens libraries by the system's loader.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::CodecType;

use super::opener::{Opened, Opener};
use super::test_open::TestOpen;
use crate::error::with_sources;
use crate::isolate::{self, Isolation, Selected, Which};
use crate::load::{self, FilterHalf, ForeignCodec, JsonHalf, LoadError, RecordError};
use crate::lock::{Lock, LockError};
use crate::symbols::Symbols;

/// The system's loader.
#[derive(Debug, Clone, Copy)]
pub(super) struct System<'a> {
    /// The list that has to admit a library, if one is configured.
    pub(super) lock: Option<&'a Result<Lock, LockError>>,
    /// Which libraries are not opened in this process.
    pub(super) isolation: &'a Isolation,
    /// Sees to it that the others do not end this process.
    pub(super) test_open: &'a TestOpen<'a>,
}

/// A library with its halves.
type Loaded = Opened<Arc<dyn FilterHalf>, Arc<dyn JsonHalf>>;

impl Opener for System<'_> {
    type Hdf5 = Arc<dyn FilterHalf>;
    type Nczarr = Arc<dyn JsonHalf>;

    fn open(&self, path: &Path, symbols: &Symbols) -> Result<Loaded, String> {
        let lock = self.lock.map(|lock| lock.as_ref().map_err(unusable)).transpose()?;
        let here = || self.test_open.guard(path, symbols, lock, || here(path, lock));
        let exports = &symbols.exports;
        match &self.isolation.which {
            Which::None => here(),
            Which::Foreign => {
                // The native face runs in this process. Where it cannot be used the C faces are, from a worker.
                if exports.has_native()
                    && let opened = here()
                    && opened.as_ref().is_ok_and(|opened| !opened.natives.is_empty())
                {
                    return opened;
                }
                isolated(path, self.isolation, lock)
            }
            Which::Only(selected) if selected.iter().any(|selected| selected.is_file(path)) => {
                isolated(path, self.isolation, lock)
            }
            Which::Only(selected) => {
                // What a number stands for is known once the library is open, which may be too late in this process.
                let ids = || selected.iter().filter_map(Selected::id);
                let has_c_faces = exports.has_hdf5() || exports.has_codec() || exports.has_codec_defaults();
                if has_c_faces && ids().next().is_some() {
                    let opened = isolated(path, self.isolation, lock)?;
                    if ids().any(|id| opened.offers(id)) {
                        return Ok(opened);
                    }
                }
                here()
            }
        }
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

impl Loaded {
    /// Whether a C face of it has to do with the filter of this number.
    fn offers(&self, id: u32) -> bool {
        let mut codecs = self.nczarr.iter().chain(&self.defaults);
        self.hdf5.as_ref().is_some_and(|half| half.facts().id == id)
            || codecs.any(|half| half.facts().filter_id == id)
    }
}

/// Opens a library in a worker process.
fn isolated(path: &Path, isolation: &Isolation, lock: Option<&Lock>) -> Result<Loaded, String> {
    let isolate::Halves { natives, filter, codec, defaults, bound, refused } =
        isolate::open(path, isolation, lock)?;
    if natives > 0 && filter.is_none() && codec.is_none() && defaults.is_empty() {
        return Err(
            "it has a native face only, which worker processes do not serve; do not isolate it".to_owned()
        );
    }
    Ok(Opened { natives: Vec::new(), hdf5: filter, nczarr: codec, defaults, bound, isolated: true, refused })
}

/// Opens a library in this process.
fn here(path: &Path, lock: Option<&Lock>) -> Result<Loaded, String> {
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
    let bound = Some(library.bound().clone());
    Ok(Opened { natives, hdf5, nczarr, defaults, bound, isolated: false, refused })
}

/// Without its list no plugin is used.
pub(super) fn unusable(error: &LockError) -> String {
    format!("the list of plugins that may be used is of no use: {}", with_sources(error))
}
