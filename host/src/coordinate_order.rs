//! The order of the values of a coordinate.

use ncz_model::Value;

/// A coordinate with more bytes is not looked at (256 MiB).
pub(crate) const MOST_BYTES: u64 = 256 << 20;

/// Where the values of a coordinate neither grow on nor shrink on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfOrder {
    /// The index of the value that does not continue the direction of the first two.
    pub(crate) at: usize,
    /// The value before it.
    pub(crate) before: String,
    /// The value.
    pub(crate) after: String,
}

/// The first value that is out of order; `None` if there is none, or if values of this type have no order.
pub(crate) fn out_of_order(values: &Value) -> Option<OutOfOrder> {
    match values {
        Value::Byte(values) => first(values),
        Value::UByte(values) => first(values),
        Value::Short(values) => first(values),
        Value::UShort(values) => first(values),
        Value::Int(values) => first(values),
        Value::UInt(values) => first(values),
        Value::Int64(values) => first(values),
        Value::UInt64(values) => first(values),
        Value::Float(values) => first(values),
        Value::Double(values) => first(values),
        Value::Char(_) | Value::String(_) => None,
    }
}

fn first<T: PartialOrd + ToString>(values: &[T]) -> Option<OutOfOrder> {
    let grows = values.array_windows().next().is_none_or(|[one, other]| one < other);
    let is_fault = |[one, other]: &[T; 2]| if grows { one >= other } else { one <= other };
    let at = values.array_windows().position(is_fault)? + 1;
    let shown = |index: usize| values.get(index).map(T::to_string).unwrap_or_default();
    Some(OutOfOrder { at, before: shown(at - 1), after: shown(at) })
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
            let found = out_of_order(&Value::Int(values.to_vec()));
            assert_eq!(found.map(|found| found.at), want, "{values:?}");
        }
    }
}
