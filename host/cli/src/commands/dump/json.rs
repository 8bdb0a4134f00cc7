//! A dataset as JSON, with its values, written as it is read.
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
//! Numbers are exact: whole ones as they are, fractions with as many digits as they need. `NaN`, `Infinity` and
//! `-Infinity` are texts, since JSON has no such numbers. Data are lists in lists, one level a dimension; `char` has a
//! text for each row; a complex number is a list of two, and one of `vlen-bytes` a list of bytes. Data that were not
//! asked for are absent; where they cannot be read, `error` says why, and `data` ends where the reading did. With
//! `--head` the number of elements that follow the last one is `more`.

use std::io::{self, Write};

use ncz::nczarr::{Attribute, Dataset, Group, Hierarchy, NcType, Shown, Value, Variable};
use ncz::place::Location;
use serde_json::{Value as Json, json};

use super::print::Plan;
use super::source::Source;
use crate::dataset::format_words;
use crate::error::{CliError, with_causes};

/// The version of the form; it changes when a key changes its meaning or goes.
const SCHEMA: u32 = 1;

/// Bytes of text to collect before they are written.
const FULL: usize = 1 << 16;

/// Prints a dataset as JSON.
pub(super) fn print(
    out: &mut dyn Write,
    dataset: &Dataset,
    place: &Location,
    plan: &Plan,
    lost: &mut dyn FnMut(&Variable, CliError) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let hierarchy = dataset.hierarchy();
    let name = json!(plan.name);
    let format = json!(format_words(hierarchy.format));
    let nczarr = hierarchy.format.is_nczarr();
    write!(out, "{{\"schema\": {SCHEMA}, \"name\": {name}, \"format\": {format}, \"nczarr\": {nczarr}")?;
    Printer { dataset, hierarchy, place, plan }.group(out, &hierarchy.root, lost)?;
    writeln!(out, "}}")?;
    Ok(())
}

struct Printer<'a> {
    dataset: &'a Dataset,
    hierarchy: &'a Hierarchy,
    place: &'a Location,
    plan: &'a Plan,
}

impl Printer<'_> {
    /// The members of a group's object, behind others.
    fn group(
        &self,
        out: &mut dyn Write,
        group: &Group,
        lost: &mut dyn FnMut(&Variable, CliError) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let dimension = |dimension: &ncz::nczarr::Dimension| json!({"name": dimension.name, "length": dimension.len, "unlimited": dimension.unlimited});
        let dimensions: Vec<Json> = group.dimensions.iter().map(dimension).collect();
        let attributes: Vec<Json> = group.attributes.iter().map(attribute).collect();
        write!(out, ",\n\"dimensions\": {},\n\"attributes\": {}", json!(dimensions), json!(attributes))?;
        if !group.unreadable.is_empty() {
            let unreadable = group.unreadable.iter().map(
                |lost| json!({"name": lost.name, "path": lost.path, "error": with_causes(&lost.error())}),
            );
            write!(out, ",\n\"unreadable\": {}", json!(unreadable.collect::<Vec<_>>()))?;
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
        let attributes: Vec<Json> = variable.attributes.iter().map(attribute).collect();
        let head = json!({
            "name": variable.name,
            "path": variable.path,
            "type": type_name(variable),
            "dtype": variable.dtype.text(),
            "dimensions": variable.dimensions.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "shape": self.hierarchy.shape_of(variable),
            "chunks": variable.chunk_shape,
            "shards": variable.sharding.as_ref().map(|sharding| &sharding.shape),
            "codecs": variable.filters,
            "attributes": attributes,
        });
        let head = head.to_string();
        // The data come behind the other members.
        write!(out, "{}", head.strip_suffix('}').unwrap_or(&head))?;
        let wanted = self.plan.has_data()
            && variable.shown().is_some()
            && self.plan.wants_group(group)
            && self.plan.wants(self.hierarchy, variable);
        if wanted {
            write!(out, ",\"data\":")?;
            let mut nested = Nested::new(self.hierarchy.shape_of(variable), variable);
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

    fn values(&self, out: &mut dyn Write, variable: &Variable, nested: &mut Nested) -> Result<(), CliError> {
        let mut source = Source::of(self.dataset, variable).map_err(CliError::dataset(self.place))?;
        let shape = self.hierarchy.shape_of(variable);
        let head = self.plan.head.map(|most| head_count(most, &shape, variable));
        source.each(source.whole(), head, self.place, |values| Ok(nested.write(out, values)?))
    }
}

/// The elements of an array.
pub(crate) fn elements(shape: &[u64]) -> u128 {
    shape.iter().fold(1, |product: u128, &len| product.saturating_mul(u128::from(len)))
}

/// How many elements are printed of those that are wanted: at least one, and of text whole rows.
pub(crate) fn head_count(most: u64, shape: &[u64], variable: &Variable) -> u128 {
    let is_text = variable.nc_type == Some(NcType::Char);
    let row = shape.last().copied().filter(|_| is_text).unwrap_or(1).max(1);
    u128::from(most.max(1)).next_multiple_of(u128::from(row))
}

/// The word for a variable's type; `None` for one that cannot be shown.
fn type_name(variable: &Variable) -> Option<&'static str> {
    Some(match variable.shown()? {
        Shown::Plain(nc_type) => nc_type.name(),
        Shown::Complex(ncz::nczarr::NcType::Float) => "complex64",
        Shown::Complex(_) => "complex128",
        Shown::Bytes => "bytes",
    })
}

fn attribute(attribute: &Attribute) -> Json {
    let value = match &attribute.value {
        Value::Char(bytes) => json!(String::from_utf8_lossy(bytes)),
        // A single number is no list.
        value if value.len() == 1 => element(value, 0),
        value => Json::Array((0..value.len()).map(|at| element(value, at)).collect()),
    };
    json!({"name": attribute.name, "type": attribute.value.nc_type().name(), "value": value})
}

fn element(values: &Value, at: usize) -> Json {
    let mut text = Vec::new();
    one(values, at, &mut text);
    serde_json::from_slice(&text).unwrap_or(Json::Null)
}

/// Appends one value.
fn one(values: &Value, at: usize, text: &mut Vec<u8>) {
    macro_rules! number {
        ($values:expr) => {
            // Writing to memory does not fail, nor does a number.
            drop(serde_json::to_writer(&mut *text, &$values.get(at).copied().unwrap_or_default()))
        };
    }
    match values {
        Value::Byte(values) => number!(values),
        Value::UByte(values) => number!(values),
        Value::Short(values) => number!(values),
        Value::UShort(values) => number!(values),
        Value::Int(values) => number!(values),
        Value::UInt(values) => number!(values),
        Value::Int64(values) => number!(values),
        Value::UInt64(values) => number!(values),
        Value::Float(values) => match values.get(at) {
            Some(value) if !value.is_finite() => text.extend_from_slice(special(f64::from(*value))),
            _ => number!(values),
        },
        Value::Double(values) => match values.get(at) {
            Some(value) if !value.is_finite() => text.extend_from_slice(special(*value)),
            _ => number!(values),
        },
        Value::Char(bytes) => {
            let bytes = bytes.get(at..=at).unwrap_or_default();
            drop(serde_json::to_writer(&mut *text, &String::from_utf8_lossy(bytes)));
        }
        Value::String(strings) => {
            let bytes = strings.get(at).map(Vec::as_slice).unwrap_or_default();
            drop(serde_json::to_writer(&mut *text, &String::from_utf8_lossy(bytes)));
        }
    }
}

fn special(value: f64) -> &'static [u8] {
    match value {
        f64::INFINITY => b"\"Infinity\"",
        f64::NEG_INFINITY => b"\"-Infinity\"",
        _ => b"\"NaN\"",
    }
}

/// Values in lists in lists, whose brackets are written as rows begin and end.
pub(crate) struct Nested {
    shape: Vec<u64>,
    index: Vec<u64>,
    shown: Option<Shown>,
    text: Vec<u8>,
    /// The bytes of a row of letters.
    row: Vec<u8>,
    open: usize,
    started: bool,
}

impl Nested {
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
        let parts = if matches!(self.shown, Some(Shown::Complex(_))) { 2 } else { 1 };
        for at in 0..values.len() / parts {
            match (self.shown, values) {
                (_, Value::Char(bytes)) => self.letter(bytes.get(at).copied().unwrap_or_default()),
                (Some(Shown::Complex(_)), _) => {
                    self.separate(self.shape.len());
                    self.text.push(b'[');
                    one(values, 2 * at, &mut self.text);
                    self.text.push(b',');
                    one(values, 2 * at + 1, &mut self.text);
                    self.text.push(b']');
                }
                (Some(Shown::Bytes), Value::String(rows)) => {
                    self.separate(self.shape.len());
                    let row = rows.get(at).map(Vec::as_slice).unwrap_or_default();
                    drop(serde_json::to_writer(&mut self.text, row));
                }
                _ => {
                    self.separate(self.shape.len());
                    one(values, at, &mut self.text);
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

    /// Letters of the last dimension make one text, less the NUL bytes at its end.
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

    /// Closes what is open; an array without values is an empty list.
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

    /// A comma or the brackets before a value or a row of letters.
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

    /// Goes on to the next value, and closes the lists that end with this one.
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
