//! The chunk index of a variable of a classic file: ranges that are computed.

use ncz_model::{ChunkError, ChunkIndex, ChunkLocation, Extent};

use super::layout::Layout;

/// The chunks of a variable, as ranges of the file.
#[derive(Debug)]
pub(super) struct Ranges {
    pub(super) key: String,
    pub(super) layout: Layout,
}

impl ChunkIndex for Ranges {
    fn locate(&self, object: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        self.key.clone_into(&mut location.key);
        location.extent = self.layout.range(object).map_or(Extent::Missing, Extent::Range);
        location.filter_mask = 0;
        Ok(())
    }

    fn object_index(&self, _: &str) -> Option<Vec<u64>> {
        None
    }

    fn prefix(&self) -> &str {
        &self.key
    }

    fn has_neighbours(&self) -> bool {
        true
    }
}
