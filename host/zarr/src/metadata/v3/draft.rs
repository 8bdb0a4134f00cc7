//! The attributes of the NCZarr version 3 draft; [the parent module](super) lists the decisions about it.

use crate::metadata::document;
use indexmap::IndexSet;
use ncz_model::json::{Json, Map, json};
use ncz_model::{Dimension, Dtype, Group, Kind, MetadataError, NcType, Variable, Warning, json};

pub(super) const SUPERBLOCK: &str = "_nczarr_superblock";
pub(super) const GROUP: &str = "_nczarr_group";
pub(super) const ARRAY: &str = "_nczarr_array";
pub(super) const ATTRIBUTES: &str = "_nczarr_attrs";

/// Attribute types: their names in the draft, and the equivalent type entries of version 2.
const TYPES: [(&str, &str); 13] = [
    ("int8", "<i1"),
    ("uint8", "<u1"),
    ("int16", "<i2"),
    ("uint16", "<u2"),
    ("int32", "<i4"),
    ("uint32", "<u4"),
    ("int64", "<i8"),
    ("uint64", "<u8"),
    ("float32", "<f4"),
    ("float64", "<f8"),
    ("char", ">S1"),
    ("string", "|S128"),
    (JSON, "|J0"),
];

/// The type of values that netCDF shows as the text of their JSON.
pub(super) const JSON: &str = "json";

/// Whether the root is NCZarr and shall be read as such (`enabled`). Warns if NCZarr metadata are ignored.
pub(super) fn is_draft(
    zattrs: Option<&Map>,
    enabled: bool,
    warnings: &mut Vec<Warning>,
) -> Result<bool, MetadataError> {
    let Some(superblock) = zattrs.and_then(|zattrs| zattrs.get(SUPERBLOCK)) else { return Ok(false) };
    let version = superblock.get("version");
    let text = version.and_then(Json::as_str).unwrap_or_default();
    let major: String = text.chars().take_while(char::is_ascii_digit).collect();
    if enabled && major == "3" {
        return Ok(true);
    }
    let version = version.map_or_else(|| "none".to_owned(), json::to_text);
    if enabled {
        let reason =
            format!("NCZarr version {version} is not supported; read it as pure Zarr or with a newer ncz");
        return Err(MetadataError::Metadata { key: document::ZARR_JSON.to_owned(), reason });
    }
    warnings.push(Warning {
        at: "/".to_owned(),
        text: format!(
            "its NCZarr metadata of version {version} are ignored, and it is read as pure Zarr; they follow a \
             draft, which the mode nczarr,v3 reads (experimental)"
        ),
    });
    Ok(false)
}

/// NCZarr's object for a `group` or `array`.
pub(super) fn info<'a>(what: &str, zattrs: Option<&'a Map>) -> Option<&'a Map> {
    zattrs?.get(if what == "group" { GROUP } else { ARRAY })?.as_object()
}

/// The names of the arrays and groups that a group's document lists; `None` if it has no lists.
pub(in super::super) fn named(node: &Map) -> Option<Vec<String>> {
    let info = info("group", node.get("attributes").and_then(Json::as_object))?;
    Some([list(info, "arrays"), list(info, "subgroups")].concat())
}

/// The names in one of the lists of a group's object, each once.
pub(super) fn list(info: &Map, member: &str) -> Vec<String> {
    let names = info.get(member).and_then(Json::as_array).into_iter().flatten();
    let names: IndexSet<&str> = names.filter_map(Json::as_str).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The type that an array represents; the error is a note about an alias that does not fit its elements.
pub(super) fn alias(info: Option<&Map>, stored: &Dtype) -> Result<Option<(Dtype, NcType)>, String> {
    let Some(alias) = info.and_then(|info| info.get("type_alias")).filter(|alias| !alias.is_null()) else {
        return Ok(None);
    };
    let raw = stored.kind() == Kind::Other && stored.text().starts_with("|V");
    match alias.as_str() {
        Some("char" | JSON) if stored.text() == "|u1" => Ok(Some((Dtype::char(), NcType::Char))),
        Some("string") if raw => Ok(Some((Dtype::string(stored.size()), NcType::String))),
        _ => Err(format!(
            "its type alias {} does not fit its data type; it is read as that type only",
            json::shortened(alias)
        )),
    }
}

/// Whether the array has no fill value.
pub(super) fn no_fill(info: Option<&Map>) -> bool {
    info.and_then(|info| info.get("no_fill")).is_some_and(is_set)
}

/// The types of attributes, as type entries of version 2.
pub(super) fn types(zattrs: Option<&Map>) -> Option<Map> {
    let entries = zattrs?.get(ATTRIBUTES)?.get("attribute_types")?.as_array()?;
    let pairs = entries.iter().filter_map(|entry| {
        let name = entry.get("name")?.as_str()?;
        let type_name = entry.get("configuration")?.get("type")?.as_str()?;
        let known = TYPES.iter().find(|(known, _)| *known == type_name);
        Some((name.to_owned(), json!(known.map_or(type_name, |(_, entry)| entry))))
    });
    Some(pairs.collect())
}

/// The dimensions of a group.
pub(super) fn dimensions(info: &Map, notes: &mut Vec<String>) -> Vec<Dimension> {
    let entries = info.get("dimensions").and_then(Json::as_array).into_iter().flatten();
    let mut dimensions: Vec<Dimension> = Vec::new();
    for entry in entries {
        let name = entry.get("name").and_then(Json::as_str).unwrap_or_default();
        let len = entry.get("size").and_then(Json::as_u64);
        let (Some(len), false) = (len, name.is_empty() || name.contains('/')) else {
            notes.push(format!(
                "the dimension {} has no name or length and is left out",
                json::shortened(entry)
            ));
            continue;
        };
        if dimensions.iter().any(|known| known.name == name) {
            notes.push(format!("the dimension {name:?} is defined twice; the first definition counts"));
            continue;
        }
        let unlimited = entry.get("unlimited").is_some_and(is_set);
        dimensions.push(Dimension { name: name.to_owned(), len, unlimited, anonymous: false });
    }
    dimensions
}

/// The object of a group.
pub(super) fn group_info(group: &Group, mut old: Map) -> Map {
    let dimensions: Json = group
        .dimensions
        .iter()
        .map(|dimension| {
            json!({"name": dimension.name, "size": dimension.len, "unlimited": u8::from(dimension.unlimited)})
        })
        .collect();
    let mut arrays: Vec<&str> = group.variables.iter().map(|variable| variable.name.as_str()).collect();
    for unreadable in &group.unreadable {
        arrays.insert(unreadable.position.min(arrays.len()), &unreadable.name);
    }
    old.insert("dimensions".to_owned(), dimensions);
    old.insert("arrays".to_owned(), json!(arrays));
    old.insert("subgroups".to_owned(), group.groups.iter().map(|child| child.name.clone()).collect());
    old
}

/// The object of an array.
pub(super) fn array_info(variable: &Variable, mut old: Map) -> Map {
    let references: Json = variable.dimensions.iter().map(ToString::to_string).collect();
    old.insert("dimension_references".to_owned(), references);
    let was_json = old.get("type_alias").and_then(Json::as_str) == Some(JSON);
    match variable.nc_type {
        Some(NcType::Char) if was_json => {}
        Some(NcType::Char) => _ = old.insert("type_alias".to_owned(), json!("char")),
        Some(NcType::String) if variable.dtype.kind() == Kind::Bytes => {
            old.insert("type_alias".to_owned(), json!("string"));
        }
        _ => _ = old.shift_remove("type_alias"),
    }
    match variable.fill {
        None => _ = old.insert("no_fill".to_owned(), json!(1)),
        Some(_) => _ = old.shift_remove("no_fill"),
    }
    match variable.storage {
        ncz_model::Storage::Contiguous | ncz_model::Storage::Compact => {
            old.insert("storage".to_owned(), json!(variable.storage.name()));
        }
        _ => _ = old.shift_remove("storage"),
    }
    old
}

/// The type that elements are stored in, and its name; `None` if it is their own type.
pub(super) fn stored_dtype(variable: &Variable) -> Option<(Dtype, Json)> {
    let size = variable.dtype.size();
    let (text, name) = match (variable.nc_type, variable.dtype.kind()) {
        (Some(NcType::Char), Kind::Bytes) => ("|u1".to_owned(), "uint8".to_owned()),
        (Some(NcType::String), Kind::Bytes) => (format!("|V{size}"), format!("r{}", size.checked_mul(8)?)),
        _ => return None,
    };
    Some((Dtype::parse(&text).ok()?, json!(name)))
}

/// The name of an attribute's type, from the type entry of version 2.
pub(super) fn type_name(entry: &str, value: &Json) -> &'static str {
    let name = TYPES.iter().find(|(_, known)| *known == entry).map(|(name, _)| *name);
    match name {
        Some("char") if !value.is_string() => JSON,
        Some(name) => name,
        // Only strings have entries with a length.
        None => "string",
    }
}

fn is_set(flag: &Json) -> bool {
    flag.as_bool() == Some(true) || flag.as_u64().is_some_and(|number| number != 0)
}
