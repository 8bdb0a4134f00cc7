//! The metadata of the copy.

use std::sync::Arc;

use ncz_model::Container;
use ncz_model::{
    DataError, Dtype, FillText, Format, Group, Hierarchy, Kind, Order, ScalarForm, Sharding, Storage,
    Variable, VariableError,
};
use ncz_registry::spec::{ChainSpec, StageSpec};
use ncz_zarr::metadata::codec_of_little_endian;
use serde_json::json;

use super::kept_codecs::kept_filters;
use super::{
    Codecs, CopyError, CopyOptions, Shards, UnreadableSource, VariablePlan, missing_values, netcdf, strings,
    types, version,
};
use crate::agreement::is_other_sign;
use crate::progress::Progress;

/// Groups, dimensions and variables of the copy, with their codecs; those that are lost are not among them.
pub(super) fn plan(
    source: &dyn Container,
    options: &CopyOptions,
    lost: &[UnreadableSource],
    progress: &dyn Progress,
) -> Result<Hierarchy, CopyError> {
    let mut hierarchy = source.hierarchy().clone();
    options.selection.prune(&mut hierarchy, lost);
    let was = hierarchy.format;
    let format = format(source, options);
    hierarchy.format = format;
    if was.is_netcdf() {
        hierarchy.hdf5 = None;
        hierarchy.nc_properties = None;
        netcdf::name_dimensions(&mut hierarchy.root);
        if !format.is_netcdf() {
            netcdf::texts_of_json(&mut hierarchy.root);
        }
        if !format.has_user_types() {
            netcdf::integers_of_enumerations(&mut hierarchy.root);
        }
        if !format.has_netcdf_model() {
            netcdf::plain_texts(&mut hierarchy.root);
        }
    }
    if format.is_netcdf() {
        netcdf::name_dimensions(&mut hierarchy.root);
        netcdf::forget_string_lengths(&mut hierarchy.root);
    }
    if format.has_netcdf_model() {
        // An array at the root cannot have the metadata of NCZarr, and netCDF has none.
        hierarchy.root_array = false;
    } else {
        // Who wrote NCZarr metadata is itself NCZarr metadata, which pure Zarr has none of.
        hierarchy.nc_properties = hierarchy.nc_properties.filter(|_| !was.is_nczarr());
    }
    for path in options.variables.keys() {
        if !source.hierarchy().variables().any(|variable| variable.path == *path) {
            return Err(CopyError::NoSuchVariable { path: path.clone() });
        }
    }
    types::check(&hierarchy, was, format)?;
    let keep = VariablePlan::default();
    let copied: Vec<String> = hierarchy.variables().map(|variable| variable.path.clone()).collect();
    for path in copied {
        let original = source.hierarchy().variable(&path).map_err(DataError::from)?;
        let plan = options.variables.get(&original.path).unwrap_or(&keep);
        let variable = hierarchy.variable_mut(&original.path).map_err(DataError::from)?;
        strings::fix_length(source, original, variable, format, options.salvage, progress)?;
        if !was.is_like(format) {
            change_format(source, variable, format)?;
        }
        if variable.fill.is_none() && !matches!(format, Format::Netcdf(kind) if kind.is_hdf5()) {
            variable.fill = source.hierarchy().fill_beyond(original);
        }
        types::change(variable, format)?;
        if was.is_netcdf() {
            netcdf::rechunk(source.hierarchy(), variable, was, format);
        }
        if was.is_v3() != format.is_v3() {
            version::change(variable, format);
        }
        if !was.has_netcdf_model() && format.is_netcdf() && variable.sharding.is_none() {
            netcdf::cut_chunks(source.hierarchy(), variable);
        }
        missing_values::keep(source, original, variable, format)?;
        if format.has_netcdf_model() {
            // netcdf-c reads every chunk as row-major, whatever its metadata say.
            variable.order = Order::C;
        }
        if let Some(chunks) = &plan.chunks {
            if chunks.len() != variable.shape.len() || chunks.contains(&0) {
                let (path, rank) = (original.path.clone(), variable.shape.len());
                return Err(CopyError::Chunks { path, rank, chunks: chunks.clone() });
            }
            variable.chunk_shape.clone_from(chunks);
            if let Some(sharding) = &mut variable.sharding {
                version::fit_shards(sharding, chunks);
            }
        }
        shard(original, variable, format, &plan.shards)?;
        fit(source.hierarchy(), options, original, variable);
        let little = version::little_endian(variable, format);
        let given = give_codecs(source, original, variable, format, &plan.codecs);
        match little {
            // Readers of version 3 take numbers that enter a filter for little-endian ones.
            Some(mut little)
                if format.is_v3() && given.is_err()
                    || codec_of_little_endian(variable, format).is_some()
                    || is_misread(source, original, variable, format)? =>
            {
                give_codecs(source, original, &mut little, format, &plan.codecs)?;
                *variable = little;
            }
            _ => given?,
        }
        let one_block = matches!(variable.storage, Storage::Contiguous | Storage::Compact);
        let filtered = plan.codecs != Codecs::Keep && !variable.filters.is_empty();
        if one_block && (plan.chunks.is_some() || filtered) {
            variable.storage = Storage::Chunked;
        }
        if let Some(dtype) = one_byte_dtype(variable) {
            variable.dtype = dtype;
        }
        if options.noxarray
            && let Some(zattrs) = &mut variable.documents.zattrs
        {
            Arc::make_mut(zattrs).shift_remove("_ARRAY_DIMENSIONS");
        }
    }
    if options.fixed {
        fix(&mut hierarchy.root);
    }
    hierarchy.xarray = !options.noxarray && !format.is_netcdf();
    Ok(hierarchy)
}

/// Groups the chunks of a variable as is asked for.
fn shard(
    original: &Variable,
    variable: &mut Variable,
    format: Format,
    shards: &Shards,
) -> Result<(), CopyError> {
    let lens = match shards {
        Shards::Keep => return Ok(()),
        Shards::Single => {
            variable.sharding = None;
            return Ok(());
        }
        Shards::Of(lens) => lens,
    };
    let path = original.path.clone();
    let reason = match () {
        () if !format.is_v3() => "only Zarr version 3 has them",
        () if variable.dtype.is_variable_length() => "its elements are strings of any length",
        () if lens.len() != variable.shape.len() || lens.contains(&0) => {
            "give a number of at least 1 for each dimension"
        }
        () => {
            let mut sharding = variable.sharding.take().unwrap_or_else(|| Sharding::new(lens.clone()));
            sharding.shape.clone_from(lens);
            version::fit_shards(&mut sharding, &variable.chunk_shape);
            variable.sharding = Some(sharding).filter(|sharding| sharding.shape != variable.chunk_shape);
            return Ok(());
        }
    };
    Err(CopyError::Shards { path, reason })
}

/// Whether a reader would read big-endian numbers of the copy wrongly: netcdf-c missing chunks in NCZarr, where it does not
/// swap their fill value, and xarray in version 2 what is marked by a `_FillValue` of numbers with `_Unsigned`, whose bytes
/// it does not swap. A source of such a format is read in the same way and stays as it is.
fn is_misread(
    source: &dyn Container,
    original: &Variable,
    variable: &Variable,
    format: Format,
) -> Result<bool, CopyError> {
    let was = source.hierarchy().format;
    let is_version_2 = |format: Format| matches!(format, Format::Zarr2 | Format::Nczarr(_));
    if is_version_2(format) && !is_version_2(was) && is_other_sign(variable) {
        return Ok(variable.attribute("_FillValue").is_some());
    }
    let is_filled = variable.fill.as_ref().is_some_and(|fill| !fill.is_zero());
    let is_new = matches!(format, Format::Nczarr(_)) && !was.is_nczarr();
    let is_concerned = is_new && is_filled && variable.dtype.size() > 1;
    Ok(is_concerned && !missing_values::every_chunk_exists(source, original)?)
}

/// Gives a variable of the copy the codecs that are asked for.
fn give_codecs(
    source: &dyn Container,
    original: &Variable,
    variable: &mut Variable,
    format: Format,
    codecs: &Codecs,
) -> Result<(), CopyError> {
    let session = source.session();
    match codecs {
        Codecs::Keep => variable.filters = kept_filters(source, original, variable, format)?,
        Codecs::Spec(spec) => {
            let spec = version::of_elements(spec, original, variable);
            let chain = session.define(variable, format, &spec)?;
            if format.is_netcdf() && !chain.is_empty() {
                variable.filters = netcdf::chosen_filters(session, variable, format, &spec)?;
            }
        }
        Codecs::Sensible if format.is_netcdf() => {
            variable.filters = netcdf::chosen_filters(session, variable, format, &netcdf::usual(variable))?;
        }
        Codecs::Sensible => {
            session.define(variable, format, &sensible(original, format))?;
        }
    }
    Ok(())
}

/// The format of a copy.
pub(super) fn format(source: &dyn Container, options: &CopyOptions) -> Format {
    options.format.unwrap_or(match source.hierarchy().format {
        Format::Nczarr(_) | Format::Netcdf(_) => Format::NCZARR,
        other => other,
    })
}

/// Makes every dimension fixed that has a length; in netCDF one without is unlimited.
fn fix(group: &mut Group) {
    for dimension in group.dimensions.iter_mut().filter(|dimension| dimension.len > 0) {
        dimension.unlimited = false;
    }
    group.groups.iter_mut().for_each(fix);
}

/// Gives a variable the lengths of dimensions that are cut or become fixed. A chunk that is longer than a fixed
/// dimension is none to netcdf-c.
fn fit(hierarchy: &Hierarchy, options: &CopyOptions, original: &Variable, variable: &mut Variable) {
    let shown = hierarchy.shape_of(original);
    for (d, reference) in original.dimensions.iter().enumerate().take(variable.shape.len()) {
        let slab = options.selection.slabs.get(reference);
        let unlimited = hierarchy.dimension(reference).is_some_and(|dimension| dimension.unlimited);
        if slab.is_none() && !(options.fixed && unlimited) {
            continue;
        }
        let len = slab.map_or(shown[d], |indices| indices.count);
        variable.shape[d] = len;
        if !unlimited || options.fixed || variable.storage != Storage::Chunked {
            variable.chunk_shape[d] = variable.chunk_shape[d].min(len.max(1));
        }
    }
    if let Some(sharding) = &mut variable.sharding {
        version::fit_shards(sharding, &variable.chunk_shape);
    }
}

/// What the other format writes otherwise for the same data.
fn change_format(source: &dyn Container, variable: &mut Variable, format: Format) -> Result<(), CopyError> {
    let text = FillText::of(format);
    if let Some(fill) = variable.fill.take() {
        let unwritable = |fault: VariableError| DataError::Unsupported {
            variable: variable.path.clone(),
            reason: format!("its fill value cannot be written in the other format: {fault}"),
        };
        variable.fill = Some(fill.respelled(&variable.dtype, text).map_err(unwritable)?);
    }
    if format.has_netcdf_model() {
        if variable.key.is_empty() {
            variable.key.clone_from(&variable.name);
        }
        // As netcdf-c, which gives all arrays of an unlimited dimension its length: other readers know one length.
        if source.hierarchy().format.is_netcdf() && !format.is_netcdf() {
            variable.shape = source.hierarchy().shape_of(variable);
        }
        variable.scalar = variable.scalar.map(|_| ScalarForm::Rank1);
    } else {
        // Pure Zarr has no dimensions that could be longer than the array, and scalars of its own.
        variable.shape = source.hierarchy().shape_of(variable);
        variable.scalar = variable.scalar.map(|_| ScalarForm::Rank0);
    }
    Ok(())
}

/// The spelling of a one-byte integer that most readers understand, if the variable's is another one:
/// zarr-python refuses `<i1`, as netcdf-c writes it; netcdf-c opens no dataset with szip on `|i1`.
fn one_byte_dtype(variable: &Variable) -> Option<Dtype> {
    let has_szip = variable.filters.iter().any(|codec| codec.get("id").is_some_and(|id| *id == "szip"));
    let text = match (variable.dtype.kind(), variable.dtype.size(), has_szip) {
        (Kind::Int, 1, false) => "|i1",
        (Kind::Int, 1, true) => "<i1",
        (Kind::UInt, 1, false) => "|u1",
        (Kind::UInt, 1, true) => "<u1",
        _ => return None,
    };
    Dtype::parse(text).ok().filter(|usual| *usual != variable.dtype)
}

/// A lossless chain that suits the type of a variable, in version 3 of codecs that every reader has.
fn sensible(variable: &Variable, format: Format) -> ChainSpec {
    if variable.shape.is_empty() {
        return ChainSpec::default();
    }
    let codec = |value: serde_json::Value| StageSpec::from_json(ncz_codec::Dialect::Numcodecs, &value).ok();
    let zstd = codec(json!({"id": "zstd", "level": 3}));
    let size = variable.dtype.size();
    let numeric = matches!(
        variable.dtype.kind(),
        Kind::Int | Kind::UInt | Kind::Float | Kind::DateTime | Kind::TimeDelta | Kind::Complex
    );
    if numeric && size > 1 && format.is_v3() {
        let blosc = json!({"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 1, "blocksize": 0});
        return ChainSpec::new(codec(blosc).into_iter().collect());
    }
    let shuffle =
        if numeric && size > 1 { codec(json!({"id": "shuffle", "elementsize": size})) } else { None };
    ChainSpec::new(shuffle.into_iter().chain(zstd).collect())
}
