//! From what a text declares to the metadata of a dataset.

use std::sync::Arc;

use ncz_cdl::{Cdl, CdlGroup, CdlVariable, Special};
use ncz_model::json::Json;
use ncz_model::{
    Attribute, ByteOrder, DataError, Dtype, FillValue, FilterError, Format, Hierarchy, MetadataError, NcType,
    NewFill, Quantize, Session, Storage, TypeClass, UserType, VariableBuilder, names,
};
use ncz_netcdf::UserLayout;
use ncz_registry::spec::{ChainSpec, StageSpec};

use super::{GenerateError, GenerateOptions, Plan};
use crate::copy::{has_references, hdf5_filters};

/// The default length of strings, as in netcdf-c.
const STRING_LENGTH: usize = 128;

const SHUFFLE: u32 = 2;
const DEFLATE: u32 = 1;
const FLETCHER32: u32 = 3;

pub(super) fn plan(cdl: &Cdl, session: &Session, options: &GenerateOptions) -> Result<Plan, GenerateError> {
    let mut hierarchy = Hierarchy::new(options.format);
    hierarchy.xarray = !options.noxarray;
    let mut notes = cdl.notes.clone();
    for group in &cdl.groups {
        add_group(&mut hierarchy, group)?;
    }
    let mut chains = Vec::with_capacity(cdl.variables.len());
    for variable in &cdl.variables {
        add_variable(&mut hierarchy, cdl, variable, &mut notes).map_err(at(variable.line))?;
        chains.push(codecs(&mut hierarchy, variable, session)?);
        if hierarchy.format.is_netcdf() {
            by_number(&mut hierarchy, &variable.path, session).map_err(at(variable.line))?;
        }
    }
    Ok(Plan { hierarchy, notes, chains })
}

/// What to make of an error of what this line declares.
fn at<E: Into<DataError>>(line: u64) -> impl Fn(E) -> GenerateError {
    move |source| GenerateError::Definition { line, source: Box::new(source.into()) }
}

fn add_group(hierarchy: &mut Hierarchy, group: &CdlGroup) -> Result<(), GenerateError> {
    if let Some((parent, _)) = group.path.rsplit_once('/').filter(|_| !group.name.is_empty()) {
        let parent = if parent.is_empty() { "/" } else { parent };
        hierarchy.add_group(parent, &group.name).map_err(at(group.line))?;
    }
    for (user, line) in &group.types {
        if !hierarchy.format.has_user_types() {
            let reason = format!(
                "it is {}, which only netCDF-4 files have; write one (--format netcdf4), or leave the type out",
                class_name(user)
            );
            return Err(at(*line)(MetadataError::Definition { kind: "type", path: user.path(), reason }));
        }
        names::check("type", &user.name).map_err(at(*line))?;
        let inside: Vec<(&'static str, &String)> = match &user.class {
            TypeClass::Compound { fields } => fields.iter().map(|field| ("field", &field.name)).collect(),
            TypeClass::Enum { members, .. } => {
                members.iter().map(|member| ("enumerator", &member.name)).collect()
            }
            TypeClass::Opaque { .. } | TypeClass::Vlen { .. } => Vec::new(),
        };
        for (kind, name) in inside {
            names::check(kind, name).map_err(at(*line))?;
        }
        hierarchy.group_mut(&group.path).map_err(at(*line))?.types.push(Arc::clone(user));
    }
    for dimension in &group.dimensions {
        hierarchy
            .add_dimension(&group.path, &dimension.name, dimension.len, dimension.unlimited)
            .map_err(at(dimension.line))?;
    }
    let made = hierarchy.group_mut(&group.path).map_err(at(group.line))?;
    for (attribute, line) in &group.attributes {
        made.set_attribute(attribute.clone()).map_err(at(*line))?;
    }
    Ok(())
}

fn add_variable(
    hierarchy: &mut Hierarchy,
    cdl: &Cdl,
    variable: &CdlVariable,
    notes: &mut Vec<String>,
) -> Result<(), DataError> {
    let special = &variable.special;
    let group = cdl.groups.get(variable.group).map_or("/", |group| group.path.as_str());
    let Some(own_type) = variable.nc_type() else { return add_user_variable(hierarchy, cdl, variable) };
    let mut new = match own_type {
        // Version 3 and netCDF-4 have strings of any length.
        NcType::String if hierarchy.format == Format::Zarr3 || hierarchy.format.is_netcdf() => {
            VariableBuilder::of_dtype(&variable.name, Dtype::vlen_text(), Some(NcType::String))
        }
        NcType::String => string_variable(hierarchy, variable, notes),
        nc_type => VariableBuilder::new(&variable.name, nc_type),
    };
    new = new.dimensions(cdl.dimensions_of(variable).iter().map(ToString::to_string));
    if let Some(order) = special.order {
        new = new.byte_order(order);
    }
    new = layout(new, cdl, variable, hierarchy.format)?;
    // Without fill, missing elements are undefined, even if there is an attribute `_FillValue`.
    let odd_fill = special.fill.clone().filter(|_| special.no_fill);
    new = match (&special.fill, special.no_fill) {
        (_, true) => new.fill(NewFill::None),
        (Some(value), false) => new.fill(NewFill::Value(value.clone())),
        (None, false) => new,
    };
    let mut attributes: Vec<Attribute> =
        variable.attributes.iter().map(|(attribute, _)| attribute.clone()).collect();
    if let (Some(value), false) = (&special.fill, special.no_fill) {
        let position = special.fill_position.min(attributes.len());
        attributes.insert(position, Attribute::new("_FillValue", value.clone()));
    }
    for attribute in attributes {
        new = new.attribute(attribute);
    }
    if let Some((mode, significant)) = special.quantize {
        let quantize = Quantize::new(mode, significant, own_type).map_err(|source| {
            DataError::Filter(Box::new(FilterError::Quantize { variable: variable.path.clone(), source }))
        })?;
        new = new.attribute(quantize.attribute());
    }
    let made = hierarchy.add_variable(group, new)?;
    if let Some(value) = odd_fill {
        made.set_attribute(Attribute::new("_FillValue", value))?;
    }
    Ok(())
}

/// Adds a variable of a user-defined type.
fn add_user_variable(hierarchy: &mut Hierarchy, cdl: &Cdl, variable: &CdlVariable) -> Result<(), DataError> {
    let unsupported = |reason: String| DataError::Unsupported { variable: variable.path.clone(), reason };
    let Some(user) = variable.user_type() else { return Ok(()) };
    let special = &variable.special;
    if special.quantize.is_some() || special.order == Some(ByteOrder::Big) {
        let reason = "its type is user-defined: leave _Quantize... and _Endianness out";
        return Err(unsupported(reason.to_owned()));
    }
    let layout =
        UserLayout::of(user).map_err(|reason| unsupported(format!("its type {:?} {reason}", user.path())))?;
    let dtype = layout.dtype().map_err(unsupported)?;
    let base = match &user.class {
        TypeClass::Enum { base, .. } => Some(*base),
        _ => None,
    };
    let dimensions = cdl.dimensions_of(variable);
    let mut new = VariableBuilder::of_dtype(&variable.name, dtype.clone(), base).fill(NewFill::None);
    new = new.dimensions(dimensions.iter().map(ToString::to_string));
    new = self::layout(new, cdl, variable, hierarchy.format)?;
    let group = cdl.groups.get(variable.group).map_or("/", |group| group.path.as_str());
    let made = hierarchy.add_variable(group, new)?;
    made.user_type = Some(Arc::clone(user));
    for (attribute, _) in &variable.attributes {
        made.set_attribute(attribute.clone())?;
    }
    if let Some(row) = variable.user_fill().filter(|_| !special.no_fill) {
        let bytes = match layout.has_references() {
            true => vec![0; dtype.size()],
            false => layout
                .encode(row)
                .map_err(|error| unsupported(format!("its fill value cannot be stored: {error}")))?,
        };
        let fill = FillValue::from_bytes(&bytes, &dtype);
        let fill = fill.map_err(|error| unsupported(error.to_string()))?;
        made.fill = Some(if layout.has_references() { fill.with_row(row.clone()) } else { fill });
    }
    Ok(())
}

/// The kind of a type with its article.
fn class_name(user: &UserType) -> &'static str {
    match user.class {
        TypeClass::Enum { .. } => "an enumeration",
        TypeClass::Opaque { .. } => "opaque",
        TypeClass::Compound { .. } => "a compound",
        TypeClass::Vlen { .. } => "a row of any length",
    }
}

/// A variable whose strings have the length that attributes say, else netcdf-c's, else that of the longest.
fn string_variable(
    hierarchy: &Hierarchy,
    variable: &CdlVariable,
    notes: &mut Vec<String>,
) -> VariableBuilder {
    let new = VariableBuilder::new(&variable.name, NcType::String);
    let is_said = variable.attributes.iter().any(|(attribute, _)| attribute.name == "_nczarr_maxstrlen")
        || hierarchy.root.attribute("_nczarr_default_maxstrlen").is_some();
    if is_said || variable.longest <= STRING_LENGTH {
        return new;
    }
    notes.push(format!(
        "{}: its strings take {} bytes each, the length of the longest one; netcdf-c would cut them after {STRING_LENGTH}",
        variable.path, variable.longest
    ));
    new.string_length(variable.longest)
}

/// Storage class and chunks.
fn layout(
    new: VariableBuilder,
    cdl: &Cdl,
    variable: &CdlVariable,
    format: Format,
) -> Result<VariableBuilder, MetadataError> {
    let Special { storage, chunks, .. } = &variable.special;
    let wrong = |reason: &str| MetadataError::Definition {
        kind: "variable",
        path: variable.path.clone(),
        reason: reason.to_owned(),
    };
    let is_unlimited = cdl.lengths_of(variable).iter().any(|&(_, unlimited)| unlimited);
    match (storage, chunks) {
        (Some(Storage::Contiguous | Storage::Compact), Some(_)) => {
            Err(wrong("its _Storage is one block, and its _ChunkSizes say chunks; delete one of them"))
        }
        (Some(Storage::Contiguous | Storage::Compact), None) if is_unlimited => {
            Err(wrong("it has an unlimited dimension, so its _Storage is \"chunked\""))
        }
        (Some(storage), None) => Ok(new.storage(*storage)),
        (_, Some(chunks)) => Ok(new.chunks(chunks.clone())),
        // As netcdf-c stores it in HDF5.
        (None, None) if format.is_netcdf() && !is_unlimited && !has_filters(&variable.special) => {
            Ok(new.storage(Storage::Contiguous))
        }
        (None, None) => Ok(new),
    }
}

/// Gives a variable its codecs; says them as text.
fn codecs(
    hierarchy: &mut Hierarchy,
    variable: &CdlVariable,
    session: &Session,
) -> Result<String, GenerateError> {
    let special = &variable.special;
    let at = at::<DataError>(variable.line);
    if let Some(text) = &special.codecs {
        let chain = whole_chain(hierarchy, variable, session, text).map_err(at)?;
        agree(hierarchy, variable, session)?;
        return Ok(chain);
    }
    let spec_error = |source| DataError::Spec { variable: variable.path.clone(), source: Box::new(source) };
    let filter = |error: FilterError| DataError::Filter(Box::new(error));
    let mut filters = session.define_filters(hierarchy, &variable.path).map_err(filter).map_err(&at)?;
    for stage in standard(special) {
        filters.define_stage(stage).map_err(filter).map_err(&at)?;
    }
    if let Some(text) = &special.filter {
        let chain = ChainSpec::parse(text).map_err(spec_error).map_err(&at)?;
        for stage in chain.stages() {
            filters.define_stage(stage.clone()).map_err(filter).map_err(&at)?;
        }
    }
    let made = hierarchy.variable(&variable.path).map_err(DataError::from).map_err(&at)?;
    let spec = made.chain_spec(hierarchy.format).map_err(spec_error).map_err(&at)?;
    if spec.is_empty() {
        return Ok(String::new());
    }
    let chain = session.bind(made, hierarchy.format, &spec).map_err(&at)?;
    Ok(chain.to_string())
}

fn has_filters(special: &Special) -> bool {
    special.codecs.is_some() || special.filter.is_some() || !standard(special).is_empty()
}

/// Gives a variable of a netCDF file its codecs as HDF5 filters. Classic files have none, as with netcdf-c.
fn by_number(hierarchy: &mut Hierarchy, path: &str, session: &Session) -> Result<(), DataError> {
    let format = hierarchy.format;
    let made = hierarchy.variable_mut(path)?;
    let spec_error = |source| DataError::Spec { variable: path.to_owned(), source: Box::new(source) };
    let spec = made.chain_spec(format).map_err(spec_error)?;
    let has_none = spec.is_empty()
        || !format.kind().is_hdf5()
        || made.dtype.is_variable_length()
        || has_references(made);
    made.filters = if has_none { Vec::new() } else { hdf5_filters(session, made, format, &spec)? };
    Ok(())
}

/// The filters that have special attributes of their own, in ncgen's order.
fn standard(special: &Special) -> Vec<StageSpec> {
    let filter = |id, params| StageSpec::Filter { id, params };
    let mut stages = Vec::new();
    if special.fletcher32 {
        stages.push(filter(FLETCHER32, Vec::new()));
    }
    if special.shuffle {
        stages.push(filter(SHUFFLE, Vec::new()));
    }
    if let Some(level) = special.deflate {
        stages.push(filter(DEFLATE, vec![level]));
    }
    stages
}

/// The chain that `_Codecs` says: all of it, in its order.
fn whole_chain(
    hierarchy: &mut Hierarchy,
    variable: &CdlVariable,
    session: &Session,
    text: &str,
) -> Result<String, DataError> {
    let spec = ChainSpec::parse(text)
        .map_err(|source| DataError::Spec { variable: variable.path.clone(), source: Box::new(source) })?;
    let format = hierarchy.format;
    let made = hierarchy.variable_mut(&variable.path)?;
    if spec.is_empty() {
        return Ok(String::new());
    }
    if matches!(made.storage, Storage::Contiguous | Storage::Compact) {
        made.storage = Storage::Chunked;
    }
    session.define(made, format, &spec).map(|chain| chain.to_string())
}

/// The other attributes have to say no more than `_Codecs`, which the variable has already.
fn agree(hierarchy: &Hierarchy, variable: &CdlVariable, session: &Session) -> Result<(), GenerateError> {
    let special = &variable.special;
    let contradicts =
        |other| GenerateError::Codecs { line: variable.line, variable: variable.path.clone(), other };
    let line = at::<DataError>(variable.line);
    let made = hierarchy.variable(&variable.path).map_err(DataError::from).map_err(&line)?;
    // Each by itself: what one means does not depend on the rest.
    let stored = |stage: StageSpec| -> Option<Json> {
        let mut alone = made.clone();
        session.define(&mut alone, hierarchy.format, &ChainSpec::new(vec![stage])).ok()?;
        alone.filters.into_iter().next()
    };
    let says = |stage: StageSpec| {
        stored(stage).is_none_or(|wanted| made.filters.iter().any(|have| is_same(have, &wanted)))
    };
    for (stage, name) in standard(special).into_iter().map(|stage| match stage {
        StageSpec::Filter { id: FLETCHER32, .. } => (stage, "_Fletcher32"),
        StageSpec::Filter { id: SHUFFLE, .. } => (stage, "_Shuffle"),
        _ => (stage, "_DeflateLevel"),
    }) {
        if !says(stage) {
            return Err(contradicts(name));
        }
    }
    if let Some(text) = &special.filter {
        let spec = ChainSpec::parse(text)
            .map_err(|source| DataError::Spec { variable: variable.path.clone(), source: Box::new(source) });
        for stage in spec.map_err(&line)?.stages() {
            if !says(stage.clone()) {
                return Err(contradicts("_Filter"));
            }
        }
    }
    Ok(())
}

/// Whether two codecs agree in what both say. The element size of shuffle is what writers disagree about.
fn is_same(left: &Json, right: &Json) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return false };
    left.iter().all(|(key, value)| match right.get(key) {
        Some(other) if value.is_object() => is_same(value, other),
        Some(other) => key == "elementsize" || value == other,
        None => true,
    })
}
