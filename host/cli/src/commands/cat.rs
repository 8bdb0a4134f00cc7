//! `ncz cat`: the values of one variable.

use std::io::Write;
use std::sync::Arc;

use ncz::cdl::{Digits, number_text};
use ncz::location::{DatasetUrl, Location};
use ncz::model::{ByteOrder, Container, NcType, NetcdfView, Value, Variable, row_json};
use ncz::registry::Registry;

use super::dump::{
    NestedJson, VariableValues, count_of, each_row, elements, head_count, structured, warn_of_many,
};
use crate::args::{ByteOrderArg, Cat};
use crate::dataset::{open, session, unknown_variable, variables_named};
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::slab_request::{self, Selected};

/// Bytes of text to collect before they are written.
const FULL: usize = 1 << 16;

/// Runs the command.
pub(crate) fn run(
    options: &Cat,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    messages: Messages,
) -> Result<Exit, CliError> {
    let url = DatasetUrl::parse(&options.path)?;
    let dataset = open(&url, session(registry, options.threads, options.shuffle_size)?)?;
    let variable = variable(&dataset, &url, &options.variable)?;
    let part = part(options, &dataset, variable)?;
    let counts: Vec<u64> = part.iter().map(|of| of.count).collect();
    let values = count_of(&counts);
    let head = options.head.map(|most| head_count(most, &counts, variable));
    match head {
        Some(most) if most < values => messages.note(&format!("{} more values follow", values - most)),
        None if !options.raw => warn_of_many([values].into_iter(), messages),
        _ => {}
    }
    if options.raw {
        raw(options, &dataset, variable, part, head, out, &url.location)?;
        return Ok(Exit::Good);
    }
    if let Some(of) = structured(variable) {
        if !options.json {
            return Err(CliError::Usage(format!(
                "variable {:?} has a user-defined type, whose values do not fit lines of CSV; --json prints them",
                variable.path
            )));
        }
        let failed = CliError::dataset(&url.location);
        let array = dataset.user_array(&variable.path).map_err(failed)?;
        let mut nested = NestedJson::new(counts, variable);
        each_row(&array, part, head, &url.location, |row| {
            Ok(nested.write_elements(out, &row_json(&of, row))?)
        })?;
        nested.close(out)?;
        writeln!(out)?;
        return Ok(Exit::Good);
    }
    if variable.shown().is_none() {
        return Err(CliError::Usage(format!(
            "variable {:?} has the Zarr type {}, which netCDF does not have; --raw writes its bytes",
            variable.path, variable.dtype
        )));
    }
    let mut source = VariableValues::of(&dataset, variable).map_err(CliError::dataset(&url.location))?;
    if options.json {
        let mut nested = NestedJson::new(counts, variable);
        source.each(part, head, &url.location, |values| Ok(nested.write(out, values)?))?;
        nested.close(out)?;
        writeln!(out)?;
    } else {
        let is_text = variable.nc_type == Some(NcType::Char);
        let row = match counts.as_slice() {
            [] | [_] if !is_text => 1,
            [.., last] if is_text || !options.lines => *last,
            _ => 1,
        };
        let mut lines =
            CsvLines { shown: variable.shown(), row, at: 0, text: Vec::new(), letters: Vec::new() };
        source.each(part, head, &url.location, |values| lines.write(values, out))?;
        if lines.at > 0 {
            lines.text.push(b'\n');
        }
        out.write_all(&lines.text)?;
    }
    Ok(Exit::Good)
}

/// Returns the variable that a name means, if there is only one.
fn variable<'a>(
    dataset: &'a dyn Container,
    url: &DatasetUrl,
    name: &'a str,
) -> Result<&'a Variable, CliError> {
    let hierarchy = dataset.hierarchy();
    // A path from the root means one variable, even if other groups have the same name.
    let exact = hierarchy
        .variables()
        .find(|variable| variable.path.trim_start_matches('/') == name.trim_start_matches('/'));
    if let Some(variable) = exact {
        return Ok(variable);
    }
    let path = crate::name_pattern::full_path(name);
    if let Some(lost) = hierarchy.unreadable().find(|lost| lost.path == path) {
        return Err(CliError::dataset(&url.location)(lost.error().into()));
    }
    let found: Vec<&Variable> = variables_named(dataset, name).collect();
    match found.as_slice() {
        [] => Err(unknown_variable(url, hierarchy, name, "")),
        [variable] => Ok(variable),
        several => {
            let paths: Vec<&str> = several.iter().map(|variable| variable.path.as_str()).collect();
            Err(CliError::Usage(format!(
                "several variables are named {name:?}: {}; give the path",
                paths.join(", ")
            )))
        }
    }
}

/// Returns what `--slab` selects of each dimension.
fn part(options: &Cat, dataset: &dyn Container, variable: &Variable) -> Result<Vec<Selected>, CliError> {
    let lengths = dataset.hierarchy().shape_of(variable);
    let text = options.slab.join(",");
    if options.slab.is_empty() {
        return Ok(lengths.into_iter().map(Selected::all).collect());
    }
    let failed = |source| CliError::Slab { text: text.clone(), source: Box::new(source) };
    let dimensions: Vec<(String, u64)> =
        variable.dimensions.iter().map(ToString::to_string).zip(lengths).collect();
    slab_request::parse(&text).and_then(|specs| slab_request::resolve(&specs, &dimensions)).map_err(failed)
}

/// Writes the elements as bytes.
fn raw(
    options: &Cat,
    dataset: &dyn Container,
    variable: &Variable,
    part: Vec<Selected>,
    head: Option<u128>,
    out: &mut dyn Write,
    location: &Location,
) -> Result<(), CliError> {
    if variable.dtype.is_variable_length() {
        return Err(CliError::Usage(format!(
            "the elements of variable {:?} ({}) have no fixed length, so --raw cannot separate them; use --json",
            variable.path, variable.dtype
        )));
    }
    let failed = CliError::dataset(location);
    let array = dataset.array(&variable.path).map_err(&failed)?;
    let native = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
    let swap = match options.order {
        ByteOrderArg::Native => false,
        ByteOrderArg::Little => native != ByteOrder::Little,
        ByteOrderArg::Big => native != ByteOrder::Big,
    };
    let unit = array.dtype().swap_unit().max(1);
    let mut buffer = Vec::new();
    let mut left = head.map_or(u128::MAX, |most| most.saturating_mul(array.dtype().size() as u128));
    for slab in VariableValues::cut(part, array.chunk_shape(), array.dtype().size()) {
        elements(&array, &slab, &mut buffer).map_err(&failed)?;
        if swap {
            buffer.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        }
        let len = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        out.write_all(buffer.get(..len).unwrap_or_default())?;
        left -= len as u128;
        if left == 0 {
            break;
        }
    }
    Ok(())
}

/// Writes values as lines.
struct CsvLines {
    shown: Option<NetcdfView>,
    /// Values per line.
    row: u64,
    /// Values on the current line so far.
    at: u64,
    text: Vec<u8>,
    /// The bytes of the current line, for char.
    letters: Vec<u8>,
}

impl CsvLines {
    fn write(&mut self, values: &Value, out: &mut dyn Write) -> Result<(), CliError> {
        let parts = if matches!(self.shown, Some(NetcdfView::Complex(_))) { 2 } else { 1 };
        for at in 0..values.len() / parts {
            if let Value::Char(bytes) = values {
                self.letters.extend(bytes.get(at));
            } else {
                if self.at > 0 {
                    self.text.push(b',');
                }
                self.value(values, at);
            }
            self.at += 1;
            if self.at == self.row {
                self.at = 0;
                if matches!(values, Value::Char(_)) {
                    let letters = std::mem::take(&mut self.letters);
                    let end = letters.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                    self.field(letters.get(..end).unwrap_or_default());
                }
                self.text.push(b'\n');
            }
            if self.text.len() >= FULL {
                out.write_all(&self.text)?;
                self.text.clear();
            }
        }
        Ok(())
    }

    fn value(&mut self, values: &Value, at: usize) {
        match (self.shown, values) {
            (Some(NetcdfView::Complex(_)), _) => {
                number_text(values, 2 * at, Digits::Exact, &mut self.text);
                let mut imaginary = Vec::new();
                number_text(values, 2 * at + 1, Digits::Exact, &mut imaginary);
                if !imaginary.starts_with(b"-") {
                    self.text.push(b'+');
                }
                self.text.extend_from_slice(&imaginary);
                self.text.push(b'j');
            }
            (Some(NetcdfView::Bytes), Value::String(rows)) => {
                for byte in rows.get(at).into_iter().flatten() {
                    self.text.extend_from_slice(format!("{byte:02x}").as_bytes());
                }
            }
            (_, Value::String(strings)) => {
                let text = strings.get(at).cloned().unwrap_or_default();
                self.field(&text);
            }
            _ => number_text(values, at, Digits::Exact, &mut self.text),
        }
    }

    /// Writes a text as a field of CSV (RFC 4180), quoted if needed.
    fn field(&mut self, text: &[u8]) {
        if !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
            self.text.extend_from_slice(text);
            return;
        }
        self.text.push(b'"');
        for &byte in text {
            if byte == b'"' {
                self.text.push(b'"');
            }
            self.text.push(byte);
        }
        self.text.push(b'"');
    }
}
