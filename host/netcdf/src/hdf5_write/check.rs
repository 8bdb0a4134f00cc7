//! The limits of HDF5 and netCDF-4.

use std::collections::HashSet;

use ncz_model::Storage;

use super::encode::MESSAGE_BYTES;
use super::error::Hdf5WriteError;
use super::planned_variable::PlannedVariable;
use crate::mapping::names::{self, NON_COORDINATE};

/// The most dimensions (`H5S_MAX_RANK` in libhdf5).
pub(super) const RANK: usize = 32;

/// The most filters (`H5Z_MAX_NFILTERS` in libhdf5).
pub(super) const FILTERS: usize = 32;

/// The most attributes: their numbers have 16 bits, and the last is reserved (`H5O_MAX_CRT_ORDER_IDX` in libhdf5).
pub(super) const ATTRIBUTES: usize = u16::MAX as usize - 1;

/// Filters without which data cannot be written again, and those that libhdf5 leaves out of a chunk that they cannot make
/// smaller (`H5Z_FLAG_OPTIONAL`).
const MANDATORY: u16 = 0;
const OPTIONAL: u16 = 1;

/// The flags of a filter: those that libhdf5 sets for its own filters; the filters of plugins are mandatory.
pub(super) fn filter_flags(id: u16) -> u16 {
    // deflate, shuffle, szip, nbit, scaleoffset
    if matches!(id, 1 | 2 | 4 | 5 | 6) { OPTIONAL } else { MANDATORY }
}

/// Checks the name of a dimension, variable or group.
pub(super) fn name(kind: &'static str, group: &str, name: &str) -> Result<(), Hdf5WriteError> {
    let reason = if name == "." || name == ".." {
        Some("HDF5 uses it in paths")
    } else if name.contains('/') {
        Some("it contains a slash")
    } else if name.starts_with(NON_COORDINATE) {
        Some("netCDF removes its prefix \"_nc4_non_coord_\"")
    } else {
        names::unusable(name)
    };
    refuse(kind, group, name, reason)
}

/// Checks the name of an attribute.
pub(super) fn attribute_name(path: &str, name: &str) -> Result<(), Hdf5WriteError> {
    let is_hidden = names::is_hidden(name);
    let reason = is_hidden
        .then_some("netCDF-4 reserves it, so that it would not be shown")
        .or_else(|| names::unusable(name));
    refuse("attribute", path, name, reason)
}

/// Checks that all names are different.
pub(super) fn unique<'a>(path: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Hdf5WriteError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return refuse("second object", path, name, Some("it is in use"));
        }
    }
    Ok(())
}

fn refuse(
    kind: &'static str,
    path: &str,
    name: &str,
    reason: Option<&'static str>,
) -> Result<(), Hdf5WriteError> {
    match reason {
        Some(reason) => {
            Err(Hdf5WriteError::Name { kind, path: path.to_owned(), name: name.to_owned(), reason })
        }
        None => Ok(()),
    }
}

/// Checks the shape and the storage of a variable.
pub(super) fn layout(planned: &PlannedVariable<'_>) -> Result<(), Hdf5WriteError> {
    let variable = planned.variable;
    let error = |reason: String| Err(Hdf5WriteError::Layout { path: variable.path.clone(), reason });
    let Some(bytes) = planned.bytes() else {
        return error(format!("has the shape {:?}, whose bytes do not fit 64 bits", planned.shape));
    };
    if !planned.is_chunked() {
        if let Some(axis) = planned.max.iter().position(|max| *max == u64::MAX) {
            return error(format!(
                "has an unlimited dimension (axis {axis}), so that it must be stored in chunks"
            ));
        }
        if !planned.filters.is_empty() {
            return error("has filters, so that it must be an array that is stored in chunks".to_owned());
        }
        if variable.storage == Storage::Compact && bytes > (MESSAGE_BYTES - 4) as u64 {
            return error(format!("has {bytes} bytes; compact storage has less than 64 KiB"));
        }
        return Ok(());
    }
    let chunk = &variable.chunk_shape;
    if chunk.len() != planned.shape.len() || chunk.iter().any(|len| *len == 0 || *len > u64::from(u32::MAX)) {
        return error(format!("has the shape {:?} but chunks of {chunk:?}", planned.shape));
    }
    match planned.chunk_bytes() {
        Some(bytes) if bytes <= u64::from(u32::MAX) => Ok(()),
        _ => {
            error(format!("has chunks of {chunk:?}; a chunk in HDF5 has less than 4 GiB: use smaller chunks"))
        }
    }
}
