//! Extensions of Zarr v3: a name and its configuration.

use ncz_model::json;
use ncz_model::json::{Json, Map};

/// An extension of Zarr v3, which specifies a data type, grid, key encoding or codec (Zarr v3 core, "Extension
/// definition"): a name, or an object with a name and a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension<'a> {
    pub(crate) name: &'a str,
    configuration: Option<&'a Map>,
}

impl<'a> Extension<'a> {
    /// Reads the JSON of an extension. The error says what is wrong with it.
    pub(crate) fn parse(json: &'a Json) -> Result<Self, String> {
        let wrong = || format!("{} is neither a name nor an object with a \"name\"", json::shortened(json));
        if let Json::String(name) = json {
            return Ok(Self { name, configuration: None });
        }
        let object = json.as_object().ok_or_else(wrong)?;
        let name = object.get("name").and_then(Json::as_str).ok_or_else(wrong)?;
        let configuration = match object.get("configuration") {
            None | Some(Json::Null) => None,
            Some(Json::Object(configuration)) => Some(&**configuration),
            Some(other) => {
                return Err(format!(
                    "the configuration {} of {name:?} is not an object",
                    json::shortened(other)
                ));
            }
        };
        for (member, value) in object {
            // An extension that is understood may have either value.
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

    /// Refuses members of the configuration that are not among these, because they may change the meaning of the data.
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

/// Whether a reader that does not know an entry may ignore it.
pub(crate) fn may_be_ignored(value: &Json) -> bool {
    value.get("must_understand").and_then(Json::as_bool) == Some(false)
}
