//! Missing values of a copy: what the readers of the source mask, the readers of the copy mask too.

use ncz_model::Container;
use ncz_model::{
    Attribute, DataError, Extent, FillText, FillValue, Format, Hierarchy, Kind, NcType, Value, Variable,
    is_same_number, masked::is_of_xarray,
};
use ncz_store::{Depth, Prefix, StoreError};

use super::CopyError;
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
    if was.is_like(format) {
        return Ok(());
    }
    let is_number = matches!(variable.dtype.kind(), Kind::Int | Kind::UInt | Kind::Float);
    let is_text = matches!(variable.dtype.kind(), Kind::Bytes | Kind::Unicode | Kind::VlenText);
    if is_text && is_v2(format) && original.attribute(FILL_VALUE).is_none() {
        // xarray would mask empty strings. Missing chunks without a fill value read as empty strings.
        variable.fill = variable.fill.take().filter(|fill| !fill.is_zero());
        // zarr-python expects Base64 where netcdf-c writes the text itself.
        if variable.fill.is_some() && format != Format::Zarr2 && every_chunk_exists(source, original)? {
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
        // It is netCDF's default, which netCDF4 masks without the attribute, and xarray in what it wrote.
        if is_of_xarray(source.hierarchy())
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
    let is_nan = variable
        .fill
        .as_ref()
        .and_then(|fill| {
            fill.value(NcType::Float, &variable.dtype).or_else(|| fill.value(NcType::Double, &variable.dtype))
        })
        .is_some_and(|number| is_same_number(&number, &Value::from(f32::NAN)));
    if bytes(&wanted) == bytes(&variable.fill) {
        // Version 3 spells some otherwise.
        variable.fill = if was.is_v3() { wanted } else { variable.fill.take() };
        return Ok(());
    }
    // A time without a fill value reads as NaT.
    let is_time = matches!(variable.dtype.kind(), Kind::DateTime | Kind::TimeDelta);
    let is_masked_by_fill = is_number || is_time || variable.dtype.kind() == Kind::Bool;
    let concerns_readers = is_masked_by_fill && (wanted.is_some() || format == Format::Zarr2);
    if is_nan && wanted.is_some() || concerns_readers && every_chunk_exists(source, original)? {
        variable.fill = wanted;
    } else if is_zero && !is_time {
        variable.fill = None;
    }
    Ok(())
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

/// Whether no chunk is missing; of many chunks, of those in shards and of strings that is not looked at.
fn every_chunk_exists(source: &dyn Container, variable: &Variable) -> Result<bool, DataError> {
    const LOOKED_AT: u64 = 100_000;
    if variable.dtype.is_variable_length() {
        return Ok(false);
    }
    // Elements that netCDF shows beyond the stored array read as fill, like those of missing chunks.
    if source.hierarchy().shape_of(variable) != variable.shape {
        return Ok(false);
    }
    let store = source.store();
    let array = source.array(&variable.path)?;
    let counts = array.object_counts();
    let total = counts.iter().try_fold(1u64, |total, count| total.checked_mul(*count));
    let Some(total) = total.filter(|&total| total <= LOOKED_AT && !array.is_sharded()) else {
        return Ok(false);
    };
    if source.hierarchy().format.is_netcdf() {
        let tiles = Tiles::all(&array, array.stored_shape(), array.object_shape())?;
        let mut worker = array.worker();
        for position in 0..tiles.len() {
            if array.locate(&mut worker, &tiles.index(position))?.extent == Extent::Missing {
                return Ok(false);
            }
        }
        return Ok(total == tiles.len());
    }
    if !store.capabilities().list {
        return Ok(false);
    }
    let prefix = Prefix::parse(array.key()).unwrap_or(Prefix::ROOT);
    let listing = match store.list(prefix, Depth::All, 4 * LOOKED_AT as usize) {
        Err(StoreError::TooManyEntries { .. }) => return Ok(false),
        listing => listing.map_err(|source| DataError::Store { store: store.to_string(), source })?,
    };
    let chunks = listing.entries.iter().filter(|entry| array.object_index(entry.key.as_str()).is_some());
    Ok(chunks.count() as u64 == total)
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
            (None, Some(_)) => read.format != Format::Zarr2,
            (None, None) => true,
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
