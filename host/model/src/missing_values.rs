//! The values of a variable that represent missing data.

use std::ops::ControlFlow;

use ncz_codec::{Dtype, Kind, Number, Scalar};

use crate::fill::base64;
use crate::format::Format;
use crate::hierarchy::Variable;
use crate::value::Value;

/// The values that represent missing data: the attributes `_FillValue` and `missing_value`, and the fill value.
/// Excluded are a fill value of zero in pure Zarr, where every array has a fill value, and the fill value of bytes in
/// netCDF, which may be ordinary data.
#[derive(Clone, Debug)]
pub struct MissingValues {
    /// The type of a number of the variable as stored; a complex element has two.
    number: Number,
    element: usize,
    values: Vec<MissingValue>,
    /// The values as numbers.
    numbers: Vec<f64>,
}

/// The usual errors of a codec: those on a chunk in which other values replace the missing ones.
#[derive(Debug)]
pub struct Usual<'c> {
    /// The decoded chunk.
    read: &'c [u8],
    /// The usual error of numbers by their exponent: twice the largest error of numbers of the same size or less, taken
    /// from at least `MANY` numbers. In a block, errors grow with the largest number: a large number elsewhere in the
    /// chunk says nothing about a small one.
    errors: Vec<f64>,
}

const MANY: usize = 32;
/// The number of numbers that are converted at a time.
const NUMBERS: usize = 1024;
/// The number of exponents of a double.
const EXPONENTS: usize = 1 << 11;

impl<'c> Usual<'c> {
    /// Makes the usual errors from the count and the largest error of the numbers of each exponent.
    fn new(read: &'c [u8], largest: Vec<(usize, f64)>) -> Self {
        let mut so_far = (0, 0.0_f64);
        let mut usual: Vec<(usize, f64)> = Vec::with_capacity(EXPONENTS);
        for (count, most) in largest {
            so_far = (so_far.0 + count, so_far.1.max(most));
            usual.push((so_far.0, 2.0 * so_far.1));
        }
        for smaller in (0..usual.len().saturating_sub(1)).rev() {
            if usual[smaller].0 < MANY {
                usual[smaller].1 = usual[smaller + 1].1;
            }
        }
        Self { read, errors: usual.into_iter().map(|(_, error)| error).collect() }
    }

    fn error(&self, value: f64) -> f64 {
        self.errors[exponent(value)]
    }
}

/// The exponent of a number, from 0.
fn exponent(value: f64) -> usize {
    (value.to_bits() >> 52) as usize % EXPONENTS
}

/// A value that represents missing data.
#[derive(Clone, Debug)]
pub struct MissingValue {
    /// What declares it as missing: the fill value, or the attribute `missing_value`.
    pub name: &'static str,
    /// An element as stored.
    pub element: Vec<u8>,
}

/// An element that a codec turned from missing to data, or from data to missing.
#[derive(Debug)]
pub enum Changed<'m, 'c> {
    /// A missing value is read as something else.
    Missing { value: &'m MissingValue, read: &'c [u8] },
    /// Something else is read as a missing value.
    Data { element: &'c [u8], value: &'m MissingValue },
}

impl MissingValues {
    /// The missing values of a variable whose elements enter its codecs as `dtype`; `None` if it has none.
    pub fn of(variable: &Variable, format: Format, dtype: Dtype) -> Option<Self> {
        let component = match dtype.kind {
            Kind::Complex => Dtype { kind: Kind::Float, size: dtype.size / 2, ..dtype },
            _ => dtype,
        };
        let number = Number::new(component).ok()?;
        let fill = variable.fill.as_ref().map(|fill| fill.bytes().to_vec());
        let fill = fill.filter(|fill| match format.has_netcdf_model() {
            true => dtype.size > 1,
            false => fill.iter().any(|&byte| byte != 0),
        });
        let fill = fill.into_iter().map(|element| MissingValue { name: "fill value", element });
        let attributes =
            ["_FillValue", "missing_value"].into_iter().filter_map(|name| variable.attribute(name));
        let attributes = attributes.flat_map(|attribute| {
            let name = if attribute.name == "_FillValue" { "fill value" } else { "missing_value" };
            let elements = elements(&attribute.value, number, dtype).into_iter();
            elements.map(move |element| MissingValue { name, element })
        });
        let mut values: Vec<MissingValue> = Vec::new();
        for value in attributes.chain(fill).filter(|value| value.element.len() == dtype.size) {
            if values.iter().all(|other| other.element != value.element) {
                values.push(value);
            }
        }
        Self::new(number, dtype.size, values)
    }

    /// Makes the set of these values; `None` if there are none.
    fn new(number: Number, element: usize, values: Vec<MissingValue>) -> Option<Self> {
        let components = values.iter().flat_map(|value| value.element.chunks(number.size()));
        let numbers = components.map(|component| number_of(number, component)).collect();
        (!values.is_empty()).then_some(Self { number, element, values, numbers })
    }

    /// The same set without zeros, which are ordinary numbers in most data.
    pub fn without_zeros(mut self) -> Option<Self> {
        let zero = vec![0; self.element];
        let values = std::mem::take(&mut self.values);
        let values = values.into_iter().filter(|value| !self.is_same(&value.element, &zero)).collect();
        Self::new(self.number, self.element, values)
    }

    /// The values, each once.
    #[must_use]
    pub fn values(&self) -> &[MissingValue] {
        &self.values
    }

    /// The missing value that equals an element of a chunk.
    fn value(&self, element: &[u8]) -> Option<&MissingValue> {
        self.values.iter().find(|value| self.is_same(&value.element, element))
    }

    /// The first element of a chunk that is missing and is read as data, or the other way round.
    pub fn first_changed<'c>(&self, chunk: &'c [u8], read: &'c [u8]) -> Option<Changed<'_, 'c>> {
        let is_one = |number: f64| number.is_nan() || self.numbers.contains(&number);
        let mut changed = None;
        self.each_pair(chunk, read, |at, one, other| {
            // Most numbers are far from any missing value.
            if !is_one(one) && !is_one(other) {
                return ControlFlow::Continue(());
            }
            let at = at / (self.element / self.number.size());
            let (element, read) = (self.element(chunk, at), self.element(read, at));
            changed = match (self.value(element), self.value(read)) {
                (Some(value), _) if !self.is_same(element, read) => Some(Changed::Missing { value, read }),
                (None, Some(value)) => Some(Changed::Data { element, value }),
                _ => return ControlFlow::Continue(()),
            };
            ControlFlow::Break(())
        });
        changed
    }

    /// The position of the first element of a chunk that is not missing and has a number that is destroyed: the error
    /// is half of the number or more, is larger than the usual error, and differs from the error of a chunk without
    /// missing values.
    pub fn first_lost(&self, chunk: &[u8], read: &[u8], usual: Option<&Usual<'_>>) -> Option<usize> {
        let of_element = self.element / self.number.size();
        let mut lost = None;
        self.each_pair(chunk, read, |at, value, number| {
            let error = (number - value).abs();
            if value == number || value.is_nan() || error < value.abs() / 2.0 {
                return ControlFlow::Continue(());
            }
            let at = at / of_element;
            let is_usual = |usual: &Usual<'_>| {
                error <= usual.error(value)
                    || self.is_same(self.element(read, at), self.element(usual.read, at))
            };
            if usual.is_some_and(is_usual) || self.value(self.element(chunk, at)).is_some() {
                return ControlFlow::Continue(());
            }
            lost = Some(at);
            ControlFlow::Break(())
        });
        lost
    }

    /// Computes the usual errors from a chunk without missing values, and that chunk decoded.
    pub fn usual<'c>(&self, chunk: &[u8], read: &'c [u8]) -> Usual<'c> {
        let mut largest = vec![(0_usize, 0.0_f64); EXPONENTS];
        self.each_pair(chunk, read, |_, value, read| {
            let error = (read - value).abs();
            if error.is_finite() {
                let (count, most) = &mut largest[exponent(value)];
                (*count, *most) = (*count + 1, most.max(error));
            }
            ControlFlow::Continue(())
        });
        Usual::new(read, largest)
    }

    /// Visits the numbers of two chunks, with their positions.
    fn each_pair(&self, one: &[u8], other: &[u8], mut visit: impl FnMut(usize, f64, f64) -> ControlFlow<()>) {
        let bytes = NUMBERS * self.number.size();
        let mut room = [[0.0; NUMBERS]; 2];
        let [ones, others] = &mut room;
        for (piece, (one, other)) in one.chunks(bytes).zip(other.chunks(bytes)).enumerate() {
            let count = one.len() / self.number.size();
            self.read(one, &mut ones[..count]);
            self.read(other, &mut others[..count]);
            for at in 0..count {
                if visit(piece * NUMBERS + at, ones[at], others[at]).is_break() {
                    return;
                }
            }
        }
    }

    /// Replaces each missing element by the smallest other element, which gives codecs the best precision for the
    /// others. Returns `false` if no element is missing.
    pub fn replace(&self, chunk: &mut [u8]) -> bool {
        let mut smallest = (f64::INFINITY, Vec::new());
        let mut any = false;
        for element in chunk.chunks_exact(self.element) {
            let numbers =
                element.chunks(self.number.size()).map(|number| number_of(self.number, number).abs());
            let size: f64 = numbers.sum();
            let is_one = self.value(element).is_some();
            any |= is_one;
            if size < smallest.0 && !is_one {
                smallest = (size, element.to_vec());
            }
        }
        let (_, smallest) = smallest;
        for element in chunk.chunks_exact_mut(self.element) {
            if smallest.len() == element.len() && self.value(element).is_some() {
                element.copy_from_slice(&smallest);
            }
        }
        any
    }

    /// The element of a chunk at a position.
    pub fn element<'c>(&self, chunk: &'c [u8], at: usize) -> &'c [u8] {
        &chunk[at * self.element..][..self.element]
    }

    /// Whether two elements are the same value.
    pub fn is_same(&self, one: &[u8], other: &[u8]) -> bool {
        let is_same = |(one, other): (&[u8], &[u8])| {
            if !self.number.is_float() {
                return one == other;
            }
            let (one, other) = (number_of(self.number, one), number_of(self.number, other));
            one == other || one.is_nan() && other.is_nan()
        };
        one == other || one.chunks(self.number.size()).zip(other.chunks(self.number.size())).all(is_same)
    }

    /// The text of an element; a complex element has two numbers.
    pub fn shown(&self, element: &[u8]) -> String {
        let one = |bytes: &[u8]| {
            if self.number.is_float() {
                let value = number_of(self.number, bytes);
                // The shortest text of a `float` is that of its own type.
                return if self.number.size() <= 4 {
                    format!("{:?}", value as f32)
                } else {
                    format!("{value:?}")
                };
            }
            let mut bits = [0];
            self.number.read_integers(bytes, &mut bits);
            self.number.value(bits[0]).to_string()
        };
        let numbers: Vec<String> = element.chunks(self.number.size()).map(one).collect();
        numbers.join(" and ")
    }

    /// Reads at most `NUMBERS` numbers; integers are rounded to a float.
    fn read(&self, bytes: &[u8], values: &mut [f64]) {
        if self.number.is_float() {
            return self.number.read_floats(bytes, values);
        }
        let mut integers = [0; NUMBERS];
        let integers = &mut integers[..values.len()];
        self.number.read_integers(bytes, integers);
        self.number.integers_as_floats(integers, Number::DOUBLE, values);
    }
}

/// Reads one number; an integer is rounded to a float.
fn number_of(number: Number, bytes: &[u8]) -> f64 {
    if number.is_float() {
        let mut value = [0.0];
        number.read_floats(bytes, &mut value);
        return value[0];
    }
    let mut bits = [0];
    number.read_integers(bytes, &mut bits);
    number.value(bits[0]) as f64
}

/// The numbers of an attribute as elements of the variable.
fn elements(value: &Value, number: Number, dtype: Dtype) -> Vec<Vec<u8>> {
    fn integers<T: Copy + Into<i128>>(values: &[T]) -> Vec<Scalar> {
        values.iter().map(|&value| Scalar::Integer(value.into())).collect()
    }
    let scalars = match value {
        Value::Byte(values) => integers(values),
        Value::UByte(values) => integers(values),
        Value::Short(values) => integers(values),
        Value::UShort(values) => integers(values),
        Value::Int(values) => integers(values),
        Value::UInt(values) => integers(values),
        Value::Int64(values) => integers(values),
        Value::UInt64(values) => integers(values),
        Value::Float(values) => values.iter().map(|&value| Scalar::Float(value.into())).collect(),
        Value::Double(values) => values.iter().map(|&value| Scalar::Float(value)).collect(),
        // As xarray writes it for types that netCDF lacks.
        Value::Char(_) | Value::String(_) => {
            let bytes = value.as_text().and_then(base64::decode).and_then(|bytes| bytes.try_into().ok());
            bytes.map(|bytes| Scalar::Float(f64::from_le_bytes(bytes))).into_iter().collect()
        }
    };
    let element = |scalar: Scalar| {
        // The imaginary part of a complex number is 0.
        let mut bytes = vec![0; dtype.size];
        let room = &mut bytes[..number.size()];
        if number.is_float() {
            number.write_floats(&[scalar.as_float(number)?], room);
        } else {
            number.write_integers(&[scalar.as_integer(number)?], room);
        }
        Some(bytes)
    };
    scalars.into_iter().filter_map(element).collect()
}

#[cfg(test)]
mod tests {
    use ncz_codec::ByteOrder;

    use super::*;

    /// The missing value `value` for big-endian elements of `numbers` floats.
    fn missing(value: f32, numbers: usize) -> MissingValues {
        let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Big };
        let element = chunk(&vec![value; numbers]);
        let size = element.len();
        MissingValues::new(
            Number::new(dtype).unwrap(),
            size,
            vec![MissingValue { name: "fill value", element }],
        )
        .unwrap()
    }

    fn chunk(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_be_bytes()).collect()
    }

    #[test]
    fn any_nan_is_missing_if_nan_represents_missing_values() {
        let nan = missing(f32::NAN, 1);
        let quiet = f32::from_bits(0xffc0_1234);
        let changed =
            |from: f32, to: f32| match nan.first_changed(&chunk(&[1.0, from]), &chunk(&[1.5, to]))? {
                Changed::Missing { read, .. } => Some(("missing", read.to_vec())),
                Changed::Data { element, .. } => Some(("data", element.to_vec())),
            };
        assert_eq!(changed(quiet, f32::NAN), None);
        assert_eq!(changed(quiet, 0.0), Some(("missing", chunk(&[0.0]))));
        assert_eq!(changed(7.0, quiet), Some(("data", chunk(&[7.0]))));
    }

    #[test]
    fn a_complex_element_is_missing_if_both_its_numbers_are() {
        let value = missing(-999.0, 2);
        let whole = chunk(&[-999.0, -999.0]);
        assert!(value.first_changed(&chunk(&[-999.0, 1.0]), &chunk(&[-999.5, 1.0])).is_none());
        assert!(matches!(value.first_changed(&whole, &chunk(&[-999.0, 1.0])), Some(Changed::Missing { .. })));
        let (almost, read) = (chunk(&[1.0, 1.0, -999.0, -998.0]), chunk(&[1.0, 1.0, -999.0, -999.0]));
        let Some(Changed::Data { element, .. }) = value.first_changed(&almost, &read) else {
            panic!("an element becomes missing")
        };
        assert_eq!(element, chunk(&[-999.0, -998.0]));
    }
}
