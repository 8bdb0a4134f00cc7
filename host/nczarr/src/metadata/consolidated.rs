//! `.zmetadata`: all documents of a dataset in one, as of the time when somebody wrote it.

use serde_json::{Map, Value as Json};

use super::loader::{LoadError, Loader, Seen};
use crate::error::NczarrError;
use crate::model::Consolidated;

/// Key of the document.
pub(super) const KEY: &str = ".zmetadata";

/// The documents in a `.zmetadata`.
pub(super) fn documents(zmetadata: &Map<String, Json>) -> Result<Map<String, Json>, NczarrError> {
    let wrong = |reason: String| NczarrError::Metadata { key: KEY.to_owned(), reason };
    match zmetadata.get("zarr_consolidated_format") {
        Some(version) if version.as_u64() == Some(1) => {}
        Some(version) => {
            return Err(wrong(format!("zarr_consolidated_format {version} is not known, only 1")));
        }
        None => return Err(wrong("\"zarr_consolidated_format\" is missing".to_owned())),
    }
    match zmetadata.get("metadata") {
        Some(Json::Object(documents)) => Ok(documents.clone()),
        _ => Err(wrong("\"metadata\" is no object".to_owned())),
    }
}

/// Why those of NCZarr cannot be used, if they are older than what they are of: netcdf-c makes dimensions longer and adds
/// variables without bringing them up to date. Compared are the documents that say so, at the cost of one request each:
/// that of the root, which lists what is in it, and those of other groups with unlimited dimensions.
pub(super) fn outdated(
    loader: &mut Loader<'_>,
    documents: &Map<String, Json>,
) -> Result<Option<String>, NczarrError> {
    let telling: Vec<&String> =
        documents.iter().filter(|(key, document)| tells(key, document)).map(|(key, _)| key).collect();
    loader.ask(telling.iter().copied())?;
    let mut stale = Vec::new();
    for key in telling {
        let same = match loader.object(key) {
            Ok(Some(document)) => {
                documents.get(key).and_then(Json::as_object).is_some_and(|old| same_object(old, &document))
            }
            Ok(None) | Err(LoadError::Broken(_)) => false,
            Err(LoadError::Store(NczarrError::Denied { .. })) => {
                let text = format!("whether it is out of date is not known: {key:?} may not be read");
                loader.warn(KEY, text);
                true
            }
            Err(LoadError::Store(error)) => return Err(error),
        };
        if !same {
            stale.push(key.clone());
        }
    }
    Ok((!stale.is_empty()).then(|| out_of_date(&Compared::V2, &stale)))
}

/// Whether a document says how long NCZarr's dimensions are, and what is in the root.
fn tells(key: &str, document: &Json) -> bool {
    let Some(info) = ["_nczarr_group", "_NCZARR_GROUP"].iter().find_map(|name| document.get(name)) else {
        return false;
    };
    let dimensions = info.get("dimensions").or_else(|| info.get("dims")).and_then(Json::as_object);
    let grows = |dimension: &Json| dimension.get("unlimited").is_some();
    matches!(key, ".zattrs" | ".zgroup")
        || Compared::V2.holds(key) && dimensions.into_iter().flat_map(Map::values).any(grows)
}

/// Why `.zmetadata` is not used.
pub(super) fn unusable(error: &NczarrError) -> String {
    cannot_be_used(&Compared::V2, error)
}

pub(super) fn cannot_be_used(compared: &Compared, error: &NczarrError) -> String {
    let subject = compared.subject();
    format!("{subject} cannot be used ({error}); the documents themselves were read")
}

fn out_of_date(compared: &Compared, stale: &[String]) -> String {
    let shown = stale.iter().take(3).map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", ");
    let more = if stale.len() > 3 { format!(" and {} more", stale.len() - 3) } else { String::new() };
    let (subject, is_are) = (compared.subject(), compared.is_are());
    format!(
        "{subject} {is_are} out of date in {shown}{more}; the documents themselves were read, but programs that trust it read other values"
    )
}

/// What consolidated metadata are compared with, and how they are called.
pub(super) enum Compared {
    /// `.zmetadata`
    V2,
    /// What stands in the root's `zarr.json`.
    V3,
}

impl Compared {
    fn key(&self) -> &'static str {
        match self {
            Self::V2 => KEY,
            Self::V3 => "zarr.json",
        }
    }

    fn subject(&self) -> &'static str {
        match self {
            Self::V2 => "it",
            Self::V3 => "its consolidated metadata",
        }
    }

    fn is_are(&self) -> &'static str {
        match self {
            Self::V2 => "is",
            Self::V3 => "are",
        }
    }

    fn same(&self, recorded: &Map<String, Json>, document: &Map<String, Json>) -> bool {
        same_object(recorded, document)
            || matches!(self, Self::V3) && super::v3::same_meaning(recorded, document)
    }

    /// Whether such documents are consolidated.
    fn holds(&self, key: &str) -> bool {
        match self {
            Self::V2 => matches!(key.rsplit('/').next(), Some(".zgroup" | ".zarray" | ".zattrs")),
            Self::V3 => key.ends_with("/zarr.json"),
        }
    }
}

/// Compares `.zmetadata` with the documents that were read; they win, and a difference is a warning.
pub(super) fn compare(loader: &mut Loader<'_>) -> Consolidated {
    let consolidated = match loader.object(KEY) {
        Ok(None) => return Consolidated::Absent,
        Ok(Some(object)) => documents(&object),
        // Services that may not be listed also deny what does not exist.
        Err(LoadError::Store(error)) if !matches!(error, NczarrError::Denied { .. }) => {
            loader.warn(KEY, cannot_be_used(&Compared::V2, &error));
            return Consolidated::Unread;
        }
        Err(error) => Err(error.of_dataset(KEY)),
    };
    differences(loader, consolidated, &Compared::V2)
}

/// Compares consolidated documents, if they can be used, with those that were read.
pub(super) fn differences(
    loader: &mut Loader<'_>,
    consolidated: Result<Map<String, Json>, NczarrError>,
    compared: &Compared,
) -> Consolidated {
    let consolidated = match consolidated {
        Ok(documents) => documents,
        Err(error) => {
            loader.warn(compared.key(), cannot_be_used(compared, &error));
            return Consolidated::Stale;
        }
    };
    // Documents that reading did not need are compared too: they may have vanished. One that cannot be had now
    // does not agree.
    let keys = consolidated.keys().filter(|key| compared.holds(key));
    if let Err(error) = loader.ask(keys.clone()) {
        loader.warn(compared.key(), format!("whether it is out of date is not known: {error}"));
        return Consolidated::Stale;
    }
    let mut stale: Vec<String> = keys.filter(|key| loader.object(key).is_err()).cloned().collect();
    stale.extend(differing(&consolidated, &loader.seen, compared));
    if stale.is_empty() {
        return Consolidated::Current;
    }
    loader.warn(compared.key(), out_of_date(compared, &stale));
    Consolidated::Stale
}

fn differing(consolidated: &Map<String, Json>, seen: &Seen, compared: &Compared) -> Vec<String> {
    let empty = Map::new();
    let mut stale: Vec<String> = Vec::new();
    for (key, document) in seen.iter().filter(|(key, _)| compared.holds(key)) {
        let recorded = consolidated.get(key).and_then(Json::as_object);
        let same = match (recorded, document.as_deref()) {
            (Some(recorded), Some(document)) => compared.same(recorded, document),
            (None, None) => !consolidated.contains_key(key),
            // No attributes and no document are the same.
            (Some(only), None) | (None, Some(only)) => key.ends_with(".zattrs") && *only == empty,
        };
        if !same {
            stale.push(key.clone());
        }
    }
    stale
}

pub(super) fn same_object(left: &Map<String, Json>, right: &Map<String, Json>) -> bool {
    // zarr-python 3 adds this key to the groups in .zmetadata only.
    let keys =
        |object: &Map<String, Json>| object.keys().filter(|key| *key != "consolidated_metadata").count();
    keys(left) == keys(right)
        && left
            .iter()
            .filter(|(key, _)| *key != "consolidated_metadata")
            .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
}

/// Equality of meaning: numbers by value, objects in any order.
fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            let number = |number: &serde_json::Number| number.as_str().parse::<f64>().ok();
            left == right
                || (left.as_i128().is_none() || right.as_i128().is_none()) && number(left) == number(right)
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => same_object(left, right),
        _ => left == right,
    }
}
