//! The stored form of elements of user-defined types, and encoding them.

use std::sync::Arc;

use ncz_model::{
    Dtype, ElementType, Kind, NcType, Row, SourceError, TypeClass, UserType, Value, Variable, half_bits,
    limits,
};

use crate::hdf5::{CompoundMember, DatatypeMessage, EnumMember, File, StoredOrder, decode_datatype};
use crate::hdf5_write::{datatype, text_len};
use crate::mapping::element;

/// The padding and the character sets of strings (`H5T_STR_NULLTERM`, `H5T_CSET_ASCII`, `H5T_CSET_UTF8` in libhdf5).
const TERMINATED: u8 = 0;
const ASCII: u8 = 0;
const UTF8: u8 = 1;

/// Why a compound cannot be stored, as the rest of a sentence.
const TOO_LARGE: &str = "has elements of 4 GiB or more";

/// How elements of a user-defined type are stored in a netCDF-4 file.
#[derive(Clone, Debug, PartialEq)]
pub struct UserLayout {
    datatype: DatatypeMessage,
}

impl UserLayout {
    /// The layout of a type: that of its file, or for a new type that of a structure in C.
    ///
    /// # Errors
    /// HDF5 cannot have the type; the text says why, as the rest of a sentence about it.
    pub fn of(user: &UserType) -> Result<Self, String> {
        let datatype = match &user.stored {
            Some(message) => decode_datatype(message).map_err(|error| error.0)?,
            None => new_type(user)?,
        };
        if u64::from(datatype.element_size()) > limits::ELEMENT_BYTES || datatype.element_size() == 0 {
            return Err(format!("has elements of {} bytes", datatype.element_size()));
        }
        Ok(Self { datatype })
    }

    /// The type of the stored elements: integers for an enumeration, else bytes or complex numbers.
    ///
    /// # Errors
    /// The data model has no such type.
    pub fn dtype(&self) -> Result<Dtype, String> {
        match element(&self.datatype) {
            Ok(element) => Ok(element.dtype),
            Err(_) => Dtype::parse(&format!("|V{}", self.element_bytes())).map_err(|error| error.to_string()),
        }
    }

    /// Whether an element refers to what is in a heap of its file, as rows of any length and strings do.
    #[must_use]
    pub fn has_references(&self) -> bool {
        has_references(&self.datatype)
    }

    /// Encodes a row of a type without references.
    ///
    /// # Errors
    /// The row has values of another type, or the type has references.
    pub fn encode(&self, row: &Row) -> Result<Vec<u8>, SourceError> {
        let mut no_heap = |_: &[u8]| Err("there is no heap for it".into());
        self.encode_with(row, &mut Encoder { store: &mut no_heap, fail: &|reason| reason.into() })
    }

    /// Encodes a row.
    pub(crate) fn encode_with<E>(&self, row: &Row, encoder: &mut Encoder<'_, E>) -> Result<Vec<u8>, E> {
        let size = self.datatype.element_size() as usize;
        let len = elements(&self.datatype, row).checked_mul(size);
        let len = len.ok_or_else(|| (encoder.fail)("its values do not fit in memory".to_owned()))?;
        let mut out = vec![0; len];
        encoder.elements(&self.datatype, row, 0, &mut out)?;
        Ok(out)
    }

    /// The datatype message.
    pub(crate) fn message(&self) -> Option<Vec<u8>> {
        datatype::of_message(&self.datatype)
    }

    /// The bytes of an element.
    pub(crate) fn element_bytes(&self) -> u64 {
        u64::from(self.datatype.element_size())
    }
}

/// The layout of a variable whose elements are opaque, compounds or rows of any length; `None` for other variables.
///
/// # Errors
/// As for [`UserLayout::of`].
pub fn structured_layout(variable: &Variable) -> Result<Option<UserLayout>, String> {
    let user = variable.user_type.as_ref().filter(|user| !user.is_enum());
    user.map(|user| UserLayout::of(user)).transpose()
}

/// A datatype of a file as [`UserType::stored`].
pub(crate) fn stored(file: &File, datatype: &DatatypeMessage) -> Option<Arc<[u8]>> {
    let is_same = !has_references(datatype) || usize::from(file.widths.offset) == datatype::ADDRESS_BYTES;
    let message =
        if is_same { datatype::of_message(datatype) } else { datatype::of_message(&widened(datatype)?) };
    message.map(Arc::from)
}

/// A datatype with references in a file whose addresses have another length: they move what follows them.
fn widened(datatype: &DatatypeMessage) -> Option<DatatypeMessage> {
    Some(match datatype {
        DatatypeMessage::Compound { members, .. } if has_references(datatype) => {
            let fields = members.iter().map(|member| Some((member.name.clone(), widened(&member.datatype)?)));
            structure(fields.collect::<Option<_>>()?).ok()?
        }
        DatatypeMessage::Array { dims, base } => DatatypeMessage::array(dims.clone(), widened(base)?),
        DatatypeMessage::VarLenSequence { base } => {
            DatatypeMessage::VarLenSequence { base: Box::new(widened(base)?) }
        }
        other => other.clone(),
    })
}

/// Whether an element of a datatype refers to what is in a heap.
pub(crate) fn has_references(datatype: &DatatypeMessage) -> bool {
    match datatype {
        DatatypeMessage::VarLenSequence { .. } | DatatypeMessage::VarLenString { .. } => true,
        DatatypeMessage::Compound { members, .. } => {
            members.iter().any(|member| has_references(&member.datatype))
        }
        DatatypeMessage::Array { base, .. } => has_references(base),
        _ => false,
    }
}

/// The datatype of a new type.
fn new_type(user: &UserType) -> Result<DatatypeMessage, String> {
    Ok(match &user.class {
        TypeClass::Enum { base, members } => {
            let base = atomic(*base);
            let size = base.element_size() as usize;
            let members = members.iter().map(|member| EnumMember {
                name: member.name.clone(),
                value: member.value.to_le_bytes().into_iter().take(size).collect(),
            });
            DatatypeMessage::enumeration(base.clone(), members.collect())
        }
        TypeClass::Opaque { size } => {
            let size = u32::try_from(*size).map_err(|_| format!("has {size} bytes"))?;
            DatatypeMessage::Opaque { size, tag: String::new() }
        }
        TypeClass::Vlen { base } => DatatypeMessage::VarLenSequence { base: Box::new(of_element(base)?) },
        TypeClass::Compound { fields } => {
            let members = fields.iter().map(|field| {
                let datatype = of_element(&field.element)?;
                if field.shape.is_empty() {
                    return Ok((field.name.clone(), datatype));
                }
                let dims = field.shape.iter().map(|len| u32::try_from(*len));
                let dims = dims.collect::<Result<Vec<_>, _>>().map_err(|_| TOO_LARGE.to_owned())?;
                Ok((field.name.clone(), DatatypeMessage::array(dims, datatype)))
            });
            structure(members.collect::<Result<_, String>>()?)?
        }
    })
}

/// A compound with the layout of a structure in C.
fn structure(fields: Vec<(String, DatatypeMessage)>) -> Result<DatatypeMessage, String> {
    let too_large = || TOO_LARGE.to_owned();
    let (mut end, mut widest) = (0u32, 1u32);
    let mut members = Vec::with_capacity(fields.len());
    for (name, datatype) in fields {
        let alignment = alignment(&datatype);
        let offset = end.checked_next_multiple_of(alignment).ok_or_else(too_large)?;
        end = offset.checked_add(datatype.element_size()).ok_or_else(too_large)?;
        widest = widest.max(alignment);
        members.push(CompoundMember { name, offset, datatype });
    }
    Ok(DatatypeMessage::compound(end.checked_next_multiple_of(widest).ok_or_else(too_large)?, members))
}

fn of_element(element: &ElementType) -> Result<DatatypeMessage, String> {
    match element {
        ElementType::Atomic(nc_type) => Ok(atomic(*nc_type)),
        ElementType::User(user) => Ok(UserLayout::of(user)?.datatype),
    }
}

fn atomic(nc_type: NcType) -> DatatypeMessage {
    match nc_type {
        NcType::Byte => DatatypeMessage::i8_type(),
        NcType::UByte => DatatypeMessage::u8_type(),
        NcType::Short => DatatypeMessage::i16_type(),
        NcType::UShort => DatatypeMessage::u16_type(),
        NcType::Int => DatatypeMessage::i32_type(),
        NcType::UInt => DatatypeMessage::u32_type(),
        NcType::Int64 => DatatypeMessage::i64_type(),
        NcType::UInt64 => DatatypeMessage::u64_type(),
        NcType::Float => DatatypeMessage::f32_type(),
        NcType::Double => DatatypeMessage::f64_type(),
        NcType::Char => DatatypeMessage::FixedString { size: 1, padding: TERMINATED, charset: ASCII },
        NcType::String => DatatypeMessage::VarLenString { padding: TERMINATED, charset: UTF8 },
    }
}

/// The alignment of a datatype in a structure of C.
fn alignment(datatype: &DatatypeMessage) -> u32 {
    match datatype {
        DatatypeMessage::FixedPoint { size, .. } | DatatypeMessage::FloatingPoint { size, .. } => {
            (*size).clamp(1, 8)
        }
        DatatypeMessage::VarLenSequence { .. } | DatatypeMessage::VarLenString { .. } => 8,
        DatatypeMessage::Enum { base, .. } | DatatypeMessage::Array { base, .. } => alignment(base),
        DatatypeMessage::Compound { members, .. } => {
            members.iter().map(|member| alignment(&member.datatype)).max().unwrap_or(1)
        }
        _ => 1,
    }
}

/// The elements of a datatype in a row: a text of a fixed length is one, though its row has its bytes.
fn elements(datatype: &DatatypeMessage, row: &Row) -> usize {
    match datatype {
        DatatypeMessage::FixedString { size, .. } => row.len() / (*size).max(1) as usize,
        DatatypeMessage::Array { dims, base } => {
            let each = dims.iter().fold(1usize, |product, len| product.saturating_mul(*len as usize));
            elements(base, row) / each.max(1)
        }
        _ => row.len(),
    }
}

/// Where an object of a heap is: the address of its collection, and its number there.
pub(crate) type HeapObject = (u64, u16);

/// Encodes values of a row. `store` puts what is in a heap there; `fail` makes an error of a reason.
pub(crate) struct Encoder<'a, E> {
    pub(crate) store: &'a mut dyn FnMut(&[u8]) -> Result<HeapObject, E>,
    pub(crate) fail: &'a dyn Fn(String) -> E,
}

impl<E> Encoder<'_, E> {
    /// Encodes the elements of a datatype that fill `out`, from element `first` of the row on.
    fn elements(
        &mut self,
        datatype: &DatatypeMessage,
        row: &Row,
        first: usize,
        out: &mut [u8],
    ) -> Result<(), E> {
        let size = datatype.element_size() as usize;
        let pieces = out.chunks_exact_mut(size.max(1)).enumerate();
        match (datatype, row) {
            (DatatypeMessage::Enum { base, .. }, _) => self.elements(base, row, first, out)?,
            (DatatypeMessage::Array { base, .. }, _) => {
                let each = size / (base.element_size() as usize).max(1);
                self.elements(base, row, first.saturating_mul(each), out)?;
            }
            (DatatypeMessage::Opaque { .. }, Row::Opaque(values)) => {
                for (at, piece) in pieces {
                    let bytes = values.get(first + at).filter(|bytes| bytes.len() == piece.len());
                    piece.copy_from_slice(bytes.ok_or_else(|| self.other(datatype))?);
                }
            }
            (DatatypeMessage::Compound { members, .. }, Row::Compound(values)) => {
                for (at, piece) in pieces {
                    let fields = values.get(first + at).filter(|fields| fields.len() == members.len());
                    let fields = fields.ok_or_else(|| self.other(datatype))?;
                    for (member, field) in members.iter().zip(fields) {
                        let start = member.offset as usize;
                        let end = start.saturating_add(member.datatype.element_size() as usize);
                        let part = piece.get_mut(start..end).ok_or_else(|| self.other(datatype))?;
                        self.elements(&member.datatype, field, 0, part)?;
                    }
                }
            }
            (DatatypeMessage::VarLenSequence { base }, Row::Vlen(rows)) => {
                for (at, piece) in pieces {
                    let row = rows.get(first + at).ok_or_else(|| self.other(datatype))?;
                    let len = elements(base, row);
                    // libhdf5 stores nothing of a row without elements, not even an address.
                    if len == 0 {
                        continue;
                    }
                    let mut inner = vec![0; len.saturating_mul(base.element_size() as usize)];
                    self.elements(base, row, 0, &mut inner)?;
                    self.refer(len, &inner, piece)?;
                }
            }
            (DatatypeMessage::VarLenString { .. }, Row::Plain(Value::String(texts))) => {
                for (at, piece) in pieces {
                    let text = texts.get(first + at).ok_or_else(|| self.other(datatype))?;
                    text_len(text).map_err(self.fail)?;
                    self.refer(text.len(), text, piece)?;
                }
            }
            (DatatypeMessage::FixedString { .. }, Row::Plain(Value::Char(bytes))) => {
                let start = first.saturating_mul(size);
                let part = bytes.get(start..start.saturating_add(out.len()));
                out.copy_from_slice(part.ok_or_else(|| self.other(datatype))?);
            }
            (_, Row::Plain(values)) => {
                let bytes = numbers(datatype, values)
                    .filter(|bytes| bytes.len() == values.len().saturating_mul(size));
                let start = first.saturating_mul(size);
                let part =
                    bytes.as_deref().and_then(|bytes| bytes.get(start..start.saturating_add(out.len())));
                out.copy_from_slice(part.ok_or_else(|| self.other(datatype))?);
            }
            _ => return Err(self.other(datatype)),
        }
        Ok(())
    }

    /// Stores an object of `len` elements in a heap, and refers to it.
    fn refer(&mut self, len: usize, object: &[u8], piece: &mut [u8]) -> Result<(), E> {
        let len =
            u32::try_from(len).map_err(|_| (self.fail)(format!("a row of {len} elements is too long")))?;
        let (collection, number) = (self.store)(object)?;
        let reference = crate::hdf5_write::reference(len, collection, number);
        if piece.len() != reference.len() {
            return Err((self.fail)(format!("a reference has {} bytes", piece.len())));
        }
        piece.copy_from_slice(&reference);
        Ok(())
    }

    fn other(&self, datatype: &DatatypeMessage) -> E {
        (self.fail)(format!(
            "its values are not those of its type, which has elements of {} bytes",
            datatype.element_size()
        ))
    }
}

/// The bits of a half-precision NaN from those that a float has of it.
fn half_nan(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, fraction) = ((bits >> 16 & 0x8000) as u16, (bits >> 13 & 0x3ff) as u16);
    sign | 0x7c00 | if fraction == 0 { 0x200 } else { fraction }
}

/// Numbers as they are stored.
fn numbers(datatype: &DatatypeMessage, values: &Value) -> Option<Vec<u8>> {
    let dtype = element(datatype).ok()?.dtype;
    let is_big =
        matches!(datatype, DatatypeMessage::FloatingPoint { byte_order: StoredOrder::BigEndian, .. });
    match values {
        Value::Float(values) if dtype.kind() == Kind::Float && dtype.size() == 2 => {
            let halves = values.iter().map(|value| {
                let bits = match value.is_nan() {
                    true => half_nan(*value),
                    false => half_bits(f64::from(*value))?,
                };
                Some(if is_big { bits.to_be_bytes() } else { bits.to_le_bytes() })
            });
            Some(halves.collect::<Option<Vec<_>>>()?.concat())
        }
        _ if values.nc_type().size() == Some(dtype.size()) => values.to_stored_bytes(&dtype),
        _ => None,
    }
}
