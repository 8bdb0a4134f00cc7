//! Reads documents as a hierarchy.

use std::sync::Arc;

use ncz_model::json::{Json, Map};
use ncz_model::{
    Consolidated, Dimension, Format, Generation, Group, GroupDocuments, Hierarchy, MetadataError, Unreadable,
    Variable, VariableError, Warning, document_key, join_path, json, limits, names,
};

use super::array::{self, ArrayParts};
use super::consolidated;
use super::dimensions::Scope;
use super::loader::{LoadError, Loader};
use super::nczarr_object::{inside, nczarr_object};
use super::prefetch;
use super::v3;
use super::{ConsolidatedPolicy, Documents, ReadOptions, ZarrVersion};
use crate::metadata::document;
use ncz_model::masked;

/// Reads the metadata of a dataset (Zarr v2 and v3 core specifications; netcdf-c's NCZarr documents of every version).
///
/// A variable that cannot be read does not affect the others: it is listed in [`Group::unreadable`] with the reason.
///
/// # Errors
/// The store fails; there is no dataset, or one of each version of Zarr; or a document of a *group* is broken.
pub fn read(source: &dyn Documents, options: &ReadOptions) -> Result<Hierarchy, MetadataError> {
    let mut loader = Loader::new(source);
    loader.ask(first_documents(options))?;
    if options.version != Some(ZarrVersion::V2) {
        let node =
            loader.probe(document::ZARR_JSON).map_err(|error| error.of_dataset(document::ZARR_JSON))?;
        if let Some(node) = node {
            if options.version.is_none() {
                // With consolidated metadata of version 3, one more document may cost more than the dataset.
                let all = options.consolidated != ConsolidatedPolicy::Prefer || !v3::is_consolidated(&node);
                refuse_both(&mut loader, if all { &VERSION2 } else { &[document::ZMETADATA] })?;
            }
            return v3::read(loader, node, options);
        }
        if options.version == Some(ZarrVersion::V3) {
            refuse_both(&mut loader, &VERSION2).map_err(|error| match error {
                MetadataError::Ambiguous { v2 } => MetadataError::OtherVersion { expected: 3, found: v2 },
                error => error,
            })?;
            return Err(loader.nothing());
        }
    }
    let mut reader =
        Reader { loader, scope: Scope::default(), generation: None, consolidated: Consolidated::Absent };
    reader.start(options)?;
    let (root, root_array) = reader.root(options)?;
    let nc_properties = root
        .documents
        .zattrs
        .as_ref()
        .and_then(|zattrs| zattrs.get("_NCProperties"))
        .and_then(Json::as_str)
        .map(str::to_owned);
    if options.consolidated == ConsolidatedPolicy::Compare && reader.loader.reads_documents() {
        reader.consolidated = consolidated::compare(&mut reader.loader);
    }
    let consolidated = reader.consolidated;
    let format = match reader.generation {
        Some(generation) => Format::Nczarr(generation),
        None => Format::Zarr2,
    };
    let warnings = reader.loader.warnings;
    let mut hierarchy = Hierarchy {
        format,
        root,
        nc_properties,
        hdf5: None,
        consolidated,
        root_array,
        xarray: true,
        warnings,
    };
    hierarchy.xarray = names_for_xarray(&hierarchy);
    if format == Format::Zarr2 {
        masked::mark(&mut hierarchy);
    }
    Ok(hierarchy)
}

struct Reader<'a> {
    loader: Loader<'a>,
    scope: Scope,
    generation: Option<Generation>,
    consolidated: Consolidated,
}

/// A `.zmetadata` with documents, or the error that prevents their use.
type Consolidation = Result<Arc<Map>, MetadataError>;

/// The key of a document that could not be loaded, and the error.
type LoadFailure = (String, super::loader::LoadError);

/// The parts of a group's documents.
struct GroupParts {
    documents: GroupDocuments,
    /// NCZarr's object for the group, from the document of its generation.
    info: Option<Arc<Map>>,
    types: Option<Map>,
}

impl Reader<'_> {
    /// Chooses between the documents and `.zmetadata`. If the root has no other document, only `.zmetadata` is read.
    fn start(&mut self, options: &ReadOptions) -> Result<(), MetadataError> {
        let mut unused = None;
        if options.consolidated.uses_them() {
            let prefer = options.consolidated == ConsolidatedPolicy::Prefer;
            match self.zmetadata()? {
                None => {}
                Some(Ok(zmetadata)) => {
                    if prefer {
                        let documents = consolidated::documents(&zmetadata)?;
                        unused = consolidated::outdated(&mut self.loader, documents)?;
                    }
                    if unused.is_none() {
                        self.read_only_from(zmetadata);
                        return Ok(());
                    }
                }
                Some(Err(error)) if prefer => unused = Some(consolidated::unusable(&error)),
                Some(Err(error)) => return Err(error),
            }
            if !prefer {
                return Ok(());
            }
        }
        self.loader.ask([document::ZGROUP, document::ZATTRS])?;
        for key in [document::ZGROUP, document::ZARRAY, document::ZATTRS, document::NCZARR] {
            if self.probed(key)?.is_some() {
                if let Some(text) = unused {
                    self.loader.warn(document::ZMETADATA, text);
                    self.consolidated = Consolidated::Stale;
                }
                return Ok(());
            }
        }
        if options.consolidated != ConsolidatedPolicy::Ignore
            && let Some(zmetadata) = self.zmetadata()?
        {
            self.read_only_from(zmetadata?);
        }
        Ok(())
    }

    /// Returns the documents in `.zmetadata`, if it exists; the outer error is that of the store.
    fn zmetadata(&mut self) -> Result<Option<Consolidation>, MetadataError> {
        match self.loader.probe(document::ZMETADATA) {
            Ok(zmetadata) => Ok(zmetadata
                .map(|zmetadata| consolidated::documents(&zmetadata).map(|_| ()).map(|()| zmetadata))),
            Err(LoadError::Store(error)) => Err(error),
            Err(error) => Ok(Some(Err(error.of_dataset(document::ZMETADATA)))),
        }
    }

    fn read_only_from(&mut self, zmetadata: Arc<Map>) {
        self.loader.read_only_from_zmetadata(zmetadata);
        self.consolidated = Consolidated::Only;
    }

    fn root(&mut self, options: &ReadOptions) -> Result<(Group, bool), MetadataError> {
        let zgroup = self.probed(document::ZGROUP)?;
        let zarray = if zgroup.is_none() { self.probed(document::ZARRAY)? } else { None };
        if let Some(zarray) = zarray {
            let name = options.root_array_name.clone().unwrap_or_else(|| "data".to_owned());
            if self.loader.is_hidden(document::ZATTRS) {
                self.loader.warn(
                    &join_path("/", &name),
                    "its attributes, if it has any, are left out: the service denies access to .zattrs, as services \
                     also do for objects that do not exist if listing is not allowed",
                );
            }
            return self.root_array(&name, zarray).map(|group| (group, true));
        }
        let zattrs = match zgroup {
            Some(_) => self.loader.required(document::ZATTRS)?,
            None => self.probed(document::ZATTRS)?,
        };
        let has = |document: Option<&Map>, key| document.is_some_and(|document| document.contains_key(key));
        let named = has(zattrs.as_deref(), "_nczarr_superblock")
            || has(zgroup.as_deref(), "_nczarr_superblock")
            || has(zgroup.as_deref(), "_NCZARR_SUPERBLOCK");
        let nczarr = if options.pure || named { None } else { self.probed(document::NCZARR)? };
        if zgroup.is_none() && zattrs.is_none() && nczarr.is_none() {
            let is_v3 = options.version == Some(ZarrVersion::V2)
                && self.loader.object(document::ZARR_JSON).is_ok_and(|found| found.is_some());
            return Err(match is_v3 {
                true => MetadataError::OtherVersion { expected: 2, found: document::ZARR_JSON },
                false => self.loader.nothing(),
            });
        }
        if let Some(zgroup) = &zgroup {
            group_version(document::ZGROUP, zgroup)?;
        }
        if !options.pure {
            self.generation = generation(zgroup.as_deref(), zattrs.as_deref(), nczarr.as_deref())?;
        }
        prefetch::version2(&mut self.loader, self.generation)?;
        self.group(String::new(), "/".to_owned(), 0).map(|group| (group, false))
    }

    /// A document of the root that need not exist.
    fn probed(&mut self, key: &str) -> Result<Option<Arc<Map>>, MetadataError> {
        self.loader.probe(key).map_err(|error| error.of_dataset(key))
    }

    fn root_array(&mut self, name: &str, zarray: Arc<Map>) -> Result<Group, MetadataError> {
        let mut group = Group::new_root();
        self.scope.enter("/", Vec::new());
        let path = join_path("/", name);
        match self.array_of(name, &path, "", zarray)? {
            Ok(parsed) => match self.scope.resolve(parsed) {
                Ok((variable, notes)) => {
                    self.notes(&path, notes);
                    group.variables.push(variable);
                }
                Err(reason) => {
                    group.unreadable.push(Unreadable { name: name.to_owned(), path, position: 0, reason })
                }
            },
            Err(reason) => {
                group.unreadable.push(Unreadable { name: name.to_owned(), path, position: 0, reason })
            }
        }
        group.dimensions = self.scope.leave();
        Ok(group)
    }

    fn group(&mut self, name: String, path: String, depth: usize) -> Result<Group, MetadataError> {
        if depth > limits::GROUP_DEPTH {
            let reason = format!("groups are nested deeper than {}", limits::GROUP_DEPTH);
            return Err(MetadataError::Metadata { key: path, reason });
        }
        let parts = self.group_parts(&path)?;
        let mut notes = Vec::new();
        let dimensions = parts.info.as_ref().map(|info| dimensions(info, &mut notes)).unwrap_or_default();
        let attributes =
            array::attributes(parts.documents.zattrs.as_deref(), parts.types.as_ref(), None, &mut notes);
        self.notes(&path, notes);
        self.scope.enter(&path, dimensions);
        let (arrays, groups) = self.content(&path, parts.info.as_deref())?;

        let mut group = Group::new(name, path);
        group.documents = parts.documents;
        group.attributes = attributes;
        for (position, name) in arrays.into_iter().enumerate() {
            self.variable(&mut group, name, position)?;
        }
        for name in groups {
            let path = join_path(&group.path, &name);
            let exists = self.loader.required(&document_key(&path, document::ZGROUP))?.is_some()
                || self.loader.required(&document_key(&path, document::ZATTRS))?.is_some()
                || self.generation == Some(Generation::Objects)
                    && self.loader.required(&document_key(&path, document::NCZGROUP))?.is_some();
            if exists {
                group.groups.push(self.group(name, path, depth + 1)?);
            } else {
                self.loader
                    .warn(&path, "its parent group lists this group, but it has no .zgroup; it is left out");
            }
        }
        group.dimensions = self.scope.leave();
        Ok(group)
    }

    fn group_parts(&mut self, path: &str) -> Result<GroupParts, MetadataError> {
        let key = document_key(path, document::ZGROUP);
        let zgroup = self.loader.required(&key)?;
        if let Some(zgroup) = &zgroup {
            group_version(&key, zgroup)?;
        }
        let zattrs = self.loader.required(&document_key(path, document::ZATTRS))?;
        let (info, types) = match self.generation {
            None => (None, None),
            Some(Generation::Objects) => (
                self.loader.required(&document_key(path, document::NCZGROUP))?,
                types_of(self.objects_types(path).map_err(|(key, error)| error.of_dataset(&key))?.as_deref())
                    .cloned(),
            ),
            Some(_) => (
                nczarr_object("group", zattrs.as_deref(), zgroup.as_deref()).cloned().map(Arc::new),
                types_of(nczarr_object("attr", zattrs.as_deref(), None)).cloned(),
            ),
        };
        if self.generation.is_some() && info.is_none() {
            self.loader.warn(path, "it has no NCZarr entry; its content is read from the store's listing");
        }
        Ok(GroupParts { documents: GroupDocuments { zgroup, zattrs, zarr_json: None }, info, types })
    }

    /// The names of the arrays and groups inside: as NCZarr lists them, else as the store lists them.
    fn content(
        &mut self,
        path: &str,
        info: Option<&Map>,
    ) -> Result<(Vec<String>, Vec<String>), MetadataError> {
        if let Some(info) = info {
            let (arrays, groups) = inside(info);
            for name in &groups {
                if let Some(reason) = names::broken_key_rule(name) {
                    let reason = format!("the group name {name:?} cannot be part of a key: {reason}");
                    return Err(MetadataError::Metadata {
                        key: document_key(path, document::ZATTRS),
                        reason,
                    });
                }
            }
            return Ok((arrays, groups));
        }
        let prefix = path.trim_matches('/').to_owned();
        let (mut arrays, mut groups) = (Vec::new(), Vec::new());
        for name in self.loader.children(&prefix)?.into_iter().filter(|name| name != document::ZARR_JSON) {
            let child = join_path(path, &name);
            let key = document_key(&child, document::ZARRAY);
            match self.loader.object(&key) {
                Ok(Some(_)) => arrays.push(name),
                Ok(None) => {
                    if self.loader.required(&document_key(&child, document::ZGROUP))?.is_some() {
                        groups.push(name);
                    } else if self.loader.is_there(&document_key(&child, document::ZARR_JSON))? {
                        let text =
                            "it has Zarr version 3 (zarr.json) inside a group of version 2; it is left out";
                        self.loader.warn(&child, text);
                    }
                }
                // A broken .zarray is still an array; reading it again reports the error.
                Err(error) => {
                    error.of_variable(&key)?;
                    arrays.push(name);
                }
            }
        }
        Ok((arrays, groups))
    }

    fn variable(&mut self, group: &mut Group, name: String, position: usize) -> Result<(), MetadataError> {
        let path = join_path(&group.path, &name);
        let parsed = match names::broken_key_rule(&name) {
            Some(reason) => Err(VariableError::Name { reason }),
            None => {
                let key = document_key(&path, document::ZARRAY);
                match self.loader.object(&key) {
                    Ok(Some(zarray)) => self.array_of(&name, &path, path.trim_matches('/'), zarray)?,
                    Ok(None) => Err(VariableError::Missing { key }),
                    Err(error) => Err(error.of_variable(&key)?),
                }
            }
        };
        match parsed.and_then(|parsed| self.scope.resolve(parsed)) {
            Ok((variable, notes)) => {
                self.notes(&path, notes);
                group.variables.push(variable);
            }
            Err(reason) => group.unreadable.push(Unreadable { name, path, position, reason }),
        }
        Ok(())
    }

    /// Reads an array. The outer error is the store's, the inner error is the variable's.
    fn array_of(
        &mut self,
        name: &str,
        path: &str,
        key: &str,
        zarray: Arc<Map>,
    ) -> Result<Result<array::Parsed, VariableError>, MetadataError> {
        let attributes_key = document_key(key, document::ZATTRS);
        let zattrs = match key {
            // Whether access is denied was checked before.
            "" => self.loader.probe(&attributes_key),
            _ => self.loader.object(&attributes_key),
        };
        let zattrs = match zattrs {
            Ok(zattrs) => zattrs,
            Err(error) => return error.of_variable(&attributes_key).map(Err),
        };
        let (mut own_info, mut own_types) = (None, None);
        if self.generation == Some(Generation::Objects) {
            let own = self.objects_info(key).and_then(|info| Ok((info, self.objects_types(key)?)));
            match own {
                Ok(own) => (own_info, own_types) = own,
                Err((key, error)) => return error.of_variable(&key).map(Err),
            }
        }
        let (info, types) = match self.generation {
            None => (None, None),
            Some(Generation::Objects) => (own_info.as_deref(), types_of(own_types.as_deref())),
            Some(_) => (
                nczarr_object("array", zattrs.as_deref(), Some(&zarray)),
                types_of(nczarr_object("attr", zattrs.as_deref(), None)),
            ),
        };
        let generation = self.generation;
        let zattrs = zattrs.as_ref();
        Ok(array::parse(ArrayParts { name, path, key, zarray: &zarray, zattrs, info, types, generation }))
    }

    /// `.nczvar`, which some versions of netcdf-c's code name `.nczarray`.
    fn objects_info(&mut self, path: &str) -> Result<Option<Arc<Map>>, LoadFailure> {
        self.first_of(path, [document::NCZVAR, ".nczarray"])
    }

    /// `.nczattr`, which some versions of netcdf-c's code name `.nczattrs`.
    fn objects_types(&mut self, path: &str) -> Result<Option<Arc<Map>>, LoadFailure> {
        self.first_of(path, [document::NCZATTR, ".nczattrs"])
    }

    fn first_of(&mut self, path: &str, names: [&str; 2]) -> Result<Option<Arc<Map>>, LoadFailure> {
        for name in names {
            let key = document_key(path, name);
            match self.loader.object(&key) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => return Err((key, error)),
            }
        }
        Ok(None)
    }

    fn notes(&mut self, at: &str, notes: Vec<String>) {
        self.loader.warnings.extend(notes.into_iter().map(|text| Warning { at: at.to_owned(), text }));
    }
}

/// Whether any variable names its dimensions in `_ARRAY_DIMENSIONS`, or there are no variables.
fn names_for_xarray(hierarchy: &Hierarchy) -> bool {
    let named = |variable: &Variable| {
        variable.documents.zattrs.as_deref().is_some_and(|zattrs| zattrs.contains_key("_ARRAY_DIMENSIONS"))
    };
    hierarchy.variables().next().is_none() || hierarchy.variables().any(named)
}

/// The documents that are requested first.
fn first_documents(options: &ReadOptions) -> Vec<&'static str> {
    let version2: &[&str] = match options.consolidated {
        ConsolidatedPolicy::Only | ConsolidatedPolicy::Prefer => &[document::ZMETADATA],
        ConsolidatedPolicy::Compare => &[document::ZGROUP, document::ZATTRS, document::ZMETADATA],
        ConsolidatedPolicy::Ignore => &[document::ZGROUP, document::ZATTRS],
    };
    match options.version {
        Some(ZarrVersion::V2) => version2.to_vec(),
        Some(ZarrVersion::V3) => vec![document::ZARR_JSON],
        None => [&[document::ZARR_JSON], version2].concat(),
    }
}

/// The documents that make a root one of version 2.
const VERSION2: [&str; 3] = [document::ZGROUP, document::ZARRAY, document::ZMETADATA];

/// Refuses a root that has both a `zarr.json` and one of these documents of version 2.
fn refuse_both(loader: &mut Loader<'_>, version2: &[&'static str]) -> Result<(), MetadataError> {
    loader.ask(version2.iter().copied())?;
    for &v2 in version2 {
        if loader.is_there(v2)? {
            return Err(MetadataError::Ambiguous { v2 });
        }
    }
    Ok(())
}

/// The generation of NCZarr of the root's documents; `None` for pure Zarr.
fn generation(
    zgroup: Option<&Map>,
    zattrs: Option<&Map>,
    nczarr: Option<&Map>,
) -> Result<Option<Generation>, MetadataError> {
    let places = [
        (zattrs, "_nczarr_superblock", document::ZATTRS, Generation::Attributes),
        (zgroup, "_nczarr_superblock", document::ZGROUP, Generation::LowerCase),
        (zgroup, "_NCZARR_SUPERBLOCK", document::ZGROUP, Generation::UpperCase),
    ];
    for (document, name, key, generation) in places {
        let Some(superblock) = document.and_then(|document| document.get(name)) else { continue };
        nczarr_version(key, superblock.get("version"), "2")?;
        return Ok(Some(generation));
    }
    let Some(nczarr) = nczarr else { return Ok(None) };
    nczarr_version(document::NCZARR, nczarr.get("nczarr_version"), "1")?;
    Ok(Some(Generation::Objects))
}

fn nczarr_version(key: &str, version: Option<&Json>, supported: &str) -> Result<(), MetadataError> {
    let text = version.and_then(Json::as_str).unwrap_or_default();
    let major: String = text.chars().take_while(char::is_ascii_digit).collect();
    if major == supported {
        return Ok(());
    }
    let version = version.map_or_else(|| "none".to_owned(), json::to_text);
    let reason =
        format!("NCZarr version {version} is not supported; read it as pure Zarr or with a newer ncz");
    Err(MetadataError::Metadata { key: key.to_owned(), reason })
}

fn group_version(key: &str, zgroup: &Map) -> Result<(), MetadataError> {
    match zgroup.get("zarr_format") {
        Some(version) if version.as_u64() == Some(2) => Ok(()),
        Some(other) => {
            Err(MetadataError::FormatVersion { key: key.to_owned(), version: json::to_text(other) })
        }
        None => Err(MetadataError::Metadata {
            key: key.to_owned(),
            reason: "\"zarr_format\" is missing".to_owned(),
        }),
    }
}

fn types_of(object: Option<&Map>) -> Option<&Map> {
    object?.get("types")?.as_object()
}

fn dimensions(info: &Map, notes: &mut Vec<String>) -> Vec<Dimension> {
    let Some(entries) = info.get("dimensions").or_else(|| info.get("dims")).and_then(Json::as_object) else {
        return Vec::new();
    };
    let mut dimensions = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        let (len, unlimited) = match entry {
            Json::Object(entry) => {
                (entry.get("size").and_then(Json::as_u64), entry.get("unlimited").is_some_and(is_set))
            }
            len => (len.as_u64(), false),
        };
        match len {
            Some(len) => dimensions.push(Dimension { name: name.clone(), len, unlimited, anonymous: false }),
            None => notes.push(format!("the dimension {name:?} has no length and is left out")),
        }
    }
    dimensions
}

fn is_set(flag: &Json) -> bool {
    flag.as_bool() == Some(true) || flag.as_u64().is_some_and(|number| number != 0)
}
