//! Writes sharded arrays: a shard is written as a whole.
//!
//! Chunks that a write does not touch keep their stored bytes. Chunks are in C order, so that the same data make the
//! same shard. Chunks that were missing and are not written stay missing. A thread holds the old shard and the new one.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::transfer::{change_chunk, chunk_count, covers_stored_part, each_chunk};
use super::super::worker::CodecBuffers;
use super::super::{Array, Elements, Worker, Written};
use super::{CHECKSUM_LEN, MISSING, ShardBuffers, Shards, Touched, of_chunk};
use crate::data_error::{ChunkError, DataError};
use crate::grid::{Cover, Slab};

/// Writes a slab with all threads.
pub(in super::super) fn write(
    array: &Array,
    shards: &Shards,
    slab: &Slab,
    elements: Elements,
    data: &[u8],
) -> Result<Written, DataError> {
    let cover = slab.cover(&shards.shape);
    let Some(total) = chunk_count(array, &cover)? else { return Ok(Written::default()) };
    let writer = Writer { array, shards, slab, cover: &cover, elements, data };
    let [chunks, written] = [const { AtomicU64::new(0) }; 2];
    // The old shard and the new one.
    let bytes = array.decoded_len(&shards.shape).saturating_mul(2);
    each_chunk(array, total, bytes, |worker, number| {
        let shard = writer.write(worker, number)?;
        chunks.fetch_add(shard.chunks, Ordering::Relaxed);
        written.fetch_add(shard.bytes, Ordering::Relaxed);
        Ok(())
    })?;
    Ok(Written { chunks: chunks.into_inner(), bytes: written.into_inner() })
}

/// Writes a slab on the caller's thread.
pub(in super::super) fn write_serial(
    array: &Array,
    shards: &Shards,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    data: &[u8],
) -> Result<Written, DataError> {
    let cover = slab.cover(&shards.shape);
    let total = chunk_count(array, &cover)?.unwrap_or(0);
    let writer = Writer { array, shards, slab, cover: &cover, elements, data };
    let mut written = Written::default();
    for number in 0..total {
        let shard = writer.write(worker, number).map_err(|error| array.chunk_error(worker, error))?;
        written.chunks += shard.chunks;
        written.bytes += shard.bytes;
    }
    Ok(written)
}

struct Writer<'a> {
    array: &'a Array,
    shards: &'a Shards,
    slab: &'a Slab,
    /// The shards that the slab touches.
    cover: &'a Cover<'a>,
    elements: Elements,
    data: &'a [u8],
}

impl Writer<'_> {
    /// Writes the part of the slab that is in one shard.
    fn write(&self, worker: &mut Worker, shard: u64) -> Result<Written, ChunkError> {
        let Self { array, shards, .. } = *self;
        let touched = Touched::new(self.cover, shard);
        let requested = touched.slab.cover(&array.chunk_shape).chunks().unwrap_or(0);
        array.chunks.locate(&touched.index, &mut worker.location)?;
        self.cover.part(shard, &mut worker.index, &mut worker.segments);
        let has_old =
            !covers_stored_part(array, worker, &shards.shape) && worker.load_shard(array, shards)?;
        array.compute(worker, |worker| self.build(worker, &touched, has_old))?;
        let bytes = worker.send_shard(array)?;
        Ok(Written { chunks: requested, bytes: bytes as u64 })
    }

    /// Builds the new shard in the worker.
    fn build(&self, worker: &mut Worker, touched: &Touched, has_old: bool) -> Result<(), ChunkError> {
        let Self { array, shards, slab, elements, data, .. } = *self;
        let chunks = touched.slab.cover(&array.chunk_shape);
        let requested = chunks.chunks().unwrap_or(0);
        let mut builder = Builder::new(array, shards, &touched.index, has_old, worker)?;
        for part in 0..requested {
            let number = touched.part(&chunks, part, shards, builder.worker);
            builder.keep(number)?;
            let index = builder.worker.index.clone();
            let append = |builder: &mut Builder<'_>| {
                let old = |worker: &mut Worker| {
                    if !has_old {
                        return Ok(false);
                    }
                    worker.reserve_chunk(array)?;
                    let mut chunk = std::mem::take(&mut worker.buffers.chunk);
                    let found = worker.decode_shard(array, shards, number, &mut chunk);
                    worker.buffers.chunk = chunk;
                    Ok(found?.is_some())
                };
                match change_chunk(array, builder.worker, slab, elements, data, old)? {
                    Some(run) => builder.encode(&data[run]),
                    None => builder.encode_own(),
                }
            };
            append(&mut builder).map_err(|error| of_chunk(&index, error))?;
        }
        builder.finish()
    }
}

/// Builds a shard in the buffers of a worker. Chunks must be added in the order of their numbers.
pub(in super::super) struct Builder<'a> {
    array: &'a Array,
    shards: &'a Shards,
    /// The coordinates of the shard.
    index: &'a [u64],
    /// Whether the worker has loaded the stored shard, whose other chunks are kept.
    has_old: bool,
    pub(in super::super) worker: &'a mut Worker,
}

impl<'a> Builder<'a> {
    /// Starts the shard with the worker's key.
    pub(in super::super) fn new(
        array: &'a Array,
        shards: &'a Shards,
        index: &'a [u64],
        has_old: bool,
        worker: &'a mut Worker,
    ) -> Result<Self, ChunkError> {
        let entries = &mut worker.shard.entries;
        entries.clear();
        let len = shards.index_len();
        entries.try_reserve(shards.chunks).map_err(|_| ChunkError::Memory { len })?;
        worker.shard.built.clear();
        if !shards.at_end {
            super::resize(&mut worker.shard.built, len)?;
        }
        Ok(Self { array, shards, index, has_old, worker })
    }

    /// Adds the chunks before `number` that were not added yet, from the old shard.
    pub(in super::super) fn keep(&mut self, number: usize) -> Result<(), ChunkError> {
        for number in self.worker.shard.entries.len()..number {
            let place =
                self.old(number).map_err(|error| of_chunk(&self.shards.chunk(self.index, number), error))?;
            let buffers = &mut self.worker.shard;
            match place {
                None => buffers.entries.push((MISSING, MISSING)),
                Some(place) => {
                    let stored =
                        buffers.object.get(place.start as usize..place.end as usize).unwrap_or_default();
                    push(&mut buffers.built, &mut buffers.entries, stored)?;
                }
            }
        }
        Ok(())
    }

    fn old(&self, number: usize) -> Result<Option<Range<u64>>, ChunkError> {
        if !self.has_old {
            return Ok(None);
        }
        let buffers = &self.worker.shard;
        self.shards.entry(&buffers.index, number, buffers.object_len, &self.array.chain)
    }

    /// The stored length of the last chunk.
    pub(in super::super) fn last_len(&self) -> usize {
        self.worker.shard.entries.last().map_or(0, |&(_, len)| len as usize)
    }

    /// Adds the next chunk.
    pub(in super::super) fn encode(&mut self, chunk: &[u8]) -> Result<(), ChunkError> {
        let Self { array, shards, index, .. } = *self;
        array.compute(self.worker, |Worker { buffers, shard, .. }| {
            shard.encode(array, shards, index, buffers, chunk)
        })
    }

    /// Adds the chunk in the worker's buffer.
    pub(in super::super) fn encode_own(&mut self) -> Result<(), ChunkError> {
        let Worker { buffers, shard, .. } = &mut *self.worker;
        let chunk = std::mem::take(&mut buffers.chunk);
        let encoded = shard.encode(self.array, self.shards, self.index, buffers, &chunk);
        buffers.chunk = chunk;
        encoded
    }

    /// Adds the stored bytes of the next chunk.
    pub(in super::super) fn push(&mut self, stored: &[u8]) -> Result<(), ChunkError> {
        let shard = &mut self.worker.shard;
        push(&mut shard.built, &mut shard.entries, stored)
    }

    /// Keeps the remaining chunks and adds the index. The shard still has to be sent.
    pub(in super::super) fn finish(mut self) -> Result<(), ChunkError> {
        self.keep(self.shards.chunks)?;
        let buffers = &mut self.worker.shard;
        let index = &mut buffers.index;
        index.clear();
        let len = self.shards.index_len();
        index.try_reserve(len).map_err(|_| ChunkError::Memory { len })?;
        for word in buffers.entries.iter().flat_map(|&(offset, len)| [offset, len]) {
            index.extend(if self.shards.big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        if self.shards.checksum {
            let checksum: [u8; CHECKSUM_LEN] = crc32c::crc32c(index).to_le_bytes();
            index.extend(checksum);
        }
        if self.shards.at_end {
            buffers.built.try_reserve(len).map_err(|_| ChunkError::Memory { len })?;
            buffers.built.extend_from_slice(index);
        } else {
            buffers.built[..len].copy_from_slice(index);
        }
        Ok(())
    }
}

impl ShardBuffers {
    /// Adds the next chunk of the shard at `index`.
    fn encode(
        &mut self,
        array: &Array,
        shards: &Shards,
        index: &[u64],
        buffers: &mut CodecBuffers,
        chunk: &[u8],
    ) -> Result<(), ChunkError> {
        let Self { built, entries, .. } = self;
        let number = entries.len();
        array.encode_chunk(
            buffers,
            || shards.chunk(index, number),
            chunk,
            |encoded| push(built, entries, encoded),
        )
    }
}

impl Worker {
    /// Writes the last built shard. Returns its length.
    pub(in super::super) fn send_shard(&self, array: &Array) -> Result<usize, ChunkError> {
        self.store(array, &self.shard.built)?;
        Ok(self.shard.built.len())
    }
}

fn push(built: &mut Vec<u8>, entries: &mut Vec<(u64, u64)>, stored: &[u8]) -> Result<(), ChunkError> {
    built.try_reserve(stored.len()).map_err(|_| ChunkError::Memory { len: built.len() + stored.len() })?;
    entries.push((built.len() as u64, stored.len() as u64));
    built.extend_from_slice(stored);
    Ok(())
}
