//! Reads slabs of arrays whose chunks are ranges of a file.
//!
//! The touched chunks are located first, a number of them at a time. Ranges that follow each other, with small gaps,
//! are then read in one request. Threads take these runs; each holds the bytes of a run, and of a decoded chunk.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::slab_output::{SharedOutput, SlabOutput};
use super::transfer::{each_chunk, scatter, scatter_from};
use super::{Array, Elements, Worker, region, shard, worker};
use crate::chunk_index::Extent;
use crate::data_error::{ChunkError, DataError};
use crate::grid::{Cover, Slab};

/// Chunks of this length, decoded, are read one by one: a request more costs little beside decoding them. The lengths
/// are those for local and for remote stores.
const LONG_CHUNK: (usize, usize) = (64 << 10, 16 << 20);

/// The longest gap within a run, for local and for remote stores.
const GAP: (u64, u64) = (16 << 10, 1 << 20);

/// The bytes of gaps that a run may have, and those that it may have more for each byte of its chunks.
const WASTE: (u64, u64) = (1 << 20, 4);

/// The most bytes of a run of several chunks.
const RUN_LEN: u64 = 4 << 20;

/// The bytes of a run below which it is not split among threads, for local and for remote stores.
const SHORT_RUN: (u64, u64) = (256 << 10, 1 << 20);

/// The most chunks that are located at a time.
const PLANNED: u64 = 1 << 16;

/// Whether a slab of this many chunks is read in runs.
pub(super) fn joins(array: &Array, chunks: u64) -> bool {
    chunks > 1
        && array.chunks.has_neighbours()
        && array.chain.chunk_len() < by_distance(array, LONG_CHUNK)
        && array.is_c_order()
}

/// Reads a slab with all threads; returns whether any chunk of it exists.
pub(super) fn read(
    array: &Array,
    slab: &Slab,
    cover: &Cover<'_>,
    chunks: u64,
    elements: Elements,
    out: &mut [u8],
) -> Result<bool, DataError> {
    let threads = array.pool.workers(&[&*array.store], u64::MAX, RUN_LEN) as u64;
    let any = AtomicBool::new(false);
    let out = SharedOutput::new(out, slab.count(), array.dtype.size());
    for first in (0..chunks).step_by(PLANNED as usize) {
        let plan = planned(array, cover, first..chunks.min(first + PLANNED), threads)?;
        let bytes = plan.tasks.iter().map(Task::bytes).max().unwrap_or(0);
        each_chunk(array, plan.tasks.len() as u64, bytes, |worker, number| {
            let Some(task) = plan.tasks.get(number as usize) else { return Ok(()) };
            let reader = Reader { array, slab, cover, elements, plan: &plan };
            if reader.run(worker, task, &mut SlabOutput::Shared(&out))? {
                any.store(true, Ordering::Relaxed);
            }
            Ok(())
        })?;
    }
    Ok(any.into_inner())
}

/// Reads a slab on the caller's thread; returns whether any chunk of it exists.
pub(super) fn read_serial(
    array: &Array,
    worker: &mut Worker,
    slab: &Slab,
    cover: &Cover<'_>,
    chunks: u64,
    elements: Elements,
    out: &mut [u8],
) -> Result<bool, DataError> {
    let mut any = false;
    for first in (0..chunks).step_by(PLANNED as usize) {
        let plan = planned(array, cover, first..chunks.min(first + PLANNED), 1)?;
        let reader = Reader { array, slab, cover, elements, plan: &plan };
        for task in &plan.tasks {
            let read = reader.run(worker, task, &mut SlabOutput::Own(out));
            any |= read.map_err(|error| array.chunk_error(worker, error))?;
        }
    }
    Ok(any)
}

/// The part to read.
#[derive(Debug, Default)]
struct Plan {
    /// The objects.
    keys: Vec<String>,
    tasks: Vec<Task>,
}

#[derive(Debug)]
enum Task {
    /// Touched chunks that do not exist, or are not ranges, by their numbers.
    Single(Vec<u64>),
    /// Ranges of one object, in their order.
    Run(Vec<Piece>),
}

/// The part of a chunk to read.
#[derive(Debug)]
struct Piece {
    /// The number of the chunk among the touched chunks.
    number: u64,
    /// The number of the object.
    key: usize,
    /// The bytes of the object.
    range: Range<u64>,
    /// The bytes of the object that are the whole chunk.
    whole: Range<u64>,
    /// The position of the first byte of `range` in a chunk without codecs.
    skipped: usize,
    filter_mask: u32,
}

impl Task {
    /// The bytes that are read at once.
    fn bytes(&self) -> u64 {
        match self {
            Self::Single(_) => 0,
            Self::Run(pieces) => {
                let ends = pieces.first().zip(pieces.last());
                ends.map_or(0, |(first, last)| last.range.end.saturating_sub(first.range.start))
            }
        }
    }
}

/// Locates these touched chunks, and joins them.
fn planned(array: &Array, cover: &Cover<'_>, numbers: Range<u64>, threads: u64) -> Result<Plan, DataError> {
    let mut worker = array.worker();
    let planned = locate(array, &mut worker, cover, numbers, threads);
    let planned = planned.map_err(|error| array.chunk_error(&worker, error));
    array.release(worker);
    planned
}

fn locate(
    array: &Array,
    worker: &mut Worker,
    cover: &Cover<'_>,
    numbers: Range<u64>,
    threads: u64,
) -> Result<Plan, ChunkError> {
    let mut plan = Plan::default();
    let (mut pieces, mut single) = (Vec::new(), Vec::new());
    let most = array.chain.max_stored_len() as u64;
    for number in numbers {
        cover.part(number, &mut worker.index, &mut worker.segments);
        worker.find(array)?;
        let range = match &worker.location.extent {
            Extent::Range(range) if !array.is_beyond(&worker.index, &array.chunk_shape) => range.clone(),
            _ => {
                single.push(number);
                continue;
            }
        };
        let len = range.end.saturating_sub(range.start);
        if len > most {
            return Err(ChunkError::TooLong { got: len, most, chain: array.chain.to_string() });
        }
        let whole = array.chain.chunk_len() as u64;
        if array.chain.is_empty() && len != whole && array.stored_prefix(&worker.index) != Some(len) {
            return Err(ChunkError::Length { want: whole, got: len });
        }
        let part = worker.part_of_range(array, &range);
        let wanted = part.as_ref().map(|part| range.start + part.start as u64..range.start + part.end as u64);
        if plan.keys.last() != Some(&worker.location.key) {
            plan.keys.push(worker.location.key.clone());
        }
        pieces.push(Piece {
            number,
            key: plan.keys.len() - 1,
            range: wanted.unwrap_or_else(|| range.clone()),
            whole: range,
            skipped: part.map_or(0, |part| part.start),
            filter_mask: worker.location.filter_mask,
        });
    }
    plan.tasks.extend(joined(array, pieces, threads).into_iter().map(Task::Run));
    // Not one task for each: most of them are fill.
    plan.tasks.extend(single.chunks(64).map(|numbers| Task::Single(numbers.to_vec())));
    Ok(plan)
}

/// Joins pieces that follow each other into runs that are short enough for each thread to get some.
fn joined(array: &Array, mut pieces: Vec<Piece>, threads: u64) -> Vec<Vec<Piece>> {
    let len = |piece: &Piece| piece.range.end.saturating_sub(piece.range.start);
    let all = pieces.iter().map(len).fold(0, u64::saturating_add);
    let most = (all / threads.max(1)).clamp(by_distance(array, SHORT_RUN), RUN_LEN);
    let longest_gap = by_distance(array, GAP);
    pieces.sort_unstable_by_key(|piece| (piece.key, piece.range.start, piece.number));
    let mut runs: Vec<Vec<Piece>> = Vec::new();
    let (mut start, mut used) = (0, 0);
    for piece in pieces {
        let last = runs.last_mut().and_then(|run| Some((run.last()?.key, run.last()?.range.end, run)));
        // Chunks that overlap are read separately.
        if let Some((key, end, run)) = last
            && key == piece.key
            && let Some(gap) = piece.range.start.checked_sub(end)
            && gap < longest_gap
            && piece.range.end.saturating_sub(start) <= most
            && (piece.range.start - start).saturating_sub(used) <= WASTE.0 + used * WASTE.1
        {
            used += len(&piece);
            run.push(piece);
            continue;
        }
        (start, used) = (piece.range.start, len(&piece));
        runs.push(vec![piece]);
    }
    runs
}

struct Reader<'a> {
    array: &'a Array,
    slab: &'a Slab,
    cover: &'a Cover<'a>,
    elements: Elements,
    plan: &'a Plan,
}

impl Reader<'_> {
    /// Reads and decodes a task; returns whether any of its chunks exists.
    fn run(
        &self,
        worker: &mut Worker,
        task: &Task,
        out: &mut SlabOutput<'_, '_>,
    ) -> Result<bool, ChunkError> {
        let Self { array, slab, cover, elements, plan } = *self;
        let pieces = match task {
            Task::Run(pieces) => pieces,
            Task::Single(numbers) => {
                let mut any = false;
                for &number in numbers {
                    cover.part(number, &mut worker.index, &mut worker.segments);
                    worker.find(array)?;
                    let found =
                        !array.is_beyond(&worker.index, &array.chunk_shape) && worker.fetch_part(array)?;
                    array.compute(worker, |worker| -> Result<(), ChunkError> {
                        if found {
                            worker.unpack(array)?;
                            self.swap_own(worker);
                        }
                        scatter(array, worker, slab, elements, found, out);
                        Ok(())
                    })?;
                    any |= found;
                }
                return Ok(any);
            }
        };
        let Some(first) = pieces.first() else { return Ok(false) };
        let start = first.range.start;
        if let Some(key) = plan.keys.get(first.key) {
            key.clone_into(&mut worker.location.key);
        }
        worker.location.extent = Extent::Range(start..start.saturating_add(task.bytes()));
        let mut bytes = std::mem::take(&mut worker.stored);
        let read = shard::resize(&mut bytes, task.bytes() as usize).and_then(|()| {
            let read = array.store.read_into(worker.parsed_key()?, start, &mut bytes)?;
            let (filled, object_len) = read.map_or((0, 0), |read| (read.filled, read.object_len));
            bytes.truncate(filled);
            array.compute(worker, |worker| {
                pieces.iter().try_for_each(|piece| {
                    cover.part(piece.number, &mut worker.index, &mut worker.segments);
                    worker::has_all(&piece.whole, object_len)?;
                    self.decode(worker, piece, start, &mut bytes, out)
                })
            })
        });
        worker.stored = bytes;
        read.map(|()| true)
    }

    /// Decodes a piece of a run, whose bytes begin at `start` of the object. The worker is set to it.
    fn decode(
        &self,
        worker: &mut Worker,
        piece: &Piece,
        start: u64,
        bytes: &mut [u8],
        out: &mut SlabOutput<'_, '_>,
    ) -> Result<(), ChunkError> {
        let Self { array, slab, elements, .. } = *self;
        let range = (piece.range.start - start) as usize..(piece.range.end - start) as usize;
        let (want, got) = (range.len() as u64, bytes.len().saturating_sub(range.start) as u64);
        let Some(stored) = bytes.get_mut(range) else { return Err(ChunkError::Length { want, got }) };
        if array.chain.is_empty() {
            if array.swaps(elements) {
                region::swap_bytes(stored, array.dtype.swap_unit());
            }
            scatter_from(array, worker, slab, elements, Some((stored, piece.skipped)), out);
            return Ok(());
        }
        worker.reserve_chunk(array)?;
        let buffers = &mut worker.buffers;
        worker::decode(array, piece.filter_mask, &mut buffers.chain, stored, &mut buffers.chunk)?;
        self.swap_own(worker);
        scatter(array, worker, slab, elements, true, out);
        Ok(())
    }

    fn swap_own(&self, worker: &mut Worker) {
        if self.array.swaps(self.elements) {
            region::swap_bytes(&mut worker.buffers.chunk, self.array.dtype.swap_unit());
        }
    }
}

/// The first of two numbers for local stores, the second for remote ones.
fn by_distance<T>(array: &Array, (local, remote): (T, T)) -> T {
    if array.is_remote() { remote } else { local }
}
