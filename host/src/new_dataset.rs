//! A dataset that is to be made: its location, and with a hierarchy its writer.

use std::path::PathBuf;
use std::sync::Arc;

use ncz_model::{ContainerWriter, DataError, Hierarchy, Session};
use ncz_netcdf::NetcdfWriter;
use ncz_store::Store;
use ncz_zarr::Dataset;

/// The location of a dataset that is to be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum NewDataset {
    /// A dataset of Zarr or NCZarr in this store.
    Objects(Arc<dyn Store>),
    /// A netCDF file at this path; `overwrite` replaces a netCDF file that exists there.
    Netcdf {
        /// The path of the file.
        path: PathBuf,
        /// Whether a file that exists is replaced.
        overwrite: bool,
    },
}

impl NewDataset {
    /// Starts the dataset. `consolidated` writes consolidated metadata, and `resumes` continues a dataset that was not finished.
    pub(crate) fn begin(
        self,
        hierarchy: Hierarchy,
        session: Session,
        consolidated: bool,
        resumes: bool,
    ) -> Result<Box<dyn ContainerWriter>, DataError> {
        Ok(match self {
            Self::Objects(store) if resumes => {
                Box::new(Dataset::resume(store, hierarchy, session, consolidated)?)
            }
            Self::Objects(store) => Box::new(Dataset::create(store, hierarchy, session, consolidated)?),
            Self::Netcdf { path, .. } if resumes => {
                return Err(DataError::NotWritable {
                    store: path.display().to_string(),
                    reason: "a netCDF file cannot be resumed; start the copy again",
                });
            }
            Self::Netcdf { path, overwrite } => {
                Box::new(NetcdfWriter::create(&path, overwrite, hierarchy, session)?)
            }
        })
    }
}

impl From<Arc<dyn Store>> for NewDataset {
    fn from(store: Arc<dyn Store>) -> Self {
        Self::Objects(store)
    }
}

impl<S: Store + 'static> From<Arc<S>> for NewDataset {
    fn from(store: Arc<S>) -> Self {
        Self::Objects(store)
    }
}
