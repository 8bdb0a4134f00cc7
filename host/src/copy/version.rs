//! What changes on the way between Zarr versions 2 and 3.

use ncz_nczarr::{DataError, Dataset, Format, KeyEncoding, Order, ScalarForm, Separator, Sharding, Variable};
use ncz_registry::spec::ChainSpec;
use serde_json::Value as Json;

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
