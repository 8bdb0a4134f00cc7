//! The chunks that a variable of several datasets has.

use std::sync::Arc;

use ncz_model::{Container, DataError, DimensionRef, Order, Storage, Variable, product};

use super::chunks::Split;
use super::{ConcatError, Misaligned, Part, check};

/// Chunks that are made by splitting stored ones have at least this many bytes, unless the variable is too long to be
/// assembled.
const SPLIT: u64 = 64 << 10;

/// Where the chunks of a variable come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// They are those of the datasets.
    Stored,
    /// They are parts of those of the datasets, which have no codecs.
    Split(Split),
    /// They are assembled from decoded elements.
    Assembled {
        /// Whether a copy has the codecs of the datasets.
        has_codecs: bool,
    },
}

/// A variable of one of the datasets.
struct Stored<'a> {
    part: &'a Part,
    variable: &'a Variable,
    /// What netCDF shows.
    shape: Vec<u64>,
}

/// Describes a variable of the whole, which has `total` indices along the dimension.
pub(super) fn plan(
    parts: &Arc<[Part]>,
    path: &str,
    joined: &DimensionRef,
    total: u64,
    misaligned: Misaligned,
) -> Result<(Variable, usize, Layout), ConcatError> {
    let mut all = Vec::new();
    for part in &**parts {
        let variable = check::variable(part, path)?;
        all.push(Stored { part, variable, shape: part.dataset.hierarchy().shape_of(variable) });
    }
    let Some(first) = all.first() else { return Err(ConcatError::Nothing) };
    let mut planned = first.variable.clone();
    let axis = check::axis(first.part.dataset.hierarchy(), joined, first.variable).unwrap_or(0);
    planned.storage = Storage::Chunked;
    let stored = is_stored(&all, axis).and_then(|()| {
        let last = all.last().and_then(|last| Some(last.part.start + last.variable.shape.get(axis)?));
        set(&mut planned.shape, axis, last.unwrap_or(total));
        same_codecs(&all)
    });
    // Strings are read one by one, wherever the chunks end.
    let stored = match stored {
        Ok(()) if planned.dtype.is_variable_length() => {
            return Ok((planned, axis, Layout::Assembled { has_codecs: true }));
        }
        Ok(()) => same_chunks(&all)
            .and_then(|()| ends(&all, axis, first.variable.object_shape()))
            .and_then(|()| unconverted(&all, path)),
        other => other,
    };
    let Err((part, reason)) = stored else { return Ok((planned, axis, Layout::Stored)) };
    if planned.dtype.is_variable_length() {
        whole(&mut planned, &first.shape, axis, total);
        return Ok((planned, axis, Layout::Assembled { has_codecs: true }));
    }
    let Misaligned::Refuse { most } = misaligned else {
        whole(&mut planned, &first.shape, axis, total);
        return Ok((planned, axis, Layout::Assembled { has_codecs: true }));
    };
    let bytes = product(first.shape.iter().enumerate().map(|(d, len)| if d == axis { total } else { *len }));
    let bytes = bytes.and_then(|count| count.checked_mul(planned.dtype.size() as u64));
    let is_short = bytes.is_some_and(|bytes| bytes <= most);
    let converted = unconverted(&all, path);
    let is_converted = converted.is_err();
    let (part, reason) = converted.err().unwrap_or((part, reason));
    if !is_converted
        && let Some((chunk, split)) = split(&all, axis)
        && (split.len >= SPLIT || !is_short)
    {
        set(&mut planned.chunk_shape, axis, chunk);
        return Ok((planned, axis, Layout::Split(split)));
    }
    if is_short {
        whole(&mut planned, &first.shape, axis, total);
        planned.chunk_shape = planned.shape.iter().map(|len| (*len).max(1)).collect();
        planned.filters.clear();
        return Ok((planned, axis, Layout::Assembled { has_codecs: false }));
    }
    Err(ConcatError::Misaligned { path: path.to_owned(), part: part.to_owned(), reason })
}

/// Makes a variable that has all elements that are shown, in row-major order.
fn whole(planned: &mut Variable, shape: &[u64], axis: usize, total: u64) {
    planned.shape = shape.to_vec();
    set(&mut planned.shape, axis, total);
    planned.order = Order::C;
    planned.sharding = None;
}

/// The dataset and the reason why stored chunks are not those of the whole.
type Reason<'a> = (&'a str, String);

/// Whether every dataset stores all elements that it shows, but the last one along the dimension.
fn is_stored<'a>(all: &[Stored<'a>], axis: usize) -> Result<(), Reason<'a>> {
    let Some(first) = all.first() else { return Ok(()) };
    for (number, Stored { part, variable, shape }) in all.iter().enumerate() {
        for (d, (stored, shown)) in variable.shape.iter().zip(shape).enumerate() {
            let is_same = match d == axis {
                true => stored == shown || number + 1 == all.len(),
                false => Some(stored) == first.variable.shape.get(d),
            };
            if !is_same {
                return Err((
                    &part.name,
                    format!("it stores only {stored} of {shown} elements of a dimension"),
                ));
            }
        }
    }
    Ok(())
}

/// Whether the values of every dataset are as it stores them.
fn unconverted<'a>(all: &[Stored<'a>], path: &str) -> Result<(), Reason<'a>> {
    let reason = |stored: &Stored<'a>| {
        let reason = stored.part.converted.get(path)?;
        Some((stored.part.name.as_str(), format!("its values would have to be converted: {reason}")))
    };
    all.iter().find_map(reason).map_or(Ok(()), Err)
}

/// Whether every dataset has the same chunks and order of elements.
fn same_chunks<'a>(all: &[Stored<'a>]) -> Result<(), Reason<'a>> {
    let Some(first) = all.first() else { return Ok(()) };
    for Stored { part, variable, shape } in all {
        let rank = shape.len();
        if variable.chunk_shape != first.variable.chunk_shape || variable.sharding != first.variable.sharding
        {
            let (ours, theirs) = (first.variable.object_shape(), variable.object_shape());
            return Err((
                &part.name,
                format!("its chunks are {theirs:?}, and those of {} {ours:?}", first.part.name),
            ));
        }
        if variable.order.axes(rank) != first.variable.order.axes(rank) {
            let reason = format!("the order of its elements is not that of {}", first.part.name);
            return Err((&part.name, reason));
        }
    }
    Ok(())
}

/// Whether every dataset but the last ends with a whole chunk.
fn ends<'a>(all: &[Stored<'a>], axis: usize, chunk: &[u64]) -> Result<(), Reason<'a>> {
    let chunk = chunk.get(axis).copied().unwrap_or(1).max(1);
    let before_last = all.get(..all.len().saturating_sub(1)).unwrap_or_default();
    match before_last.iter().find(|stored| !stored.part.len.is_multiple_of(chunk)) {
        Some(Stored { part, .. }) => Err((
            &part.name,
            format!("it ends after {} of the dimension, within a chunk of {chunk}", part.len),
        )),
        None => Ok(()),
    }
}

/// Whether the chunks of every dataset are decoded in the same way.
fn same_codecs<'a>(all: &[Stored<'a>]) -> Result<(), Reason<'a>> {
    let Some(first) = all.first() else { return Ok(()) };
    if first.variable.dtype.is_variable_length() {
        return Ok(());
    }
    let unbound = |part: &'a Part, error: &DataError| (part.name.as_str(), crate::causes::with_causes(error));
    let ours = first.part.dataset.chain(first.variable).map_err(|error| unbound(first.part, &error))?;
    for Stored { part, variable, .. } in all.get(1..).unwrap_or_default() {
        let theirs = part.dataset.chain(variable).map_err(|error| unbound(part, &error))?;
        if ours.working() != theirs.working() || ours.to_string() != theirs.to_string() {
            let name = |chain: &str| if chain.is_empty() { "none".to_owned() } else { chain.to_owned() };
            let (ours, theirs) = (name(&ours.to_string()), name(&theirs.to_string()));
            return Err((
                &part.name,
                format!("its codecs are {theirs}, and those of {} {ours}", first.part.name),
            ));
        }
    }
    Ok(())
}

/// The length along the dimension of chunks without codecs that stored chunks consist of, and how.
fn split(all: &[Stored<'_>], axis: usize) -> Option<(u64, Split)> {
    let first = all.first()?;
    is_stored(all, axis).ok()?;
    let before_last = all.len().saturating_sub(1);
    let mut chunk = 0;
    let mut lens = Vec::new();
    for (number, Stored { part, variable, .. }) in all.iter().enumerate() {
        let is_plain = part.dataset.hierarchy().format.is_netcdf()
            && variable.sharding.is_none()
            && variable.order == Order::C
            && part.dataset.chain(variable).ok()?.is_empty();
        let len = *variable.chunk_shape.get(axis)?;
        let same = variable.chunk_shape.iter().zip(&first.variable.chunk_shape).enumerate();
        // What is before the dimension must not interleave the parts of a chunk.
        let is_one = variable.chunk_shape.get(..axis)?.iter().all(|len| *len == 1);
        let is_same = same.into_iter().all(|(d, (one, other))| d == axis || one == other);
        if !is_plain || !is_one || !is_same {
            return None;
        }
        chunk = gcd(chunk, len);
        if number < before_last {
            chunk = gcd(chunk, part.len);
        }
        lens.push(len);
    }
    let inner = first.variable.chunk_shape.get(axis + 1..)?.iter().copied();
    let len = product(inner.chain([chunk, first.variable.dtype.size() as u64]))?;
    let together = lens.iter().map(|len| len.checked_div(chunk)).collect::<Option<Vec<_>>>()?;
    Some((chunk, Split { together, len }))
}

fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

fn set(lens: &mut [u64], axis: usize, len: u64) {
    if let Some(at) = lens.get_mut(axis) {
        *at = len;
    }
}
