//! Attributes of HDF5 as attributes of netCDF.

use std::sync::Arc;

use ncz_model::{Attribute, ElementType, NcType, Row, UserType, UserValue, Value, Warning};

use super::names::{CLASS, NAME, is_hidden};
use super::types;
use super::user_types::UserTypes;
use crate::hdf5::{
    Attributes, Collections, Dataspace, DatatypeMessage, File, Hdf5Error, RawAttribute, Reference,
    before_nul, before_padding,
};
use crate::user_elements::{self, Undecoded};

/// The attributes that netCDF shows of the object at `path`.
pub(super) fn shown(
    file: &File,
    heaps: &mut Collections,
    path: &str,
    all: &Attributes,
    (group, types): (&str, &mut UserTypes),
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Attribute>, Hdf5Error> {
    let mut shown: Vec<Attribute> = Vec::new();
    let mut warn = |text: String| warnings.push(Warning { at: path.to_owned(), text });
    for failed in &all.failed {
        warn(format!("an attribute cannot be read and is left out: {failed}"));
    }
    let is_scale = is_scale(all);
    for raw in &all.all {
        let name = &raw.name;
        if is_hidden(name) {
            if matches!(name.as_str(), CLASS | NAME) && !is_scale {
                warn(format!("the attribute {name:?} is left out: netCDF reserves its name"));
            }
            continue;
        }
        let committed = raw.committed.map(|address| (file.id, address));
        let attribute = match types.of((file, group), &raw.datatype, committed) {
            Ok(Some(user)) => {
                user_value(file, heaps, raw, user)?.map(|attribute| (attribute, flattened(raw)))
            }
            Ok(None) => {
                value(file, heaps, raw)?.map(|(value, note)| (Attribute::new(name.clone(), value), note))
            }
            Err(reason) => Err(format!("its type ({reason}) is not supported")),
        };
        match attribute {
            Ok((attribute, note)) => {
                if let Some(note) = note {
                    warn(format!("the attribute {name:?} is {note}"));
                }
                if shown.iter().any(|shown| shown.name == *name) {
                    warn(format!("it has two attributes {name:?}; the second is left out"));
                } else {
                    shown.push(attribute);
                }
            }
            Err(reason) => warn(format!("the attribute {name:?} is left out: {reason}")),
        }
    }
    Ok(shown)
}

/// Whether these are the attributes of a dimension scale.
pub(super) fn is_scale(all: &Attributes) -> bool {
    all.get(CLASS).is_some_and(|class| text(class) == b"DIMENSION_SCALE")
}

/// The bytes of a text of a fixed length before its NUL.
pub(super) fn text(attribute: &RawAttribute) -> &[u8] {
    match attribute.datatype {
        DatatypeMessage::FixedString { .. } => before_nul(&attribute.data),
        _ => &[],
    }
}

/// The integers of an attribute, if it has integers.
pub(super) fn integers(attribute: &RawAttribute) -> Option<Vec<i64>> {
    let element = types::element(&attribute.datatype).ok()?;
    let value = Value::from_stored_bytes(element.nc_type?, &element.dtype, &attribute.data)?;
    Some(match value {
        Value::Int(values) => values.into_iter().map(i64::from).collect(),
        Value::Int64(values) => values,
        Value::UInt(values) => values.into_iter().map(i64::from).collect(),
        Value::Short(values) => values.into_iter().map(i64::from).collect(),
        Value::Byte(values) => values.into_iter().map(i64::from).collect(),
        _ => return None,
    })
}

/// The references into global heaps in an attribute.
pub(super) fn references(file: &File, attribute: &RawAttribute) -> Vec<Reference> {
    match attribute.datatype {
        DatatypeMessage::VarLenString { .. } | DatatypeMessage::VarLenSequence { .. } => {
            Reference::decode_all(file, &attribute.data).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// What is lost of the shape of an attribute: netCDF has rows.
fn flattened(raw: &RawAttribute) -> Option<String> {
    let shape = raw.dataspace.shape();
    (shape.len() > 1).then(|| format!("an array of shape {shape:?}, read as a row"))
}

/// An attribute of a user-defined type, or why there is none.
fn user_value(
    file: &File,
    heaps: &mut Collections,
    raw: &RawAttribute,
    of: Arc<UserType>,
) -> Result<Result<Attribute, String>, Hdf5Error> {
    if raw.dataspace == Dataspace::Null {
        let row = Row::empty(&ElementType::User(Arc::clone(&of)));
        return Ok(Ok(Attribute::of_user_type(raw.name.clone(), UserValue { of, row })));
    }
    Ok(match user_elements::decode(file, heaps, &raw.datatype, &raw.data) {
        Ok(row) => Ok(Attribute::of_user_type(raw.name.clone(), UserValue { of, row })),
        Err(Undecoded::File(error)) if error.is_of_store() => return Err(error),
        Err(Undecoded::File(error)) => Err(error.line()),
        Err(Undecoded::Long(most)) => Err(format!("its values need more than {most} bytes of memory")),
    })
}

/// The value of an attribute and what it does not say of the type, or why there is none.
fn value(
    file: &File,
    heaps: &mut Collections,
    raw: &RawAttribute,
) -> Result<Result<(Value, Option<String>), String>, Hdf5Error> {
    let element = match types::element(&raw.datatype) {
        Ok(element) => element,
        Err(reason) => return Ok(Err(format!("its type ({reason}) is not supported"))),
    };
    let is_null = raw.dataspace == Dataspace::Null;
    let rank = raw.dataspace.shape().len();
    let note = flattened(raw).or_else(|| element.note.clone());
    let value = match &raw.datatype {
        DatatypeMessage::VarLenString { .. } if !is_null => {
            let references = references(file, raw);
            let strings = heaps.fetch(file, references.iter().copied()).and_then(|()| {
                references.iter().map(|string| Ok(before_nul(heaps.get(file, *string)?).to_vec())).collect()
            });
            match strings {
                Ok(strings) => Value::String(strings),
                Err(error) if error.is_of_store() => return Err(error),
                Err(error) => return Ok(Err(error.line())),
            }
        }
        DatatypeMessage::FixedString { .. } | DatatypeMessage::VarLenString { .. } if rank == 0 => {
            Value::Char(raw.data.clone())
        }
        DatatypeMessage::FixedString { size, padding, .. } => {
            let strings = raw.data.chunks_exact((*size).max(1) as usize);
            Value::String(strings.map(|string| before_padding(string, *padding).to_vec()).collect())
        }
        _ if is_null => Value::empty(element.nc_type.unwrap_or(NcType::Float)),
        _ => match element.values(&raw.data) {
            Some(value) => value,
            None => return Ok(Err("its bytes are not whole elements".to_owned())),
        },
    };
    Ok(Ok((value, note)))
}
