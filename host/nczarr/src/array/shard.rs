//! Shards: objects that hold several chunks and an index of where each one lies (Zarr v3, `sharding_indexed`).
//!
//! Everything in an index is a claim. It is checked against the length of the object and against what the codecs can
//! make before memory is taken. Chunks may share bytes and may have gaps between them, as other writers leave them.
//!
//! A shard is replaced as a whole. A reader in another process may yet read the index of the old one and a chunk of
//! the new one. It notices where their lengths differ, and reads again once; where they are the same, only codecs
//! with a checksum notice.

mod read;
mod write;

use std::ops::Range;

use ncz_registry::chain::FilterChain;

pub(super) use self::read::{read, read_serial};
pub(super) use self::write::{Builder, write, write_serial};

use super::Array;
use crate::data_error::ChunkFault;
use crate::dtype::ByteOrder;
use crate::grid::{Cover, Slab, product};
use crate::model::Sharding;

use super::Worker;

/// Both words in the entry of a chunk that does not exist.
const MISSING: u64 = u64::MAX;

/// Bytes of an entry: offset and length.
const ENTRY_LEN: usize = 16;

/// Bytes of the CRC-32C behind the entries.
const CHECKSUM_LEN: usize = 4;

/// The most bytes that the entries of an index may have: four million chunks in a shard.
const MAX_ENTRIES_LEN: usize = 64 << 20;

/// What is wrong with a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardFault {
    /// There is no room for the index.
    #[error(
        "the shard has {len} bytes where its index alone has {index}; it is cut short or of another shape"
    )]
    Short {
        /// Bytes of the shard.
        len: u64,
        /// Bytes of the index.
        index: u64,
    },
    /// The checksum of the index is wrong.
    #[error(
        "the checksum of the shard's index is {stored:08x} where its bytes have {computed:08x}; it is damaged"
    )]
    Checksum {
        /// As stored.
        stored: u32,
        /// As computed.
        computed: u32,
    },
    /// One word of an entry says that the chunk is missing, the other does not.
    #[error(
        "its entry in the shard's index has offset {offset} and length {len}, of which one means a missing chunk"
    )]
    HalfMissing {
        /// As stored.
        offset: u64,
        /// As stored.
        len: u64,
    },
    /// An entry points out of the part of the shard where chunks may lie.
    #[error(
        "its entry in the shard's index says {len} bytes from {offset}, chunks lie between {low} and {high}"
    )]
    Outside {
        /// As stored.
        offset: u64,
        /// As stored.
        len: u64,
        /// The first byte behind an index at the start, or 0.
        low: u64,
        /// The first byte of an index at the end, or the length of the shard.
        high: u64,
    },
    /// Another program replaced the shard between two reads, and again when these were tried once more.
    #[error("the shard was replaced twice while it was read; read it again when nobody writes")]
    Changed,
}

/// How the chunks of an array lie in its shards.
#[derive(Clone, Debug)]
pub(super) struct Shards {
    /// Lengths of a shard.
    pub(super) shape: Vec<u64>,
    /// Chunks of a shard in each dimension.
    counts: Vec<u64>,
    /// Chunks of a shard.
    chunks: usize,
    big_endian: bool,
    checksum: bool,
    at_end: bool,
}

/// What one thread needs for shards.
#[derive(Debug, Default)]
pub(super) struct ShardBuffers {
    /// The entries, and the checksum, of the shard that was read last.
    index: Vec<u8>,
    /// Its length.
    object_len: u64,
    /// The shard itself, where it was read as a whole.
    object: Vec<u8>,
    /// A shard in the making.
    built: Vec<u8>,
    /// The entries of its chunks.
    entries: Vec<(u64, u64)>,
}

impl Shards {
    /// # Errors
    /// Why the shards are none of chunks of this shape.
    pub(super) fn new(sharding: &Sharding, chunk_shape: &[u64]) -> Result<Self, String> {
        let lens = || sharding.shape.iter().zip(chunk_shape);
        if sharding.shape.len() != chunk_shape.len()
            || lens().any(|(shard, chunk)| *chunk == 0 || *shard == 0 || shard % chunk != 0)
        {
            let shape = &sharding.shape;
            return Err(format!("its shards {shape:?} are no multiples of its chunks {chunk_shape:?}"));
        }
        let counts: Vec<u64> = lens().map(|(shard, chunk)| shard / chunk).collect();
        let chunks = product(counts.iter().copied())
            .filter(|chunks| *chunks <= (MAX_ENTRIES_LEN / ENTRY_LEN) as u64)
            .ok_or_else(|| format!("its shards {:?} have more chunks than four million", sharding.shape))?;
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

    /// The most bytes that a shard may plausibly have.
    fn max_len(&self, chain: &FilterChain) -> u64 {
        (chain.max_stored_len() as u64)
            .saturating_mul(self.chunks as u64)
            .saturating_add(self.index_len() as u64)
    }

    /// Where the index of a shard of this length lies, and where its chunks do.
    fn places(&self, object_len: u64) -> Result<(Range<u64>, Range<u64>), ShardFault> {
        let index = self.index_len() as u64;
        let Some(chunks) = object_len.checked_sub(index) else {
            return Err(ShardFault::Short { len: object_len, index });
        };
        Ok(if self.at_end { (chunks..object_len, 0..chunks) } else { (0..index, index..object_len) })
    }

    /// Checks the checksum of an index, if it has one.
    fn check(&self, index: &[u8]) -> Result<(), ShardFault> {
        if !self.checksum {
            return Ok(());
        }
        let Some((entries, stored)) = index.split_last_chunk::<CHECKSUM_LEN>() else {
            return Err(ShardFault::Short { len: index.len() as u64, index: self.index_len() as u64 });
        };
        let (stored, computed) = (u32::from_le_bytes(*stored), crc32c::crc32c(entries));
        if stored == computed { Ok(()) } else { Err(ShardFault::Checksum { stored, computed }) }
    }

    /// Where chunk `number` lies in a shard with this index; `None`: it does not exist.
    fn entry(
        &self,
        index: &[u8],
        number: usize,
        object_len: u64,
        chain: &FilterChain,
    ) -> Result<Option<Range<u64>>, ChunkFault> {
        let (words, _) = index.as_chunks::<8>();
        let word = |at: usize| {
            let word = words.get(at).copied().unwrap_or([0xff; 8]);
            if self.big_endian { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) }
        };
        let (offset, len) = (word(2 * number), word(2 * number + 1));
        match (offset, len) {
            (MISSING, MISSING) => return Ok(None),
            (MISSING, _) | (_, MISSING) => return Err(ShardFault::HalfMissing { offset, len }.into()),
            _ => {}
        }
        let (_, Range { start: low, end: high }) = self.places(object_len)?;
        let inside = |end: &u64| offset >= low && *end <= high;
        let Some(end) = offset.checked_add(len).filter(inside) else {
            return Err(ShardFault::Outside { offset, len, low, high }.into());
        };
        check_len(chain, len)?;
        Ok(Some(offset..end))
    }

    /// The number of a chunk, by its coordinates in the array, in its shard.
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

    /// How many chunks a shard has.
    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }
}

/// A shard that a slab touches.
struct Touched {
    /// Its coordinates.
    index: Vec<u64>,
    /// Where its first element stands in the slab.
    in_slab: Vec<u64>,
    /// What the slab takes of it, counted from the shard's first element.
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

    /// Makes the `part`-th chunk that is touched the worker's own. Returns its number in the shard.
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
    /// Reads the index of the shard with the worker's key; `false`: there is no such shard.
    fn load_index(&mut self, array: &Array, shards: &Shards) -> Result<bool, ChunkFault> {
        resize(&mut self.shard.index, shards.index_len())?;
        let (key, index) = (ncz_store::Key::parse(&self.key)?, &mut self.shard.index);
        let read = match shards.at_end {
            true => array.store.read_end_into(key, index)?,
            false => array.store.read_into(key, 0, index)?,
        };
        let Some(read) = read else { return Ok(false) };
        shards.places(read.object_len)?;
        if read.filled != index.len() {
            return Err(ShardFault::Changed.into());
        }
        shards.check(index)?;
        self.shard.object_len = read.object_len;
        Ok(true)
    }

    /// Reads the whole shard with the worker's key; `false`: there is none.
    pub(super) fn load_shard(&mut self, array: &Array, shards: &Shards) -> Result<bool, ChunkFault> {
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
        self.shard.index.try_reserve(index.len()).map_err(|_| ChunkFault::Memory { len: index.len() })?;
        self.shard.index.extend_from_slice(index);
        shards.check(&self.shard.index)?;
        Ok(true)
    }

    /// The bytes of the shard that was loaded last.
    pub(super) fn shard(&self) -> &[u8] {
        &self.shard.object
    }

    /// Reads the stored bytes of chunk `number` of the shard with the worker's key; `false`: there is none.
    pub(super) fn load_chunk(
        &mut self,
        array: &Array,
        shards: &Shards,
        number: usize,
    ) -> Result<bool, ChunkFault> {
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
        Err(ShardFault::Changed.into())
    }

    /// Reads a range of the shard with the worker's key; `false`: it is another shard than that of the index.
    fn read_range(&mut self, array: &Array, place: Range<u64>) -> Result<bool, ChunkFault> {
        // Ranges are of what codecs make of a chunk, or of a run's length.
        resize(&mut self.stored, (place.end - place.start) as usize)?;
        let key = ncz_store::Key::parse(&self.key)?;
        let read = array.store.read_into(key, place.start, &mut self.stored)?;
        Ok(read
            .is_some_and(|read| read.object_len == self.shard.object_len && read.filled == self.stored.len()))
    }

    /// Whether the loaded shard has chunk `number`.
    pub(super) fn has_chunk(
        &self,
        array: &Array,
        shards: &Shards,
        number: usize,
    ) -> Result<bool, ChunkFault> {
        let found = shards.entry(&self.shard.index, number, self.shard.object_len, &array.chain)?;
        Ok(found.is_some())
    }

    /// Decodes chunk `number` of the loaded shard into `out`. Returns its stored length; `None`: there is none.
    pub(super) fn decode_shard(
        &mut self,
        array: &Array,
        shards: &Shards,
        number: usize,
        out: &mut [u8],
    ) -> Result<Option<usize>, ChunkFault> {
        let (index, len) = (&self.shard.index, self.shard.object_len);
        let Some(place) = shards.entry(index, number, len, &array.chain)? else { return Ok(None) };
        let stored = self.shard.object.get(place.start as usize..place.end as usize).unwrap_or_default();
        super::worker::decode(array, &mut self.bench.chain, stored, out)?;
        Ok(Some(stored.len()))
    }
}

/// Whether the codecs can make a chunk of this length.
fn check_len(chain: &FilterChain, len: u64) -> Result<(), ChunkFault> {
    let most = chain.max_stored_len() as u64;
    if len <= most { Ok(()) } else { Err(ChunkFault::TooLong { got: len, most, chain: chain.to_string() }) }
}

pub(super) fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<(), ChunkFault> {
    buffer.truncate(len);
    buffer.try_reserve(len - buffer.len()).map_err(|_| ChunkFault::Memory { len })?;
    buffer.resize(len, 0);
    Ok(())
}

/// Says which chunk of a shard a fault is of, by its coordinates in the array.
pub(super) fn of_chunk(index: &[u64], source: ChunkFault) -> ChunkFault {
    ChunkFault::InShard { index: index.to_vec(), source: Box::new(source) }
}

#[cfg(test)]
mod tests;
