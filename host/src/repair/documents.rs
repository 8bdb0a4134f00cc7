//! All metadata documents of a dataset, whether or not it opens.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use ncz_nczarr::metadata::{ConsolidatedPolicy, ReadOptions};
use ncz_nczarr::{Consolidated, DataError, Generation, json, limits, metadata};
use ncz_store::{
    Depth, EntryKind, Key, Prefix, ReadRange, ReadRequest, Store, StoreError, StoreExt, Visited,
};
use serde_json::{Map, Value as Json, json};

use super::notes::Notes;
use super::zarray::Around;
use super::{Choices, Step, text, zarray, zattrs};
use crate::verify::{Code, Finding, Remedy, Severity};

/// Consolidated metadata.
const ZMETADATA: &str = ".zmetadata";

/// Documents of one folder.
const NAMES: [&str; 10] = [
    ".zgroup",
    ".zarray",
    ".zattrs",
    "zarr.json",
    ".nczarr",
    ".nczgroup",
    ".nczvar",
    ".nczarray",
    ".nczattr",
    ".nczattrs",
];

/// What is wrong with the documents of a dataset.
#[derive(Debug, Default)]
pub(super) struct Examined {
    /// What is mended, and how.
    pub(super) steps: Vec<Step>,
    /// What is not.
    pub(super) left: Vec<Finding>,
    /// Documents that change: before and after.
    pub(super) changed: BTreeMap<String, (Vec<u8>, Vec<u8>)>,
}

/// One document.
struct Document {
    bytes: Vec<u8>,
    /// What it says, once mended; `None`: it cannot be had.
    object: Option<Map<String, Json>>,
    changed: bool,
}

/// Looks at all documents in a store.
///
/// # Errors
/// The store fails. Whatever the documents hold is no error.
pub(super) fn examine(store: &dyn Store, choices: &Choices) -> Result<Examined, DataError> {
    let failed = |source| DataError::Store { store: store.to_string(), source };
    let mut examined = Examined::default();
    let mut documents = BTreeMap::new();
    let found = find(store, &mut examined).map_err(failed)?;
    let keys: BTreeSet<String> = found.keys().cloned().collect();
    for (key, bytes) in found {
        let document = parse(&key, variable_of(&key, &keys), bytes, &mut examined);
        documents.insert(key, document);
    }
    let zmetadata = read(store, ZMETADATA, &mut examined).map_err(failed)?;
    // Where no document stands at the root, the consolidated ones are all there are.
    let is_alone = zmetadata.is_some() && !NAMES.iter().any(|name| documents.contains_key(*name));
    if let (true, Some(bytes)) = (is_alone, &zmetadata) {
        mend_alone(bytes, choices, &mut examined);
        return Ok(examined);
    }
    mend(&mut documents, choices, &mut examined);
    let before = originals(&documents);
    for (key, document) in &documents {
        if let (true, Some(object)) = (document.changed, &document.object) {
            let text = json::to_text_lenient(&Json::Object(object.clone())).into_bytes();
            examined.changed.insert(key.clone(), (document.bytes.clone(), text));
        }
    }
    if let Some(bytes) = zmetadata {
        consolidated(&documents, before, bytes, &mut examined);
    }
    Ok(examined)
}

/// All documents: those of the root, and of all arrays and groups below it. Those of one level are asked for together,
/// which far stores answer in one round trip.
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
            // What is below an array are chunks, which are not wanted.
            let is_array = found.contains_key(&beside(folder, ".zarray"))
                || found.get(&beside(folder, "zarr.json")).is_some_and(|bytes| is_array_of_v3(bytes));
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
        let max_len = limits::document_bytes(key.as_str()) as u64;
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
    let answer = store.read_vec(Key::parse(key)?, limits::document_bytes(key) as u64);
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

/// Reads a document; one with an older end behind it is cut.
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
            notes.mended(
                Severity::Error,
                Code::DocumentTail,
                reason,
                format!("it is cut behind its byte {end}"),
            );
        }
        changed = object.is_some();
        if object.is_none() {
            let reason = match json::parse(&bytes) {
                Err(error) => format!("it is no JSON that can be read: {error}"),
                Ok(_) => "it is no JSON object".to_owned(),
            };
            notes.left(Severity::Error, Code::DocumentDamaged, reason, Remedy::None);
        }
    }
    examined.steps.append(&mut notes.steps);
    examined.left.append(&mut notes.left);
    Document { bytes, object, changed }
}

fn object_of(bytes: &[u8]) -> Option<Map<String, Json>> {
    match json::parse(bytes).ok()?.value {
        Json::Object(object) => Some(object),
        _ => None,
    }
}

/// Mends what the documents of arrays and groups say.
fn mend(documents: &mut BTreeMap<String, Document>, choices: &Choices, examined: &mut Examined) {
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
        let is_array = documents.contains_key(&beside(folder, ".zarray"));
        let path = (is_array && !folder.is_empty()).then(|| format!("/{folder}"));
        let has_fill_attribute = documents.get(&beside(folder, ".zattrs")).is_some_and(|zattrs| {
            zattrs.object.as_ref().is_none_or(|zattrs| zattrs.contains_key("_FillValue"))
        });
        let around = Around { generation, has_fill_attribute };
        let Some(document) = documents.get_mut(&key) else { continue };
        let Some(object) = &mut document.object else { continue };
        let mut notes = Notes::new(&key, path.as_deref());
        let mut understood = true;
        match name {
            ".zarray" => zarray::mend(object, &around, choices, &mut notes),
            // The first generation keeps its type entries elsewhere.
            ".zattrs" if generation != Some(Generation::Objects) => {
                understood = zattrs::mend(object, generation.is_some(), &mut notes);
            }
            _ => understood = !json::to_text(&Json::Object(object.clone())).contains(text::MARK),
        }
        if !understood {
            let reason = "it has bare words that are no JSON, and nothing says what they mean";
            notes.left(Severity::Error, Code::DocumentDamaged, reason, Remedy::None);
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
        () if has(".zattrs", "_nczarr_superblock") => Some(Generation::Attributes),
        () if has(".zgroup", "_nczarr_superblock") => Some(Generation::LowerCase),
        () if has(".zgroup", "_NCZARR_SUPERBLOCK") => Some(Generation::UpperCase),
        () if documents.contains_key(".nczarr") => Some(Generation::Objects),
        () => None,
    }
}

/// The variable of a document: that of an array's folder, which is not the root.
fn variable_of(key: &str, keys: &BTreeSet<String>) -> Option<String> {
    let (folder, _) = key.rsplit_once('/')?;
    keys.contains(&beside(folder, ".zarray")).then(|| format!("/{folder}"))
}

/// Mends what stands in `.zmetadata` where it is all there is.
fn mend_alone(bytes: &[u8], choices: &Choices, examined: &mut Examined) {
    let zmetadata = parse(ZMETADATA, None, bytes.to_vec(), examined);
    let Some(mut object) = zmetadata.object else { return };
    let Some(Json::Object(metadata)) = object.get("metadata") else { return };
    let mut documents: BTreeMap<String, Document> = metadata
        .iter()
        .filter_map(|(key, value)| {
            let object = value.as_object()?.clone();
            Some((key.clone(), Document { bytes: Vec::new(), object: Some(object), changed: false }))
        })
        .collect();
    mend(&mut documents, choices, examined);
    if zmetadata.changed || documents.values().any(|document| document.changed) {
        let mut metadata = metadata.clone();
        for (key, document) in documents {
            if let Some(object) = document.object {
                metadata.insert(key, Json::Object(object));
            }
        }
        object.insert("metadata".to_owned(), Json::Object(metadata));
        let text = json::to_text_lenient(&Json::Object(object)).into_bytes();
        examined.changed.insert(ZMETADATA.to_owned(), (bytes.to_vec(), text));
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
    let mut notes = Notes::new(ZMETADATA, None);
    let was_stale = is_stale(before.clone(), &bytes);
    let mut after = before;
    after.extend(examined.changed.iter().map(|(key, (_, new))| (key.clone(), new.clone())));
    if is_stale(after, &bytes) == Some(true) {
        let (severity, reason) = match was_stale {
            Some(false) => (Severity::Note, "it is to say what the documents say once they are mended"),
            _ => (
                Severity::Warning,
                "it differs from the documents: a program that did not know of it changed them, and those that trust it \
                 read old metadata",
            ),
        };
        if documents.values().all(|document| document.object.is_some()) {
            let mut object = object_of(&bytes).unwrap_or_default();
            let metadata: Map<String, Json> = documents
                .iter()
                .filter(|(key, _)| matches!(key.rsplit('/').next(), Some(".zgroup" | ".zarray" | ".zattrs")))
                .filter_map(|(key, document)| Some((key.clone(), Json::Object(document.object.clone()?))))
                .collect();
            object.insert("metadata".to_owned(), Json::Object(metadata));
            object.insert("zarr_consolidated_format".to_owned(), json!(1));
            let text = json::to_text_lenient(&Json::Object(object)).into_bytes();
            notes.mended(severity, Code::ConsolidatedStale, reason, "it is written anew from the documents");
            examined.changed.insert(ZMETADATA.to_owned(), (bytes, text));
        } else {
            notes.left(Severity::Warning, Code::ConsolidatedStale, reason, Remedy::None);
        }
    }
    examined.steps.append(&mut notes.steps);
    examined.left.append(&mut notes.left);
}

/// Whether `.zmetadata` differs from documents; `None`: these cannot be read.
fn is_stale(mut documents: BTreeMap<String, Vec<u8>>, zmetadata: &[u8]) -> Option<bool> {
    documents.insert(ZMETADATA.to_owned(), zmetadata.to_vec());
    let options = ReadOptions { consolidated: ConsolidatedPolicy::Compare, ..ReadOptions::default() };
    Some(metadata::read(&documents, &options).ok()?.consolidated == Consolidated::Stale)
}

/// Whether a variable is declared big-endian by a version of netcdf-c that may not have meant it.
pub(super) fn is_big_by_choice(store: &dyn Store, path: &str) -> Result<bool, DataError> {
    let examined = examine(store, &Choices::default())?;
    Ok(examined
        .left
        .iter()
        .any(|finding| finding.code == Code::ByteOrderDoubtful && finding.variable.as_deref() == Some(path)))
}
