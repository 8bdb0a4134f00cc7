//! The worker: the buffers that one thread needs to move chunks between a store and memory.

use std::ops::Range;

use ncz_registry::chain::ChainScratch;
use ncz_store::{Key, ReadRange, StoreError, WriteMode};

use super::Array;
use super::region::Region;
use super::shard::{self, ShardBuffers};
use crate::chunk_index::{ChunkLocation, Extent};
use crate::data_error::ChunkError;
use crate::grid::Segment;
use crate::pool;

/// The buffers and codec contexts of one thread. They are reused from chunk to chunk, so that nothing is allocated
/// after the first chunks.
#[derive(Debug, Default)]
pub struct Worker {
    pub(super) buffers: CodecBuffers,
    /// Whether `buffers` belongs to the worker's array. On an I/O thread this holds only while it computes.
    pub(super) has_buffers: bool,
    pub(super) stored: Vec<u8>,
    /// The location of the current chunk, or of the object of chunks.
    pub(super) location: ChunkLocation,
    pub(super) index: Vec<u64>,
    pub(super) segments: Vec<Segment>,
    pub(super) source: Region,
    pub(super) target: Region,
    pub(super) shard: ShardBuffers,
}

/// The buffers for encoding and decoding. Waiting threads do not need them, so I/O threads share a few.
#[derive(Debug, Default)]
pub(super) struct CodecBuffers {
    pub(super) chain: ChainScratch,
    /// A whole decoded chunk, if it cannot be decoded in place.
    pub(super) chunk: Vec<u8>,
    /// A chunk that a lossy codec encoded, and that chunk decoded again.
    pub(super) encoded: Vec<u8>,
    pub(super) read: Vec<u8>,
}

/// The location of an encoded chunk.
pub(super) enum Encoded {
    /// It is written and has this length.
    Written(usize),
    /// It is in `stored`.
    Stored,
    /// It is this part of the caller's data.
    Given(Range<usize>),
}

impl Worker {
    /// Sets the worker to the object at `index`.
    pub(super) fn go_to(&mut self, array: &Array, index: &[u64]) -> Result<(), ChunkError> {
        index.clone_into(&mut self.index);
        self.find(array)
    }

    /// Locates the object at the worker's own index.
    pub(super) fn find(&mut self, array: &Array) -> Result<(), ChunkError> {
        array.chunks.locate(&self.index, &mut self.location)
    }

    pub(super) fn key(&self) -> &str {
        &self.location.key
    }

    pub(super) fn parsed_key(&self) -> Result<Key<'_>, ChunkError> {
        Ok(Key::parse(&self.location.key)?)
    }

    /// Allocates the buffer of a decoded chunk.
    pub(super) fn reserve_chunk(&mut self, array: &Array) -> Result<(), ChunkError> {
        let (chunk, len) = (&mut self.buffers.chunk, array.chain.chunk_len());
        if chunk.len() != len {
            chunk.clear();
            chunk.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
            chunk.resize(len, 0);
        }
        Ok(())
    }

    /// Reads the chunk's stored bytes; returns `false` if there is no such chunk.
    pub(super) fn load(&mut self, array: &Array) -> Result<bool, ChunkError> {
        let most = array.chain.max_stored_len() as u64;
        let mut stored = std::mem::take(&mut self.stored);
        let found = self.read_all(array, most, &mut stored);
        self.stored = stored;
        found
    }

    /// Reads the stored bytes at the worker's location, at most `most`; returns `false` if there are none.
    pub(super) fn read_all(&self, array: &Array, most: u64, out: &mut Vec<u8>) -> Result<bool, ChunkError> {
        let too_long = |got| ChunkError::TooLong { got, most, chain: array.chain.to_string() };
        let room = |got: u64, out: &mut Vec<u8>| {
            if got > most {
                return Err(too_long(got));
            }
            // An encoded chunk has at most `most` bytes, which fit in memory.
            shard::resize(out, got as usize)
        };
        match &self.location.extent {
            Extent::Missing => Ok(false),
            Extent::Inline(bytes) => {
                room(bytes.len() as u64, out)?;
                out.copy_from_slice(bytes);
                Ok(true)
            }
            Extent::Object => match array.store.read(self.parsed_key()?, ReadRange::All, most, out) {
                Err(StoreError::TooLarge { len: got, .. }) => Err(too_long(got)),
                other => Ok(other?),
            },
            Extent::Range(range) => {
                let want = range.end.saturating_sub(range.start);
                room(want, out)?;
                let read = array.store.read_into(self.parsed_key()?, range.start, out)?;
                match read.map_or(0, |read| read.filled as u64) {
                    got if got == want => {}
                    got => return Err(ChunkError::Length { want, got }),
                }
                // The last part of a block that no grid divides: a chunk has room for more rows than there are.
                if array.chain.is_empty() && Some(want) == array.stored_prefix(&self.index) {
                    shard::resize(out, array.chain.chunk_len())?;
                }
                Ok(true)
            }
        }
    }

    /// Reads and decodes the chunk into `out`; returns `false` if there is no such chunk.
    pub(super) fn decode(&mut self, array: &Array, out: &mut [u8]) -> Result<bool, ChunkError> {
        if array.chain.is_empty() && self.location.extent == Extent::Object {
            return read_raw(array, &self.location.key, out);
        }
        if !self.load(array)? {
            return Ok(false);
        }
        array.compute(self, |worker| {
            decode(array, worker.location.filter_mask, &mut worker.buffers.chain, &worker.stored, out)
        })?;
        Ok(true)
    }

    /// Reads the bytes that [`unpack`](Self::unpack) decodes; returns `false` if there is no such chunk.
    pub(super) fn fetch(&mut self, array: &Array) -> Result<bool, ChunkError> {
        if !array.chain.is_empty() {
            return self.load(array);
        }
        let want = array.chain.chunk_len() as u64;
        let mut stored = std::mem::take(&mut self.stored);
        let found = self.read_all(array, want, &mut stored);
        self.stored = stored;
        match found {
            Ok(true) if self.stored.len() as u64 != want => {
                Err(ChunkError::Length { want, got: self.stored.len() as u64 })
            }
            Err(ChunkError::TooLong { got, .. }) => Err(ChunkError::Length { want, got }),
            other => other,
        }
    }

    /// Decodes the fetched bytes into the worker's own chunk.
    pub(super) fn unpack(&mut self, array: &Array) -> Result<(), ChunkError> {
        if array.chain.is_empty() {
            std::mem::swap(&mut self.stored, &mut self.buffers.chunk);
            return Ok(());
        }
        self.reserve_chunk(array)?;
        let CodecBuffers { chain, chunk, .. } = &mut self.buffers;
        decode(array, self.location.filter_mask, chain, &self.stored, chunk)
    }

    /// Encodes the chunk at the worker's own index, for [`send`](Self::send). An I/O thread keeps the result, so that
    /// other threads compute while it is written; any other thread writes it at once, which saves a copy.
    pub(super) fn pack(&mut self, array: &Array, chunk: &[u8]) -> Result<Encoded, ChunkError> {
        let Self { buffers, stored, location, index, .. } = self;
        array.encode_chunk(
            buffers,
            || index.clone(),
            chunk,
            |encoded| {
                let len = encoded.len();
                if !pool::on_io_thread() {
                    array.store.write(object_key(location)?, encoded, WriteMode::Replace)?;
                    return Ok(Encoded::Written(len));
                }
                stored.clear();
                stored.try_reserve(len).map_err(|_| ChunkError::Memory { len })?;
                stored.extend_from_slice(encoded);
                Ok(Encoded::Stored)
            },
        )
    }

    /// Encodes the worker's own chunk, like [`pack`](Self::pack).
    pub(super) fn pack_own(&mut self, array: &Array) -> Result<Encoded, ChunkError> {
        if array.chain.is_empty() {
            std::mem::swap(&mut self.stored, &mut self.buffers.chunk);
            return Ok(Encoded::Stored);
        }
        let chunk = std::mem::take(&mut self.buffers.chunk);
        let encoded = self.pack(array, &chunk);
        self.buffers.chunk = chunk;
        encoded
    }

    /// Writes the encoded chunk if it is not written yet; `data` is the caller's data. Returns the stored length.
    pub(super) fn send(&self, array: &Array, encoded: Encoded, data: &[u8]) -> Result<usize, ChunkError> {
        let stored = match encoded {
            Encoded::Written(len) => return Ok(len),
            Encoded::Stored => &self.stored,
            Encoded::Given(run) => &data[run],
        };
        self.store(array, stored)?;
        Ok(stored.len())
    }

    /// Encodes and writes a chunk; returns the stored length.
    pub(super) fn encode(&mut self, array: &Array, chunk: &[u8]) -> Result<usize, ChunkError> {
        let encoded = match array.chain.is_empty() {
            true => Encoded::Given(0..chunk.len()),
            false => array.compute(self, |worker| worker.pack(array, chunk))?,
        };
        self.send(array, encoded, chunk)
    }

    /// Writes stored bytes unchanged.
    pub(super) fn store(&self, array: &Array, stored: &[u8]) -> Result<(), ChunkError> {
        Ok(array.store.write(self.object_key()?, stored, WriteMode::Replace)?)
    }

    /// The key of an object that is replaced as a whole.
    pub(super) fn object_key(&self) -> Result<Key<'_>, ChunkError> {
        object_key(&self.location)
    }
}

fn object_key(location: &ChunkLocation) -> Result<Key<'_>, ChunkError> {
    match location.extent {
        Extent::Object => Ok(Key::parse(&location.key)?),
        _ => Err(ChunkError::NotAnObject),
    }
}

/// Reads a chunk that has no codecs; returns `false` if there is no such chunk.
fn read_raw(array: &Array, key: &str, out: &mut [u8]) -> Result<bool, ChunkError> {
    match array.store.read_into(Key::parse(key)?, 0, out)? {
        None => Ok(false),
        Some(read) if read.object_len == out.len() as u64 && read.filled == out.len() => Ok(true),
        Some(read) => Err(ChunkError::Length { want: out.len() as u64, got: read.object_len }),
    }
}

/// Decodes the stored bytes of a chunk into `out`.
pub(super) fn decode(
    array: &Array,
    filter_mask: u32,
    scratch: &mut ChainScratch,
    stored: &[u8],
    out: &mut [u8],
) -> Result<(), ChunkError> {
    if array.chain.is_empty() && stored.len() != out.len() {
        return Err(ChunkError::Length { want: out.len() as u64, got: stored.len() as u64 });
    }
    Ok(array.chain.decode(filter_mask, scratch, stored, out)?)
}
