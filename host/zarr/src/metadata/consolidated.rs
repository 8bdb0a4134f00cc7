//! `.zmetadata`: all documents of a dataset in one, as of the time of consolidation.

use ncz_model::json::{Json, Map, Number};
use ncz_model::{Consolidated, MetadataError};

use super::loader::{LoadError, Loader, Seen};
use crate::metadata::document;

/// Returns the documents in a `.zmetadata`.
pub(super) fn documents(zmetadata: &Map) -> Result<&Map, MetadataError> {
    let wrong = |reason: String| MetadataError::Metadata { key: document::ZMETADATA.to_owned(), reason };
    match zmetadata.get("zarr_consolidated_format") {
        Some(version) if version.as_u64() == Some(1) => {}
        Some(version) => {
            return Err(wrong(format!("expected zarr_consolidated_format 1, got {version}")));
        }
        None => return Err(wrong("\"zarr_consolidated_format\" is missing".to_owned())),
    }
    match zmetadata.get("metadata") {
        Some(Json::Object(documents)) => Ok(documents),
        _ => Err(wrong("\"metadata\" is not an object".to_owned())),
    }
}

/// Returns why consolidated metadata of NCZarr cannot be used, if they are older than the dataset: netcdf-c grows
/// dimensions and adds variables without updating them. The check compares the documents that show this, at the cost of
/// one request each: the root's document, which lists its content, and those of other groups with unlimited dimensions.
pub(super) fn outdated(loader: &mut Loader<'_>, documents: &Map) -> Result<Option<String>, MetadataError> {
    let telling: Vec<&String> =
        documents.iter().filter(|(key, document)| shows_growth(key, document)).map(|(key, _)| key).collect();
    loader.ask(telling.iter().copied())?;
    let mut stale = Vec::new();
    for key in telling {
        let same = match loader.object(key) {
            Ok(Some(document)) => {
                documents.get(key).and_then(Json::as_object).is_some_and(|old| same_object(old, &document))
            }
            Ok(None) | Err(LoadError::Broken(_)) => false,
            Err(LoadError::Store(MetadataError::Denied { .. })) => {
                let text = format!("cannot tell whether it is out of date: no permission to read {key:?}");
                loader.warn(document::ZMETADATA, text);
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

/// Whether a document holds lengths of NCZarr's unlimited dimensions, or is the root, which lists its content.
fn shows_growth(key: &str, document: &Json) -> bool {
    let Some(info) = ["_nczarr_group", "_NCZARR_GROUP"].iter().find_map(|name| document.get(name)) else {
        return false;
    };
    let dimensions = info.get("dimensions").or_else(|| info.get("dims")).and_then(Json::as_object);
    let grows = |dimension: &Json| dimension.get("unlimited").is_some();
    matches!(key, document::ZATTRS | document::ZGROUP)
        || Compared::V2.holds(key) && dimensions.into_iter().flat_map(Map::values).any(grows)
}

/// Returns the warning that says why `.zmetadata` is not used.
pub(super) fn unusable(error: &MetadataError) -> String {
    cannot_be_used(&Compared::V2, error)
}

pub(super) fn cannot_be_used(compared: &Compared, error: &MetadataError) -> String {
    let subject = compared.subject();
    format!("{subject} cannot be used ({error}); the documents themselves were read")
}

fn out_of_date(compared: &Compared, stale: &[String]) -> String {
    let shown = stale.iter().take(3).map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", ");
    let more = if stale.len() > 3 { format!(" and {} more", stale.len() - 3) } else { String::new() };
    let (subject, is_are) = (compared.subject(), compared.is_are());
    format!(
        "{subject} {is_are} out of date in {shown}{more}; the documents themselves were read, but programs that trust \
         it read other values"
    )
}

/// The kind of consolidated metadata to compare, and their name in messages.
pub(super) enum Compared {
    /// `.zmetadata`
    V2,
    /// The consolidated metadata in the root's `zarr.json`.
    V3,
}

impl Compared {
    fn key(&self) -> &'static str {
        match self {
            Self::V2 => document::ZMETADATA,
            Self::V3 => document::ZARR_JSON,
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

    fn same(&self, recorded: &Map, document: &Map) -> bool {
        same_object(recorded, document)
            || matches!(self, Self::V3) && super::v3::same_meaning(recorded, document)
    }

    /// Whether such documents are consolidated.
    fn holds(&self, key: &str) -> bool {
        match self {
            Self::V2 => {
                matches!(key.rsplit('/').next(), Some(document::ZGROUP | document::ZARRAY | document::ZATTRS))
            }
            Self::V3 => key.ends_with("/zarr.json"),
        }
    }
}

/// Compares `.zmetadata` with the documents that were read; a difference is a warning, and the documents are used.
pub(super) fn compare(loader: &mut Loader<'_>) -> Consolidated {
    let consolidated = match loader.object(document::ZMETADATA) {
        Ok(None) => return Consolidated::Absent,
        Ok(Some(object)) => documents(&object).cloned(),
        // Services that do not allow listing also deny objects that do not exist.
        Err(LoadError::Store(error)) if !matches!(error, MetadataError::Denied { .. }) => {
            loader.warn(document::ZMETADATA, cannot_be_used(&Compared::V2, &error));
            return Consolidated::Unread;
        }
        Err(error) => Err(error.of_dataset(document::ZMETADATA)),
    };
    differences(loader, consolidated, &Compared::V2)
}

/// Compares consolidated documents, if they can be used, with those that were read.
pub(super) fn differences(
    loader: &mut Loader<'_>,
    consolidated: Result<Map, MetadataError>,
    compared: &Compared,
) -> Consolidated {
    let consolidated = match consolidated {
        Ok(documents) => documents,
        Err(error) => {
            loader.warn(compared.key(), cannot_be_used(compared, &error));
            return Consolidated::Stale;
        }
    };
    // Documents that reading did not need are compared too: they may have been deleted. A document that cannot be read
    // now counts as different.
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

fn differing(consolidated: &Map, seen: &Seen, compared: &Compared) -> Vec<String> {
    let empty = Map::new();
    let mut stale: Vec<String> = Vec::new();
    for (key, document) in seen.iter().filter(|(key, _)| compared.holds(key)) {
        let recorded = consolidated.get(key).and_then(Json::as_object);
        let same = match (recorded, document.as_deref()) {
            (Some(recorded), Some(document)) => compared.same(recorded, document),
            (None, None) => !consolidated.contains_key(key),
            // Empty attributes and a missing document are equal.
            (Some(only), None) | (None, Some(only)) => key.ends_with(document::ZATTRS) && *only == empty,
        };
        if !same {
            stale.push(key.clone());
        }
    }
    stale
}

pub(super) fn same_object(left: &Map, right: &Map) -> bool {
    // zarr-python 3 adds this key to the groups in .zmetadata only.
    let keys = |object: &Map| object.keys().filter(|key| *key != "consolidated_metadata").count();
    keys(left) == keys(right)
        && left
            .iter()
            .filter(|(key, _)| *key != "consolidated_metadata")
            .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
}

/// Compares the meaning: numbers by value, objects in any order.
fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            let number = |number: &Number| number.as_str().parse::<f64>().ok();
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
