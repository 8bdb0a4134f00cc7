//! The selections of zarr-python: which elements of a chunk go where in an array.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PySlice, PyTuple};

use crate::buffers::Region;

/// A box of the elements of a chunk, with steps.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub(crate) start: Vec<usize>,
    pub(crate) step: Vec<usize>,
    pub(crate) count: Vec<usize>,
    /// Whether it is the whole chunk.
    pub(crate) is_whole: bool,
    /// Whether a stored chunk is of no use for writing this part.
    pub(crate) is_complete: bool,
}

/// One dimension of a selection.
enum Axis {
    Index(usize),
    Range { start: usize, step: usize, count: usize },
}

/// Reads a pair of selections of integers and slices: in a chunk and in an array, in which an integer has no dimension.
/// `None` if they have other things, or do not fit each other. With `is_scalar` the array is one element for all.
pub(crate) fn select(
    chunk: &[usize],
    array: &[usize],
    in_chunk: &Bound<'_, PyAny>,
    in_array: &Bound<'_, PyAny>,
    is_scalar: bool,
) -> PyResult<Option<(Selected, Region)>> {
    let Some(axes) = axes(in_chunk, chunk)? else { return Ok(None) };
    let Some(targets) =
        self::axes(in_array, array)?.filter(|_| !is_scalar).or_else(|| is_scalar.then(Vec::new))
    else {
        return Ok(None);
    };
    let mut selected = Selected {
        start: Vec::new(),
        step: Vec::new(),
        count: Vec::new(),
        is_whole: true,
        is_complete: false,
    };
    let mut region = Region { start: Vec::new(), count: Vec::new(), axis: Vec::new() };
    let mut targets = targets.into_iter().enumerate();
    for (axis, &len) in axes.into_iter().zip(chunk) {
        let (start, step, count, target) = match axis {
            Axis::Index(start) => (start, 1, 1, None),
            Axis::Range { start, step, count } if is_scalar => (start, step, count, None),
            Axis::Range { start, step, count } => match targets.next() {
                Some((number, Axis::Range { start: to, step: 1, count: room })) if room == count => {
                    (start, step, count, Some((number, to)))
                }
                _ => return Ok(None),
            },
        };
        selected.is_whole &= count == len && step == 1;
        selected.start.push(start);
        selected.step.push(step);
        selected.count.push(count);
        region.start.push(target.map_or(0, |(_, to)| to));
        region.count.push(count);
        region.axis.push(target.map(|(number, _)| number));
    }
    selected.is_complete = selected.is_whole;
    Ok(targets.next().is_none().then_some((selected, region)))
}

/// The dimensions of a selection; those that it does not name are whole. `None` if it has other things.
fn axes(selection: &Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Option<Vec<Axis>>> {
    let entries = match selection.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![selection.clone()],
    };
    if entries.len() > shape.len() {
        return Ok(None);
    }
    let mut axes = Vec::with_capacity(shape.len());
    for (number, &len) in shape.iter().enumerate() {
        let Some(entry) = entries.get(number) else {
            axes.push(Axis::Range { start: 0, step: 1, count: len });
            continue;
        };
        let axis =
            if let Ok(slice) = entry.cast::<PySlice>() { range(slice, len)? } else { index(entry, len) };
        let Some(axis) = axis else { return Ok(None) };
        axes.push(axis);
    }
    Ok(Some(axes))
}

fn range(slice: &Bound<'_, PySlice>, len: usize) -> PyResult<Option<Axis>> {
    let indices = slice.indices(isize::try_from(len).unwrap_or(isize::MAX))?;
    let range = (usize::try_from(indices.start), usize::try_from(indices.step));
    let (Ok(start), Ok(step)) = range else { return Ok(None) };
    let count = indices.slicelength;
    // Of one element only the start matters.
    let step = if count > 1 { step } else { 1 };
    Ok(Some(Axis::Range { start: if count == 0 { 0 } else { start }, step, count }))
}

fn index(entry: &Bound<'_, PyAny>, len: usize) -> Option<Axis> {
    if entry.is_instance_of::<PyBool>() || !entry.is_instance_of::<PyInt>() {
        return None;
    }
    entry.extract::<usize>().ok().filter(|&index| index < len).map(Axis::Index)
}
