//! User-defined types: their definitions, and their values (`print_ud_type` and the `..._typ_tostring` functions of
//! ncdump).

use ncz_model::{ElementType, Field, Hierarchy, Row, TypeClass, UserType, Value, integer_at};
use std::fmt::Write;

use super::names::escaped_name;
use super::number::{Digits, double_value, float_value, integer_value};
use super::text::{quote, without_padding};

/// The name of a type as a group sees it: with its path if another type there has its name.
pub(super) fn type_name(hierarchy: &Hierarchy, group: &str, of: &UserType) -> String {
    let mut around = group;
    loop {
        let here = hierarchy.group(around).ok();
        if let Some(found) = here.and_then(|here| here.types.iter().find(|found| found.name == of.name)) {
            if **found == *of {
                return escaped_name(&of.name);
            }
            break;
        }
        match around.rsplit_once('/') {
            Some((outer, name)) if !name.is_empty() => around = if outer.is_empty() { "/" } else { outer },
            _ => break,
        }
    }
    let groups = of.group.split('/').filter(|name| !name.is_empty()).map(escaped_name);
    groups.chain([escaped_name(&of.name)]).fold(String::new(), |path, name| path + "/" + &name)
}

fn element_name(hierarchy: &Hierarchy, group: &str, of: &ElementType) -> String {
    match of {
        ElementType::Atomic(nc_type) => nc_type.name().to_owned(),
        ElementType::User(user) => type_name(hierarchy, group, user),
    }
}

/// Text that is folded at a column, as ncdump folds it.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// The column, which ncdump keeps from one part of the header to the next.
    pub(super) column: usize,
}

impl Folded {
    /// Appends a piece, on a new line if it does not fit into this one.
    pub(super) fn put(&mut self, piece: &[u8], indent: usize, line_length: usize, text: &mut Vec<u8>) {
        if piece.len() + self.column > line_length.saturating_sub(2) && piece.len() > 2 {
            text.push(b'\n');
            text.resize(text.len() + indent + 4, b' ');
            self.column = indent + 4;
        }
        text.extend_from_slice(piece);
        self.column = if piece.ends_with(b"\n") { indent } else { self.column + piece.len() };
    }
}

/// Returns the definition of a type. `indent` is that of the line.
pub(super) fn definition(
    hierarchy: &Hierarchy,
    group: &str,
    user: &UserType,
    (indent, line_length): (usize, usize),
    folded: &mut Folded,
) -> Vec<u8> {
    let name = escaped_name(&user.name);
    let mut text = vec![b' '; indent];
    match &user.class {
        TypeClass::Vlen { base } => {
            let base = element_name(hierarchy, group, base);
            text.extend_from_slice(format!("{base}(*) {name} ;\n").as_bytes());
        }
        TypeClass::Opaque { size } => {
            text.extend_from_slice(format!("opaque({size}) {name} ;\n").as_bytes());
        }
        TypeClass::Enum { base, members } => {
            folded.put(format!("{base} enum {name} {{").as_bytes(), indent, line_length, &mut text);
            for (at, member) in members.iter().enumerate() {
                let end = if at + 1 < members.len() { ", " } else { "} ;\n" };
                let piece = format!("{} = {}{end}", escaped_name(&member.name), member.value);
                folded.put(piece.as_bytes(), indent, line_length, &mut text);
            }
            if members.is_empty() {
                text.extend_from_slice(b"} ;\n");
            }
        }
        TypeClass::Compound { fields } => {
            let mut lines = format!("compound {name} {{\n");
            for field in fields {
                let of = element_name(hierarchy, group, &field.element);
                let lengths: Vec<String> = field.shape.iter().map(u64::to_string).collect();
                let lengths =
                    if lengths.is_empty() { String::new() } else { format!("({})", lengths.join(", ")) };
                // Writing to text does not fail.
                let _ = writeln!(lines, "{:indent$}  {of} {}{lengths} ;", "", escaped_name(&field.name));
            }
            let _ = writeln!(lines, "{:indent$}}}; // {name}", "");
            text.extend_from_slice(lines.as_bytes());
        }
    }
    text
}

/// Appends one value of a row.
pub(super) fn value(of: &ElementType, row: &Row, at: usize, digits: Digits, text: &mut Vec<u8>) {
    match (row, of) {
        (Row::Plain(integers), ElementType::User(user)) => {
            let integer = integer_at(integers, at).unwrap_or_default();
            // `_` is the fill value.
            match user.member(integer).filter(|name| *name != "_") {
                Some(name) => text.extend_from_slice(escaped_name(name).as_bytes()),
                None => integer_value(integer, text),
            }
        }
        (Row::Plain(values), ElementType::Atomic(_)) => plain(values, at, digits, text),
        (Row::Opaque(values), _) => {
            text.extend_from_slice(b"0X");
            for byte in values.get(at).into_iter().flatten() {
                text.extend_from_slice(format!("{byte:02X}").as_bytes());
            }
        }
        (Row::Vlen(rows), ElementType::User(user)) => {
            let TypeClass::Vlen { base } = &user.class else { return };
            text.push(b'{');
            if let Some(row) = rows.get(at) {
                list(base, row, digits, text);
            }
            text.push(b'}');
        }
        (Row::Compound(values), ElementType::User(user)) => {
            let TypeClass::Compound { fields } = &user.class else { return };
            text.push(b'{');
            for (number, (part, row)) in fields.iter().zip(values.get(at).into_iter().flatten()).enumerate() {
                text.extend_from_slice(if number > 0 { b", " } else { b"" });
                field(part, row, digits, text);
            }
            text.push(b'}');
        }
        (Row::Vlen(_) | Row::Compound(_), ElementType::Atomic(_)) => {}
    }
}

fn field(part: &Field, row: &Row, digits: Digits, text: &mut Vec<u8>) {
    match (part.shape.last(), row) {
        (None, _) => value(&part.element, row, 0, digits, text),
        // Rows of char are texts.
        (Some(len), Row::Plain(Value::Char(bytes))) => {
            let len = usize::try_from(*len).unwrap_or(usize::MAX).max(1);
            text.push(b'{');
            for (at, string) in bytes.chunks(len).enumerate() {
                text.extend_from_slice(if at > 0 { b", " } else { b"" });
                quote(without_padding(string), text);
            }
            text.push(b'}');
        }
        (Some(_), _) => {
            text.push(b'{');
            list(&part.element, row, digits, text);
            text.push(b'}');
        }
    }
}

fn list(of: &ElementType, row: &Row, digits: Digits, text: &mut Vec<u8>) {
    for at in 0..row.len() {
        text.extend_from_slice(if at > 0 { b", " } else { b"" });
        value(of, row, at, digits, text);
    }
}

fn plain(values: &Value, at: usize, digits: Digits, text: &mut Vec<u8>) {
    match values {
        Value::Float(values) => float_value(values.get(at).copied().unwrap_or_default(), digits, text),
        Value::Double(values) => double_value(values.get(at).copied().unwrap_or_default(), digits, text),
        Value::String(texts) => quote(texts.get(at).map(Vec::as_slice).unwrap_or_default(), text),
        Value::Char(bytes) => quote(without_padding(bytes.get(at..=at).unwrap_or_default()), text),
        integers => integer_value(integer_at(integers, at).unwrap_or_default(), text),
    }
}
