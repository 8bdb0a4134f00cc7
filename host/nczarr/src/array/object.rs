//! Chunks one by one, and the objects of the store that hold them: a chunk each, or a shard of chunks.

use super::shard::{self, Builder, Shards};
use super::{Array, Worker, Written, worker};
use crate::data_error::{ChunkFault, DataError};
use crate::grid::{Slab, SlabError};

/// Makes the chunk with these coordinates as it is stored; `false`: there is none.
pub type NextChunk<'a> = dyn FnMut(&[u64], &mut [u8]) -> Result<bool, DataError> + 'a;

impl Array {
    /// Prefix of the keys of its objects, without slash at the end; empty for an array at the root.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.keys.prefix
    }

    /// How many chunks the stored array has in each dimension.
    #[must_use]
    pub fn chunk_counts(&self) -> Vec<u64> {
        self.counts(&self.chunk_shape)
    }

    /// The slab of the array that a chunk holds, cut at the array's end; empty for a chunk beyond it.
    #[must_use]
    pub fn chunk_slab(&self, index: &[u64]) -> Slab {
        self.slab_of(index, &self.chunk_shape)
    }

    /// Whether an object of the store holds several chunks and an index of them.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        self.shards.is_some()
    }

    /// Lengths of what one object of the store holds: a shard, or a chunk.
    #[must_use]
    pub fn object_shape(&self) -> &[u64] {
        self.shards.as_ref().map_or(&self.chunk_shape, |shards| &shards.shape)
    }

    /// How many objects the stored array has in each dimension.
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
        let mut key = String::new();
        self.keys.write(&mut key, index);
        key
    }

    /// The index of the object with this key; `None`: the key is of no object of the stored array.
    #[must_use]
    pub fn object_index(&self, key: &str) -> Option<Vec<u64>> {
        let index = self.keys.parse(key, self.chunk_shape.len())?;
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

    /// Reads and decodes one whole chunk as it is stored (byte order, order of the dimensions, padding at the array's
    /// end included) into `out`. Returns the stored length; `None`: there is no such chunk.
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be read or decoded, or `out` is not of a chunk's length.
    pub fn read_chunk(
        &self,
        worker: &mut Worker,
        index: &[u64],
        out: &mut [u8],
    ) -> Result<Option<usize>, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        self.check_len(out.len())?;
        let Some(shards) = &self.shards else {
            worker.set_key(self, index);
            let found = worker.decode(self, out).map_err(|fault| self.chunk_error(worker, fault))?;
            return Ok(found.then(|| if self.chain.is_empty() { out.len() } else { worker.stored.len() }));
        };
        if !self.load_chunk(worker, shards, index)? {
            return Ok(None);
        }
        let decoded = self.decode_stored(worker, out);
        decoded.map_err(|fault| self.chunk_error(worker, shard::of_chunk(index, fault)))?;
        Ok(Some(worker.stored.len()))
    }

    /// Encodes and writes one whole chunk as it is stored. Returns the stored length. A shard around it is read and
    /// written as a whole; write chunks of the same shard from one thread, or use
    /// [`encode_object`](Self::encode_object).
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be encoded or written, or `chunk` is not of a chunk's
    /// length.
    pub fn write_chunk(&self, worker: &mut Worker, index: &[u64], chunk: &[u8]) -> Result<usize, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        self.check_len(chunk.len())?;
        let Some(shards) = &self.shards else {
            worker.set_key(self, index);
            return worker.encode(self, chunk).map_err(|fault| self.chunk_error(worker, fault));
        };
        self.change_shard(worker, shards, index, |builder| builder.encode(chunk))
    }

    /// The stored bytes of one chunk; `None`: there is none.
    ///
    /// # Errors
    /// The array has no such chunk, it cannot be read, or it has no codecs and another length than a chunk.
    pub fn read_stored<'w>(
        &self,
        worker: &'w mut Worker,
        index: &[u64],
    ) -> Result<Option<&'w [u8]>, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        let found = match &self.shards {
            None => {
                worker.set_key(self, index);
                worker.load(self).map_err(|fault| self.chunk_error(worker, fault))?
            }
            Some(shards) => self.load_chunk(worker, shards, index)?,
        };
        if !found {
            return Ok(None);
        }
        let (want, got) = (self.chain.chunk_len() as u64, worker.stored.len() as u64);
        if self.chain.is_empty() && got != want {
            let mut fault = ChunkFault::Length { want, got };
            if self.shards.is_some() {
                fault = shard::of_chunk(index, fault);
            }
            return Err(self.chunk_error(worker, fault));
        }
        Ok(Some(&worker.stored))
    }

    /// Writes the stored bytes of one chunk as they are. A shard around it is read and written as a whole.
    ///
    /// # Errors
    /// The array has no such chunk, or it cannot be written.
    pub fn write_stored(&self, worker: &mut Worker, index: &[u64], stored: &[u8]) -> Result<(), DataError> {
        self.check_index(index, &self.chunk_shape)?;
        let Some(shards) = &self.shards else {
            worker.set_key(self, index);
            return worker.store(self, stored).map_err(|fault| self.chunk_error(worker, fault));
        };
        self.change_shard(worker, shards, index, |builder| builder.push(stored))?;
        Ok(())
    }

    /// Reads an object as it is stored and keeps it in the worker, for [`loaded`](Self::loaded) and
    /// [`decode_loaded`](Self::decode_loaded). Says whether there is one.
    ///
    /// # Errors
    /// The array has no such object, it cannot be read, it is longer than its codecs make any, a shard's index is
    /// damaged, or it has no codecs and another length than a chunk.
    pub fn load_object(&self, worker: &mut Worker, index: &[u64]) -> Result<bool, DataError> {
        let Some(shards) = &self.shards else { return Ok(self.read_stored(worker, index)?.is_some()) };
        self.check_index(index, &shards.shape)?;
        worker.set_key(self, index);
        worker.load_shard(self, shards).map_err(|fault| self.chunk_error(worker, fault))
    }

    /// The bytes of the object that was loaded last.
    #[must_use]
    pub fn loaded<'w>(&self, worker: &'w Worker) -> &'w [u8] {
        if self.shards.is_some() { worker.shard() } else { &worker.stored }
    }

    /// How many of its [chunks](Self::object_chunks) the object that was loaded last has.
    ///
    /// # Errors
    /// A shard's index that is damaged.
    pub fn loaded_chunks(&self, worker: &Worker, index: &[u64]) -> Result<u64, DataError> {
        let Some(shards) = &self.shards else { return Ok(1) };
        let mut count = 0;
        for chunk in self.object_chunks(index) {
            let found = worker.has_chunk(self, shards, shards.number(&chunk));
            count +=
                u64::from(found.map_err(|fault| self.chunk_error(worker, shard::of_chunk(&chunk, fault)))?);
        }
        Ok(count)
    }

    /// Decodes a chunk of the object that was loaded last, as [`read_chunk`](Self::read_chunk) does.
    ///
    /// # Errors
    /// The object has no such chunk, it cannot be decoded, or `out` is not of a chunk's length.
    pub fn decode_loaded(
        &self,
        worker: &mut Worker,
        index: &[u64],
        out: &mut [u8],
    ) -> Result<Option<usize>, DataError> {
        self.check_index(index, &self.chunk_shape)?;
        self.check_len(out.len())?;
        let Some(shards) = &self.shards else {
            self.decode_stored(worker, out).map_err(|fault| self.chunk_error(worker, fault))?;
            return Ok(Some(worker.stored.len()));
        };
        self.compute(worker, |worker| worker.decode_shard(self, shards, shards.number(index), out))
            .map_err(|fault| self.chunk_error(worker, shard::of_chunk(index, fault)))
    }

    /// Encodes and writes a whole object. `next` is asked for each of its [chunks](Self::object_chunks) as it is
    /// stored; `false`: there is no such chunk. An object without chunks is not written. Where an object is one chunk,
    /// `next` should not wait for a remote store: others cannot decode or encode meanwhile.
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
        worker.set_key(self, index);
        let Some(shards) = &self.shards else { return self.encode_one(worker, index, next) };
        // Between its chunks nothing is computed, and `stored` is not used.
        let mut chunk = std::mem::take(&mut worker.stored);
        let len = self.chain.chunk_len();
        let chunks = shard::resize(&mut chunk, len)
            .map_err(|fault| self.chunk_error(worker, fault))
            .and_then(|()| self.encode_shard(worker, shards, index, &mut chunk, next));
        worker.stored = chunk;
        let chunks = chunks?;
        if chunks == 0 {
            return Ok(Written::default());
        }
        let bytes = worker.send_shard(self).map_err(|fault| self.chunk_error(worker, fault))?;
        Ok(Written { chunks, bytes: bytes as u64 })
    }

    fn encode_one(
        &self,
        worker: &mut Worker,
        index: &[u64],
        next: &mut NextChunk<'_>,
    ) -> Result<Written, DataError> {
        let encoded = self.compute(worker, |worker| {
            worker.reserve_chunk(self).map_err(|fault| self.chunk_error(worker, fault))?;
            let mut chunk = std::mem::take(&mut worker.bench.chunk);
            let encoded = next(index, &mut chunk).and_then(|found| {
                let encoded = found.then(|| worker.pack(self, &chunk)).transpose();
                encoded.map_err(|fault| self.chunk_error(worker, fault))
            });
            worker.bench.chunk = chunk;
            encoded
        })?;
        let Some(encoded) = encoded else { return Ok(Written::default()) };
        let bytes = worker.send(self, encoded, &[]).map_err(|fault| self.chunk_error(worker, fault))?;
        Ok(Written { chunks: 1, bytes: bytes as u64 })
    }

    /// Makes a shard in the worker. Returns how many chunks it has.
    fn encode_shard(
        &self,
        worker: &mut Worker,
        shards: &Shards,
        index: &[u64],
        chunk: &mut [u8],
        next: &mut NextChunk<'_>,
    ) -> Result<u64, DataError> {
        let key = worker.key().to_owned();
        let failed = |fault| self.object_error(&key, fault);
        let mut builder = Builder::new(self, shards, index, false, worker).map_err(failed)?;
        let mut chunks = 0;
        for at in self.object_chunks(index) {
            builder.keep(shards.number(&at)).map_err(failed)?;
            if next(&at, chunk)? {
                builder.encode(chunk).map_err(|fault| failed(shard::of_chunk(&at, fault)))?;
                chunks += 1;
            }
        }
        builder.finish().map_err(failed)?;
        Ok(chunks)
    }

    /// Writes an object as it is stored.
    ///
    /// # Errors
    /// The array has no such object, or it cannot be written.
    pub fn write_object(&self, worker: &mut Worker, index: &[u64], stored: &[u8]) -> Result<(), DataError> {
        self.check_index(index, self.object_shape())?;
        worker.set_key(self, index);
        worker.store(self, stored).map_err(|fault| self.chunk_error(worker, fault))
    }

    /// Removes an object, if it is there; its chunks read as fill then.
    pub(crate) fn remove_object(&self, worker: &mut Worker, index: &[u64]) -> Result<(), DataError> {
        self.check_index(index, self.object_shape())?;
        worker.set_key(self, index);
        let removed = worker.parsed_key().and_then(|key| Ok(self.store.delete(key)?));
        removed.map(drop).map_err(|fault| self.chunk_error(worker, fault))
    }

    /// Decodes the chunk that was loaded.
    fn decode_stored(&self, worker: &mut Worker, out: &mut [u8]) -> Result<(), ChunkFault> {
        self.compute(worker, |worker| worker::decode(self, &mut worker.bench.chain, &worker.stored, out))
    }

    /// Reads the stored bytes of a chunk of a shard; `false`: there is none.
    fn load_chunk(&self, worker: &mut Worker, shards: &Shards, index: &[u64]) -> Result<bool, DataError> {
        worker.set_key(self, &shards.of_chunk(index));
        worker
            .load_chunk(self, shards, shards.number(index))
            .map_err(|fault| self.chunk_error(worker, shard::of_chunk(index, fault)))
    }

    /// Writes the shard around a chunk anew, with the chunk that `add` makes. Returns the chunk's stored length.
    fn change_shard(
        &self,
        worker: &mut Worker,
        shards: &Shards,
        index: &[u64],
        add: impl FnOnce(&mut Builder<'_>) -> Result<(), ChunkFault>,
    ) -> Result<usize, DataError> {
        let shard = shards.of_chunk(index);
        worker.set_key(self, &shard);
        let change = || {
            let has_old = worker.load_shard(self, shards)?;
            let len = self.compute(worker, |worker| {
                let mut builder = Builder::new(self, shards, &shard, has_old, worker)?;
                builder.keep(shards.number(index))?;
                add(&mut builder).map_err(|fault| shard::of_chunk(index, fault))?;
                let len = builder.last_len();
                builder.finish()?;
                Ok::<_, ChunkFault>(len)
            })?;
            worker.send_shard(self)?;
            Ok(len)
        };
        change().map_err(|fault| self.chunk_error(worker, fault))
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

    /// Whether the stored array has a chunk, or an object, of this shape there. Elsewhere it would never be read again.
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
