//! Writes a hierarchy as documents, in the layout of netcdf-c's current generation.

use ncz_model::json::{Json, Map, json};
use ncz_model::{
    Attribute, Format, Generation, Group, Hierarchy, MetadataError, NcType, ScalarForm, Separator, Value,
    Variable, json, limits,
};

use super::v3;
use crate::attribute::write::attribute as attribute_json;
use crate::metadata::document;
use ncz_model::masked;

/// A key and its content.
type Document = (String, Vec<u8>);

/// A key and its content, before serialization.
type Object = (String, Map);

/// Returns all documents of a dataset in the order in which they should be written: the innermost first, the root last,
/// so that a dataset appears only when it is complete. With `consolidated`, `.zmetadata` comes after the root; in
/// version 3 the root's `zarr.json` contains the others.
///
/// Documents that were read keep their unknown keys.
///
/// # Errors
/// [`MetadataError::OldGeneration`]; or JSON cannot hold an attribute (text that is not UTF-8).
pub fn write(hierarchy: &Hierarchy, consolidated: bool) -> Result<Vec<Document>, MetadataError> {
    let mut documents = Vec::new();
    group_tree(hierarchy, &hierarchy.root, &mut documents)?;
    if consolidated {
        if hierarchy.format.is_v3() && !hierarchy.root_array {
            documents.pop();
        }
        documents.push(consolidated_document(hierarchy)?);
    }
    Ok(documents)
}

/// Returns the documents of one variable: `.zattrs`, if it is not empty, and `.zarray`; in version 3 `zarr.json`.
///
/// # Errors
/// As for [`write()`].
pub fn variable_documents(
    hierarchy: &Hierarchy,
    variable: &Variable,
) -> Result<Vec<Document>, MetadataError> {
    let objects = variable_objects(hierarchy, variable)?;
    objects.into_iter().map(|object| text_of(hierarchy, object)).collect()
}

/// Returns the documents of one group, without its content: `.zattrs`, if it is not empty, and `.zgroup`; in version 3
/// `zarr.json`, for the root without consolidated metadata.
///
/// # Errors
/// As for [`write()`].
pub fn group_documents(hierarchy: &Hierarchy, group: &Group) -> Result<Vec<Document>, MetadataError> {
    let objects = group_objects(hierarchy, group)?;
    objects.into_iter().map(|object| text_of(hierarchy, object)).collect()
}

/// Returns `.zmetadata` with all documents of the dataset; in version 3 the root's `zarr.json` with them.
///
/// # Errors
/// As for [`write()`]; [`MetadataError::Definition`] for an array at the root of a version 3 store, which cannot be
/// consolidated.
pub fn consolidated_document(hierarchy: &Hierarchy) -> Result<Document, MetadataError> {
    if hierarchy.format.is_v3() {
        if hierarchy.root_array {
            return Err(MetadataError::Definition {
                kind: "group",
                path: "/".to_owned(),
                reason: "an array at the root of a store of Zarr version 3 has no consolidated metadata"
                    .to_owned(),
            });
        }
        return text_of(hierarchy, (document::ZARR_JSON.to_owned(), v3::consolidated_object(hierarchy)?));
    }
    let mut metadata = Map::new();
    for group in hierarchy.groups() {
        metadata.extend(
            group_objects(hierarchy, group)?.into_iter().map(|(key, object)| (key, Json::from(object))),
        );
        for variable in &group.variables {
            let objects = variable_objects(hierarchy, variable)?;
            metadata.extend(objects.into_iter().map(|(key, object)| (key, Json::from(object))));
        }
    }
    let mut document = Map::new();
    document.insert("metadata".to_owned(), Json::from(metadata));
    document.insert("zarr_consolidated_format".to_owned(), json!(1));
    text_of(hierarchy, (document::ZMETADATA.to_owned(), document))
}

fn group_tree(
    hierarchy: &Hierarchy,
    group: &Group,
    documents: &mut Vec<Document>,
) -> Result<(), MetadataError> {
    for variable in &group.variables {
        documents.extend(variable_documents(hierarchy, variable)?);
    }
    for child in &group.groups {
        group_tree(hierarchy, child, documents)?;
    }
    if !hierarchy.root_array {
        documents.extend(group_documents(hierarchy, group)?);
    }
    Ok(())
}

fn group_objects(hierarchy: &Hierarchy, group: &Group) -> Result<Vec<Object>, MetadataError> {
    if hierarchy.format.is_v3() {
        return Ok(vec![(group.key(document::ZARR_JSON), v3::group_object(hierarchy, group)?)]);
    }
    let nczarr = writes_nczarr(hierarchy)?;
    let is_root = group.path == "/";
    let old = group.documents.zattrs.as_deref();
    let mut zattrs = Attributes::new(&group.attributes, "group", &group.path, nczarr)?;
    if is_root {
        let text = match &hierarchy.nc_properties {
            Some(text) => Some(text.clone()),
            None => nczarr.then(|| format!("version=2,ncz={},nczarr=2.0.0", env!("CARGO_PKG_VERSION"))),
        };
        if let Some(text) = text {
            zattrs.add("_NCProperties", Json::String(text), Some(">S1"));
        }
    }
    if nczarr {
        let mut info = old_object(old, "_nczarr_group");
        for name in ["dims", "vars"] {
            info.shift_remove(name);
        }
        info.insert("dimensions".to_owned(), dimensions(group));
        info.insert("arrays".to_owned(), arrays(group));
        info.insert("groups".to_owned(), group.groups.iter().map(|child| child.name.clone()).collect());
        zattrs.add("_nczarr_group", Json::from(info), Some("|J0"));
        if is_root {
            let mut superblock = old_object(old, "_nczarr_superblock");
            superblock.insert("version".to_owned(), json!("2.0.0"));
            zattrs.add("_nczarr_superblock", Json::from(superblock), Some("|J0"));
        }
        zattrs.add_types(old);
    }
    let mut zgroup = group.documents.zgroup.as_deref().cloned().unwrap_or_default();
    zgroup.insert("zarr_format".to_owned(), json!(2));
    remove_nczarr(&mut zgroup);
    let mut objects = Vec::new();
    if !zattrs.object.is_empty() || old.is_some() {
        objects.push((group.key(document::ZATTRS), zattrs.object));
    }
    objects.push((group.key(document::ZGROUP), zgroup));
    Ok(objects)
}

fn variable_objects(hierarchy: &Hierarchy, variable: &Variable) -> Result<Vec<Object>, MetadataError> {
    if hierarchy.format.is_v3() {
        return Ok(vec![(
            variable.document_key(document::ZARR_JSON),
            v3::variable_object(hierarchy, variable)?,
        )]);
    }
    let nczarr = writes_nczarr(hierarchy)?;
    let old = variable.documents.zattrs.as_deref();
    let is_written = |attribute: &&Attribute| nczarr || !masked::is_implied(variable, attribute);
    let attributes = variable.attributes.iter().filter(is_written);
    let mut zattrs = Attributes::new(attributes, "variable", &variable.path, nczarr)?;
    if let Some(names) = xarray_names(hierarchy, variable, nczarr) {
        zattrs.add("_ARRAY_DIMENSIONS", names, None);
    }
    if nczarr {
        let mut info = old_object(old, "_nczarr_array");
        for name in ["dimrefs", "scalar", "storage"] {
            info.shift_remove(name);
        }
        let references: Json = variable.dimensions.iter().map(ToString::to_string).collect();
        info.insert("dimension_references".to_owned(), references);
        if variable.scalar.is_some() {
            info.insert("scalar".to_owned(), json!(1));
        }
        info.insert("storage".to_owned(), json!(variable.storage.name()));
        zattrs.add("_nczarr_array", Json::from(info), Some("|J0"));
        zattrs.add_types(old);
    }
    let mut objects = Vec::new();
    if !zattrs.object.is_empty() || old.is_some() {
        objects.push((variable.document_key(document::ZATTRS), zattrs.object));
    }
    objects.push((variable.document_key(document::ZARRAY), zarray(variable, nczarr)?));
    Ok(objects)
}

fn zarray(variable: &Variable, nczarr: bool) -> Result<Map, MetadataError> {
    let old = variable.documents.zarray.as_deref();
    let mut zarray = old.cloned().unwrap_or_default();
    remove_nczarr(&mut zarray);
    zarray.insert("zarr_format".to_owned(), json!(2));
    zarray.insert("shape".to_owned(), json!(variable.stored_shape()));
    zarray.insert("dtype".to_owned(), dtype(variable, nczarr));
    zarray.insert("chunks".to_owned(), json!(variable.stored_chunk_shape()));
    zarray.insert(
        "fill_value".to_owned(),
        variable.fill.as_ref().map_or(Json::Null, |fill| fill.json().clone()),
    );
    let order = match &variable.order {
        ncz_model::Order::C => "C",
        ncz_model::Order::F => "F",
        ncz_model::Order::Axes(_) => {
            return Err(MetadataError::Definition {
                kind: "variable",
                path: variable.path.clone(),
                reason:
                    "its chunks are neither in C nor in F order, and Zarr version 2 has no other order; choose one"
                        .to_owned(),
            });
        }
    };
    zarray.insert("order".to_owned(), json!(order));
    let mut filters: Vec<Json> =
        variable.dtype.vlen_codec().map(|id| json!({"id": id})).into_iter().collect();
    filters.extend_from_slice(&variable.filters);
    let kept = old.is_some_and(|old| super::array::chain(old).is_ok_and(|chain| chain == filters));
    if !kept {
        // A codec that serializes objects is not a compressor.
        let compressor = if variable.filters.is_empty() { None } else { filters.pop() };
        let compressor = compressor.unwrap_or(Json::Null);
        let filters = if filters.is_empty() { Json::Null } else { Json::Array(filters) };
        zarray.insert("compressor".to_owned(), compressor);
        zarray.insert("filters".to_owned(), filters);
    }
    match variable.separator {
        Separator::Slash => {
            zarray.insert("dimension_separator".to_owned(), json!("/"));
        }
        Separator::Dot if zarray.contains_key("dimension_separator") => {
            zarray.insert("dimension_separator".to_owned(), json!("."));
        }
        Separator::Dot => {}
    }
    Ok(zarray)
}

/// The dtype in JSON: a list for a structure, text for other types. netCDF's char is `>S1` in NCZarr, which zarr-python
/// refuses; in pure Zarr, which does not distinguish it from a string, it is `|S1`, which zarr-python reads.
fn dtype(variable: &Variable, nczarr: bool) -> Json {
    let text = match variable.nc_type {
        Some(NcType::Char) if !nczarr => "|S1",
        _ => variable.dtype.text(),
    };
    match json::parse(text.as_bytes()) {
        Ok(parsed) if text.starts_with('[') => parsed.value,
        _ => json!(text),
    }
}

fn dimensions(group: &Group) -> Json {
    let entry = |dimension: &ncz_model::Dimension| {
        let len = if dimension.unlimited {
            json!({"size": dimension.len, "unlimited": 1})
        } else {
            json!(dimension.len)
        };
        (dimension.name.clone(), len)
    };
    Json::from(group.dimensions.iter().map(entry).collect::<Map>())
}

/// The arrays of a group; arrays that cannot be read keep their positions.
fn arrays(group: &Group) -> Json {
    let mut names: Vec<&str> = group.variables.iter().map(|variable| variable.name.as_str()).collect();
    for unreadable in &group.unreadable {
        names.insert(unreadable.position.min(names.len()), &unreadable.name);
    }
    names.into_iter().collect()
}

/// `_ARRAY_DIMENSIONS`: if the dataset has it, or the variable had it when it was read.
fn xarray_names(hierarchy: &Hierarchy, variable: &Variable, nczarr: bool) -> Option<Json> {
    let old = variable.documents.zattrs.as_deref().and_then(|zattrs| zattrs.get("_ARRAY_DIMENSIONS"));
    if !hierarchy.xarray && old.is_none() {
        return None;
    }
    if variable.scalar == Some(ScalarForm::Rank1) {
        return Some(json!(["_scalar_"]));
    }
    // Qualified names keep their original form in the documents of pure Zarr.
    let fits = |old: &&Json| old.as_array().is_some_and(|names| names.len() == variable.shape.len());
    if let Some(old) = old.filter(|_| !nczarr).filter(fits) {
        return Some(old.clone());
    }
    let anonymous = |reference| hierarchy.dimension(reference).is_some_and(|dimension| dimension.anonymous);
    if !nczarr && variable.dimensions.iter().any(anonymous) {
        return None;
    }
    Some(variable.dimensions.iter().map(|reference| reference.name.clone()).collect())
}

fn writes_nczarr(hierarchy: &Hierarchy) -> Result<bool, MetadataError> {
    match hierarchy.format {
        Format::Zarr2 | Format::Zarr3 => Ok(false),
        Format::Nczarr(Generation::Attributes) | Format::Nczarr3 => Ok(true),
        Format::Nczarr(Generation::Objects) => Err(MetadataError::OldGeneration { written_by: "4.8.0" }),
        Format::Nczarr(Generation::UpperCase) => {
            Err(MetadataError::OldGeneration { written_by: "4.8.1 and 4.9.0" })
        }
        Format::Nczarr(Generation::LowerCase) => {
            Err(MetadataError::OldGeneration { written_by: "4.9.1 and 4.9.2" })
        }
        Format::Netcdf(kind) => Err(MetadataError::NotZarr { kind: kind.name() }),
    }
}

/// Removes the NCZarr keys that other generations keep in `.zgroup` and `.zarray`, and that copies of documents may
/// still hold.
fn remove_nczarr(object: &mut Map) {
    object.retain(|key, _| !key.starts_with("_nczarr_") && !key.starts_with("_NCZARR_"));
}

fn old_object(zattrs: Option<&Map>, name: &str) -> Map {
    zattrs.and_then(|zattrs| zattrs.get(name)).and_then(Json::as_object).cloned().unwrap_or_default()
}

/// Serializes a document; refuses one that could not be read again.
fn text_of(hierarchy: &Hierarchy, (key, object): Object) -> Result<Document, MetadataError> {
    let object = Json::from(object);
    if depth(&object) > limits::JSON_DEPTH {
        let reason = format!(
            "its arrays and objects would be nested deeper than {}; make the JSON in attributes flatter, or do not \
             consolidate",
            limits::JSON_DEPTH
        );
        return Err(MetadataError::Metadata { key, reason });
    }
    // Bare words occur only in the attributes of pure Zarr, where readers expect them.
    let bare = !hierarchy.format.is_nczarr();
    let dense = || if bare { json::to_text_lenient(&object) } else { json::to_text(&object) };
    let mut text = if hierarchy.format.is_v3() { json::to_text_indented(&object, bare) } else { dense() };
    let most = document::max_bytes(&key);
    if text.len() > most && hierarchy.format.is_v3() {
        text = dense();
    }
    if text.len() > most {
        let len = text.len();
        let reason = format!(
            "it would have {len} bytes, the limit is {most}; shorten the attributes, or do not consolidate"
        );
        return Err(MetadataError::Metadata { key, reason });
    }
    Ok((key, text.into_bytes()))
}

fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Collects a `.zattrs` and its type entries.
struct Attributes {
    object: Map,
    types: Map,
}

impl Attributes {
    fn new<'a>(
        attributes: impl IntoIterator<Item = &'a Attribute>,
        kind: &'static str,
        path: &str,
        nczarr: bool,
    ) -> Result<Self, MetadataError> {
        let mut built = Self { object: Map::new(), types: Map::new() };
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
            let entry = match &attribute.value {
                Value::String(strings) => {
                    format!("|S{}", strings.iter().map(Vec::len).max().unwrap_or(0).max(128))
                }
                _ => entry.to_owned(),
            };
            built.add(&attribute.name, json, Some(&entry));
        }
        Ok(built)
    }

    fn add(&mut self, name: &str, json: Json, entry: Option<&str>) {
        self.object.insert(name.to_owned(), json);
        if let Some(entry) = entry {
            self.types.insert(name.to_owned(), json!(entry));
        }
    }

    fn add_types(&mut self, old: Option<&Map>) {
        self.types.insert("_nczarr_attr".to_owned(), json!("|J0"));
        let mut object = old_object(old, "_nczarr_attr");
        object.insert("types".to_owned(), Json::from(std::mem::take(&mut self.types)));
        self.object.insert("_nczarr_attr".to_owned(), Json::from(object));
    }
}
