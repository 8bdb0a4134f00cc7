//! Quantizing: netCDF's rounding of floating-point values before they are compressed.
//!
//! A variable says with one attribute how its values are quantized, and [`Array::write`](crate::Array::write)
//! does it to the values that it is given; nothing is done on reading. This is no codec: the stored elements
//! are ordinary numbers, with low bits that compress well.
//!
//! The results are bit for bit those of netcdf-c 4.10, save for infinities: there BitGroom makes a NaN of every
//! second one and GranularBR zero of all; here an infinity stays what it is. Values that netcdf-c keeps, too,
//! are zeros, NaN and the fill value. A value near the largest of its type may be rounded to infinity, as IEEE 754
//! rounding does.
//!
//! Quantized values that are quantized again may change once more: BitGroom goes by the position of a value in the
//! slab that is written, GranularBR by its size. So raw elements ([`Elements::Stored`](crate::Elements::Stored))
//! and whole chunks, with which datasets are copied, are written as they are.

mod round;

use crate::attribute::Attribute;
use crate::dtype::NcType;
use crate::fill::default_fill;
use crate::model::Variable;
use crate::value::Value;

use self::round::{Double, Float};

/// How a variable's values are quantized: the algorithm, and how much of a value it keeps.
///
/// ```
/// use ncz_nczarr::{NcType, Quantize, QuantizeMode};
///
/// let quantize = Quantize::new(QuantizeMode::BitGroom, 3, NcType::Float)?;
/// assert_eq!(quantize.attribute().name, "_QuantizeBitGroomNumberOfSignificantDigits");
/// assert!(Quantize::new(QuantizeMode::BitGroom, 7, NcType::Float).is_err());
/// # Ok::<(), ncz_nczarr::QuantizeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantize {
    mode: QuantizeMode,
    significant: u8,
}

/// The algorithms of netCDF (`NC_QUANTIZE_*` in `netcdf.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuantizeMode {
    /// Keeps decimal digits; clears the bits behind them and sets them in turn.
    BitGroom,
    /// Keeps decimal digits, of each value as few bits as they need; rounds.
    GranularBitRound,
    /// Keeps bits of the mantissa; rounds.
    BitRound,
}

/// Why values cannot be quantized in this way. All are netCDF's `NC_EINVAL`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// Only `float` and `double` have digits to spare.
    #[error("values of the type {} cannot be quantized, only float and double", .nc_type.map_or("(none of netCDF)", NcType::name))]
    Type {
        /// The netCDF type, if it is one.
        nc_type: Option<NcType>,
    },
    /// More digits or bits than the type has, or none.
    #[error("{mode} keeps 1 to {most} {unit} of a {}, not {got}", .nc_type.name())]
    Digits {
        /// The algorithm.
        mode: QuantizeMode,
        /// The type of the values.
        nc_type: NcType,
        /// What was asked for.
        got: i64,
        /// The most there are.
        most: u8,
        /// `significant digits` or `mantissa bits`.
        unit: &'static str,
    },
    /// The attribute is no single whole number.
    #[error("its attribute {name:?} is not one whole number; make it one or delete it")]
    Attribute {
        /// The attribute.
        name: &'static str,
    },
    /// The attributes name several algorithms.
    #[error("it has the attributes {first:?} and {second:?}; delete the one that is wrong")]
    Several {
        /// The attribute that netcdf-c goes by.
        first: &'static str,
        /// Another one.
        second: &'static str,
    },
}

/// Quantizes the elements of one variable.
#[derive(Clone, Copy, Debug)]
pub struct Quantizer(Width);

#[derive(Clone, Copy, Debug)]
enum Width {
    Float(Float),
    Double(Double),
}

impl QuantizeMode {
    /// In the order in which netcdf-c looks for their attributes.
    pub const ALL: [Self; 3] = [Self::BitGroom, Self::GranularBitRound, Self::BitRound];

    /// The attribute that holds the number of digits or bits.
    #[must_use]
    pub fn attribute_name(self) -> &'static str {
        match self {
            Self::BitGroom => "_QuantizeBitGroomNumberOfSignificantDigits",
            Self::GranularBitRound => "_QuantizeGranularBitRoundNumberOfSignificantDigits",
            Self::BitRound => "_QuantizeBitRoundNumberOfSignificantBits",
        }
    }

    /// The number of the mode in `netcdf.h`.
    #[must_use]
    pub fn netcdf_number(self) -> i32 {
        match self {
            Self::BitGroom => 1,
            Self::GranularBitRound => 2,
            Self::BitRound => 3,
        }
    }

    /// The most digits or bits that it can keep of a value (netcdf-c 4.10; up to 4.9.3 a `float` had 7 digits,
    /// of which it could keep 6). `None`: the type cannot be quantized.
    #[must_use]
    pub fn most(self, nc_type: NcType) -> Option<u8> {
        match (self, nc_type) {
            (Self::BitGroom | Self::GranularBitRound, NcType::Float) => Some(6),
            (Self::BitGroom | Self::GranularBitRound, NcType::Double) => Some(15),
            (Self::BitRound, NcType::Float) => Some(23),
            (Self::BitRound, NcType::Double) => Some(52),
            _ => None,
        }
    }
}

impl std::fmt::Display for QuantizeMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::BitGroom => "BitGroom",
            Self::GranularBitRound => "GranularBitRound",
            Self::BitRound => "BitRound",
        })
    }
}

impl Quantize {
    /// Keeps `significant` digits ([`QuantizeMode::BitRound`]: bits) of values of a type.
    ///
    /// # Errors
    /// Another type than `float` and `double`; no digits, or more than [`QuantizeMode::most`].
    pub fn new(mode: QuantizeMode, significant: i64, nc_type: NcType) -> Result<Self, QuantizeError> {
        let most = mode.most(nc_type).ok_or(QuantizeError::Type { nc_type: Some(nc_type) })?;
        let fits = u8::try_from(significant).ok().filter(|&significant| (1..=most).contains(&significant));
        let unit = if mode == QuantizeMode::BitRound { "mantissa bits" } else { "significant digits" };
        fits.map(|significant| Self { mode, significant }).ok_or(QuantizeError::Digits {
            mode,
            nc_type,
            got: significant,
            most,
            unit,
        })
    }

    /// What the attributes of a variable say; `None`: nothing, or the type is one that is not quantized.
    ///
    /// # Errors
    /// Attributes that no writer can follow: several of them, no whole number, a number out of range.
    pub fn of(variable: &Variable) -> Result<Option<Self>, QuantizeError> {
        let Some(nc_type @ (NcType::Float | NcType::Double)) = variable.nc_type else { return Ok(None) };
        let mut found = QuantizeMode::ALL
            .into_iter()
            .filter_map(|mode| variable.attribute(mode.attribute_name()).map(|attribute| (mode, attribute)));
        let Some((mode, attribute)) = found.next() else { return Ok(None) };
        if let Some((other, _)) = found.next() {
            return Err(QuantizeError::Several {
                first: mode.attribute_name(),
                second: other.attribute_name(),
            });
        }
        let single = (attribute.value.len() == 1).then(|| attribute.value.as_integer()).flatten();
        let number = single.and_then(|number| i64::try_from(number).ok());
        let number = number.ok_or(QuantizeError::Attribute { name: mode.attribute_name() })?;
        Self::new(mode, number, nc_type).map(Some)
    }

    /// The algorithm.
    #[must_use]
    pub fn mode(self) -> QuantizeMode {
        self.mode
    }

    /// The decimal digits, for [`QuantizeMode::BitRound`] the mantissa bits, that are kept.
    #[must_use]
    pub fn significant(self) -> u8 {
        self.significant
    }

    /// The attribute that says so.
    #[must_use]
    pub fn attribute(self) -> Attribute {
        Attribute::new(self.mode.attribute_name(), Value::Int(vec![i32::from(self.significant)]))
    }
}

impl Quantizer {
    /// For the elements of a variable, by its attributes, type and fill value; `None`: it is not quantized.
    ///
    /// # Errors
    /// As [`Quantize::of`].
    pub fn of(variable: &Variable) -> Result<Option<Self>, QuantizeError> {
        let (Some(quantize), Some(nc_type)) = (Quantize::of(variable)?, variable.nc_type) else {
            return Ok(None);
        };
        let fill = variable.fill.as_ref().and_then(|fill| fill.value(nc_type, &variable.dtype));
        // Without a fill value netcdf-c spares its default one.
        Ok(match fill.unwrap_or_else(|| default_fill(nc_type)) {
            Value::Float(fill) => fill.first().map(|&fill| Self::float(quantize, fill)),
            Value::Double(fill) => fill.first().map(|&fill| Self::double(quantize, fill)),
            _ => None,
        })
    }

    /// For `float` elements, of which those equal to `fill` stay as they are.
    #[must_use]
    pub fn float(quantize: Quantize, fill: f32) -> Self {
        Self(Width::Float(Float::new(quantize, fill)))
    }

    /// For `double` elements, of which those equal to `fill` stay as they are.
    #[must_use]
    pub fn double(quantize: Quantize, fill: f64) -> Self {
        Self(Width::Double(Double::new(quantize, fill)))
    }

    /// Quantizes whole elements in the machine's byte order. `first` is the position of the first one in the data
    /// of one write, in C order: BitGroom treats even and odd positions otherwise.
    pub fn apply(&self, first: u64, elements: &mut [u8]) {
        match &self.0 {
            Width::Float(float) => float.apply(first, elements),
            Width::Double(double) => double.apply(first, elements),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::QuantizeMode::{BitGroom, BitRound, GranularBitRound};
    use super::*;
    use crate::model::{Format, Hierarchy, NewFill, NewVariable};

    fn float(mode: QuantizeMode, significant: i64) -> Quantizer {
        Quantizer::float(Quantize::new(mode, significant, NcType::Float).unwrap(), 9.96921e36)
    }

    fn double(mode: QuantizeMode, significant: i64) -> Quantizer {
        Quantizer::double(Quantize::new(mode, significant, NcType::Double).unwrap(), 9.96921e36)
    }

    fn floats(quantizer: &Quantizer, first: u64, values: &[u32]) -> Vec<u32> {
        let mut bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        quantizer.apply(first, &mut bytes);
        bytes.as_chunks().0.iter().map(|value| u32::from_ne_bytes(*value)).collect()
    }

    fn doubles(quantizer: &Quantizer, first: u64, values: &[u64]) -> Vec<u64> {
        let mut bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        quantizer.apply(first, &mut bytes);
        bytes.as_chunks().0.iter().map(|value| u64::from_ne_bytes(*value)).collect()
    }

    /// What netcdf-c 4.10.1 stored of 1.1111111, 12.345678, -0.000123456, 1e10, a subnormal number and 999999.9.
    #[test]
    fn values_come_out_as_netcdf_c_stores_them() {
        let values = [0x3f8e_38e3, 0x4145_87e6, 0xb901_73f8, 0x5015_02f9, 0x0001_16c2, 0x4974_23fe];
        for (quantizer, stored) in [
            (
                float(BitGroom, 3),
                [0x3f8e_3000, 0x4145_8fff, 0xb901_7000, 0x5015_0fff, 0x0001_1000, 0x4974_2fff],
            ),
            (
                float(GranularBitRound, 3),
                [0x3f8e_0000, 0x4146_0000, 0xb901_0000, 0x5015_0000, 0x0001_2000, 0x4974_2000],
            ),
            (
                float(BitRound, 9),
                [0x3f8e_4000, 0x4145_8000, 0xb901_8000, 0x5015_0000, 0x0001_0000, 0x4974_4000],
            ),
        ] {
            assert_eq!(floats(&quantizer, 0, &values), stored, "{quantizer:?}");
        }
        let values = [0x3ff1_c71c_6ecb_8fb6, 0x4028_b0fc_b4f1_e4b4, 0x0000_1268_8b70_e62b];
        for (quantizer, stored) in [
            (double(BitGroom, 3), [0x3ff1_c600_0000_0000, 0x4028_b1ff_ffff_ffff, 0x0000_1200_0000_0000]),
            (
                double(GranularBitRound, 3),
                [0x3ff1_c000_0000_0000, 0x4028_c000_0000_0000, 0x0000_2000_0000_0000],
            ),
            (double(BitRound, 9), [0x3ff1_c800_0000_0000, 0x4028_b000_0000_0000, 0x0000_1000_0000_0000]),
        ] {
            assert_eq!(doubles(&quantizer, 0, &values), stored, "{quantizer:?}");
        }
    }

    #[test]
    fn zeros_fill_nan_and_infinities_stay() {
        let kept = [0.0, -0.0, 9.96921e36, f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(f32::to_bits);
        for mode in QuantizeMode::ALL {
            for first in [0, 1] {
                assert_eq!(floats(&float(mode, 1), first, &kept), kept, "{mode}");
            }
        }
    }

    #[test]
    fn no_more_digits_than_the_type_has_and_no_other_type() {
        for (mode, nc_type, most) in [
            (BitGroom, NcType::Float, 6),
            (GranularBitRound, NcType::Double, 15),
            (BitRound, NcType::Float, 23),
            (BitRound, NcType::Double, 52),
        ] {
            assert_eq!(Quantize::new(mode, most, nc_type).unwrap().significant(), most as u8);
            for wrong in [0, -1, most + 1, i64::MAX] {
                let error = Quantize::new(mode, wrong, nc_type).unwrap_err();
                assert!(error.to_string().contains(&format!("1 to {most} ")), "{error}");
            }
        }
        assert_eq!(
            Quantize::new(BitGroom, 3, NcType::Int),
            Err(QuantizeError::Type { nc_type: Some(NcType::Int) })
        );
    }

    #[test]
    fn attributes_say_how_and_are_refused_where_they_make_no_sense() {
        let with = |nc_type, attributes: &[(&str, Value)]| {
            let mut dataset = Hierarchy::new(Format::NCZARR);
            let new = NewVariable::new("v", nc_type).fill(NewFill::Default);
            let new = attributes
                .iter()
                .fold(new, |new, (name, value)| new.attribute(Attribute::new(*name, value.clone())));
            Quantize::of(dataset.add_variable("/", new).unwrap())
        };
        let groom = BitGroom.attribute_name();
        let quantize = Quantize::new(BitGroom, 3, NcType::Float).unwrap();
        assert_eq!(with(NcType::Float, &[(groom, Value::from(3i32))]), Ok(Some(quantize)));
        assert_eq!(quantize.attribute(), Attribute::new(groom, 3i32));
        assert_eq!(with(NcType::Float, &[]), Ok(None));
        assert_eq!(with(NcType::Int, &[(groom, Value::from(3i32))]), Ok(None));
        for wrong in [Value::from("3"), Value::from(3.0f32), Value::Int(vec![3, 4]), Value::Int(Vec::new())] {
            let refused = Err(QuantizeError::Attribute { name: groom });
            assert_eq!(with(NcType::Double, &[(groom, wrong)]), refused);
        }
        assert!(matches!(
            with(NcType::Float, &[(groom, Value::from(7i32))]),
            Err(QuantizeError::Digits { got: 7, most: 6, .. })
        ));
        let several = [(BitRound.attribute_name(), Value::from(3i32)), (groom, Value::from(3i32))];
        assert!(
            matches!(with(NcType::Float, &several), Err(QuantizeError::Several { first, .. }) if first == groom)
        );
    }

    proptest! {
        #[test]
        fn pieces_come_out_as_the_whole(values: Vec<u32>, cut: prop::sample::Index, first in 0u64..9) {
            for mode in QuantizeMode::ALL {
                let quantizer = float(mode, 2);
                let cut = cut.index(values.len() + 1);
                let mut pieces = floats(&quantizer, first, &values[..cut]);
                pieces.extend(floats(&quantizer, first + cut as u64, &values[cut..]));
                prop_assert_eq!(pieces, floats(&quantizer, first, &values));
            }
        }

        #[test]
        fn bit_round_of_what_is_rounded_changes_nothing(values: Vec<u64>, bits in 1i64..=52) {
            let quantizer = double(BitRound, bits);
            let once = doubles(&quantizer, 0, &values);
            prop_assert_eq!(&doubles(&quantizer, 0, &once), &once);
        }
    }
}
