//! Chunks of strings of any length: their storage, and the parts that a slab takes.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ncz_registry::chain::{ChainScratch, FilterChain};
use ncz_store::{Key, Store, StoreError, StoreExt, WriteMode};

use super::Strings;
use super::layout::{self, Layout, MAX_CHUNK_BYTES};
use crate::array::{ObjectKeys, Written};
use crate::data_error::{ChunkError, DataError};
use crate::dtype::Kind;
use crate::grid::{Cover, Segment, Slab};
use crate::hierarchy::Variable;
use crate::pool::{self, Pool, Tasks};

/// Reads the strings of chunks that do not hold the strings themselves: those of an HDF5 file hold addresses in heaps.
pub trait StringChunks: fmt::Debug + Send + Sync {
    /// Reads the strings of the chunk with these coordinates, in its stored order, with its padding at the array's end.
    /// Returns `None` if there is no such chunk.
    ///
    /// # Errors
    /// The chunk, or what it refers to, cannot be read.
    fn read(&self, index: &[u64]) -> Result<Option<Strings>, ChunkError>;
}

/// The chunks of a variable whose strings are of any length.
#[derive(Debug)]
pub(super) struct Chunks {
    /// Where the strings of a chunk come from; `None` if the chunk itself holds them.
    supply: Option<Arc<dyn StringChunks>>,
    store: Arc<dyn Store>,
    path: String,
    keys: ObjectKeys,
    is_text: bool,
    stored_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    /// The number of elements from one index of a dimension to the next in a chunk.
    steps: Vec<u64>,
    /// The number of elements of a chunk.
    elements: usize,
    fill: Vec<u8>,
    chain: FilterChain,
    pool: Pool,
    idle: Mutex<Vec<ChunkBuffers>>,
}

/// The threads that do the work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Threads {
    /// Only the caller's thread.
    Caller,
    /// All threads of the pool, or I/O threads.
    All,
}

/// The assumed bytes of a string in memory.
const STRING_BYTES: u64 = 64;

/// The buffers of one thread.
#[derive(Debug, Default)]
struct ChunkBuffers {
    scratch: ChainScratch,
    key: String,
    index: Vec<u64>,
    segments: Vec<Segment>,
    chunk: Vec<u8>,
    layout: Layout,
}

/// The strings that a slab takes of a chunk, in row-major order.
struct Part {
    number: u64,
    found: bool,
    segments: Vec<Segment>,
    strings: Strings,
}

/// The source of an element of a new chunk.
#[derive(Clone, Copy)]
enum From {
    Old,
    New(usize),
}

impl Chunks {
    pub(super) fn new(
        store: Arc<dyn Store>,
        variable: &Variable,
        chain: FilterChain,
        pool: Pool,
    ) -> Result<Self, DataError> {
        let unsupported = |reason: String| DataError::Unsupported { variable: variable.path.clone(), reason };
        if variable.sharding.is_some() {
            return Err(unsupported(
                "strings of any length in shards are not supported; rewrite it without sharding_indexed"
                    .to_owned(),
            ));
        }
        if chain.chunk_len() != MAX_CHUNK_BYTES {
            return Err(unsupported("its codecs are not bound to strings of any length".to_owned()));
        }
        // Each string takes four bytes at least.
        let most = MAX_CHUNK_BYTES as u64 / 4 - 1;
        let elements = variable.chunk_elements().filter(|elements| (1..=most).contains(elements));
        let elements = elements.ok_or_else(|| {
            unsupported(format!("its chunks {:?} have more than {most} strings", variable.chunk_shape))
        })?;
        let mut steps = vec![0; variable.chunk_shape.len()];
        let mut step = 1;
        for dimension in variable.order.axes(steps.len()).into_iter().rev() {
            steps[dimension] = step;
            step *= variable.chunk_shape[dimension];
        }
        Ok(Self {
            supply: None,
            store,
            path: variable.path.clone(),
            keys: ObjectKeys::new(variable),
            is_text: variable.dtype.kind() == Kind::VlenText,
            stored_shape: variable.shape.clone(),
            chunk_shape: variable.chunk_shape.clone(),
            steps,
            elements: elements as usize,
            fill: variable.fill.as_ref().map_or_else(Vec::new, |fill| fill.bytes().to_vec()),
            chain,
            pool,
            idle: Mutex::default(),
        })
    }

    /// Takes the strings of chunks from `supply`. They may hold any bytes.
    pub(super) fn supplied(mut self, supply: Arc<dyn StringChunks>) -> Self {
        self.supply = Some(supply);
        self.is_text = false;
        self
    }

    pub(super) fn chain(&self) -> &FilterChain {
        &self.chain
    }

    /// Whether each request to their store is a network round trip.
    pub(super) fn is_remote(&self) -> bool {
        self.store.capabilities().in_flight > 1
    }

    pub(super) fn stored_shape(&self) -> &[u64] {
        &self.stored_shape
    }

    /// Reads a checked slab on these `threads`. Returns whether any chunk of it exists.
    pub(super) fn read(
        &self,
        threads: Threads,
        slab: &Slab,
        elements: usize,
    ) -> Result<(Strings, bool), DataError> {
        let cover = slab.cover(&self.chunk_shape);
        let count = self.count(&cover)?;
        let mut strings = Strings::new();
        if count == 0 {
            return Ok((strings, false));
        }
        self.reserve(&mut strings, elements, 0)?;
        let parts = Mutex::new(Vec::new());
        self.each_chunk(threads, count, |buffers, number| {
            cover.part(number, &mut buffers.index, &mut buffers.segments);
            let part = self.read_part(buffers, number)?;
            parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
            Ok(())
        })?;
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_unstable_by_key(|part| part.number);
        let found = parts.iter().any(|part| part.found);
        let bytes = parts.iter().map(|part| part.strings.byte_len()).sum();
        self.reserve(&mut strings, 0, bytes)?;
        if cover.is_sequential() {
            for part in parts {
                strings.extend(part.strings.iter());
            }
            return Ok((strings, found));
        }
        let mut order: Vec<(u32, u32)> = Vec::new();
        order.try_reserve_exact(elements).map_err(|_| self.no_memory(elements))?;
        order.resize(elements, (0, 0));
        let steps = row_major(slab.count());
        for (number, part) in parts.iter().enumerate() {
            let mut nth = 0;
            each_element(&part.segments, |at| {
                let position = at.iter().zip(&part.segments).zip(&steps);
                let position: u64 = position.map(|((k, segment), step)| (segment.in_slab + k) * step).sum();
                order[position as usize] = (number as u32, nth);
                nth += 1;
            });
        }
        strings.extend(
            order
                .iter()
                .map(|&(part, nth)| parts[part as usize].strings.get(nth as usize).unwrap_or_default()),
        );
        Ok((strings, found))
    }

    /// Writes a checked slab on these `threads`.
    pub(super) fn write(
        &self,
        threads: Threads,
        slab: &Slab,
        strings: &[&[u8]],
    ) -> Result<Written, DataError> {
        let cover = slab.cover(&self.chunk_shape);
        let steps = row_major(slab.count());
        let chunks = self.count(&cover)?;
        let bytes = AtomicU64::new(0);
        self.each_chunk(threads, chunks, |buffers, number| {
            cover.part(number, &mut buffers.index, &mut buffers.segments);
            let stored = self.write_part(buffers, &steps, strings)?;
            bytes.fetch_add(stored as u64, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(Written { chunks, bytes: bytes.into_inner() })
    }

    /// Returns the stored bytes of a chunk after [`check_stored`](FilterChain::check_stored); `None` if there is no such
    /// chunk.
    pub(super) fn read_stored(&self, index: &[u64]) -> Result<Option<Vec<u8>>, DataError> {
        let mut buffers = self.buffers(index);
        let load = || {
            let stored = self.load(&buffers.key, index)?;
            stored.iter().try_for_each(|stored| self.chain.check_stored(stored))?;
            Ok(stored)
        };
        load().map_err(|error| self.chunk_error(&mut buffers, error))
    }

    /// Writes the stored bytes of a chunk unchanged.
    pub(super) fn write_stored(&self, index: &[u64], stored: &[u8]) -> Result<(), DataError> {
        let mut buffers = self.buffers(index);
        self.save(&buffers.key, stored).map_err(|error| self.chunk_error(&mut buffers, error))
    }

    /// Removes a chunk, if it exists.
    pub(super) fn remove_stored(&self, index: &[u64]) -> Result<(), DataError> {
        let mut buffers = self.buffers(index);
        let remove = |key: &str| -> Result<bool, ChunkError> { Ok(self.store.delete(Key::parse(key)?)?) };
        remove(&buffers.key).map(drop).map_err(|error| self.chunk_error(&mut buffers, error))
    }

    /// The buffers for the chunk at `index`.
    fn buffers(&self, index: &[u64]) -> ChunkBuffers {
        let mut buffers = ChunkBuffers { index: index.to_vec(), ..ChunkBuffers::default() };
        self.keys.write(&mut buffers.key, &buffers.index);
        buffers
    }

    fn read_part(&self, buffers: &mut ChunkBuffers, number: u64) -> Result<Part, ChunkError> {
        let stored = self.fetch(buffers)?;
        pool::compute(|| self.unpack_part(buffers, number, stored.as_deref()))
    }

    /// Decodes its chunk, and returns the part that its segments take; `None` if there is no such chunk.
    fn unpack_part(
        &self,
        buffers: &mut ChunkBuffers,
        number: u64,
        stored: Option<&[u8]>,
    ) -> Result<Part, ChunkError> {
        let found = self.decode(buffers, stored)?;
        let elements = buffers.segments.iter().map(|segment| segment.len).product::<u64>() as usize;
        let mut strings = Strings::new();
        let memory = |_| ChunkError::Memory { len: elements };
        strings.try_reserve(elements, 0).map_err(memory)?;
        let mut full = Ok(());
        each_element(&buffers.segments, |at| {
            let string = match self.position(buffers, at) {
                Some(position) if found => buffers.layout.string(&buffers.chunk, position),
                _ => &self.fill,
            };
            if full.is_ok() {
                full = strings.try_reserve(1, string.len());
                strings.push(if full.is_ok() { string } else { &[] });
            }
        });
        full.map_err(memory)?;
        Ok(Part { number, found, segments: buffers.segments.clone(), strings })
    }

    fn write_part(
        &self,
        buffers: &mut ChunkBuffers,
        steps: &[u64],
        strings: &[&[u8]],
    ) -> Result<usize, ChunkError> {
        let mut from = Vec::new();
        from.try_reserve_exact(self.elements).map_err(|_| ChunkError::Memory { len: self.elements })?;
        from.resize(self.elements, From::Old);
        each_element(&buffers.segments, |at| {
            let in_slab = at.iter().zip(&buffers.segments).zip(steps);
            let in_slab: u64 = in_slab.map(|((k, segment), step)| (segment.in_slab + k) * step).sum();
            if let Some(position) = self.position(buffers, at) {
                from[position] = From::New(in_slab as usize);
            }
        });
        let is_whole = from.iter().all(|from| matches!(from, From::New(_)));
        let old = if is_whole || self.covers_stored(buffers) { None } else { self.fetch(buffers)? };
        self.keys.write(&mut buffers.key, &buffers.index);
        let stored = pool::compute(|| self.pack(buffers, &from, strings, old.as_deref()))?;
        self.save(&buffers.key, &stored)?;
        Ok(stored.len())
    }

    /// Makes the stored bytes of a chunk.
    fn pack(
        &self,
        buffers: &mut ChunkBuffers,
        from: &[From],
        strings: &[&[u8]],
        old: Option<&[u8]>,
    ) -> Result<Vec<u8>, ChunkError> {
        let found = self.decode(buffers, old)?;
        let element = |position: usize| match from[position] {
            From::New(at) => strings.get(at).copied().unwrap_or_default(),
            From::Old if found => buffers.layout.string(&buffers.chunk, position),
            From::Old => &self.fill,
        };
        let all = || (0..self.elements).map(element);
        let len = layout::chunk_len(all()).ok_or(ChunkError::LongStrings { most: MAX_CHUNK_BYTES })?;
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
        layout::write(&mut chunk, self.elements, all());
        if self.chain.is_empty() {
            return Ok(chunk);
        }
        let encoded = self.chain.encode_bytes(&mut buffers.scratch, &chunk)?;
        let mut stored = Vec::new();
        stored.try_reserve_exact(encoded.len()).map_err(|_| ChunkError::Memory { len: encoded.len() })?;
        stored.extend_from_slice(encoded);
        Ok(stored)
    }

    /// The position in its chunk of an element of its segments; `None` beyond the stored array.
    fn position(&self, buffers: &ChunkBuffers, at: &[u64]) -> Option<usize> {
        let mut position = 0;
        for (dimension, (k, segment)) in at.iter().zip(&buffers.segments).enumerate() {
            let in_chunk = segment.in_chunk + k * segment.stride;
            let low = buffers.index[dimension] * self.chunk_shape[dimension];
            if low.checked_add(in_chunk)? >= self.stored_shape[dimension] {
                return None;
            }
            position += in_chunk * self.steps[dimension];
        }
        Some(position as usize)
    }

    /// Whether its segments take all of the chunk that lies within the stored array.
    fn covers_stored(&self, buffers: &ChunkBuffers) -> bool {
        buffers.segments.iter().enumerate().all(|(dimension, segment)| {
            let low = buffers.index[dimension] * self.chunk_shape[dimension];
            let stored = self.chunk_shape[dimension].min(self.stored_shape[dimension].saturating_sub(low));
            segment.stride == 1 && segment.in_chunk == 0 && segment.len >= stored
        })
    }

    /// Reads the stored bytes of its chunk; returns `None` if there is no such chunk.
    fn fetch(&self, buffers: &mut ChunkBuffers) -> Result<Option<Vec<u8>>, ChunkError> {
        let beyond = (0..buffers.index.len())
            .any(|d| buffers.index[d].saturating_mul(self.chunk_shape[d]) >= self.stored_shape[d]);
        if beyond {
            return Ok(None);
        }
        self.keys.write(&mut buffers.key, &buffers.index);
        self.load(&buffers.key, &buffers.index)
    }

    /// Decodes and checks its chunk; returns `false` if there is no such chunk.
    fn decode(&self, buffers: &mut ChunkBuffers, stored: Option<&[u8]>) -> Result<bool, ChunkError> {
        let Some(stored) = stored else { return Ok(false) };
        self.chain.decode_bytes(&mut buffers.scratch, stored, MAX_CHUNK_BYTES, &mut buffers.chunk)?;
        buffers.layout.parse(&buffers.chunk, self.elements, self.is_text)?;
        Ok(true)
    }

    fn load(&self, key: &str, index: &[u64]) -> Result<Option<Vec<u8>>, ChunkError> {
        if let Some(supply) = &self.supply {
            let Some(strings) = supply.read(index)? else { return Ok(None) };
            let len =
                layout::chunk_len(strings.iter()).ok_or(ChunkError::LongStrings { most: MAX_CHUNK_BYTES })?;
            let mut chunk = Vec::new();
            chunk.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
            layout::write(&mut chunk, strings.len(), strings.iter());
            return Ok(Some(chunk));
        }
        let most = self.chain.max_stored_len() as u64;
        match self.store.read_vec(Key::parse(key)?, most) {
            Err(StoreError::TooLarge { len: got, limit: most, .. }) => {
                Err(ChunkError::TooLong { got, most, chain: self.chain.to_string() })
            }
            other => Ok(other?),
        }
    }

    fn save(&self, key: &str, stored: &[u8]) -> Result<(), ChunkError> {
        if self.supply.is_some() {
            return Err(ChunkError::NotAnObject);
        }
        self.store.write(Key::parse(key)?, stored, WriteMode::Replace)?;
        Ok(())
    }

    fn count(&self, cover: &Cover<'_>) -> Result<u64, DataError> {
        cover.chunks().filter(|&count| count <= u64::from(u32::MAX)).ok_or_else(|| DataError::Unsupported {
            variable: self.path.clone(),
            reason: "the hyperslab touches more than 2^32 chunks; ask for less at once".to_owned(),
        })
    }

    /// Calls `step` for each of `count` chunks until one fails.
    fn each_chunk(
        &self,
        threads: Threads,
        count: u64,
        step: impl Fn(&mut ChunkBuffers, u64) -> Result<(), ChunkError> + Sync,
    ) -> Result<(), DataError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let step = |buffers: &mut ChunkBuffers, number| {
            step(buffers, number).map_err(|error| self.chunk_error(buffers, error))
        };
        let used = match threads {
            Threads::Caller => {
                let mut buffers = idle();
                (0..count).try_for_each(|number| step(&mut buffers, number))?;
                vec![buffers]
            }
            Threads::All => {
                // The stored chunk and the decoded one.
                let bytes = (self.elements as u64).saturating_mul(2 * STRING_BYTES);
                self.pool.for_each(&Tasks::new(count).on(&[&*self.store], bytes), idle, step)?
            }
        };
        // A remote store has many buffers; only a few are kept.
        let used = used.into_iter().take(self.pool.threads());
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(used);
        Ok(())
    }

    fn chunk_error(&self, buffers: &mut ChunkBuffers, source: ChunkError) -> DataError {
        self.keys.write(&mut buffers.key, &buffers.index);
        DataError::Chunk {
            variable: self.path.clone(),
            key: buffers.key.clone(),
            store: self.store.to_string(),
            source: Box::new(source),
        }
    }

    fn reserve(&self, strings: &mut Strings, count: usize, bytes: usize) -> Result<(), DataError> {
        strings.try_reserve(count, bytes).map_err(|_| self.no_memory(count.max(bytes)))
    }

    fn no_memory(&self, len: usize) -> DataError {
        super::no_memory(&self.path, len)
    }
}

/// The number of elements from one index of a dimension to the next in row-major order.
fn row_major(count: &[u64]) -> Vec<u64> {
    let mut steps = vec![1; count.len()];
    for dimension in (1..count.len()).rev() {
        steps[dimension - 1] = steps[dimension] * count[dimension];
    }
    steps
}

/// Calls `step` with the indices of each element of the segments in row-major order.
fn each_element(segments: &[Segment], mut step: impl FnMut(&[u64])) {
    let mut at = vec![0; segments.len()];
    loop {
        step(&at);
        let mut dimension = segments.len();
        loop {
            if dimension == 0 {
                return;
            }
            dimension -= 1;
            at[dimension] += 1;
            if at[dimension] < segments[dimension].len {
                break;
            }
            at[dimension] = 0;
        }
    }
}
