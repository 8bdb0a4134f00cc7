//! What lossy codecs make of the values that stand for missing ones.

use ncz_codec::{Dtype, Kind, Number, Scalar};
use ncz_registry::chain::FilterChain;

use crate::data_error::DataError;
use crate::fill::base64;
use crate::model::{Format, Variable};
use crate::value::Value;

/// What becomes of a value that stands for missing ones.
enum Fate {
    /// It is read again, or the codecs refuse data with it.
    Kept,
    /// An element that is read in its place.
    Changed(Vec<u8>),
    /// It is written, and then it cannot be read.
    Unreadable(String),
}

/// Refuses codecs that make data of what stands for missing values: the attributes `_FillValue` and `missing_value`, and
/// the fill value (but not zeros in pure Zarr, where there is a fill value in any case). Each is tried in a chunk full of
/// it; beside other values a codec that works on blocks may still change it. `dtype` is the type of the elements that
/// enter the chain.
///
/// # Errors
/// [`DataError::Unsupported`], with what is read in its place.
pub(super) fn refuse_changed(
    variable: &Variable,
    format: Format,
    chain: &FilterChain,
    dtype: Dtype,
) -> Result<(), DataError> {
    let Some((codec, _)) = chain.each_lossy().find(|(_, lossy)| *lossy != Some(false)) else {
        return Ok(());
    };
    let component = match dtype.kind {
        Kind::Complex => Dtype { kind: Kind::Float, size: dtype.size / 2, ..dtype },
        _ => dtype,
    };
    let Ok(number) = Number::new(component) else { return Ok(()) };
    let refused = |what: &str, becomes: String| {
        Err(DataError::Unsupported {
            variable: variable.path.clone(),
            reason: format!(
                "its {what} {becomes} behind the codec {}, so that missing values become data; choose other \
                 parameters, a lossless codec, or a dataset with another fill value",
                codec.name
            ),
        })
    };
    let fill = variable.fill.as_ref().map(|fill| fill.bytes().to_vec());
    let fill = fill.filter(|fill| format.is_nczarr() || fill.iter().any(|&byte| byte != 0));
    let fill = fill.into_iter().map(|fill| ("fill value", fill));
    let attributes = ["_FillValue", "missing_value"].into_iter().filter_map(|name| variable.attribute(name));
    let attributes = attributes.flat_map(|attribute| {
        let name = if attribute.name == "_FillValue" { "fill value" } else { "missing_value" };
        elements(&attribute.value, number, dtype).into_iter().map(move |element| (name, element))
    });
    for (what, missing) in attributes.chain(fill).filter(|(_, missing)| missing.len() == dtype.size) {
        match fate(variable, chain, number, &missing)? {
            Fate::Kept => {}
            Fate::Changed(read) => {
                let (missing, read) = (shown(number, &missing), shown(number, &read));
                return refused(what, format!("{missing} would be read as {read}"));
            }
            Fate::Unreadable(reason) => {
                return refused(
                    what,
                    format!("{} could not be read again ({reason})", shown(number, &missing)),
                );
            }
        }
    }
    Ok(())
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

/// What becomes of `value` in a chunk full of it.
fn fate(variable: &Variable, chain: &FilterChain, number: Number, value: &[u8]) -> Result<Fate, DataError> {
    let mut chunk: Vec<u8> = Vec::new();
    chunk.try_reserve_exact(chain.chunk_len()).map_err(|_| DataError::Unsupported {
        variable: variable.path.clone(),
        reason: format!("there is no memory for a chunk of {} bytes", chain.chunk_len()),
    })?;
    (0..chain.chunk_len() / value.len()).for_each(|_| chunk.extend_from_slice(value));
    let mut scratch = chain.scratch();
    let Ok(stored) = chain.encode(&mut scratch, &chunk) else { return Ok(Fate::Kept) };
    let stored = stored.to_vec();
    if let Err(error) = chain.decode(0, &mut scratch, &stored, &mut chunk) {
        return Ok(Fate::Unreadable(error.source.to_string()));
    }
    let is_same = |(one, other): (&[u8], &[u8])| {
        if !number.is_float() {
            return one == other;
        }
        let (one, other) = (float(number, one), float(number, other));
        one == other || one.is_nan() && other.is_nan()
    };
    let same = |read: &[u8]| {
        read == value || read.chunks(number.size()).zip(value.chunks(number.size())).all(is_same)
    };
    let changed = chunk.chunks_exact(value.len()).find(|read| !same(read));
    Ok(changed.map_or(Fate::Kept, |read| Fate::Changed(read.to_vec())))
}

fn float(number: Number, bytes: &[u8]) -> f64 {
    let mut value = [0.0];
    number.read_floats(bytes, &mut value);
    value[0]
}

/// One element, which has two numbers if it is a complex one.
fn shown(number: Number, bytes: &[u8]) -> String {
    let one = |bytes: &[u8]| {
        if number.is_float() {
            let value = float(number, bytes);
            // The shortest text of a `float` is that of its own type.
            return if number.size() <= 4 { format!("{:?}", value as f32) } else { format!("{value:?}") };
        }
        let mut bits = [0];
        number.read_integers(bytes, &mut bits);
        number.value(bits[0]).to_string()
    };
    let numbers: Vec<String> = bytes.chunks(number.size()).map(one).collect();
    numbers.join(" and ")
}
