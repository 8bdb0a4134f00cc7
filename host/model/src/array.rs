//! The data of one variable: hyperslabs and chunks, read and written on all threads.

mod lossy_guard;
mod object;
mod object_keys;
mod padding;
mod region;
mod runs;
mod shard;
mod slab_output;
mod transfer;
mod typed;
mod worker;

use std::sync::{Arc, Mutex, PoisonError};

use ncz_codec::Env;
use ncz_registry::chain::FilterChain;
use ncz_store::Store;

pub use object::NextChunk;
pub use typed::{Element, Values};
pub use worker::Worker;

pub use object_keys::ObjectKeys;
pub use padding::LossyTerms;
use shard::Shards;
use worker::CodecBuffers;

use crate::chunk_index::{ChunkIndex, Extent};
use crate::data_error::{ChunkError, DataError};
use crate::dtype::{ByteOrder, Dtype, Kind};
use crate::format::Format;
use crate::grid::{self, Slab, SlabError};
use crate::hierarchy::Variable;
use crate::pool::{self, Pool};
use crate::quantize::{QuantizeError, Quantizer};

/// A variable whose codecs are bound: reads and writes its data.
///
/// Elements are flat bytes in C order. [`Elements`] says in which byte order.
#[derive(Debug)]
pub struct Array {
    store: Arc<dyn Store>,
    path: String,
    chunks: Arc<dyn ChunkIndex>,
    dtype: Dtype,
    /// The lengths that netCDF shows; the stored array may be shorter.
    shape: Vec<u64>,
    stored_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    /// The shards; `None` if each chunk is an object of its own.
    shards: Option<Shards>,
    /// The dimensions of a chunk, from the slowest-changing to the fastest-changing.
    axes: Vec<usize>,
    terms: LossyTerms,
    /// The fill element, in the stored byte order; `native_fill` has it in the machine's.
    fill: Vec<u8>,
    native_fill: Vec<u8>,
    chain: FilterChain,
    quantizer: Result<Option<Quantizer>, QuantizeError>,
    pool: Pool,
    /// Workers of earlier calls, reused so that later calls allocate nothing.
    idle: Mutex<Vec<Worker>>,
    /// Buffers that I/O threads share; each set is used by one thread at a time.
    spare_buffers: Mutex<Vec<CodecBuffers>>,
}

/// The byte order of elements in the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Elements {
    /// The byte order of the machine.
    #[default]
    Native,
    /// The byte order of the stored dtype.
    Stored,
}

/// Statistics of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Written {
    /// The number of chunks written.
    pub chunks: u64,
    /// The stored bytes of these chunks.
    pub bytes: u64,
}

impl Array {
    /// Binds a variable of `shape` (what netCDF shows, see
    /// [`Hierarchy::shape_of`](crate::Hierarchy::shape_of)) to a store.
    ///
    /// # Errors
    /// The type has no size; or the chain, the lengths or the fill value do not fit this variable.
    pub fn new(
        store: Arc<dyn Store>,
        variable: &Variable,
        shape: Vec<u64>,
        chain: FilterChain,
        pool: Pool,
    ) -> Result<Self, DataError> {
        let element = variable.dtype.size();
        if element == 0 {
            return Err(DataError::without_size(variable));
        }
        let fill = variable.fill_bytes();
        let chunk_len = grid::product(variable.chunk_shape.iter().copied().chain([element as u64]));
        let rank = variable.shape.len();
        let fits = chunk_len == Some(chain.chunk_len() as u64)
            && chunk_len != Some(0)
            && [variable.chunk_shape.len(), shape.len()] == [rank, rank]
            && shape.iter().zip(&variable.shape).all(|(shown, stored)| shown >= stored)
            && fill.len() == element;
        if !fits {
            return Err(DataError::Unsupported {
                variable: variable.path.clone(),
                reason: format!(
                    "codecs for chunks of {} bytes and the shape {shape:?} do not fit its chunks {:?} of {} and its \
                     shape {:?}; bind the codecs to the variable as it is",
                    chain.chunk_len(),
                    variable.chunk_shape,
                    variable.dtype,
                    variable.shape
                ),
            });
        }
        let unsupported = |reason| DataError::Unsupported { variable: variable.path.clone(), reason };
        let axes = variable.order.axes(rank);
        if axes.len() != rank || !(0..rank).all(|dimension| axes.contains(&dimension)) {
            return Err(unsupported(format!("its order {axes:?} is not a permutation of {rank} dimensions")));
        }
        let shards = variable.sharding.as_ref().map(|sharding| Shards::new(sharding, &variable.chunk_shape));
        let shards = shards.transpose().map_err(unsupported)?;
        let native_fill = native(&variable.dtype, &fill);
        Ok(Self {
            store,
            path: variable.path.clone(),
            chunks: Arc::new(ObjectKeys::new(variable)),
            dtype: variable.dtype.clone(),
            shape,
            stored_shape: variable.shape.clone(),
            chunk_shape: variable.chunk_shape.clone(),
            shards,
            axes,
            terms: LossyTerms::default(),
            fill,
            native_fill,
            chain,
            quantizer: Quantizer::of(variable),
            pool,
            idle: Mutex::default(),
            spare_buffers: Mutex::default(),
        })
    }

    /// Replaces the chunk index: chunks are located by `chunks` instead of by Zarr's keys.
    #[must_use]
    pub fn with_chunks(mut self, chunks: Arc<dyn ChunkIndex>) -> Self {
        self.chunks = chunks;
        self
    }

    /// Replaces the fill value: chunks that do not exist read as this element, which is in the stored byte order. One of
    /// another size is not taken.
    #[must_use]
    pub fn with_fill(mut self, element: Vec<u8>) -> Self {
        if element.len() == self.fill.len() {
            self.native_fill = native(&self.dtype, &element);
            self.fill = element;
        }
        self
    }

    /// The path of the variable.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The name of the store.
    pub(crate) fn store_text(&self) -> String {
        self.store.to_string()
    }

    /// The type of an element as stored.
    #[must_use]
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// The lengths that netCDF shows.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The lengths of the stored array; elements that netCDF shows beyond them read as fill.
    #[must_use]
    pub fn stored_shape(&self) -> &[u64] {
        &self.stored_shape
    }

    /// The lengths of a chunk.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// The bound codecs.
    #[must_use]
    pub fn chain(&self) -> &FilterChain {
        &self.chain
    }

    /// Reads a hyperslab into `out`, in C order, with all threads. Chunks that do not exist read as the fill value, or
    /// as zeros if there is none.
    ///
    /// # Errors
    /// The slab does not fit the variable or `out`, or a chunk cannot be read or decoded. The content of `out` is then
    /// unspecified.
    pub fn read_bytes(&self, slab: &Slab, elements: Elements, out: &mut [u8]) -> Result<(), DataError> {
        self.try_read_bytes(slab, elements, out).map(drop)
    }

    /// Reads like [`read`](Self::read), and returns whether any chunk of the slab exists; if none does, all is fill.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn try_read_bytes(&self, slab: &Slab, elements: Elements, out: &mut [u8]) -> Result<bool, DataError> {
        self.check(slab, out.len())?;
        match &self.shards {
            None => transfer::read(self, slab, elements, out),
            Some(shards) => shard::read(self, shards, slab, elements, out),
        }
    }

    /// Writes a hyperslab from `data`, in C order, with all threads, and returns what was stored. Chunks and shards
    /// that the slab covers partly are read, changed and written back; do not write the same chunk or shard from two
    /// calls at the same time.
    ///
    /// Native elements are quantized if the variable's attributes say so ([`Quantize`](crate::Quantize)); stored
    /// elements are written unchanged.
    ///
    /// # Errors
    /// The slab does not fit the variable or `data`; the attributes ask for a quantization that does not exist; or a
    /// chunk cannot be encoded or written. Chunks are written one by one: after an error some chunks are new and some
    /// are old.
    pub fn write_bytes(&self, slab: &Slab, elements: Elements, data: &[u8]) -> Result<Written, DataError> {
        self.check(slab, data.len())?;
        slab.check(&self.stored_shape).map_err(|source| self.slab_error(source))?;
        self.check_quantizer(elements)?;
        match &self.shards {
            None => transfer::write(self, slab, elements, data),
            Some(shards) => shard::write(self, shards, slab, elements, data),
        }
    }

    /// Returns a worker for the calls below. Use one for each thread, and reuse it from call to call.
    #[must_use]
    pub fn worker(&self) -> Worker {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Takes a worker back to reuse its memory. Only a few of the workers of a remote store's I/O threads are kept.
    pub fn release(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !pool::on_io_thread() || idle.len() < self.pool.threads() {
            idle.push(worker);
        }
    }

    /// Whether each request to the store of its chunks is a network round trip, so that many should be in flight.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.store.capabilities().in_flight > 1
    }

    /// Runs `work` as [`pool::compute`] does. On an I/O thread the worker holds codec contexts and a decoded chunk only
    /// during `work`.
    fn compute<T>(&self, worker: &mut Worker, work: impl FnOnce(&mut Worker) -> T) -> T {
        pool::compute(|| {
            if worker.has_buffers {
                return work(worker);
            }
            let spare = self.spare_buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            worker.buffers = spare
                .unwrap_or_else(|| CodecBuffers { chain: self.chain.scratch(), ..CodecBuffers::default() });
            worker.has_buffers = true;
            let done = work(worker);
            if pool::on_io_thread() {
                worker.has_buffers = false;
                let buffers = std::mem::take(&mut worker.buffers);
                self.spare_buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
            }
            done
        })
    }

    /// The decoded bytes of a chunk or shard of this shape, without its padding.
    fn decoded_len(&self, shape: &[u64]) -> u64 {
        let lens = shape.iter().zip(&self.stored_shape).map(|(len, stored)| (*len).min((*stored).max(1)));
        lens.fold(self.dtype.size() as u64, u64::saturating_mul)
    }

    /// Reads a hyperslab like [`read`](Self::read), but only on the caller's thread. Returns whether any chunk of it
    /// exists; if none does, all is fill.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_serial(
        &self,
        worker: &mut Worker,
        slab: &Slab,
        elements: Elements,
        out: &mut [u8],
    ) -> Result<bool, DataError> {
        self.check(slab, out.len())?;
        match &self.shards {
            None => transfer::read_serial(self, worker, slab, elements, out),
            Some(shards) => shard::read_serial(self, shards, worker, slab, elements, out),
        }
    }

    /// Writes a hyperslab like [`write`](Self::write), but only on the caller's thread. Returns what was stored.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_serial(
        &self,
        worker: &mut Worker,
        slab: &Slab,
        elements: Elements,
        data: &[u8],
    ) -> Result<Written, DataError> {
        self.check(slab, data.len())?;
        slab.check(&self.stored_shape).map_err(|source| self.slab_error(source))?;
        self.check_quantizer(elements)?;
        match &self.shards {
            None => transfer::write_serial(self, worker, slab, elements, data),
            Some(shards) => shard::write_serial(self, shards, worker, slab, elements, data),
        }
    }

    fn check(&self, slab: &Slab, len: usize) -> Result<(), DataError> {
        slab.check(&self.shape).map_err(|source| self.slab_error(source))?;
        let want = slab.elements().and_then(|elements| elements.checked_mul(self.dtype.size() as u64));
        match want {
            Some(want) if want == len as u64 => Ok(()),
            want => {
                Err(self.slab_error(SlabError::Buffer { want: want.unwrap_or(u64::MAX), got: len as u64 }))
            }
        }
    }

    /// Whether a chunk or shard of this shape lies entirely beyond the end of the stored array.
    fn is_beyond(&self, index: &[u64], shape: &[u64]) -> bool {
        index
            .iter()
            .zip(shape)
            .zip(&self.stored_shape)
            .any(|((i, len), stored)| i.saturating_mul(*len) >= *stored)
    }

    /// The bytes of a chunk's elements within the stored array, if they are its first bytes: only the slowest dimension
    /// of which a chunk has more than one index is cut.
    fn stored_prefix(&self, index: &[u64]) -> Option<u64> {
        let mut before = 1_u64;
        let mut bytes = self.dtype.size() as u64;
        for (axis, (&number, &len)) in index.iter().zip(&self.chunk_shape).enumerate() {
            let first = number.checked_mul(len)?;
            let stored = len.min(self.stored_shape.get(axis)?.checked_sub(first)?);
            if stored != len && before != 1 {
                return None;
            }
            before = before.checked_mul(len)?;
            bytes = bytes.checked_mul(stored)?;
        }
        (self.is_c_order() && self.shards.is_none()).then_some(bytes)
    }

    fn slab_error(&self, source: SlabError) -> DataError {
        DataError::Slab { variable: self.path.clone(), source }
    }

    fn chunk_error(&self, worker: &Worker, source: ChunkError) -> DataError {
        let source = match (&worker.location.extent, source) {
            (_, source @ ChunkError::InShard { .. }) | (Extent::Object, source) => source,
            (_, source) => shard::of_chunk(&worker.index, source),
        };
        self.object_error(worker.key(), source)
    }

    fn object_error(&self, key: &str, source: ChunkError) -> DataError {
        DataError::Chunk {
            variable: self.path.clone(),
            key: key.to_owned(),
            store: self.store.to_string(),
            source: Box::new(source),
        }
    }

    /// The quantizer for the caller's elements: it applies to new values, not to bytes that were stored before.
    fn quantizer(&self, elements: Elements) -> Option<&Quantizer> {
        self.quantizer.as_ref().ok()?.as_ref().filter(|_| elements == Elements::Native)
    }

    fn check_quantizer(&self, elements: Elements) -> Result<(), DataError> {
        match &self.quantizer {
            Err(error) if elements == Elements::Native => Err(DataError::Unsupported {
                variable: self.path.clone(),
                reason: format!("its values cannot be quantized as its attributes request: {error}"),
            }),
            _ => Ok(()),
        }
    }

    /// Whether the bytes of the caller's elements must be swapped.
    fn swaps(&self, elements: Elements) -> bool {
        elements == Elements::Native && self.dtype.is_swapped()
    }

    fn fill(&self, elements: Elements) -> &[u8] {
        if elements == Elements::Native { &self.native_fill } else { &self.fill }
    }

    /// Whether a chunk's bytes are in C order.
    fn is_c_order(&self) -> bool {
        self.axes.is_sorted()
    }
}

/// An element in the byte order of the machine.
fn native(dtype: &Dtype, element: &[u8]) -> Vec<u8> {
    let mut native = element.to_vec();
    if dtype.is_swapped() {
        region::swap_bytes(&mut native, dtype.swap_unit());
    }
    native
}

/// Returns the description of a variable that codecs receive.
///
/// Codecs of Zarr version 3 come after `transpose`, so that lengths are in the order of the elements. Version 2 has no
/// such codec: there they are in the order of the dimensions.
#[must_use]
pub fn codec_env(variable: &Variable, format: Format) -> Env {
    let kind = match variable.dtype.kind() {
        Kind::Bool => ncz_codec::Kind::Bool,
        Kind::Int | Kind::DateTime | Kind::TimeDelta => ncz_codec::Kind::Int,
        Kind::UInt => ncz_codec::Kind::UInt,
        Kind::Float => ncz_codec::Kind::Float,
        Kind::Complex => ncz_codec::Kind::Complex,
        _ => ncz_codec::Kind::Opaque,
    };
    let order = match variable.dtype.order() {
        ByteOrder::Big => ncz_codec::ByteOrder::Big,
        _ => ncz_codec::ByteOrder::Little,
    };
    let lens = |shape: Vec<u64>| match format.is_v3() {
        true => {
            variable.order.axes(shape.len()).iter().filter_map(|&axis| shape.get(axis).copied()).collect()
        }
        false => shape,
    };
    Env {
        dtype: ncz_codec::Dtype { kind, size: variable.dtype.size(), order },
        array_shape: lens(variable.stored_shape()),
        chunk_shape: lens(variable.stored_chunk_shape()),
        container: format.container(),
    }
}

#[cfg(test)]
mod tests;
