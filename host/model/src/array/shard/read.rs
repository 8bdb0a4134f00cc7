//! Reads slabs of sharded arrays.
//!
//! The index of each touched shard is read once, then the requested chunks; adjacent chunks are read as one range. A
//! small shard is read as a whole if most of it is requested, and so is every shard of a store that cannot read ranges.
//! Threads take ranges. Memory per thread is bounded by a range or a small shard; in addition there is a list of the
//! chunks of as many shards as there are threads. If a request is a network round trip, I/O threads do the work, ranges
//! are not split below the length that is worth a round trip, and every small shard is read as a whole.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::super::slab_output::{SharedOutput, SlabOutput};
use super::super::transfer::{chunk_count, each_chunk, scatter};
use super::super::{Array, Elements, Worker, region};
use super::{Shards, Touched, of_chunk};
use crate::data_error::{ChunkError, DataError};
use crate::grid::{Cover, Slab};

/// The most bytes of a range that holds several chunks.
const RUN_LEN: u64 = 4 << 20;

/// The bytes of a range below which it is not split among I/O threads.
const SHORT_RUN: u64 = 1 << 20;

/// The most decoded bytes of a shard that is read as a whole.
const SMALL_SHARD: u64 = 8 << 20;

/// The number of chunks to plan at a time, unless one shard for each thread has more.
const PLANNED: usize = 1 << 20;

/// Reads a slab with all threads; returns whether any chunk of it exists.
pub(in super::super) fn read(
    array: &Array,
    shards: &Shards,
    slab: &Slab,
    elements: Elements,
    out: &mut [u8],
) -> Result<bool, DataError> {
    let cover = slab.cover(&shards.shape);
    let Some(total) = chunk_count(array, &cover)? else { return Ok(false) };
    let any = AtomicBool::new(false);
    let longest = RUN_LEN.max(array.chain.chunk_len() as u64);
    let threads = array.pool.workers(&[&*array.store], u64::MAX, longest) as u64;
    let reader = Reader { array, shards, cover: &cover, elements, threads, total };
    let out = SharedOutput::new(out, slab.count(), array.dtype.size());
    let batch = (array.pool.threads() as u64).max((PLANNED / shards.chunks.max(1)) as u64);
    let mut first = 0;
    while first < total {
        let end = total.min(first.saturating_add(batch));
        let tasks = Mutex::new(Vec::new());
        each_chunk(array, end - first, shards.index_len() as u64, |worker, number| {
            let mut planned = reader.plan(worker, first + number)?;
            tasks.lock().unwrap_or_else(PoisonError::into_inner).append(&mut planned);
            Ok(())
        })?;
        let tasks = tasks.into_inner().unwrap_or_else(PoisonError::into_inner);
        let bytes = tasks.iter().map(|task| reader.bytes(task)).max().unwrap_or(0);
        each_chunk(array, tasks.len() as u64, bytes, |worker, number| {
            reader.run(worker, &tasks[number as usize], &mut |worker, found| {
                if found {
                    any.store(true, Ordering::Relaxed);
                }
                scatter(array, worker, slab, elements, found, &mut SlabOutput::Shared(&out));
            })
        })?;
        first = end;
    }
    Ok(any.into_inner())
}

/// Reads a slab on the caller's thread; returns whether any chunk of it exists.
pub(in super::super) fn read_serial(
    array: &Array,
    shards: &Shards,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    out: &mut [u8],
) -> Result<bool, DataError> {
    let cover = slab.cover(&shards.shape);
    let Some(total) = chunk_count(array, &cover)? else { return Ok(false) };
    let reader = Reader { array, shards, cover: &cover, elements, threads: 1, total };
    let mut any = false;
    let mut step = |worker: &mut Worker, number| -> Result<(), ChunkError> {
        for task in reader.plan(worker, number)? {
            reader.run(worker, &task, &mut |worker, found| {
                any |= found;
                scatter(array, worker, slab, elements, found, &mut SlabOutput::Own(out));
            })?;
        }
        Ok(())
    };
    for number in 0..total {
        step(worker, number).map_err(|error| array.chunk_error(worker, error))?;
    }
    Ok(any)
}

struct Reader<'a> {
    array: &'a Array,
    shards: &'a Shards,
    /// The shards that the slab touches.
    cover: &'a Cover<'a>,
    elements: Elements,
    /// The number of threads, or I/O threads, that work at the same time.
    threads: u64,
    /// The number of touched shards.
    total: u64,
}

/// A part of a shard to read.
struct Task {
    /// The number of the shard among the touched shards.
    shard: u64,
    work: Work,
}

enum Work {
    /// The shard does not exist.
    Absent,
    /// The whole shard is read for the requested chunks.
    Whole,
    /// Chunks that do not exist, by their numbers among the touched chunks.
    Missing(Vec<u64>),
    /// Adjacent chunks, read as one range.
    Run { object_len: u64, pieces: Vec<Piece> },
}

/// A chunk in a shard.
struct Piece {
    /// The number of the chunk among the touched chunks.
    part: u64,
    range: Range<u64>,
}

impl Reader<'_> {
    /// Plans the reads of a shard.
    fn plan(&self, worker: &mut Worker, shard: u64) -> Result<Vec<Task>, ChunkError> {
        let Self { array, shards, .. } = self;
        let touched = Touched::new(self.cover, shard);
        let chunks = touched.slab.cover(&array.chunk_shape);
        let requested = chunks.chunks().unwrap_or(0);
        let task = |work| Task { shard, work };
        if array.is_beyond(&touched.index, &shards.shape) {
            return Ok(vec![task(Work::Absent)]);
        }
        array.chunks.locate(&touched.index, &mut worker.location)?;
        if self.reads_whole(&touched, requested) {
            return Ok(vec![task(Work::Whole)]);
        }
        if !worker.load_index(array, shards)? {
            return Ok(vec![task(Work::Absent)]);
        }
        let object_len = worker.shard.object_len;
        let (mut pieces, mut missing) = (Vec::new(), Vec::new());
        for part in 0..requested {
            let number = touched.part(&chunks, part, shards, worker);
            let range = match array.is_beyond(&worker.index, &array.chunk_shape) {
                true => None,
                false => shards
                    .entry(&worker.shard.index, number, object_len, &array.chain)
                    .map_err(|error| of_chunk(&worker.index, error))?,
            };
            match range {
                None => missing.push(part),
                Some(range) => pieces.push(Piece { part, range }),
            }
        }
        let mut tasks: Vec<Task> =
            self.runs(pieces).into_iter().map(|pieces| task(Work::Run { object_len, pieces })).collect();
        if !missing.is_empty() {
            tasks.push(task(Work::Missing(missing)));
        }
        Ok(tasks)
    }

    /// Whether to read a shard as a whole.
    fn reads_whole(&self, touched: &Touched, requested: u64) -> bool {
        let Self { array, shards, .. } = self;
        if !array.store.capabilities().ranges {
            return true;
        }
        let stored =
            touched.index.iter().zip(&shards.shape).zip(array.stored_shape.iter().zip(&array.chunk_shape));
        let present: u64 = stored
            .map(|((index, shard), (len, chunk))| (len - index * shard).min(*shard).div_ceil(*chunk))
            .product();
        let bytes = (array.chain.chunk_len() as u64).saturating_mul(present);
        // With few shards, threads share the chunks of one shard; this does not pay if it costs another network round
        // trip.
        let shared = self.total < self.threads && !array.is_remote();
        bytes <= SMALL_SHARD && requested * 4 >= present * 3 && !shared
    }

    /// The bytes that a worker holds while it reads for a task.
    fn bytes(&self, task: &Task) -> u64 {
        match &task.work {
            Work::Absent | Work::Missing(_) => 0,
            Work::Whole => self.array.decoded_len(&self.shards.shape),
            Work::Run { pieces, .. } => {
                let ends = pieces.first().zip(pieces.last());
                ends.map_or(0, |(first, last)| last.range.end.saturating_sub(first.range.start))
            }
        }
    }

    /// Joins adjacent chunks into ranges that are small enough for each thread to get some.
    fn runs(&self, mut pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
        let len = |piece: &Piece| piece.range.end - piece.range.start;
        let all = pieces.iter().map(len).fold(0, u64::saturating_add);
        let short = if self.array.is_remote() { SHORT_RUN } else { 0 };
        let share = all / self.threads;
        let most = if self.total >= self.threads { RUN_LEN } else { RUN_LEN.min(share.max(short)) };
        pieces.sort_unstable_by_key(|piece| (piece.range.start, piece.part));
        let mut runs: Vec<Vec<Piece>> = Vec::new();
        let mut run_start = 0;
        for piece in pieces {
            match runs.last_mut() {
                Some(run)
                    if run.last().is_some_and(|last| last.range.end == piece.range.start)
                        && piece.range.end - run_start <= most =>
                {
                    run.push(piece);
                }
                _ => {
                    run_start = piece.range.start;
                    runs.push(vec![piece]);
                }
            }
        }
        runs
    }

    /// Reads and decodes a task; calls `emit` for each part, with the worker set to it, and whether the part exists.
    fn run(
        &self,
        worker: &mut Worker,
        task: &Task,
        emit: &mut dyn FnMut(&mut Worker, bool),
    ) -> Result<(), ChunkError> {
        let Self { array, shards, .. } = self;
        let touched = Touched::new(self.cover, task.shard);
        array.chunks.locate(&touched.index, &mut worker.location)?;
        let found = match &task.work {
            Work::Absent | Work::Missing(_) => false,
            Work::Whole => worker.load_shard(array, shards)?,
            Work::Run { object_len, pieces } => {
                let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
                worker.shard.object_len = *object_len;
                worker.read_range(array, first.range.start..last.range.end)?
            }
        };
        array.compute(worker, |worker| self.decode_task(worker, task, &touched, found, emit))
    }

    /// Decodes the bytes that were read for a task; `found` says whether the shard is still the planned one.
    fn decode_task(
        &self,
        worker: &mut Worker,
        task: &Task,
        touched: &Touched,
        found: bool,
        emit: &mut dyn FnMut(&mut Worker, bool),
    ) -> Result<(), ChunkError> {
        let Self { array, shards, .. } = self;
        let chunks = touched.slab.cover(&array.chunk_shape);
        match &task.work {
            Work::Absent => self.absent(worker, task.shard, emit),
            Work::Missing(parts) => {
                for &part in parts {
                    touched.part(&chunks, part, shards, worker);
                    emit(worker, false);
                }
            }
            Work::Whole if !found => self.absent(worker, task.shard, emit),
            Work::Whole => {
                for part in 0..chunks.chunks().unwrap_or(0) {
                    let number = touched.part(&chunks, part, shards, worker);
                    let found = !array.is_beyond(&worker.index, &array.chunk_shape)
                        && self
                            .decode(worker, |worker, out| {
                                Ok(worker.decode_shard(array, shards, number, out)?.is_some())
                            })
                            .map_err(|error| of_chunk(&worker.index, error))?;
                    emit(worker, found);
                }
            }
            Work::Run { pieces, .. } => {
                let start = pieces.first().map_or(0, |piece| piece.range.start);
                for Piece { part, range } in pieces {
                    let number = touched.part(&chunks, *part, shards, worker);
                    let mut range = (range.start - start) as usize..(range.end - start) as usize;
                    let mut fetch = |worker: &mut Worker, out: &mut [u8]| {
                        if !found {
                            if !worker.load_chunk(array, shards, number)? {
                                return Ok(false);
                            }
                            range = 0..worker.stored.len();
                        }
                        let stored = worker.stored.get(range.clone()).unwrap_or_default();
                        super::super::worker::decode(array, 0, &mut worker.buffers.chain, stored, out)?;
                        Ok(true)
                    };
                    let found =
                        self.decode(worker, &mut fetch).map_err(|error| of_chunk(&worker.index, error))?;
                    emit(worker, found);
                }
            }
        }
        Ok(())
    }

    /// Emits each part of a shard that does not exist; all of it is fill.
    fn absent(&self, worker: &mut Worker, shard: u64, emit: &mut dyn FnMut(&mut Worker, bool)) {
        self.cover.part(shard, &mut worker.index, &mut worker.segments);
        emit(worker, false);
    }

    /// Decodes a chunk into the worker's chunk buffer, in the caller's byte order.
    fn decode(
        &self,
        worker: &mut Worker,
        decode: impl FnOnce(&mut Worker, &mut [u8]) -> Result<bool, ChunkError>,
    ) -> Result<bool, ChunkError> {
        worker.reserve_chunk(self.array)?;
        let mut chunk = std::mem::take(&mut worker.buffers.chunk);
        let found = decode(worker, &mut chunk);
        worker.buffers.chunk = chunk;
        if matches!(found, Ok(true)) && self.array.swaps(self.elements) {
            region::swap_bytes(&mut worker.buffers.chunk, self.array.dtype.swap_unit());
        }
        found
    }
}
