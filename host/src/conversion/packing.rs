//! Packed numbers: `scale_factor` and `add_offset`.

use std::fmt;

use ncz_model::{NcType, Value, Variable};

use super::number::{Number, numbers};

/// How readers unpack the elements of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Packing {
    scale: Option<f64>,
    offset: Option<f64>,
    /// Whether readers compute with single precision: both attributes have it, and elements have at most 2 bytes or are
    /// of single precision.
    is_single: bool,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.scale, self.offset) {
            (None, None) => f.write_str("not packed"),
            (Some(scale), None) => write!(f, "scale_factor {scale}"),
            (None, Some(offset)) => write!(f, "add_offset {offset}"),
            (Some(scale), Some(offset)) => write!(f, "scale_factor {scale}, add_offset {offset}"),
        }
    }
}

impl Packing {
    /// The packing of a variable's attributes. The error is what is wrong with them.
    pub(super) fn of(variable: &Variable) -> Result<Self, String> {
        let attribute = |name: &str| variable.attribute(name).map(|attribute| &attribute.value);
        let number = |name: &str| match attribute(name) {
            None => Ok(None),
            Some(value) => match numbers(value).as_slice() {
                [number] if number.float().is_finite() => Ok(Some(number.float())),
                _ => Err(format!("its attribute {name} is not one number")),
            },
        };
        let (scale, offset) = (number("scale_factor")?, number("add_offset")?);
        if scale == Some(0.0) {
            return Err("its attribute scale_factor is 0".to_owned());
        }
        let mut values = [attribute("scale_factor"), attribute("add_offset")].into_iter().flatten();
        let is_short = variable.dtype.size() <= 2 || variable.nc_type == Some(NcType::Float);
        let is_single = is_short && values.all(|value| matches!(value, Value::Float(_)));
        Ok(Self { scale, offset, is_single })
    }

    pub(super) fn is_packed(&self) -> bool {
        self.scale.is_some() || self.offset.is_some()
    }

    /// What readers make of an element.
    pub(super) fn unpack(&self, number: Number) -> Number {
        if !self.is_packed() {
            return number;
        }
        let (scale, offset) = (self.scale.unwrap_or(1.0), self.offset.unwrap_or(0.0));
        Number::Float(match self.is_single {
            true => f64::from(number.float() as f32 * scale as f32 + offset as f32),
            false => number.float() * scale + offset,
        })
    }

    /// The element of a type of which readers make this number; `None` if there is none.
    pub(super) fn pack(&self, unpacked: Number, nc_type: NcType) -> Option<Number> {
        if !self.is_packed() {
            return Some(unpacked);
        }
        let (scale, offset) = (self.scale.unwrap_or(1.0), self.offset.unwrap_or(0.0));
        let packed = (unpacked.float() - offset) / scale;
        let packed = match nc_type {
            NcType::Double => packed,
            NcType::Float => f64::from(packed as f32),
            _ => packed.round(),
        };
        let packed = Number::Float(packed);
        self.unpack(packed).is_same(unpacked.into_float()).then_some(packed)
    }
}

impl Number {
    fn into_float(self) -> Self {
        Self::Float(self.float())
    }
}
