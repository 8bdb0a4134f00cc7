//! Shards: objects that hold several chunks and an index with the byte range of each (Zarr v3, `sharding_indexed`).
//!
//! An index is not trusted. Its entries are checked against the length of the object and against the lengths that the
//! codecs can make, before memory is allocated. Chunks may share bytes and may have gaps between them, as other writers
//! leave them.
//!
//! A shard is replaced as a whole. A reader in another process may still read the index of the old shard and a chunk of
//! the new one. If the lengths of the two shards differ, it notices and reads again once; if they are the same, only
//! codecs with a checksum notice.

mod read;
mod write;

use std::ops::Range;

use ncz_registry::chain::FilterChain;

pub(super) use self::read::{read, read_serial};
pub(super) use self::write::{Builder, write, write_serial};

use super::Array;
use crate::chunk_index::Extent;
use crate::data_error::{ChunkError, ShardError};
use crate::dtype::ByteOrder;
use crate::grid::{Cover, Slab, product};
use crate::hierarchy::Sharding;

use super::Worker;

/// Both words in the entry of a chunk that does not exist.
const MISSING: u64 = u64::MAX;

/// Bytes of an entry: offset and length.
const ENTRY_LEN: usize = 16;

/// Bytes of the CRC-32C after the entries.
const CHECKSUM_LEN: usize = 4;

/// The most bytes that the entries of an index may have: four million chunks in a shard.
const MAX_ENTRIES_LEN: usize = 64 << 20;

/// The layout of the chunks of an array in its shards.
#[derive(Clone, Debug)]
pub(super) struct Shards {
    /// The lengths of a shard.
    pub(super) shape: Vec<u64>,
    /// The number of chunks of a shard in each dimension.
    counts: Vec<u64>,
    /// The number of chunks of a shard.
    chunks: usize,
    big_endian: bool,
    checksum: bool,
    at_end: bool,
}

/// The buffers of one thread for shards.
#[derive(Debug, Default)]
pub(super) struct ShardBuffers {
    /// The entries and the checksum of the last read shard.
    index: Vec<u8>,
    /// The length of that shard.
    object_len: u64,
    /// The shard itself, if it was read as a whole.
    object: Vec<u8>,
    /// The shard that is being built.
    built: Vec<u8>,
    /// The index entries of the shard that is being built.
    entries: Vec<(u64, u64)>,
}

impl Shards {
    /// # Errors
    /// The reason why chunks of this shape do not fill the shards.
    pub(super) fn new(sharding: &Sharding, chunk_shape: &[u64]) -> Result<Self, String> {
        let lens = || sharding.shape.iter().zip(chunk_shape);
        if sharding.shape.len() != chunk_shape.len()
            || lens().any(|(shard, chunk)| *chunk == 0 || *shard == 0 || shard % chunk != 0)
        {
            let shape = &sharding.shape;
            return Err(format!("its shards {shape:?} are not multiples of its chunks {chunk_shape:?}"));
        }
        let counts: Vec<u64> = lens().map(|(shard, chunk)| shard / chunk).collect();
        let chunks = product(counts.iter().copied())
            .filter(|chunks| *chunks <= (MAX_ENTRIES_LEN / ENTRY_LEN) as u64)
            .ok_or_else(|| format!("its shards {:?} have more than four million chunks", sharding.shape))?;
        Ok(Self {
            shape: sharding.shape.clone(),
            counts,
            chunks: chunks as usize,
            big_endian: sharding.index_order == ByteOrder::Big,
            checksum: sharding.index_checksum,
            at_end: sharding.index_at_end,
        })
    }

    fn index_len(&self) -> usize {
        self.chunks * ENTRY_LEN + if self.checksum { CHECKSUM_LEN } else { 0 }
    }

    /// The largest plausible length of a shard in bytes.
    fn max_len(&self, chain: &FilterChain) -> u64 {
        (chain.max_stored_len() as u64)
            .saturating_mul(self.chunks as u64)
            .saturating_add(self.index_len() as u64)
    }

    /// Returns the byte range of the index, and of the chunks, in a shard of this length.
    fn places(&self, object_len: u64) -> Result<(Range<u64>, Range<u64>), ShardError> {
        let index = self.index_len() as u64;
        let Some(chunks) = object_len.checked_sub(index) else {
            return Err(ShardError::Short { len: object_len, index });
        };
        Ok(if self.at_end { (chunks..object_len, 0..chunks) } else { (0..index, index..object_len) })
    }

    /// Verifies the checksum of an index, if it has one.
    fn check(&self, index: &[u8]) -> Result<(), ShardError> {
        if !self.checksum {
            return Ok(());
        }
        let Some((entries, stored)) = index.split_last_chunk::<CHECKSUM_LEN>() else {
            return Err(ShardError::Short { len: index.len() as u64, index: self.index_len() as u64 });
        };
        let (stored, computed) = (u32::from_le_bytes(*stored), crc32c::crc32c(entries));
        if stored == computed { Ok(()) } else { Err(ShardError::Checksum { stored, computed }) }
    }

    /// Returns the byte range of chunk `number` in a shard with this index; `None` if the chunk does not exist.
    fn entry(
        &self,
        index: &[u8],
        number: usize,
        object_len: u64,
        chain: &FilterChain,
    ) -> Result<Option<Range<u64>>, ChunkError> {
        let (words, _) = index.as_chunks::<8>();
        let word = |at: usize| {
            let word = words.get(at).copied().unwrap_or([0xff; 8]);
            if self.big_endian { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) }
        };
        let (offset, len) = (word(2 * number), word(2 * number + 1));
        match (offset, len) {
            (MISSING, MISSING) => return Ok(None),
            (MISSING, _) | (_, MISSING) => return Err(ShardError::HalfMissing { offset, len }.into()),
            _ => {}
        }
        let (_, Range { start: low, end: high }) = self.places(object_len)?;
        let inside = |end: &u64| offset >= low && *end <= high;
        let Some(end) = offset.checked_add(len).filter(inside) else {
            return Err(ShardError::Outside { offset, len, low, high }.into());
        };
        check_len(chain, len)?;
        Ok(Some(offset..end))
    }

    /// Returns the number in its shard of the chunk with these coordinates in the array.
    pub(super) fn number(&self, index: &[u64]) -> usize {
        index.iter().zip(&self.counts).fold(0, |number, (i, count)| number * count + i % count) as usize
    }

    /// The coordinates of the shard that holds a chunk.
    pub(super) fn of_chunk(&self, index: &[u64]) -> Vec<u64> {
        index.iter().zip(&self.counts).map(|(i, count)| i / count).collect()
    }

    /// The coordinates in the array of chunk `number` of a shard.
    pub(super) fn chunk(&self, shard: &[u64], number: usize) -> Vec<u64> {
        let mut rest = number as u64;
        let mut index = vec![0; shard.len()];
        for (at, (shard, count)) in index.iter_mut().zip(shard.iter().zip(&self.counts)).rev() {
            *at = shard.saturating_mul(*count).saturating_add(rest % count);
            rest /= count;
        }
        index
    }

    /// The number of chunks of a shard.
    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }
}

/// A shard that a slab touches.
struct Touched {
    /// The coordinates of the shard.
    index: Vec<u64>,
    /// The position of its first element in the slab.
    in_slab: Vec<u64>,
    /// The part of the shard that the slab takes, relative to the shard's first element.
    slab: Slab,
}

impl Touched {
    fn new(shards: &Cover<'_>, number: u64) -> Self {
        let (mut index, mut segments) = (Vec::new(), Vec::new());
        shards.part(number, &mut index, &mut segments);
        let of = |what: fn(&crate::grid::Segment) -> u64| segments.iter().map(what).collect::<Vec<_>>();
        let slab = Slab::new(of(|segment| segment.in_chunk), of(|segment| segment.len));
        Self {
            index,
            in_slab: of(|segment| segment.in_slab),
            slab: slab.with_stride(of(|segment| segment.stride)),
        }
    }

    /// Sets the worker to the `part`-th touched chunk. Returns the number of the chunk in the shard.
    fn part(&self, chunks: &Cover<'_>, part: u64, shards: &Shards, worker: &mut Worker) -> usize {
        chunks.part(part, &mut worker.index, &mut worker.segments);
        let number = shards.number(&worker.index);
        for (d, (index, segment)) in worker.index.iter_mut().zip(&mut worker.segments).enumerate() {
            *index += self.index[d] * shards.counts[d];
            segment.in_slab += self.in_slab[d];
        }
        number
    }
}

impl Worker {
    /// Reads the index of the shard with the worker's key; returns `false` if there is no such shard.
    fn load_index(&mut self, array: &Array, shards: &Shards) -> Result<bool, ChunkError> {
        resize(&mut self.shard.index, shards.index_len())?;
        let (key, index) = (ncz_store::Key::parse(&self.location.key)?, &mut self.shard.index);
        let read = match shards.at_end {
            true => array.store.read_end_into(key, index)?,
            false => array.store.read_into(key, 0, index)?,
        };
        let Some(read) = read else { return Ok(false) };
        shards.places(read.object_len)?;
        if read.filled != index.len() {
            return Err(ShardError::Changed.into());
        }
        shards.check(index)?;
        self.shard.object_len = read.object_len;
        Ok(true)
    }

    /// Reads the whole shard with the worker's key; returns `false` if there is no such shard.
    pub(super) fn load_shard(&mut self, array: &Array, shards: &Shards) -> Result<bool, ChunkError> {
        let most = shards.max_len(&array.chain);
        let mut object = std::mem::take(&mut self.shard.object);
        let found = self.read_all(array, most, &mut object);
        self.shard.object = object;
        if !found? {
            return Ok(false);
        }
        self.shard.object_len = self.shard.object.len() as u64;
        let (place, _) = shards.places(self.shard.object_len)?;
        self.shard.index.clear();
        let index = self.shard.object.get(place.start as usize..place.end as usize).unwrap_or_default();
        self.shard.index.try_reserve(index.len()).map_err(|_| ChunkError::Memory { len: index.len() })?;
        self.shard.index.extend_from_slice(index);
        shards.check(&self.shard.index)?;
        Ok(true)
    }

    /// The bytes of the last loaded shard.
    pub(super) fn shard(&self) -> &[u8] {
        &self.shard.object
    }

    /// Reads the stored bytes of chunk `number` of the shard with the worker's key; returns `false` if there is no such
    /// chunk.
    pub(super) fn load_chunk(
        &mut self,
        array: &Array,
        shards: &Shards,
        number: usize,
    ) -> Result<bool, ChunkError> {
        for _ in 0..2 {
            if !self.load_index(array, shards)? {
                return Ok(false);
            }
            let (index, len) = (&self.shard.index, self.shard.object_len);
            let Some(place) = shards.entry(index, number, len, &array.chain)? else { return Ok(false) };
            if self.read_range(array, place)? {
                return Ok(true);
            }
        }
        Err(ShardError::Changed.into())
    }

    /// Finds chunk `number` in the shard at the worker's location, and changes this location to that of the chunk.
    pub(super) fn locate_in_shard(
        &mut self,
        array: &Array,
        shards: &Shards,
        number: usize,
    ) -> Result<(), ChunkError> {
        let place = match self.load_index(array, shards)? {
            false => None,
            true => shards.entry(&self.shard.index, number, self.shard.object_len, &array.chain)?,
        };
        self.location.extent = place.map_or(Extent::Missing, Extent::Range);
        Ok(())
    }

    /// Reads a range of the shard with the worker's key; returns `false` if the shard was replaced since its index was
    /// read.
    fn read_range(&mut self, array: &Array, place: Range<u64>) -> Result<bool, ChunkError> {
        // A range is at most as long as an encoded chunk, or as a run.
        resize(&mut self.stored, (place.end - place.start) as usize)?;
        let key = ncz_store::Key::parse(&self.location.key)?;
        let read = array.store.read_into(key, place.start, &mut self.stored)?;
        Ok(read
            .is_some_and(|read| read.object_len == self.shard.object_len && read.filled == self.stored.len()))
    }

    /// The stored bytes of chunk `number` of the loaded shard; `None` if there is no such chunk.
    pub(super) fn stored_in_shard(
        &self,
        array: &Array,
        shards: &Shards,
        number: usize,
    ) -> Result<Option<&[u8]>, ChunkError> {
        let place = shards.entry(&self.shard.index, number, self.shard.object_len, &array.chain)?;
        Ok(place
            .map(|place| self.shard.object.get(place.start as usize..place.end as usize).unwrap_or_default()))
    }

    /// Decodes chunk `number` of the loaded shard into `out`. Returns its stored length, or `None` if there is no such
    /// chunk.
    pub(super) fn decode_shard(
        &mut self,
        array: &Array,
        shards: &Shards,
        number: usize,
        out: &mut [u8],
    ) -> Result<Option<usize>, ChunkError> {
        let (index, len) = (&self.shard.index, self.shard.object_len);
        let Some(place) = shards.entry(index, number, len, &array.chain)? else { return Ok(None) };
        let stored = self.shard.object.get(place.start as usize..place.end as usize).unwrap_or_default();
        super::worker::decode(array, 0, &mut self.buffers.chain, stored, out)?;
        Ok(Some(stored.len()))
    }
}

/// Checks that the codecs can make an encoded chunk of this length.
fn check_len(chain: &FilterChain, len: u64) -> Result<(), ChunkError> {
    let most = chain.max_stored_len() as u64;
    if len <= most { Ok(()) } else { Err(ChunkError::TooLong { got: len, most, chain: chain.to_string() }) }
}

pub(super) fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<(), ChunkError> {
    buffer.truncate(len);
    buffer.try_reserve(len - buffer.len()).map_err(|_| ChunkError::Memory { len })?;
    buffer.resize(len, 0);
    Ok(())
}

/// Adds the coordinates of the chunk in the array to an error.
pub(super) fn of_chunk(index: &[u64], source: ChunkError) -> ChunkError {
    ChunkError::InShard { index: index.to_vec(), source: Box::new(source) }
}

#[cfg(test)]
mod tests;
