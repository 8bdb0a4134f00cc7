//! Dimensions, and how variables name them.

use std::fmt;

/// A named length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The name within its group.
    pub name: String,
    /// The current length: the larger of what the group says and what its arrays have.
    pub len: u64,
    /// Whether it may grow.
    pub unlimited: bool,
    /// Whether the data do not name it (pure Zarr without `_ARRAY_DIMENSIONS`).
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
        f.write_str(&super::join_path(&self.group, &self.name))
    }
}
