//! The order of the coordinate along which datasets are joined.

use ncz_model::{Container, DimensionRef, Elements, Slab, Value, join_path};

use super::{ConcatError, Concatenated, Part};

/// A coordinate with more bytes is not looked at (256 MiB).
const MOST_BYTES: u64 = 256 << 20;

/// Checks that the coordinate of the dimension grows, or shrinks, everywhere.
pub(super) fn check(joined: &Concatenated, dimension: &DimensionRef) -> Result<(), ConcatError> {
    let path = join_path(&dimension.group, &dimension.name);
    let Ok(variable) = joined.hierarchy.variable(&path) else { return Ok(()) };
    let shape = joined.hierarchy.shape_of(variable);
    let bytes = shape.iter().fold(variable.dtype.size() as u64, |all, len| all.saturating_mul(*len));
    let (1, Some(nc_type), 1..=MOST_BYTES) = (shape.len(), variable.nc_type, bytes) else { return Ok(()) };
    if !joined.along.contains_key(&path) {
        return Ok(());
    }
    let failed = |source| ConcatError::Data { part: joined.store.to_string(), source: Box::new(source) };
    let mut values = vec![0; bytes as usize];
    let read = joined
        .array(&path)
        .and_then(|array| array.read_bytes(&Slab::whole(&shape), Elements::Native, &mut values));
    read.map_err(failed)?;
    let Some(values) = Value::from_native_bytes(nc_type, variable.dtype.size(), &values) else {
        return Ok(());
    };
    let found = match &values {
        Value::Byte(values) => fault(values),
        Value::UByte(values) => fault(values),
        Value::Short(values) => fault(values),
        Value::UShort(values) => fault(values),
        Value::Int(values) => fault(values),
        Value::UInt(values) => fault(values),
        Value::Int64(values) => fault(values),
        Value::UInt64(values) => fault(values),
        Value::Float(values) => fault(values),
        Value::Double(values) => fault(values),
        Value::Char(_) | Value::String(_) => None,
    };
    let Some((at, before, after)) = found else { return Ok(()) };
    let part = |index: usize| {
        let is_in = |part: &&Part| (index as u64).checked_sub(part.start).is_some_and(|at| at < part.len);
        joined.parts.iter().find(is_in).map_or("", |part| part.name.as_str())
    };
    let (one, other) = (part(at.saturating_sub(1)), part(at));
    let reason = match one == other {
        true => format!("in {one}, {after} follows {before}"),
        false => format!("{other} begins with {after}, and {one} ends with {before}"),
    };
    Err(ConcatError::Order { path, reason })
}

/// The first index whose value does not continue the direction of the first two, that value and the one before.
fn fault<T: PartialOrd + ToString>(values: &[T]) -> Option<(usize, String, String)> {
    let grows = values.array_windows().next().is_none_or(|[one, other]| one < other);
    let is_fault = |[one, other]: &[T; 2]| if grows { one >= other } else { one <= other };
    let at = values.array_windows().position(is_fault)? + 1;
    let shown = |index: usize| values.get(index).map(T::to_string).unwrap_or_default();
    Some((at, shown(at - 1), shown(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_that_breaks_the_order_is_found() {
        for (values, want) in [
            (&[][..], None),
            (&[1], None),
            (&[1, 2, 5], None),
            (&[5, 2, 1], None),
            (&[1, 1], Some(1)),
            (&[1, 2, 2], Some(2)),
            (&[3, 2, 4], Some(2)),
        ] {
            assert_eq!(fault(values).map(|(at, ..)| at), want, "{values:?}");
        }
    }
}
