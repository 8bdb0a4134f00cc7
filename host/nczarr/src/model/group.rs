//! Groups and their documents.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{Dimension, Variable, document_key};
use crate::attribute::Attribute;
use crate::error::{NczarrError, VariableFault};

/// A group: dimensions, attributes, variables and groups, each in the order of the metadata.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name; empty for the root.
    pub name: String,
    /// The path, `/` for the root.
    pub path: String,
    /// Dimensions defined here.
    pub dimensions: Vec<Dimension>,
    /// Attributes, without those that carry metadata (`_nczarr_*`, `_NCProperties`).
    pub attributes: Vec<Attribute>,
    /// Variables that can be read.
    pub variables: Vec<Variable>,
    /// Variables that are there but cannot be read, each with its reason.
    pub unreadable: Vec<Unreadable>,
    /// Groups inside.
    pub groups: Vec<Group>,
    /// The documents this was read from; empty for a new group.
    pub documents: GroupDocuments,
}

/// The documents of a group as they were read: ordered, numbers as written, unknown keys included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupDocuments {
    /// `.zgroup`
    pub zgroup: Option<Arc<Map<String, Json>>>,
    /// `.zattrs`
    pub zattrs: Option<Arc<Map<String, Json>>>,
    /// `zarr.json` of version 3, with the attributes in it
    pub zarr_json: Option<Arc<Map<String, Json>>>,
}

/// A variable that cannot be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The name within its group.
    pub name: String,
    /// The path.
    pub path: String,
    /// Where it stands among the arrays of its group.
    pub position: usize,
    /// Why it cannot be read.
    pub fault: VariableFault,
}

impl Unreadable {
    /// The error of whoever asks for this variable.
    #[must_use]
    pub fn error(&self) -> NczarrError {
        NczarrError::Variable { path: self.path.clone(), source: self.fault.clone() }
    }
}

impl Group {
    pub(crate) fn new_root() -> Self {
        Self::new(String::new(), "/".to_owned())
    }

    pub(crate) fn new(name: String, path: String) -> Self {
        Self {
            name,
            path,
            dimensions: Vec::new(),
            attributes: Vec::new(),
            variables: Vec::new(),
            unreadable: Vec::new(),
            groups: Vec::new(),
            documents: GroupDocuments::default(),
        }
    }

    /// The dimension defined here under this name.
    #[must_use]
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// The attribute of this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The group of this name inside this one.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The variable of this name in this group.
    ///
    /// # Errors
    /// [`NczarrError::Variable`] for one that cannot be read, [`NczarrError::NotFound`].
    pub fn variable(&self, name: &str) -> Result<&Variable, NczarrError> {
        if let Some(variable) = self.variables.iter().find(|variable| variable.name == name) {
            return Ok(variable);
        }
        match self.unreadable.iter().find(|variable| variable.name == name) {
            Some(variable) => Err(variable.error()),
            None => Err(NczarrError::NotFound { kind: "variable", path: super::join_path(&self.path, name) }),
        }
    }

    /// The key of one of this group's documents, such as `g1/.zattrs`.
    #[must_use]
    pub fn key(&self, document: &str) -> String {
        document_key(&self.path, document)
    }

    /// Sets an attribute, in its place if there is one of that name.
    ///
    /// # Errors
    /// [`NczarrError::Name`] for a name that netCDF or NCZarr reserves.
    pub fn set_attribute(&mut self, attribute: Attribute) -> Result<(), NczarrError> {
        crate::attribute::set(&mut self.attributes, attribute)
    }
}
