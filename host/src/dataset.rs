//! An open dataset of any format.

use std::ops::Deref;
use std::sync::Arc;

use ncz_model::json::Json;
use ncz_model::{
    Array, ChunkIndex, Container, DataError, Format, Hierarchy, Interrupted, Session, StringArray, UserArray,
    Variable,
};
use ncz_registry::chain::FilterChain;
use ncz_store::Store;

/// An open dataset of any format, for reading.
///
/// It is a [`Container`], whose methods it has: [`hierarchy`](Container::hierarchy), [`array`](Container::array),
/// [`strings`](Container::strings). To change a Zarr dataset, open it with
/// [`OpenOptions::open_zarr`](crate::OpenOptions::open_zarr).
#[derive(Debug)]
pub struct Dataset(Box<dyn Container>);

impl Dataset {
    /// A dataset of a format that is implemented elsewhere.
    #[must_use]
    pub fn new(container: impl Container + 'static) -> Self {
        Self(Box::new(container))
    }
}

impl Deref for Dataset {
    type Target = dyn Container;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Container for Dataset {
    fn hierarchy(&self) -> &Hierarchy {
        self.0.hierarchy()
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.0.store()
    }

    fn session(&self) -> &Session {
        self.0.session()
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        self.0.chain(variable)
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        self.0.chunks(variable)
    }

    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        self.0.agreed_filters(variable, format)
    }

    fn interrupted(&self) -> Result<Option<Interrupted>, DataError> {
        self.0.interrupted()
    }

    fn array(&self, path: &str) -> Result<Array, DataError> {
        self.0.array(path)
    }

    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        self.0.user_array(path)
    }

    fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        self.0.strings(path)
    }
}
