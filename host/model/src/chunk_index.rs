//! The chunk index of a variable: where the stored bytes of its chunks are.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::data_error::ChunkError;

/// Locates the stored bytes of a variable's chunks.
///
/// An *object* is what a store replaces as a whole: one chunk, or several chunks with an index of their own
/// ([`Sharding`](crate::Sharding)). The coordinates are those of the objects. [`Array::locate`](crate::Array::locate)
/// gives the location of a chunk inside such an object.
pub trait ChunkIndex: fmt::Debug + Send + Sync {
    /// Finds the object with these coordinates. `location` is overwritten; its memory is reused.
    ///
    /// # Errors
    /// The index cannot be read.
    fn locate(&self, object: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError>;

    /// The coordinates of the object with this key; `None` if the key is not of one object.
    fn object_index(&self, key: &str) -> Option<Vec<u64>>;

    /// The prefix of the keys of all objects, without a trailing slash; empty at the root of a store.
    fn prefix(&self) -> &str;

    /// The coordinates of all objects that are stored, if the index has a list of them; `None` if each has to be looked
    /// for. Objects whose extent is [`Extent::Object`] cannot be in such a list.
    fn stored(&self) -> Option<Vec<Vec<u64>>> {
        None
    }

    /// Whether chunks are ranges of the same objects, so that several can be read in one request.
    fn has_neighbours(&self) -> bool {
        false
    }

    /// Notes that the stored bytes of an object, which was written last, were made without these filters
    /// ([`ChunkLocation::filter_mask`]). Returns `false` if the format has no note of that, or there is no such object.
    fn note_skipped(&self, object: &[u64], filter_mask: u32) -> bool {
        let _ = (object, filter_mask);
        false
    }

    /// Whether the format can [note](Self::note_skipped) skipped filters.
    fn notes_skipped(&self) -> bool {
        false
    }
}

/// The location of the stored bytes of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkLocation {
    /// The key of the object that holds the bytes.
    pub key: String,
    /// The bytes of the object that belong to the chunk.
    pub extent: Extent,
    /// HDF5's filter mask: if bit `n` is set, stage `n` of the chain was not applied. 0 for Zarr.
    pub filter_mask: u32,
}

/// The bytes of an object that belong to a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// No bytes: the chunk was never written, and reads as fill.
    #[default]
    Missing,
    /// No bytes of an object: the chunk is stored in the index.
    Inline(Arc<[u8]>),
    /// The whole object, if it exists. Whether it exists is known only when it is read.
    Object,
    /// This range. Where the array ends within a chunk that has no codecs, and only its slowest dimension is cut, the range
    /// may end there too; the rest of the chunk is then fill.
    Range(Range<u64>),
}

impl ChunkLocation {
    /// Sets the location to a whole object, and returns its key, to be written.
    pub fn whole_object(&mut self) -> &mut String {
        self.extent = Extent::Object;
        self.filter_mask = 0;
        self.key.clear();
        &mut self.key
    }
}
