//! Access to single chunks, and to the objects of the store that hold them: each object is a chunk, or a shard of
//! chunks.

use super::shard::{self, Builder, Shards};
use super::{Array, Worker, Written, worker};
use crate::chunk_index::ChunkLocation;
use crate::data_error::{ChunkError, DataError};
use crate::grid::{Slab, SlabError};

/// Makes the chunk with these coordinates in its stored layout; returns `false` if there is no such chunk.
pub type NextChunk<'a> = dyn FnMut(&[u64], &mut [u8]) -> Result<bool, DataError> + 'a;

impl Array {
    /// The prefix of the keys of its objects, without a trailing slash; empty for an array at the root.
    #[must_use]
    pub fn key(&self) -> &str {
        self.chunks.prefix()
    }

    /// The number of chunks of the stored array in each dimension.
    #[must_use]
    pub fn chunk_counts(&self) -> Vec<u64> {
        self.counts(&self.chunk_shape)
    }

    /// The slab of the array that a chunk holds, cut at the array's end; empty for a chunk beyond it.
    #[must_use]
    pub fn chunk_slab(&self, index: &[u64]) -> Slab {
        self.slab_of(index, &self.chunk_shape)
    }

    /// Whether its objects are shards: several chunks and an index of them.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        self.shards.is_some()
    }

    /// The lengths of the part that one object of the store holds: a shard, or a chunk.
    #[must_use]
    pub fn object_shape(&self) -> &[u64] {
        self.shards.as_ref().map_or(&self.chunk_shape, |shards| &shards.shape)
    }

    /// The number of objects of the stored array in each dimension.
    #[must_use]
    pub fn object_counts(&self) -> Vec<u64> {
        self.counts(self.object_shape())
    }

    /// The slab of the array that an object holds, cut at the array's end; empty for one beyond it.
    #[must_use]
    pub fn object_slab(&self, index: &[u64]) -> Slab {
        self.slab_of(index, self.object_shape())
    }

    /// The key of the object at `index`.
    #[must_use]
    pub fn object_key(&self, index: &[u64]) -> String {
        let mut location = ChunkLocation::default();
        // An index that cannot be read gives no key; the reader of the chunk reports it.
        let found = self.chunks.locate(index, &mut location);
        if found.is_ok() { location.key } else { String::new() }
    }

    /// Returns the location of the stored bytes of a chunk. The index of a shard is read from the store.
    ///
    /// # Errors
    /// The array has no such chunk, or the index that names it cannot be read.
    pub fn locate(&self, worker: &mut Worker, index: &[u64]) -> Result<ChunkLocation, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        let located = match &self.shards {
            None => worker.go_to(self, index),
            Some(shards) => worker
                .go_to(self, &shards.of_chunk(index))
                .and_then(|()| worker.locate_in_shard(self, shards, shards.number(index)))
                .map_err(|error| shard::of_chunk(index, error)),
        };
        located.map_err(|error| self.chunk_error(worker, error))?;
        Ok(worker.location.clone())
    }

    /// The coordinates of all objects that are stored, if the chunk index has a list of them
    /// ([`ChunkIndex::stored`](crate::ChunkIndex::stored)).
    #[must_use]
    pub fn stored_objects(&self) -> Option<Vec<Vec<u64>>> {
        let mut stored = self.chunks.stored()?;
        stored.retain(|index| !self.is_beyond(index, self.object_shape()));
        Some(stored)
    }

    /// Returns the index of the object with this key; `None` if the stored array has no such object.
    #[must_use]
    pub fn object_index(&self, key: &str) -> Option<Vec<u64>> {
        let index = self.chunks.object_index(key)?;
        index.iter().zip(&self.object_counts()).all(|(number, count)| number < count).then_some(index)
    }

    /// The chunks of an object that lie within the stored array, in C order.
    pub fn object_chunks(&self, index: &[u64]) -> impl Iterator<Item = Vec<u64>> {
        let chunks = self.shards.as_ref().map_or(1, Shards::chunks);
        let of = move |number| match &self.shards {
            None => index.to_vec(),
            Some(shards) => shards.chunk(index, number),
        };
        (0..chunks).map(of).filter(|chunk| !self.is_beyond(chunk, &self.chunk_shape))
    }

    /// Reads and decodes one whole chunk into `out`, in its stored layout: stored byte order and order of dimensions,
    /// with the padding at the array's end. Returns the stored length, or `None` if there is no such chunk.
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be read or decoded, or `out` does not have the length of a chunk.
    pub fn read_chunk(
        &self,
        worker: &mut Worker,
        index: &[u64],
        out: &mut [u8],
    ) -> Result<Option<usize>, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        self.check_len(out.len())?;
        let Some(shards) = &self.shards else {
            self.go_to(worker, index)?;
            let found = worker.decode(self, out).map_err(|error| self.chunk_error(worker, error))?;
            return Ok(found.then(|| if self.chain.is_empty() { out.len() } else { worker.stored.len() }));
        };
        if !self.load_chunk(worker, shards, index)? {
            return Ok(None);
        }
        let decoded = self.decode_stored(worker, out);
        decoded.map_err(|error| self.chunk_error(worker, shard::of_chunk(index, error)))?;
        Ok(Some(worker.stored.len()))
    }

    /// Encodes and writes one whole chunk in its stored layout. Returns the stored length. If the chunk is in a shard,
    /// the whole shard is read and written; write chunks of the same shard from one thread, or use
    /// [`encode_object`](Self::encode_object).
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be encoded or written, or `chunk` does not have the length of a chunk.
    pub fn write_chunk(&self, worker: &mut Worker, index: &[u64], chunk: &[u8]) -> Result<usize, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        self.check_len(chunk.len())?;
        let Some(shards) = &self.shards else {
            self.go_to(worker, index)?;
            return worker.encode(self, chunk).map_err(|error| self.chunk_error(worker, error));
        };
        self.change_shard(worker, shards, index, |builder| builder.encode(chunk))
    }

    /// Returns the stored bytes of one chunk, or `None` if there is no such chunk.
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be read, or it has no codecs and not the length of a chunk.
    pub fn read_stored<'w>(
        &self,
        worker: &'w mut Worker,
        index: &[u64],
    ) -> Result<Option<&'w [u8]>, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        let found = match &self.shards {
            None => {
                self.go_to(worker, index)?;
                worker.load(self).map_err(|error| self.chunk_error(worker, error))?
            }
            Some(shards) => self.load_chunk(worker, shards, index)?,
        };
        if !found {
            return Ok(None);
        }
        if let Err(mut error) = self.check_stored_len(&worker.stored) {
            if self.shards.is_some() {
                error = shard::of_chunk(index, error);
            }
            return Err(self.chunk_error(worker, error));
        }
        Ok(Some(&worker.stored))
    }

    /// Writes the stored bytes of one chunk unchanged. If the chunk is in a shard, the whole shard is read and written.
    ///
    /// # Errors
    /// The array has no such chunk, the array has no codecs and the bytes are not those of a whole chunk, or they cannot
    /// be written.
    pub fn write_stored(&self, worker: &mut Worker, index: &[u64], stored: &[u8]) -> Result<(), DataError> {
        self.check_index(index, &self.chunk_shape)?;
        let Some(shards) = &self.shards else {
            self.go_to(worker, index)?;
            let written = self.check_stored_len(stored).and_then(|()| worker.store(self, stored));
            return written.map_err(|error| self.chunk_error(worker, error));
        };
        self.change_shard(worker, shards, index, |builder| {
            self.check_stored_len(stored).and_then(|()| builder.push(stored))
        })?;
        Ok(())
    }

    /// Checks the length of a stored chunk if the array has no codecs.
    fn check_stored_len(&self, stored: &[u8]) -> Result<(), ChunkError> {
        let (want, got) = (self.chain.chunk_len() as u64, stored.len() as u64);
        if self.chain.is_empty() && got != want { Err(ChunkError::Length { want, got }) } else { Ok(()) }
    }

    /// Reads the stored bytes of an object into the worker, for [`loaded`](Self::loaded) and
    /// [`decode_loaded`](Self::decode_loaded). Returns whether the object exists.
    ///
    /// # Errors
    /// The array has no such object, it cannot be read, it is longer than its codecs can make it, a shard's index is
    /// damaged, or it has no codecs and not the length of a chunk.
    pub fn load_object(&self, worker: &mut Worker, index: &[u64]) -> Result<bool, DataError> {
        let Some(shards) = &self.shards else { return Ok(self.read_stored(worker, index)?.is_some()) };
        self.check_index(index, &shards.shape)?;
        self.go_to(worker, index)?;
        worker.load_shard(self, shards).map_err(|error| self.chunk_error(worker, error))
    }

    /// The bytes of the last loaded object.
    #[must_use]
    pub fn loaded<'w>(&self, worker: &'w Worker) -> &'w [u8] {
        if self.shards.is_some() { worker.shard() } else { &worker.stored }
    }

    /// The filters that were skipped for the last loaded object, a chunk: its bytes are not those that its codecs make.
    /// See [`ChunkLocation::filter_mask`]; 0 if none were.
    #[must_use]
    pub fn skipped_filters(&self, worker: &Worker) -> u32 {
        let mask = worker.location.filter_mask;
        if mask == 0 {
            return 0;
        }
        let stages = u32::try_from(self.chain.working().len()).unwrap_or(u32::MAX);
        mask & 1_u32.checked_shl(stages).map_or(u32::MAX, |bit| bit - 1)
    }

    /// Whether its format has a note of skipped filters, for [`write_skipped`](Self::write_skipped).
    #[must_use]
    pub fn notes_skipped(&self) -> bool {
        self.chunks.notes_skipped()
    }

    /// Writes the stored bytes of a chunk for which filters were skipped, with a note of them
    /// ([`ChunkLocation::filter_mask`]).
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be written, or its format does not [note](Self::notes_skipped) them.
    pub fn write_skipped(
        &self,
        worker: &mut Worker,
        index: &[u64],
        stored: &[u8],
        filter_mask: u32,
    ) -> Result<(), DataError> {
        if self.notes_skipped() {
            self.write_object(worker, index, stored)?;
        }
        match self.chunks.note_skipped(index, filter_mask) {
            true => Ok(()),
            false => Err(DataError::Unsupported {
                variable: self.path.clone(),
                reason: format!(
                    "its format has no note of the skipped filters of chunk {index:?}; encode it"
                ),
            }),
        }
    }

    /// Checks of the [chunks](Self::object_chunks) of the last loaded object, for which no filters were skipped, what
    /// costs next to nothing ([`FilterChain::check_stored`](ncz_registry::chain::FilterChain::check_stored)). Returns
    /// how many chunks it has.
    ///
    /// # Errors
    /// The index of a shard is damaged, or a chunk cannot be decoded.
    pub fn check_loaded(&self, worker: &Worker, index: &[u64]) -> Result<u64, DataError> {
        let mut count = 0;
        for chunk in self.object_chunks(index) {
            count += u64::from(self.checked_chunk(worker, &chunk)?.is_some());
        }
        Ok(count)
    }

    /// Returns the stored bytes of a chunk of the last loaded object, checked as by [`check_loaded`](Self::check_loaded);
    /// `None` if it has no such chunk.
    ///
    /// # Errors
    /// As for [`check_loaded`](Self::check_loaded).
    fn checked_chunk<'w>(&self, worker: &'w Worker, index: &[u64]) -> Result<Option<&'w [u8]>, DataError> {
        let checked =
            |stored| self.chain.check_stored(stored).map(|()| Some(stored)).map_err(ChunkError::from);
        match &self.shards {
            None => checked(&worker.stored).map_err(|error| self.chunk_error(worker, error)),
            Some(shards) => worker
                .stored_in_shard(self, shards, shards.number(index))
                .and_then(|stored| stored.map_or(Ok(None), checked))
                .map_err(|error| self.chunk_error(worker, shard::of_chunk(index, error))),
        }
    }

    /// Decodes a chunk of the last loaded object, like [`read_chunk`](Self::read_chunk).
    ///
    /// # Errors
    /// The object has no such chunk, it cannot be decoded, or `out` does not have the length of a chunk.
    pub fn decode_loaded(
        &self,
        worker: &mut Worker,
        index: &[u64],
        out: &mut [u8],
    ) -> Result<Option<usize>, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        self.check_len(out.len())?;
        let Some(shards) = &self.shards else {
            self.decode_stored(worker, out).map_err(|error| self.chunk_error(worker, error))?;
            return Ok(Some(worker.stored.len()));
        };
        self.compute(worker, |worker| worker.decode_shard(self, shards, shards.number(index), out))
            .map_err(|error| self.chunk_error(worker, shard::of_chunk(index, error)))
    }

    /// Encodes and writes a whole object. `next` makes each of its [chunks](Self::object_chunks) in the stored layout,
    /// or returns `false` if there is no such chunk. An object without chunks is not written. If an object is one
    /// chunk, `next` should not wait for a remote store: other threads cannot decode or encode meanwhile.
    ///
    /// # Errors
    /// The array has no such object, `next` fails, a chunk cannot be encoded, or the object cannot be written.
    pub fn encode_object(
        &self,
        worker: &mut Worker,
        index: &[u64],
        next: &mut NextChunk<'_>,
    ) -> Result<Written, DataError> {
        self.check_index(index, self.object_shape())?;
        self.go_to(worker, index)?;
        let Some(shards) = &self.shards else { return self.encode_one(worker, index, next) };
        // Nothing is computed between its chunks, and `stored` is unused.
        let mut chunk = std::mem::take(&mut worker.stored);
        let len = self.chain.chunk_len();
        let chunks = shard::resize(&mut chunk, len)
            .map_err(|error| self.chunk_error(worker, error))
            .and_then(|()| self.encode_shard(worker, shards, index, &mut chunk, next));
        worker.stored = chunk;
        let chunks = chunks?;
        if chunks == 0 {
            return Ok(Written::default());
        }
        let bytes = worker.send_shard(self).map_err(|error| self.chunk_error(worker, error))?;
        Ok(Written { chunks, bytes: bytes as u64 })
    }

    fn encode_one(
        &self,
        worker: &mut Worker,
        index: &[u64],
        next: &mut NextChunk<'_>,
    ) -> Result<Written, DataError> {
        let encoded = self.compute(worker, |worker| {
            worker.reserve_chunk(self).map_err(|error| self.chunk_error(worker, error))?;
            let mut chunk = std::mem::take(&mut worker.buffers.chunk);
            let encoded = next(index, &mut chunk).and_then(|found| {
                let encoded = found.then(|| worker.pack(self, &chunk)).transpose();
                encoded.map_err(|error| self.chunk_error(worker, error))
            });
            worker.buffers.chunk = chunk;
            encoded
        })?;
        let Some(encoded) = encoded else { return Ok(Written::default()) };
        let bytes = worker.send(self, encoded, &[]).map_err(|error| self.chunk_error(worker, error))?;
        Ok(Written { chunks: 1, bytes: bytes as u64 })
    }

    /// Builds a shard in the worker. Returns the number of its chunks.
    fn encode_shard(
        &self,
        worker: &mut Worker,
        shards: &Shards,
        index: &[u64],
        chunk: &mut [u8],
        next: &mut NextChunk<'_>,
    ) -> Result<u64, DataError> {
        let key = worker.key().to_owned();
        let failed = |error| self.object_error(&key, error);
        let mut builder = Builder::new(self, shards, index, false, worker).map_err(failed)?;
        let mut chunks = 0;
        for at in self.object_chunks(index) {
            builder.keep(shards.number(&at)).map_err(failed)?;
            if next(&at, chunk)? {
                builder.encode(chunk).map_err(|error| failed(shard::of_chunk(&at, error)))?;
                chunks += 1;
            }
        }
        builder.finish().map_err(failed)?;
        Ok(chunks)
    }

    /// Writes the stored bytes of an object.
    ///
    /// # Errors
    /// The array has no such object, or it cannot be written.
    pub fn write_object(&self, worker: &mut Worker, index: &[u64], stored: &[u8]) -> Result<(), DataError> {
        self.check_index(index, self.object_shape())?;
        self.go_to(worker, index)?;
        worker.store(self, stored).map_err(|error| self.chunk_error(worker, error))
    }

    /// Writes an object with only these chunks, in C order: those with `true` as they are stored in the object that
    /// `source` loaded last into the worker `loaded`, the others from `other`, decoded. `source` has the same chunks,
    /// objects and codecs.
    ///
    /// # Errors
    /// The array has no such object, one of the chunks is damaged, or the object cannot be written.
    pub fn write_some(
        &self,
        worker: &mut Worker,
        index: &[u64],
        (source, loaded): (&Self, &Worker),
        chunks: &[(Vec<u64>, bool)],
        other: &[u8],
    ) -> Result<Written, DataError> {
        let Some(shards) = &self.shards else {
            let mut written = Written::default();
            for (chunk, is_stored) in chunks {
                let stored = if *is_stored { source.checked_chunk(loaded, chunk)? } else { None };
                written.bytes += match stored {
                    Some(stored) => self.write_stored(worker, chunk, stored).map(|()| stored.len())?,
                    None => self.write_chunk(worker, chunk, other)?,
                } as u64;
                written.chunks += 1;
            }
            return Ok(written);
        };
        self.check_len(other.len())?;
        self.check_index(index, self.object_shape())?;
        self.go_to(worker, index)?;
        let key = worker.key().to_owned();
        let failed = |error| self.object_error(&key, error);
        let mut builder = Builder::new(self, shards, index, false, worker).map_err(failed)?;
        for (chunk, is_stored) in chunks {
            let stored = if *is_stored { source.checked_chunk(loaded, chunk)? } else { None };
            let added = builder.keep(shards.number(chunk)).and_then(|()| match stored {
                Some(stored) => builder.push(stored),
                None => builder.encode(other),
            });
            added.map_err(failed)?;
        }
        builder.finish().map_err(failed)?;
        let bytes = worker.send_shard(self).map_err(|error| self.chunk_error(worker, error))?;
        Ok(Written { chunks: chunks.len() as u64, bytes: bytes as u64 })
    }

    /// Removes an object if it exists; its chunks then read as fill.
    ///
    /// # Errors
    /// The array has no such object, or the store fails.
    pub fn remove_object(&self, worker: &mut Worker, index: &[u64]) -> Result<(), DataError> {
        self.check_index(index, self.object_shape())?;
        self.go_to(worker, index)?;
        let removed = worker.object_key().and_then(|key| Ok(self.store.delete(key)?));
        removed.map(drop).map_err(|error| self.chunk_error(worker, error))
    }

    /// Decodes the chunk that was loaded.
    fn decode_stored(&self, worker: &mut Worker, out: &mut [u8]) -> Result<(), ChunkError> {
        self.compute(worker, |worker| {
            worker::decode(self, worker.location.filter_mask, &mut worker.buffers.chain, &worker.stored, out)
        })
    }

    /// Reads the stored bytes of a chunk of a shard; returns `false` if there is no such chunk.
    fn load_chunk(&self, worker: &mut Worker, shards: &Shards, index: &[u64]) -> Result<bool, DataError> {
        self.go_to(worker, &shards.of_chunk(index))?;
        worker
            .load_chunk(self, shards, shards.number(index))
            .map_err(|error| self.chunk_error(worker, shard::of_chunk(index, error)))
    }

    /// Rewrites the shard of a chunk with the chunk that `add` makes. Returns the chunk's stored length.
    fn change_shard(
        &self,
        worker: &mut Worker,
        shards: &Shards,
        index: &[u64],
        add: impl FnOnce(&mut Builder<'_>) -> Result<(), ChunkError>,
    ) -> Result<usize, DataError> {
        let shard = shards.of_chunk(index);
        self.go_to(worker, &shard)?;
        let change = || {
            let has_old = worker.load_shard(self, shards)?;
            let len = self.compute(worker, |worker| {
                let mut builder = Builder::new(self, shards, &shard, has_old, worker)?;
                builder.keep(shards.number(index))?;
                add(&mut builder).map_err(|error| shard::of_chunk(index, error))?;
                let len = builder.last_len();
                builder.finish()?;
                Ok::<_, ChunkError>(len)
            })?;
            worker.send_shard(self)?;
            Ok(len)
        };
        change().map_err(|error| self.chunk_error(worker, error))
    }

    fn go_to(&self, worker: &mut Worker, object: &[u64]) -> Result<(), DataError> {
        worker.go_to(self, object).map_err(|error| self.chunk_error(worker, error))
    }

    fn counts(&self, shape: &[u64]) -> Vec<u64> {
        self.stored_shape.iter().zip(shape).map(|(len, part)| len.div_ceil(*part)).collect()
    }

    fn slab_of(&self, index: &[u64], shape: &[u64]) -> Slab {
        let start: Vec<u64> = index.iter().zip(shape).map(|(i, len)| i.saturating_mul(*len)).collect();
        let lens = shape.iter().zip(&self.stored_shape);
        let count: Vec<u64> = start
            .iter()
            .zip(lens)
            .map(|(start, (len, end))| (*len).min(end.saturating_sub(*start)))
            .collect();
        Slab::new(start, count)
    }

    /// Checks that the stored array has a chunk or object of this shape at `index`. Outside the array it would never be
    /// read.
    fn check_index(&self, index: &[u64], shape: &[u64]) -> Result<(), DataError> {
        let counts = self.counts(shape);
        if index.len() == counts.len() && index.iter().zip(&counts).all(|(i, count)| i < count) {
            return Ok(());
        }
        Err(self.slab_error(SlabError::Chunk { index: index.to_vec(), counts }))
    }

    fn check_len(&self, got: usize) -> Result<(), DataError> {
        let want = self.chain.chunk_len();
        if want == got {
            return Ok(());
        }
        Err(self.slab_error(SlabError::Buffer { want: want as u64, got: got as u64 }))
    }
}
