//! The metadata documents of a dataset, whether or not it opens: what is wrong with them, and their repaired texts.

mod notes;
mod text;
mod zarray;
mod zattrs;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use ncz_model::json::{Json, Map, json};
use ncz_model::{ByteOrder, Consolidated, DataError, Generation, ShuffleReading, json, limits};
use ncz_store::{
    Depth, EntryKind, Key, Prefix, ReadRange, ReadRequest, Store, StoreError, StoreExt, Visited,
};
use ncz_zarr::metadata;
use ncz_zarr::metadata::document;
use ncz_zarr::metadata::{ConsolidatedPolicy, ReadOptions};

use self::notes::Notes;
use self::zarray::Context;
use crate::finding::{Code, Finding, Remedy, Severity};

/// Documents of one folder.
const NAMES: [&str; 10] = [
    document::ZGROUP,
    document::ZARRAY,
    document::ZATTRS,
    document::ZARR_JSON,
    document::NCZARR,
    document::NCZGROUP,
    document::NCZVAR,
    document::NCZARRAY,
    document::NCZATTR,
    document::NCZATTRS,
];

/// What only the user can decide.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// How to read a shuffle whose element size netcdf-c and numcodecs interpret differently.
    pub shuffle: ShuffleReading,
    /// The byte order of variables, by path, whose metadata have none or a doubtful one.
    pub byte_orders: BTreeMap<String, ByteOrder>,
    /// How to read the dataset after its documents are repaired.
    pub read: ReadOptions,
}

/// A fault and what is done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The fault.
    pub finding: Finding,
    /// What is done, as a sentence without subject.
    pub action: String,
}

/// What is wrong with the documents of a dataset.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    /// What is repaired, and how.
    pub(crate) steps: Vec<Step>,
    /// What is not.
    pub(crate) left: Vec<Finding>,
    /// Documents that change: before and after.
    pub(crate) changed: BTreeMap<String, (Vec<u8>, Vec<u8>)>,
}

/// One document.
struct Document {
    bytes: Vec<u8>,
    /// Its content after repairs; `None` if it cannot be read.
    object: Option<Map>,
    changed: bool,
}

/// What is wrong with the documents of a dataset, whether or not it opens; chunks are not examined.
///
/// # Errors
/// The store fails.
pub fn survey(store: &dyn Store, choices: &Choices) -> Result<Vec<Finding>, DataError> {
    let Examined { steps, mut left, .. } = examine(store, choices)?;
    let mut findings: Vec<Finding> = steps.into_iter().map(|step| step.finding).collect();
    findings.append(&mut left);
    Ok(findings)
}

/// Looks at all documents in a store.
///
/// # Errors
/// The store fails. Faults of documents are not errors.
pub(crate) fn examine(store: &dyn Store, choices: &Choices) -> Result<Examined, DataError> {
    let failed = |source| DataError::Store { store: store.to_string(), source };
    let mut examined = Examined::default();
    let mut documents = BTreeMap::new();
    let found = find(store, &mut examined).map_err(failed)?;
    let keys: BTreeSet<String> = found.keys().cloned().collect();
    for (key, bytes) in found {
        let document = parse(&key, variable_of(&key, &keys), bytes, &mut examined);
        documents.insert(key, document);
    }
    let zmetadata = read(store, document::ZMETADATA, &mut examined).map_err(failed)?;
    // Without documents at the root, there are only consolidated ones.
    let is_alone = zmetadata.is_some() && !NAMES.iter().any(|name| documents.contains_key(*name));
    if let (true, Some(bytes)) = (is_alone, &zmetadata) {
        repair_consolidated_only(bytes, choices, &mut examined);
        return Ok(examined);
    }
    repair(&mut documents, choices, &mut examined);
    let before = originals(&documents);
    for (key, document) in &documents {
        if let (true, Some(object)) = (document.changed, &document.object) {
            let text = json::to_text_lenient(&Json::from(object.clone())).into_bytes();
            examined.changed.insert(key.clone(), (document.bytes.clone(), text));
        }
    }
    if let Some(bytes) = zmetadata {
        consolidated(&documents, before, bytes, &mut examined);
    }
    Ok(examined)
}

/// All documents: those of the root, and of all arrays and groups below it. Those of one level are requested together,
/// which remote stores answer in one round trip.
fn find(store: &dyn Store, examined: &mut Examined) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let mut found = BTreeMap::new();
    let mut level = vec![String::new()];
    let mut visited = Visited::default();
    for _ in 0..=limits::GROUP_DEPTH {
        let names = |folder| NAMES.map(|name| beside(folder, name));
        let keys: Vec<String> = level.iter().flat_map(|folder| names(folder)).collect();
        found.extend(read_all(store, &keys, examined)?);
        let mut next = Vec::new();
        for folder in &level {
            // Only chunks are below an array.
            let is_array = found.contains_key(&beside(folder, document::ZARRAY))
                || found.get(&beside(folder, document::ZARR_JSON)).is_some_and(|bytes| is_array_of_v3(bytes));
            let is_group = folder.is_empty() || names(folder).iter().any(|key| found.contains_key(key));
            if is_array || !is_group {
                continue;
            }
            let prefix = if folder.is_empty() { Prefix::ROOT } else { Prefix::parse(folder)? };
            visited.enter(store, prefix)?;
            let below = store.list(prefix, Depth::One, limits::CHILDREN)?.entries;
            let folders = below.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
            next.extend(folders.map(|entry| entry.key.as_str().to_owned()));
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Ok(found)
}

fn is_array_of_v3(bytes: &[u8]) -> bool {
    object_of(bytes).is_some_and(|object| object.get("node_type").and_then(Json::as_str) == Some("array"))
}

/// Those of the documents that exist.
fn read_all(
    store: &dyn Store,
    keys: &[String],
    examined: &mut Examined,
) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    // What is too long for a key does not exist.
    let keys: Vec<Key<'_>> = keys.iter().filter_map(|key| Key::parse(key).ok()).collect();
    let mut requests = Vec::with_capacity(keys.len());
    for &key in &keys {
        let max_len = document::max_bytes(key.as_str()) as u64;
        requests.push(ReadRequest { key, range: ReadRange::All, max_len });
    }
    let answers = Mutex::new(BTreeMap::new());
    store.read_many(&requests, &|index, answer| {
        let answer = answer.map(|bytes| bytes.map(<[u8]>::to_vec));
        answers.lock().unwrap_or_else(PoisonError::into_inner).insert(index, answer);
        ControlFlow::Continue(())
    });
    let mut found = Vec::new();
    for (index, answer) in answers.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let Some(key) = keys.get(index) else { continue };
        if let Some(bytes) = sound(key.as_str(), answer, examined)? {
            found.push((key.as_str().to_owned(), bytes));
        }
    }
    Ok(found)
}

/// The key of a document in a folder.
fn beside(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn read(store: &dyn Store, key: &str, examined: &mut Examined) -> Result<Option<Vec<u8>>, StoreError> {
    let answer = store.read_vec(Key::parse(key)?, document::max_bytes(key) as u64);
    sound(key, answer, examined)
}

/// The bytes of a document; one that cannot be had as a whole is a finding.
fn sound(
    key: &str,
    answer: Result<Option<Vec<u8>>, StoreError>,
    examined: &mut Examined,
) -> Result<Option<Vec<u8>>, StoreError> {
    match answer {
        Err(error @ (StoreError::TooLarge { .. } | StoreError::NotAnObject { .. })) => {
            let finding = Finding::new(Severity::Error, Code::DocumentDamaged, error.to_string());
            examined.left.push(finding.key(key));
            Ok(None)
        }
        other => other,
    }
}

/// Parses a document; one followed by the end of an older one is cut.
fn parse(key: &str, variable: Option<String>, bytes: Vec<u8>, examined: &mut Examined) -> Document {
    let mut notes = Notes::new(key, variable.as_deref());
    let mut changed = false;
    let mut object = object_of(&bytes);
    if object.is_none() {
        let end = text::object_end(&bytes).unwrap_or(bytes.len());
        let (head, tail) = bytes.split_at(end);
        let has_tail = tail.iter().any(|byte| !byte.is_ascii_whitespace());
        let quoted = || text::quoted(head).and_then(|quoted| object_of(&quoted));
        if !has_tail || text::is_older_end(tail) {
            object = object_of(head).or_else(quoted);
        }
        if object.is_some() && has_tail {
            let reason = format!(
                "{} bytes of an older document follow its end: netcdf-c wrote a shorter one over it in place",
                tail.len()
            );
            notes.repaired(
                Severity::Error,
                Code::DocumentTail,
                reason,
                format!("it is cut after byte {end}"),
            );
        }
        changed = object.is_some();
        if object.is_none() {
            let reason = match json::parse(&bytes) {
                Err(error) => format!("it is not valid JSON: {error}"),
                Ok(_) => "it is not a JSON object".to_owned(),
            };
            notes.left(Severity::Error, Code::DocumentDamaged, reason, None);
        }
    }
    examined.steps.append(&mut notes.steps);
    examined.left.append(&mut notes.left);
    Document { bytes, object, changed }
}

fn object_of(bytes: &[u8]) -> Option<Map> {
    json::parse(bytes).ok()?.value.into_object()
}

/// Repairs the documents of arrays and groups.
fn repair(documents: &mut BTreeMap<String, Document>, choices: &Choices, examined: &mut Examined) {
    let generation = generation(documents);
    if let Some(old @ (Generation::Objects | Generation::UpperCase)) = generation {
        let by = if old == Generation::Objects { "4.8.0" } else { "4.8.1 or 4.9.0" };
        let reason = format!(
            "it has the metadata of netcdf-c {by}, of which newer versions lose the names of dimensions"
        );
        examined.left.push(Finding::new(Severity::Warning, Code::OldGeneration, reason).remedy(Remedy::Copy));
    }
    let keys: Vec<String> = documents.keys().cloned().collect();
    for key in keys {
        let (folder, name) = key.rsplit_once('/').map_or(("", key.as_str()), |(folder, name)| (folder, name));
        let is_array = documents.contains_key(&beside(folder, document::ZARRAY));
        let path = (is_array && !folder.is_empty()).then(|| format!("/{folder}"));
        let has_fill_attribute = documents.get(&beside(folder, document::ZATTRS)).is_some_and(|zattrs| {
            zattrs.object.as_ref().is_none_or(|zattrs| zattrs.contains_key("_FillValue"))
        });
        let context = Context { generation, has_fill_attribute };
        let Some(document) = documents.get_mut(&key) else { continue };
        let Some(object) = &mut document.object else { continue };
        let mut notes = Notes::new(&key, path.as_deref());
        let mut understood = true;
        match name {
            document::ZARRAY => zarray::repair(object, &context, choices, &mut notes),
            // The first generation keeps its type entries elsewhere.
            document::ZATTRS if generation != Some(Generation::Objects) => {
                understood = zattrs::repair(object, generation.is_some(), &mut notes);
            }
            _ => understood = !json::to_text(&Json::from(object.clone())).contains(text::MARK),
        }
        if !understood {
            let reason = "it has bare words that are not valid JSON, and their meaning is not known";
            notes.left(Severity::Error, Code::DocumentDamaged, reason, None);
            notes.steps.clear();
            document.object = None;
            document.changed = false;
            examined.steps.retain(|step| step.finding.key.as_ref() != Some(&key));
        }
        document.changed |= !notes.steps.is_empty();
        examined.steps.append(&mut notes.steps);
        examined.left.append(&mut notes.left);
    }
}

fn generation(documents: &BTreeMap<String, Document>) -> Option<Generation> {
    let has = |key: &str, name: &str| {
        documents
            .get(key)
            .and_then(|document| document.object.as_ref())
            .is_some_and(|object| object.contains_key(name))
    };
    match () {
        () if has(document::ZATTRS, "_nczarr_superblock") => Some(Generation::Attributes),
        () if has(document::ZGROUP, "_nczarr_superblock") => Some(Generation::LowerCase),
        () if has(document::ZGROUP, "_NCZARR_SUPERBLOCK") => Some(Generation::UpperCase),
        () if documents.contains_key(document::NCZARR) => Some(Generation::Objects),
        () => None,
    }
}

/// The variable of a document: that of an array's folder, which is not the root.
fn variable_of(key: &str, keys: &BTreeSet<String>) -> Option<String> {
    let (folder, _) = key.rsplit_once('/')?;
    keys.contains(&beside(folder, document::ZARRAY)).then(|| format!("/{folder}"))
}

/// Repairs `.zmetadata` if there are no other documents.
fn repair_consolidated_only(bytes: &[u8], choices: &Choices, examined: &mut Examined) {
    let zmetadata = parse(document::ZMETADATA, None, bytes.to_vec(), examined);
    let Some(mut object) = zmetadata.object else { return };
    let Some(metadata) = object.get("metadata").and_then(Json::as_object) else { return };
    let mut documents: BTreeMap<String, Document> = metadata
        .iter()
        .filter_map(|(key, value)| {
            let object = value.as_object()?.clone();
            Some((key.clone(), Document { bytes: Vec::new(), object: Some(object), changed: false }))
        })
        .collect();
    repair(&mut documents, choices, examined);
    if zmetadata.changed || documents.values().any(|document| document.changed) {
        let mut metadata = metadata.clone();
        for (key, document) in documents {
            if let Some(object) = document.object {
                metadata.insert(key, Json::from(object));
            }
        }
        object.insert("metadata".to_owned(), Json::from(metadata));
        let text = json::to_text_lenient(&Json::from(object)).into_bytes();
        examined.changed.insert(document::ZMETADATA.to_owned(), (bytes.to_vec(), text));
    }
}

fn originals(documents: &BTreeMap<String, Document>) -> BTreeMap<String, Vec<u8>> {
    documents.iter().map(|(key, document)| (key.clone(), document.bytes.clone())).collect()
}

/// Makes `.zmetadata` agree with the documents, if all of them can be had.
fn consolidated(
    documents: &BTreeMap<String, Document>,
    before: BTreeMap<String, Vec<u8>>,
    bytes: Vec<u8>,
    examined: &mut Examined,
) {
    let mut notes = Notes::new(document::ZMETADATA, None);
    let was_stale = is_stale(before.clone(), &bytes);
    let mut after = before;
    after.extend(examined.changed.iter().map(|(key, (_, new))| (key.clone(), new.clone())));
    if is_stale(after, &bytes) == Some(true) {
        let (severity, reason) = match was_stale {
            Some(false) => (Severity::Note, "it is updated with the repaired documents"),
            _ => (
                Severity::Warning,
                "it differs from the documents: a program that did not know of it changed them, and those that trust it \
                 read old metadata",
            ),
        };
        if documents.values().all(|document| document.object.is_some()) {
            let mut object = object_of(&bytes).unwrap_or_default();
            let metadata: Map = documents
                .iter()
                .filter(|(key, _)| {
                    matches!(
                        key.rsplit('/').next(),
                        Some(document::ZGROUP | document::ZARRAY | document::ZATTRS)
                    )
                })
                .filter_map(|(key, document)| Some((key.clone(), Json::from(document.object.clone()?))))
                .collect();
            object.insert("metadata".to_owned(), Json::from(metadata));
            object.insert("zarr_consolidated_format".to_owned(), json!(1));
            let text = json::to_text_lenient(&Json::from(object)).into_bytes();
            notes.repaired(
                severity,
                Code::ConsolidatedStale,
                reason,
                "it is written again from the documents",
            );
            examined.changed.insert(document::ZMETADATA.to_owned(), (bytes, text));
        } else {
            notes.left(Severity::Warning, Code::ConsolidatedStale, reason, None);
        }
    }
    examined.steps.append(&mut notes.steps);
    examined.left.append(&mut notes.left);
}

/// Whether `.zmetadata` differs from documents; `None`: these cannot be read.
fn is_stale(mut documents: BTreeMap<String, Vec<u8>>, zmetadata: &[u8]) -> Option<bool> {
    documents.insert(document::ZMETADATA.to_owned(), zmetadata.to_vec());
    let options = ReadOptions { consolidated: ConsolidatedPolicy::Compare, ..ReadOptions::default() };
    Some(metadata::read(&documents, &options).ok()?.consolidated == Consolidated::Stale)
}

/// Whether a variable is declared big-endian by a version of netcdf-c with a bug in byte orders.
pub(crate) fn is_big_by_choice(store: &dyn Store, path: &str) -> Result<bool, DataError> {
    let examined = examine(store, &Choices::default())?;
    Ok(examined
        .left
        .iter()
        .any(|finding| finding.code == Code::ByteOrderDoubtful && finding.variable.as_deref() == Some(path)))
}
