//! The types of elements that the data model has, and why others cannot be read.

use ncz_model::{ByteOrder, Dtype, Kind, NcType, Value, limits};

use crate::hdf5::{CompoundMember, DatatypeMessage, IeeeFormat, StoredOrder};

/// Strings of a fixed length end before a NUL (`H5T_STR_NULLTERM`).
const TERMINATED: u8 = 0;

/// The type of an element in the data model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Element {
    pub(crate) dtype: Dtype,
    pub(super) nc_type: Option<NcType>,
    /// What the data model does not say of it, as the rest of a sentence.
    pub(super) note: Option<String>,
}

impl Element {
    /// The values of whole elements as they are stored, numbers of two bytes as `float`, which holds each of them.
    pub(crate) fn values(&self, stored: &[u8]) -> Option<Value> {
        if let Some(nc_type) = self.nc_type {
            return Value::from_stored_bytes(nc_type, &self.dtype, stored);
        }
        let mut native = stored.to_vec();
        if self.dtype.is_swapped() {
            native.chunks_exact_mut(self.dtype.swap_unit().max(1)).for_each(<[u8]>::reverse);
        }
        Value::from_elements(&self.dtype, &native)
    }
}

/// The type of an element; the error says why there is none, as the rest of a sentence.
pub(crate) fn element(datatype: &DatatypeMessage) -> Result<Element, String> {
    let number = |kind: Kind, size: u32, order: StoredOrder| {
        let order = match order {
            StoredOrder::LittleEndian => ByteOrder::Little,
            StoredOrder::BigEndian => ByteOrder::Big,
        };
        let dtype = Dtype::numeric(kind, size as usize, order).map_err(|error| error.to_string())?;
        Ok(Element { nc_type: dtype.nc_type(true), dtype, note: None })
    };
    match datatype {
        DatatypeMessage::FixedPoint { size, byte_order, signed, bit_offset, bit_precision } => {
            if *bit_offset != 0 || u32::from(*bit_precision) != size.saturating_mul(8) {
                return Err(format!("integers of {bit_precision} bits in {size} bytes"));
            }
            number(if *signed { Kind::Int } else { Kind::UInt }, *size, *byte_order)
        }
        DatatypeMessage::FloatingPoint { size, byte_order, .. } => match datatype.ieee_format() {
            Some(IeeeFormat::Binary16 | IeeeFormat::Binary32 | IeeeFormat::Binary64) => {
                number(Kind::Float, *size, *byte_order)
            }
            None => Err(format!("numbers of {size} bytes that are not those of IEEE 754")),
        },
        DatatypeMessage::FixedString { size: 1, .. } => {
            Ok(Element { dtype: Dtype::char(), nc_type: Some(NcType::Char), note: None })
        }
        DatatypeMessage::FixedString { size, padding, .. } => match usize::try_from(*size) {
            Ok(len) if len > 0 && u64::from(*size) <= limits::ELEMENT_BYTES => {
                // What follows the NUL is not part of the string, but would be in other formats.
                let dtype = if *padding == TERMINATED { Dtype::vlen_text() } else { Dtype::string(len) };
                Ok(Element { dtype, nc_type: Some(NcType::String), note: None })
            }
            _ => Err(format!("strings of {size} bytes")),
        },
        DatatypeMessage::VarLenString { .. } => {
            Ok(Element { dtype: Dtype::vlen_text(), nc_type: Some(NcType::String), note: None })
        }
        DatatypeMessage::Enum { base, .. } => {
            let base = element(base)?;
            Ok(base)
        }
        DatatypeMessage::BitField { .. } => Err("bit fields".to_owned()),
        DatatypeMessage::Opaque { size, .. } => Err(format!("opaque, of {size} bytes")),
        DatatypeMessage::Compound { size, members } => {
            if let Some(dtype) = complex(*size, members) {
                return Ok(Element { dtype, nc_type: None, note: None });
            }
            let names: Vec<&str> = members.iter().take(4).map(|member| member.name.as_str()).collect();
            let more = if members.len() > names.len() { ", ..." } else { "" };
            Err(format!("compounds of {}{more}", names.join(", ")))
        }
        DatatypeMessage::VarLenSequence { .. } => Err("variable-length sequences".to_owned()),
        DatatypeMessage::Array { .. } => Err("arrays".to_owned()),
        DatatypeMessage::Reference { .. } => Err("references to objects or regions".to_owned()),
    }
}

/// The type of complex numbers as h5py and others write them: a compound of the parts `r` and `i`.
fn complex(size: u32, members: &[CompoundMember]) -> Option<Dtype> {
    let [real, imaginary] = members else { return None };
    let (part, other) = (element(&real.datatype).ok()?.dtype, element(&imaginary.datatype).ok()?.dtype);
    let is_complex = (real.name.as_str(), imaginary.name.as_str()) == ("r", "i")
        && (real.offset, imaginary.offset.checked_mul(2)) == (0, Some(size))
        && part == other
        && part.kind() == Kind::Float
        && [4, 8].contains(&part.size());
    Dtype::numeric(Kind::Complex, usize::try_from(size).ok().filter(|_| is_complex)?, part.order()).ok()
}
