//! Faults of `.zattrs` documents.

use ncz_model::json;
use ncz_model::json::{Json, Map, json};

use super::notes::Notes;
use super::text::MARK;
use super::zarray::proper_word;
use crate::finding::{Code, Severity};

/// The type entry of netCDF's char.
const CHAR: &str = ">S1";
/// The type entry of JSON, which netcdf-c writes for its own attributes and refuses for others.
const JSON: &str = "|J0";
/// The keys of the type entries in `.zattrs`, in the generations that have them there.
const TYPES: [&str; 2] = ["_nczarr_attr", "_NCZARR_ATTR"];

/// Repairs what is wrong with a `.zattrs`; `nczarr` says whether its dataset has type entries. Words that are still
/// marked then are of no known meaning: `false`.
pub(super) fn repair(zattrs: &mut Map, nczarr: bool, notes: &mut Notes<'_>) -> bool {
    let place = TYPES.into_iter().find(|name| zattrs.contains_key(*name));
    let mut types =
        place.and_then(|name| zattrs.get(name)?.get("types")?.as_object().cloned()).unwrap_or_default();
    let before = types.clone();
    let names: Vec<String> = zattrs.keys().filter(|name| !is_reserved(name)).cloned().collect();
    for name in names {
        let Some(value) = zattrs.get_mut(&name) else { continue };
        let entry = types.get(&name).and_then(Json::as_str).map(str::to_owned);
        word(&name, value, entry.as_deref(), nczarr, notes);
        if nczarr && let Some(wanted) = typed(&name, value, entry.as_deref(), notes) {
            types.insert(name, json!(wanted));
        } else if !nczarr {
            refused(&name, value, notes);
        }
    }
    if types != before {
        let object = zattrs.entry(place.unwrap_or(TYPES[0]).to_owned()).or_insert_with(|| json!({}));
        if let Some(object) = object.as_object_mut() {
            object.insert("types".to_owned(), Json::from(types));
        }
    }
    !marked(&Json::from(zattrs.clone()))
}

/// A bare word of netcdf-c: a text that C takes for a number.
fn word(name: &str, value: &mut Json, entry: Option<&str>, nczarr: bool, notes: &mut Notes<'_>) {
    let Some(text) = value.as_str().and_then(|text| text.strip_prefix(MARK)).map(str::to_owned) else {
        return;
    };
    let replaced = match entry {
        Some(entry) if is_char(entry) => text.clone(),
        Some("<f4" | ">f4" | "<f8" | ">f8") => match proper_word(&text) {
            Some(proper) => proper.to_owned(),
            None => return,
        },
        None if !nczarr => text.clone(),
        _ => return,
    };
    *value = json!(replaced);
    let reason = format!(
        "its attribute {name:?} is the bare word {text} in the document, which is not valid JSON: other readers refuse it"
    );
    notes.repaired(Severity::Error, Code::DocumentWords, reason, format!("{text} becomes {replaced:?}"));
}

/// A type entry that netcdf-c opens, and a value that it reads whole; the new entry if it is another.
fn typed(name: &str, value: &mut Json, entry: Option<&str>, notes: &mut Notes<'_>) -> Option<&'static str> {
    let is_simple = matches!(value, Json::Number(_) | Json::Bool(_) | Json::Null);
    match entry {
        Some(JSON) => {
            let reason = format!(
                "its attribute {name:?} has the type {JSON:?}, with which netcdf-c does not open the dataset"
            );
            let mut action = format!("the type becomes {CHAR:?}");
            if is_simple && !value.is_null() {
                *value = json!(json::to_text_lenient(value));
                action.push_str(&format!(", the value the text {value}"));
            }
            notes.repaired(Severity::Warning, Code::AttributeRefused, reason, action);
            Some(CHAR)
        }
        Some(entry) if is_char(entry) && is_simple && !value.is_null() => {
            let text = json::to_text_lenient(value);
            // Of longer ones netcdf-c reads the first character, or 1.
            let severity = if text.len() > 1 { Severity::Warning } else { Severity::Note };
            let reason = format!(
                "its attribute {name:?} is the text {text:?}, but is stored as {text}, which other programs read as something else"
            );
            notes.repaired(severity, Code::AttributeText, reason, format!("{text} becomes {text:?}"));
            *value = json!(text);
            None
        }
        None if is_refused(value) => {
            let reason = format!(
                "its attribute {name:?} is {} without a type, with which netcdf-c does not open the dataset",
                kind(value)
            );
            notes.repaired(
                Severity::Warning,
                Code::AttributeRefused,
                reason,
                format!("it gets the type {CHAR:?}: netcdf-c shows its JSON"),
            );
            Some(CHAR)
        }
        _ => None,
    }
}

/// Types that netcdf-c does not open in pure Zarr, which cannot store a type.
fn refused(name: &str, value: &Json, notes: &mut Notes<'_>) {
    if is_refused(value) {
        let reason = format!(
            "its attribute {name:?} is {}: netcdf-c does not open the dataset; nothing else would mean the same to others",
            kind(value)
        );
        notes.left(Severity::Warning, Code::AttributeRefused, reason, None);
    }
}

/// An empty list, or numbers and texts in one.
fn is_refused(value: &Json) -> bool {
    value.as_array().is_some_and(|items| {
        items.is_empty()
            || items.iter().any(Json::is_string)
                && items.iter().any(|item| item.is_number() || item.is_boolean())
    })
}

fn kind(value: &Json) -> &'static str {
    if value.as_array().is_some_and(Vec::is_empty) { "an empty list" } else { "a list of numbers and texts" }
}

fn is_char(entry: &str) -> bool {
    matches!(entry, ">S1" | "<U1" | ">U1")
}

fn is_reserved(name: &str) -> bool {
    name.starts_with("_nczarr_")
        || name.starts_with("_NCZARR_")
        || matches!(name, "_ARRAY_DIMENSIONS" | "_NCProperties")
}

fn marked(value: &Json) -> bool {
    match value {
        Json::String(text) => text.contains(MARK),
        Json::Array(items) => items.iter().any(marked),
        Json::Object(members) => members.iter().any(|(name, value)| name.contains(MARK) || marked(value)),
        _ => false,
    }
}
