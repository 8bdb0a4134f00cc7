//! Reads one array from its `zarr.json` as a variable.

use std::sync::Arc;

use ncz_model::json::{Json, Map};
use ncz_model::{
    ByteOrder, Dtype, DtypeError, FillValue, KeyEncoding, NcType, NetcdfView, ScalarForm, Separator, Value,
    Variable, VariableDocuments, VariableError, base64, json, limits,
};

use super::super::array::{Names, Parsed, attributes, compare_fill, storage};
use super::codecs::{self, Serializer};
use super::data_type;
use super::draft;
use super::extension::{Extension, may_be_ignored};

/// The document of an array and its location.
pub(super) struct ArrayParts {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) key: String,
    pub(super) node: Arc<Map>,
    /// Whether NCZarr's attributes are read.
    pub(super) draft: bool,
}

const KNOWN: [&str; 11] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
];

/// Reads an array.
pub(super) fn parse(parts: ArrayParts) -> Result<Parsed, VariableError> {
    let mut notes = Vec::new();
    let node = &parts.node;
    known_keys(node)?;
    let shape = shape(node)?;
    let object_shape = chunk_grid(node, shape.len())?;
    let (key_encoding, separator) = chunk_keys(node)?;
    let pipeline = codecs::split(required(node, "codecs")?, &object_shape).map_err(at("codecs"))?;
    let zattrs = attributes_of(node).map_err(|reason| at("attributes")(reason))?;
    let info = if parts.draft { draft::info("array", zattrs) } else { None };
    let stored = dtype(node, pipeline.serializer)?;
    let (dtype, nc_type) = match draft::alias(info, &stored) {
        Ok(Some((dtype, nc_type))) => (dtype, Some(nc_type)),
        Ok(None) => (stored.clone(), stored.nc_type(false)),
        Err(note) => {
            notes.push(note);
            (stored.clone(), stored.nc_type(false))
        }
    };
    let fill = fill(node, &dtype, &stored, info, &mut notes)?;
    let scalar = shape.is_empty().then_some(ScalarForm::Rank0);
    let names = names(node, zattrs, info, shape.len(), &mut notes);
    let types = if parts.draft { draft::types(zattrs) } else { None };
    let shown = nc_type.or_else(|| NetcdfView::of(&dtype)?.plain());
    let mut attributes = attributes(zattrs, types.as_ref(), shown, &mut notes);
    if types.is_none() {
        for attribute in attributes.iter_mut().filter(|attribute| attribute.name == "_FillValue") {
            if let Some(value) = attribute.json.as_ref().and_then(|json| encoded_fill(json, shown)) {
                attribute.value = value;
            }
        }
    }
    // In pure version 3 xarray keeps them apart.
    if types.is_some() {
        compare_fill(&attributes, fill.as_ref(), nc_type, &dtype, &mut notes);
    }
    let storage = storage(info, scalar.is_some());
    let variable = Variable {
        name: parts.name,
        path: parts.path,
        key: parts.key,
        dtype,
        nc_type,
        user_type: None,
        shape,
        chunk_shape: pipeline.chunk_shape,
        sharding: pipeline.sharding,
        scalar,
        dimensions: Vec::new(),
        fill,
        order: pipeline.order,
        key_encoding,
        separator,
        filters: pipeline.filters,
        storage,
        attributes,
        documents: VariableDocuments { zarr_json: Some(parts.node), ..VariableDocuments::default() },
    };
    Ok(Parsed { variable, names, notes })
}

/// The `attributes` of a node; a missing member is an empty object.
pub(super) fn attributes_of(node: &Map) -> Result<Option<&Map>, String> {
    match node.get("attributes") {
        None => Ok(None),
        Some(Json::Object(attributes)) => Ok(Some(attributes)),
        Some(other) => Err(format!("{} is not an object", json::shortened(other))),
    }
}

/// The chunk lengths of the grid: the part that one key of the store holds.
pub(super) fn chunk_grid(node: &Map, rank: usize) -> Result<Vec<u64>, VariableError> {
    let grid = extension(node, "chunk_grid")?;
    let wrong = at("chunk_grid");
    if grid.name != "regular" {
        return Err(wrong(format!("{:?} is not supported, only \"regular\"", grid.name)));
    }
    grid.only(&["chunk_shape"]).map_err(&wrong)?;
    let lengths = grid.get("chunk_shape").ok_or_else(|| wrong("it has no \"chunk_shape\"".to_owned()))?;
    codecs::lengths(lengths, rank).map_err(&wrong)
}

/// The encoding of chunk keys.
pub(super) fn chunk_keys(node: &Map) -> Result<(KeyEncoding, Separator), VariableError> {
    let keys = extension(node, "chunk_key_encoding")?;
    let wrong = at("chunk_key_encoding");
    let (encoding, default) = match keys.name {
        "default" => (KeyEncoding::Default, Separator::Slash),
        "v2" => (KeyEncoding::V2, Separator::Dot),
        other => return Err(wrong(format!("{other:?} is not supported, only \"default\" and \"v2\""))),
    };
    keys.only(&["separator"]).map_err(&wrong)?;
    let separator = match keys.get("separator").map(Json::as_str) {
        None => default,
        Some(Some("/")) => Separator::Slash,
        Some(Some(".")) => Separator::Dot,
        Some(_) => return Err(wrong("expected the separator \".\" or \"/\"".to_owned())),
    };
    Ok((encoding, separator))
}

fn known_keys(node: &Map) -> Result<(), VariableError> {
    let unknown = node.iter().find(|(key, value)| !KNOWN.contains(&key.as_str()) && !may_be_ignored(value));
    if let Some((key, _)) = unknown {
        return Err(VariableError::Node {
            key: key.clone(),
            reason: "the key is unknown and not marked with \"must_understand\": false".to_owned(),
        });
    }
    match node.get("storage_transformers") {
        None => Ok(()),
        Some(Json::Array(transformers)) if transformers.is_empty() => Ok(()),
        Some(other) => {
            Err(at("storage_transformers")(format!("{} are not supported", json::shortened(other))))
        }
    }
}

fn shape(node: &Map) -> Result<Vec<u64>, VariableError> {
    let value = required(node, "shape")?;
    let wrong = || at("shape")(format!("{} is not a list of whole numbers from 0", json::shortened(value)));
    let items = value.as_array().ok_or_else(wrong)?;
    if items.len() > limits::RANK {
        return Err(at("shape")(format!("it has {} dimensions, the limit is {}", items.len(), limits::RANK)));
    }
    items.iter().map(|item| item.as_u64().ok_or_else(wrong)).collect()
}

fn dtype(node: &Map, serializer: Serializer) -> Result<Dtype, VariableError> {
    let order = match serializer {
        Serializer::Bytes(order) => order,
        // Types with a byte order do not fit.
        Serializer::VlenText | Serializer::VlenBytes => ByteOrder::Little,
    };
    let dtype = data_type::parse(required(node, "data_type")?, order).map_err(|error| match error {
        DtypeError::NoByteOrder { size, .. } => at("codecs")(format!(
            "its codec \"bytes\" has no \"endian\", which elements of {size} bytes require"
        )),
        other => VariableError::Dtype(other),
    })?;
    let fits = match serializer {
        Serializer::Bytes(_) => !dtype.is_variable_length(),
        Serializer::VlenText => dtype == Dtype::vlen_text(),
        Serializer::VlenBytes => dtype == Dtype::vlen_bytes(),
    };
    if fits {
        return Ok(dtype);
    }
    let (codec, data_type) = (serializer.name(), json::shortened(required(node, "data_type")?));
    Err(at("codecs")(format!("the codec {codec:?} is not for elements of the type {data_type}")))
}

/// Reads the fill value. An aliased type of the draft has the fill value of its stored type.
fn fill(
    node: &Map,
    dtype: &Dtype,
    stored: &Dtype,
    info: Option<&Map>,
    notes: &mut Vec<String>,
) -> Result<Option<FillValue>, VariableError> {
    let json = required(node, "fill_value")?;
    if json.is_null() {
        notes.push(
            "its fill_value is null, which Zarr version 3 does not allow; missing elements read as zeros"
                .to_owned(),
        );
        return Ok(None);
    }
    let fill = FillValue::from_v3(json, stored)?;
    if draft::no_fill(info) {
        return Ok(None);
    }
    Ok(Some(if dtype == stored { fill } else { fill.relabelled(dtype) }))
}

fn names(
    node: &Map,
    zattrs: Option<&Map>,
    info: Option<&Map>,
    rank: usize,
    notes: &mut Vec<String>,
) -> Names {
    if rank == 0 {
        return Names::References(Vec::new());
    }
    if let Some(references) = info.and_then(|info| info.get("dimension_references")) {
        let names = references.as_array().and_then(|names| {
            names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        });
        match names {
            Some(names) => return Names::References(names),
            None => notes.push(format!(
                "its dimension references {} are not a list of names",
                json::shortened(references)
            )),
        }
    }
    let (key, names) = match node.get("dimension_names").filter(|names| !names.is_null()) {
        Some(names) => ("dimension_names", names),
        None => match zattrs.and_then(|zattrs| zattrs.get("_ARRAY_DIMENSIONS")) {
            Some(names) => {
                notes.push(
                    "its dimensions are named by _ARRAY_DIMENSIONS, as in Zarr version 2, not by dimension_names"
                        .to_owned(),
                );
                ("_ARRAY_DIMENSIONS", names)
            }
            None => return Names::Absent,
        },
    };
    let list = names
        .as_array()
        .filter(|list| list.len() == rank && list.iter().all(|name| name.is_string() || name.is_null()));
    let Some(list) = list else {
        notes.push(format!(
            "its {key} {} are not the names of {rank} dimensions; they are treated as unnamed",
            json::shortened(names)
        ));
        return Names::Absent;
    };
    let usable = |name: &Json| {
        let name = name.as_str().filter(|name| !name.is_empty())?;
        if name.contains('/') {
            notes.push(format!(
                "its dimension name {name:?} contains a slash; the dimension is treated as unnamed"
            ));
            return None;
        }
        Some(name.to_owned())
    };
    Names::Nullable(list.iter().map(usable).collect())
}

/// Reads xarray's form of `_FillValue` for floating-point numbers.
pub(super) fn encoded_fill(json: &Json, nc_type: Option<NcType>) -> Option<Value> {
    let bytes = base64::decode(json.as_str()?)?;
    let number = f64::from_le_bytes(bytes.try_into().ok()?);
    match nc_type? {
        NcType::Float => Some(Value::from(number as f32)),
        NcType::Double => Some(Value::from(number)),
        _ => None,
    }
}

fn extension<'a>(node: &'a Map, key: &'static str) -> Result<Extension<'a>, VariableError> {
    Extension::parse(required(node, key)?).map_err(at(key))
}

fn required<'a>(node: &'a Map, key: &'static str) -> Result<&'a Json, VariableError> {
    node.get(key).ok_or_else(|| at(key)("it is missing".to_owned()))
}

fn at(key: &'static str) -> impl Fn(String) -> VariableError {
    move |reason| VariableError::Node { key: key.to_owned(), reason }
}
