//! Metadata documents: from the keys of a store to a [`Hierarchy`](crate::Hierarchy), and back.

mod array;
mod consolidated;
mod dimensions;
mod loader;
mod read;
mod write;

pub use self::read::read;
pub use self::write::{consolidated_document, group_documents, variable_documents, write};

use crate::error::SourceError;

/// Where metadata documents come from. A store is plugged in here, which keeps this module free of I/O.
pub trait Documents {
    /// The content of a key such as `g1/.zattrs`; `None` if there is no such object.
    ///
    /// # Errors
    /// Whatever the store says.
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError>;

    /// The names right below a prefix (`""`, `g1/g2`): one segment each, in any order, objects and folders alike.
    ///
    /// # Errors
    /// Whatever the store says.
    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError>;
}

/// What to do with `.zmetadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConsolidatedPolicy {
    /// Read the documents, compare, and warn where `.zmetadata` differs. For local stores.
    #[default]
    Compare,
    /// Read `.zmetadata` alone; if there is none, the documents.
    Only,
    /// Do not look at it.
    Ignore,
}

/// How to read the metadata of a dataset.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// What to do with `.zmetadata`.
    pub consolidated: ConsolidatedPolicy,
    /// Read NCZarr data as pure Zarr, as netcdf-c does under `mode=zarr`.
    pub pure: bool,
    /// The name of the one variable where the store holds an array at its root; `data` if `None`.
    pub root_array_name: Option<String>,
}
