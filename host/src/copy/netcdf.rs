//! The chunks of variables of netCDF files in a copy.

use ncz_model::{Format, Group, Hierarchy, NetcdfKind, Storage, Value, Variable, product};

/// Bytes of a chunk that is made of several records (4 MiB).
const RECORDS: u64 = 4 << 20;

/// Bytes of a chunk from which on records are left as they are (1 MiB).
const LONG: u64 = 1 << 20;

/// Gives a planned variable chunks that Zarr can have.
///
/// The chunks of an HDF5 file are kept. Records of a classic file are joined: a chunk of one record each would be a
/// million objects. A chunk that is longer than a fixed dimension is not read by netcdf-c in NCZarr, so it is cut.
pub(super) fn rechunk(hierarchy: &Hierarchy, variable: &mut Variable, was: Format, format: Format) {
    let is_chunked = variable.storage == Storage::Chunked;
    let is_classic =
        matches!(was, Format::Netcdf(NetcdfKind::Classic | NetcdfKind::Offset64 | NetcdfKind::Cdf5));
    if is_classic && is_chunked {
        join_records(variable);
    }
    if format.is_nczarr() {
        let dimensions = variable.dimensions.iter().zip(&mut variable.chunk_shape).zip(&variable.shape);
        for ((reference, chunk), len) in dimensions {
            let is_fixed = hierarchy.dimension(reference).is_none_or(|dimension| !dimension.unlimited);
            if is_fixed {
                *chunk = (*chunk).min(*len).max(1);
            }
        }
    }
    let is_whole = variable.chunk_shape.iter().zip(&variable.shape).all(|(chunk, len)| chunk >= len);
    if variable.scalar.is_some() {
        variable.storage = Storage::Scalar;
    } else if !is_whole || !variable.filters.is_empty() {
        variable.storage = Storage::Chunked;
    }
}

/// Keeps the names that netCDF gives to dimensions without one: xarray needs names.
pub(super) fn name_dimensions(group: &mut Group) {
    group.dimensions.iter_mut().for_each(|dimension| dimension.anonymous = false);
    group.groups.iter_mut().for_each(name_dimensions);
}

/// Makes text of attributes that are one string: readers of pure Zarr take a list of one string for a list.
pub(super) fn plain_texts(group: &mut Group) {
    let of_variables = group.variables.iter_mut().flat_map(|variable| &mut variable.attributes);
    for attribute in group.attributes.iter_mut().chain(of_variables) {
        if let Value::String(strings) = &mut attribute.value
            && let [text] = strings.as_mut_slice()
        {
            attribute.value = Value::Char(std::mem::take(text));
        }
    }
    group.groups.iter_mut().for_each(plain_texts);
}

fn join_records(variable: &mut Variable) {
    let element = variable.dtype.size() as u64;
    let (Some(chunk), Some(len)) = (variable.chunk_shape.first().copied(), variable.shape.first().copied())
    else {
        return;
    };
    let Some(bytes) = product(variable.chunk_shape.iter().copied().chain([element])) else { return };
    if bytes >= LONG || bytes == 0 {
        return;
    }
    let joined = (RECORDS / bytes).saturating_mul(chunk).min(len).max(chunk);
    if let Some(first) = variable.chunk_shape.first_mut() {
        *first = joined;
    }
}

#[cfg(test)]
mod tests {
    use ncz_model::{NcType, VariableBuilder};

    use super::*;

    #[test]
    fn records_are_joined_and_chunks_of_hdf5_files_are_kept() {
        let rechunked = |kind, chunk: [u64; 2], format| {
            let mut hierarchy = Hierarchy::new(Format::Netcdf(kind));
            hierarchy.add_dimension("/", "time", 10_000, true).unwrap();
            hierarchy.add_dimension("/", "x", 100, false).unwrap();
            let builder = VariableBuilder::new("v", NcType::Float).dimensions(["time", "x"]).chunks(chunk);
            let mut variable = hierarchy.add_variable("/", builder).unwrap().clone();
            rechunk(&hierarchy, &mut variable, Format::Netcdf(kind), format);
            variable.chunk_shape
        };
        assert_eq!(rechunked(NetcdfKind::Classic, [1, 100], Format::NCZARR), [10_000, 100]);
        assert_eq!(rechunked(NetcdfKind::Cdf5, [1, 50], Format::Zarr2), [10_000, 50]);
        assert_eq!(rechunked(NetcdfKind::Netcdf4, [1, 100], Format::NCZARR), [1, 100]);
        assert_eq!(rechunked(NetcdfKind::Netcdf4, [1, 128], Format::NCZARR), [1, 100], "of netcdf-c");
        assert_eq!(rechunked(NetcdfKind::Netcdf4, [20_000, 128], Format::Zarr3), [20_000, 128]);
    }
}
