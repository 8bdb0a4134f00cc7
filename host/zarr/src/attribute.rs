//! Attributes in the JSON of metadata documents.

pub(crate) mod read;
pub(crate) mod write;
