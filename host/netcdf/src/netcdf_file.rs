//! netCDF files of every format.

use std::sync::Arc;

use ncz_model::json::Json;
use ncz_model::{
    Array, ChunkIndex, Container, DataError, Format, Hierarchy, MetadataError, Session, SourceError,
    StringArray, UserArray, Variable,
};
use ncz_registry::chain::FilterChain;
use ncz_store::{KeyBuf, Store};

use crate::classic::ClassicFile;
use crate::hdf5;
use crate::hdf5_file::Hdf5File;
use crate::source::Source;

/// A netCDF file, read by byte ranges: classic, or HDF5.
#[derive(Debug)]
pub enum NetcdfFile {
    /// CDF-1, CDF-2 or CDF-5.
    Classic(Box<ClassicFile>),
    /// HDF5, with or without what netCDF-4 adds.
    Hdf5(Box<Hdf5File>),
}

impl NetcdfFile {
    /// Opens the file with this key. Its first bytes tell its format.
    ///
    /// # Errors
    /// There is no such file, it is neither a classic netCDF file nor HDF5, it is damaged, or the store fails.
    pub fn open(store: Arc<dyn Store>, key: KeyBuf, session: Session) -> Result<Self, DataError> {
        let name = key.as_str().to_owned();
        let read = |source: SourceError| MetadataError::Read { key: name.clone(), source };
        let source = Source::open(store, key).map_err(|error| read(error.into()))?;
        let magic = source.read_up_to(0, 4, "the first bytes");
        let is_classic = !source.is_empty() && magic.map_err(|error| read(error.into()))?.starts_with(b"CDF");
        if is_classic {
            let file = ClassicFile::open(&source, session).map_err(|error| read(error.into()))?;
            return Ok(Self::Classic(Box::new(file)));
        }
        let file = Hdf5File::open(source, session).map_err(|error| read(error.into()))?;
        Ok(Self::Hdf5(Box::new(file)))
    }

    /// Whether the file with this key is a netCDF or HDF5 file.
    ///
    /// # Errors
    /// There is no such file, or the store fails.
    pub fn recognizes(store: Arc<dyn Store>, key: KeyBuf) -> Result<bool, DataError> {
        let name = key.as_str().to_owned();
        let read = |source: SourceError| MetadataError::Read { key: name.clone(), source };
        let source = Source::open(store, key).map_err(|error| read(error.into()))?;
        if source.is_empty() {
            return Ok(false);
        }
        let magic = source.read_up_to(0, 4, "the first bytes").map_err(|error| read(error.into()))?;
        if matches!(magic.as_slice(), [b'C', b'D', b'F', 1 | 2 | 5]) {
            return Ok(true);
        }
        Ok(hdf5::find(&source).map_err(|error| read(error.into()))?.is_some())
    }

    fn inner(&self) -> &dyn Container {
        match self {
            Self::Classic(file) => &**file,
            Self::Hdf5(file) => &**file,
        }
    }
}

impl Container for NetcdfFile {
    fn hierarchy(&self) -> &Hierarchy {
        self.inner().hierarchy()
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.inner().store()
    }

    fn session(&self) -> &Session {
        self.inner().session()
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        self.inner().chain(variable)
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        self.inner().chunks(variable)
    }

    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        self.inner().agreed_filters(variable, format)
    }

    fn array(&self, path: &str) -> Result<Array, DataError> {
        self.inner().array(path)
    }

    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        self.inner().user_array(path)
    }

    fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        self.inner().strings(path)
    }
}
