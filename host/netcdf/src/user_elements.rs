//! Translates elements of user-defined types as they are stored in HDF5 files.

use std::sync::Arc;

use ncz_model::{ChunkError, Row, UserElements, Value, Variable};

use crate::hdf5::{Collections, DatatypeMessage, File, Hdf5Error, Reference, before_nul, element_size};
use crate::mapping::element;

/// The most bytes of rows of any length that are decoded together (256 MiB): rows can have the same bytes.
const MOST_BYTES: u64 = 256 << 20;

const WHAT: &str = "values of a user-defined type";

/// Elements of a datatype.
#[derive(Debug)]
pub(crate) struct HeapElements {
    file: Arc<File>,
    datatype: DatatypeMessage,
}

/// The state of decoding.
struct Decoder<'a> {
    file: &'a File,
    heaps: &'a mut Collections,
    left: u64,
}

impl HeapElements {
    pub(crate) fn new(file: Arc<File>, datatype: DatatypeMessage) -> Self {
        Self { file, datatype }
    }
}

impl UserElements for HeapElements {
    fn decode(&self, stored: &[u8]) -> Result<Row, ChunkError> {
        decode(&self.file, &mut Collections::default(), &self.datatype, stored)
            .map_err(|error| ChunkError::Index(Box::new(error)))
    }

    fn encode(&self, _: &Row) -> Result<Vec<u8>, ChunkError> {
        Err(ChunkError::NotAnObject)
    }
}

/// The fill value of a variable whose elements refer to what is in a heap: its attribute has it.
pub(crate) fn fill_row(variable: &Variable) -> Result<&Row, String> {
    let user = variable.attribute("_FillValue").and_then(|attribute| attribute.user.as_ref());
    let user = user.filter(|user| Some(&user.of) == variable.user_type.as_ref() && user.row.len() == 1);
    user.map(|user| &user.row)
        .ok_or_else(|| "the variable has no attribute _FillValue with one value of its type".to_owned())
}

/// Decodes whole elements of a datatype.
pub(crate) fn decode(
    file: &File,
    heaps: &mut Collections,
    datatype: &DatatypeMessage,
    stored: &[u8],
) -> Result<Row, Hdf5Error> {
    let mut decoder = Decoder { file, heaps, left: MOST_BYTES };
    let elements = decoder.pieces(datatype, stored)?;
    let mut references = Vec::new();
    for bytes in &elements {
        decoder.references(datatype, bytes, &mut references)?;
    }
    decoder.heaps.fetch(file, references)?;
    decoder.row(datatype, &elements)
}

impl Decoder<'_> {
    /// Decodes elements of a datatype.
    fn row(&mut self, datatype: &DatatypeMessage, elements: &[&[u8]]) -> Result<Row, Hdf5Error> {
        Ok(match datatype {
            DatatypeMessage::Enum { base, .. } => self.row(base, elements)?,
            DatatypeMessage::Opaque { .. } => {
                Row::Opaque(elements.iter().map(|bytes| bytes.to_vec()).collect())
            }
            DatatypeMessage::Compound { members, .. } => {
                let mut rows = Vec::with_capacity(elements.len());
                for bytes in elements {
                    let mut fields = Vec::with_capacity(members.len());
                    for member in members {
                        let field = self.field(bytes, member.offset, &member.datatype)?;
                        fields.push(self.row(&member.datatype, &[field])?);
                    }
                    rows.push(fields);
                }
                Row::Compound(rows)
            }
            DatatypeMessage::Array { base, .. } => {
                let mut inner = Vec::new();
                for bytes in elements {
                    inner.extend(self.pieces(base, bytes)?);
                }
                self.row(base, &inner)?
            }
            DatatypeMessage::VarLenSequence { base } => {
                let mut rows = Vec::with_capacity(elements.len());
                for bytes in elements {
                    let row = self.heap_bytes(bytes, element_size(self.file, base))?;
                    let inner = self.pieces(base, &row)?;
                    let mut references = Vec::new();
                    for bytes in &inner {
                        self.references(base, bytes, &mut references)?;
                    }
                    self.heaps.fetch(self.file, references)?;
                    rows.push(self.row(base, &inner)?);
                }
                Row::Vlen(rows)
            }
            DatatypeMessage::VarLenString { .. } => {
                let texts = elements.iter().map(|bytes| Ok(before_nul(&self.heap_bytes(bytes, 1)?).to_vec()));
                Row::Plain(Value::String(texts.collect::<Result<_, Hdf5Error>>()?))
            }
            DatatypeMessage::FixedString { .. } => Row::Plain(Value::Char(elements.concat())),
            _ => {
                let plain = element(datatype).map_err(|reason| self.failed(reason))?;
                let value = plain.values(&elements.concat());
                Row::Plain(value.ok_or_else(|| self.failed("its bytes are not whole elements".to_owned()))?)
            }
        })
    }

    /// The bytes of a heap that an element refers to: its count of units of `unit` bytes.
    fn heap_bytes(&mut self, element: &[u8], unit: u64) -> Result<Vec<u8>, Hdf5Error> {
        let all =
            Reference::decode_all(self.file, element).map_err(|error| self.file.error(error, WHAT, 0))?;
        let Some(reference) = all.first().filter(|reference| reference.collection.is_some()) else {
            return Ok(Vec::new());
        };
        let len = u64::from(reference.len).saturating_mul(unit);
        let Some(left) = self.left.checked_sub(len) else {
            return Err(self.failed("the rows that are read together have more than 256 MiB".to_owned()));
        };
        self.left = left;
        let bytes = self.heaps.get(self.file, *reference)?;
        let bytes = usize::try_from(len).ok().and_then(|len| bytes.get(..len));
        Ok(bytes.ok_or_else(|| self.failed(format!("a row of {len} bytes is in a shorter object")))?.to_vec())
    }

    /// Adds the references into heaps that an element holds itself.
    fn references(
        &self,
        datatype: &DatatypeMessage,
        bytes: &[u8],
        found: &mut Vec<Reference>,
    ) -> Result<(), Hdf5Error> {
        match datatype {
            DatatypeMessage::VarLenSequence { .. } | DatatypeMessage::VarLenString { .. } => {
                let all = Reference::decode_all(self.file, bytes);
                found.extend(all.map_err(|error| self.file.error(error, WHAT, 0))?);
            }
            DatatypeMessage::Compound { members, .. } => {
                for member in members {
                    let field = self.field(bytes, member.offset, &member.datatype)?;
                    self.references(&member.datatype, field, found)?;
                }
            }
            DatatypeMessage::Array { base, .. } => {
                for piece in self.pieces(base, bytes)? {
                    self.references(base, piece, found)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn field<'b>(
        &self,
        bytes: &'b [u8],
        offset: u32,
        datatype: &DatatypeMessage,
    ) -> Result<&'b [u8], Hdf5Error> {
        let start = usize::try_from(offset).ok();
        let end = u64::from(offset).checked_add(element_size(self.file, datatype));
        let end = end.and_then(|end| usize::try_from(end).ok());
        let field = start.zip(end).and_then(|(start, end)| bytes.get(start..end));
        field.ok_or_else(|| self.failed("a field is beyond the end of its compound".to_owned()))
    }

    /// Splits bytes into elements of a datatype.
    fn pieces<'b>(&self, datatype: &DatatypeMessage, bytes: &'b [u8]) -> Result<Vec<&'b [u8]>, Hdf5Error> {
        let size = usize::try_from(element_size(self.file, datatype)).unwrap_or(0);
        if size == 0 || !bytes.len().is_multiple_of(size) {
            return Err(self.failed(format!("{} bytes are not whole elements of {size} bytes", bytes.len())));
        }
        Ok(bytes.chunks_exact(size).collect())
    }

    fn failed(&self, reason: String) -> Hdf5Error {
        self.file.error(reason.into(), WHAT, 0)
    }
}
