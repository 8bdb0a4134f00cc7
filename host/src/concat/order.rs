//! The order of the coordinate along which datasets are joined.

use ncz_model::{Container, DimensionRef, Elements, Slab, join_path};

use super::{ConcatError, Concatenated, Part};
use crate::coordinate_order::{Coordinate, MOST_BYTES, OutOfOrder};

/// Checks that the coordinate of the dimension grows, or shrinks, everywhere.
pub(super) fn check(joined: &Concatenated, dimension: &DimensionRef) -> Result<(), ConcatError> {
    let path = join_path(&dimension.group, &dimension.name);
    let Ok(variable) = joined.hierarchy.variable(&path) else { return Ok(()) };
    let shape = joined.hierarchy.shape_of(variable);
    let bytes = shape.iter().fold(variable.dtype.size() as u64, |all, len| all.saturating_mul(*len));
    let coordinate = Coordinate::of(variable, joined.hierarchy.format);
    let (1, Some(coordinate), 1..=MOST_BYTES) = (shape.len(), coordinate, bytes) else { return Ok(()) };
    if !joined.along.contains_key(&path) {
        return Ok(());
    }
    let failed = |source| ConcatError::Data { part: joined.store.to_string(), source: Box::new(source) };
    let mut values = vec![0; bytes as usize];
    let read = joined
        .array(&path)
        .and_then(|array| array.read_bytes(&Slab::whole(&shape), Elements::Native, &mut values));
    read.map_err(failed)?;
    let Some(OutOfOrder { at, before_at, before, after, direction }) = coordinate.out_of_order(&values)
    else {
        return Ok(());
    };
    let part = |index: usize| {
        let is_in = |part: &&Part| (index as u64).checked_sub(part.start).is_some_and(|at| at < part.len);
        joined.parts.iter().find(is_in).map_or("", |part| part.name.as_str())
    };
    let (one, other) = (part(before_at), part(at));
    let reason = match one == other {
        true => format!("in {one}, {after} follows {before}{direction}"),
        false => format!("{other} begins with {after}, and {one} ends with {before}{direction}"),
    };
    Err(ConcatError::Order { path, reason })
}
