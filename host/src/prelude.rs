//! What most programs use: `use ncz::prelude::*;`.

pub use ncz_model::{
    Array, Attribute, Element, Format, Hierarchy, NcType, Select, Slab, StringArray, VariableBuilder, s,
};
pub use ncz_registry::Registry;
#[cfg(feature = "ndarray")]
pub use ndarray::ArrayD;

pub use crate::{CreateOptions, Dataset, OpenOptions};
