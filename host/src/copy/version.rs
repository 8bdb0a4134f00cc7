//! What changes on the way between Zarr versions 2 and 3.

use ncz_nczarr::{
    Attribute, DataError, Dataset, Format, KeyEncoding, Order, ScalarForm, Separator, Sharding, Variable,
    from_xarray_fill, xarray_fill,
};
use ncz_registry::spec::ChainSpec;
use serde_json::Value as Json;

/// Gives a variable what the other version writes for the same data.
///
/// # Errors
/// An attribute that cannot be set.
pub(super) fn change(variable: &mut Variable, was: Format, format: Format) -> Result<(), DataError> {
    match (was, format) {
        (_, Format::Zarr3) => mark_missing(variable, was)?,
        (Format::Zarr3, _) => unmark_missing(variable)?,
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
/// default of netCDF is none of the user's.
fn mark_missing(variable: &mut Variable, was: Format) -> Result<(), DataError> {
    let Some(nc_type) = variable.nc_type else { return Ok(()) };
    let value = match (variable.attribute(FILL), &variable.fill) {
        (Some(attribute), _) => Some(attribute.value.clone()),
        (None, Some(fill)) if was.is_nczarr() && fill.is_default(nc_type, &variable.dtype) => None,
        (None, Some(fill)) => fill.value(nc_type, &variable.dtype),
        (None, None) => None,
    };
    if let Some(spelled) = value.as_ref().and_then(xarray_fill) {
        variable.set_attribute(Attribute::new(FILL, spelled))?;
    }
    Ok(())
}

/// Version 3 has a fill value in any case; without the attribute, zeros mean no missing value.
fn unmark_missing(variable: &mut Variable) -> Result<(), DataError> {
    let Some(nc_type) = variable.nc_type else { return Ok(()) };
    let spelled = variable.attribute(FILL).map(|attribute| from_xarray_fill(&attribute.value, nc_type));
    match spelled {
        Some(Some(value)) => variable.set_attribute(Attribute::new(FILL, value))?,
        Some(None) => {}
        None => {
            variable.fill = variable.fill.take().filter(|fill| fill.bytes().iter().any(|&byte| byte != 0))
        }
    }
    Ok(())
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
