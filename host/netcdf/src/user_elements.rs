//! Translates elements of user-defined types as they are stored in HDF5 files.

use std::sync::Arc;

use ncz_model::{ChunkError, FillValue, Row, UserElements, Value, Variable};

use crate::hdf5::{Collections, DatatypeMessage, File, Hdf5Error, Reference, before_nul, element_size};
use crate::mapping::element;
use crate::user_layout;

/// The most memory of values that are decoded together (1 GiB): rows can have the same bytes in the file.
const MOST_BYTES: u64 = 1 << 30;

/// What an allocation takes besides its bytes.
const ALLOCATION: usize = 32;

const WHAT: &str = "values of a user-defined type";

/// Elements of a datatype.
#[derive(Debug)]
pub(crate) struct HeapElements {
    file: Arc<File>,
    datatype: DatatypeMessage,
}

/// Why elements are not decoded.
#[derive(Debug)]
pub(crate) enum Undecoded {
    /// The file cannot be read, or is damaged.
    File(Hdf5Error),
    /// They need more than this many bytes of memory.
    Long(u64),
}

impl From<Hdf5Error> for Undecoded {
    fn from(error: Hdf5Error) -> Self {
        Self::File(error)
    }
}

/// The state of decoding.
struct Decoder<'a> {
    file: &'a File,
    heaps: &'a mut Collections,
    most: u64,
    /// The memory that is left.
    left: u64,
}

impl HeapElements {
    pub(crate) fn new(file: Arc<File>, datatype: DatatypeMessage) -> Self {
        Self { file, datatype }
    }
}

impl UserElements for HeapElements {
    fn decode(&self, stored: &[u8]) -> Result<Row, ChunkError> {
        decode(&self.file, &mut Collections::default(), &self.datatype, stored).map_err(|error| match error {
            Undecoded::File(error) => ChunkError::Elements(Box::new(error)),
            Undecoded::Long(most) => ChunkError::LongRows { most },
        })
    }

    fn encode(&self, _: &Row) -> Result<Vec<u8>, ChunkError> {
        Err(ChunkError::NotAnObject)
    }
}

/// The fill value of a variable whose elements refer to what is in a heap.
pub(crate) fn fill_row(variable: &Variable) -> Result<&Row, String> {
    let row = variable.fill.as_ref().and_then(FillValue::row);
    row.ok_or_else(|| "what it refers to is not known".to_owned())
}

/// Decodes whole elements of a datatype.
pub(crate) fn decode(
    file: &File,
    heaps: &mut Collections,
    datatype: &DatatypeMessage,
    stored: &[u8],
) -> Result<Row, Undecoded> {
    decode_within(file, heaps, datatype, stored, MOST_BYTES)
}

/// Decodes whole elements of a datatype whose values take at most this much memory.
pub(crate) fn decode_within(
    file: &File,
    heaps: &mut Collections,
    datatype: &DatatypeMessage,
    stored: &[u8],
    most: u64,
) -> Result<Row, Undecoded> {
    let mut decoder = Decoder { file, heaps, most, left: most };
    decoder.fetch(datatype, stored)?;
    decoder.row(datatype, stored)
}

impl Decoder<'_> {
    /// Decodes whole elements of a datatype.
    fn row(&mut self, datatype: &DatatypeMessage, bytes: &[u8]) -> Result<Row, Undecoded> {
        let pieces = self.pieces(datatype, bytes)?;
        let count = pieces.len();
        Ok(match datatype {
            DatatypeMessage::Enum { base, .. } | DatatypeMessage::Array { base, .. } => {
                self.row(base, bytes)?
            }
            DatatypeMessage::Opaque { .. } => {
                self.take(bytes.len(), 1)?;
                self.take(count, size_of::<Vec<u8>>() + ALLOCATION)?;
                Row::Opaque(pieces.map(<[u8]>::to_vec).collect())
            }
            DatatypeMessage::Compound { members, .. } => {
                self.take(count, size_of::<Vec<Row>>() + ALLOCATION + members.len() * size_of::<Row>())?;
                let mut rows = Vec::with_capacity(count);
                for piece in pieces {
                    let mut fields = Vec::with_capacity(members.len());
                    for member in members {
                        let field = self.field(piece, member.offset, &member.datatype)?;
                        fields.push(self.row(&member.datatype, field)?);
                    }
                    rows.push(fields);
                }
                Row::Compound(rows)
            }
            DatatypeMessage::VarLenSequence { base } => {
                self.take(count, size_of::<Row>())?;
                let mut rows = Vec::with_capacity(count);
                for piece in pieces {
                    let row = self.heap_bytes(piece, element_size(self.file, base))?.to_vec();
                    self.fetch(base, &row)?;
                    rows.push(self.row(base, &row)?);
                }
                Row::Vlen(rows)
            }
            DatatypeMessage::VarLenString { .. } => {
                self.take(count, size_of::<Vec<u8>>() + ALLOCATION)?;
                let mut texts = Vec::with_capacity(count);
                for piece in pieces {
                    let text = before_nul(self.heap_bytes(piece, 1)?).to_vec();
                    self.take(text.len(), 1)?;
                    texts.push(text);
                }
                Row::Plain(Value::String(texts))
            }
            DatatypeMessage::FixedString { .. } => {
                self.take(bytes.len() + ALLOCATION, 1)?;
                Row::Plain(Value::Char(bytes.to_vec()))
            }
            _ => {
                // Numbers of two bytes take four.
                self.take(bytes.len() + ALLOCATION, 2)?;
                let plain = element(datatype).map_err(|reason| self.failed(reason))?;
                let value = plain.values(bytes);
                Row::Plain(value.ok_or_else(|| self.failed("its bytes are not whole elements".to_owned()))?)
            }
        })
    }

    /// Takes the memory of `count` values of `each` bytes from what is left.
    fn take(&mut self, count: usize, each: usize) -> Result<(), Undecoded> {
        let bytes = (count as u64).saturating_mul(each as u64);
        self.left = self.left.checked_sub(bytes).ok_or(Undecoded::Long(self.most))?;
        Ok(())
    }

    /// The bytes of a heap that an element refers to: its count of units of `unit` bytes.
    fn heap_bytes(&self, element: &[u8], unit: u64) -> Result<&[u8], Undecoded> {
        let all =
            Reference::decode_all(self.file, element).map_err(|error| self.file.error(error, WHAT, 0))?;
        let Some(reference) = all.first().filter(|reference| reference.collection.is_some()) else {
            return Ok(&[]);
        };
        let len = u64::from(reference.len).saturating_mul(unit);
        let bytes = self.heaps.get(self.file, *reference)?;
        let bytes = usize::try_from(len).ok().and_then(|len| bytes.get(..len));
        Ok(bytes.ok_or_else(|| self.failed(format!("a row of {len} bytes is in a shorter object")))?)
    }

    /// Reads the heaps to which elements of a datatype refer.
    fn fetch(&mut self, datatype: &DatatypeMessage, bytes: &[u8]) -> Result<(), Undecoded> {
        let mut references = Vec::new();
        self.references(datatype, bytes, &mut references)?;
        match self.heaps.fetch_within(self.file, references)? {
            true => Ok(()),
            false => Err(Undecoded::Long(self.most)),
        }
    }

    /// Adds the references into heaps that elements hold themselves.
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
            DatatypeMessage::Compound { members, .. } if user_layout::has_references(datatype) => {
                for piece in self.pieces(datatype, bytes)? {
                    for member in members {
                        let field = self.field(piece, member.offset, &member.datatype)?;
                        self.references(&member.datatype, field, found)?;
                    }
                }
            }
            DatatypeMessage::Array { base, .. } => self.references(base, bytes, found)?,
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
    fn pieces<'b>(
        &self,
        datatype: &DatatypeMessage,
        bytes: &'b [u8],
    ) -> Result<std::slice::ChunksExact<'b, u8>, Hdf5Error> {
        let size = usize::try_from(element_size(self.file, datatype)).unwrap_or(0);
        if size == 0 || !bytes.len().is_multiple_of(size) {
            return Err(self.failed(format!("{} bytes are not whole elements of {size} bytes", bytes.len())));
        }
        Ok(bytes.chunks_exact(size))
    }

    fn failed(&self, reason: String) -> Hdf5Error {
        self.file.error(reason.into(), WHAT, 0)
    }
}
