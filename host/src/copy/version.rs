//! What changes on the way between Zarr versions 2 and 3.

use ncz_nczarr::{
    Attribute, DataError, Dataset, FillText, FillValue, Format, KeyEncoding, Order, ScalarForm, Separator,
    Sharding, Value, Variable,
};
use ncz_registry::spec::ChainSpec;
use ncz_store::{Depth, Prefix, Store, StoreError};
use serde_json::Value as Json;

/// Gives a variable what the other version writes for the same data.
///
/// # Errors
/// An attribute that cannot be set; the store fails.
pub(super) fn change(source: &Dataset, variable: &mut Variable, format: Format) -> Result<(), DataError> {
    let was = source.hierarchy().format;
    match (was, format) {
        (_, Format::Zarr3) => mark_missing(variable, was)?,
        (Format::Zarr3, _) => unmark_missing(source, variable, format)?,
        _ => {}
    }
    if format.is_v3() {
        variable.key_encoding = KeyEncoding::Default;
        variable.separator = Separator::Slash;
        variable.scalar = variable.scalar.map(|_| ScalarForm::Rank0);
    } else {
        variable.key_encoding = KeyEncoding::V2;
        variable.separator = Separator::Dot;
        variable.sharding = None;
        if matches!(variable.order, Order::Axes(_)) {
            variable.order = Order::C;
        }
    }
    Ok(())
}

const FILL: &str = "_FillValue";

/// The fill value of version 2 means a missing value to xarray and to netCDF; in version 3 the attribute does. A
/// default of netCDF is none of the user's, and text has no such attribute.
fn mark_missing(variable: &mut Variable, was: Format) -> Result<(), DataError> {
    let (Some(nc_type), Some(fill)) = (variable.nc_type, &variable.fill) else { return Ok(()) };
    let is_default = was.is_nczarr() && fill.is_default(nc_type, &variable.dtype);
    if variable.attribute(FILL).is_some() || is_default {
        return Ok(());
    }
    match fill.value(nc_type, &variable.dtype) {
        None | Some(Value::Char(_) | Value::String(_)) => {}
        Some(value) => variable.set_attribute(Attribute::new(FILL, value))?,
    }
    Ok(())
}

/// Version 3 has a fill value in any case, and without the attribute zeros mean no missing value. With it the fill
/// value becomes that of the attribute, unless missing chunks would then read as other values.
fn unmark_missing(source: &Dataset, variable: &mut Variable, format: Format) -> Result<(), DataError> {
    let Some(attribute) = variable.attribute(FILL) else {
        variable.fill = variable.fill.take().filter(|fill| !is_zero(fill));
        return Ok(());
    };
    let Ok(fill) = FillValue::from_value(&attribute.value, &variable.dtype, FillText::of(format)) else {
        return Ok(());
    };
    let same = variable.fill.as_ref().is_some_and(|old| old.bytes() == fill.bytes());
    if same || every_chunk_exists(source, variable)? {
        variable.fill = Some(fill);
    } else {
        variable.fill = variable.fill.take().filter(|fill| !is_zero(fill));
    }
    Ok(())
}

fn is_zero(fill: &FillValue) -> bool {
    fill.bytes().iter().all(|&byte| byte == 0)
}

/// Whether no chunk is missing; of many chunks, of those in shards and of strings nobody knows.
fn every_chunk_exists(source: &Dataset, variable: &Variable) -> Result<bool, DataError> {
    const LOOKED_AT: u64 = 100_000;
    if variable.dtype.is_variable_length() {
        return Ok(false);
    }
    let store = source.store();
    let array = source.array(&variable.path)?;
    let counts = array.object_counts();
    let total = counts.iter().try_fold(1u64, |total, count| total.checked_mul(*count));
    let Some(total) = total.filter(|&total| total <= LOOKED_AT && !array.is_sharded()) else {
        return Ok(false);
    };
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

/// The codecs of a variable of `source` as the other version names them.
///
/// # Errors
/// A codec that the other version has no name for.
pub(super) fn filters(
    source: &Dataset,
    original: &Variable,
    planned: &Variable,
    format: Format,
) -> Result<Vec<Json>, DataError> {
    let from = source.hierarchy().format;
    let failed = |error: &dyn std::error::Error| {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        DataError::Unsupported {
            variable: original.path.clone(),
            reason: format!(
                "its codecs are none of the other Zarr version ({text}); choose codecs for the copy"
            ),
        }
    };
    let agreed = source.agreed_filters(original, from)?;
    let spec = ChainSpec::from_json(from.dialect(), &agreed).map_err(|error| failed(&error))?;
    let chain = source.session().bind(planned, format, &spec)?;
    chain.stored_json(format.dialect()).map_err(|error| failed(&error))
}

/// Shards near the old ones that hold whole chunks of a new shape.
pub(super) fn fit_shards(sharding: &mut Sharding, chunk_shape: &[u64]) {
    for (shard, chunk) in sharding.shape.iter_mut().zip(chunk_shape) {
        *shard = shard.checked_next_multiple_of(*chunk).unwrap_or(*chunk);
    }
}
