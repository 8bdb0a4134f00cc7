//! The dataset in memory: groups, dimensions, variables, attributes, and the documents they came from.

mod builder;
mod dimension;
mod group;
mod variable;

use std::fmt;

pub use self::builder::{NewFill, VariableBuilder, default_chunks};
pub use self::dimension::{Dimension, DimensionRef};
pub use self::group::{Group, GroupDocuments, Unreadable};
pub use self::variable::{
    KeyEncoding, Order, ScalarForm, Separator, Sharding, Storage, Variable, VariableDocuments,
};

use crate::dtype::Kind;
use crate::error::MetadataError;
use crate::fill::{FillText, FillValue, default_fill};
use crate::format::Format;

/// A warning about the metadata of a dataset that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The path of the group or variable, or the key of the document.
    pub at: String,
    /// The findings, and how they were interpreted.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)
    }
}

/// The state of consolidated metadata: `.zmetadata`, or in version 3 `consolidated_metadata` in the root's `zarr.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Consolidated {
    /// There are none.
    #[default]
    Absent,
    /// They agree with the documents.
    Current,
    /// They differ from the documents, which were used.
    Stale,
    /// The store failed while they were read, so it is not known whether they agree. The documents were used.
    Unread,
    /// Only they were read.
    Only,
}

/// What netCDF reports of an HDF5 file in its special attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hdf5Properties {
    /// The version of the superblock (`_SuperblockVersion`).
    pub superblock: u8,
    /// Whether the file has the marks of netCDF-4 (`_IsNetcdf4`).
    pub is_netcdf4: bool,
}

/// A whole dataset: its groups, and the warnings of reading it.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The metadata format.
    pub format: Format,
    /// The root group; its path is `/`.
    pub root: Group,
    /// The `_NCProperties` of the root: the software that made the dataset.
    pub nc_properties: Option<String>,
    /// What netCDF reports of an HDF5 file; `None` for other formats.
    pub hdf5: Option<Hdf5Properties>,
    /// The state of consolidated metadata.
    pub consolidated: Consolidated,
    /// Whether the store holds a single array at its root, presented as a group with one variable.
    pub root_array: bool,
    /// Whether new variables of version 2 also name their dimensions in `_ARRAY_DIMENSIONS`, for xarray and other
    /// programs that do not read NCZarr.
    pub xarray: bool,
    /// The warnings of reading.
    pub warnings: Vec<Warning>,
}

impl Hierarchy {
    /// An empty dataset.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            root: Group::new_root(),
            nc_properties: None,
            hdf5: None,
            consolidated: Consolidated::Absent,
            root_array: false,
            xarray: true,
            warnings: Vec::new(),
        }
    }

    /// The group at a path such as `/`, `/g1` or `g1/g2`.
    ///
    /// # Errors
    /// [`MetadataError::NotFound`].
    pub fn group(&self, path: &str) -> Result<&Group, MetadataError> {
        segments(path)
            .try_fold(&self.root, |group, name| group.groups.iter().find(|child| child.name == name))
            .ok_or_else(|| MetadataError::NotFound { kind: "group", path: path.to_owned() })
    }

    /// The group at a path, for changing it.
    ///
    /// # Errors
    /// [`MetadataError::NotFound`].
    pub fn group_mut(&mut self, path: &str) -> Result<&mut Group, MetadataError> {
        segments(path)
            .try_fold(&mut self.root, |group, name| group.groups.iter_mut().find(|child| child.name == name))
            .ok_or_else(|| MetadataError::NotFound { kind: "group", path: path.to_owned() })
    }

    /// The variable at a path such as `/g1/q` or `q`.
    ///
    /// # Errors
    /// [`MetadataError::Variable`] if the variable cannot be read, [`MetadataError::NotFound`].
    pub fn variable(&self, path: &str) -> Result<&Variable, MetadataError> {
        let not_found = || MetadataError::NotFound { kind: "variable", path: path.to_owned() };
        let (group, name) = split_path(path);
        self.group(group).map_err(|_| not_found())?.variable(name)
    }

    /// The variable at a path, for changing it.
    ///
    /// # Errors
    /// As for [`Hierarchy::variable`].
    pub fn variable_mut(&mut self, path: &str) -> Result<&mut Variable, MetadataError> {
        self.variable(path)?;
        let (group, name) = split_path(path);
        self.group_mut(group)?
            .variables
            .iter_mut()
            .find(|variable| variable.name == name)
            .ok_or_else(|| MetadataError::NotFound { kind: "variable", path: path.to_owned() })
    }

    /// The dimension that a variable refers to.
    #[must_use]
    pub fn dimension(&self, reference: &DimensionRef) -> Option<&Dimension> {
        self.group(&reference.group).ok()?.dimension(&reference.name)
    }

    /// The dimension that a variable refers to, for changing it.
    pub fn dimension_mut(&mut self, reference: &DimensionRef) -> Option<&mut Dimension> {
        let group = self.group_mut(&reference.group).ok()?;
        group.dimensions.iter_mut().find(|dimension| dimension.name == reference.name)
    }

    /// Finds a dimension as netCDF does: `name` in `group`, else in the enclosing groups, innermost first. A name that
    /// starts with `/` is a path.
    #[must_use]
    pub fn resolve_dimension(&self, group: &str, name: &str) -> Option<DimensionRef> {
        if name.starts_with('/') {
            let (group, name) = split_path(name);
            let group = self.group(group).ok()?;
            return group
                .dimension(name)
                .map(|_| DimensionRef { group: group.path.clone(), name: name.to_owned() });
        }
        let mut around = Some(&self.root);
        let mut found = None;
        let mut names = segments(group);
        while let Some(group) = around {
            if group.dimension(name).is_some() {
                found = Some(DimensionRef { group: group.path.clone(), name: name.to_owned() });
            }
            around = names.next().and_then(|name| group.groups.iter().find(|child| child.name == name));
        }
        found
    }

    /// The lengths that netCDF shows for a variable: the lengths of its dimensions. The stored array may be shorter;
    /// the elements beyond it read as fill.
    #[must_use]
    pub fn shape_of(&self, variable: &Variable) -> Vec<u64> {
        variable
            .dimensions
            .iter()
            .zip(&variable.shape)
            .map(|(reference, &stored)| {
                self.dimension(reference).map_or(stored, |dimension| dimension.len.max(stored))
            })
            .collect()
    }

    /// The value of the elements of a netCDF file that lie between the end of an array and those of its dimensions, if
    /// the variable has no fill value: netCDF's default of the type, also where nothing is filled (`NC_NOFILL`).
    #[must_use]
    pub fn fill_beyond(&self, variable: &Variable) -> Option<FillValue> {
        let is_number = matches!(variable.dtype.kind(), Kind::Int | Kind::UInt | Kind::Float);
        let is_short = || self.shape_of(variable) != variable.shape;
        if !self.format.is_netcdf() || variable.fill.is_some() || !is_number || !is_short() {
            return None;
        }
        FillValue::from_value(&default_fill(variable.nc_type?), &variable.dtype, FillText::Plain).ok()
    }

    /// All groups, the root first, each before its children.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        let mut waiting = vec![&self.root];
        std::iter::from_fn(move || {
            let group = waiting.pop()?;
            waiting.extend(group.groups.iter().rev());
            Some(group)
        })
    }

    /// All variables that can be read, group by group.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.groups().flat_map(|group| &group.variables)
    }

    /// All variables that cannot be read. A copy must refuse or report each of them.
    pub fn unreadable(&self) -> impl Iterator<Item = &Unreadable> {
        self.groups().flat_map(|group| &group.unreadable)
    }
}

/// The key of a document in the group or array at `path`.
#[must_use]
pub fn document_key(path: &str, document: &str) -> String {
    let prefix = path.trim_matches('/');
    if prefix.is_empty() { document.to_owned() } else { format!("{prefix}/{document}") }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// Splits `/g1/q` into group and name.
#[must_use]
pub fn split_path(path: &str) -> (&str, &str) {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((group, name)) => (group, name),
        None => ("", path),
    }
}
