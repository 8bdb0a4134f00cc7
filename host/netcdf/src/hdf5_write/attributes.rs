//! The attributes of an object: those of the dataset, and those by which netCDF-4 knows dimensions ("NetCDF-4 Format" and
//! the dimension scales of HDF5, H5DS).

use std::borrow::Cow;

use ncz_model::{Attribute, ByteOrder, NcType, Row, UserValue, Value};

use super::check;
use super::datatype::{self, ADDRESS_BYTES, Padding};
use super::encode::{self, Dataspace};
use super::error::Hdf5WriteError;
use super::global_heap::reference;
use super::plan::{Content, Object, Plan, layout_of};
use super::strings::text_len;
use crate::mapping::names;
use crate::user_layout::{Encoder, UserLayout};

/// What attributes refer to.
pub(super) trait Places {
    /// The address of an object.
    fn object(&self, number: usize) -> u64;

    /// Stores an object in a global heap: the address of its collection, and its number there.
    ///
    /// # Errors
    /// The file cannot be written.
    fn store(&mut self, object: &[u8]) -> Result<(u64, u16), Hdf5WriteError>;
}

/// An attribute of the file.
#[derive(Debug)]
pub(super) struct FileAttribute<'a> {
    pub(super) name: Cow<'a, str>,
    datatype: Vec<u8>,
    /// The number of the committed datatype that it is.
    committed: Option<usize>,
    space: Dataspace,
    data: Data<'a>,
}

/// The elements of an attribute.
#[derive(Debug)]
enum Data<'a> {
    Bytes(Cow<'a, [u8]>),
    Strings(&'a [Vec<u8>]),
    /// A list of one object for each element.
    Lists(Vec<usize>),
    /// Objects, each with an axis.
    Uses(&'a [(usize, u32)]),
    /// Values of a user-defined type.
    Rows(UserLayout, &'a Row),
}

impl FileAttribute<'_> {
    /// Encodes the message of the attribute of the object at `path`.
    pub(super) fn encode(&self, path: &str, places: &mut impl Places) -> Result<Vec<u8>, Hdf5WriteError> {
        let mut data = Vec::new();
        match &self.data {
            Data::Bytes(bytes) => data.extend_from_slice(bytes),
            Data::Strings(strings) => {
                for string in *strings {
                    let len = text_len(string).map_err(|reason| self.error(path, reason))?;
                    let (collection, object) = places.store(string)?;
                    data.extend_from_slice(&reference(len, collection, object));
                }
            }
            Data::Lists(objects) => {
                for object in objects {
                    let address = places.object(*object).to_le_bytes();
                    let (collection, object) = places.store(&address)?;
                    data.extend_from_slice(&reference(1, collection, object));
                }
            }
            Data::Rows(layout, row) => {
                let fail = |reason: String| self.error(path, reason);
                let mut store = |object: &[u8]| places.store(object);
                data = layout.encode_with(row, &mut Encoder { store: &mut store, fail: &fail })?;
            }
            Data::Uses(uses) => {
                for (object, axis) in *uses {
                    data.extend_from_slice(&places.object(*object).to_le_bytes());
                    data.extend_from_slice(&axis.to_le_bytes());
                    data.extend_from_slice(&[0; USE_BYTES - ADDRESS_BYTES - 4]);
                }
            }
        }
        if u32::try_from(data.len()).is_err() {
            return Err(self.error(path, format!("its {} bytes are 4 GiB or more", data.len())));
        }
        let committed = self.committed.map(|number| datatype::committed(places.object(number)));
        let datatype = (committed.as_deref().unwrap_or(&self.datatype), committed.is_some());
        Ok(encode::attribute(&self.name, datatype, &self.space, data))
    }

    fn error(&self, path: &str, reason: String) -> Hdf5WriteError {
        Hdf5WriteError::Attribute { path: path.to_owned(), name: self.name.clone().into_owned(), reason }
    }
}

/// The bytes of an element of `REFERENCE_LIST`, which has the layout of a structure in C.
const USE_BYTES: usize = 16;

/// All attributes of an object.
pub(super) fn of_object<'a>(
    plan: &'a Plan<'_>,
    object: &'a Object<'_>,
    is_root: bool,
) -> Result<Vec<FileAttribute<'a>>, Hdf5WriteError> {
    let mut all = Vec::new();
    if is_root {
        let own = || concat!("version=2,ncz=", env!("CARGO_PKG_VERSION"));
        // The text of another container, such as NCZarr, does not describe this file.
        let properties = plan.properties.filter(|text| text.starts_with("version="));
        all.push(text(names::PROPERTIES, properties.unwrap_or_else(own).as_bytes()));
        if plan.is_classic_model {
            all.push(integers(names::STRICT, Dataspace::Scalar, &[1]));
        }
    }
    match &object.content {
        Content::Group { group, .. } => shown(plan, &object.path, &group.attributes, &mut all)?,
        Content::Variable(variable) => {
            shown(plan, &object.path, &variable.variable.attributes, &mut all)?;
            if !variable.dimensions.is_empty() {
                let ids: Vec<i32> = variable.dimensions.iter().map(|id| dimension_id(*id)).collect();
                all.push(integers(names::COORDINATES, row(ids.len()), &ids));
            }
            if !variable.dimensions.is_empty() && object.scale.is_none() {
                let scales = variable.dimensions.iter().filter_map(|id| plan.scales.get(*id).copied());
                all.push(FileAttribute {
                    name: names::DIMENSION_LIST.into(),
                    datatype: datatype::references(),
                    committed: None,
                    space: row(variable.dimensions.len()),
                    data: Data::Lists(scales.collect()),
                });
            }
        }
        Content::Dimension(_) | Content::Type(_) => {}
    }
    if let Some(scale) = &object.scale {
        all.push(terminated(names::CLASS, "DIMENSION_SCALE"));
        all.push(match &object.content {
            Content::Dimension(dimension) => {
                terminated(names::NAME, &format!("{}{:10}", names::NOT_A_VARIABLE, dimension.len))
            }
            Content::Variable(variable) => terminated(names::NAME, &variable.variable.name),
            Content::Group { .. } | Content::Type(_) => return Ok(all),
        });
        all.push(integers(names::DIMENSION_ID, Dataspace::Scalar, &[dimension_id(scale.id)]));
        if !scale.uses.is_empty() {
            let members: [(&str, u32, &[u8]); 2] = [
                ("dataset", 0, &datatype::reference()),
                ("dimension", ADDRESS_BYTES as u32, &datatype::integer(4, false, false)),
            ];
            all.push(FileAttribute {
                name: names::REFERENCE_LIST.into(),
                datatype: datatype::compound(USE_BYTES as u32, &members),
                committed: None,
                space: row(scale.uses.len()),
                data: Data::Uses(&scale.uses),
            });
        }
    }
    if all.len() > check::ATTRIBUTES {
        let reason = format!("has {} attributes; HDF5 has at most {}", all.len(), check::ATTRIBUTES);
        return Err(Hdf5WriteError::Layout { path: object.path.clone(), reason });
    }
    Ok(all)
}

/// netCDF's numbers of dimensions have 31 bits; a dataset in memory has fewer.
fn dimension_id(id: usize) -> i32 {
    i32::try_from(id).unwrap_or(i32::MAX)
}

/// Adds the attributes that netCDF shows.
fn shown<'a>(
    plan: &Plan<'_>,
    path: &str,
    attributes: &'a [Attribute],
    all: &mut Vec<FileAttribute<'a>>,
) -> Result<(), Hdf5WriteError> {
    check::unique(path, attributes.iter().map(|attribute| attribute.name.as_str()))?;
    for attribute in attributes {
        check::attribute_name(path, &attribute.name)?;
        let name = &attribute.name;
        let value = &attribute.value;
        if let Some(UserValue { of, row }) = &attribute.user {
            let (layout, message) = layout_of(of, path)?;
            all.push(FileAttribute {
                name: name.into(),
                committed: plan.committed(of, &message),
                datatype: message,
                space: self::row(row.len()),
                data: Data::Rows(layout, row),
            });
            continue;
        }
        all.push(match value {
            Value::Char(bytes) => text(name, bytes),
            Value::String(strings) => FileAttribute {
                name: name.into(),
                datatype: datatype::string(),
                committed: None,
                space: row(strings.len()),
                data: Data::Strings(strings),
            },
            _ => {
                let dtype = value.nc_type().dtype(ByteOrder::Little, 0);
                let encoded = datatype::of_dtype(&dtype).zip(value.to_stored_bytes(&dtype));
                let (datatype, bytes) = encoded.ok_or_else(|| Hdf5WriteError::Attribute {
                    path: path.to_owned(),
                    name: name.clone(),
                    reason: format!("HDF5 has no type for {}", value.nc_type()),
                })?;
                FileAttribute {
                    name: name.into(),
                    datatype,
                    committed: None,
                    space: row(value.len()),
                    data: Data::Bytes(bytes.into()),
                }
            }
        });
    }
    Ok(())
}

/// A row of elements; none if there are none, as netcdf-c writes it.
fn row(len: usize) -> Dataspace {
    match len {
        0 => Dataspace::Null,
        _ => Dataspace::Simple { shape: vec![len as u64], max: Vec::new() },
    }
}

/// Text without a NUL at its end, as netcdf-c writes `char` attributes.
fn text<'a>(name: &'a str, bytes: &'a [u8]) -> FileAttribute<'a> {
    let bytes = if bytes.is_empty() { &[0] } else { bytes };
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    FileAttribute {
        name: name.into(),
        datatype: datatype::text(len, Padding::NulTerminated),
        committed: None,
        space: Dataspace::Scalar,
        data: Data::Bytes(bytes.into()),
    }
}

/// Text with a NUL at its end, as H5DS writes it.
fn terminated(name: &'static str, text: &str) -> FileAttribute<'static> {
    let bytes: Vec<u8> = text.bytes().chain([0]).collect();
    FileAttribute {
        name: name.into(),
        datatype: datatype::text(bytes.len() as u32, Padding::NulTerminated),
        committed: None,
        space: Dataspace::Scalar,
        data: Data::Bytes(bytes.into()),
    }
}

fn integers(name: &'static str, space: Dataspace, values: &[i32]) -> FileAttribute<'static> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let size = NcType::Int.size().unwrap_or(4) as u32;
    FileAttribute {
        name: name.into(),
        datatype: datatype::integer(size, true, false),
        committed: None,
        space,
        data: Data::Bytes(bytes.into()),
    }
}
