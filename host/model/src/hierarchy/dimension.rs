//! Dimensions, and references to them.

use std::fmt;

/// A named length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The name within its group.
    pub name: String,
    /// The current length: the largest of the length in the group and the lengths of its arrays.
    pub len: u64,
    /// Whether it is unlimited, so that it can grow.
    pub unlimited: bool,
    /// Whether it has no name in the data (pure Zarr without `_ARRAY_DIMENSIONS`).
    pub anonymous: bool,
}

/// The full name of a dimension: the group that defines it, and its name there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DimensionRef {
    /// Path of the group, `/` for the root.
    pub group: String,
    /// Name of the dimension.
    pub name: String,
}

impl fmt::Display for DimensionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::names::join_path(&self.group, &self.name))
    }
}
