//! The attributes of an object: in its header, or in a heap (HDF5 file format, IV.A.2.m and IV.A.2.v).

use super::cursor::{Decoded, Malformed, before_nul};
use super::dataspace::Dataspace;
use super::decode::{self, DatatypeMessage, Heap, TreeHeader, record};
use super::error::Hdf5Error;
use super::file::File;
use super::header::{ATTRIBUTE, ATTRIBUTE_INFO, DATASPACE, DATATYPE, Header, SHARED};

/// HDF5's limit on the attributes that an object ever had.
const MOST: usize = 65_536;

/// Stands for no creation order (`H5O_MAX_CRT_ORDER_IDX`).
const NO_ORDER: u32 = 65_535;

/// The bytes of a heap ID in the records of attributes.
const ID: usize = 8;

/// An attribute as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct RawAttribute {
    pub(crate) name: String,
    pub(crate) datatype: DatatypeMessage,
    /// The address of its committed datatype.
    pub(crate) committed: Option<u64>,
    pub(crate) dataspace: Dataspace,
    pub(crate) data: Vec<u8>,
    order: Option<u32>,
}

/// The attributes of an object, and why others cannot be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) all: Vec<RawAttribute>,
    pub(crate) failed: Vec<String>,
}

impl Attributes {
    /// Reads all attributes, in the order of their creation if it is tracked.
    pub(crate) fn read(file: &File, header: &Header) -> Result<Self, Hdf5Error> {
        let mut found = Self::default();
        for message in header.all(ATTRIBUTE) {
            let body = file.message_body(message);
            found.add(file, body.map(|(body, _)| body), message.order.map(u32::from), header.address)?;
        }
        let dense = header.message(ATTRIBUTE_INFO);
        let mut by_name = false;
        if let Some(message) = dense {
            match heap_and_index(file, &message.body) {
                Err(error) => found.fail(file.error(error, "the attribute info", header.address))?,
                Ok(None) => {}
                Ok(Some((heap, index))) => {
                    by_name = true;
                    if let Err(error) = found.read_dense(file, heap, index, header.address) {
                        found.fail(error)?;
                    }
                }
            }
        }
        let tracked = found.all.iter().all(|attribute| attribute.order.is_some());
        if tracked {
            found.all.sort_by_key(|attribute| attribute.order);
        } else if by_name {
            // The order of the index, in which libhdf5 lists them too.
            found.all.sort_by_key(|attribute| decode::name_hash(&attribute.name));
        }
        Ok(found)
    }

    /// The bytes of all values.
    pub(crate) fn len(&self) -> u64 {
        self.all.iter().map(|attribute| attribute.data.len() as u64).sum()
    }

    /// The attribute of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&RawAttribute> {
        self.all.iter().find(|attribute| attribute.name == name)
    }

    fn read_dense(&mut self, file: &File, heap: u64, index: u64, object: u64) -> Result<(), Hdf5Error> {
        let heap = Heap::read(file, heap)?;
        let header = TreeHeader::read(file, index)?;
        if header.kind != record::ATTRIBUTE_NAME || header.record_len < ID + 5 {
            let error = "it is not the index of names of attributes".into();
            return Err(file.error(error, "the B-tree", index));
        }
        let records = header.records(file)?;
        if records.len() / header.record_len > MOST {
            return Err(file.error("it has more attributes than possible".into(), "the B-tree", index));
        }
        for record in records.chunks_exact(header.record_len) {
            let mut cursor = file.cursor(record);
            let fields = (|| Ok((cursor.take(ID)?, cursor.u8()?, cursor.u32()?)))();
            let (id, flags, order) = fields.map_err(|error| file.error(error, "the B-tree", index))?;
            let body = if flags & SHARED == 0 {
                heap.object(file, id)
            } else {
                // The ID is one of the file's heap of shared messages.
                let pointer = [&[3, 1], id].concat();
                file.shared_message(&pointer, ATTRIBUTE).map(|(body, _)| body)
            };
            self.add(file, body, Some(order).filter(|order| *order != NO_ORDER), object)?;
        }
        Ok(())
    }

    /// Adds an attribute, or the reason why it cannot be read. Only the failure of the store is an error.
    fn add(
        &mut self,
        file: &File,
        body: Result<Vec<u8>, Hdf5Error>,
        order: Option<u32>,
        object: u64,
    ) -> Result<(), Hdf5Error> {
        match body.and_then(|body| attribute(file, &body, object)) {
            Ok(attribute) => self.all.push(RawAttribute { order, ..attribute }),
            Err(error) => self.fail(error)?,
        }
        Ok(())
    }

    fn fail(&mut self, error: Hdf5Error) -> Result<(), Hdf5Error> {
        if error.is_of_store() {
            return Err(error);
        }
        self.failed.push(error.line());
        Ok(())
    }
}

/// The addresses of a heap and of the index of names, from an attribute info or link info message whose order has
/// `order` bytes; `None` if nothing is in a heap.
fn heap_and_index(file: &File, body: &[u8]) -> Decoded<Option<(u64, u64)>> {
    info(file, body, 2)
}

/// As [`heap_and_index`], for the width of the greatest creation order.
pub(crate) fn info(file: &File, body: &[u8], order: usize) -> Decoded<Option<(u64, u64)>> {
    let mut cursor = file.cursor(body);
    if cursor.u8()? != 0 {
        return Err("its version is not known".into());
    }
    if cursor.u8()? & 1 != 0 {
        cursor.skip(order)?;
    }
    let heap = cursor.address()?;
    let index = cursor.address()?;
    Ok(heap.zip(index))
}

/// Decodes an attribute message.
fn attribute(file: &File, body: &[u8], object: u64) -> Result<RawAttribute, Hdf5Error> {
    const WHAT: &str = "an attribute of the object";
    let mut cursor = file.cursor(body);
    let fields = (|| {
        let version = cursor.u8()?;
        let flags = cursor.u8()?;
        let lens = [cursor.u16()?, cursor.u16()?, cursor.u16()?].map(usize::from);
        let pad = match version {
            1 => 8,
            2 => 1,
            3 => {
                cursor.skip(1)?;
                1
            }
            _ => return Err(format!("its version is {version}, known are 1 to 3").into()),
        };
        let mut part = |len: usize| {
            let bytes = cursor.take(len)?;
            cursor.skip(len.next_multiple_of(pad) - len).map(|()| bytes)
        };
        let parts = [part(lens[0])?, part(lens[1])?, part(lens[2])?];
        let flags = if version == 1 { 0 } else { flags };
        Ok((flags, parts, cursor.rest()))
    })();
    let failed = |error: Malformed| file.error(error, WHAT, object);
    let (flags, [name, datatype, dataspace], data) = fields.map_err(failed)?;
    let name = String::from_utf8_lossy(before_nul(name)).into_owned();
    let named = |error: Malformed| failed(format!("{name:?}: {}", error.0).into());
    let (datatype, committed) = match flags & 1 {
        0 => (datatype.to_vec(), None),
        _ => file.shared_message(datatype, DATATYPE)?,
    };
    let dataspace = match flags & 2 {
        0 => dataspace.to_vec(),
        _ => file.shared_message(dataspace, DATASPACE)?.0,
    };
    let datatype = decode::decode_datatype(&datatype).map_err(named)?;
    let dataspace = Dataspace::decode(file.cursor(&dataspace)).map_err(named)?;
    let size = decode::element_size(file, &datatype);
    let want = dataspace.elements().and_then(|elements| elements.checked_mul(size));
    let data = want.and_then(|want| usize::try_from(want).ok()).and_then(|want| data.get(..want));
    let data = data.ok_or_else(|| named("its values are longer than the message".into()))?.to_vec();
    Ok(RawAttribute { name, datatype, committed, dataspace, data, order: None })
}
