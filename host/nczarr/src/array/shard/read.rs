//! Reading slabs of sharded arrays.
//!
//! The index of each shard that a slab touches is read once, then the chunks that it wants: those that lie next to
//! each other as one range. A small shard of which most is wanted is read as a whole instead, and so is every shard of
//! a store that cannot read ranges. Threads take ranges; memory is bounded by a range, or such a shard, a thread,
//! besides a list of the chunks of as many shards as there are threads. Where a request is a round trip, lanes take the
//! place of threads, ranges are not made shorter than is worth one, and every small shard is read as a whole.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::super::transfer::{chunk_count, each_chunk, scatter};
use super::super::{Array, Elements, Worker, region};
use super::{Shards, Touched, of_chunk};
use crate::data_error::{ChunkFault, DataError};
use crate::grid::{Cover, Slab};

/// Bytes of a range that holds several chunks, at most.
const RUN_LEN: u64 = 4 << 20;

/// Bytes of a range of which no shorter ones are made to share them among lanes.
const SHORT_RUN: u64 = 1 << 20;

/// Decoded bytes of a shard that is read as a whole, at most.
const SMALL_SHARD: u64 = 8 << 20;

/// Chunks to plan at a time, unless one shard for each thread has more.
const PLANNED: usize = 1 << 20;

/// Reads a slab with all threads; says whether any chunk of it exists.
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
    let out = Mutex::new(out);
    let batch = (array.pool.threads() as u64).max((PLANNED / shards.chunks.max(1)) as u64);
    let mut first = 0;
    while first < total {
        let end = total.min(first.saturating_add(batch));
        let tasks = Mutex::new(Vec::new());
        let next = AtomicU64::new(first);
        each_chunk(array, end - first, shards.index_len() as u64, |worker| {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end {
                return Ok(false);
            }
            let mut planned = reader.plan(worker, number)?;
            tasks.lock().unwrap_or_else(PoisonError::into_inner).append(&mut planned);
            Ok(true)
        })?;
        let tasks = tasks.into_inner().unwrap_or_else(PoisonError::into_inner);
        let next = AtomicUsize::new(0);
        let bytes = tasks.iter().map(|task| reader.bytes(task)).max().unwrap_or(0);
        each_chunk(array, tasks.len() as u64, bytes, |worker| {
            let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(false) };
            reader.run(worker, task, &mut |worker, found| {
                if found {
                    any.store(true, Ordering::Relaxed);
                }
                let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
                scatter(array, worker, slab, elements, found, &mut out);
            })?;
            Ok(true)
        })?;
        first = end;
    }
    Ok(any.into_inner())
}

/// Reads a slab on the caller's thread; says whether any chunk of it exists.
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
    let mut step = |worker: &mut Worker, number| -> Result<(), ChunkFault> {
        for task in reader.plan(worker, number)? {
            reader.run(worker, &task, &mut |worker, found| {
                any |= found;
                scatter(array, worker, slab, elements, found, out);
            })?;
        }
        Ok(())
    };
    for number in 0..total {
        step(worker, number).map_err(|fault| array.chunk_error(worker, fault))?;
    }
    Ok(any)
}

struct Reader<'a> {
    array: &'a Array,
    shards: &'a Shards,
    /// The shards that the slab touches.
    cover: &'a Cover<'a>,
    elements: Elements,
    /// How many work at the same time: threads, or lanes.
    threads: u64,
    /// How many shards are touched.
    total: u64,
}

/// Something to read of a shard.
struct Task {
    /// The shard by its number among those touched.
    shard: u64,
    work: Work,
}

enum Work {
    /// The shard does not exist.
    Absent,
    /// All that is wanted, out of the whole shard.
    Whole,
    /// Chunks that do not exist, by their numbers among those touched.
    Missing(Vec<u64>),
    /// Chunks that lie next to each other.
    Run { object_len: u64, pieces: Vec<Piece> },
}

/// A chunk in a shard.
struct Piece {
    /// Its number among those touched.
    part: u64,
    place: Range<u64>,
}

impl Reader<'_> {
    /// Finds out what to read of a shard.
    fn plan(&self, worker: &mut Worker, shard: u64) -> Result<Vec<Task>, ChunkFault> {
        let Self { array, shards, .. } = self;
        let touched = Touched::new(self.cover, shard);
        let chunks = touched.slab.cover(&array.chunk_shape);
        let wanted = chunks.chunks().unwrap_or(0);
        let task = |work| Task { shard, work };
        if array.is_beyond(&touched.index, &shards.shape) {
            return Ok(vec![task(Work::Absent)]);
        }
        array.keys.write(&mut worker.key, &touched.index);
        if self.reads_whole(&touched, wanted) {
            return Ok(vec![task(Work::Whole)]);
        }
        if !worker.load_index(array, shards)? {
            return Ok(vec![task(Work::Absent)]);
        }
        let object_len = worker.shard.object_len;
        let (mut pieces, mut missing) = (Vec::new(), Vec::new());
        for part in 0..wanted {
            let number = touched.part(&chunks, part, shards, worker);
            let place = match array.is_beyond(&worker.index, &array.chunk_shape) {
                true => None,
                false => shards
                    .entry(&worker.shard.index, number, object_len, &array.chain)
                    .map_err(|fault| of_chunk(&worker.index, fault))?,
            };
            match place {
                None => missing.push(part),
                Some(place) => pieces.push(Piece { part, place }),
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
    fn reads_whole(&self, touched: &Touched, wanted: u64) -> bool {
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
        // With few shards, threads share the chunks of one; a round trip more would cost more than that gains.
        let shared = self.total < self.threads && !array.is_remote();
        bytes <= SMALL_SHARD && wanted * 4 >= present * 3 && !shared
    }

    /// What a worker holds while it reads for a task.
    fn bytes(&self, task: &Task) -> u64 {
        match &task.work {
            Work::Absent | Work::Missing(_) => 0,
            Work::Whole => self.array.decoded_len(&self.shards.shape),
            Work::Run { pieces, .. } => {
                let ends = pieces.first().zip(pieces.last());
                ends.map_or(0, |(first, last)| last.place.end.saturating_sub(first.place.start))
            }
        }
    }

    /// Puts chunks together that lie next to each other, in ranges small enough that each thread gets some.
    fn runs(&self, mut pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
        let len = |piece: &Piece| piece.place.end - piece.place.start;
        let all = pieces.iter().map(len).fold(0, u64::saturating_add);
        let short = if self.array.is_remote() { SHORT_RUN } else { 0 };
        let share = all / self.threads;
        let most = if self.total >= self.threads { RUN_LEN } else { RUN_LEN.min(share.max(short)) };
        pieces.sort_unstable_by_key(|piece| (piece.place.start, piece.part));
        let mut runs: Vec<Vec<Piece>> = Vec::new();
        let mut run_start = 0;
        for piece in pieces {
            match runs.last_mut() {
                Some(run)
                    if run.last().is_some_and(|last| last.place.end == piece.place.start)
                        && piece.place.end - run_start <= most =>
                {
                    run.push(piece);
                }
                _ => {
                    run_start = piece.place.start;
                    runs.push(vec![piece]);
                }
            }
        }
        runs
    }

    /// Reads and decodes; calls `emit` for each part, with what the worker says of it, whether it exists.
    fn run(
        &self,
        worker: &mut Worker,
        task: &Task,
        emit: &mut dyn FnMut(&mut Worker, bool),
    ) -> Result<(), ChunkFault> {
        let Self { array, shards, .. } = self;
        let touched = Touched::new(self.cover, task.shard);
        array.keys.write(&mut worker.key, &touched.index);
        let found = match &task.work {
            Work::Absent | Work::Missing(_) => false,
            Work::Whole => worker.load_shard(array, shards)?,
            Work::Run { object_len, pieces } => {
                let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
                worker.shard.object_len = *object_len;
                worker.read_range(array, first.place.start..last.place.end)?
            }
        };
        array.compute(worker, |worker| self.place(worker, task, &touched, found, emit))
    }

    /// Decodes what was read for a task; `found`: it is what was planned.
    fn place(
        &self,
        worker: &mut Worker,
        task: &Task,
        touched: &Touched,
        found: bool,
        emit: &mut dyn FnMut(&mut Worker, bool),
    ) -> Result<(), ChunkFault> {
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
                            .map_err(|fault| of_chunk(&worker.index, fault))?;
                    emit(worker, found);
                }
            }
            Work::Run { pieces, .. } => {
                let start = pieces.first().map_or(0, |piece| piece.place.start);
                for Piece { part, place } in pieces {
                    let number = touched.part(&chunks, *part, shards, worker);
                    let mut place = (place.start - start) as usize..(place.end - start) as usize;
                    let mut fetch = |worker: &mut Worker, out: &mut [u8]| {
                        if !found {
                            if !worker.load_chunk(array, shards, number)? {
                                return Ok(false);
                            }
                            place = 0..worker.stored.len();
                        }
                        let stored = worker.stored.get(place.clone()).unwrap_or_default();
                        super::super::worker::decode(array, &mut worker.bench.chain, stored, out)?;
                        Ok(true)
                    };
                    let found =
                        self.decode(worker, &mut fetch).map_err(|fault| of_chunk(&worker.index, fault))?;
                    emit(worker, found);
                }
            }
        }
        Ok(())
    }

    /// All that the slab takes of a shard is fill.
    fn absent(&self, worker: &mut Worker, shard: u64, emit: &mut dyn FnMut(&mut Worker, bool)) {
        self.cover.part(shard, &mut worker.index, &mut worker.segments);
        emit(worker, false);
    }

    /// Decodes into the worker's own chunk, in the caller's byte order.
    fn decode(
        &self,
        worker: &mut Worker,
        decode: impl FnOnce(&mut Worker, &mut [u8]) -> Result<bool, ChunkFault>,
    ) -> Result<bool, ChunkFault> {
        worker.reserve_chunk(self.array)?;
        let mut chunk = std::mem::take(&mut worker.bench.chunk);
        let found = decode(worker, &mut chunk);
        worker.bench.chunk = chunk;
        if matches!(found, Ok(true)) && self.array.swaps(self.elements) {
            region::swap_bytes(&mut worker.bench.chunk, self.array.dtype.swap_unit());
        }
        found
    }
}
