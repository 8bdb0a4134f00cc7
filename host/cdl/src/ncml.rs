//! NcML, netCDF's description of a dataset in XML
//! (<https://docs.unidata.ucar.edu/netcdf-java/current/userguide/ncml_schema_2_2.html>).
//!
//! The output is that of `ncdump -x` for classic files, which contains no data. Features that classic files lack
//! (groups, strings) are printed as NcML defines them.

use ncz_model::{Attribute, Group, Hierarchy, NetcdfView, Value, Variable};
use std::io::{self, Write};

use super::CdlOptions;
use super::number::attribute_value;
use super::text::without_padding;

/// Prints a dataset as NcML with this `location`. Only two of the options apply: the digits, and the selected
/// variables, whose elements are left open if they have no attributes, as in ncdump.
///
/// # Errors
/// The errors of writing.
pub fn ncml(
    out: &mut dyn Write,
    hierarchy: &Hierarchy,
    location: &str,
    options: &CdlOptions<'_>,
) -> Result<(), io::Error> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<netcdf xmlns=\"https://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2\" location=\"{}\">",
        escaped(location.as_bytes())
    )?;
    group(out, hierarchy, &hierarchy.root, options, 2)?;
    writeln!(out, "</netcdf>")
}

fn group(
    out: &mut dyn Write,
    hierarchy: &Hierarchy,
    group: &Group,
    options: &CdlOptions<'_>,
    indent: usize,
) -> Result<(), io::Error> {
    for dimension in &group.dimensions {
        let unlimited = if dimension.unlimited { " isUnlimited=\"true\"" } else { "" };
        let name = escaped(dimension.name.as_bytes());
        writeln!(out, "{:indent$}<dimension name=\"{name}\" length=\"{}\"{unlimited} />", "", dimension.len)?;
    }
    for attribute in &group.attributes {
        self::attribute(out, attribute, options, indent)?;
    }
    for variable in &group.variables {
        self::variable(out, hierarchy, group, variable, options, indent)?;
    }
    for child in &group.groups {
        writeln!(out, "{:indent$}<group name=\"{}\">", "", escaped(child.name.as_bytes()))?;
        self::group(out, hierarchy, child, options, indent + 2)?;
        writeln!(out, "{:indent$}</group>", "")?;
    }
    Ok(())
}

fn variable(
    out: &mut dyn Write,
    hierarchy: &Hierarchy,
    group: &Group,
    variable: &Variable,
    options: &CdlOptions<'_>,
    indent: usize,
) -> Result<(), io::Error> {
    let name = escaped(variable.name.as_bytes());
    let type_name = match variable.shown() {
        Some(NetcdfView::Plain(nc_type)) => nc_type.name(),
        Some(NetcdfView::Complex(_)) => "Structure",
        Some(NetcdfView::Bytes) => "opaque",
        None if variable.user_type.is_some() => {
            let user = variable.user_type.as_ref().map(|user| user.path()).unwrap_or_default();
            let user = escaped(user.as_bytes()).replace("--", "- -");
            return writeln!(out, "{:indent$}<!-- {name} is of the user-defined type {user} -->", "");
        }
        None => {
            let dtype = escaped(super::types::zarr_name(&variable.dtype).as_bytes()).replace("--", "- -");
            return writeln!(out, "{:indent$}<!-- {name} is of the Zarr type {dtype} -->", "");
        }
    };
    let shape: Vec<String> = variable
        .dimensions
        .iter()
        .map(|reference| {
            let is_near =
                hierarchy.resolve_dimension(&group.path, &reference.name).as_ref() == Some(reference);
            escaped(if is_near { reference.name.clone() } else { reference.to_string() }.as_bytes())
        })
        .collect();
    let shape = if shape.is_empty() { String::new() } else { format!(" shape=\"{}\"", shape.join(" ")) };
    write!(out, "{:indent$}<variable name=\"{name}\"{shape} type=\"{type_name}\"", "")?;
    let has_no_records = variable.dimensions.iter().any(|reference| {
        hierarchy.dimension(reference).is_some_and(|dimension| dimension.unlimited && dimension.len == 0)
    });
    let is_unselected = options.values_of.is_some_and(|selects| !selects(variable));
    if variable.attributes.is_empty() && (is_unselected || has_no_records) {
        return writeln!(out, " />");
    }
    writeln!(out, ">")?;
    for attribute in &variable.attributes {
        self::attribute(out, attribute, options, indent + 2)?;
    }
    writeln!(out, "{:indent$}</variable>", "")
}

fn attribute(
    out: &mut dyn Write,
    attribute: &Attribute,
    options: &CdlOptions<'_>,
    indent: usize,
) -> Result<(), io::Error> {
    write!(out, "{:indent$}<attribute name=\"{}\" ", "", escaped(attribute.name.as_bytes()))?;
    match &attribute.value {
        Value::Char(bytes) => writeln!(out, "value=\"{}\" />", escaped(without_padding(bytes))),
        Value::String(strings) if strings.len() == 1 => {
            let text = strings.first().map(Vec::as_slice).unwrap_or_default();
            writeln!(out, "type=\"String\" value=\"{}\" />", escaped(text))
        }
        Value::String(strings) => {
            let texts: Vec<String> = strings.iter().map(|text| escaped(text)).collect();
            // NcML splits values at blanks unless a separator is given.
            let is_free = |mark: &&str| texts.iter().all(|text| !text.contains(*mark));
            let separator = ["|", "\u{a6}", "\u{2028}"].into_iter().find(is_free).unwrap_or("|");
            writeln!(out, "type=\"String\" separator=\"{separator}\" value=\"{}\" />", texts.join(separator))
        }
        numbers => {
            let mut texts = Vec::new();
            for at in 0..numbers.len() {
                let mut text = Vec::new();
                attribute_value(numbers, at, options.digits, &mut text);
                let text = String::from_utf8_lossy(&text).into_owned();
                // The suffix of the type, which NcML puts elsewhere.
                let word = matches!(numbers, Value::Float(_)).then(|| text.strip_suffix('f')).flatten();
                let number = text.trim_end_matches(|letter: char| {
                    letter.is_ascii_uppercase() || matches!(letter, 'b' | 's')
                });
                let is_fraction = matches!(numbers, Value::Float(_) | Value::Double(_));
                texts.push(match (word, is_fraction) {
                    (Some(word), _) => word.to_owned(),
                    (None, true) => text.clone(),
                    (None, false) => number.to_owned(),
                });
            }
            writeln!(out, "type=\"{}\" value=\"{}\" />", numbers.nc_type(), texts.join(" "))
        }
    }
}

/// Escapes text for an attribute of XML. Control characters that XML does not allow become replacement characters.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for letter in String::from_utf8_lossy(bytes).chars() {
        match letter {
            '"' => text.push_str("&quot;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            '\n' => text.push_str("&#xA;"),
            '\r' => text.push_str("&#xD;"),
            '\t' => text.push_str("&#x9;"),
            '\u{7f}' => text.push_str("&#127;"),
            control if control.is_ascii_control() => text.push('\u{fffd}'),
            other => text.push(other),
        }
    }
    text
}
