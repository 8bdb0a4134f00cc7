//! The data of one variable: hyperslabs and chunks, read and written on all threads.

pub(crate) mod key;
mod lossy;
mod object;
mod region;
mod shard;
mod transfer;
mod worker;

use std::sync::{Arc, Mutex, PoisonError};

use ncz_codec::Env;
use ncz_registry::chain::FilterChain;
use ncz_store::Store;

pub use object::NextChunk;
pub use shard::ShardFault;
pub use worker::Worker;

use key::Keys;
pub(crate) use lossy::LossyTerms;
use shard::Shards;
use worker::Bench;

use crate::data_error::{ChunkFault, DataError};
use crate::dtype::{ByteOrder, Dtype, Kind};
use crate::grid::{self, Slab, SlabError};
use crate::model::{Format, Variable};
use crate::pool::{self, Pool};
use crate::quantize::{QuantizeError, Quantizer};

/// A variable whose codecs are bound: reads and writes its data.
///
/// Elements are flat bytes in C order. [`Elements`] says in which byte order.
#[derive(Debug)]
pub struct Array {
    store: Arc<dyn Store>,
    path: String,
    keys: Keys,
    dtype: Dtype,
    /// What netCDF shows; the stored array may be shorter.
    shape: Vec<u64>,
    stored_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    /// `None`: each chunk is an object.
    shards: Option<Shards>,
    /// The dimensions of a chunk from the one that changes slowest to the one that changes fastest.
    axes: Vec<usize>,
    terms: LossyTerms,
    /// One element for what was never written, as stored and in the machine's byte order.
    fill: Vec<u8>,
    native_fill: Vec<u8>,
    chain: FilterChain,
    quantizer: Result<Option<Quantizer>, QuantizeError>,
    pool: Pool,
    /// Workers of earlier calls, so that later ones allocate nothing.
    idle: Mutex<Vec<Worker>>,
    /// What lanes compute with, one at a time.
    benches: Mutex<Vec<Bench>>,
}

/// The byte order of elements in the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Elements {
    /// The machine's.
    #[default]
    Native,
    /// That of the stored dtype.
    Stored,
}

/// What a write stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Written {
    /// Chunks written.
    pub chunks: u64,
    /// Their stored bytes.
    pub bytes: u64,
}

impl Array {
    /// Binds a variable of `shape` (what netCDF shows, see
    /// [`Hierarchy::shape_of`](crate::Hierarchy::shape_of)) to a store.
    ///
    /// # Errors
    /// A type without a size; a chain, lengths or a fill value that are not of this variable.
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
                    "codecs for chunks of {} bytes and the shape {shape:?} are not of its chunks {:?} of {} and \
                     its shape {:?}; bind the codecs to the variable as it is",
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
            return Err(unsupported(format!("its order {axes:?} is no permutation of {rank} dimensions")));
        }
        let shards = variable.sharding.as_ref().map(|sharding| Shards::new(sharding, &variable.chunk_shape));
        let shards = shards.transpose().map_err(unsupported)?;
        let mut native_fill = fill.clone();
        if variable.dtype.is_swapped() {
            region::swap_bytes(&mut native_fill, variable.dtype.swap_unit());
        }
        Ok(Self {
            store,
            path: variable.path.clone(),
            keys: Keys::new(variable),
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
            benches: Mutex::default(),
        })
    }

    /// The path of the variable.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
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

    /// The lengths of the stored array; what netCDF shows beyond them is fill.
    #[must_use]
    pub fn stored_shape(&self) -> &[u64] {
        &self.stored_shape
    }

    /// The lengths of a chunk.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// The codecs.
    #[must_use]
    pub fn chain(&self) -> &FilterChain {
        &self.chain
    }

    /// Reads a hyperslab into `out`, in C order, with all threads. Chunks that do not exist read as
    /// the fill value (zeros where there is none).
    ///
    /// # Errors
    /// The slab does not fit the variable or `out`; a chunk cannot be read or decoded. Then `out`
    /// holds nothing of use.
    pub fn read(&self, slab: &Slab, elements: Elements, out: &mut [u8]) -> Result<(), DataError> {
        self.read_existing(slab, elements, out).map(drop)
    }

    /// As [`read`](Self::read), and says whether any chunk of the slab exists; if none does, all is fill.
    ///
    /// # Errors
    /// As there.
    pub fn read_existing(&self, slab: &Slab, elements: Elements, out: &mut [u8]) -> Result<bool, DataError> {
        self.check(slab, out.len())?;
        match &self.shards {
            None => transfer::read(self, slab, elements, out),
            Some(shards) => shard::read(self, shards, slab, elements, out),
        }
    }

    /// Writes a hyperslab from `data`, in C order, with all threads. Chunks, and shards, that it covers in part are
    /// read, changed and written; do not write the same one from two calls at the same time.
    ///
    /// Native elements are quantized if the variable's attributes say so ([`Quantize`](crate::Quantize)); stored
    /// ones are written as they are.
    ///
    /// # Errors
    /// The slab does not fit the variable or `data`; its attributes ask for a way to quantize that there is not;
    /// a chunk cannot be encoded or written. Chunks are written one by one: after an error some are new and some
    /// are not.
    pub fn write(&self, slab: &Slab, elements: Elements, data: &[u8]) -> Result<(), DataError> {
        self.write_counted(slab, elements, data).map(drop)
    }

    /// As [`write`](Self::write); returns what was stored.
    ///
    /// # Errors
    /// As there.
    pub fn write_counted(&self, slab: &Slab, elements: Elements, data: &[u8]) -> Result<Written, DataError> {
        self.check(slab, data.len())?;
        slab.check(&self.stored_shape).map_err(|source| self.slab_error(source))?;
        self.check_quantizer(elements)?;
        match &self.shards {
            None => transfer::write(self, slab, elements, data),
            Some(shards) => shard::write(self, shards, slab, elements, data),
        }
    }

    /// A worker for the calls below: one for each thread, used again from call to call.
    #[must_use]
    pub fn worker(&self) -> Worker {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Gives a worker back, so that its memory is used again. Of the many of a remote store's lanes few are kept.
    pub fn give_back(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !pool::in_lane() || idle.len() < self.pool.threads() {
            idle.push(worker);
        }
    }

    /// Whether its chunks lie in a store where a request is a round trip, so that many are to wait at a time.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.store.capabilities().in_flight > 1
    }

    /// Runs what a worker computes, as [`pool::compute`] does. On a lane the worker has its codecs' contexts and its
    /// decoded chunk only as long.
    fn compute<T>(&self, worker: &mut Worker, work: impl FnOnce(&mut Worker) -> T) -> T {
        pool::compute(|| {
            if worker.equipped {
                return work(worker);
            }
            let spare = self.benches.lock().unwrap_or_else(PoisonError::into_inner).pop();
            worker.bench = spare.unwrap_or_else(|| Bench { chain: self.chain.scratch(), ..Bench::default() });
            worker.equipped = true;
            let done = work(worker);
            if pool::in_lane() {
                worker.equipped = false;
                let bench = std::mem::take(&mut worker.bench);
                self.benches.lock().unwrap_or_else(PoisonError::into_inner).push(bench);
            }
            done
        })
    }

    /// Runs `work` on the threads, or on lanes of which each holds `bytes` while it waits.
    fn spread(&self, tasks: u64, bytes: u64, work: &(dyn Fn() + Sync)) {
        self.pool.run_on(&[&*self.store], tasks, bytes, work);
    }

    /// Bytes of the stored array in a chunk, or shard, of this shape.
    fn decoded_len(&self, shape: &[u64]) -> u64 {
        let lens = shape.iter().zip(&self.stored_shape).map(|(len, stored)| (*len).min((*stored).max(1)));
        lens.fold(self.dtype.size() as u64, u64::saturating_mul)
    }

    /// Reads a hyperslab as [`read`](Self::read) does, on the caller's thread alone. Says whether any
    /// chunk of it exists; if none does, all is fill.
    ///
    /// # Errors
    /// As there.
    pub fn read_with(
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

    /// Writes a hyperslab as [`write`](Self::write) does, on the caller's thread alone. Returns what
    /// was stored.
    ///
    /// # Errors
    /// As there.
    pub fn write_with(
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

    /// Whether a chunk, or shard, of this shape lies wholly beyond the end of the stored array.
    fn is_beyond(&self, index: &[u64], shape: &[u64]) -> bool {
        index
            .iter()
            .zip(shape)
            .zip(&self.stored_shape)
            .any(|((i, len), stored)| i.saturating_mul(*len) >= *stored)
    }

    fn slab_error(&self, source: SlabError) -> DataError {
        DataError::Slab { variable: self.path.clone(), source }
    }

    fn chunk_error(&self, worker: &Worker, source: ChunkFault) -> DataError {
        self.object_error(worker.key(), source)
    }

    fn object_error(&self, key: &str, source: ChunkFault) -> DataError {
        DataError::Chunk {
            variable: self.path.clone(),
            key: key.to_owned(),
            store: self.store.to_string(),
            source: Box::new(source),
        }
    }

    /// What quantizes the caller's elements: values that are new, not bytes that were stored before.
    fn quantizer(&self, elements: Elements) -> Option<&Quantizer> {
        self.quantizer.as_ref().ok()?.as_ref().filter(|_| elements == Elements::Native)
    }

    fn check_quantizer(&self, elements: Elements) -> Result<(), DataError> {
        match &self.quantizer {
            Err(fault) if elements == Elements::Native => Err(DataError::Unsupported {
                variable: self.path.clone(),
                reason: format!("its values cannot be quantized as its attributes say: {fault}"),
            }),
            _ => Ok(()),
        }
    }

    /// Whether the elements of the caller must be turned round.
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

/// What codecs are told of a variable.
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
    Env {
        dtype: ncz_codec::Dtype { kind, size: variable.dtype.size(), order },
        array_shape: variable.stored_shape(),
        chunk_shape: variable.stored_chunk_shape(),
        container: format.container(),
    }
}

#[cfg(test)]
mod tests;
