//! Writes a hierarchy as documents of version 3, with the keys in zarr-python's order.

use ncz_model::json::{Json, Map, json};
use ncz_model::{
    Attribute, ByteOrder, Dtype, FillValue, Format, Group, Hierarchy, KeyEncoding, MetadataError, NcType,
    NetcdfView, RESERVED, Separator, Value, Variable, base64, no_fill_v3,
};

use super::array::{chunk_grid, chunk_keys, encoded_fill};
use super::data_type;
use super::{CONSOLIDATED, codecs, draft};
use crate::attribute::write::{attribute as attribute_json, same};

/// The `zarr.json` of a group, without consolidated metadata.
pub(in super::super) fn group_object(hierarchy: &Hierarchy, group: &Group) -> Result<Map, MetadataError> {
    let nczarr = hierarchy.format == Format::Nczarr3;
    let old = group.documents.zarr_json.as_deref();
    let mut attributes = Attributes::new(&group.attributes, None, "group", &group.path, nczarr)?;
    if group.path == "/" {
        let text = match &hierarchy.nc_properties {
            Some(text) => Some(text.clone()),
            None => nczarr.then(|| format!("version=2,ncz={},nczarr=3.0.0", env!("CARGO_PKG_VERSION"))),
        };
        if let Some(text) = text {
            attributes.add("_NCProperties", Json::String(text), "char");
        }
    }
    if nczarr {
        let info = draft::group_info(group, old_attribute(old, draft::GROUP));
        attributes.add(draft::GROUP, Json::from(info), draft::JSON);
        if group.path == "/" {
            let mut superblock = old_attribute(old, draft::SUPERBLOCK);
            superblock.insert("version".to_owned(), json!("3.0.0"));
            superblock.insert("format".to_owned(), json!(3));
            attributes.add(draft::SUPERBLOCK, Json::from(superblock), draft::JSON);
        }
        attributes.add_types(old_attribute(old, draft::ATTRIBUTES));
    } else {
        attributes.keep(old);
    }
    let mut node = old.cloned().unwrap_or_default();
    node.insert("attributes".to_owned(), Json::from(attributes.object));
    node.insert("zarr_format".to_owned(), json!(3));
    node.shift_remove(CONSOLIDATED);
    node.insert("node_type".to_owned(), json!("group"));
    Ok(node)
}

/// The `zarr.json` of the root with all other documents in it.
pub(in super::super) fn consolidated_object(hierarchy: &Hierarchy) -> Result<Map, MetadataError> {
    let mut nodes = Map::new();
    for group in hierarchy.groups() {
        if group.path != "/" {
            let node = Json::from(group_object(hierarchy, group)?);
            nodes.insert(group.path.trim_matches('/').to_owned(), node);
        }
        for variable in &group.variables {
            nodes.insert(variable.key.clone(), Json::from(variable_object(hierarchy, variable)?));
        }
    }
    let mut root = group_object(hierarchy, &hierarchy.root)?;
    let node_type = root.shift_remove("node_type");
    let mut consolidated = Map::new();
    consolidated.insert("kind".to_owned(), json!("inline"));
    consolidated.insert("must_understand".to_owned(), json!(false));
    consolidated.insert("metadata".to_owned(), Json::from(nodes));
    root.insert(CONSOLIDATED.to_owned(), Json::from(consolidated));
    root.extend(node_type.map(|value| ("node_type".to_owned(), value)));
    Ok(root)
}

/// The codec of a variable with big-endian numbers that is only for little-endian ones in this format.
#[must_use]
pub fn codec_of_little_endian(variable: &Variable, format: Format) -> Option<&Json> {
    let stored = (format == Format::Nczarr3).then(|| draft::stored_dtype(variable)).flatten();
    let order = stored.map_or(variable.dtype.order(), |(stored, _)| stored.order());
    let is_swapped = format.is_v3() && order == ByteOrder::Big;
    variable.filters.iter().find(|codec| is_swapped && codecs::is_array_codec(codec))
}

/// The `zarr.json` of an array. Members that were read keep their text if they still apply.
pub(in super::super) fn variable_object(
    hierarchy: &Hierarchy,
    variable: &Variable,
) -> Result<Map, MetadataError> {
    let nczarr = hierarchy.format == Format::Nczarr3;
    let old = variable.documents.zarr_json.as_deref();
    let wrong =
        |reason: String| MetadataError::Definition { kind: "variable", path: variable.path.clone(), reason };
    let stored = nczarr.then(|| draft::stored_dtype(variable)).flatten();
    let (stored, name) = match stored {
        Some((stored, name)) => (stored, Some(name)),
        None => (variable.dtype.clone(), data_type::to_json(&variable.dtype)),
    };
    let stored = &stored;
    let data_type = old
        .and_then(|old| old.get("data_type"))
        .filter(|old| data_type::parse(old, stored.order()).is_ok_and(|old| old == *stored))
        .cloned()
        .or(name)
        .ok_or_else(|| {
            wrong(format!("its elements {:?} have no data type in Zarr version 3", stored.text()))
        })?;
    if let Some(codec) = codec_of_little_endian(variable, hierarchy.format) {
        return Err(wrong(format!(
            "its elements are big-endian, and in Zarr version 3 its codec {} is not for those; choose little-endian",
            codec.get("name").cloned().unwrap_or_default()
        )));
    }
    let mut node = old.cloned().unwrap_or_default();
    node.insert("shape".to_owned(), json!(variable.shape));
    node.insert("data_type".to_owned(), data_type);
    let rank = variable.shape.len();
    if !old.is_some_and(|old| chunk_grid(old, rank).is_ok_and(|shape| shape == variable.object_shape())) {
        let grid = json!({"name": "regular", "configuration": {"chunk_shape": variable.object_shape()}});
        node.insert("chunk_grid".to_owned(), grid);
    }
    let keys = (variable.key_encoding, variable.separator);
    if !old.is_some_and(|old| chunk_keys(old).is_ok_and(|old| old == keys)) {
        node.insert("chunk_key_encoding".to_owned(), key_encoding(keys));
    }
    node.insert(
        "fill_value".to_owned(),
        fill_value(variable, stored)
            .ok_or_else(|| wrong("its fill value cannot be written in Zarr version 3".to_owned()))?,
    );
    let kept = old.and_then(|old| old.get("codecs")).filter(|codecs| codecs::says(codecs, variable));
    if kept.is_none() {
        node.insert("codecs".to_owned(), Json::Array(codecs::join(variable)));
    }
    node.insert("attributes".to_owned(), Json::from(attributes(variable, nczarr)?));
    if let Some(names) = dimension_names(hierarchy, variable).filter(|_| old.is_none()) {
        node.insert("dimension_names".to_owned(), names);
    }
    node.insert("zarr_format".to_owned(), json!(3));
    node.insert("node_type".to_owned(), json!("array"));
    if old.is_none() {
        node.insert("storage_transformers".to_owned(), json!([]));
    }
    Ok(node)
}

fn attributes(variable: &Variable, nczarr: bool) -> Result<Map, MetadataError> {
    let old = variable.documents.zarr_json.as_deref();
    let shown = variable.shown().and_then(NetcdfView::plain);
    let mut built = Attributes::new(&variable.attributes, shown, "variable", &variable.path, nczarr)?;
    if nczarr {
        let info = draft::array_info(variable, old_attribute(old, draft::ARRAY));
        built.add(draft::ARRAY, Json::from(info), draft::JSON);
        built.add_types(old_attribute(old, draft::ATTRIBUTES));
    } else {
        built.keep(old);
    }
    Ok(built.object)
}

/// The dimension names, with `null` for dimensions without a name; `None` if no dimension has a name.
fn dimension_names(hierarchy: &Hierarchy, variable: &Variable) -> Option<Json> {
    let name = |reference| {
        let dimension = hierarchy.dimension(reference).filter(|dimension| !dimension.anonymous)?;
        Some(dimension.name.clone())
    };
    let names: Vec<Option<String>> = variable.dimensions.iter().map(name).collect();
    names.iter().any(Option::is_some).then(|| json!(names))
}

fn key_encoding((encoding, separator): (KeyEncoding, Separator)) -> Json {
    let name = match encoding {
        KeyEncoding::V2 => "v2",
        KeyEncoding::Default => "default",
    };
    json!({"name": name, "configuration": {"separator": separator.as_char().to_string()}})
}

/// The fill value; what arrays without one read as if there is none.
fn fill_value(variable: &Variable, stored: &Dtype) -> Option<Json> {
    let old = variable.documents.zarr_json.as_deref().and_then(|old| old.get("fill_value"));
    let Some(fill) = &variable.fill else {
        let kept = old.filter(|old| FillValue::from_v3(old, stored).is_ok());
        return kept.cloned().or_else(|| no_fill_v3(stored));
    };
    let kept = old.filter(|old| FillValue::from_v3(old, stored).is_ok_and(|old| old.bytes() == fill.bytes()));
    kept.cloned().or_else(|| fill.v3_json(stored))
}

fn old_attribute(old: Option<&Map>, name: &str) -> Map {
    let attributes = old.and_then(|old| old.get("attributes"));
    attributes
        .and_then(|attributes| attributes.get(name))
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default()
}

/// Collects the attributes of a node and their types.
struct Attributes {
    object: Map,
    types: Vec<Json>,
}

impl Attributes {
    fn new(
        attributes: &[Attribute],
        nc_type: Option<NcType>,
        kind: &'static str,
        path: &str,
        nczarr: bool,
    ) -> Result<Self, MetadataError> {
        let mut built = Self { object: Map::new(), types: Vec::new() };
        for attribute in attributes {
            let (json, entry) =
                attribute_json(attribute, nczarr).ok_or_else(|| MetadataError::Definition {
                    kind,
                    path: path.to_owned(),
                    reason: format!(
                        "the text of its attribute {:?} is not UTF-8, which JSON cannot hold",
                        attribute.name
                    ),
                })?;
            let encoded = if nczarr { None } else { fill_for_xarray(attribute, nc_type) };
            let name = draft::type_name(entry, &json);
            built.add(&attribute.name, encoded.unwrap_or(json), name);
        }
        Ok(built)
    }

    fn add(&mut self, name: &str, json: Json, type_name: &str) {
        self.object.insert(name.to_owned(), json);
        self.types.push(json!({"name": name, "configuration": {"type": type_name}}));
    }

    fn add_types(&mut self, mut object: Map) {
        self.types.push(json!({"name": draft::ATTRIBUTES, "configuration": {"type": draft::JSON}}));
        object.insert("attribute_types".to_owned(), Json::Array(std::mem::take(&mut self.types)));
        self.object.insert(draft::ATTRIBUTES.to_owned(), Json::from(object));
    }

    /// Keeps attributes that carry metadata of other programs and are not shown as attributes.
    fn keep(&mut self, old: Option<&Map>) {
        let old = old.and_then(|old| old.get("attributes")).and_then(Json::as_object);
        for (name, json) in old.into_iter().flatten() {
            if RESERVED.contains(&name.as_str()) && !self.object.contains_key(name) {
                self.object.insert(name.clone(), json.clone());
            }
        }
    }
}

/// The `_FillValue` of floating-point numbers: the JSON that was read, if it still reads as the value, else xarray's
/// form.
fn fill_for_xarray(attribute: &Attribute, nc_type: Option<NcType>) -> Option<Json> {
    if attribute.name != "_FillValue" {
        return None;
    }
    let number = match (&attribute.value, nc_type?) {
        (Value::Float(numbers), NcType::Float | NcType::Double) => f64::from(*numbers.first()?),
        (Value::Double(numbers), NcType::Float | NcType::Double) => *numbers.first()?,
        _ => return None,
    };
    let read = attribute
        .json
        .as_ref()
        .filter(|json| encoded_fill(json, nc_type).is_some_and(|value| same(&value, &attribute.value)));
    Some(read.cloned().unwrap_or_else(|| json!(base64::encode(&number.to_le_bytes()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_values_are_spelled_as_xarray_does() {
        let spelled = |value, nc_type| fill_for_xarray(&Attribute::new("_FillValue", value), Some(nc_type));
        // base64.standard_b64encode(struct.pack("<d", -999.0))
        let text = Some(json!("AAAAAAA4j8A="));
        assert_eq!(spelled(Value::from(-999.0f32), NcType::Float), text);
        assert_eq!(spelled(Value::from(-999.0), NcType::Double), text);
        assert_eq!(spelled(Value::from(-999.0), NcType::Float), text);
        assert_eq!(spelled(Value::from(7i16), NcType::Short), None);
        assert_eq!(spelled(Value::text("x"), NcType::Float), None);
        for value in [0.1, f64::INFINITY, -0.0] {
            let text = spelled(Value::from(value), NcType::Double).unwrap();
            assert_eq!(encoded_fill(&text, Some(NcType::Double)), Some(Value::from(value)));
        }
    }
}
