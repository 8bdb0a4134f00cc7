use ncz_codec::{
    Bound, ByteOrder, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Container, Dialect, Dtype,
    Env, Kind, Repr, Result, Size,
};
use serde_json::{Map, Value, json};
use zfp_rs::{ZFP_MAX_PREC, ZFP_MIN_EXP, ZfpConfig};

use crate::codec::{Layout, ZfpCoder};
use crate::field::Field;
use crate::mode::Mode;
use crate::small::Small;

/// The first working word, which identifies the writer: zfp 1.0.1 in 16 bits, its codec version 5 in 4, H5Z-ZFP 1.1.1
/// in 12.
const VERSIONS: u32 = 0x1010_5111;
/// Smaller values are the number of a mode; in working words of Zarr v3, the bits that zarrs gives a block, or 0.
const VERSIONS_LEAST: u32 = 0x1_0000;
/// The first bit of the second working word that marks small numbers.
const SMALL: u32 = 8;
/// The words of the longest header.
const HEADER_MAX: usize = 9;

/// Configuration of the zfp codec.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Zfp {
    /// The bound of the loss or of the length.
    pub mode: Mode,
}

impl CodecConfig for Zfp {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        known_in(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        let mode = match reader.text("mode", "")? {
            "reversible" => Mode::Reversible,
            "fixed_accuracy" => Mode::Accuracy(number(&mut reader, "tolerance")?),
            "fixed_rate" => Mode::Rate(number(&mut reader, "rate")?),
            "fixed_precision" => {
                Mode::Precision(integer(&mut reader, "precision", 0..=u32::MAX.into())? as u32)
            }
            "expert" => {
                let mut word =
                    |key| integer(&mut reader, key, 0..=u32::MAX.into()).map(|number| number as u32);
                let (min_bits, max_bits) = (word("minbits")?, word("maxbits")?);
                let max_prec = word("maxprec")?;
                let min_exp = integer(&mut reader, "minexp", i32::MIN.into()..=i32::MAX.into())? as i32;
                Mode::Expert { min_bits, max_bits, max_prec, min_exp }
            }
            other => {
                return Err(CodecError::config(
                    "mode",
                    format!(
                        "{other:?} is none of reversible, expert, fixed_accuracy, fixed_rate, fixed_precision"
                    ),
                ));
            }
        };
        reader.finish(notes)?;
        mode.check(str::to_owned)?;
        Ok(Self { mode })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        known_in(dialect)?;
        let json = match self.mode {
            Mode::Reversible => json!({"mode": "reversible"}),
            Mode::Accuracy(tolerance) => json!({"mode": "fixed_accuracy", "tolerance": tolerance}),
            Mode::Rate(rate) => json!({"mode": "fixed_rate", "rate": rate}),
            Mode::Precision(planes) => json!({"mode": "fixed_precision", "precision": planes}),
            Mode::Expert { min_bits, max_bits, max_prec, min_exp } => json!({
                "mode": "expert", "minbits": min_bits, "maxbits": max_bits, "maxprec": max_prec, "minexp": min_exp
            }),
        };
        Ok(json.as_object().cloned().unwrap_or_default())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        match words {
            [first, header @ ..] if *first >= VERSIONS_LEAST => {
                let (field, limits) = stored(header)?;
                Ok(Self { mode: Mode::of(&limits, &field) })
            }
            given => Mode::from_params(given).map(|mode| Self { mode }),
        }
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(self.mode.to_params())
    }
}

impl Codec for Zfp {
    const INFO: CodecInfo = CodecInfo::new("zfp", "lossy or lossless compression of fields of numbers")
        .filter_id(32013)
        .zarr_v3(&["zfp"])
        .working_params()
        .lossy();

    type Coder = ZfpCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let layout = match env.container {
            Container::ZarrV3 => Layout::Bare,
            _ => Layout::Hdf5,
        };
        let (input, small) = match layout {
            Layout::Bare => widened(scalar_is_one(input)),
            _ => (input.clone(), None),
        };
        let field = Field::of(&input, layout == Layout::Hdf5)?;
        let limits = self.mode.limits(&field)?;
        let mut working = match layout {
            Layout::Hdf5 => [&[VERSIONS][..], &field.header_words(&limits)?].concat(),
            _ => field.words(&limits)?,
        };
        if let (Some(small), [_, number, ..]) = (small, working.as_mut_slice()) {
            *number |= (small as u32) << SMALL;
        }
        let zarrs = if layout == Layout::Bare { self.mode.zarrs(&field) } else { None };
        let zarrs = zarrs.filter(|zarrs| zarrs.max_bits() != limits.max_bits());
        if let (Some(zarrs), Some(first)) = (zarrs, working.first_mut()) {
            *first = zarrs.max_bits();
        }
        let coder = ZfpCoder::new(layout, Some((field, limits))).with_small(small).with_zarrs(zarrs);
        let coder = coder.with_promise(self.mode);
        let output = Repr::Bytes { size: coder.most().map_or(Size::Unknown, Size::AtMost) };
        Ok(Bound { stored: *self, working, output, coder })
    }

    fn coder(working: &[u32]) -> Result<ZfpCoder> {
        if let [first, header @ ..] = working
            && *first >= VERSIONS_LEAST
        {
            return Ok(ZfpCoder::new(Layout::Hdf5, Some(stored(header)?)));
        }
        let mut words = working.to_vec();
        let (mut small, mut zarrs) = (None, None);
        if let [first, number, ..] = words.as_mut_slice() {
            let bits = std::mem::take(first);
            zarrs = ZfpConfig::expert(bits, bits, ZFP_MAX_PREC, ZFP_MIN_EXP).ok().filter(|_| bits > 0);
            small = Small::ALL.into_iter().find(|small| *small as u32 == *number >> SMALL);
            // Small numbers are in a field of four bytes, which has the number 0.
            if small.is_some() && *number & ((1 << SMALL) - 1) == 0 {
                *number = 0;
            }
        }
        let bound = Field::from_words(&words)?;
        Ok(ZfpCoder::new(Layout::Bare, Some(bound)).with_small(small).with_zarrs(zarrs))
    }

    fn is_lossy(&self, _input: &Repr) -> Option<bool> {
        Some(self.mode != Mode::Reversible)
    }
}

/// A scalar is a field of one number, as in Zarr v3.
fn scalar_is_one(input: &Repr) -> Repr {
    match input {
        Repr::Array { dtype, shape, fill } if shape.is_empty() => {
            Repr::Array { dtype: *dtype, shape: vec![1], fill: fill.clone() }
        }
        other => other.clone(),
    }
}

/// Small integers as those of four bytes that zfp gets for them, as Zarr v3 has it.
fn widened(input: Repr) -> (Repr, Option<Small>) {
    match input {
        Repr::Array { dtype, shape, .. } if let Some(small) = Small::of(&dtype) => {
            // Numbers of one byte have no byte order.
            let order = if dtype.size == 1 { ByteOrder::Little } else { dtype.order };
            let dtype = Dtype { kind: Kind::Int, size: 4, order };
            (Repr::Array { dtype, shape, fill: None }, Some(small))
        }
        other => (other, None),
    }
}

fn stored(header: &[u32]) -> Result<(Field, ZfpConfig)> {
    if header.len() > HEADER_MAX {
        return Err(CodecError::config(
            "cd_values",
            format!("{} words are not a header of zfp", header.len()),
        ));
    }
    Field::from_header_words(header)
}

fn known_in(dialect: Dialect) -> Result<()> {
    match dialect {
        Dialect::ZarrV3 => Ok(()),
        Dialect::Numcodecs => {
            Err(CodecError::unsupported("zfp has no name in numcodecs, which has the codec zfpy"))
        }
    }
}

/// The number at `key`, which must be there.
pub(crate) fn number(reader: &mut ConfigReader<'_>, key: &'static str) -> Result<f64> {
    let value = reader.raw(key).ok_or_else(|| missing(key))?;
    value.as_f64().ok_or_else(|| CodecError::config(key, format!("expected a number, got {value}")))
}

fn integer(
    reader: &mut ConfigReader<'_>,
    key: &'static str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<i64> {
    reader.raw(key).ok_or_else(|| missing(key))?;
    reader.integer(key, 0, range)
}

fn missing(key: &str) -> CodecError {
    CodecError::config(key, "it is missing, and this mode of zfp needs it")
}
