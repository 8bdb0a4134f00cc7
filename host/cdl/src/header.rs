//! The header, and the frame around the data.

use ncz_model::{
    Attribute, ByteOrder, ElementType, Group, Hierarchy, NcType, NetcdfKind, NetcdfView, Row, Storage,
    Unreadable, Value, Variable, join_path, json,
};
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use ncz_model::json::Json;

use super::data::DataWriter;
use super::names::{escaped_name, is_keyword};
use super::number::{attribute_value, special};
use super::text::{quote, quote_with, quoted, without_padding};
use super::times::Times;
use super::types::{self, Types};
use super::user_types::{self, Folded, definition, type_name};
use super::{CdlOptions, Data};

/// Prints everything; the values only with `data`.
pub(super) fn write<E: From<io::Error>>(
    out: &mut dyn Write,
    hierarchy: &Hierarchy,
    options: &CdlOptions<'_>,
    mut data: Option<Data<'_, E>>,
) -> Result<(), E> {
    writeln!(out, "netcdf {} {{", escaped_name(options.name))?;
    let types = Types::of(hierarchy);
    let mut folded = Folded::default();
    group(out, hierarchy, &types, &hierarchy.root, options, (0, &mut folded), &mut data)?;
    writeln!(out, "}}")?;
    Ok(())
}

fn group<E: From<io::Error>>(
    out: &mut dyn Write,
    hierarchy: &Hierarchy,
    types: &Types,
    group: &Group,
    options: &CdlOptions<'_>,
    (indent, folded): (usize, &mut Folded),
    data: &mut Option<Data<'_, E>>,
) -> Result<(), E> {
    let printer = Header { hierarchy, types, options, indent };
    printer.group(out, group, folded)?;
    if let Some(data) = data.as_mut().filter(|_| options.groups.is_none_or(|selects| selects(group))) {
        if !group.variables.is_empty() {
            writeln!(out, "{:indent$}data:", "")?;
        }
        for variable in &group.variables {
            if options.values_of.is_some_and(|selects| !selects(variable)) {
                continue;
            }
            let Some(mut writer) = DataWriter::start(out, hierarchy, variable, options, indent)? else {
                continue;
            };
            data(variable, &mut writer)?;
            writer.finish()?;
            folded.column = indent + 2;
        }
    }
    for child in &group.groups {
        let name = escaped_name(&child.name);
        writeln!(out, "\n{:indent$}group: {name} {{", "")?;
        self::group(out, hierarchy, types, child, options, (indent + 2, &mut *folded), data)?;
        writeln!(out, "{:inner$}}} // group {name}", "", inner = indent + 2)?;
    }
    Ok(())
}

struct Header<'a> {
    hierarchy: &'a Hierarchy,
    types: &'a Types,
    options: &'a CdlOptions<'a>,
    indent: usize,
}

impl Header<'_> {
    fn group(&self, out: &mut dyn Write, group: &Group, folded: &mut Folded) -> Result<(), io::Error> {
        let indent = self.indent;
        let has_own = group.path == "/" && !self.types.is_empty();
        if has_own || !group.types.is_empty() {
            writeln!(out, "{:indent$}types:", "")?;
        }
        if has_own {
            self.types.write(out)?;
        }
        let place = (indent + 2, self.options.line_length);
        for user in &group.types {
            out.write_all(&definition(self.hierarchy, &group.path, user, place, folded))?;
        }
        if !group.dimensions.is_empty() {
            writeln!(out, "{:indent$}dimensions:", "")?;
        }
        for dimension in &group.dimensions {
            let name = escaped_name(&dimension.name);
            let len = dimension.len;
            if dimension.unlimited {
                writeln!(out, "{:indent$}\t{name} = UNLIMITED ; // ({len} currently)", "")?;
            } else {
                writeln!(out, "{:indent$}\t{name} = {len} ;", "")?;
            }
        }
        if !group.variables.is_empty() || !group.unreadable.is_empty() {
            writeln!(out, "{:indent$}variables:", "")?;
        }
        for variable in &group.variables {
            self.variable(out, group, variable, folded)?;
        }
        for unreadable in &group.unreadable {
            self.unreadable(out, unreadable)?;
        }
        if !group.attributes.is_empty() || self.options.special {
            let title = if group.path == "/" { "global" } else { "group" };
            writeln!(out, "\n{:indent$}// {title} attributes:", "")?;
        }
        for attribute in &group.attributes {
            self.attribute(out, (group, None), attribute, folded)?;
        }
        if group.path == "/" && self.options.special {
            let properties = self.hierarchy.nc_properties.as_ref().filter(|_| self.options.properties);
            if let Some(text) = properties {
                self.special(out, "", "_NCProperties", &quoted_text(text))?;
            }
            if self.has_specials() {
                let of_zarr = if self.hierarchy.format.is_nczarr() { 2 } else { 0 };
                let (superblock, is_netcdf4) = match self.hierarchy.hdf5 {
                    Some(hdf5) => (hdf5.superblock, hdf5.is_netcdf4),
                    None => (of_zarr, true),
                };
                self.special(out, "", "_SuperblockVersion", &superblock.to_string())?;
                self.special(out, "", "_IsNetcdf4", if is_netcdf4 { "1" } else { "0" })?;
            }
            self.special(out, "", "_Format", &quoted_text(self.hierarchy.format.kind().name()))?;
        }
        Ok(())
    }

    fn variable(
        &self,
        out: &mut dyn Write,
        group: &Group,
        variable: &Variable,
        folded: &mut Folded,
    ) -> Result<(), io::Error> {
        let indent = self.indent;
        let name = escaped_name(&variable.name);
        let dimensions = self.dimension_names(group, variable);
        if let Some(user) = &variable.user_type {
            let type_name = type_name(self.hierarchy, &group.path, user);
            writeln!(out, "{:indent$}\t{type_name} {name}{dimensions} ;", "")?;
            for attribute in &variable.attributes {
                self.attribute(out, (group, Some(variable)), attribute, folded)?;
            }
            if self.options.special && self.has_specials() {
                self.specials(out, variable, None)?;
            }
            return Ok(());
        }
        let Some(shown) = variable.shown() else {
            // CDL cannot express the type; a comment keeps the rest readable for ncgen.
            let dtype = types::zarr_name(&variable.dtype);
            return writeln!(
                out,
                "{:indent$}\t// {name}{dimensions} is of the Zarr type {dtype}, which netCDF does not have",
                ""
            );
        };
        let type_name = self.types.name(shown);
        // The types of a netCDF file are those of CDL.
        let remark = types::remark(variable).filter(|_| !self.hierarchy.format.is_netcdf());
        let remark = remark.map(|text| format!(" // {text}")).unwrap_or_default();
        writeln!(out, "{:indent$}\t{type_name} {name}{dimensions} ;{remark}", "")?;
        for attribute in &variable.attributes {
            // ncgen refuses a fill value of another type than the variable's.
            let is_odd = attribute.name == "_FillValue"
                && (attribute.value.len() != 1 || shown != NetcdfView::Plain(attribute.value.nc_type()));
            if is_odd && variable.nc_type != Some(NcType::Char) {
                write!(out, "{:indent$}\t\t// not of the type:", "")?;
            }
            self.attribute(out, (group, Some(variable)), attribute, folded)?;
        }
        if self.options.special && self.has_specials() {
            self.specials(out, variable, Some(shown))?;
        }
        Ok(())
    }

    fn unreadable(&self, out: &mut dyn Write, unreadable: &Unreadable) -> Result<(), io::Error> {
        let mut reason = unreadable.reason.to_string();
        let mut source = unreadable.reason.source();
        while let Some(error) = source {
            reason.push_str(": ");
            reason.push_str(&error.to_string());
            source = error.source();
        }
        let name = escaped_name(&unreadable.name);
        let reason = reason.replace(char::is_control, " ");
        writeln!(out, "{:indent$}\t// {name} cannot be read: {reason}", "", indent = self.indent)
    }

    /// Returns `(y, x)`; a name that refers to another dimension here is printed with its group.
    fn dimension_names(&self, group: &Group, variable: &Variable) -> String {
        if variable.dimensions.is_empty() {
            return String::new();
        }
        let names: Vec<String> = variable
            .dimensions
            .iter()
            .map(|reference| {
                if self.hierarchy.resolve_dimension(&group.path, &reference.name).as_ref() == Some(reference)
                {
                    escaped_name(&reference.name)
                } else {
                    escaped_name(&join_path(&reference.group, &reference.name))
                }
            })
            .collect();
        format!("({})", names.join(", "))
    }

    fn attribute(
        &self,
        out: &mut dyn Write,
        (group, variable): (&Group, Option<&Variable>),
        attribute: &Attribute,
        folded: &mut Folded,
    ) -> Result<(), io::Error> {
        let name = variable.map_or("", |variable| &variable.name);
        let nc_type = attribute.value.nc_type();
        let is_fill = self.options.fill_types && variable.is_some() && attribute.name == "_FillValue";
        let type_name =
            if nc_type == NcType::String || is_fill { format!("{nc_type} ") } else { String::new() };
        let user = attribute.user.as_ref();
        let type_name = match user {
            Some(user) => user_types::type_name(self.hierarchy, &group.path, &user.of) + " ",
            None => type_name,
        };
        let indent = self.indent;
        let blank = if is_keyword(name) { " " } else { "" };
        write!(out, "{:indent$}\t\t{type_name}{}{blank}:", "", escaped_name(name))?;
        write!(out, "{} = ", escaped_name(&attribute.name))?;
        let mut text = Vec::new();
        if let Some(user) = user {
            let of = ElementType::User(Arc::clone(&user.of));
            for at in 0..user.row.len() {
                let mut piece = Vec::new();
                user_types::value(&of, &user.row, at, self.options.digits, &mut piece);
                let comma = if at + 1 < user.row.len() { b", ".as_slice() } else { b"" };
                piece.extend_from_slice(comma);
                // ncdump folds only these.
                match user.row {
                    Row::Plain(_) | Row::Opaque(_) => text.extend_from_slice(&piece),
                    _ => folded.put(&piece, indent, self.options.line_length, &mut text),
                }
            }
            text.extend_from_slice(b" ;\n");
            return out.write_all(&text);
        }
        match &attribute.value {
            value if value.is_empty() => text.extend_from_slice(b"\"\""),
            Value::Char(bytes) => {
                // ncdump begins a new line after a newline where an attribute cannot be a list of strings.
                let is_broken =
                    !self.options.exact_text && self.hierarchy.format.kind() != NetcdfKind::Netcdf4;
                let newline: &[u8] = if is_broken { b"\\n\",\n\t\t\t\"" } else { b"\\n" };
                quote_with(newline, without_padding(bytes), &mut text);
            }
            Value::String(strings) => {
                for (at, string) in strings.iter().enumerate() {
                    text.extend_from_slice(if at > 0 { b", " } else { b"" });
                    quote(string, &mut text);
                }
            }
            numbers => {
                for at in 0..numbers.len() {
                    text.extend_from_slice(if at > 0 { b", " } else { b"" });
                    attribute_value(numbers, at, self.options.digits, &mut text);
                }
            }
        }
        text.extend_from_slice(b" ;");
        let times =
            variable.zip(self.options.times).and_then(|(variable, form)| Times::of_units(variable, form));
        if let Some(times) = times {
            self.dates(&times, &attribute.value, &mut text);
        }
        out.write_all(&text)?;
        writeln!(out)
    }

    /// Appends a comment with the dates of numbers: on the same line for one or two numbers, on separate lines for
    /// more.
    fn dates(&self, times: &Times, value: &Value, text: &mut Vec<u8>) {
        let count = value.len();
        // Bytes in this line, as ncdump counts them.
        let mut column = 0;
        for at in 0..count {
            let Some(number) = number_at(value, at) else { return };
            let mut date = Vec::new();
            if let Some(word) = special(number) {
                date.extend_from_slice(word.as_bytes());
            } else if !times.write(number, &mut date) {
                attribute_value(value, at, self.options.digits, &mut date);
            }
            if at + 1 < count {
                date.push(b',');
            }
            column += 1 + date.len();
            let is_new_line = count > 2 && (at == 0 || column > self.options.line_length);
            if is_new_line {
                text.extend_from_slice(format!("\n{:1$}\t\t  ", "", self.indent).as_bytes());
                column = 18 + date.len();
            } else {
                text.push(b' ');
            }
            if at == 0 || is_new_line {
                text.extend_from_slice(b"// ");
                column += 3;
            }
            text.extend_from_slice(&date);
        }
    }

    /// Whether variables, and not only the dataset, have special attributes: in classic files they have none.
    fn has_specials(&self) -> bool {
        self.hierarchy.format.kind().is_hdf5()
    }

    fn specials(
        &self,
        out: &mut dyn Write,
        variable: &Variable,
        shown: Option<NetcdfView>,
    ) -> Result<(), io::Error> {
        let name = &variable.name;
        let storage = match variable.storage {
            Storage::Scalar => Storage::Chunked,
            storage => storage,
        };
        self.special(out, name, "_Storage", &format!("\"{}\"", storage.name()))?;
        if storage == Storage::Chunked && !variable.chunk_shape.is_empty() {
            let lengths: Vec<String> = variable.chunk_shape.iter().map(u64::to_string).collect();
            self.special(out, name, "_ChunkSizes", &lengths.join(", "))?;
        }
        let by_number = |codec: &Json| self.hierarchy.format.is_netcdf().then(|| number(codec)).flatten();
        let filter = |id: &str| {
            let is = |filter: &&Json| filter.get("id").and_then(Json::as_str) == Some(id);
            let is_number =
                |filter: &&Json| by_number(filter).is_some_and(|number| Some(number) == number_of(id));
            variable.filters.iter().find(|filter| is(filter) || is_number(filter))
        };
        let only_filter = self.options.only_filter;
        if filter("fletcher32").is_some() && !only_filter {
            self.special(out, name, "_Fletcher32", "\"true\"")?;
        }
        if filter("shuffle").is_some() && !only_filter {
            self.special(out, name, "_Shuffle", "\"true\"")?;
        }
        if let Some(zlib) = filter("zlib").filter(|_| !only_filter) {
            let level = match by_number(zlib) {
                Some(_) => zlib.get("cd_values").and_then(|words| words.as_array()?.first()),
                None => zlib.get("level"),
            };
            let level = level.map_or_else(|| "1".to_owned(), ncz_model::json::to_text);
            self.special(out, name, "_DeflateLevel", &level)?;
        }
        if let Some(text) = self.options.filter_text.and_then(|text| text(variable)) {
            self.special(out, name, "_Filter", &quoted_text(&text))?;
        }
        if !variable.filters.is_empty() && !self.hierarchy.format.is_netcdf() {
            self.special(out, name, "_Codecs", &quoted_text(&json::codecs_text(&variable.filters)))?;
        }
        // ncgen accepts a byte order only for numbers.
        if matches!(shown, Some(NetcdfView::Plain(nc_type)) if nc_type != NcType::String) {
            match variable.dtype.order() {
                ByteOrder::Little => self.special(out, name, "_Endianness", "\"little\"")?,
                ByteOrder::Big => self.special(out, name, "_Endianness", "\"big\"")?,
                ByteOrder::None => {}
            }
        }
        let is_string = self.hierarchy.format.is_netcdf() && variable.dtype.is_variable_length();
        if variable.fill.is_none() && !is_string && variable.user_type.is_none() {
            self.special(out, name, "_NoFill", "\"true\"")?;
        }
        Ok(())
    }

    fn special(&self, out: &mut dyn Write, variable: &str, name: &str, value: &str) -> Result<(), io::Error> {
        writeln!(out, "{:indent$}\t\t{}:{name} = {value} ;", "", escaped_name(variable), indent = self.indent)
    }
}

/// Returns a number of an attribute as the nearest double; `None` for text.
fn number_at(value: &Value, at: usize) -> Option<f64> {
    Some(match value {
        Value::Byte(values) => f64::from(*values.get(at)?),
        Value::UByte(values) => f64::from(*values.get(at)?),
        Value::Short(values) => f64::from(*values.get(at)?),
        Value::UShort(values) => f64::from(*values.get(at)?),
        Value::Int(values) => f64::from(*values.get(at)?),
        Value::UInt(values) => f64::from(*values.get(at)?),
        Value::Int64(values) => *values.get(at)? as f64,
        Value::UInt64(values) => *values.get(at)? as f64,
        Value::Float(values) => f64::from(*values.get(at)?),
        Value::Double(values) => *values.get(at)?,
        Value::Char(_) | Value::String(_) => return None,
    })
}

/// Returns the number of a filter of an HDF5 file.
fn number(codec: &Json) -> Option<u64> {
    codec.get("filter").and_then(Json::as_u64)
}

/// Returns the number of a filter that has a special attribute of its own.
fn number_of(id: &str) -> Option<u64> {
    match id {
        "zlib" => Some(1),
        "shuffle" => Some(2),
        "fletcher32" => Some(3),
        _ => None,
    }
}

fn quoted_text(text: &str) -> String {
    String::from_utf8_lossy(&quoted(text.as_bytes())).into_owned()
}
