//! The interface between the registry and the code that opens libraries; the tests implement it with synthetic
//! libraries.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::CodecType;
use semver::Version;

use crate::load::Hdf5Provider;
use crate::symbols::Symbols;

/// Opens libraries and makes codecs from their parts.
pub(super) trait Loader {
    /// The HDF5 filter of a library.
    type Hdf5;
    /// An NCZarr codec of a library.
    type Nczarr;

    /// Opens a library, whose tables were read as `symbols`. Runs its constructors.
    fn open(&self, path: &Path, symbols: &Symbols) -> Result<Opened<Self::Hdf5, Self::Nczarr>, String>;

    /// The id and the name of an HDF5 filter.
    fn hdf5(&self, half: &Self::Hdf5) -> (u32, String);

    /// The id and the numcodecs name of an NCZarr codec.
    fn nczarr(&self, half: &Self::Nczarr) -> (u32, String);

    /// A codec that runs the HDF5 filter, and reads and writes JSON if there is an NCZarr codec.
    fn join(&self, hdf5: &Self::Hdf5, nczarr: Option<&Self::Nczarr>) -> Result<Arc<dyn CodecType>, String>;
}

/// The codecs of an open library.
pub(super) struct Opened<H, N> {
    /// The codecs of the native face.
    pub(super) natives: Vec<Arc<dyn CodecType>>,
    /// The HDF5 filter.
    pub(super) hdf5: Option<H>,
    /// The NCZarr codec.
    pub(super) nczarr: Option<N>,
    /// NCZarr codecs for filters of other libraries.
    pub(super) defaults: Vec<N>,
    /// The provider of libhdf5's functions for the library, if known.
    pub(super) hdf5_provider: Option<Hdf5Provider>,
    /// The version that it states.
    pub(super) version: Option<Version>,
    /// The version of the interface that its native face was built for.
    pub(super) interface: Option<Version>,
    /// Whether it was opened in a worker process, and not in this one.
    pub(super) isolated: bool,
    /// Parts that are refused, each with its reason.
    pub(super) refused: Vec<String>,
}
