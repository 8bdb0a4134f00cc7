//! Groups and their documents.

use std::sync::Arc;

use crate::json::Map;

use super::{Dimension, Variable, document_key};
use crate::attribute::Attribute;
use crate::error::{MetadataError, VariableError};
use crate::user_type::UserType;

/// A group: dimensions, attributes, variables and groups, each in the order of the metadata.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name; empty for the root.
    pub name: String,
    /// The path, `/` for the root.
    pub path: String,
    /// User-defined types of netCDF-4, those of values before those that have them as fields or elements.
    pub types: Vec<Arc<UserType>>,
    /// Dimensions defined here.
    pub dimensions: Vec<Dimension>,
    /// Attributes, without those that carry metadata (`_nczarr_*`, `_NCProperties`).
    pub attributes: Vec<Attribute>,
    /// Variables that can be read.
    pub variables: Vec<Variable>,
    /// Variables that exist but cannot be read, each with the reason.
    pub unreadable: Vec<Unreadable>,
    /// The groups inside this one.
    pub groups: Vec<Group>,
    /// The documents that the group was read from; empty for a new group.
    pub documents: GroupDocuments,
}

/// The documents of a group as they were read: in order, with the original text of numbers and with unknown keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupDocuments {
    /// `.zgroup`
    pub zgroup: Option<Arc<Map>>,
    /// `.zattrs`
    pub zattrs: Option<Arc<Map>>,
    /// `zarr.json` of version 3, which includes the attributes
    pub zarr_json: Option<Arc<Map>>,
}

/// A variable that cannot be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The name within its group.
    pub name: String,
    /// The path.
    pub path: String,
    /// Its position among the arrays of its group.
    pub position: usize,
    /// Why it cannot be read.
    pub reason: VariableError,
}

impl Unreadable {
    /// Returns the error of a request for this variable.
    #[must_use]
    pub fn error(&self) -> MetadataError {
        MetadataError::Variable { path: self.path.clone(), source: self.reason.clone() }
    }
}

impl Group {
    /// An empty root group.
    #[must_use]
    pub fn new_root() -> Self {
        Self::new(String::new(), "/".to_owned())
    }

    /// An empty group.
    #[must_use]
    pub fn new(name: String, path: String) -> Self {
        Self {
            name,
            path,
            types: Vec::new(),
            dimensions: Vec::new(),
            attributes: Vec::new(),
            variables: Vec::new(),
            unreadable: Vec::new(),
            groups: Vec::new(),
            documents: GroupDocuments::default(),
        }
    }

    /// The dimension of this name that this group defines.
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
    /// [`MetadataError::Variable`] if the variable cannot be read, [`MetadataError::NotFound`].
    pub fn variable(&self, name: &str) -> Result<&Variable, MetadataError> {
        if let Some(variable) = self.variables.iter().find(|variable| variable.name == name) {
            return Ok(variable);
        }
        match self.unreadable.iter().find(|variable| variable.name == name) {
            Some(variable) => Err(variable.error()),
            None => Err(MetadataError::NotFound {
                kind: "variable",
                path: crate::names::join_path(&self.path, name),
            }),
        }
    }

    /// The key of one of this group's documents, such as `g1/.zattrs`.
    #[must_use]
    pub fn key(&self, document: &str) -> String {
        document_key(&self.path, document)
    }

    /// Sets an attribute. An existing attribute of that name is replaced at its position.
    ///
    /// # Errors
    /// [`MetadataError::Name`] if netCDF or NCZarr reserves the name.
    pub fn set_attribute(&mut self, attribute: Attribute) -> Result<(), MetadataError> {
        crate::attribute::set(&mut self.attributes, attribute)
    }
}
