//! The groups, dimensions, variables and attributes that a header describes.

use std::collections::HashSet;

use ncz_model::{
    Attribute, ByteOrder, Dimension, DimensionRef, FillText, FillValue, Format, Group, Hierarchy,
    KeyEncoding, NcType, Order, ScalarForm, Separator, Storage, Unreadable, Value, Variable,
    VariableDocuments, VariableError, Warning, default_fill, limits,
};

use super::cursor::Name;
use super::header::{self, Entry, Header};
use super::layout::Layout;

/// Makes the hierarchy of a file of `file_len` bytes.
///
/// # Errors
/// Two dimensions, variables, or attributes of one variable have the same name: returns it.
pub(super) fn hierarchy(
    header: &Header,
    records: u64,
    layouts: &[Layout],
    file_len: u64,
) -> Result<Hierarchy, String> {
    let mut hierarchy = Hierarchy::new(Format::Netcdf(header.kind));
    let mut warnings = Vec::new();
    let mut root = Group::new_root();
    different(header.dimensions.iter().map(|dimension| &dimension.name))?;
    different(header.variables.iter().map(|variable| &variable.name))?;
    for dimension in &header.dimensions {
        check(&dimension.name, "/", "dimension", &mut warnings);
        root.dimensions.push(Dimension {
            name: dimension.name.text.clone(),
            len: if dimension.len == 0 { records } else { dimension.len },
            unlimited: dimension.len == 0,
            anonymous: false,
        });
    }
    root.attributes = attributes(&header.attributes, "/", &mut warnings)?;
    for (position, (entry, layout)) in header.variables.iter().zip(layouts).enumerate() {
        let path = format!("/{}", entry.name.text);
        check(&entry.name, &path, "variable", &mut warnings);
        let attributes = attributes(&entry.attributes, &path, &mut warnings)?;
        match unreadable(entry, layout, file_len) {
            Some(reason) => root.unreadable.push(Unreadable {
                name: entry.name.text.clone(),
                path,
                position,
                reason: VariableError::InFile { reason },
            }),
            None => root.variables.push(variable(header, entry, layout, path, attributes, &mut warnings)),
        }
    }
    hierarchy.root = root;
    hierarchy.warnings = warnings;
    hierarchy.xarray = false;
    Ok(hierarchy)
}

/// Why a variable cannot be read.
fn unreadable(entry: &Entry, layout: &Layout, file_len: u64) -> Option<String> {
    if entry.name.text.contains('/') {
        return Some("its name contains '/', which separates the names of groups".to_owned());
    }
    if entry.dimensions.len() > limits::RANK {
        return Some(format!("it has {} dimensions, the limit is {}", entry.dimensions.len(), limits::RANK));
    }
    (layout.end > file_len && layout.end > layout.begin).then(|| {
        format!(
            "its elements lie between the bytes {} and {} of the file, which ends at {file_len}; the file is cut short, \
             get all of it",
            layout.begin, layout.end
        )
    })
}

fn variable(
    header: &Header,
    entry: &Entry,
    layout: &Layout,
    path: String,
    attributes: Vec<Attribute>,
    warnings: &mut Vec<Warning>,
) -> Variable {
    let dimensions = entry.dimensions.iter().filter_map(|number| header.dimensions.get(*number));
    let dimensions =
        dimensions.map(|dimension| DimensionRef { group: "/".to_owned(), name: dimension.name.text.clone() });
    let is_scalar = layout.shape.is_empty();
    let one_chunk = layout.shape.iter().zip(&layout.chunk_shape).all(|(len, chunk)| len <= chunk);
    Variable {
        name: entry.name.text.clone(),
        key: entry.name.text.clone(),
        dtype: entry.nc_type.dtype(ByteOrder::Big, 0),
        nc_type: Some(entry.nc_type),
        user_type: None,
        shape: layout.shape.clone(),
        chunk_shape: layout.chunk_shape.clone(),
        sharding: None,
        scalar: is_scalar.then_some(ScalarForm::Rank0),
        dimensions: dimensions.collect(),
        fill: fill(entry.nc_type, &attributes, &path, warnings),
        path,
        order: Order::C,
        key_encoding: KeyEncoding::V2,
        separator: Separator::Dot,
        filters: Vec::new(),
        storage: match () {
            () if is_scalar => Storage::Scalar,
            () if one_chunk => Storage::Contiguous,
            () => Storage::Chunked,
        },
        attributes,
        documents: VariableDocuments::default(),
    }
}

/// The fill value: the attribute `_FillValue`, else netCDF's default of the type.
fn fill(
    nc_type: NcType,
    attributes: &[Attribute],
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Option<FillValue> {
    let dtype = nc_type.dtype(ByteOrder::Big, 0);
    let of = |value: &Value| {
        let plain = FillValue::from_value(value, &dtype, FillText::Plain);
        plain.or_else(|_| FillValue::from_value(value, &dtype, FillText::Base64)).ok()
    };
    let attribute = attributes.iter().find(|attribute| attribute.name == "_FillValue");
    if let Some(attribute) = attribute {
        let fill = of(&attribute.value).filter(|_| attribute.value.len() == 1);
        if fill.is_some() {
            return fill;
        }
        warnings.push(Warning {
            at: path.to_owned(),
            text: format!("its attribute _FillValue is not one value of type {nc_type}; the default is used"),
        });
    }
    of(&default_fill(nc_type))
}

fn attributes(
    of: &[header::Attribute],
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Attribute>, String> {
    different(of.iter().map(|attribute| &attribute.name))?;
    for attribute in of {
        check(&attribute.name, path, "attribute", warnings);
        if let Value::Char(bytes) = &attribute.value
            && str::from_utf8(bytes).is_err()
        {
            warnings.push(Warning {
                at: path.to_owned(),
                text: format!(
                    "the text of its attribute {:?} is not UTF-8; its bytes are kept",
                    attribute.name.text
                ),
            });
        }
    }
    let of = of.iter();
    Ok(of.map(|attribute| Attribute::new(attribute.name.text.clone(), attribute.value.clone())).collect())
}

fn check(name: &Name, path: &str, what: &str, warnings: &mut Vec<Warning>) {
    if name.is_latin1 {
        warnings.push(Warning {
            at: path.to_owned(),
            text: format!("the name of the {what} {:?} is not UTF-8; it is read as Latin-1", name.text),
        });
    }
}

/// Returns the name that occurs twice.
fn different<'a>(names: impl Iterator<Item = &'a Name>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name.text.as_str()) {
            return Err(name.text.clone());
        }
    }
    Ok(())
}
