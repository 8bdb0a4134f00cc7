//! What one thread needs to move chunks between a store and memory.

use ncz_registry::chain::{ChainScratch, FilterChain};
use ncz_store::{Key, ReadRange, StoreError, WriteMode};

use super::Array;
use super::region::Region;
use super::shard::ShardBuffers;
use crate::data_error::ChunkFault;
use crate::grid::Segment;

/// The buffers and codec contexts of one thread. Everything in it is used again from chunk to chunk,
/// so that after the first ones nothing is allocated.
#[derive(Debug)]
pub struct Worker {
    pub(super) chain: ChainScratch,
    pub(super) stored: Vec<u8>,
    /// Of the object that is worked on.
    pub(super) key: String,
    /// A whole decoded chunk, where it cannot be decoded in place.
    pub(super) chunk: Vec<u8>,
    pub(super) index: Vec<u64>,
    pub(super) segments: Vec<Segment>,
    pub(super) source: Region,
    pub(super) target: Region,
    pub(super) shard: ShardBuffers,
}

impl Worker {
    pub(super) fn new(chain: &FilterChain) -> Self {
        Self {
            chain: chain.scratch(),
            stored: Vec::new(),
            key: String::new(),
            chunk: Vec::new(),
            index: Vec::new(),
            segments: Vec::new(),
            source: Region::default(),
            target: Region::default(),
            shard: ShardBuffers::default(),
        }
    }

    /// Makes the key of the object at `index`.
    pub(super) fn set_key(&mut self, array: &Array, index: &[u64]) {
        array.keys.write(&mut self.key, index);
    }

    /// The same for the chunk at the worker's own index.
    pub(super) fn set_own_key(&mut self, array: &Array) {
        array.keys.write(&mut self.key, &self.index);
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn parsed_key(&self) -> Result<Key<'_>, ChunkFault> {
        Ok(Key::parse(&self.key)?)
    }

    /// Makes room for a decoded chunk.
    pub(super) fn reserve_chunk(&mut self, array: &Array) -> Result<(), ChunkFault> {
        let len = array.chain.chunk_len();
        if self.chunk.len() != len {
            self.chunk.clear();
            self.chunk.try_reserve_exact(len).map_err(|_| ChunkFault::Memory { len })?;
            self.chunk.resize(len, 0);
        }
        Ok(())
    }

    /// Reads the chunk's stored bytes; `false`: there is none.
    pub(super) fn load(&mut self, array: &Array) -> Result<bool, ChunkFault> {
        let most = array.chain.max_stored_len() as u64;
        let mut stored = std::mem::take(&mut self.stored);
        let found = self.read_all(array, most, &mut stored);
        self.stored = stored;
        found
    }

    /// Reads a whole object of at most this many bytes; `false`: there is none.
    pub(super) fn read_all(&self, array: &Array, most: u64, out: &mut Vec<u8>) -> Result<bool, ChunkFault> {
        match array.store.read(self.parsed_key()?, ReadRange::All, most, out) {
            Err(StoreError::TooLarge { len: got, limit: most, .. }) => {
                Err(ChunkFault::TooLong { got, most, chain: array.chain.to_string() })
            }
            other => Ok(other?),
        }
    }

    /// Reads and decodes the chunk into `out`; `false`: there is none.
    pub(super) fn decode(&mut self, array: &Array, out: &mut [u8]) -> Result<bool, ChunkFault> {
        if array.chain.is_empty() {
            return match array.store.read_into(Key::parse(&self.key)?, 0, out)? {
                None => Ok(false),
                Some(read) if read.object_len == out.len() as u64 && read.filled == out.len() => Ok(true),
                Some(read) => Err(ChunkFault::Length { want: out.len() as u64, got: read.object_len }),
            };
        }
        if !self.load(array)? {
            return Ok(false);
        }
        array.chain.decode(0, &mut self.chain, &self.stored, out)?;
        Ok(true)
    }

    /// Reads and decodes the chunk into the worker's own buffer; `false`: there is none.
    pub(super) fn decode_own(&mut self, array: &Array) -> Result<bool, ChunkFault> {
        self.reserve_chunk(array)?;
        let mut chunk = std::mem::take(&mut self.chunk);
        let found = self.decode(array, &mut chunk);
        self.chunk = chunk;
        found
    }

    /// Encodes and writes a chunk; returns the stored length.
    pub(super) fn encode(&mut self, array: &Array, chunk: &[u8]) -> Result<usize, ChunkFault> {
        let stored = array.chain.encode(&mut self.chain, chunk)?;
        array.store.write(Key::parse(&self.key)?, stored, WriteMode::Replace)?;
        Ok(stored.len())
    }

    /// Encodes and writes the worker's own buffer.
    pub(super) fn encode_own(&mut self, array: &Array) -> Result<usize, ChunkFault> {
        let chunk = std::mem::take(&mut self.chunk);
        let written = self.encode(array, &chunk);
        self.chunk = chunk;
        written
    }

    /// Writes stored bytes as they are.
    pub(super) fn store(&mut self, array: &Array, stored: &[u8]) -> Result<(), ChunkFault> {
        Ok(array.store.write(Key::parse(&self.key)?, stored, WriteMode::Replace)?)
    }
}

/// Decodes the stored bytes of a chunk into `out`.
pub(super) fn decode(
    array: &Array,
    scratch: &mut ChainScratch,
    stored: &[u8],
    out: &mut [u8],
) -> Result<(), ChunkFault> {
    if array.chain.is_empty() && stored.len() != out.len() {
        return Err(ChunkFault::Length { want: out.len() as u64, got: stored.len() as u64 });
    }
    Ok(array.chain.decode(0, scratch, stored, out)?)
}
