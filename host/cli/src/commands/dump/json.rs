//! Prints a dataset as JSON, with its values, while it is read.
//!
//! ```json
//! {"schema": 1, "name": "d", "format": "...", "nczarr": true,
//!  "dimensions": [{"name": "x", "length": 3, "unlimited": false}],
//!  "attributes": [{"name": "title", "type": "char", "value": "a"}],
//!  "variables": [{"name": "v", "path": "/v", "type": "int", "dtype": "<i4", "dimensions": ["/x"], "shape": [3],
//!                 "chunks": [3], "codecs": [], "fill": -1, "attributes": [], "data": [1, 2, 3]}],
//!  "groups": [{"name": "g", "path": "/g", "dimensions": [], "attributes": [], "variables": [], "groups": []}]}
//! ```
//!
//! Numbers are exact: integers as they are, floating-point numbers with as many digits as they need. `NaN`, `Infinity`
//! and `-Infinity` are strings, because JSON has no such numbers. Data are nested lists, one level for each dimension;
//! `char` has a string for each row; a complex number is a list of two numbers, an element of `vlen-bytes` a list of
//! bytes. Values of user-defined types of netCDF-4 are integers for enumerations, hexadecimal text for opaque bytes,
//! objects for compounds and lists for rows of any length; `types` of a group defines the types. Data that were not requested are absent. If data cannot be read, `error` says why, and `data` ends there.
//! With `--head`, `more` is the number of elements that follow.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use ncz::location::Location;
use ncz::model::json::{Json, to_text};
use ncz::model::{
    Attribute, Container, ElementType, Group, Hierarchy, NcType, NetcdfView, TypeClass, UserType, Value,
    Variable, row_json,
};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::plan::Plan;
use super::values::{VariableValues, each_row};
use crate::dataset::format_words;
use crate::error::{CliError, with_causes};
use crate::slab_request::Selected;
use crate::variable_report::VariableReport;

/// The version of the form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Bytes of text to collect before they are written.
const FULL: usize = 1 << 16;

/// Prints a dataset as JSON.
pub(super) fn print(
    out: &mut dyn Write,
    dataset: &dyn Container,
    location: &Location,
    plan: &Plan,
    lost: &mut dyn FnMut(&Variable, CliError) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let hierarchy = dataset.hierarchy();
    let name = json!(plan.name);
    let format = json!(format_words(hierarchy.format));
    let nczarr = hierarchy.format.is_nczarr();
    write!(out, "{{\"schema\": {SCHEMA}, \"name\": {name}, \"format\": {format}, \"nczarr\": {nczarr}")?;
    Printer { dataset, hierarchy, location, plan }.group(out, &hierarchy.root, lost)?;
    writeln!(out, "}}")?;
    Ok(())
}

struct Printer<'a> {
    dataset: &'a dyn Container,
    hierarchy: &'a Hierarchy,
    location: &'a Location,
    plan: &'a Plan,
}

impl Printer<'_> {
    /// Prints the members of a group's object, after others.
    fn group(
        &self,
        out: &mut dyn Write,
        group: &Group,
        lost: &mut dyn FnMut(&Variable, CliError) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let dimensions: Vec<_> = group
            .dimensions
            .iter()
            .map(|of| Dimension { name: &of.name, length: of.len, unlimited: of.unlimited })
            .collect();
        let attributes: Vec<_> = group.attributes.iter().map(AttributeReport::new).collect();
        if !group.types.is_empty() {
            let types: Vec<_> = group.types.iter().map(|user| type_report(user)).collect();
            write!(out, ",\n\"types\": {}", text(&types))?;
        }
        write!(out, ",\n\"dimensions\": {},\n\"attributes\": {}", text(&dimensions), text(&attributes))?;
        if !group.unreadable.is_empty() {
            let unreadable = group.unreadable.iter().map(|lost| Unreadable {
                name: &lost.name,
                path: &lost.path,
                error: with_causes(&lost.error()),
            });
            write!(out, ",\n\"unreadable\": {}", text(&unreadable.collect::<Vec<_>>()))?;
        }
        write!(out, ",\n\"variables\": [")?;
        for (at, variable) in group.variables.iter().enumerate() {
            write!(out, "{}", if at > 0 { ",\n" } else { "\n" })?;
            self.variable(out, group, variable, lost)?;
        }
        write!(out, "],\n\"groups\": [")?;
        for (at, child) in group.groups.iter().enumerate() {
            let (name, path) = (json!(child.name), json!(child.path));
            let comma = if at > 0 { ",\n" } else { "\n" };
            write!(out, "{comma}{{\"name\": {name}, \"path\": {path}")?;
            self.group(out, child, lost)?;
            write!(out, "}}")?;
        }
        write!(out, "]")?;
        Ok(())
    }

    fn variable(
        &self,
        out: &mut dyn Write,
        group: &Group,
        variable: &Variable,
        lost: &mut dyn FnMut(&Variable, CliError) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let head = text(&DumpedVariable {
            name: &variable.name,
            variable: VariableReport::new(self.hierarchy, variable),
            attributes: variable.attributes.iter().map(AttributeReport::new).collect(),
        });
        // The data follow the other members.
        write!(out, "{}", head.strip_suffix('}').unwrap_or(&head))?;
        let wanted = self.plan.has_data()
            && (variable.shown().is_some() || variable.user_type.is_some())
            && self.plan.has_group(group)
            && self.plan.has_values_of(self.hierarchy, variable);
        if wanted {
            write!(out, ",\"data\":")?;
            let mut nested = NestedJson::new(self.hierarchy.shape_of(variable), variable);
            let result = self.values(out, variable, &mut nested);
            nested.close(out)?;
            let shape = self.hierarchy.shape_of(variable);
            if let Some(most) = self.plan.head
                && let more @ 1.. = elements(&shape).saturating_sub(head_count(most, &shape, variable))
                && result.is_ok()
            {
                write!(out, ",\"more\":{more}")?;
            }
            match result {
                Err(error) if !matches!(error, CliError::Output(_)) => {
                    write!(out, ",\"error\":{}", json!(with_causes(&error)))?;
                    lost(variable, error)?;
                }
                result => result?,
            }
        }
        write!(out, "}}")?;
        Ok(())
    }

    fn values(
        &self,
        out: &mut dyn Write,
        variable: &Variable,
        nested: &mut NestedJson,
    ) -> Result<(), CliError> {
        if let Some(of) = structured(variable) {
            let array = self.dataset.user_array(&variable.path).map_err(CliError::dataset(self.location))?;
            let shape = array.stored().shape();
            let head = self.plan.head.map(|most| head_count(most, shape, variable));
            let whole = shape.iter().map(|len| Selected::all(*len)).collect();
            return each_row(&array, whole, head, self.location, |row| {
                Ok(nested.write_elements(out, &row_json(&of, row))?)
            });
        }
        let mut values =
            VariableValues::of(self.dataset, variable).map_err(CliError::dataset(self.location))?;
        let shape = self.hierarchy.shape_of(variable);
        let head = self.plan.head.map(|most| head_count(most, &shape, variable));
        let whole = values.whole();
        values.each(whole, head, self.location, |values| Ok(nested.write(out, values)?))
    }
}

/// Returns the type of a variable whose values are opaque, compounds or rows of any length. Complex numbers are lists of
/// two numbers, as in other formats.
pub(crate) fn structured(variable: &Variable) -> Option<ElementType> {
    let user = variable.user_type.as_ref().filter(|_| variable.is_structured() && variable.shown().is_none());
    user.map(|user| ElementType::User(Arc::clone(user)))
}

/// Returns the number of elements of an array.
pub(crate) fn elements(shape: &[u64]) -> u128 {
    shape.iter().fold(1, |product: u128, &len| product.saturating_mul(u128::from(len)))
}

/// Returns how many elements `--head` prints: at least one, and whole rows of text.
pub(crate) fn head_count(most: u64, shape: &[u64], variable: &Variable) -> u128 {
    let is_text = variable.nc_type == Some(NcType::Char);
    let row = shape.last().copied().filter(|_| is_text).unwrap_or(1).max(1);
    u128::from(most.max(1)).next_multiple_of(u128::from(row))
}

/// A dimension of a group.
#[derive(Serialize)]
struct Dimension<'a> {
    name: &'a str,
    length: u64,
    unlimited: bool,
}

/// A user-defined type of a group.
fn type_report(user: &UserType) -> serde_json::Value {
    let name_of = |element: &ElementType| match element {
        ElementType::Atomic(nc_type) => nc_type.name().to_owned(),
        ElementType::User(user) => user.path(),
    };
    let (name, class) = (&user.name, user.class_name());
    match &user.class {
        TypeClass::Enum { base, members } => {
            let members: Vec<_> = members
                .iter()
                // Integers of 64 bits at most.
                .map(|member| {
                    let value = i64::try_from(member.value).map(|value| json!(value));
                    let value = value.or_else(|_| u64::try_from(member.value).map(|value| json!(value)));
                    json!({"name": member.name, "value": value.unwrap_or_default()})
                })
                .collect();
            json!({"name": name, "class": class, "base": base.name(), "members": members})
        }
        TypeClass::Opaque { size } => json!({"name": name, "class": class, "size": size}),
        TypeClass::Compound { fields } => {
            let fields: Vec<_> = fields
                .iter()
                .map(|of| json!({"name": of.name, "type": name_of(&of.element), "shape": of.shape}))
                .collect();
            json!({"name": name, "class": class, "fields": fields})
        }
        TypeClass::Vlen { base } => json!({"name": name, "class": class, "base": name_of(base)}),
    }
}

/// A variable that cannot be read.
#[derive(Serialize)]
struct Unreadable<'a> {
    name: &'a str,
    path: &'a str,
    error: String,
}

/// A variable without its data.
#[derive(Serialize)]
struct DumpedVariable<'a> {
    name: &'a str,
    #[serde(flatten)]
    variable: VariableReport<'a>,
    attributes: Vec<AttributeReport<'a>>,
}

/// An attribute: its name, type and value.
#[derive(Serialize)]
pub(crate) struct AttributeReport<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    type_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_type: Option<String>,
    value: AttributeValue<'a>,
}

/// A single value is written without a list around it.
#[derive(Serialize)]
#[serde(untagged)]
enum AttributeValue<'a> {
    Text(Cow<'a, str>),
    Json(&'a Json),
    One(Element<'a>),
    Several(Vec<Element<'a>>),
}

impl<'a> AttributeReport<'a> {
    pub(crate) fn new(attribute: &'a Attribute) -> Self {
        let value = match &attribute.value {
            _ if attribute.user.is_some() && attribute.json.is_some() => {
                attribute.json.as_ref().map_or(AttributeValue::Text(Cow::Borrowed("")), AttributeValue::Json)
            }
            Value::Char(bytes) => AttributeValue::Text(String::from_utf8_lossy(bytes)),
            values if values.len() == 1 => AttributeValue::One(Element { values, at: 0 }),
            values => AttributeValue::Several((0..values.len()).map(|at| Element { values, at }).collect()),
        };
        let user_type = attribute.user.as_ref().map(|user| user.of.path());
        Self { name: &attribute.name, type_name: attribute.value.nc_type().name(), user_type, value }
    }

    /// The value as JSON in one line.
    pub(crate) fn value_text(&self) -> String {
        text(&self.value)
    }
}

/// One value. A float that JSON has no number for is a text.
struct Element<'a> {
    values: &'a Value,
    at: usize,
}

impl Serialize for Element<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = self.at;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self.values {
            Value::Byte(values) => values.get(at).serialize(serializer),
            Value::UByte(values) => values.get(at).serialize(serializer),
            Value::Short(values) => values.get(at).serialize(serializer),
            Value::UShort(values) => values.get(at).serialize(serializer),
            Value::Int(values) => values.get(at).serialize(serializer),
            Value::UInt(values) => values.get(at).serialize(serializer),
            Value::Int64(values) => values.get(at).serialize(serializer),
            Value::UInt64(values) => values.get(at).serialize(serializer),
            Value::Float(values) => match values.get(at) {
                Some(value) if !value.is_finite() => serializer.serialize_str(special(f64::from(*value))),
                value => value.serialize(serializer),
            },
            Value::Double(values) => match values.get(at) {
                Some(value) if !value.is_finite() => serializer.serialize_str(special(*value)),
                value => value.serialize(serializer),
            },
            Value::Char(bytes) => serializer.serialize_str(&text(bytes.get(at..=at).unwrap_or_default())),
            Value::String(strings) => {
                serializer.serialize_str(&text(strings.get(at).map(Vec::as_slice).unwrap_or_default()))
            }
        }
    }
}

/// Returns the JSON of a value.
fn text(value: &impl Serialize) -> String {
    // Writing to memory does not fail, and neither does any of these values.
    serde_json::to_string(value).unwrap_or_default()
}

/// Appends the JSON of one element.
fn append(values: &Value, at: usize, text: &mut Vec<u8>) {
    drop(serde_json::to_writer(text, &Element { values, at }));
}

fn special(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

/// Nested lists of values, whose brackets are written as rows begin and end.
pub(crate) struct NestedJson {
    shape: Vec<u64>,
    index: Vec<u64>,
    shown: Option<NetcdfView>,
    text: Vec<u8>,
    /// The bytes of a row of char.
    row: Vec<u8>,
    open: usize,
    started: bool,
}

impl NestedJson {
    pub(crate) fn new(shape: Vec<u64>, variable: &Variable) -> Self {
        let index = vec![0; shape.len()];
        Self {
            shape,
            index,
            shown: variable.shown(),
            text: Vec::new(),
            row: Vec::new(),
            open: 0,
            started: false,
        }
    }

    /// Writes the next values.
    pub(crate) fn write(&mut self, out: &mut dyn Write, values: &Value) -> Result<(), io::Error> {
        let parts = if matches!(self.shown, Some(NetcdfView::Complex(_))) { 2 } else { 1 };
        for at in 0..values.len() / parts {
            match (self.shown, values) {
                (_, Value::Char(bytes)) => self.letter(bytes.get(at).copied().unwrap_or_default()),
                (Some(NetcdfView::Complex(_)), _) => {
                    self.separate(self.shape.len());
                    self.text.push(b'[');
                    append(values, 2 * at, &mut self.text);
                    self.text.push(b',');
                    append(values, 2 * at + 1, &mut self.text);
                    self.text.push(b']');
                }
                (Some(NetcdfView::Bytes), Value::String(rows)) => {
                    self.separate(self.shape.len());
                    let row = rows.get(at).map(Vec::as_slice).unwrap_or_default();
                    drop(serde_json::to_writer(&mut self.text, row));
                }
                _ => {
                    self.separate(self.shape.len());
                    append(values, at, &mut self.text);
                }
            }
            self.advance();
            if self.text.len() >= FULL {
                out.write_all(&self.text)?;
                self.text.clear();
            }
        }
        Ok(())
    }

    /// Writes the next elements, which are JSON.
    pub(crate) fn write_elements(&mut self, out: &mut dyn Write, elements: &[Json]) -> Result<(), io::Error> {
        for element in elements {
            self.separate(self.shape.len());
            self.text.extend_from_slice(to_text(element).as_bytes());
            self.advance();
            if self.text.len() >= FULL {
                out.write_all(&self.text)?;
                self.text.clear();
            }
        }
        Ok(())
    }

    /// Adds a byte of char. The last dimension makes one string, without the NUL bytes at its end.
    fn letter(&mut self, byte: u8) {
        self.row.push(byte);
        let ends = self.index.iter().zip(&self.shape).next_back().is_none_or(|(at, len)| at + 1 == *len);
        if ends {
            self.separate(self.shape.len().saturating_sub(1));
            let row = std::mem::take(&mut self.row);
            let end = row.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let text = String::from_utf8_lossy(row.get(..end).unwrap_or_default());
            drop(serde_json::to_writer(&mut self.text, &text));
        }
    }

    /// Closes the open lists; an array without values is an empty list.
    pub(crate) fn close(&mut self, out: &mut dyn Write) -> Result<(), io::Error> {
        if !self.started {
            self.text.extend_from_slice(if self.shape.is_empty() { b"null" } else { b"[]" });
        }
        let open = std::mem::take(&mut self.open);
        self.text.resize(self.text.len() + open, b']');
        out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Writes the comma or the brackets before a value or a row of char.
    fn separate(&mut self, depth: usize) {
        if self.started && self.open > 0 {
            self.text.push(b',');
        }
        while self.open < depth {
            self.text.push(b'[');
            self.open += 1;
        }
        self.started = true;
    }

    /// Advances to the next value, and closes the lists that end with this one.
    fn advance(&mut self) {
        for (dimension, (at, len)) in self.index.iter_mut().zip(&self.shape).enumerate().rev() {
            *at += 1;
            if &*at < len {
                return;
            }
            *at = 0;
            if self.open > dimension {
                self.text.push(b']');
                self.open -= 1;
            }
        }
    }
}
