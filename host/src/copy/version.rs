//! Differences between Zarr versions 2 and 3 of the same data.

use ncz_model::Container;
use ncz_model::json::{self, Json};
use ncz_model::{
    ByteOrder, DataError, Dtype, Format, KeyEncoding, Order, ScalarForm, Separator, Sharding, Variable,
    product,
};
use ncz_registry::spec::{ChainSpec, StageSpec, generic};

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

/// A variable as Zarr has it with little-endian numbers; `None`: its numbers are not big-endian.
pub(super) fn little_endian(variable: &Variable, format: Format) -> Option<Variable> {
    if format.is_netcdf() || variable.dtype.order() != ByteOrder::Big {
        return None;
    }
    let mut variable = variable.clone();
    variable.fill = variable.fill.map(|fill| fill.swapped(&variable.dtype));
    variable.dtype = variable.dtype.to_little();
    Some(variable)
}

/// Codecs for numbers in the byte order of the copy, and for its chunks.
pub(super) fn of_elements(spec: &ChainSpec, original: &Variable, planned: &Variable) -> ChainSpec {
    if has_same_elements(original, planned) {
        return spec.clone();
    }
    let is_swapped = planned.dtype != original.dtype && planned.dtype == original.dtype.to_little();
    let mut stages = spec.stages().to_vec();
    for stage in &mut stages {
        match stage {
            StageSpec::Json { config, .. } if is_swapped => {
                // The types in its configuration are those of the numbers.
                for value in config.values_mut() {
                    if let Some(dtype) = value.as_str().and_then(|text| Dtype::parse(text).ok()) {
                        *value = dtype.to_little().text().into();
                    }
                }
            }
            StageSpec::Filter { id, params } => fit_words(*id, params, planned),
            _ => {}
        }
    }
    ChainSpec::new(stages)
}

fn has_same_elements(original: &Variable, planned: &Variable) -> bool {
    planned.dtype == original.dtype && planned.chunk_shape == original.chunk_shape
}

/// Gives the parameters of HDF5's nbit and scaleoffset the elements of a chunk and their byte order, which they contain.
fn fit_words(id: u32, words: &mut [u32], planned: &Variable) {
    const NBIT: u32 = 5;
    const SCALEOFFSET: u32 = 6;
    // The class of numbers, in the parameters of nbit.
    const NUMBER: u32 = 1;
    let (count, order) = match (id, words) {
        (SCALEOFFSET, [_, _, count, _, _, _, order, _, ..]) => (count, order),
        (NBIT, [_, _, count, NUMBER, _, order, _, _]) => (count, order),
        _ => return,
    };
    *count = product(planned.chunk_shape.iter().copied())
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or(u32::MAX);
    *order = u32::from(planned.dtype.order() == ByteOrder::Big);
}

/// Codecs of the source in the metadata of the same version, for the elements of the copy.
pub(super) fn of_same_version(
    source: &dyn Container,
    original: &Variable,
    planned: &Variable,
    format: Format,
) -> Result<Vec<Json>, DataError> {
    let mut filters = source.agreed_filters(original, format)?;
    if has_same_elements(original, planned) {
        return Ok(filters);
    }
    for filter in &mut filters {
        let mut value = filter.to_value();
        if let Some((id, mut words)) = generic::of_codec_json(&value) {
            fit_words(id, &mut words, planned);
            match value.get_mut("configuration") {
                Some(configuration) => configuration["cd_values"] = words.into(),
                None => value["cd_values"] = words.into(),
            }
            *filter = Json::from(value);
        }
    }
    Ok(filters)
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
    let spec = of_elements(&spec, original, planned);
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
