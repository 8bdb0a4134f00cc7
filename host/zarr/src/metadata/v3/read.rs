//! Reads the documents of version 3 as a hierarchy.

use std::sync::Arc;

use ncz_model::json::{Json, Map};
use ncz_model::{
    Consolidated, Format, Group, GroupDocuments, Hierarchy, MetadataError, Unreadable, VariableError,
    Warning, document_key, join_path, json, limits, names,
};

use super::super::array::{Parsed, attributes};
use super::super::consolidated::{self as compared, Compared};
use super::super::dimensions::Scope;
use super::super::loader::Loader;
use super::super::prefetch;
use super::super::{ConsolidatedPolicy, ReadOptions};
use super::array::{self, ArrayParts, attributes_of};
use super::extension::may_be_ignored;
use super::{CONSOLIDATED, consolidated, draft};
use crate::metadata::document;

/// Reads the dataset with this root document.
pub(in super::super) fn read(
    mut loader: Loader<'_>,
    node: Arc<Map>,
    options: &ReadOptions,
) -> Result<Hierarchy, MetadataError> {
    let mut consolidated = Consolidated::Absent;
    if options.consolidated.uses_them() {
        match consolidated::documents(&node) {
            None => {}
            Some(Ok(documents)) => {
                loader.read_only_from(documents);
                consolidated = Consolidated::Only;
            }
            Some(Err(error)) if options.consolidated == ConsolidatedPolicy::Prefer => {
                loader.warn(document::ZARR_JSON, compared::cannot_be_used(&Compared::V3, &error));
                consolidated = Consolidated::Stale;
            }
            Some(Err(error)) => return Err(error),
        }
    }
    let zattrs = node.get("attributes").and_then(Json::as_object);
    let nc_properties =
        zattrs.and_then(|zattrs| zattrs.get("_NCProperties")).and_then(Json::as_str).map(str::to_owned);
    let root_array = kind(document::ZARR_JSON, &node)? == Kind::Array;
    let draft =
        !root_array && !options.pure && draft::is_draft(zattrs, options.nczarr3, &mut loader.warnings)?;
    let mut reader = Reader { loader, scope: Scope::default(), draft };
    if !root_array {
        prefetch::version3(&mut reader.loader, draft)?;
    }
    let root = if root_array {
        reader.root_array(options.root_array_name.as_deref().unwrap_or("data"), node)?
    } else {
        reader.group(String::new(), "/".to_owned(), node, 0)?
    };
    if options.consolidated == ConsolidatedPolicy::Compare {
        consolidated = reader.compare();
    }
    let format = if draft { Format::Nczarr3 } else { Format::Zarr3 };
    let warnings = reader.loader.warnings;
    Ok(Hierarchy {
        format,
        root,
        nc_properties,
        hdf5: None,
        consolidated,
        root_array,
        xarray: true,
        warnings,
    })
}

/// The kind of a node.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Group,
    Array,
}

struct Reader<'a> {
    loader: Loader<'a>,
    scope: Scope,
    draft: bool,
}

impl Reader<'_> {
    fn root_array(&mut self, name: &str, node: Arc<Map>) -> Result<Group, MetadataError> {
        let mut group = Group::new_root();
        self.scope.enter("/", Vec::new());
        let path = join_path("/", name);
        let parsed = self.array(name, &path, "", node);
        self.add(&mut group, name.to_owned(), path, 0, parsed);
        group.dimensions = self.scope.leave();
        Ok(group)
    }

    fn group(
        &mut self,
        name: String,
        path: String,
        node: Arc<Map>,
        depth: usize,
    ) -> Result<Group, MetadataError> {
        let key = document_key(&path, document::ZARR_JSON);
        if depth > limits::GROUP_DEPTH {
            let reason = format!("groups are nested deeper than {}", limits::GROUP_DEPTH);
            return Err(MetadataError::Metadata { key, reason });
        }
        known_keys(&key, &node)?;
        let zattrs = attributes_of(&node).map_err(|reason| MetadataError::Metadata {
            key: key.clone(),
            reason: format!("\"attributes\": {reason}"),
        })?;
        let mut notes = Vec::new();
        let info = if self.draft { draft::info("group", zattrs) } else { None };
        let types = if self.draft { draft::types(zattrs) } else { None };
        let dimensions = info.map(|info| draft::dimensions(info, &mut notes)).unwrap_or_default();
        let attributes = attributes(zattrs, types.as_ref(), None, &mut notes);
        if self.draft && info.is_none() {
            notes.push("it has no NCZarr entry; its content is read from the store's listing".to_owned());
        }
        self.notes(&path, notes);
        self.scope.enter(&path, dimensions);
        let content = match info {
            Some(info) => self.recorded(&key, &path, info)?,
            None => self.listed(&path)?,
        };

        let mut group = Group::new(name, path);
        group.attributes = attributes;
        group.documents = GroupDocuments { zarr_json: Some(node), ..GroupDocuments::default() };
        let mut position = 0;
        for (name, child) in content {
            let path = join_path(&group.path, &name);
            let error = match child {
                Child::Group(node) => {
                    group.groups.push(self.group(name, path, node, depth + 1)?);
                    continue;
                }
                Child::Array(node) => {
                    let parsed = self.array(&name, &path, path.trim_matches('/'), node);
                    self.add(&mut group, name, path, position, parsed);
                    position += 1;
                    continue;
                }
                Child::Broken(error) => error,
            };
            self.add(&mut group, name, path, position, Err(error));
            position += 1;
        }
        group.dimensions = self.scope.leave();
        Ok(group)
    }

    /// The content of a group as NCZarr lists it: its arrays, then its groups.
    fn recorded(&mut self, key: &str, path: &str, info: &Map) -> Result<Vec<(String, Child)>, MetadataError> {
        let mut content = Vec::new();
        for name in draft::list(info, "arrays") {
            let child = match names::broken_key_rule(&name) {
                Some(reason) => Child::Broken(VariableError::Name { reason }),
                None => match self.child(path, &name)? {
                    Some(child @ (Child::Array(_) | Child::Broken(_))) => child,
                    Some(Child::Group(_)) => Child::Broken(VariableError::Node {
                        key: "node_type".to_owned(),
                        reason: "its group lists it as an array, but it is a group".to_owned(),
                    }),
                    None => Child::Broken(VariableError::Missing {
                        key: document_key(&join_path(path, &name), document::ZARR_JSON),
                    }),
                },
            };
            content.push((name, child));
        }
        for name in draft::list(info, "subgroups") {
            if let Some(reason) = names::broken_key_rule(&name) {
                let reason = format!("the group name {name:?} cannot be part of a key: {reason}");
                return Err(MetadataError::Metadata { key: key.to_owned(), reason });
            }
            match self.child(path, &name)? {
                Some(child @ Child::Group(_)) => content.push((name, child)),
                _ => self.loader.warn(
                    &join_path(path, &name),
                    "the group around it lists this group, but it does not exist; it is left out",
                ),
            }
        }
        Ok(content)
    }

    /// The content of a group as the store lists it.
    fn listed(&mut self, path: &str) -> Result<Vec<(String, Child)>, MetadataError> {
        let mut content = Vec::new();
        for name in self.loader.children(path.trim_matches('/'))? {
            if name == document::ZARR_JSON {
                continue;
            }
            match self.child(path, &name)? {
                Some(child) => content.push((name, child)),
                None => self.other_version(&join_path(path, &name))?,
            }
        }
        Ok(content)
    }

    fn child(&mut self, path: &str, name: &str) -> Result<Option<Child>, MetadataError> {
        let key = document_key(&join_path(path, name), document::ZARR_JSON);
        let node = match self.loader.object(&key) {
            Ok(Some(node)) => node,
            Ok(None) => return Ok(None),
            // It may have been either; as an array it is listed.
            Err(error) => return error.of_variable(&key).map(|error| Some(Child::Broken(error))),
        };
        Ok(Some(match kind(&key, &node) {
            Ok(Kind::Group) => Child::Group(node),
            Ok(Kind::Array) => Child::Array(node),
            Err(error) => Child::Broken(VariableError::Node {
                key: "node_type".to_owned(),
                reason: format!("it is neither an array nor a group of version 3 ({error})"),
            }),
        }))
    }

    /// Warns about an object that exists only in version 2.
    fn other_version(&mut self, path: &str) -> Result<(), MetadataError> {
        for document in [document::ZARRAY, document::ZGROUP] {
            if self.loader.is_there(&document_key(path, document))? {
                let text = format!(
                    "it is of Zarr version 2 ({document}) inside a group of version 3; it is left out"
                );
                self.loader.warn(path, text);
                break;
            }
        }
        Ok(())
    }

    fn array(&mut self, name: &str, path: &str, key: &str, node: Arc<Map>) -> Result<Parsed, VariableError> {
        array::parse(ArrayParts {
            name: name.to_owned(),
            path: path.to_owned(),
            key: key.to_owned(),
            node,
            draft: self.draft,
        })
    }

    fn add(
        &mut self,
        group: &mut Group,
        name: String,
        path: String,
        position: usize,
        parsed: Result<Parsed, VariableError>,
    ) {
        match parsed.and_then(|parsed| self.scope.resolve(parsed)) {
            Ok((variable, notes)) => {
                self.notes(&path, notes);
                group.variables.push(variable);
            }
            Err(reason) => group.unreadable.push(Unreadable { name, path, position, reason }),
        }
    }

    fn compare(&mut self) -> Consolidated {
        let Some(Some(root)) = self.loader.seen.get(document::ZARR_JSON) else { return Consolidated::Absent };
        let Some(documents) = consolidated::documents(root) else { return Consolidated::Absent };
        compared::differences(&mut self.loader, documents, &Compared::V3)
    }

    fn notes(&mut self, at: &str, notes: Vec<String>) {
        self.loader.warnings.extend(notes.into_iter().map(|text| Warning { at: at.to_owned(), text }));
    }
}

/// A node in a group.
enum Child {
    Group(Arc<Map>),
    Array(Arc<Map>),
    Broken(VariableError),
}

/// Whether a node is a group.
pub(in super::super) fn is_group(node: &Map) -> bool {
    node.get("node_type").and_then(Json::as_str) == Some("group")
}

fn kind(key: &str, node: &Map) -> Result<Kind, MetadataError> {
    let wrong = |reason: String| MetadataError::Metadata { key: key.to_owned(), reason };
    match node.get("zarr_format") {
        Some(version) if version.as_u64() == Some(3) => {}
        Some(other) => {
            return Err(MetadataError::FormatVersion {
                key: key.to_owned(),
                version: json::shortened(other),
            });
        }
        None => return Err(wrong("\"zarr_format\" is missing".to_owned())),
    }
    match node.get("node_type").map(Json::as_str) {
        Some(Some("group")) => Ok(Kind::Group),
        Some(Some("array")) => Ok(Kind::Array),
        Some(_) => Err(wrong("\"node_type\" is neither \"group\" nor \"array\"".to_owned())),
        None => Err(wrong("\"node_type\" is missing".to_owned())),
    }
}

fn known_keys(key: &str, node: &Map) -> Result<(), MetadataError> {
    const KNOWN: [&str; 4] = ["zarr_format", "node_type", "attributes", CONSOLIDATED];
    let unknown = node.iter().find(|(name, value)| !KNOWN.contains(&name.as_str()) && !may_be_ignored(value));
    match unknown {
        Some((name, _)) => Err(MetadataError::Metadata {
            key: key.to_owned(),
            reason: format!("the key {name:?} is not known here and not marked as one that may be ignored"),
        }),
        None => Ok(()),
    }
}
