//! Quantization: netCDF's rounding of floating-point values before compression.
//!
//! One attribute of a variable sets how its values are quantized. [`Array::write`](crate::Array::write) quantizes the
//! values that it is given; nothing is done on reading. Quantization is not a codec: the stored elements are ordinary
//! numbers, with low bits that compress well.
//!
//! The results are bit for bit those of netcdf-c 4.10, except for infinities: in netcdf-c, BitGroom turns every second
//! infinity into NaN, and GranularBR turns all into zero; here an infinity is unchanged. Zeros, NaN and the fill value
//! are unchanged in both. A value near the largest of its type may be rounded to infinity, as IEEE 754 rounding does.
//!
//! Quantizing values twice may change them twice: BitGroom depends on the position of a value in the written slab,
//! GranularBR on its size. So raw elements ([`Elements::Stored`](crate::Elements::Stored)) and whole chunks, with which
//! datasets are copied, are written unchanged.

mod round;

use crate::attribute::Attribute;
use crate::dtype::NcType;
use crate::fill::default_fill;
use crate::hierarchy::Variable;
use crate::value::Value;

use self::round::{Double, Float};

/// The quantization of a variable's values: the algorithm, and how many digits or bits it keeps.
///
/// ```
/// use ncz_model::{NcType, Quantize, QuantizeMode};
///
/// let quantize = Quantize::new(QuantizeMode::BitGroom, 3, NcType::Float)?;
/// assert_eq!(quantize.attribute().name, "_QuantizeBitGroomNumberOfSignificantDigits");
/// assert!(Quantize::new(QuantizeMode::BitGroom, 7, NcType::Float).is_err());
/// # Ok::<(), ncz_model::QuantizeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantize {
    mode: QuantizeMode,
    significant: u8,
}

/// The algorithms of netCDF (`NC_QUANTIZE_*` in `netcdf.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuantizeMode {
    /// Keeps decimal digits; the bits after them are alternately cleared and set.
    BitGroom,
    /// Keeps decimal digits, with as few bits of each value as needed; rounds.
    GranularBitRound,
    /// Keeps bits of the mantissa; rounds.
    BitRound,
}

/// Why values cannot be quantized as requested. All are netCDF's `NC_EINVAL`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The type is neither `float` nor `double`.
    #[error("values of the type {} cannot be quantized, only float and \
             double", .nc_type.map_or("(none of netCDF)", NcType::name))]
    Type {
        /// The netCDF type; `None` if netCDF does not have it.
        nc_type: Option<NcType>,
    },
    /// The type does not have this number of digits or bits, or the number is not positive.
    #[error("{mode} keeps 1 to {most} {unit} of a {}, got {got}", .nc_type.name())]
    Digits {
        /// The algorithm.
        mode: QuantizeMode,
        /// The type of the values.
        nc_type: NcType,
        /// The requested number.
        got: i64,
        /// The largest valid number.
        most: u8,
        /// `significant digits` or `mantissa bits`.
        unit: &'static str,
    },
    /// The attribute is not a single whole number.
    #[error("its attribute {name:?} is not one whole number; change it to one or delete it")]
    Attribute {
        /// The attribute.
        name: &'static str,
    },
    /// The attributes name several algorithms.
    #[error("it has the attributes {first:?} and {second:?}; delete the one that is wrong")]
    Several {
        /// The attribute that netcdf-c uses.
        first: &'static str,
        /// Another attribute.
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
    /// All modes, in the order in which netcdf-c looks for their attributes.
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

    /// The most digits or bits that it can keep of a value (netcdf-c 4.10; up to 4.9.3 a `float` had 7 digits, of which
    /// it could keep 6). `None` if the type cannot be quantized.
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
    /// A quantization that keeps `significant` digits ([`QuantizeMode::BitRound`]: bits) of values of a type.
    ///
    /// # Errors
    /// The type is neither `float` nor `double`; or the digits are fewer than 1 or more than [`QuantizeMode::most`].
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

    /// Reads the quantization from the attributes of a variable; `None` if there is none, or the type cannot be
    /// quantized.
    ///
    /// # Errors
    /// There are several attributes, the value is not a whole number, or it is out of range.
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

    /// The attribute that stores this quantization.
    #[must_use]
    pub fn attribute(self) -> Attribute {
        Attribute::new(self.mode.attribute_name(), Value::Int(vec![i32::from(self.significant)]))
    }
}

impl Quantizer {
    /// The quantizer of a variable, from its attributes, type and fill value; `None` if it is not quantized.
    ///
    /// # Errors
    /// As for [`Quantize::of`].
    pub fn of(variable: &Variable) -> Result<Option<Self>, QuantizeError> {
        let (Some(quantize), Some(nc_type)) = (Quantize::of(variable)?, variable.nc_type) else {
            return Ok(None);
        };
        let fill = variable.fill.as_ref().and_then(|fill| fill.value(nc_type, &variable.dtype));
        // Without a fill value netcdf-c keeps its default fill value unchanged.
        Ok(match fill.unwrap_or_else(|| default_fill(nc_type)) {
            Value::Float(fill) => fill.first().map(|&fill| Self::float(quantize, fill)),
            Value::Double(fill) => fill.first().map(|&fill| Self::double(quantize, fill)),
            _ => None,
        })
    }

    /// The quantizer of `float` elements; those equal to `fill` are unchanged.
    #[must_use]
    pub fn float(quantize: Quantize, fill: f32) -> Self {
        Self(Width::Float(Float::new(quantize, fill)))
    }

    /// The quantizer of `double` elements; those equal to `fill` are unchanged.
    #[must_use]
    pub fn double(quantize: Quantize, fill: f64) -> Self {
        Self(Width::Double(Double::new(quantize, fill)))
    }

    /// Quantizes whole elements in the machine's byte order. `first` is the position of the first one in the data
    /// of one write, in C order: BitGroom treats even and odd positions differently.
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
    use crate::format::Format;
    use crate::hierarchy::{Hierarchy, NewFill, VariableBuilder};

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
    fn attributes_set_the_mode_and_invalid_ones_are_refused() {
        let with = |nc_type, attributes: &[(&str, Value)]| {
            let mut dataset = Hierarchy::new(Format::NCZARR);
            let new = VariableBuilder::new("v", nc_type).fill(NewFill::Default);
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
        fn pieces_give_the_same_result_as_the_whole(values: Vec<u32>, cut: prop::sample::Index, first in 0u64..9) {
            for mode in QuantizeMode::ALL {
                let quantizer = float(mode, 2);
                let cut = cut.index(values.len() + 1);
                let mut pieces = floats(&quantizer, first, &values[..cut]);
                pieces.extend(floats(&quantizer, first + cut as u64, &values[cut..]));
                prop_assert_eq!(pieces, floats(&quantizer, first, &values));
            }
        }

        #[test]
        fn bit_round_of_rounded_values_changes_nothing(values: Vec<u64>, bits in 1i64..=52) {
            let quantizer = double(BitRound, bits);
            let once = doubles(&quantizer, 0, &values);
            prop_assert_eq!(&doubles(&quantizer, 0, &once), &once);
        }
    }
}
