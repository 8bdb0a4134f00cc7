//! Attributes: named values of groups and variables.

use serde_json::Value as Json;

use crate::error::NczarrError;
use crate::model::names;
use crate::value::Value;

pub(crate) mod read;
pub(crate) mod write;

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The value in its netCDF type. JSON that netCDF has no type for (objects, mixed lists, `null`) is `char` text.
    pub value: Value,
    /// The JSON it was read from; `None` for a new one. Writers use it to keep numbers as they were written.
    pub json: Option<Json>,
}

impl Attribute {
    /// A new attribute.
    ///
    /// ```
    /// use ncz_nczarr::Attribute;
    ///
    /// let attribute = Attribute::new("units", "K");
    /// assert_eq!(attribute.value.as_text(), Some("K"));
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { name: name.into(), value: value.into(), json: None }
    }

    /// Whether the document holds JSON that is no text, though the value is text.
    #[must_use]
    pub fn is_json_text(&self) -> bool {
        matches!(self.value, Value::Char(_)) && self.json.as_ref().is_some_and(|json| !json.is_string())
    }
}

/// Attributes that carry metadata and are not shown as attributes.
pub(crate) const RESERVED: [&str; 11] = [
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

/// Sets an attribute, in its place if there is one of that name.
pub(crate) fn set(attributes: &mut Vec<Attribute>, attribute: Attribute) -> Result<(), NczarrError> {
    if RESERVED.contains(&attribute.name.as_str()) {
        return Err(NczarrError::Name {
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
