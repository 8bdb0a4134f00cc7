//! Extensions of Zarr v3: a name and its configuration.

use serde_json::{Map, Value as Json};

use crate::json;

/// How Zarr v3 metadata say which data type, grid, key encoding or codec is meant (Zarr v3 core, "Extension
/// definition"): a name alone, or an object with a name and a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension<'a> {
    pub(crate) name: &'a str,
    configuration: Option<&'a Map<String, Json>>,
}

impl<'a> Extension<'a> {
    /// Reads the JSON of one; what is wrong with it otherwise.
    pub(crate) fn parse(json: &'a Json) -> Result<Self, String> {
        let wrong = || format!("{} is no name and no object with a \"name\"", json::shortened(json));
        if let Json::String(name) = json {
            return Ok(Self { name, configuration: None });
        }
        let object = json.as_object().ok_or_else(wrong)?;
        let name = object.get("name").and_then(Json::as_str).ok_or_else(wrong)?;
        let configuration = match object.get("configuration") {
            None | Some(Json::Null) => None,
            Some(Json::Object(configuration)) => Some(configuration),
            Some(other) => {
                return Err(format!("the configuration {} of {name:?} is no object", json::shortened(other)));
            }
        };
        for (member, value) in object {
            // What is understood may be marked as either.
            let known = match member.as_str() {
                "name" | "configuration" => true,
                "must_understand" => value.is_boolean(),
                _ => may_be_ignored(value),
            };
            if !known {
                return Err(format!("{name:?} has the unknown member {member:?}"));
            }
        }
        Ok(Self { name, configuration })
    }

    /// A member of the configuration.
    pub(crate) fn get(&self, member: &str) -> Option<&'a Json> {
        self.configuration?.get(member)
    }

    /// Refuses members of the configuration that are not among these, since they may change what the data mean.
    pub(crate) fn only(&self, members: &[&str]) -> Result<(), String> {
        let unknown = self
            .configuration
            .into_iter()
            .flatten()
            .find(|(member, value)| !members.contains(&member.as_str()) && !may_be_ignored(value));
        match unknown {
            Some((member, _)) => {
                Err(format!("the configuration of {:?} has the unknown member {member:?}", self.name))
            }
            None => Ok(()),
        }
    }
}

/// Whether whoever does not know an entry may pass over it.
pub(crate) fn may_be_ignored(value: &Json) -> bool {
    value.get("must_understand").and_then(Json::as_bool) == Some(false)
}
