//! Opens libraries by the system's loader.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::CodecType;

use super::loader::{Loader, Opened};
use super::test_open::TestOpen;
use crate::allow_list::{AllowList, AllowListError};
use crate::error::with_sources;
use crate::isolate::{self, Isolation, Selected, Which};
use crate::load::{self, FilterFunction, ForeignCodec, JsonTranslator, LoadError, RecordError};
use crate::symbols::Symbols;

/// The system's loader.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemLoader<'a> {
    /// The list that has to admit a library, if one is configured.
    pub(super) allow_list: Option<&'a Result<AllowList, AllowListError>>,
    /// The libraries that are not opened in this process.
    pub(super) isolation: &'a Isolation,
    /// Sees to it that the others do not end this process.
    pub(super) test_open: &'a TestOpen<'a>,
}

/// A library with its codecs.
type Loaded = Opened<Arc<dyn FilterFunction>, Arc<dyn JsonTranslator>>;

impl Loader for SystemLoader<'_> {
    type Hdf5 = Arc<dyn FilterFunction>;
    type Nczarr = Arc<dyn JsonTranslator>;

    fn open(&self, path: &Path, symbols: &Symbols) -> Result<Loaded, String> {
        let allow_list = self.allow_list.map(|list| list.as_ref().map_err(unusable)).transpose()?;
        let here = || self.test_open.guard(path, symbols, allow_list, || here(path, symbols, allow_list));
        let exports = &symbols.exports;
        match &self.isolation.which {
            Which::None => here(),
            Which::Foreign => {
                // The native face runs in this process. If it cannot be used, the C faces are used, from a worker.
                if exports.has_native()
                    && let opened = here()
                    && opened.as_ref().is_ok_and(|opened| !opened.natives.is_empty())
                {
                    return opened;
                }
                isolated(path, self.isolation, allow_list)
            }
            Which::Only(selected) if selected.iter().any(|selected| selected.is_file(path)) => {
                isolated(path, self.isolation, allow_list)
            }
            Which::Only(selected) => {
                // The meaning of a number is known only when the library is open, which may be too late in this
                // process.
                let ids = || selected.iter().filter_map(Selected::id);
                let has_c_faces = exports.has_hdf5() || exports.has_codec() || exports.has_codec_defaults();
                if has_c_faces && ids().next().is_some() {
                    let opened = isolated(path, self.isolation, allow_list)?;
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
        // Lending is the registry's own business (`borrowed_json.rs`).
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
fn isolated(path: &Path, isolation: &Isolation, allow_list: Option<&AllowList>) -> Result<Loaded, String> {
    let isolate::IsolatedLibrary {
        natives,
        filter,
        codec,
        defaults,
        hdf5_provider,
        refused,
        version,
        interface,
    } = isolate::open(path, isolation, allow_list)?;
    if natives > 0 && filter.is_none() && codec.is_none() && defaults.is_empty() {
        return Err(
            "it has only a native face, which worker processes do not support; do not isolate it".to_owned()
        );
    }
    Ok(Opened {
        natives: Vec::new(),
        hdf5: filter,
        nczarr: codec,
        defaults,
        hdf5_provider,
        version,
        interface,
        isolated: true,
        refused,
    })
}

/// Opens a library in this process.
fn here(path: &Path, symbols: &Symbols, allow_list: Option<&AllowList>) -> Result<Loaded, String> {
    let library = load::open_inspected(path, symbols, allow_list).map_err(|error| match error {
        LoadError::Unreadable(source) => format!("cannot be read: {source}"),
        other => with_sources(&other),
    })?;
    let mut refused = Vec::new();
    let mut keep = |part: &str, error: RecordError| refused.push(format!("{part}: {error}"));
    let natives = library.native().unwrap_or_else(|error| {
        keep("native face", error);
        Vec::new()
    });
    let hdf5 = library.hdf5().and_then(|half| half.map_err(|error| keep("HDF5 filter", error)).ok());
    let hdf5 = hdf5.map(|half| Arc::new(half) as Arc<dyn FilterFunction>);
    let nczarr = library
        .codecs()
        .into_iter()
        .filter_map(|half| half.map_err(|error| keep("NCZarr codec", error)).ok())
        .map(|half| Arc::new(half) as Arc<dyn JsonTranslator>)
        .next();
    let defaults = library
        .default_codecs()
        .into_iter()
        .filter_map(|half| half.map_err(|error| keep("default NCZarr codec", error)).ok())
        .map(|half| Arc::new(half) as Arc<dyn JsonTranslator>)
        .collect();
    let natives = natives.into_iter().map(|codec| Arc::new(codec) as Arc<dyn CodecType>).collect();
    Ok(Opened {
        natives,
        hdf5,
        nczarr,
        defaults,
        hdf5_provider: Some(library.hdf5_provider().clone()),
        version: library.version().cloned(),
        interface: library.interface().cloned(),
        isolated: false,
        refused,
    })
}

/// Without its list no plugin is used.
pub(super) fn unusable(error: &AllowListError) -> String {
    format!("cannot use the plugin allow-list: {}", with_sources(error))
}
