//! `consolidated_metadata`: all nodes of a dataset in its root, as of the time when somebody wrote it.

use serde_json::{Map, Value as Json};

use super::{CONSOLIDATED, DOCUMENT};
use crate::error::NczarrError;
use crate::json;
use crate::model::document_key;

/// The documents that a root's `zarr.json` consolidates, by their keys, itself not among them; `None`: there are none.
pub(super) fn documents(root: &Map<String, Json>) -> Option<Result<Map<String, Json>, NczarrError>> {
    let consolidated = root.get(CONSOLIDATED).filter(|value| !value.is_null())?;
    let wrong = |reason: String| {
        Err(NczarrError::Metadata { key: DOCUMENT.to_owned(), reason: format!("{CONSOLIDATED:?}: {reason}") })
    };
    if consolidated.get("kind").and_then(Json::as_str) != Some("inline") {
        let kind = consolidated.get("kind").map_or_else(|| "none".to_owned(), json::shortened);
        return Some(wrong(format!("the kind {kind} is not known, only \"inline\"")));
    }
    let Some(nodes) = consolidated.get("metadata").and_then(Json::as_object) else {
        return Some(wrong("\"metadata\" is no object".to_owned()));
    };
    let keyed = nodes.iter().filter(|(path, _)| !path.trim_matches('/').is_empty());
    Some(Ok(keyed.map(|(path, node)| (document_key(path, DOCUMENT), node.clone())).collect()))
}
