//! The variables of netCDF files in a copy, from and to these files.

use ncz_model::json::{self, Json};
use ncz_model::{
    Attribute, Container, DataError, EnumMember, FillValue, Format, Group, Hierarchy, NcType, NetcdfKind,
    Session, Storage, TypeClass, Value, Variable, product,
};
use ncz_netcdf::structured_layout;
use ncz_registry::spec::{ChainSpec, StageSpec, generic};

use super::version;

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
        cut_chunks(hierarchy, variable);
    }
    let is_whole = variable.chunk_shape.iter().zip(&variable.shape).all(|(chunk, len)| chunk >= len);
    if variable.scalar.is_some() {
        variable.storage = Storage::Scalar;
    } else if !is_whole || !variable.filters.is_empty() {
        variable.storage = Storage::Chunked;
    }
}

/// Cuts chunks that are longer than a fixed dimension, which HDF5 does not have and netcdf-c does not write.
pub(super) fn cut_chunks(hierarchy: &Hierarchy, variable: &mut Variable) {
    let dimensions = variable.dimensions.iter().zip(&mut variable.chunk_shape).zip(&variable.shape);
    for ((reference, chunk), len) in dimensions {
        let is_fixed = hierarchy.dimension(reference).is_none_or(|dimension| !dimension.unlimited);
        if is_fixed {
            *chunk = (*chunk).min(*len).max(1);
        }
    }
}

/// Keeps the names that netCDF gives to dimensions without one: xarray needs names.
pub(super) fn name_dimensions(group: &mut Group) {
    group.dimensions.iter_mut().for_each(|dimension| dimension.anonymous = false);
    group.groups.iter_mut().for_each(name_dimensions);
}

/// Makes integers of enumerations, with their names in CF's attributes `flag_values` and `flag_meanings` unless the
/// variable has one of them (CF conventions, 3.5). Zarr does not have user-defined types.
pub(super) fn integers_of_enumerations(group: &mut Group) {
    group.types.clear();
    for variable in &mut group.variables {
        let user = variable.user_type.take();
        let is_free =
            variable.attribute("flag_values").is_none() && variable.attribute("flag_meanings").is_none();
        if let Some(TypeClass::Enum { base, members }) = user.as_ref().map(|user| &user.class)
            && is_free
            && let Some(values) = integers(*base, members)
        {
            // Meanings are separated by blanks.
            let names: Vec<String> =
                members.iter().map(|member| member.name.replace(char::is_whitespace, "_")).collect();
            variable.attributes.push(Attribute::new("flag_values", values));
            variable.attributes.push(Attribute::new("flag_meanings", names.join(" ")));
        }
        variable.attributes.iter_mut().for_each(|attribute| attribute.user = None);
    }
    group.attributes.iter_mut().for_each(|attribute| attribute.user = None);
    group.groups.iter_mut().for_each(integers_of_enumerations);
}

/// The integers of an enumeration.
fn integers(base: NcType, members: &[EnumMember]) -> Option<Value> {
    let values = members.iter().map(|member| member.value);
    macro_rules! values {
        ($number:ty) => {
            Value::from(
                values.map(|value| <$number>::try_from(value).ok()).collect::<Option<Vec<$number>>>()?,
            )
        };
    }
    Some(match base {
        NcType::Byte => values!(i8),
        NcType::UByte => values!(u8),
        NcType::Short => values!(i16),
        NcType::UShort => values!(u16),
        NcType::Int => values!(i32),
        NcType::UInt => values!(u32),
        NcType::Int64 => values!(i64),
        NcType::UInt64 => values!(u64),
        NcType::Char | NcType::Float | NcType::Double | NcType::String => return None,
    })
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

/// Makes the texts of attributes those of JSON. NULs at the end are left out: netCDF's readers end a text at the first
/// one, and xarray writes an empty text as a single NUL. Bytes that are not UTF-8 become the characters that Latin-1 has
/// for them. A fill value of characters may be any byte.
pub(super) fn texts_of_json(group: &mut Group) {
    let of_variables = group.variables.iter_mut().flat_map(|variable| &mut variable.attributes);
    for attribute in group.attributes.iter_mut().chain(of_variables) {
        let is_mask = ["_FillValue", "missing_value"].contains(&attribute.name.as_str());
        match &mut attribute.value {
            Value::Char(text) if !is_mask => {
                text.truncate(text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
                to_utf8(text);
            }
            Value::String(texts) => texts.iter_mut().for_each(to_utf8),
            _ => {}
        }
    }
    group.groups.iter_mut().for_each(texts_of_json);
}

/// Reads bytes as Latin-1 if they are not UTF-8.
fn to_utf8(text: &mut Vec<u8>) {
    if str::from_utf8(text).is_err() {
        *text = text.iter().copied().map(char::from).collect::<String>().into_bytes();
    }
}

/// Whether the elements of a variable refer to what is in a heap of their file.
pub(crate) fn has_references(variable: &Variable) -> bool {
    structured_layout(variable).is_ok_and(|layout| layout.is_some_and(|layout| layout.has_references()))
}

/// Gives a planned variable of a user-defined type the elements that it has in a netCDF file. Returns whether it has
/// such a type.
///
/// # Errors
/// netCDF-4 has no type for its elements.
pub(super) fn lay_out(variable: &mut Variable) -> Result<bool, DataError> {
    let layout =
        structured_layout(variable).map_err(|reason| unsupported(variable, format!("its type {reason}")))?;
    let Some(layout) = layout else { return Ok(false) };
    if layout.has_references() {
        variable.dtype = layout.dtype().map_err(|reason| unsupported(variable, reason))?;
        // What refers to a heap of the source is of no use.
        if let Some(fill) = variable.fill.take().filter(|fill| !fill.is_zero()) {
            let zeros = FillValue::from_bytes(&vec![0; variable.dtype.size()], &variable.dtype);
            let zeros = zeros.map_err(|error| unsupported(variable, error.to_string()))?;
            let row = fill.row().cloned().ok_or_else(|| {
                unsupported(variable, "its fill value refers to a heap that cannot be read".to_owned())
            })?;
            variable.fill = Some(zeros.with_row(row));
        }
    }
    Ok(true)
}

/// The codecs of a variable of the source as HDF5 filters by number, for a netCDF file. Where HDF5 has no filter for one
/// of them, these are shuffle and deflate, which every netCDF library has.
///
/// # Errors
/// A codec is not found, or the codecs do not fit.
pub(super) fn kept_filters(
    source: &dyn Container,
    original: &Variable,
    planned: &Variable,
    format: Format,
) -> Result<Vec<Json>, DataError> {
    let from = source.hierarchy().format;
    if !format.kind().is_hdf5() || planned.dtype.is_variable_length() || planned.scalar.is_some() {
        return Ok(Vec::new());
    }
    if from.is_netcdf() {
        let by_number = json::to_values(&original.filters);
        let stages = by_number.iter().filter_map(generic::of_codec_json);
        let spec = ChainSpec::new(stages.map(|(id, params)| StageSpec::Filter { id, params }).collect());
        // HDF5 2.0 stores shuffle of references without the length of an element, and skips it.
        let is_kept = planned.chunk_shape == original.chunk_shape && planned.dtype == original.dtype;
        if is_kept && !has_references(planned) {
            return Ok(original.filters.clone());
        }
        let spec = version::of_elements(&spec, original, planned);
        return filters(source.session(), planned, format, &spec).map_err(|error| {
            let reason = format!(
                "its codecs do not fit chunks of {:?} ({}); choose codecs, or keep its chunks",
                planned.chunk_shape,
                crate::causes::with_causes(&error)
            );
            unsupported(planned, reason)
        });
    }
    let agreed = source.agreed_filters(original, from)?;
    if agreed.is_empty() {
        return Ok(Vec::new());
    }
    let kept = ChainSpec::from_json(from.dialect(), &json::to_values(&agreed))
        .ok()
        .and_then(|spec| filters(source.session(), planned, format, &spec).ok());
    match kept {
        Some(kept) => Ok(kept),
        None => filters(source.session(), planned, format, &usual(planned)),
    }
}

/// The filters that netCDF's users choose: shuffle and deflate.
pub(super) fn usual(variable: &Variable) -> ChainSpec {
    const SHUFFLE: u32 = 2;
    const DEFLATE: (u32, u32) = (1, 4);
    if variable.shape.is_empty() {
        return ChainSpec::default();
    }
    let size = variable.dtype.size();
    let element = u32::try_from(size).ok().filter(|size| *size > 1);
    let shuffle = element.map(|size| StageSpec::Filter { id: SHUFFLE, params: vec![size] });
    let deflate = StageSpec::Filter { id: DEFLATE.0, params: vec![DEFLATE.1] };
    ChainSpec::new(shuffle.into_iter().chain([deflate]).collect())
}

/// Codecs as HDF5 filters by number, with the parameters that HDF5 stores.
///
/// # Errors
/// A codec is not found, does not fit the variable, or is not an HDF5 filter.
pub(crate) fn filters(
    session: &Session,
    variable: &Variable,
    format: Format,
    spec: &ChainSpec,
) -> Result<Vec<Json>, DataError> {
    let chain = session.bind(variable, format, spec)?;
    let by_number = chain.working().into_iter().map(|(id, words)| match id {
        0 => Err(unsupported(
            variable,
            format!(
                "not every codec of \"{chain}\" is an HDF5 filter, as netCDF files need; choose codecs with a number, such \
                 as shuffle and zstd"
            ),
        )),
        id => Ok(Json::from(generic::codec_json(id, words))),
    });
    by_number.collect()
}

/// The codecs that a user chose, as HDF5 filters.
///
/// # Errors
/// As for [`filters`]; classic files and strings have no filters.
pub(super) fn chosen_filters(
    session: &Session,
    variable: &Variable,
    format: Format,
    spec: &ChainSpec,
) -> Result<Vec<Json>, DataError> {
    if !format.kind().is_hdf5() {
        let reason = format!("files of the kind {} have no filters; write netCDF-4", format.kind().name());
        return Err(unsupported(variable, reason));
    }
    if variable.dtype.is_variable_length() || variable.shape.is_empty() || has_references(variable) {
        return Ok(Vec::new());
    }
    filters(session, variable, format, spec)
}

fn unsupported(variable: &Variable, reason: String) -> DataError {
    DataError::Unsupported { variable: variable.path.clone(), reason }
}

/// Removes NCZarr's lengths of strings, which netCDF files do not have.
pub(super) fn forget_string_lengths(group: &mut Group) {
    const LENGTHS: [&str; 2] = ["_nczarr_maxstrlen", "_nczarr_default_maxstrlen"];
    let keep = |attribute: &Attribute| !LENGTHS.contains(&attribute.name.as_str());
    group.attributes.retain(keep);
    group.variables.iter_mut().for_each(|variable| variable.attributes.retain(keep));
    group.groups.iter_mut().for_each(forget_string_lengths);
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
    use ncz_model::VariableBuilder;

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
