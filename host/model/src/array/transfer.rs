//! Reads and writes hyperslabs: each thread takes the next chunk until none is left.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::region::{self, Bytes, Region};
use super::slab_output::{SharedOutput, SlabOutput};
use super::worker::Encoded;
use super::{Array, Elements, Worker, Written, runs};
use crate::data_error::{ChunkError, DataError};
use crate::grid::{Cover, Slab};
use crate::pool::{self, Tasks};

/// Reads a slab with all threads; returns whether any chunk of it exists.
pub(super) fn read(
    array: &Array,
    slab: &Slab,
    elements: Elements,
    out: &mut [u8],
) -> Result<bool, DataError> {
    let cover = slab.cover(&array.chunk_shape);
    let Some(chunks) = chunk_count(array, &cover)? else { return Ok(false) };
    if runs::joins(array, chunks) {
        return runs::read(array, slab, &cover, chunks, elements, out);
    }
    let any = AtomicBool::new(false);
    let note = |found: bool| {
        if found {
            any.store(true, Ordering::Relaxed)
        }
    };
    let is_sequential = cover.is_sequential();
    let out = SharedOutput::new(out, slab.count(), array.dtype.size());
    each_chunk(array, chunks, array.chain.chunk_len() as u64, |worker, number| {
        cover.part(number, &mut worker.index, &mut worker.segments);
        note(if is_sequential {
            // Each chunk's part is one run.
            let run = out.run(&worker.segments, &mut worker.target);
            read_run(array, worker, elements, run)?
        } else {
            read_part(array, worker, elements, |worker, found| {
                scatter(array, worker, slab, elements, found, &mut SlabOutput::Shared(&out));
            })?
        });
        Ok(())
    })?;
    Ok(any.into_inner())
}

/// Reads a slab on the caller's thread; returns whether any chunk of it exists.
pub(super) fn read_serial(
    array: &Array,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    out: &mut [u8],
) -> Result<bool, DataError> {
    let cover = slab.cover(&array.chunk_shape);
    let Some(chunks) = chunk_count(array, &cover)? else { return Ok(false) };
    if runs::joins(array, chunks) {
        return runs::read_serial(array, worker, slab, &cover, chunks, elements, out);
    }
    let mut any = false;
    for number in 0..chunks {
        cover.part(number, &mut worker.index, &mut worker.segments);
        let result = if chunks == 1 {
            read_run(array, worker, elements, out)
        } else {
            read_part(array, worker, elements, |worker, found| {
                scatter(array, worker, slab, elements, found, &mut SlabOutput::Own(out));
            })
        };
        any |= result.map_err(|error| array.chunk_error(worker, error))?;
    }
    Ok(any)
}

/// Writes a slab on the caller's thread.
pub(super) fn write_serial(
    array: &Array,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    data: &[u8],
) -> Result<Written, DataError> {
    let cover = slab.cover(&array.chunk_shape);
    let Some(chunks) = chunk_count(array, &cover)? else { return Ok(Written::default()) };
    let mut written = Written::default();
    for number in 0..chunks {
        cover.part(number, &mut worker.index, &mut worker.segments);
        let stored = write_part(array, worker, slab, elements, data);
        written.bytes += stored.map_err(|error| array.chunk_error(worker, error))? as u64;
        written.chunks += 1;
    }
    Ok(written)
}

/// Writes a slab with all threads.
pub(super) fn write(
    array: &Array,
    slab: &Slab,
    elements: Elements,
    data: &[u8],
) -> Result<Written, DataError> {
    let cover = slab.cover(&array.chunk_shape);
    let Some(chunks) = chunk_count(array, &cover)? else { return Ok(Written::default()) };
    let bytes = AtomicU64::new(0);
    each_chunk(array, chunks, array.chain.chunk_len() as u64, |worker, number| {
        cover.part(number, &mut worker.index, &mut worker.segments);
        bytes.fetch_add(write_part(array, worker, slab, elements, data)? as u64, Ordering::Relaxed);
        Ok(())
    })?;
    Ok(Written { chunks, bytes: bytes.into_inner() })
}

/// The number of touched chunks; `None` if the slab is empty.
pub(super) fn chunk_count(array: &Array, cover: &Cover<'_>) -> Result<Option<u64>, DataError> {
    match cover.chunks() {
        Some(0) => Ok(None),
        Some(chunks) => Ok(Some(chunks)),
        None => Err(DataError::Unsupported {
            variable: array.path.clone(),
            reason: "the hyperslab touches more than 2^64 chunks; ask for less at once".to_owned(),
        }),
    }
}

/// Calls `step` with each of these chunks on all threads, each of which holds `bytes` while it waits for the store.
///
/// # Errors
/// The first error of a step.
pub(super) fn each_chunk(
    array: &Array,
    chunks: u64,
    bytes: u64,
    step: impl Fn(&mut Worker, u64) -> Result<(), ChunkError> + Sync,
) -> Result<(), DataError> {
    let stores = [&*array.store];
    let workers = array.pool.for_each(
        &Tasks::new(chunks).on(&stores, bytes),
        || array.worker(),
        |worker, number| step(worker, number).map_err(|error| array.chunk_error(worker, error)),
    )?;
    release(array, workers);
    Ok(())
}

/// Keeps workers for later calls, a few of the many that a remote store has.
///
/// Not inlined: a thread of a pool that waits in a read may begin another one, so that their frames add up. Workers are
/// too large for such a frame.
#[inline(never)]
fn release(array: &Array, workers: Vec<Worker>) {
    workers.into_iter().take(array.pool.threads()).for_each(|worker| array.release(worker));
}

/// Reads the part of the worker's chunk that is a whole run of the output; in place if it is the whole chunk.
///
/// Returns whether the chunk exists.
fn read_run(
    array: &Array,
    worker: &mut Worker,
    elements: Elements,
    run: &mut [u8],
) -> Result<bool, ChunkError> {
    if !takes_whole_chunk(array, worker) || !array.is_c_order() || run.len() != array.chain.chunk_len() {
        return read_part(array, worker, elements, |worker, found| {
            if !found {
                return region::fill(run, array.fill(elements));
            }
            worker.target.packed(&worker.segments, array.dtype.size());
            let chunk = std::mem::take(&mut worker.buffers.chunk);
            copy_from(array, worker, elements, Some((&chunk, 0)), run);
            worker.buffers.chunk = chunk;
        });
    }
    worker.find(array)?;
    let found = worker.decode(array, run)?;
    if !found {
        region::fill(run, array.fill(elements));
    } else if array.swaps(elements) {
        pool::compute(|| region::swap_bytes(run, array.dtype.swap_unit()));
    }
    Ok(found)
}

/// Whether the slab takes every element of the chunk, and all of them lie within the stored array.
fn takes_whole_chunk(array: &Array, worker: &Worker) -> bool {
    let chunk = array.chunk_shape.iter().zip(&array.stored_shape);
    worker.segments.iter().zip(&worker.index).zip(chunk).all(|((segment, index), (chunk, stored))| {
        segment.len == *chunk
            && segment.stride == 1
            && index.saturating_mul(*chunk).saturating_add(*chunk) <= *stored
    })
}

/// Reads the worker's chunk into its own buffer, in the caller's byte order, and calls `put` with whether the chunk
/// exists.
fn read_part(
    array: &Array,
    worker: &mut Worker,
    elements: Elements,
    put: impl FnOnce(&mut Worker, bool),
) -> Result<bool, ChunkError> {
    worker.find(array)?;
    let found = !array.is_beyond(&worker.index, &array.chunk_shape) && worker.fetch_part(array)?;
    array.compute(worker, |worker| {
        if found {
            worker.unpack(array)?;
            if array.swaps(elements) {
                region::swap_bytes(&mut worker.buffers.chunk, array.dtype.swap_unit());
            }
        }
        put(worker, found);
        Ok(found)
    })
}

/// Copies the worker's part to its position in the output of the whole slab.
pub(super) fn scatter(
    array: &Array,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    found: bool,
    out: &mut SlabOutput<'_, '_>,
) {
    let chunk = std::mem::take(&mut worker.buffers.chunk);
    scatter_from(array, worker, slab, elements, found.then_some((&chunk, 0)), out);
    worker.buffers.chunk = chunk;
}

/// Copies as [`scatter`] does, from these bytes of the chunk, which begin at this byte of it.
pub(super) fn scatter_from(
    array: &Array,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    from: Option<(&[u8], usize)>,
    out: &mut SlabOutput<'_, '_>,
) {
    match out {
        SlabOutput::Own(out) => {
            worker.target.in_slab(&worker.segments, slab.count(), array.dtype.size());
            copy_from(array, worker, elements, from, *out);
        }
        SlabOutput::Shared(out) => {
            let mut part = out.part(&worker.segments, &mut worker.target);
            copy_from(array, worker, elements, from, &mut part);
        }
    }
}

/// Copies the worker's part to its target region; elements that are not stored become fill.
fn copy_from(
    array: &Array,
    worker: &mut Worker,
    elements: Elements,
    from: Option<(&[u8], usize)>,
    out: &mut (impl Bytes + ?Sized),
) {
    let element = array.dtype.size();
    let mut all = from.is_some();
    if from.is_some() {
        worker.source.in_chunk(&worker.segments, &array.chunk_shape, element, &array.axes);
        // Where netCDF shows more elements than the array has, the chunk's padding is not data.
        all = (0..worker.segments.len()).all(|d| stored_len(array, worker, d) == worker.segments[d].len);
    }
    if !all {
        region::fill_region(&worker.segments, array.fill(elements), out, &worker.target);
    }
    if let Some((chunk, skipped)) = from {
        for d in 0..worker.segments.len() {
            worker.segments[d].len = stored_len(array, worker, d);
        }
        if worker.segments.iter().all(|segment| segment.len > 0) {
            worker.source.offset -= skipped;
            region::copy(&worker.segments, element, chunk, &worker.source, out, &worker.target);
        }
    }
}

/// The number of a segment's elements that lie within the stored array.
pub(super) fn stored_len(array: &Array, worker: &Worker, dimension: usize) -> u64 {
    let segment = worker.segments[dimension];
    let first = worker.index[dimension] * array.chunk_shape[dimension] + segment.in_chunk;
    match array.stored_shape[dimension].checked_sub(first) {
        None | Some(0) => 0,
        Some(left) => segment.len.min((left - 1) / segment.stride + 1),
    }
}

/// Writes the worker's part of a chunk; returns the stored length.
fn write_part(
    array: &Array,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    data: &[u8],
) -> Result<usize, ChunkError> {
    worker.find(array)?;
    // The rest of the chunk keeps its elements.
    let has_old = !covers_stored_part(array, worker, &array.chunk_shape) && worker.fetch(array)?;
    let encoded = array.compute(worker, |worker| {
        let old = |worker: &mut Worker| {
            if has_old {
                worker.unpack(array)?;
            }
            Ok(has_old)
        };
        match change_chunk(array, worker, slab, elements, data, old)? {
            Some(run) if array.chain.is_empty() => Ok(Encoded::Given(run)),
            Some(run) => worker.pack(array, &data[run]),
            None => worker.pack_own(array),
        }
    })?;
    worker.send(array, encoded, data)
}

/// Makes the new chunk for the worker's part: a run of `data`, or else the worker's own chunk. `decode_old` decodes the
/// stored chunk into the worker's own chunk, and returns `false` if there is none.
pub(super) fn change_chunk(
    array: &Array,
    worker: &mut Worker,
    slab: &Slab,
    elements: Elements,
    data: &[u8],
    decode_old: impl FnOnce(&mut Worker) -> Result<bool, ChunkError>,
) -> Result<Option<Range<usize>>, ChunkError> {
    let element = array.dtype.size();
    worker.source.in_slab(&worker.segments, slab.count(), element);
    let whole = takes_whole_chunk(array, worker);
    let quantizer = array.quantizer(elements);
    let as_given = array.is_c_order() && !array.swaps(elements) && quantizer.is_none();
    if whole && as_given && is_run(worker, &worker.source, element) {
        let start = worker.source.offset;
        return Ok(Some(start..start + array.chain.chunk_len()));
    }
    if whole {
        worker.reserve_chunk(array)?;
    } else if !covers_stored_part(array, worker, &array.chunk_shape) {
        // Some elements keep their values.
        if !decode_old(worker)? {
            worker.reserve_chunk(array)?;
            region::fill(&mut worker.buffers.chunk, &array.fill);
        }
    } else {
        worker.reserve_chunk(array)?;
        region::fill(&mut worker.buffers.chunk, &array.fill);
    }
    worker.target.in_chunk(&worker.segments, &array.chunk_shape, element, &array.axes);
    if array.swaps(elements) && !whole {
        // Kept elements are in the stored byte order: swap, change, swap back.
        region::swap_bytes(&mut worker.buffers.chunk, array.dtype.swap_unit());
    }
    region::copy(
        &worker.segments,
        element,
        data,
        &worker.source,
        &mut worker.buffers.chunk[..],
        &worker.target,
    );
    if let Some(quantizer) = quantizer {
        let chunk = &mut worker.buffers.chunk;
        region::each_run(&worker.segments, element, &worker.source, &worker.target, &mut |s, t, run| {
            quantizer.apply((s / element) as u64, &mut chunk[t..t + run]);
        });
    }
    if array.swaps(elements) {
        region::swap_bytes(&mut worker.buffers.chunk, array.dtype.swap_unit());
    }
    Ok(None)
}

/// Whether the slab takes all elements of the worker's chunk, or shard, of this shape that lie within the stored array.
pub(super) fn covers_stored_part(array: &Array, worker: &Worker, shape: &[u64]) -> bool {
    (0..worker.segments.len()).all(|d| {
        let segment = worker.segments[d];
        let low = worker.index[d] * shape[d];
        let stored = shape[d].min(array.stored_shape[d].saturating_sub(low));
        segment.stride == 1 && segment.in_chunk == 0 && segment.len >= stored
    })
}

/// Whether the segments form one run of bytes in a region.
fn is_run(worker: &Worker, region: &Region, element: usize) -> bool {
    let mut step = element;
    worker.segments.iter().zip(&region.strides).rev().all(|(segment, &stride)| {
        let follows = stride == step || segment.len == 1;
        step *= segment.len as usize;
        follows
    })
}
