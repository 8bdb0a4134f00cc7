//! Datatype messages ("HDF5 File Format Specification", IV.A.2.d).
//!
//! Written here and not by `rust-hdf5`: libhdf5 converts a variable-length string only if its base type is the one that
//! it writes itself, an unsigned integer of one byte.

use ncz_model::{ByteOrder, Dtype, Kind};

use crate::hdf5::{DatatypeMessage, StoredOrder};

/// The bytes of an element that refers to an object in a global heap.
pub(super) const HEAP_REFERENCE_BYTES: usize = 16;

/// The size of an address in the file.
pub(crate) const ADDRESS_BYTES: usize = 8;

const FIXED_POINT: u8 = 0;
const FLOATING_POINT: u8 = 1;
const STRING: u8 = 3;
const OPAQUE: u8 = 5;
const COMPOUND: u8 = 6;
const REFERENCE: u8 = 7;
const ENUMERATION: u8 = 8;
const VARIABLE_LENGTH: u8 = 9;
const ARRAY: u8 = 10;

/// What is of variable length is text.
const IS_STRING: u8 = 1;

/// The versions of messages: the first, and that without padding, which HDF5 1.8 writes for structures.
const PLAIN: u8 = 1;
const PACKED: u8 = 3;

/// How the end of a text of a fixed length is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    /// At the first NUL, or at the length.
    NulTerminated = 0,
    /// At the last byte that is not NUL.
    NulPadded = 1,
}

/// The message for the elements of a variable; `None` if HDF5 has no type for them.
pub(super) fn of_dtype(dtype: &Dtype) -> Option<Vec<u8>> {
    let size = u32::try_from(dtype.size()).ok()?;
    let is_big = dtype.order() == ByteOrder::Big;
    Some(match (dtype.kind(), dtype.size()) {
        (Kind::Int, 1 | 2 | 4 | 8) => integer(size, true, is_big),
        (Kind::UInt, 1 | 2 | 4 | 8) => integer(size, false, is_big),
        (Kind::Float, 2 | 4 | 8) => float(size, is_big)?,
        (Kind::Complex, 8 | 16) => {
            let part = float(size / 2, is_big)?;
            compound(size, &[("r", 0, &part), ("i", size / 2, &part)])
        }
        // As h5py.
        (Kind::Bool, 1) => enumeration(&integer(1, true, false), 1, &[("FALSE", &[0]), ("TRUE", &[1])]),
        // netCDF's `char`.
        (Kind::Bytes, 1) => text(1, Padding::NulTerminated),
        (Kind::Bytes, 2..) => text(size, Padding::NulPadded),
        (Kind::VlenText, _) => string(),
        _ => return None,
    })
}

/// The message for a datatype that was decoded; `None` if it is one that netCDF does not have.
pub(crate) fn of_message(datatype: &DatatypeMessage) -> Option<Vec<u8>> {
    Some(match datatype {
        DatatypeMessage::FixedPoint { size, byte_order, signed, .. } => {
            integer(*size, *signed, *byte_order == StoredOrder::BigEndian)
        }
        DatatypeMessage::FloatingPoint { size, byte_order, .. } => {
            float(*size, *byte_order == StoredOrder::BigEndian)?
        }
        DatatypeMessage::FixedString { size, padding, charset } => {
            head(STRING, PLAIN, [(padding & 0x0f) | (charset << 4), 0, 0], *size)
        }
        DatatypeMessage::VarLenString { padding, charset } => {
            variable_length([IS_STRING | (padding << 4), *charset, 0], &integer(1, false, false))
        }
        DatatypeMessage::Enum { base, members } => {
            let members: Vec<(&str, &[u8])> =
                members.iter().map(|member| (member.name.as_str(), member.value.as_slice())).collect();
            enumeration(&of_message(base)?, base.element_size(), &members)
        }
        DatatypeMessage::Opaque { size, tag } => {
            let len = tag.len().next_multiple_of(8);
            let mut message = head(OPAQUE, PLAIN, [u8::try_from(len).ok()?, 0, 0], *size);
            message.extend_from_slice(tag.as_bytes());
            message.resize(message.len() + len - tag.len(), 0);
            message
        }
        DatatypeMessage::Compound { size, members } => {
            let encoded = members.iter().map(|member| of_message(&member.datatype));
            let encoded = encoded.collect::<Option<Vec<Vec<u8>>>>()?;
            let members = members.iter().zip(&encoded);
            let members =
                members.map(|(member, datatype)| (member.name.as_str(), member.offset, datatype.as_slice()));
            compound(*size, &members.collect::<Vec<_>>())
        }
        DatatypeMessage::Array { dims, base } => {
            let mut message = head(ARRAY, PACKED, [0; 3], datatype.element_size());
            message.push(u8::try_from(dims.len()).ok()?);
            dims.iter().for_each(|len| message.extend_from_slice(&len.to_le_bytes()));
            message.extend_from_slice(&of_message(base)?);
            message
        }
        DatatypeMessage::VarLenSequence { base } => variable_length([0; 3], &of_message(base)?),
        DatatypeMessage::BitField { .. } | DatatypeMessage::Reference { .. } => return None,
    })
}

/// The pointer to a committed datatype at an address.
pub(super) fn committed(address: u64) -> Vec<u8> {
    const VERSION: u8 = 2;
    const COMMITTED: u8 = 2;
    [&[VERSION, COMMITTED][..], &address.to_le_bytes()].concat()
}

/// The bytes of an element in the file.
pub(super) fn element_bytes(dtype: &Dtype) -> u64 {
    if dtype.is_variable_length() { HEAP_REFERENCE_BYTES as u64 } else { dtype.size() as u64 }
}

/// An integer in two's complement, or without a sign.
pub(super) fn integer(size: u32, is_signed: bool, is_big: bool) -> Vec<u8> {
    let bits = u8::from(is_big) | if is_signed { 0x08 } else { 0 };
    let mut message = head(FIXED_POINT, PLAIN, [bits, 0, 0], size);
    message.extend_from_slice(&[0, 0]);
    message.extend_from_slice(&(size as u16).saturating_mul(8).to_le_bytes());
    message
}

/// A number of IEEE 754.
pub(super) fn float(size: u32, is_big: bool) -> Option<Vec<u8>> {
    // Bits of the exponent and of the mantissa.
    let (exponent, mantissa): (u8, u8) = match size {
        2 => (5, 10),
        4 => (8, 23),
        8 => (11, 52),
        _ => return None,
    };
    let bits = exponent + mantissa;
    let bias = (1u32 << (exponent - 1)) - 1;
    // The first bit of the mantissa is not stored.
    let mut message = head(FLOATING_POINT, PLAIN, [u8::from(is_big) | 0x20, bits, 0], size);
    message.extend_from_slice(&[0, 0]);
    message.extend_from_slice(&(u16::from(bits) + 1).to_le_bytes());
    message.extend_from_slice(&[mantissa, exponent, 0, mantissa]);
    message.extend_from_slice(&bias.to_le_bytes());
    Some(message)
}

/// ASCII text of a fixed length.
pub(super) fn text(size: u32, padding: Padding) -> Vec<u8> {
    head(STRING, PLAIN, [padding as u8, 0, 0], size)
}

/// UTF-8 text of variable length.
pub(super) fn string() -> Vec<u8> {
    const UTF8: u8 = 1;
    variable_length([IS_STRING, UTF8, 0], &integer(1, false, false))
}

/// The address of an object.
pub(super) fn reference() -> Vec<u8> {
    head(REFERENCE, PLAIN, [0; 3], ADDRESS_BYTES as u32)
}

/// A list of addresses of objects.
pub(super) fn references() -> Vec<u8> {
    variable_length([0; 3], &reference())
}

/// A structure of members with their names, offsets and types.
pub(super) fn compound(size: u32, members: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut message = head(COMPOUND, PACKED, count(members.len()), size);
    // An offset has as many bytes as the size of the structure needs.
    let width = (u32::BITS - size.leading_zeros()).div_ceil(8).max(1) as usize;
    for (name, offset, datatype) in members {
        message.extend_from_slice(name.as_bytes());
        message.push(0);
        message.extend(offset.to_le_bytes().iter().take(width));
        message.extend_from_slice(datatype);
    }
    message
}

/// Names of values, each in the bytes of the base type.
fn enumeration(base: &[u8], size: u32, members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut message = head(ENUMERATION, PACKED, count(members.len()), size);
    message.extend_from_slice(base);
    for (name, _) in members {
        message.extend_from_slice(name.as_bytes());
        message.push(0);
    }
    for (_, value) in members {
        message.extend_from_slice(value);
    }
    message
}

fn variable_length(bits: [u8; 3], base: &[u8]) -> Vec<u8> {
    // The version is at least that of the base.
    let version = base.first().map_or(PLAIN, |byte| byte >> 4);
    let mut message = head(VARIABLE_LENGTH, version, bits, HEAP_REFERENCE_BYTES as u32);
    message.extend_from_slice(base);
    message
}

fn head(class: u8, version: u8, bits: [u8; 3], size: u32) -> Vec<u8> {
    let mut message = vec![class | (version << 4)];
    message.extend_from_slice(&bits);
    message.extend_from_slice(&size.to_le_bytes());
    message
}

fn count(members: usize) -> [u8; 3] {
    let [low, high, ..] = (members as u32).to_le_bytes();
    [low, high, 0]
}
