//! Opens libraries by the system's loader.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::CodecType;

use super::opener::{Opened, Opener};
use crate::load::{self, CodecHalf, ForeignCodec, Hdf5Half, LoadError, RecordError};

/// The system's loader.
#[derive(Debug, Clone, Copy)]
pub(super) struct System;

impl Opener for System {
    type Hdf5 = Hdf5Half;
    type Nczarr = CodecHalf;

    fn open(&self, path: &Path) -> Result<Opened<Hdf5Half, CodecHalf>, String> {
        let library = load::open(path).map_err(|error| match error {
            LoadError::Unreadable(source) => format!("cannot be read: {source}"),
            other => other.to_string(),
        })?;
        let mut refused = Vec::new();
        let mut keep = |part: &str, error: RecordError| refused.push(format!("{part}: {error}"));
        let natives = library.native().unwrap_or_else(|error| {
            keep("native face", error);
            Vec::new()
        });
        let hdf5 = library.hdf5().and_then(|half| half.map_err(|error| keep("HDF5 half", error)).ok());
        let nczarr = library
            .codecs()
            .into_iter()
            .filter_map(|half| half.map_err(|error| keep("codec half", error)).ok())
            .next();
        let defaults = library
            .default_codecs()
            .into_iter()
            .filter_map(|half| half.map_err(|error| keep("default codec half", error)).ok())
            .collect();
        let natives = natives.into_iter().map(|codec| Arc::new(codec) as Arc<dyn CodecType>).collect();
        Ok(Opened { natives, hdf5, nczarr, defaults, refused })
    }

    fn hdf5(&self, half: &Hdf5Half) -> (u32, String) {
        (half.id(), half.name().to_owned())
    }

    fn nczarr(&self, half: &CodecHalf) -> (u32, String) {
        (half.filter_id(), half.codec_id().to_owned())
    }

    fn join(&self, hdf5: &Hdf5Half, nczarr: Option<&CodecHalf>) -> Result<Arc<dyn CodecType>, String> {
        // Lending is the registry's own business (`lent.rs`).
        Ok(Arc::new(ForeignCodec::new(Some(hdf5.clone()), nczarr.cloned())))
    }
}
