//! Checks of parameters and JSON.
//!
//! Words come from files and JSON from metadata, so both can have any content. A codec refuses invalid parameters,
//! and restores the data with valid ones.

mod bind;
mod candidates;
mod json;
mod keys;
mod numcodecs;
mod text;
mod words;

use crate::check::{Check, Scope};

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "parameters.none",
        level: 1,
        scope: Scope::Each,
        about: "without parameters it works rightly or refuses",
        run: words::none,
    },
    Check {
        id: "parameters.too-many",
        level: 1,
        scope: Scope::Each,
        about: "with too many parameters it works rightly or refuses",
        run: words::too_many,
    },
    Check {
        id: "parameters.out-of-range",
        level: 2,
        scope: Scope::Each,
        about: "with any parameters it works rightly or refuses",
        run: words::out_of_range,
    },
    Check {
        id: "parameters.json-identity",
        level: 1,
        scope: Scope::Json,
        about: "JSON that it writes is read, and is written again unchanged",
        run: text::json_identity,
    },
    Check {
        id: "parameters.json-id",
        level: 1,
        scope: Scope::Codec,
        about: "the JSON of an NCZarr codec is an object that begins with the codec's id",
        run: text::json_id,
    },
    Check {
        id: "parameters.numcodecs-keys",
        level: 2,
        scope: Scope::Json,
        about: "under a name of numcodecs it takes and writes the keys that numcodecs has, with numbers as numbers",
        run: keys::numcodecs_keys,
    },
    Check {
        id: "parameters.unknown-keys",
        level: 2,
        scope: Scope::Json,
        about: "unknown keys are passed over in Zarr v2, by a native codec with a note, and refused in v3",
        run: keys::unknown_keys,
    },
    Check {
        id: "parameters.missing-keys",
        level: 2,
        scope: Scope::Json,
        about: "a missing key has its default, or the error names it",
        run: keys::missing_keys,
    },
    Check {
        id: "parameters.wrong-types",
        level: 2,
        scope: Scope::Json,
        about: "values of wrong JSON types are refused",
        run: keys::wrong_types,
    },
    Check {
        id: "parameters.broken-json",
        level: 2,
        scope: Scope::Json,
        about: "text that is not a JSON object is refused",
        run: text::broken_json,
    },
    Check {
        id: "parameters.long-json",
        level: 3,
        scope: Scope::Json,
        about: "JSON of a megabyte is interpreted correctly, or refused",
        run: text::long_json,
    },
    Check {
        id: "parameters.deep-json",
        level: 3,
        scope: Scope::Json,
        about: "JSON of 10,000 levels is interpreted correctly, or refused",
        run: text::deep_json,
    },
    Check {
        id: "parameters.ownership",
        level: 2,
        scope: Scope::Codec,
        about: "words and texts that it returns come from malloc, have the stated length, and can be freed by the host",
        run: text::ownership,
    },
    Check {
        id: "parameters.bind",
        level: 1,
        scope: Scope::Native,
        about: "binds to every type or returns an error; its stored configuration is stable, and outputs fit the stated sizes",
        run: bind::bind,
    },
    Check {
        id: "parameters.faces-agree",
        level: 2,
        scope: Scope::Library,
        about: "the faces of one codec agree on JSON, on words and on streams",
        run: bind::faces_agree,
    },
];
