//! Attributes: named values of groups and variables.

use std::sync::Arc;

use crate::error::MetadataError;
use crate::json::{self, Json};
use crate::names;
use crate::user_type::ElementType;
use crate::user_value::{Row, UserValue, row_json};
use crate::value::Value;

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The value in its netCDF type. JSON that netCDF has no type for (objects, mixed lists, `null`) is `char` text.
    pub value: Value,
    /// The JSON it was read from; `None` for a new attribute. Writers use it to keep the original text of numbers.
    pub json: Option<Json>,
    /// The values with their user-defined type. The `value` of an enumeration is then its integers, that of other types
    /// the text of `json`.
    pub user: Option<UserValue>,
}

impl Attribute {
    /// Makes a new attribute.
    ///
    /// ```
    /// use ncz_model::Attribute;
    ///
    /// let attribute = Attribute::new("units", "K");
    /// assert_eq!(attribute.value.as_text(), Some("K"));
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { name: name.into(), value: value.into(), json: None, user: None }
    }

    /// Makes a new attribute of a user-defined type.
    #[must_use]
    pub fn of_user_type(name: impl Into<String>, user: UserValue) -> Self {
        let name = name.into();
        if let Row::Plain(integers) = &user.row {
            return Self { name, value: integers.clone(), json: None, user: Some(user) };
        }
        let mut values = row_json(&ElementType::User(Arc::clone(&user.of)), &user.row);
        let json = match values.pop() {
            Some(value) if values.is_empty() => value,
            last => Json::Array(values.into_iter().chain(last).collect()),
        };
        let text = match &json {
            Json::String(text) => text.clone(),
            other => json::to_text(other),
        };
        Self { name, value: Value::text(text), json: Some(json), user: Some(user) }
    }

    /// Whether the document holds JSON that is not text, although the value is text.
    #[must_use]
    pub fn is_json_text(&self) -> bool {
        matches!(self.value, Value::Char(_)) && self.json.as_ref().is_some_and(|json| !json.is_string())
    }
}

/// Attributes that carry metadata and are not shown as attributes.
pub const RESERVED: [&str; 11] = [
    "_ARRAY_DIMENSIONS",
    "_NCProperties",
    "_nczarr_superblock",
    "_nczarr_group",
    "_nczarr_array",
    "_nczarr_attr",
    "_NCZARR_SUPERBLOCK",
    "_NCZARR_GROUP",
    "_NCZARR_ARRAY",
    "_NCZARR_ATTR",
    "_nczarr_attrs",
];

/// Sets an attribute. An existing attribute of that name is replaced at its position.
pub(crate) fn set(attributes: &mut Vec<Attribute>, attribute: Attribute) -> Result<(), MetadataError> {
    if RESERVED.contains(&attribute.name.as_str()) {
        return Err(MetadataError::Name {
            kind: "attribute",
            name: attribute.name,
            reason: "it carries NCZarr metadata",
        });
    }
    names::check("attribute", &attribute.name)?;
    match attributes.iter_mut().find(|old| old.name == attribute.name) {
        Some(old) => *old = attribute,
        None => attributes.push(attribute),
    }
    Ok(())
}
