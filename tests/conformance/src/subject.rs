//! An opened library and what it offers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz_codec::CodecType;
use ncz_registry::load::{self, Hdf5Filter, Library, LoadError, NativeCodec, NczarrCodec, RecordError};

use crate::check::Target;

/// An opened library and what it offers, good and bad.
#[derive(Debug)]
pub struct Subject {
    /// Its path.
    pub path: PathBuf,
    /// The library.
    pub library: Arc<Library>,
    /// Its HDF5 filter, if it exports one.
    pub hdf5: Option<Result<Hdf5Filter, RecordError>>,
    /// The NCZarr codec of that filter, if it exports one.
    pub codec: Option<Result<NczarrCodec, RecordError>>,
    /// NCZarr codecs for the filters of other libraries.
    pub defaults: Vec<Result<NczarrCodec, RecordError>>,
    /// Its native codecs; empty if it has none.
    pub native: Result<Vec<NativeCodec>, RecordError>,
}

impl Subject {
    /// Opens the library, which runs code of it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let library = load::open(path)?;
        let hdf5 = library.hdf5();
        let codec = library.codecs().into_iter().next();
        let defaults = library.default_codecs();
        let native = library.native();
        Ok(Self { path: path.to_owned(), library, hdf5, codec, defaults, native })
    }

    /// Everything in it that can be called.
    pub fn targets(&self) -> Vec<Target> {
        let hdf5 = self.hdf5().map(|half| Target::Hdf5(half.id()));
        let codecs = self.codecs().map(|half| Target::Codec(half.codec_id().to_owned()));
        let native = self.native().iter().map(|codec| Target::Native(codec.info().name.to_string()));
        let mut targets: Vec<_> =
            [Target::Library].into_iter().chain(hdf5).chain(codecs).chain(native).collect();
        // A library may give one codec by both of its entries.
        let mut seen = HashSet::new();
        targets.retain(|target| seen.insert(target.clone()));
        targets
    }

    /// The HDF5 filter, if its record is good.
    pub fn hdf5(&self) -> Option<&Hdf5Filter> {
        self.hdf5.as_ref()?.as_ref().ok()
    }

    /// The NCZarr codecs whose records are good: its own, then those for other libraries.
    pub fn codecs(&self) -> impl Iterator<Item = &NczarrCodec> {
        self.codec.iter().chain(&self.defaults).filter_map(|half| half.as_ref().ok())
    }

    /// The NCZarr codec that belongs to its own filter or, among the defaults, has the filter's id.
    pub fn codec_of(&self, filter_id: u32) -> Option<&NczarrCodec> {
        self.codecs().find(|half| half.filter_id() == filter_id)
    }

    /// The native codecs, if the table is good.
    pub fn native(&self) -> &[NativeCodec] {
        self.native.as_deref().unwrap_or_default()
    }

    /// The native codec with that filter id.
    pub fn native_of(&self, filter_id: u32) -> Option<&NativeCodec> {
        self.native().iter().find(|codec| codec.info().filter_id == Some(filter_id))
    }
}
