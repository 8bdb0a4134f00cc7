//! Differences between Zarr versions 2 and 3 of the same data.

use ncz_model::Container;
use ncz_model::json::{self, Json};
use ncz_model::{
    ByteOrder, DataError, Dtype, Format, KeyEncoding, Order, ScalarForm, Separator, Sharding, Variable,
};
use ncz_registry::spec::{ChainSpec, StageSpec};

use crate::causes::with_causes;

/// Gives a variable what the other version writes for the same data.
pub(super) fn change(variable: &mut Variable, format: Format) {
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
}

/// A variable as version 3 and NCZarr have it with little-endian numbers; `None`: its numbers are not big-endian.
pub(super) fn little_endian(variable: &Variable, format: Format) -> Option<Variable> {
    let has_them = format.is_v3() || format.is_nczarr();
    if !has_them || variable.dtype.order() != ByteOrder::Big {
        return None;
    }
    let mut variable = variable.clone();
    variable.fill = variable.fill.map(|fill| fill.swapped(&variable.dtype));
    variable.dtype = variable.dtype.to_little();
    Some(variable)
}

/// Codecs for numbers in the byte order of the copy.
pub(super) fn of_byte_order(spec: &ChainSpec, original: &Variable, planned: &Variable) -> ChainSpec {
    let is_swapped = planned.dtype != original.dtype && planned.dtype == original.dtype.to_little();
    match is_swapped {
        true => ChainSpec::new(spec.stages().iter().map(of_little_endian).collect()),
        false => spec.clone(),
    }
}

/// A codec for little-endian numbers: the types in its configuration are those.
fn of_little_endian(stage: &StageSpec) -> StageSpec {
    let mut stage = stage.clone();
    if let StageSpec::Json { config, .. } = &mut stage {
        for value in config.values_mut() {
            if let Some(dtype) = value.as_str().and_then(|text| Dtype::parse(text).ok()) {
                *value = dtype.to_little().text().into();
            }
        }
    }
    stage
}

/// The codecs of a variable of `source` as the other version names them.
///
/// # Errors
/// A codec that the other version has no name for.
pub(super) fn filters(
    source: &dyn Container,
    original: &Variable,
    planned: &Variable,
    format: Format,
) -> Result<Vec<Json>, DataError> {
    let from = source.hierarchy().format;
    let failed = |error: &dyn std::error::Error| DataError::Unsupported {
        variable: original.path.clone(),
        reason: format!(
            "its codecs cannot be expressed in the other Zarr version ({}); choose codecs for the copy",
            with_causes(error)
        ),
    };
    let agreed = source.agreed_filters(original, from)?;
    let spec =
        ChainSpec::from_json(from.dialect(), &json::to_values(&agreed)).map_err(|error| failed(&error))?;
    let spec = of_byte_order(&spec, original, planned);
    let chain = source.session().bind(planned, format, &spec)?;
    let stored = chain.stored_json(format.dialect()).map_err(|error| failed(&error))?;
    Ok(stored.into_iter().map(Json::from).collect())
}

/// Shards near the old ones that hold whole chunks of a new shape.
pub(super) fn fit_shards(sharding: &mut Sharding, chunk_shape: &[u64]) {
    for (shard, chunk) in sharding.shape.iter_mut().zip(chunk_shape) {
        *shard = shard.checked_next_multiple_of(*chunk).unwrap_or(*chunk);
    }
}
