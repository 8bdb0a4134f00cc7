//! The interface between a dataset and its format.
//!
//! A [`Container`] is a dataset in one format: Zarr, or a netCDF file. For each variable it has a [`ChunkIndex`], which
//! gives the location of the stored bytes of each chunk. [`Array`](crate::Array), and everything above it, reads
//! through these two traits.

use std::fmt;
use std::sync::Arc;

use ncz_registry::chain::FilterChain;
use ncz_store::Store;

use crate::array::Array;
use crate::chunk_index::ChunkIndex;
use crate::data_error::DataError;
use crate::format::Format;
use crate::growth::Interrupted;
use crate::hierarchy::{Hierarchy, Variable};
use crate::json::Json;
use crate::session::Session;
use crate::strings::StringArray;
use crate::user_array::UserArray;

/// A dataset in one format.
pub trait Container: fmt::Debug + Send + Sync {
    /// The groups, dimensions, variables and attributes.
    fn hierarchy(&self) -> &Hierarchy;

    /// The store that holds the chunks.
    fn store(&self) -> &Arc<dyn Store>;

    /// The codecs and threads.
    fn session(&self) -> &Session;

    /// Looks up the codecs of a variable and binds them to its chunks.
    ///
    /// # Errors
    /// A codec is not found, or the metadata do not fit it.
    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError>;

    /// Returns the chunk index of a variable.
    ///
    /// # Errors
    /// Its chunk index cannot be read.
    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError>;

    /// The codecs of a variable for metadata in `format`, in JSON that every reader reads alike.
    ///
    /// # Errors
    /// As [`chain`](Self::chain).
    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        let _ = format;
        Ok(variable.filters.clone())
    }

    /// Growth of the dataset that another program makes, or that was interrupted.
    ///
    /// # Errors
    /// The store fails, or its record of the growth cannot be read.
    fn interrupted(&self) -> Result<Option<Interrupted>, DataError> {
        Ok(None)
    }

    /// The data of a variable, by its path.
    ///
    /// # Errors
    /// There is no such variable, it cannot be read, or one of its codecs is not found.
    fn array(&self, path: &str) -> Result<Array, DataError> {
        let variable = self.hierarchy().variable(path)?;
        let shape = self.hierarchy().shape_of(variable);
        let chain = self.chain(variable)?;
        let array =
            Array::new(Arc::clone(self.store()), variable, shape, chain, self.session().pool.clone())?;
        let array = match self.hierarchy().fill_beyond(variable) {
            Some(fill) => array.with_fill(fill.bytes().to_vec()),
            None => array,
        };
        Ok(array.with_chunks(self.chunks(variable)?))
    }

    /// The data of a variable whose type is user-defined, by its path. Those of enumerations are integers, and read as
    /// an [`Array`] too.
    ///
    /// # Errors
    /// There is no such variable, it cannot be read, its type is not user-defined, or one of its codecs is not found.
    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        let variable = self.hierarchy().variable(path)?;
        Err(DataError::Unsupported {
            variable: variable.path.clone(),
            reason: "its type is not a user-defined type; read it as an array".to_owned(),
        })
    }

    /// The data of a variable whose elements are strings, by its path.
    ///
    /// # Errors
    /// There is no such variable, it cannot be read, its elements are not strings, or one of its codecs is not found.
    fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        let variable = self.hierarchy().variable(path)?;
        let shape = self.hierarchy().shape_of(variable);
        let chain = self.chain(variable)?;
        let strings =
            StringArray::new(Arc::clone(self.store()), variable, shape, chain, self.session().pool.clone())?;
        Ok(strings.with_chunks(self.chunks(variable)?))
    }
}
