//! The worker: the buffers that one thread needs to move chunks between a store and memory.

use std::ops::Range;

use ncz_registry::chain::ChainScratch;
use ncz_store::{Key, ReadRange, StoreError, WriteMode};

use super::Array;
use super::region::{self, Region};
use super::shard::{self, ShardBuffers};
use super::transfer;
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
                self.read_range_into(array, range.start, out)?;
                // The last part of a block that no grid divides: a chunk has room for more rows than there are.
                if array.chain.is_empty() && Some(want) == array.stored_prefix(&self.index) {
                    shard::resize(out, array.chain.chunk_len())?;
                    region::fill(out.get_mut(want as usize..).unwrap_or_default(), &array.fill);
                }
                Ok(true)
            }
        }
    }

    /// Fills `out` from the object at the worker's location. Returns the length of the object.
    fn read_range_into(&self, array: &Array, start: u64, out: &mut [u8]) -> Result<u64, ChunkError> {
        let read = array.store.read_into(self.parsed_key()?, start, out)?;
        match read.map_or((0, 0), |read| (read.filled, read.object_len)) {
            (got, object_len) if got == out.len() => Ok(object_len),
            (got, _) => Err(ChunkError::Length { want: out.len() as u64, got: got as u64 }),
        }
    }

    /// Reads and decodes the chunk into `out`; returns `false` if there is no such chunk.
    pub(super) fn decode(&mut self, array: &Array, out: &mut [u8]) -> Result<bool, ChunkError> {
        match &self.location.extent {
            Extent::Object if array.chain.is_empty() => return read_raw(array, &self.location.key, out),
            Extent::Range(range) if array.chain.is_empty() && is_len(range, out.len()) => {
                return self.read_range_into(array, range.start, out).map(|_| true);
            }
            _ => {}
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

    /// As [`fetch`](Self::fetch), but bytes outside the worker's segments may be missing in a chunk without codecs.
    pub(super) fn fetch_part(&mut self, array: &Array) -> Result<bool, ChunkError> {
        let Extent::Range(range) = &self.location.extent else { return self.fetch(array) };
        let Some(part) = self.part_of_range(array, range) else { return self.fetch(array) };
        let (range, start) = (range.clone(), range.start + part.start as u64);
        let mut stored = std::mem::take(&mut self.stored);
        let len = array.chain.chunk_len();
        let read = shard::resize(&mut stored, len).and_then(|()| {
            let object_len = self.read_range_into(array, start, stored.get_mut(part).unwrap_or_default())?;
            has_all(&range, object_len)
        });
        self.stored = stored;
        read.map(|()| true)
    }

    /// The bytes of a chunk without codecs that the worker's segments take; `None` if all of them are needed, or the
    /// range of the chunk does not have them.
    pub(super) fn part_of_range(&self, array: &Array, range: &Range<u64>) -> Option<Range<usize>> {
        if !array.chain.is_empty() {
            return None;
        }
        let mut part = Range { start: 0, end: array.dtype.size() };
        let mut step = array.dtype.size();
        for &dimension in array.axes.iter().rev() {
            let segment = self.segments.get(dimension)?;
            let len = transfer::stored_len(array, self, dimension).checked_sub(1)?;
            part.start += segment.in_chunk as usize * step;
            part.end += (segment.in_chunk + len * segment.stride) as usize * step;
            step *= *array.chunk_shape.get(dimension)? as usize;
        }
        (part.end as u64 <= range.end.saturating_sub(range.start)).then_some(part)
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

/// Checks that an object has all bytes of a range, also where only some of them are read.
pub(super) fn has_all(range: &Range<u64>, object_len: u64) -> Result<(), ChunkError> {
    if range.end <= object_len {
        return Ok(());
    }
    let want = range.end.saturating_sub(range.start);
    Err(ChunkError::Length { want, got: object_len.saturating_sub(range.start).min(want) })
}

fn is_len(range: &Range<u64>, len: usize) -> bool {
    range.end.checked_sub(range.start) == Some(len as u64)
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
