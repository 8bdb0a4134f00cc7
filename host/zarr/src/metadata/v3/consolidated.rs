//! `consolidated_metadata`: all nodes of a dataset in its root, as of the time of consolidation.

use std::sync::Arc;

use ncz_model::json::{Json, Map};
use ncz_model::{MetadataError, document_key, json};

use super::super::consolidated::same_object;
use super::CONSOLIDATED;
use super::array::{self, ArrayParts};
use crate::metadata::document;

/// Returns the documents that a root's `zarr.json` consolidates, by their keys, without the root itself; `None` if
/// there are none.
pub(super) fn documents(root: &Map) -> Option<Result<Map, MetadataError>> {
    let consolidated = root.get(CONSOLIDATED).filter(|value| !value.is_null())?;
    let wrong = |reason: String| {
        Err(MetadataError::Metadata {
            key: document::ZARR_JSON.to_owned(),
            reason: format!("{CONSOLIDATED:?}: {reason}"),
        })
    };
    if consolidated.get("kind").and_then(Json::as_str) != Some("inline") {
        let kind = consolidated.get("kind").map_or_else(|| "none".to_owned(), json::shortened);
        return Some(wrong(format!("expected the kind \"inline\", got {kind}")));
    }
    let Some(nodes) = consolidated.get("metadata").and_then(Json::as_object) else {
        return Some(wrong("\"metadata\" is not an object".to_owned()));
    };
    let keyed = nodes.iter().filter(|(path, _)| !path.trim_matches('/').is_empty());
    Some(Ok(keyed.map(|(path, node)| (document_key(path, document::ZARR_JSON), node.clone())).collect()))
}

/// Whether a root has consolidated metadata that can be used.
pub(in super::super) fn is_consolidated(root: &Map) -> bool {
    matches!(documents(root), Some(Ok(_)))
}

/// Whether two documents of a node have the same meaning: zarr-python rewrites the documents of other programs when it
/// consolidates them.
pub(in super::super) fn same_meaning(left: &Map, right: &Map) -> bool {
    let empty = Map::new();
    let attributes = |node: &Map| {
        node.get("attributes").map_or(Some(empty.clone()), |attributes| attributes.as_object().cloned())
    };
    let same_attributes =
        attributes(left).zip(attributes(right)).is_some_and(|(left, right)| same_object(&left, &right));
    let is = |kind: &str| {
        [left, right].iter().all(|node| node.get("node_type").and_then(Json::as_str) == Some(kind))
    };
    same_attributes && (is("group") || is("array") && same_arrays(left, right))
}

fn same_arrays(left: &Map, right: &Map) -> bool {
    let parsed = |node: &Map| {
        let (name, path, key) = (String::new(), String::new(), String::new());
        array::parse(ArrayParts { name, path, key, node: Arc::new(node.clone()), draft: false })
    };
    let (Ok(left), Ok(right)) = (parsed(left), parsed(right)) else { return false };
    let same_names = left.names == right.names;
    let (left, right) = (left.variable, right.variable);
    same_names
        && (&left.dtype, &left.shape, &left.chunk_shape) == (&right.dtype, &right.shape, &right.chunk_shape)
        && (&left.sharding, &left.order) == (&right.sharding, &right.order)
        && (left.key_encoding, left.separator) == (right.key_encoding, right.separator)
        && left.fill_bytes() == right.fill_bytes()
        && left.filters.len() == right.filters.len()
        && left.filters.iter().zip(&right.filters).all(|(left, right)| same_codec(left, right))
}

/// Compares codecs; a missing configuration equals an empty one.
fn same_codec(left: &Json, right: &Json) -> bool {
    let parts = |codec: &Json| {
        let configuration = codec.get("configuration").and_then(Json::as_object).cloned();
        (codec.get("name").cloned(), configuration.unwrap_or_default())
    };
    let (left, right) = (parts(left), parts(right));
    left.0 == right.0 && same_object(&left.1, &right.1)
}
