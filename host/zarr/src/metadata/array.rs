//! Reads one array from `.zarray` and `.zattrs` as a variable.

use std::sync::Arc;

use ncz_model::json::{Json, Map};
use ncz_model::{
    Attribute, Dtype, FillText, FillValue, Generation, KeyEncoding, Kind, NcType, NetcdfView, Order,
    RESERVED, ScalarForm, Separator, Storage, Value, Variable, VariableDocuments, VariableError, json,
    limits,
};

use crate::attribute::read::{AttributeType, attribute, of_type};
use crate::attribute::write::same;

/// The documents of an array and its location.
pub(super) struct ArrayParts<'a> {
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    pub(super) key: &'a str,
    pub(super) zarray: &'a Arc<Map>,
    pub(super) zattrs: Option<&'a Arc<Map>>,
    /// NCZarr's object for the array, from the document of its generation.
    pub(super) info: Option<&'a Map>,
    /// NCZarr's type entries, from the document of its generation.
    pub(super) types: Option<&'a Map>,
    /// `None` in pure Zarr.
    pub(super) generation: Option<Generation>,
}

/// A variable without its dimensions, and the names of the dimensions in its documents.
pub(super) struct Parsed {
    pub(super) variable: Variable,
    pub(super) names: Names,
    pub(super) notes: Vec<String>,
}

/// The source of the dimension names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// NCZarr's references, with full names.
    References(Vec<String>),
    /// `_ARRAY_DIMENSIONS`: names in the array's own group.
    Xarray(Vec<String>),
    /// `dimension_names` of version 3: like `_ARRAY_DIMENSIONS`, but some dimensions may be unnamed.
    Nullable(Vec<Option<String>>),
    /// The documents have no names.
    Absent,
}

/// Reads an array.
pub(super) fn parse(parts: ArrayParts<'_>) -> Result<Parsed, VariableError> {
    let mut notes = Vec::new();
    let zarray = parts.zarray;
    format_version(zarray)?;
    unknown_keys(zarray, &mut notes);

    let mut filters = chain(zarray)?;
    let dtype = of_any_length(dtype(zarray, parts.generation)?, &mut filters);
    let nc_type = dtype.nc_type(parts.generation.is_some());
    let mut shape = lengths(zarray, "shape")?;
    let mut chunk_shape = lengths(zarray, "chunks")?;
    if chunk_shape.len() != shape.len() {
        let reason = format!("{} lengths, but \"shape\" has {}", chunk_shape.len(), shape.len());
        return Err(VariableError::Key { key: "chunks", reason });
    }
    if chunk_shape.contains(&0) {
        let reason = format!("{chunk_shape:?} contains the length 0; each must be at least 1");
        return Err(VariableError::Key { key: "chunks", reason });
    }
    let text = if parts.generation.is_some() { FillText::Plain } else { FillText::Base64 };
    let fill = FillValue::from_json(zarray.get("fill_value").unwrap_or(&Json::Null), &dtype, text)?;
    let names = names(&parts, shape.len(), &mut notes);
    let scalar = scalar_form(&parts, &shape, &names);
    if scalar.is_some() {
        shape.clear();
        chunk_shape.clear();
    }
    let names = if scalar.is_some() { Names::References(Vec::new()) } else { names };
    let order = order(zarray)?;
    let separator = separator(zarray)?;
    let storage = storage(parts.info, scalar.is_some());
    let shown = nc_type.or_else(|| NetcdfView::of(&dtype)?.plain());
    let attributes = attributes(parts.zattrs.map(|zattrs| &**zattrs), parts.types, shown, &mut notes);
    compare_fill(&attributes, fill.as_ref(), shown, &dtype, &mut notes);
    let documents = VariableDocuments {
        zarray: Some(Arc::clone(zarray)),
        zattrs: parts.zattrs.cloned(),
        zarr_json: None,
    };
    let variable = Variable {
        name: parts.name.to_owned(),
        path: parts.path.to_owned(),
        key: parts.key.to_owned(),
        dtype,
        nc_type,
        user_type: None,
        shape,
        chunk_shape,
        sharding: None,
        scalar,
        dimensions: Vec::new(),
        fill,
        order,
        key_encoding: KeyEncoding::V2,
        separator,
        filters,
        storage,
        attributes,
        documents,
    };
    Ok(Parsed { variable, names, notes })
}

/// Reads the attributes of a group or variable, except those that carry metadata.
pub(super) fn attributes(
    zattrs: Option<&Map>,
    types: Option<&Map>,
    nc_type: Option<NcType>,
    notes: &mut Vec<String>,
) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    for (name, value) in zattrs.into_iter().flatten() {
        if RESERVED.contains(&name.as_str()) {
            continue;
        }
        let entry = types.and_then(|types| types.get(name)).and_then(Json::as_str);
        let mut declared = entry.and_then(AttributeType::parse);
        if let (Some(entry), None) = (entry, declared) {
            notes.push(format!(
                "attribute {name:?} has the unknown type {entry:?}; its type is derived from its value"
            ));
        }
        if declared.is_none() && name == "_FillValue" {
            let fits = nc_type.filter(|&nc_type| of_type(value, nc_type).is_some());
            declared = fits.map(AttributeType::Netcdf);
        }
        let (attribute, mismatch) = attribute(name, value, declared);
        if mismatch {
            let entry = entry.unwrap_or_default();
            notes.push(format!(
                "attribute {name:?} is not of its type {entry:?}; its type is derived from its value"
            ));
        }
        attributes.push(attribute);
    }
    // There may be very many variables.
    attributes.shrink_to_fit();
    attributes
}

fn format_version(zarray: &Map) -> Result<(), VariableError> {
    match zarray.get("zarr_format") {
        Some(version) if version.as_u64() == Some(2) => Ok(()),
        Some(other) => Err(key_error("zarr_format", format!("expected 2, got {}", json::to_text(other)))),
        None => Err(missing("zarr_format")),
    }
}

fn dtype(zarray: &Map, generation: Option<Generation>) -> Result<Dtype, VariableError> {
    let dtype = Dtype::from_json(zarray.get("dtype").ok_or_else(|| missing("dtype"))?)
        .map_err(VariableError::Dtype)?;
    let old = matches!(generation, Some(Generation::Objects | Generation::UpperCase));
    // These versions write <U1 for char but store one byte for each.
    if old && dtype.kind() == Kind::Unicode && dtype.size() == 4 { Ok(Dtype::char()) } else { Ok(dtype) }
}

/// Determines the dtype of objects from their first filter, which is removed because the dtype then implies it.
fn of_any_length(dtype: Dtype, filters: &mut Vec<Json>) -> Dtype {
    let is_object = dtype.text().trim_start_matches(['|', '<', '>']).starts_with('O');
    let first = filters.first().and_then(|codec| codec.get("id")).and_then(Json::as_str);
    let found = [Dtype::vlen_text(), Dtype::vlen_bytes()].into_iter().find(|vlen| vlen.vlen_codec() == first);
    match found {
        Some(vlen) if is_object && first.is_some() => {
            filters.remove(0);
            vlen
        }
        _ => dtype,
    }
}

fn lengths(zarray: &Map, key: &'static str) -> Result<Vec<u64>, VariableError> {
    let value = zarray.get(key).ok_or_else(|| missing(key))?;
    let wrong =
        || key_error(key, format!("{} is not a list of whole numbers from 0", json::shortened(value)));
    let items = value.as_array().ok_or_else(wrong)?;
    if items.len() > limits::RANK {
        return Err(key_error(
            key,
            format!("it has {} dimensions, the limit is {}", items.len(), limits::RANK),
        ));
    }
    items
        .iter()
        .map(|item| ncz_model::integer(item).and_then(|length| u64::try_from(length).ok()).ok_or_else(wrong))
        .collect()
}

fn names(parts: &ArrayParts<'_>, rank: usize, notes: &mut Vec<String>) -> Names {
    let info = parts.info;
    let references = info.and_then(|info| info.get("dimension_references").or_else(|| info.get("dimrefs")));
    if let Some(references) = references {
        match strings(references) {
            Some(references) => return Names::References(references),
            None => notes.push(format!(
                "its dimension references {} are not a list of names",
                json::shortened(references)
            )),
        }
    }
    let Some(names) = parts.zattrs.and_then(|zattrs| zattrs.get("_ARRAY_DIMENSIONS")) else {
        return Names::Absent;
    };
    let sound = strings(names).filter(|names| {
        let is_scalar = rank == 1 && names == &["_scalar_"];
        is_scalar || (names.len() == rank && names.iter().all(|name| !name.is_empty() && !name.contains('/')))
    });
    match sound {
        Some(names) => Names::Xarray(names),
        None => {
            notes.push(format!(
                "its _ARRAY_DIMENSIONS {} are not the names of {rank} dimensions; they are treated as unnamed",
                json::shortened(names)
            ));
            Names::Absent
        }
    }
}

/// Returns the form of a scalar: no dimensions, or NCZarr's marked array of length 1.
fn scalar_form(parts: &ArrayParts<'_>, shape: &[u64], names: &Names) -> Option<ScalarForm> {
    if shape.is_empty() {
        return Some(ScalarForm::Rank0);
    }
    let marked = parts.info.is_some_and(|info| {
        info.get("scalar").is_some_and(|flag| flag.as_u64() == Some(1) || flag.as_bool() == Some(true))
            || info.get("storage").and_then(Json::as_str) == Some("scalar")
    });
    let named = match names {
        Names::References(references) => references.is_empty(),
        Names::Xarray(names) => names == &["_scalar_"],
        Names::Nullable(_) | Names::Absent => false,
    };
    (shape == [1] && (marked || named)).then_some(ScalarForm::Rank1)
}

fn order(zarray: &Map) -> Result<Order, VariableError> {
    match zarray.get("order").map(Json::as_str) {
        Some(Some("C")) => Ok(Order::C),
        Some(Some("F")) => Ok(Order::F),
        Some(_) => Err(key_error("order", "expected \"C\" or \"F\"".to_owned())),
        None => Err(missing("order")),
    }
}

fn separator(zarray: &Map) -> Result<Separator, VariableError> {
    match zarray.get("dimension_separator") {
        None => Ok(Separator::Dot),
        Some(separator) => match separator.as_str() {
            Some(".") => Ok(Separator::Dot),
            Some("/") => Ok(Separator::Slash),
            _ => Err(key_error("dimension_separator", "expected \".\" or \"/\"".to_owned())),
        },
    }
}

/// The chain in the order of encoding: `filters`, then `compressor`.
pub(super) fn chain(zarray: &Map) -> Result<Vec<Json>, VariableError> {
    let mut chain = match zarray.get("filters") {
        None => return Err(missing("filters")),
        Some(Json::Null) => Vec::new(),
        Some(Json::Array(filters)) => filters.clone(),
        Some(_) => return Err(key_error("filters", "expected null or a list".to_owned())),
    };
    let filters = chain.len();
    match zarray.get("compressor") {
        None => return Err(missing("compressor")),
        Some(Json::Null) => {}
        Some(compressor) => chain.push(compressor.clone()),
    }
    for (at, codec) in chain.iter().enumerate() {
        if !codec.get("id").is_some_and(Json::is_string) {
            let key = if at < filters { "filters" } else { "compressor" };
            return Err(key_error(key, format!("{} is not a codec with an \"id\"", json::shortened(codec))));
        }
    }
    Ok(chain)
}

pub(super) fn storage(info: Option<&Map>, scalar: bool) -> Storage {
    match info.and_then(|info| info.get("storage")).and_then(Json::as_str) {
        Some("contiguous") => Storage::Contiguous,
        Some("compact") => Storage::Compact,
        Some("scalar") => Storage::Scalar,
        None if scalar => Storage::Scalar,
        _ => Storage::Chunked,
    }
}

fn unknown_keys(zarray: &Map, notes: &mut Vec<String>) {
    const KNOWN: [&str; 11] = [
        "zarr_format",
        "shape",
        "dtype",
        "chunks",
        "fill_value",
        "order",
        "compressor",
        "filters",
        "dimension_separator",
        "_nczarr_array",
        "_NCZARR_ARRAY",
    ];
    for key in zarray.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        notes.push(format!("its .zarray has the unknown key {key:?}, which is kept but not interpreted"));
    }
}

/// Warns if `_FillValue`, which netCDF programs use, differs from `fill_value`, which missing chunks read as.
pub(super) fn compare_fill(
    attributes: &[Attribute],
    fill: Option<&FillValue>,
    nc_type: Option<NcType>,
    dtype: &Dtype,
    notes: &mut Vec<String>,
) {
    let Some(attribute) = attributes.iter().find(|attribute| attribute.name == "_FillValue") else { return };
    let stored = nc_type.zip(fill).and_then(|(nc_type, fill)| fill.value(nc_type, dtype));
    let same = stored
        .is_some_and(|stored| same(&stored, &attribute.value) || is_same_text(&stored, &attribute.value));
    if !same {
        notes.push(
            "its attribute _FillValue differs from its fill_value, which missing chunks read as".to_owned(),
        );
    }
}

/// Whether two values are the same text without the NULs that pad it.
fn is_same_text(stored: &Value, attribute: &Value) -> bool {
    let text = |value: &Value| -> Option<Vec<u8>> {
        let text = match value {
            Value::Char(text) => text.as_slice(),
            Value::String(texts) => texts.first()?,
            _ => return None,
        };
        let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        text.get(..end).map(<[u8]>::to_vec)
    };
    text(stored).is_some_and(|stored| text(attribute) == Some(stored))
}

fn strings(value: &Json) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn missing(key: &'static str) -> VariableError {
    key_error(key, "it is missing".to_owned())
}

fn key_error(key: &'static str, reason: String) -> VariableError {
    VariableError::Key { key, reason }
}
