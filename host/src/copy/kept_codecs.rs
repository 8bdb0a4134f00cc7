//! The codecs of the source that a copy keeps, and whether both sides then have the same stored bytes.

use ncz_model::json::Json;
use ncz_model::{Container, DataError, Dtype, Format, Variable};
use ncz_registry::chain::FilterChain;

use super::{netcdf, types, version};
use crate::causes::with_causes;

/// The codecs of a variable of the source, as metadata of the copy name them.
pub(super) fn kept_filters(
    source: &dyn Container,
    original: &Variable,
    planned: &Variable,
    format: Format,
) -> Result<Vec<Json>, DataError> {
    let is_other_model = format.has_netcdf_model() && !source.hierarchy().format.has_netcdf_model();
    // Files have no codecs for scalars, and netcdf-c opens no dataset with blosc on one.
    let is_unread =
        |codec: &Json| format.is_netcdf() || ["id", "name"].iter().any(|key| codec[*key] == "blosc");
    if planned.scalar.is_some() && is_other_model && original.filters.iter().any(is_unread) {
        return Ok(Vec::new());
    }
    if let Some(spec) = types::other_codecs(source, original, planned)? {
        let (mut variable, session) = (planned.clone(), source.session());
        let chain = session.define(&mut variable, format, &spec).map_err(|error| DataError::Unsupported {
            variable: original.path.clone(),
            reason: format!(
                "its codecs do not fit the type {}, as which the copy stores it ({}); choose codecs for the copy",
                variable.dtype,
                with_causes(&error)
            ),
        })?;
        return match format.is_netcdf() && !chain.is_empty() {
            true => netcdf::filters(session, planned, format, &spec)
                .or_else(|_| netcdf::chosen_filters(session, planned, format, &netcdf::usual(planned))),
            false => Ok(variable.filters),
        };
    }
    match source.hierarchy().format.is_v3() == format.is_v3() {
        _ if format.is_netcdf() => netcdf::kept_filters(source, original, planned, format),
        true => version::of_same_version(source, original, planned, format),
        false => version::filters(source, original, planned, format),
    }
}

/// Whether both chains encode a chunk to the same bytes. Across Zarr versions they are compared by their numcodecs
/// names. For filters of a netCDF file, the metadata in `format` must be those that keep them.
pub(crate) fn same_codecs(
    source: &dyn Container,
    format: Format,
    (original, planned): (&Variable, &Variable),
    (from, to): (&FilterChain, &FilterChain),
) -> bool {
    if from.working() != to.working() {
        return false;
    }
    let was = source.hierarchy().format;
    if was.is_netcdf() {
        return kept_filters(source, original, planned, format).is_ok_and(|kept| kept == planned.filters);
    }
    let dialect = match (was.dialect(), format.dialect()) {
        (one, other) if one == other => one,
        _ => ncz_codec::Dialect::Numcodecs,
    };
    let json = |chain: &FilterChain| chain.stored_json(dialect).ok();
    json(from).is_some() && json(from) == json(to)
}

/// Whether elements of two types have the same bytes, as those of `<i1` and `|i1`, or of truth values and integers.
pub(crate) fn same_elements(one: &Dtype, other: &Dtype) -> bool {
    let facts = |dtype: &Dtype| (dtype.kind(), dtype.size(), dtype.order());
    one == other || (one.size() == 1 && facts(one) == facts(other)) || types::is_relabelled(one, other)
}
