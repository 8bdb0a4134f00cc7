//! A variable of a file that is written.

use ncz_model::{Storage, Variable, product};

use super::encode::Dataspace;
use crate::user_layout::UserLayout;

/// A variable with what its header says.
#[derive(Debug)]
pub(super) struct PlannedVariable<'a> {
    pub(super) variable: &'a Variable,
    /// The message of its type.
    pub(super) datatype: Vec<u8>,
    /// The layout of its elements, if they are of a user-defined type.
    pub(super) layout: Option<UserLayout>,
    /// The bytes of an element.
    pub(super) element_bytes: u64,
    pub(super) shape: Vec<u64>,
    pub(super) max: Vec<u64>,
    /// The numbers of its dimensions.
    pub(super) dimensions: Vec<usize>,
    /// Of each filter its number, flags and parameters.
    pub(super) filters: Vec<(u16, u16, Vec<u32>)>,
}

impl PlannedVariable<'_> {
    pub(super) fn dataspace(&self) -> Dataspace {
        if self.shape.is_empty() {
            return Dataspace::Scalar;
        }
        Dataspace::Simple { shape: self.shape.clone(), max: self.max.clone() }
    }

    pub(super) fn is_chunked(&self) -> bool {
        !self.shape.is_empty() && self.variable.storage == Storage::Chunked
    }

    pub(super) fn is_compact(&self) -> bool {
        self.variable.storage == Storage::Compact
    }

    /// The bytes of all elements.
    pub(super) fn bytes(&self) -> Option<u64> {
        product(self.shape.iter().copied().chain([self.element_bytes]))
    }

    /// The bytes of a chunk before its filters.
    pub(super) fn chunk_bytes(&self) -> Option<u64> {
        product(self.variable.chunk_shape.iter().copied().chain([self.element_bytes]))
    }
}
