//! The dataset in memory: groups, dimensions, variables, attributes, and the documents they came from.

mod dimension;
mod group;
pub(crate) mod names;
mod new;
mod variable;

use std::fmt;

use ncz_codec::{Container, Dialect};

pub use self::dimension::{Dimension, DimensionRef};
pub use self::group::{Group, GroupDocuments, Unreadable};
pub use self::new::{NewFill, NewVariable, default_chunks};
pub use self::variable::{
    KeyEncoding, Order, ScalarForm, Separator, Sharding, Storage, Variable, VariableDocuments,
};

use crate::error::NczarrError;

/// How the metadata of a dataset are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Zarr version 2 without NCZarr's keys.
    Zarr2,
    /// NCZarr in one of its generations, all of them over Zarr version 2.
    Nczarr(Generation),
    /// Zarr version 3 without NCZarr's attributes.
    Zarr3,
    /// The draft of NCZarr over Zarr version 3 in netcdf-c's documents. Experimental: no release of netcdf-c
    /// reads or writes it.
    Nczarr3,
}

impl Format {
    /// What is written for new NCZarr datasets.
    pub const NCZARR: Self = Self::Nczarr(Generation::Attributes);

    /// Whether NCZarr's keys are there.
    #[must_use]
    pub fn is_nczarr(self) -> bool {
        matches!(self, Self::Nczarr(_) | Self::Nczarr3)
    }

    /// Whether the metadata are those of Zarr version 3.
    #[must_use]
    pub fn is_v3(self) -> bool {
        matches!(self, Self::Zarr3 | Self::Nczarr3)
    }

    /// How the metadata spell a codec.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        if self.is_v3() { Dialect::ZarrV3 } else { Dialect::Numcodecs }
    }

    /// What codecs are told of where they run.
    #[must_use]
    pub fn container(self) -> Container {
        match self {
            Self::Zarr2 => Container::ZarrV2,
            Self::Nczarr(_) => Container::NczarrV2,
            Self::Zarr3 | Self::Nczarr3 => Container::ZarrV3,
        }
    }
}

/// The generations of NCZarr metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// netcdf-c 4.8.0: objects of their own, `.nczarr .nczgroup .nczvar .nczattr`.
    Objects,
    /// netcdf-c 4.8.1 and 4.9.0: `_NCZARR_*` in `.zgroup` and `.zarray`.
    UpperCase,
    /// netcdf-c 4.9.1 and 4.9.2: `_nczarr_*` in `.zgroup` and `.zarray`.
    LowerCase,
    /// netcdf-c 4.9.3 and later: `_nczarr_*` in `.zattrs`. This one is written.
    Attributes,
}

/// Something in the metadata that a reader should know, though the dataset opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The path of the group or variable, or the key of the document.
    pub at: String,
    /// What was found and what was made of it.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)
    }
}

/// Consolidated metadata of a dataset: `.zmetadata`, or in version 3 `consolidated_metadata` in the root's `zarr.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Consolidated {
    /// There are none.
    #[default]
    Absent,
    /// They agree with the documents.
    Current,
    /// They differ from the documents, which were used.
    Stale,
    /// The store failed while they were read, so that it is not known whether they agree. The documents were used.
    Unread,
    /// They are all that was read.
    Only,
}

/// A whole dataset: its groups below the root, and what was noticed on reading.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// How the metadata are written down.
    pub format: Format,
    /// The root group; its path is `/`.
    pub root: Group,
    /// The `_NCProperties` of the root: who made the dataset.
    pub nc_properties: Option<String>,
    /// State of consolidated metadata.
    pub consolidated: Consolidated,
    /// Whether the store holds a single array at its root, presented as a group with one variable.
    pub root_array: bool,
    /// Whether new variables of version 2 name their dimensions in `_ARRAY_DIMENSIONS` too, for xarray and everybody
    /// who does not know NCZarr.
    pub xarray: bool,
    /// What a reader should know.
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
            consolidated: Consolidated::Absent,
            root_array: false,
            xarray: true,
            warnings: Vec::new(),
        }
    }

    /// The group at a path such as `/`, `/g1` or `g1/g2`.
    ///
    /// # Errors
    /// [`NczarrError::NotFound`].
    pub fn group(&self, path: &str) -> Result<&Group, NczarrError> {
        segments(path)
            .try_fold(&self.root, |group, name| group.groups.iter().find(|child| child.name == name))
            .ok_or_else(|| NczarrError::NotFound { kind: "group", path: path.to_owned() })
    }

    /// The group at a path, to be changed.
    ///
    /// # Errors
    /// [`NczarrError::NotFound`].
    pub fn group_mut(&mut self, path: &str) -> Result<&mut Group, NczarrError> {
        segments(path)
            .try_fold(&mut self.root, |group, name| group.groups.iter_mut().find(|child| child.name == name))
            .ok_or_else(|| NczarrError::NotFound { kind: "group", path: path.to_owned() })
    }

    /// The variable at a path such as `/g1/q` or `q`.
    ///
    /// # Errors
    /// [`NczarrError::Variable`] for one that cannot be read, [`NczarrError::NotFound`].
    pub fn variable(&self, path: &str) -> Result<&Variable, NczarrError> {
        let not_found = || NczarrError::NotFound { kind: "variable", path: path.to_owned() };
        let (group, name) = split_path(path);
        self.group(group).map_err(|_| not_found())?.variable(name)
    }

    /// The variable at a path, to be changed.
    ///
    /// # Errors
    /// As [`Hierarchy::variable`].
    pub fn variable_mut(&mut self, path: &str) -> Result<&mut Variable, NczarrError> {
        self.variable(path)?;
        let (group, name) = split_path(path);
        self.group_mut(group)?
            .variables
            .iter_mut()
            .find(|variable| variable.name == name)
            .ok_or_else(|| NczarrError::NotFound { kind: "variable", path: path.to_owned() })
    }

    /// The dimension that a variable refers to.
    #[must_use]
    pub fn dimension(&self, reference: &DimensionRef) -> Option<&Dimension> {
        self.group(&reference.group).ok()?.dimension(&reference.name)
    }

    /// The dimension that a variable refers to, to be changed.
    pub fn dimension_mut(&mut self, reference: &DimensionRef) -> Option<&mut Dimension> {
        let group = self.group_mut(&reference.group).ok()?;
        group.dimensions.iter_mut().find(|dimension| dimension.name == reference.name)
    }

    /// Finds a dimension as netCDF does: `name` in `group`, else in the groups around it, inside out.
    /// A name that starts with `/` is a path.
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

    /// The lengths that netCDF shows for a variable: those of its dimensions. The stored array may be
    /// shorter; what it lacks reads as fill.
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

/// The path of an object in a group.
pub(crate) fn join_path(group: &str, name: &str) -> String {
    if group == "/" { format!("/{name}") } else { format!("{group}/{name}") }
}

/// The key of a document in the group or array at `path`.
pub(crate) fn document_key(path: &str, document: &str) -> String {
    let prefix = path.trim_matches('/');
    if prefix.is_empty() { document.to_owned() } else { format!("{prefix}/{document}") }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// Splits `/g1/q` in group and name.
pub(crate) fn split_path(path: &str) -> (&str, &str) {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((group, name)) => (group, name),
        None => ("", path),
    }
}
