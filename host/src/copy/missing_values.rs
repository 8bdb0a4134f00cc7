//! Missing values of a copy: what the readers of the source mask, the readers of the copy mask too.

use ncz_model::Container;
use ncz_model::{
    Array, Attribute, DataError, Extent, FillText, FillValue, Format, Hierarchy, Kind, NcType, Value,
    Variable, is_same_number,
};
use ncz_store::{Depth, Prefix, StoreError};

use super::CopyError;
use super::salvage::is_of_chunk;
use crate::tiles::Tiles;

const FILL_VALUE: &str = "_FillValue";

/// Gives a planned variable the attribute `_FillValue` and the fill value that keep masked what is masked in the
/// source, and nothing else.
///
/// # Errors
/// An attribute that cannot be set; the store fails.
pub(super) fn keep(
    source: &dyn Container,
    original: &Variable,
    variable: &mut Variable,
    format: Format,
) -> Result<(), DataError> {
    let was = source.hierarchy().format;
    spell_attribute(original, variable, format, was.is_like(format));
    if was.is_like(format) {
        return Ok(());
    }
    let is_number = matches!(variable.dtype.kind(), Kind::Int | Kind::UInt | Kind::Float);
    if is_text(variable) && is_v2(format) && original.attribute(FILL_VALUE).is_none() {
        // xarray would mask it. Missing chunks without a fill value read as empty strings.
        let is_empty = variable.fill.as_ref().is_none_or(FillValue::is_zero);
        if is_empty || every_chunk_exists(source, original)? {
            variable.fill = None;
        }
        return Ok(());
    }
    if let Some(mask) = variable.complex_mask().filter(|_| was.is_v3() && !format.is_v3()) {
        // xarray reads it in version 3 only.
        variable.attributes.retain(|attribute| attribute.name != FILL_VALUE);
        if format == Format::Zarr2 && every_chunk_exists(source, original)? {
            variable.fill = Some(mask);
        } else if variable.fill.as_ref().is_some_and(|fill| fill.is_zero() && fill.bytes() != mask.bytes()) {
            variable.fill = None;
        }
        return Ok(());
    }
    if !is_number && !was.is_v3() {
        return Ok(());
    }
    let masked = original.masked_value(was);
    let explicit = original.attribute(FILL_VALUE).is_some();
    if was.is_netcdf() && !explicit && !format.has_netcdf_model() {
        // xarray masks by the attribute in a netCDF file, and by the fill value in version 2.
        match (format, masked) {
            (Format::Zarr2, _) if every_chunk_exists(source, original)? => variable.fill = None,
            // What was never written is missing.
            (Format::Zarr3, Some(value)) if is_number && !every_chunk_exists(source, original)? => {
                variable.set_attribute(Attribute::new(FILL_VALUE, value))?;
            }
            _ => {}
        }
        return Ok(());
    }
    if let Some(value) = masked.as_ref().filter(|_| explicit || format == Format::Zarr3) {
        let same = |attribute: &Attribute| is_same_number(&attribute.value, value);
        // Version 2 has two locations for it; the other one is used.
        if variable.attribute(FILL_VALUE).is_none_or(|attribute| was == Format::Zarr2 && !same(attribute)) {
            variable.set_attribute(Attribute::new(FILL_VALUE, value.clone()))?;
        }
    }
    if !explicit && masked.is_some() && format.has_netcdf_model() {
        // It is netCDF's default, which netCDF4 masks without the attribute, and xarray only in version 2.
        if was == Format::Zarr2
            && original.is_named()
            && let Some(value) = masked
        {
            variable.set_attribute(Attribute::new(FILL_VALUE, value))?;
        }
        return Ok(());
    }
    let has_other = explicit && masked.is_none();
    if format == Format::Zarr3 || was == Format::Zarr2 && masked.is_some() || has_other {
        return Ok(());
    }
    let wanted = masked.as_ref().and_then(|value| fill_of(value, variable, format));
    let bytes = |fill: &Option<FillValue>| fill.as_ref().map(|fill| fill.bytes().to_vec());
    // Missing chunks without a fill value read as zeros.
    let is_zero = variable.fill.as_ref().is_none_or(FillValue::is_zero);
    // If a missing value is written as NaN, missing chunks may read as any other missing value.
    let is_nan = has_nan_fill(variable);
    if bytes(&wanted) == bytes(&variable.fill) {
        // Version 3 spells some otherwise.
        variable.fill = if was.is_v3() { wanted } else { variable.fill.take() };
        return Ok(());
    }
    let concerns_readers = wanted.is_some() || is_v2(format) && variable.is_masked_by_fill();
    // A time without a fill value reads as NaT.
    let is_time = matches!(variable.dtype.kind(), Kind::DateTime | Kind::TimeDelta);
    if is_nan && wanted.is_some() || concerns_readers && every_chunk_exists(source, original)? {
        variable.fill = wanted;
    } else if is_zero && !is_time {
        variable.fill = None;
    }
    Ok(())
}

fn is_text(variable: &Variable) -> bool {
    matches!(variable.dtype.kind(), Kind::Bytes | Kind::Unicode | Kind::VlenText)
}

/// The element as which missing chunks of the source are copied and compared, in its type; `None`: its fill value. It is
/// the missing value as which they read in the copy if they read as another missing value, NaN, in the source.
pub(super) fn element_of_missing_chunks(
    original: &Variable,
    was: Format,
    planned: &Variable,
) -> Option<Vec<u8>> {
    if !has_nan_fill(original) || planned.fill.is_none() || has_nan_fill(planned) {
        return None;
    }
    let fill = fill_of(&original.masked_value(was)?, original, was)?;
    Some(fill.bytes().to_vec())
}

fn has_nan_fill(variable: &Variable) -> bool {
    // The bits of some integers are those of NaN.
    if variable.dtype.kind() != Kind::Float {
        return false;
    }
    let number = variable.fill.as_ref().and_then(|fill| {
        fill.value(NcType::Float, &variable.dtype).or_else(|| fill.value(NcType::Double, &variable.dtype))
    });
    number.is_some_and(|number| is_same_number(&number, &Value::from(f32::NAN)))
}

/// Spells the attribute `_FillValue` of a planned variable as the readers of its format do, or removes what closes the
/// dataset to them. `is_kept` says that the format is that of the source.
fn spell_attribute(original: &Variable, variable: &mut Variable, format: Format, is_kept: bool) {
    let kind = variable.dtype.kind();
    let is_char = format.has_netcdf_model() && variable.nc_type == Some(NcType::Char);
    let is_padded = matches!(original.dtype.kind(), Kind::Bytes | Kind::Unicode) && !is_char;
    let mut attributes = variable.attributes.iter_mut();
    let Some(attribute) = attributes.find(|attribute| attribute.name == FILL_VALUE) else { return };
    // Floating-point numbers are written in xarray's form.
    if format == Format::Zarr3 && (kind == Kind::Float || !is_kept && matches!(kind, Kind::Int | Kind::UInt))
    {
        attribute.json = None;
    }
    // NUL, the fill value of char, is the empty string.
    let text = match &mut attribute.value {
        Value::Char(text) => Some(text),
        Value::String(texts) => texts.first_mut(),
        _ => None,
    };
    if let Some(text) = text.filter(|text| is_padded && !is_kept && text.ends_with(&[0])) {
        text.truncate(text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
        attribute.json = None;
    }
    if format == Format::Zarr3 && !is_kept && !variable.has_fill_of_xarray() {
        variable.attributes.retain(|attribute| attribute.name != FILL_VALUE);
    }
}

/// Whether readers of Zarr version 2 take the fill value for the missing value.
fn is_v2(format: Format) -> bool {
    matches!(format, Format::Zarr2 | Format::Nczarr(_))
}

/// A number as the fill value of a variable.
fn fill_of(value: &Value, variable: &Variable, format: Format) -> Option<FillValue> {
    let text = FillText::of(format);
    let of_json = || {
        let number = match value {
            Value::Float(numbers) => f64::from(*numbers.first()?),
            Value::Double(numbers) => *numbers.first()?,
            _ => return None,
        };
        let json = match number {
            number if number.is_nan() => "NaN".into(),
            f64::INFINITY => "Infinity".into(),
            f64::NEG_INFINITY => "-Infinity".into(),
            number => number.into(),
        };
        FillValue::from_json(&json, &variable.dtype, text).ok().flatten()
    };
    // `f2` is shown as `float`.
    FillValue::from_value(value, &variable.dtype, text).ok().or_else(of_json)
}

/// Whether no chunk is missing; of many chunks, of those in shards and of strings in files that is not looked at.
pub(super) fn every_chunk_exists(source: &dyn Container, variable: &Variable) -> Result<bool, DataError> {
    const LOOKED_AT: u64 = 100_000;
    // Elements that netCDF shows beyond the stored array read as fill, like those of missing chunks.
    if source.hierarchy().shape_of(variable) != variable.shape {
        return Ok(false);
    }
    if source.hierarchy().format.is_netcdf() {
        return if variable.dtype.is_variable_length() {
            Ok(false)
        } else {
            every_chunk_is_located(&source.array(&variable.path)?, LOOKED_AT)
        };
    }
    let (lens, chunk) = (variable.stored_shape(), variable.stored_chunk_shape());
    let counts: Vec<u64> =
        lens.iter().zip(&chunk).map(|(len, chunk)| len.div_ceil((*chunk).max(1))).collect();
    let store = source.store();
    let Some(total) = product(&counts)
        .filter(|&total| total <= LOOKED_AT && variable.sharding.is_none() && store.capabilities().list)
    else {
        return Ok(false);
    };
    let chunks = source.chunks(variable)?;
    let prefix = Prefix::parse(chunks.prefix()).unwrap_or(Prefix::ROOT);
    let listing = match store.list(prefix, Depth::All, 4 * LOOKED_AT as usize) {
        Err(StoreError::TooManyEntries { .. }) => return Ok(false),
        listing => listing.map_err(|source| DataError::Store { store: store.to_string(), source })?,
    };
    let is_chunk = |key: &str| {
        let index = chunks.object_index(key);
        index.is_some_and(|index| index.iter().zip(&counts).all(|(number, count)| number < count))
    };
    let found = listing.entries.iter().filter(|entry| is_chunk(entry.key.as_str()));
    Ok(found.count() as u64 == total)
}

/// Whether every chunk of a variable of a file has bytes in it, if there are not too many.
fn every_chunk_is_located(array: &Array, most: u64) -> Result<bool, DataError> {
    let Some(total) = product(&array.object_counts()).filter(|&total| total <= most) else {
        return Ok(false);
    };
    let tiles = Tiles::all(array, array.stored_shape(), array.object_shape())?;
    let mut worker = array.worker();
    for position in 0..tiles.len() {
        match array.locate(&mut worker, &tiles.index(position)) {
            Ok(location) if location.extent != Extent::Missing => {}
            // The read of the chunk reports it, or salvage leaves it out.
            Err(error) if !is_of_chunk(&error) => return Err(error),
            _ => return Ok(false),
        }
    }
    Ok(total == tiles.len())
}

fn product(counts: &[u64]) -> Option<u64> {
    counts.iter().try_fold(1u64, |total, count| total.checked_mul(*count))
}

/// Compares what readers of the copy mask with what is masked in the source. `read` is the hierarchy of the copy as its
/// readers see it.
///
/// # Errors
/// [`CopyError::Masks`].
pub(super) fn verify(source: &Hierarchy, read: &Hierarchy) -> Result<(), CopyError> {
    for variable in read.variables() {
        // An array at the root has the name that it was opened with.
        let Ok(original) = source.variable(&variable.path) else { continue };
        let (before, after) = (original.masked_value(source.format), variable.masked_value(read.format));
        // What the attribute does not say is a default of netCDF, or what missing chunks read as: see `keep`.
        let is_explicit = original.attribute(FILL_VALUE).is_some();
        let is_kept = match (&before, &after) {
            (Some(before), Some(after)) => !is_explicit || is_same_number(before, after),
            (Some(_), None) => !is_explicit,
            // In version 2 the fill value stays where chunks are missing, as the plan of the copy says.
            (None, _) => !is_v2(source.format) || after.is_none() || read.format != Format::Zarr2,
        };
        if !is_kept {
            let shown =
                |value: Option<Value>| value.map_or("nothing".to_owned(), |value| format!("{value:?}"));
            return Err(CopyError::Masks {
                path: variable.path.clone(),
                original: shown(before),
                copied: shown(after),
            });
        }
    }
    Ok(())
}
