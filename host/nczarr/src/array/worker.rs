//! What one thread needs to move chunks between a store and memory.

use std::ops::Range;

use ncz_registry::chain::ChainScratch;
use ncz_store::{Key, ReadRange, StoreError, WriteMode};

use super::Array;
use super::region::Region;
use super::shard::ShardBuffers;
use crate::data_error::ChunkFault;
use crate::grid::Segment;
use crate::pool;

/// The buffers and codec contexts of one thread. Everything in it is used again from chunk to chunk,
/// so that after the first ones nothing is allocated.
#[derive(Debug, Default)]
pub struct Worker {
    pub(super) bench: Bench,
    /// Whether `bench` is of the worker's array. On a lane it is so only while the lane computes.
    pub(super) equipped: bool,
    pub(super) stored: Vec<u8>,
    /// Of the object that is worked on.
    pub(super) key: String,
    pub(super) index: Vec<u64>,
    pub(super) segments: Vec<Segment>,
    pub(super) source: Region,
    pub(super) target: Region,
    pub(super) shard: ShardBuffers,
}

/// What is needed to compute, not to wait: lanes share a few of them.
#[derive(Debug, Default)]
pub(super) struct Bench {
    pub(super) chain: ChainScratch,
    /// A whole decoded chunk, where it cannot be decoded in place.
    pub(super) chunk: Vec<u8>,
    /// What a lossy codec made of a chunk, and what is read of that.
    pub(super) encoded: Vec<u8>,
    pub(super) read: Vec<u8>,
}

/// A chunk that was encoded.
pub(super) enum Encoded {
    /// It is written; its length.
    Written(usize),
    /// It is in `stored`.
    Stored,
    /// It is this part of the caller's data.
    Given(Range<usize>),
}

impl Worker {
    /// Goes to the object at `index`.
    pub(super) fn set_key(&mut self, array: &Array, index: &[u64]) {
        index.clone_into(&mut self.index);
        self.set_own_key(array);
    }

    /// Makes the key of the object at the worker's own index.
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
        let (chunk, len) = (&mut self.bench.chunk, array.chain.chunk_len());
        if chunk.len() != len {
            chunk.clear();
            chunk.try_reserve_exact(len).map_err(|_| ChunkFault::Memory { len })?;
            chunk.resize(len, 0);
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
            return read_raw(array, &self.key, out);
        }
        if !self.load(array)? {
            return Ok(false);
        }
        array.compute(self, |worker| array.chain.decode(0, &mut worker.bench.chain, &worker.stored, out))?;
        Ok(true)
    }

    /// Reads what [`unpack`](Self::unpack) decodes; `false`: there is no such chunk.
    pub(super) fn fetch(&mut self, array: &Array) -> Result<bool, ChunkFault> {
        if !array.chain.is_empty() {
            return self.load(array);
        }
        let want = array.chain.chunk_len() as u64;
        let mut stored = std::mem::take(&mut self.stored);
        let found = array.store.read(self.parsed_key()?, ReadRange::All, want, &mut stored);
        self.stored = stored;
        match found {
            Ok(true) if self.stored.len() as u64 != want => {
                Err(ChunkFault::Length { want, got: self.stored.len() as u64 })
            }
            Err(StoreError::TooLarge { len: got, .. }) => Err(ChunkFault::Length { want, got }),
            other => Ok(other?),
        }
    }

    /// Decodes what was fetched into the worker's own chunk.
    pub(super) fn unpack(&mut self, array: &Array) -> Result<(), ChunkFault> {
        if array.chain.is_empty() {
            std::mem::swap(&mut self.stored, &mut self.bench.chunk);
            return Ok(());
        }
        self.reserve_chunk(array)?;
        let Bench { chain, chunk, .. } = &mut self.bench;
        Ok(array.chain.decode(0, chain, &self.stored, chunk)?)
    }

    /// Encodes the chunk at the worker's own index, for [`send`](Self::send). A lane keeps the result, so that others compute while it is
    /// written; elsewhere it is written at once, which saves a copy.
    pub(super) fn pack(&mut self, array: &Array, chunk: &[u8]) -> Result<Encoded, ChunkFault> {
        let Self { bench, stored, key, index, .. } = self;
        array.encode_chunk(
            bench,
            || index.clone(),
            chunk,
            |encoded| {
                let len = encoded.len();
                if !pool::in_lane() {
                    array.store.write(Key::parse(key)?, encoded, WriteMode::Replace)?;
                    return Ok(Encoded::Written(len));
                }
                stored.clear();
                stored.try_reserve(len).map_err(|_| ChunkFault::Memory { len })?;
                stored.extend_from_slice(encoded);
                Ok(Encoded::Stored)
            },
        )
    }

    /// The same with the worker's own chunk.
    pub(super) fn pack_own(&mut self, array: &Array) -> Result<Encoded, ChunkFault> {
        if array.chain.is_empty() {
            std::mem::swap(&mut self.stored, &mut self.bench.chunk);
            return Ok(Encoded::Stored);
        }
        let chunk = std::mem::take(&mut self.bench.chunk);
        let encoded = self.pack(array, &chunk);
        self.bench.chunk = chunk;
        encoded
    }

    /// Writes what was encoded, of the caller's `data`, as far as that is not done. Returns its length.
    pub(super) fn send(&self, array: &Array, encoded: Encoded, data: &[u8]) -> Result<usize, ChunkFault> {
        let stored = match encoded {
            Encoded::Written(len) => return Ok(len),
            Encoded::Stored => &self.stored,
            Encoded::Given(run) => &data[run],
        };
        self.store(array, stored)?;
        Ok(stored.len())
    }

    /// Encodes and writes a chunk; returns the stored length.
    pub(super) fn encode(&mut self, array: &Array, chunk: &[u8]) -> Result<usize, ChunkFault> {
        let encoded = match array.chain.is_empty() {
            true => Encoded::Given(0..chunk.len()),
            false => array.compute(self, |worker| worker.pack(array, chunk))?,
        };
        self.send(array, encoded, chunk)
    }

    /// Writes stored bytes as they are.
    pub(super) fn store(&self, array: &Array, stored: &[u8]) -> Result<(), ChunkFault> {
        Ok(array.store.write(self.parsed_key()?, stored, WriteMode::Replace)?)
    }
}

/// Reads a chunk that is stored as it is; `false`: there is none.
fn read_raw(array: &Array, key: &str, out: &mut [u8]) -> Result<bool, ChunkFault> {
    match array.store.read_into(Key::parse(key)?, 0, out)? {
        None => Ok(false),
        Some(read) if read.object_len == out.len() as u64 && read.filled == out.len() => Ok(true),
        Some(read) => Err(ChunkFault::Length { want: out.len() as u64, got: read.object_len }),
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
