//! Whether the elements of a variable mean the same in two datasets, so that they can be one variable.

mod values;

use ncz_model::masked::FILL_VALUE;
use ncz_model::{
    ByteOrder, FillValue, Format, Hierarchy, Kind, NcType, NetcdfView, Value, Variable, is_same_number,
    same_rows,
};

pub(crate) use self::values::{differing, differing_groups, is_same_dimension, same_dimensions, same_values};
use crate::copy::{Selection, fill_text};

/// Attributes that give numbers their meaning: if they differ, the same number has another meaning.
const MEANING: [&str; 9] = [
    "units",
    "calendar",
    "scale_factor",
    "add_offset",
    "missing_value",
    "_Unsigned",
    "flag_values",
    "flag_masks",
    "positive",
];

/// The attribute that makes readers take numbers for those of the other sign.
const UNSIGNED: &str = "_Unsigned";

const OTHER_FILL: &str = "its fill values differ, so that a missing value would become another one";

/// A variable, and the dataset that it is in.
pub(crate) type Side<'a> = (&'a Variable, &'a Hierarchy);

/// Whether an attribute gives numbers their meaning.
pub(crate) fn is_meaning(attribute: &str) -> bool {
    MEANING.contains(&attribute) || attribute.starts_with("_Quantize")
}

/// Whether elements of the one are elements of the other, and mean the same. The error is the difference, in which the
/// `names` are those of the two datasets.
pub(crate) fn same_meaning(names: (&str, &str), one: Side<'_>, other: Side<'_>) -> Result<(), String> {
    same_kind(names, one.0, other.0)?;
    same_masks(names, one, other)
}

fn same_kind((one, other): (&str, &str), original: &Variable, variable: &Variable) -> Result<(), String> {
    let (ours, theirs) = (&original.dtype, &variable.dtype);
    let is_same_unit = match ours.kind() {
        Kind::DateTime | Kind::TimeDelta => ours.text().get(1..) == theirs.text().get(1..),
        _ => true,
    };
    if (ours.kind(), ours.size()) != (theirs.kind(), theirs.size()) || !is_same_unit {
        return Err(format!("its type is {ours} in {one} and {theirs} in {other}"));
    }
    let fill = |variable: &Variable| {
        let bytes = variable.fill_bytes();
        match variable.dtype.order() {
            ByteOrder::Big => bytes
                .chunks(variable.dtype.swap_unit().max(1))
                .flat_map(|unit| unit.iter().rev().copied().collect::<Vec<u8>>())
                .collect(),
            _ => bytes,
        }
    };
    let row = |variable: &'_ Variable| variable.fill.as_ref().and_then(FillValue::row).cloned();
    let is_same = match (row(original), row(variable)) {
        // The bytes are addresses in a heap of each file.
        (Some(ours), Some(theirs)) => same_rows(&ours, &theirs),
        _ => fill(original) == fill(variable),
    };
    if !is_same {
        return Err(OTHER_FILL.to_owned());
    }
    same_attributes((one, other), original, variable, &[])
}

/// Whether the elements are texts, of a fixed length or of any.
pub(crate) fn is_text(variable: &Variable) -> bool {
    variable.shown() == Some(NetcdfView::Plain(NcType::String))
}

/// Whether texts of the one are texts of the other, and mean the same, however long they may be. The error is as for
/// [`same_meaning`].
pub(crate) fn same_texts(names: (&str, &str), one: Side<'_>, other: Side<'_>) -> Result<(), String> {
    if fill_text(one.0) != fill_text(other.0) {
        return Err(OTHER_FILL.to_owned());
    }
    same_attributes(names, one.0, other.0, &[])?;
    same_masks(names, one, other)
}

/// Whether readers take the elements for numbers of the other sign.
pub(crate) fn is_other_sign(variable: &Variable) -> bool {
    let own = match variable.dtype.kind() {
        Kind::Int => "false",
        Kind::UInt => "true",
        _ => "",
    };
    variable.attribute(UNSIGNED).is_some_and(|attribute| attribute.value.as_text() != Some(own))
}

/// Whether all readers mask what [`masked_value`](Variable::masked_value) says: of a default of netCDF, only where it is
/// the `fill_value` of Zarr version 2, which xarray masks.
pub(crate) fn is_masked_by_all((variable, hierarchy): Side<'_>) -> bool {
    let is_version_2 = matches!(hierarchy.format, Format::Zarr2 | Format::Nczarr(_));
    variable.attribute(FILL_VALUE).is_some() || is_version_2 && variable.fill.is_some()
}

/// Whether the attributes that give numbers their meaning are the same, apart from some.
pub(crate) fn same_attributes(
    (one, other): (&str, &str),
    original: &Variable,
    variable: &Variable,
    except: &[&str],
) -> Result<(), String> {
    let names = original.attributes.iter().chain(&variable.attributes).map(|attribute| &attribute.name);
    for name in names.filter(|name| is_meaning(name) && !except.contains(&name.as_str())) {
        let value = |variable: &Variable| {
            let attribute = variable.attribute(name).filter(|_| name != UNSIGNED || is_other_sign(variable));
            attribute.map(|attribute| plain(&attribute.value))
        };
        let (ours, theirs) = (value(original), value(variable));
        if ours != theirs {
            let shown = |value: Option<String>| value.unwrap_or_else(|| "missing".to_owned());
            let (ours, theirs) = (shown(ours), shown(theirs));
            return Err(format!("its attribute {name:?} is {ours} in {one} and {theirs} in {other}"));
        }
    }
    Ok(())
}

/// Whether readers mask in the other what they mask in the one. Without the attribute on both it is a default, which is
/// that of the other side too, since the fill values are the same.
fn same_masks(
    (one, other): (&str, &str),
    (original, ours): Side<'_>,
    (variable, theirs): Side<'_>,
) -> Result<(), String> {
    let has_attribute = original.attribute(FILL_VALUE).is_some();
    if has_attribute
        && !is_masked_by_all((variable, theirs))
        && variable.masked_value(theirs.format).is_some()
    {
        return Err(format!(
            "its attribute _FillValue is only in {one}, and not all readers mask netCDF's default in {other}"
        ));
    }
    let masks = (original.masked_value(ours.format), variable.masked_value(theirs.format));
    let is_explicit = [original, variable].iter().any(|side| side.attribute(FILL_VALUE).is_some());
    let shown = |value: &Option<Value>| value.as_ref().map_or("none".to_owned(), plain);
    match &masks {
        (Some(ours), Some(theirs)) if is_same_number(ours, theirs) => Ok(()),
        (None, None) => Ok(()),
        (ours, theirs) if is_explicit => Err(format!(
            "its missing value (_FillValue) is {} in {one} and {} in {other}",
            shown(ours),
            shown(theirs)
        )),
        _ => Ok(()),
    }
}

/// The selected variables whose fill value xarray masks in the one and not in the other, since it does not mark missing
/// values there.
pub(crate) fn unmasked_fills(one: &Hierarchy, other: &Hierarchy, selection: &Selection) -> Vec<String> {
    let is_masked = |hierarchy: &Hierarchy, variable: &Variable| {
        hierarchy.format == Format::Zarr2 && variable.has_unmasked_fill()
    };
    let masks_it = |variable: &Variable| {
        let masked = variable.masked_value(other.format);
        is_masked(other, variable) || masked.is_some_and(|value| is_same_number(&value, &Value::from(0_i32)))
    };
    let is_lost = |variable: &&Variable| {
        let copied = other.variable(&variable.path);
        selection.has(&variable.path)
            && is_masked(one, variable)
            && copied.is_ok_and(|copied| !masks_it(copied))
    };
    one.variables().filter(is_lost).map(|variable| variable.path.clone()).collect()
}

/// A value as text, in which numbers of all types are the same.
pub(crate) fn plain(value: &Value) -> String {
    fn list<T: std::fmt::Display>(values: &[T]) -> String {
        values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
    match value {
        Value::Byte(values) => list(values),
        Value::UByte(values) => list(values),
        Value::Short(values) => list(values),
        Value::UShort(values) => list(values),
        Value::Int(values) => list(values),
        Value::UInt(values) => list(values),
        Value::Int64(values) => list(values),
        Value::UInt64(values) => list(values),
        Value::Float(values) => list(values),
        Value::Double(values) => list(values),
        Value::Char(text) => format!("{:?}", String::from_utf8_lossy(text)),
        Value::String(texts) => {
            let texts = texts.iter().map(|text| format!("{:?}", String::from_utf8_lossy(text)));
            texts.collect::<Vec<_>>().join(", ")
        }
    }
}
