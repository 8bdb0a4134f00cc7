//! The order of the values of a coordinate.

use std::fmt;

use ncz_model::{Dtype, Format, Kind, Value, Variable};

use crate::conversion::{Number, numbers};

/// A coordinate with more bytes is not looked at (256 MiB).
pub(crate) const MOST_BYTES: u64 = 256 << 20;

/// Elements that are looked at together.
const TOGETHER: usize = 1 << 16;

/// The attribute with a second value that stands for a missing one.
const MISSING_VALUE: &str = "missing_value";

/// NaT, which is not a time, in numpy and in the integers that xarray writes.
const NAT: Number = Number::Int(i64::MIN as i128);

/// A coordinate whose values have an order: numbers and times.
#[derive(Debug)]
pub(crate) struct Coordinate {
    dtype: Dtype,
    /// The numbers that stand for missing values; NaN does in any case.
    missing: Vec<Number>,
}

/// Where the values of a coordinate neither grow on nor shrink on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfOrder {
    /// The index of the value that does not continue the direction of the first two.
    pub(crate) at: usize,
    /// The index of the value before it.
    pub(crate) before_at: usize,
    /// The value before it.
    pub(crate) before: String,
    /// The value.
    pub(crate) after: String,
    /// The direction that it does not continue, if the values shrink.
    pub(crate) direction: Shrinking,
}

/// The first two values, if they shrink. Its text follows that of a fault.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shrinking(Option<(String, String)>);

impl fmt::Display for Shrinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some((one, other)) => write!(f, "; the values before shrink, from {one} to {other}"),
            None => Ok(()),
        }
    }
}

impl Coordinate {
    /// The values of a variable in a dataset of this format; `None` if values of its type have no order.
    pub(crate) fn of(variable: &Variable, format: Format) -> Option<Self> {
        let is_number = matches!(
            variable.dtype.kind(),
            Kind::Int | Kind::UInt | Kind::Float | Kind::DateTime | Kind::TimeDelta
        );
        if !is_number || variable.user_type.is_some() {
            return None;
        }
        let attribute = variable.attribute(MISSING_VALUE).map(|attribute| attribute.value.clone());
        let missing = variable.masked_value(format).into_iter().chain(attribute);
        let missing =
            missing.flat_map(|value| numbers(&value)).chain(is_time(variable).then_some(NAT)).collect();
        Some(Self { dtype: variable.dtype.clone(), missing })
    }

    /// The numbers among elements in the byte order of the machine that are not missing, with their indices.
    pub(crate) fn known(&self, elements: &[u8]) -> impl Iterator<Item = (usize, Number)> {
        let blocks = elements.chunks(self.dtype.size().max(1) * TOGETHER);
        let values = blocks.filter_map(move |block| Value::from_elements(&self.dtype, block));
        values
            .flat_map(|values| numbers(&values))
            .enumerate()
            .filter(move |(_, number)| !self.is_missing(*number))
    }

    fn is_missing(&self, number: Number) -> bool {
        number.is_same(Number::Float(f64::NAN)) || self.missing.iter().any(|missing| missing.is_same(number))
    }

    /// The first value that is out of order among elements in the byte order of the machine; `None` if there is none.
    /// Missing values are left out.
    pub(crate) fn out_of_order(&self, elements: &[u8]) -> Option<OutOfOrder> {
        let mut known = self.known(elements);
        let (mut before_at, mut before) = known.next()?;
        let mut first = None;
        for (at, number) in known {
            let (one, other) = *first.get_or_insert((before, number));
            let goes_on = if one < other { before < number } else { before > number };
            if !goes_on {
                let direction = (one > other).then(|| (self.shown(one), self.shown(other)));
                let (before, after) = (self.shown(before), self.shown(number));
                return Some(OutOfOrder { at, before_at, before, after, direction: Shrinking(direction) });
            }
            (before_at, before) = (at, number);
        }
        None
    }

    /// A number with the digits of its type.
    fn shown(&self, number: Number) -> String {
        match number {
            Number::Float(value) if self.dtype.size() <= 4 => (value as f32).to_string(),
            number => number.to_string(),
        }
    }
}

/// Whether the values are times or differences of times, also in the units of CF.
fn is_time(variable: &Variable) -> bool {
    let units = variable.attribute("units").and_then(|attribute| attribute.value.as_text());
    matches!(variable.dtype.kind(), Kind::DateTime | Kind::TimeDelta)
        || units.is_some_and(|units| units.contains(" since "))
}

#[cfg(test)]
mod tests {
    use ncz_model::{Attribute, Hierarchy, VariableBuilder};

    use super::*;

    fn coordinate(dtype: &str) -> Coordinate {
        with_units(dtype, "m")
    }

    fn with_units(dtype: &str, units: &str) -> Coordinate {
        let mut hierarchy = Hierarchy::new(Format::Zarr3);
        let builder = VariableBuilder::of_dtype("x", Dtype::parse(dtype).unwrap(), None);
        let variable = hierarchy.add_variable("/", builder).unwrap();
        let attributes = [(MISSING_VALUE, Value::from(-9)), ("units", Value::text(units))];
        variable.attributes.extend(attributes.map(|(name, value)| Attribute::new(name, value)));
        Coordinate::of(variable, Format::Zarr3).unwrap()
    }

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
            (&[-9, 1, -9, 2, 3], None),
            (&[3, -9, 2, -9, 2], Some(4)),
        ] {
            let elements: Vec<u8> = values.iter().flat_map(|value: &i32| value.to_ne_bytes()).collect();
            let found = coordinate("<i4").out_of_order(&elements);
            assert_eq!(found.map(|found| found.at), want, "{values:?}");
        }
    }

    #[test]
    fn nan_and_nat_are_left_out() {
        let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(coordinate("<f4").out_of_order(&floats(&[f32::NAN, 1.0, 2.0, 3.0])), None);
        let found = coordinate("<f4").out_of_order(&floats(&[2.5, 0.1, f32::NAN, 0.2])).unwrap();
        assert_eq!((found.at, found.before_at, &*found.before, &*found.after), (3, 1, "0.1", "0.2"));
        assert_eq!(found.direction.to_string(), "; the values before shrink, from 2.5 to 0.1");
        let times = |values: &[i64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(coordinate("<M8[ns]").out_of_order(&times(&[i64::MIN, 1, i64::MIN, 2])), None);
        assert_eq!(
            coordinate("<m8[s]").out_of_order(&times(&[1, i64::MIN, 1])).map(|found| found.at),
            Some(2)
        );
    }

    #[test]
    fn the_least_integer_is_a_number_if_the_values_are_not_times() {
        let elements: Vec<u8> = [1, i64::MIN, 2].iter().flat_map(|value| value.to_ne_bytes()).collect();
        let found = |units| with_units("<i8", units).out_of_order(&elements).map(|found| found.at);
        assert_eq!(found("m"), Some(2));
        // As xarray reads it.
        assert_eq!(found("hours since 2020-01-01"), None);
    }

    #[test]
    fn numbers_of_two_bytes_have_an_order() {
        let halves = |values: &[u16]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        // 1, 2, 1.5
        let found = coordinate("<f2").out_of_order(&halves(&[0x3c00, 0x4000, 0x3e00])).unwrap();
        assert_eq!((&*found.before, &*found.after), ("2", "1.5"));
    }
}
