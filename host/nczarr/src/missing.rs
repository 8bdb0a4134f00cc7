//! The values of a variable that stand for missing ones.

use std::ops::ControlFlow;

use ncz_codec::{Dtype, Kind, Number, Scalar};

use crate::fill::base64;
use crate::model::{Format, Variable};
use crate::value::Value;

/// What stands for missing values: the attributes `_FillValue` and `missing_value`, and the fill value (but not zeros in
/// pure Zarr, where there is a fill value in any case, and not that of bytes in netCDF, which may be any number of them).
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    /// The type of a number of the variable as stored; a complex element has two.
    number: Number,
    element: usize,
    values: Vec<MissingValue>,
    /// The numbers of all values.
    numbers: Vec<f64>,
}

/// What a codec does to a chunk that has other values in the place of missing ones.
#[derive(Debug)]
pub(crate) struct Usual<'c> {
    /// What it is read as.
    read: &'c [u8],
    /// What errors numbers of each exponent have: twice the largest one of those of the same size or less, but of `MANY`
    /// at least. In blocks errors go with the largest number: a large one elsewhere in the chunk says nothing of a small
    /// one.
    errors: Vec<f64>,
}

const MANY: usize = 32;
/// How many numbers are looked at in one go.
const NUMBERS: usize = 1024;
/// Those of a double.
const EXPONENTS: usize = 1 << 11;

impl<'c> Usual<'c> {
    /// From the count and the largest error of the numbers of each exponent.
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

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct MissingValue {
    /// Who says that it stands for missing ones.
    pub(crate) name: &'static str,
    /// An element as stored.
    pub(crate) element: Vec<u8>,
}

/// What becomes of an element that is missing, or is not.
#[derive(Debug)]
pub(crate) enum Changed<'m, 'c> {
    /// A missing value is read as something else.
    Missing { value: &'m MissingValue, read: &'c [u8] },
    /// Something else is read as a missing value.
    Data { element: &'c [u8], value: &'m MissingValue },
}

impl Missing {
    /// `None`: none is known of a variable whose elements of type `dtype` enter its codecs.
    pub(crate) fn of(variable: &Variable, format: Format, dtype: Dtype) -> Option<Self> {
        let component = match dtype.kind {
            Kind::Complex => Dtype { kind: Kind::Float, size: dtype.size / 2, ..dtype },
            _ => dtype,
        };
        let number = Number::new(component).ok()?;
        let fill = variable.fill.as_ref().map(|fill| fill.bytes().to_vec());
        let fill = fill.filter(|fill| match format.is_nczarr() {
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

    /// `None`: there is no value.
    fn new(number: Number, element: usize, values: Vec<MissingValue>) -> Option<Self> {
        let components = values.iter().flat_map(|value| value.element.chunks(number.size()));
        let numbers = components.map(|component| number_of(number, component)).collect();
        (!values.is_empty()).then_some(Self { number, element, values, numbers })
    }

    /// The same without zeros, which are numbers like any other in most data.
    pub(crate) fn without_zeros(mut self) -> Option<Self> {
        let zero = vec![0; self.element];
        let values = std::mem::take(&mut self.values);
        let values = values.into_iter().filter(|value| !self.is_same(&value.element, &zero)).collect();
        Self::new(self.number, self.element, values)
    }

    pub(crate) fn values(&self) -> &[MissingValue] {
        &self.values
    }

    /// The one that an element of a chunk is.
    fn value(&self, element: &[u8]) -> Option<&MissingValue> {
        self.values.iter().find(|value| self.is_same(&value.element, element))
    }

    /// The first element of a chunk that is one of them and is read as something else, or the other way round.
    pub(crate) fn first_changed<'c>(&self, chunk: &'c [u8], read: &'c [u8]) -> Option<Changed<'_, 'c>> {
        let is_one = |number: f64| number.is_nan() || self.numbers.contains(&number);
        let mut changed = None;
        self.each_pair(chunk, read, |at, one, other| {
            // Most numbers are nothing like it.
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

    /// The position of the first element of a chunk that is none of them and has a number which is read as one of another
    /// size: the error is half of it or more, more than is usual, and not the one that it has without them.
    pub(crate) fn first_lost(&self, chunk: &[u8], read: &[u8], usual: Option<&Usual<'_>>) -> Option<usize> {
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

    /// From a chunk without them, and what it is read as.
    pub(crate) fn usual<'c>(&self, chunk: &[u8], read: &'c [u8]) -> Usual<'c> {
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

    /// The numbers of two chunks, with their positions.
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

    /// Puts the smallest other element in the place of each of them: beside it codecs have for the others what they can.
    /// `false`: there is none of them.
    pub(crate) fn replace(&self, chunk: &mut [u8]) -> bool {
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
    pub(crate) fn element<'c>(&self, chunk: &'c [u8], at: usize) -> &'c [u8] {
        &chunk[at * self.element..][..self.element]
    }

    /// Whether two elements are the same value.
    pub(crate) fn is_same(&self, one: &[u8], other: &[u8]) -> bool {
        let is_same = |(one, other): (&[u8], &[u8])| {
            if !self.number.is_float() {
                return one == other;
            }
            let (one, other) = (number_of(self.number, one), number_of(self.number, other));
            one == other || one.is_nan() && other.is_nan()
        };
        one == other || one.chunks(self.number.size()).zip(other.chunks(self.number.size())).all(is_same)
    }

    /// One element, which has two numbers if it is a complex one.
    pub(crate) fn shown(&self, element: &[u8]) -> String {
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

    /// Reads at most `NUMBERS` numbers, of integers only what a float holds of them.
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

/// One number, of an integer only what a float holds of it.
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
        // As xarray has it where netCDF has no such type.
        Value::Char(_) | Value::String(_) => {
            let bytes = value.as_text().and_then(base64::decode).and_then(|bytes| bytes.try_into().ok());
            bytes.map(|bytes| Scalar::Float(f64::from_le_bytes(bytes))).into_iter().collect()
        }
    };
    let element = |scalar: Scalar| {
        // Of a complex number the rest is 0.
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

    /// Big-endian elements of `numbers` floats, of which `value` is the missing one.
    fn missing(value: f32, numbers: usize) -> Missing {
        let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Big };
        let element = chunk(&vec![value; numbers]);
        let size = element.len();
        Missing::new(Number::new(dtype).unwrap(), size, vec![MissingValue { name: "fill value", element }])
            .unwrap()
    }

    fn chunk(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_be_bytes()).collect()
    }

    #[test]
    fn any_nan_is_one_where_nan_stands_for_missing_values() {
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
    fn a_complex_element_is_one_if_both_its_numbers_are() {
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
