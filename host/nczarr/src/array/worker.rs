//! What one thread needs to move chunks between a store and memory.

use std::fmt::Write;

use ncz_registry::chain::{ChainScratch, FilterChain};
use ncz_store::{Key, ReadRange, StoreError, WriteMode};

use super::Array;
use super::region::Region;
use crate::data_error::ChunkFault;
use crate::grid::Segment;

/// The buffers and codec contexts of one thread. Everything in it is used again from chunk to chunk,
/// so that after the first ones nothing is allocated.
#[derive(Debug)]
pub struct Worker {
    chain: ChainScratch,
    stored: Vec<u8>,
    key: String,
    /// A whole decoded chunk, where it cannot be decoded in place.
    pub(super) chunk: Vec<u8>,
    pub(super) index: Vec<u64>,
    pub(super) segments: Vec<Segment>,
    pub(super) source: Region,
    pub(super) target: Region,
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
        }
    }

    /// Makes the key of the chunk at `index`: `path/0.1`, or `path/0` for a scalar.
    pub(super) fn set_key(&mut self, array: &Array, index: &[u64]) {
        set_key(&mut self.key, array, index);
    }

    /// The same for the chunk at the worker's own index.
    pub(super) fn set_own_key(&mut self, array: &Array) {
        set_key(&mut self.key, array, &self.index);
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn stored(&self) -> &[u8] {
        &self.stored
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
        match array.store.read(Key::parse(&self.key)?, ReadRange::All, most, &mut self.stored) {
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

fn set_key(key: &mut String, array: &Array, index: &[u64]) {
    key.clear();
    if !array.key.is_empty() {
        key.push_str(&array.key);
        key.push('/');
    }
    if index.is_empty() {
        key.push('0');
    }
    for (dimension, number) in index.iter().enumerate() {
        if dimension > 0 {
            key.push(array.separator.as_char());
        }
        // Writing to a String cannot fail.
        let _ = write!(key, "{number}");
    }
}
