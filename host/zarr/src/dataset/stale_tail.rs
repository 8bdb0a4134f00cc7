//! Replaces the stale bytes beyond the end of a growing array by fill.
//!
//! Other programs put arbitrary bytes into the padding of the last chunks, and a program that was stopped during an
//! append may have written chunks there. These bytes are not data.

use std::ops::ControlFlow;
use std::sync::Arc;

use ncz_model::{
    Array, ChunkError, DataError, Pool, Slab, StringArray, Tasks, Variable, Worker, limits, product,
};
use ncz_store::{Depth, Prefix, Store, StoreError};

use super::grown_variable::GrownVariable;
use super::source::together;

/// The most chunks that are requested one by one; if there may be more, the existing chunks are listed.
const ASKED: usize = 4096;

/// The most chunks that are searched for those that a write does not cover.
const COUNTED: u64 = 1 << 20;

/// The objects (chunks or shards) that have a part that becomes visible.
pub(super) struct StaleTail {
    path: String,
    /// Shape of the array before and after.
    old: Vec<u64>,
    new: Vec<u64>,
    /// Lengths of an object.
    unit: Vec<u64>,
    /// The whole objects that the new shape touches: their number in each dimension, and their lengths.
    counts: Vec<u64>,
    full: Vec<u64>,
    /// An object is affected if its coordinate in any dimension is this or more.
    from: Vec<u64>,
}

/// A tail whose objects are known.
struct Opened<'a> {
    tail: &'a StaleTail,
    target: Target,
    axes: Vec<usize>,
    fill: Vec<u8>,
    /// The objects that may have parts to fill.
    objects: Vec<Vec<u64>>,
    /// The memory for clearing one object.
    bytes: u64,
}

/// The variable of a tail, opened with its new shape.
enum Target {
    Array(Box<Array>),
    Strings(StringArray),
}

/// The buffers of one thread.
struct ChunkBuffers {
    reader: Worker,
    writer: Worker,
    chunk: Vec<u8>,
}

impl StaleTail {
    /// Makes the tail between the shape of `variable` and the shape `new`. In `clean` dimensions the last chunks are
    /// known to hold only fill beyond the end.
    pub(super) fn new(variable: &Variable, new: &[u64], clean: &[bool]) -> Result<Self, DataError> {
        let unit = variable.object_shape().to_vec();
        let counts: Vec<u64> = new.iter().zip(&unit).map(|(len, unit)| len.div_ceil(*unit)).collect();
        let full: Option<Vec<u64>> =
            counts.iter().zip(&unit).map(|(count, unit)| count.checked_mul(*unit)).collect();
        let full = full.ok_or_else(|| DataError::Unsupported {
            variable: variable.path.clone(),
            reason: format!("the shape {new:?} is too large for chunks {unit:?}"),
        })?;
        let from = (0..new.len())
            .map(|axis| match variable.shape[axis] {
                old if new[axis] <= old => counts[axis],
                old if clean[axis] => old.div_ceil(unit[axis]),
                old => old / unit[axis],
            })
            .collect();
        let (path, old) = (variable.path.clone(), variable.shape.clone());
        Ok(Self { path, old, new: new.to_vec(), unit, counts, full, from })
    }

    /// Opens the variable and finds the objects to check.
    fn open(&self, longer: &GrownVariable, slab: Option<&Slab>) -> Result<Opened<'_>, DataError> {
        let mut variable = longer.variable.clone();
        variable.shape.clone_from(&self.full);
        let axes = variable.order.axes(self.unit.len());
        let is_strings = variable.dtype.is_variable_length();
        let fill = match is_strings {
            true => variable.fill.as_ref().map_or(Vec::new(), |fill| fill.bytes().to_vec()),
            false => variable.fill_bytes(),
        };
        let object =
            self.unit.iter().fold(variable.dtype.size() as u64, |len, unit| len.saturating_mul(*unit));
        let (store, chain) = (longer.store.clone(), longer.chain.clone());
        let whole =
            GrownVariable { store, variable, chain, terms: longer.terms.clone(), pool: Pool::serial() };
        let (target, objects) = if is_strings {
            let objects = self.uncovered(slab, COUNTED as usize).ok_or_else(|| self.too_many())?;
            (Target::Strings(whole.strings()?), objects)
        } else {
            let array = whole.array()?;
            let objects = match self.uncovered(slab, ASKED) {
                Some(objects) => objects,
                None => match self.existing(&longer.store, &array, slab)? {
                    Some(objects) => objects,
                    None => self.uncovered(slab, COUNTED as usize).ok_or_else(|| self.too_many())?,
                },
            };
            (Target::Array(Box::new(array)), objects)
        };
        Ok(Opened { tail: self, target, axes, fill, objects, bytes: object.saturating_mul(2) })
    }

    fn too_many(&self) -> DataError {
        DataError::Unsupported {
            variable: self.path.clone(),
            reason: format!(
                "{:?} has too many chunks more than {:?}; grow in smaller steps",
                self.new, self.old
            ),
        }
    }

    /// Returns the affected objects that `slab` does not replace; `None` if there are more than `most`, or too many to
    /// check.
    fn uncovered(&self, slab: Option<&Slab>, most: usize) -> Option<Vec<Vec<u64>>> {
        let mut objects = Vec::new();
        let mut total = 0u64;
        for axis in 0..self.new.len() {
            // Disjoint bands: affected because of this dimension, but not because of an earlier one.
            let first: Vec<u64> =
                (0..self.new.len()).map(|other| if other == axis { self.from[axis] } else { 0 }).collect();
            let end: Vec<u64> = (0..self.new.len())
                .map(|other| if other < axis { self.from[other] } else { self.counts[other] })
                .collect();
            let lens = first.iter().zip(&end).map(|(first, end)| end.saturating_sub(*first));
            total = total.checked_add(product(lens)?)?;
            if total > COUNTED {
                return None;
            }
            let full = each(&first, &end, &mut |object| {
                if !self.is_covered(object, slab) {
                    objects.push(object.to_vec());
                }
                if objects.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if full.is_break() {
                return None;
            }
        }
        Some(objects)
    }

    /// Returns the affected objects that exist in the store; `None` if the array has too many to list.
    fn existing(
        &self,
        store: &Arc<dyn Store>,
        array: &Array,
        slab: Option<&Slab>,
    ) -> Result<Option<Vec<Vec<u64>>>, DataError> {
        let at = |source| DataError::Store { store: store.to_string(), source };
        let prefix = match array.key() {
            "" => Prefix::ROOT,
            key => Prefix::parse(key).map_err(|source| DataError::Chunk {
                variable: self.path.clone(),
                key: key.to_owned(),
                store: store.to_string(),
                source: Box::new(ChunkError::Key(source)),
            })?,
        };
        let listing = match store.list(prefix, Depth::All, limits::CHILDREN) {
            Err(StoreError::TooManyEntries { .. }) => return Ok(None),
            listing => listing.map_err(at)?,
        };
        let index = |entry: &ncz_store::Entry| array.object_index(entry.key.as_key().as_str());
        let concerned = |object: &Vec<u64>| {
            object.iter().zip(&self.from).any(|(at, from)| at >= from) && !self.is_covered(object, slab)
        };
        Ok(Some(listing.entries.iter().filter_map(index).filter(concerned).collect()))
    }

    /// Whether the slab replaces the whole object, no part of which was visible before.
    fn is_covered(&self, object: &[u64], slab: Option<&Slab>) -> bool {
        let Some(slab) = slab else { return false };
        self.in_view(object).contains(&0)
            && (0..object.len()).all(|axis| {
                let start = object[axis] * self.unit[axis];
                let end = (start + self.unit[axis]).min(self.new[axis]);
                let written = slab.start()[axis]..slab.start()[axis].saturating_add(slab.count()[axis]);
                (slab.stride()[axis] == 1 || slab.count()[axis] == 1)
                    && written.start <= start
                    && end <= written.end
            })
    }

    /// Returns the lengths of the part of the object that lies within the old shape.
    fn in_view(&self, object: &[u64]) -> Vec<u64> {
        part_before(&self.old, object, &self.unit)
    }

    /// Clears an object. Objects and chunks of shards that were never visible are removed without reading them; in the
    /// others, the part beyond the end becomes fill.
    fn clear_object(
        &self,
        array: &Array,
        axes: &[usize],
        fill: &[u8],
        buffers: &mut ChunkBuffers,
        object: &[u64],
    ) -> Result<(), DataError> {
        let ChunkBuffers { reader, writer, chunk } = buffers;
        if self.in_view(object).contains(&0) {
            return array.remove_object(writer, object);
        }
        if !array.load_object(reader, object)? {
            return Ok(());
        }
        let lens = array.chunk_shape();
        // No part becomes visible along dimensions that do not grow.
        let in_view = |index: &[u64]| {
            let mut seen = part_before(&self.old, index, lens);
            for axis in (0..seen.len()).filter(|&axis| self.new[axis] <= self.old[axis]) {
                seen[axis] = seen[axis].max(u64::from(seen[axis] > 0) * lens[axis]);
            }
            seen
        };
        // In the order of the elements of a chunk.
        let permuted = |lens: &[u64]| axes.iter().map(|&axis| lens[axis]).collect::<Vec<u64>>();
        let clear =
            |chunk: &mut [u8], seen: &[u64]| fill_outside(chunk, &permuted(seen), &permuted(lens), fill);
        self.reserve(chunk, array.chain().chunk_len())?;
        let mut changed = false;
        for index in array.object_chunks(object) {
            let seen = in_view(&index);
            changed |= if seen.contains(&0) {
                !matches!(array.decode_loaded(reader, &index, chunk), Ok(None))
            } else {
                seen != lens && array.decode_loaded(reader, &index, chunk)?.is_some() && clear(chunk, &seen)
            };
            if changed {
                break;
            }
        }
        if !changed {
            return Ok(());
        }
        let written = array.encode_object(writer, object, &mut |index, chunk| {
            let seen = in_view(index);
            if seen.contains(&0) || array.decode_loaded(reader, index, chunk)?.is_none() {
                return Ok(false);
            }
            clear(chunk, &seen);
            Ok(true)
        });
        let written = written.map_err(|error| match error {
            DataError::Chunk { variable, key, store, source } if array.refuses(&source) => {
                let source = Box::new(ChunkError::Padded(source));
                DataError::Chunk { variable, key, store, source }
            }
            other => other,
        })?;
        if written.chunks == 0 { array.remove_object(writer, object) } else { Ok(()) }
    }

    fn clear_strings(&self, array: &StringArray, fill: &[u8], object: &[u64]) -> Result<(), DataError> {
        let in_view = self.in_view(object);
        if in_view.contains(&0) {
            return array.remove_stored(object);
        }
        let start: Vec<u64> = object.iter().zip(&self.unit).map(|(at, unit)| at * unit).collect();
        let slab = Slab::new(start, self.unit.as_slice());
        let Some(strings) = array.read_serial(&slab)? else { return Ok(()) };
        let mut changed = false;
        let mut kept = Vec::with_capacity(strings.len());
        for (number, string) in strings.iter().enumerate() {
            let is_data = is_inside(number as u64, &in_view, &self.unit);
            changed |= !is_data && string != fill;
            kept.push(if is_data { string } else { fill });
        }
        if changed { array.write(&slab, &kept) } else { Ok(()) }
    }

    fn reserve(&self, buffer: &mut Vec<u8>, len: usize) -> Result<(), DataError> {
        if buffer.len() != len {
            buffer.try_reserve_exact(len.saturating_sub(buffer.len())).map_err(|_| {
                DataError::Unsupported {
                    variable: self.path.clone(),
                    reason: format!("no memory for a chunk of {len} bytes"),
                }
            })?;
            buffer.resize(len, 0);
        }
        Ok(())
    }
}

/// Returns the lengths of the part of the box at `index`, in a grid of boxes of `lens`, that lies within `shape`.
fn part_before(shape: &[u64], index: &[u64], lens: &[u64]) -> Vec<u64> {
    let lens = index.iter().zip(lens);
    shape.iter().zip(lens).map(|(end, (at, len))| end.saturating_sub(at * len).min(*len)).collect()
}

/// Fills the tails of variables, except the objects that `slab` will cover. The objects of all variables are
/// distributed to the threads, or I/O threads, until none is left or one fails.
pub(super) fn clear(
    store: &dyn Store,
    pool: &Pool,
    tails: &[(&StaleTail, &GrownVariable)],
    slab: Option<&Slab>,
) -> Result<(), DataError> {
    let opened = together(store, pool, tails, 0, |(tail, longer)| tail.open(longer, slab));
    let tails = opened.into_iter().collect::<Result<Vec<_>, _>>()?;
    let objects: Vec<_> =
        tails.iter().flat_map(|tail| tail.objects.iter().map(move |object| (tail, object))).collect();
    let bytes = tails.iter().map(|tail| tail.bytes).max().unwrap_or(0);
    let stores = [store];
    let tasks = Tasks::new(objects.len() as u64).on(&stores, bytes);
    pool.for_each(
        &tasks,
        || (),
        |(), number| {
            let (tail, object) = objects[number as usize];
            tail.clear(object)
        },
    )
    .map(drop)
}

impl Opened<'_> {
    fn clear(&self, object: &[u64]) -> Result<(), DataError> {
        match &self.target {
            Target::Strings(array) => self.tail.clear_strings(array, &self.fill, object),
            Target::Array(array) => {
                let mut buffers =
                    ChunkBuffers { reader: array.worker(), writer: array.worker(), chunk: Vec::new() };
                self.tail.clear_object(array, &self.axes, &self.fill, &mut buffers, object)?;
                array.release(buffers.reader);
                array.release(buffers.writer);
                Ok(())
            }
        }
    }
}

/// Whether an element of a box of `unit` elements is one of the first `inside` ones in every dimension.
fn is_inside(number: u64, inside: &[u64], unit: &[u64]) -> bool {
    let mut rest = number;
    unit.iter().zip(inside).rev().all(|(unit, inside)| {
        let at = rest % unit;
        rest /= unit;
        at < *inside
    })
}

/// Calls `visit` with all coordinates from `first` to before `end`.
fn each(first: &[u64], end: &[u64], visit: &mut impl FnMut(&[u64]) -> ControlFlow<()>) -> ControlFlow<()> {
    if first.iter().zip(end).any(|(first, end)| first >= end) {
        return ControlFlow::Continue(());
    }
    let mut at = first.to_vec();
    loop {
        visit(&at)?;
        let Some(axis) = (0..at.len()).rev().find(|&axis| at[axis] + 1 < end[axis]) else {
            return ControlFlow::Continue(());
        };
        at[axis] += 1;
        at[axis + 1..].copy_from_slice(&first[axis + 1..]);
    }
}

/// Fills all elements of a box of `unit` elements that lie outside its first `inside` elements in any dimension;
/// returns whether any element changed.
fn fill_outside(buffer: &mut [u8], inside: &[u64], unit: &[u64], fill: &[u8]) -> bool {
    let (Some(&last_unit), Some(&last_inside)) = (unit.last(), inside.last()) else { return false };
    let rank = unit.len();
    let mut changed = false;
    for (number, row) in buffer.chunks_exact_mut(last_unit as usize * fill.len()).enumerate() {
        let inside = is_inside(number as u64, &inside[..rank - 1], &unit[..rank - 1]);
        let kept = if inside { last_inside as usize } else { 0 };
        for element in row.chunks_exact_mut(fill.len()).skip(kept) {
            if element != fill {
                element.copy_from_slice(fill);
                changed = true;
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_outside_become_fill() {
        let mut buffer = [1, 2, 3, 4, 5, 6];
        assert!(fill_outside(&mut buffer, &[1, 2], &[2, 3], &[9]));
        assert_eq!(buffer, [1, 2, 9, 9, 9, 9]);
        assert!(!fill_outside(&mut buffer, &[1, 2], &[2, 3], &[9]));
        assert!(!fill_outside(&mut buffer, &[2, 3], &[2, 3], &[9]));
        assert!(fill_outside(&mut buffer, &[0, 3], &[2, 3], &[9]));
        assert_eq!(buffer, [9; 6]);
    }

    #[test]
    fn all_coordinates_of_a_box_are_visited() {
        let mut seen = Vec::new();
        let _ = each(&[1, 0], &[3, 2], &mut |at| {
            seen.push(at.to_vec());
            ControlFlow::Continue(())
        });
        assert_eq!(seen, [[1, 0], [1, 1], [2, 0], [2, 1]]);
        let _ = each(&[1, 2], &[3, 2], &mut |_| panic!("empty"));
    }
}
