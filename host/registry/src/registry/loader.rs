//! What the registry needs from the code that opens libraries; the tests open made-up ones.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::CodecType;
use semver::Version;

use crate::load::Hdf5Provider;
use crate::symbols::Symbols;

/// Opens libraries and makes codecs of their halves.
pub(super) trait Loader {
    /// The HDF5 half of a library.
    type Hdf5;
    /// A codec half of a library.
    type Nczarr;

    /// Opens a library, of which the tables say `symbols`. Runs its constructors.
    fn open(&self, path: &Path, symbols: &Symbols) -> Result<Opened<Self::Hdf5, Self::Nczarr>, String>;

    /// The id and the name of an HDF5 half.
    fn hdf5(&self, half: &Self::Hdf5) -> (u32, String);

    /// The id and the numcodecs name of a codec half.
    fn nczarr(&self, half: &Self::Nczarr) -> (u32, String);

    /// A codec that runs the HDF5 half, and reads and writes JSON if there is a codec half.
    fn join(&self, hdf5: &Self::Hdf5, nczarr: Option<&Self::Nczarr>) -> Result<Arc<dyn CodecType>, String>;
}

/// What a library offers once it is open.
pub(super) struct Opened<H, N> {
    /// The codecs of the native face.
    pub(super) natives: Vec<Arc<dyn CodecType>>,
    /// The HDF5 half.
    pub(super) hdf5: Option<H>,
    /// The codec half.
    pub(super) nczarr: Option<N>,
    /// Codec halves for filters of other libraries.
    pub(super) defaults: Vec<N>,
    /// Whom the library asks, if that is known.
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
