//! The description of a dataset: shape, type, layout, filters and fill value (HDF5 file format, IV.A.2).

use std::sync::Arc;

use super::attributes::Attributes;
use super::cursor::{Cursor, Decoded};
use super::dataspace::Dataspace;
use super::decode::{self, DatatypeMessage};
use super::error::Hdf5Error;
use super::file::File;
use super::header::{DATASPACE, DATATYPE, EXTERNAL_FILES, FILL, FILTERS, Header, LAYOUT, OLD_FILL};
use super::layout::{Layout, layout};

/// HDF5's limit (`H5Z_MAX_NFILTERS`).
const MOST_FILTERS: u8 = 32;

/// A dataset as it is described in its header.
#[derive(Clone, Debug)]
pub(crate) struct Dataset {
    /// The file that holds it.
    pub(crate) file: Arc<File>,
    /// The address of its header, which is its identity.
    pub(crate) address: u64,
    pub(crate) dataspace: Dataspace,
    pub(crate) datatype: DatatypeMessage,
    /// The address of its committed datatype.
    pub(crate) committed: Option<u64>,
    /// The bytes of an element in the file.
    pub(crate) element: u64,
    pub(crate) layout: Layout,
    pub(crate) filters: Vec<Filter>,
    pub(crate) fill: Fill,
    pub(crate) attributes: Attributes,
}

/// A filter of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) id: u16,
    pub(crate) params: Vec<u32>,
}

/// The value of elements that were never written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// None is defined; the library gives zeros.
    Undefined,
    /// Zeros.
    Default,
    /// The bytes of an element.
    Value(Arc<[u8]>),
}

impl Dataset {
    /// Reads the description of a dataset.
    pub(crate) fn read(file: &Arc<File>, header: &Header, attributes: Attributes) -> Result<Self, Hdf5Error> {
        let address = header.address;
        let failed = |error, what| file.error(error, what, address);
        let part = |kind| header.message(kind).map(|message| file.message_body(message)).transpose();
        let body = |kind, what| match part(kind)? {
            Some(body) => Ok(body),
            None => Err(failed("the dataset has none".into(), what)),
        };
        let (dataspace, _) = body(DATASPACE, "the dataspace")?;
        let dataspace = Dataspace::decode(file.cursor(&dataspace));
        let dataspace = dataspace.map_err(|error| failed(error, "the dataspace"))?;
        let (datatype, committed) = body(DATATYPE, "the datatype")?;
        let datatype = decode::decode_datatype(&datatype).map_err(|error| failed(error, "the datatype"))?;
        let element = decode::element_size(file, &datatype);
        if header.message(EXTERNAL_FILES).is_some() {
            let error = "its data are in other files, which is not supported".into();
            return Err(failed(error, "the dataset"));
        }
        let (bytes, _) = body(LAYOUT, "the layout")?;
        let layout = layout(file.cursor(&bytes), dataspace.shape().len());
        let layout = layout.map_err(|error| failed(error, "the layout"))?;
        let filters = match part(FILTERS)? {
            Some((body, _)) => filters(file.cursor(&body)).map_err(|error| failed(error, "the filters"))?,
            None => Vec::new(),
        };
        let fill = match (part(FILL)?, part(OLD_FILL)?) {
            (Some((body, _)), _) => fill(file.cursor(&body)),
            (None, Some((body, _))) => old_fill(file.cursor(&body)),
            (None, None) => Ok(Fill::Default),
        };
        let fill = fill.map_err(|error| failed(error, "the fill value"))?;
        if let Fill::Value(value) = &fill
            && value.len() as u64 != element
        {
            let error = format!("it has {} bytes, an element has {element}", value.len());
            return Err(failed(error.into(), "the fill value"));
        }
        Ok(Self {
            file: Arc::clone(file),
            address,
            dataspace,
            datatype,
            committed,
            element,
            layout,
            filters,
            fill,
            attributes,
        })
    }
}

/// The datatype that an object is, if it is a committed datatype.
pub(crate) fn committed(file: &File, header: &Header) -> Result<Option<DatatypeMessage>, Hdf5Error> {
    let Some(message) = header.message(DATATYPE) else { return Ok(None) };
    let (body, _) = file.message_body(message)?;
    let datatype = decode::decode_datatype(&body);
    Ok(Some(datatype.map_err(|error| file.error(error, "the datatype", header.address))?))
}

/// Decodes the filters (HDF5 file format, IV.A.2.l).
fn filters(mut cursor: Cursor<'_>) -> Decoded<Vec<Filter>> {
    let version = cursor.u8()?;
    let count = cursor.u8()?;
    match version {
        1 => cursor.skip(6)?,
        2 => {}
        _ => return Err(format!("their version is {version}, known are 1 and 2").into()),
    }
    if count > MOST_FILTERS {
        return Err(format!("there are {count}, possible are {MOST_FILTERS}").into());
    }
    let mut filters = Vec::new();
    for _ in 0..count {
        let id = cursor.u16()?;
        let name = if version == 1 || id >= 256 { usize::from(cursor.u16()?) } else { 0 };
        cursor.skip(2)?;
        let params = usize::from(cursor.u16()?);
        cursor.skip(if version == 1 { name.next_multiple_of(8) } else { name })?;
        let words = cursor.take(params * 4)?.as_chunks::<4>().0;
        filters.push(Filter { id, params: words.iter().map(|word| u32::from_le_bytes(*word)).collect() });
        if version == 1 && params % 2 == 1 {
            cursor.skip(4)?;
        }
    }
    Ok(filters)
}

/// Decodes the fill value (HDF5 file format, IV.A.2.f).
fn fill(mut cursor: Cursor<'_>) -> Decoded<Fill> {
    let version = cursor.u8()?;
    let defined = match version {
        1 | 2 => {
            cursor.skip(2)?;
            cursor.u8()? != 0
        }
        3 => {
            let flags = cursor.u8()?;
            if flags & 0x10 != 0 {
                return Ok(Fill::Undefined);
            }
            if flags & 0x20 == 0 {
                return Ok(Fill::Default);
            }
            true
        }
        _ => return Err(format!("its version is {version}, known are 1 to 3").into()),
    };
    if !defined {
        return Ok(Fill::Undefined);
    }
    old_fill(cursor)
}

/// Decodes a fill value that is only its length and its bytes.
fn old_fill(mut cursor: Cursor<'_>) -> Decoded<Fill> {
    match cursor.u32()? {
        0 => Ok(Fill::Default),
        u32::MAX => Ok(Fill::Undefined),
        len => Ok(Fill::Value(cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?.into())),
    }
}
