//! The input and output of a stage of a chain.

use crate::error::{CodecError, Result};

/// The kind of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Truth values, one byte each.
    Bool,
    /// Signed integers.
    Int,
    /// Unsigned integers.
    UInt,
    /// IEEE floating-point numbers.
    Float,
    /// Pairs of floating-point numbers.
    Complex,
    /// Fixed-length byte strings and everything else that is not a number.
    Opaque,
}

/// The order of the bytes within an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first; also used for elements without a byte order (one byte, opaque).
    Little,
    /// Most significant byte first.
    Big,
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dtype {
    ///    /// The kind of the elements.
    pub kind: Kind,
    /// The size of one element in bytes; at least 1.
    pub size: usize,
    /// The order of an element's bytes.
    pub order: ByteOrder,
}

/// What is known about a length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Exactly this many.
    Exact(usize),
    /// This many or fewer.
    AtMost(usize),
    /// Nothing is known.
    Unknown,
}

/// The input or output of a stage: an array chunk as flat bytes in C order, or plain bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repr {
    /// A chunk of an array.
    Array {
        /// The type of its elements.
        dtype: Dtype,
        /// Its lengths, slowest first; empty for a scalar.
        shape: Vec<u64>,
        /// The bytes of the fill value, if there is one.
        fill: Option<Vec<u8>>,
    },
    /// Bytes without structure.
    Bytes {
        ///        /// The length.
        size: Size,
    },
}

/// The container of the chunks; parameters and sizes can depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Container {
    /// An HDF5 file.
    Hdf5,
    /// Zarr version 2 without NCZarr metadata.
    ZarrV2,
    /// Zarr version 2 with NCZarr metadata.
    NczarrV2,
    /// Zarr version 3.
    ZarrV3,
}

/// The environment of a chain: facts about the variable that hold for all stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Env {
    /// The type of the variable's elements, whatever earlier stages made of them.
    pub dtype: Dtype,
    /// The lengths of the whole array, slowest first: in Zarr version 3 in the order that `transpose` made.
    pub array_shape: Vec<u64>,
    /// The lengths of one chunk, in the same order.
    pub chunk_shape: Vec<u64>,
    /// The container.
    pub container: Container,
}

impl Dtype {
    /// Makes a little-endian type of `size` bytes.
    pub const fn little(kind: Kind, size: usize) -> Self {
        Self { kind, size, order: ByteOrder::Little }
    }

    /// Makes a big-endian type of `size` bytes.
    pub const fn big(kind: Kind, size: usize) -> Self {
        Self { kind, size, order: ByteOrder::Big }
    }
}

impl Size {
    /// Returns the largest possible length, if it is bounded.
    pub fn bound(self) -> Option<usize> {
        match self {
            Self::Exact(n) | Self::AtMost(n) => Some(n),
            Self::Unknown => None,
        }
    }
}

impl Repr {
    ///    /// Returns the size in bytes.
    ///
    /// # Errors
    /// An array whose size overflows the address space, or whose elements have no bytes.
    pub fn size(&self) -> Result<Size> {
        match self {
            Self::Array { dtype, shape, .. } => byte_len(shape, dtype.size).map(Size::Exact),
            Self::Bytes { size } => Ok(*size),
        }
    }

    /// Returns the element size of the stage's input: the array's own, or the variable's if the
    /// input is plain bytes (as in HDF5 and netcdf-c). It is at least 1.
    ///
    /// # Errors
    /// Elements without bytes, such as those of `|V0`.
    pub fn element_size(&self, env: &Env) -> Result<usize> {
        let size = match self {
            Self::Array { dtype, .. } => dtype.size,
            Self::Bytes { .. } => env.dtype.size,
        };
        if size == 0 { Err(without_bytes()) } else { Ok(size) }
    }
}

impl Env {
    /// Returns the input of the first stage of a chain: a whole chunk.
    pub fn chunk(&self) -> Repr {
        Repr::Array { dtype: self.dtype, shape: self.chunk_shape.clone(), fill: None }
    }
}

/// Returns the size in bytes of an array of `shape` with elements of `element_size` bytes.
///
/// # Errors
/// The product overflows the address space, or elements have no bytes.
pub fn byte_len(shape: &[u64], element_size: usize) -> Result<usize> {
    if element_size == 0 {
        return Err(without_bytes());
    }
    shape
        .iter()
        .try_fold(element_size, |product, &len| product.checked_mul(usize::try_from(len).ok()?))
        .filter(|&bytes| bytes <= isize::MAX as usize)
        .ok_or_else(|| {
            CodecError::unsupported(format!(
                "a chunk of shape {shape:?} with {element_size}-byte elements does not fit in memory"
            ))
        })
}

fn without_bytes() -> CodecError {
    CodecError::unsupported("elements of 0 bytes, which hold no data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_shapes_are_refused_and_scalars_have_one_element() {
        assert_eq!(byte_len(&[], 8).unwrap(), 8);
        assert_eq!(byte_len(&[3, 0, 5], 8).unwrap(), 0);
        assert!(byte_len(&[1 << 32, 1 << 32], 1).is_err());
        assert!(byte_len(&[1 << 60], 16).is_err());
    }

    #[test]
    fn elements_without_bytes_are_refused_whatever_enters() {
        let env = Env {
            dtype: Dtype::little(Kind::Opaque, 0),
            array_shape: vec![3],
            chunk_shape: vec![3],
            container: Container::ZarrV2,
        };
        assert!(byte_len(&[3], 0).is_err() && byte_len(&[], 0).is_err() && env.chunk().size().is_err());
        for input in [env.chunk(), Repr::Bytes { size: Size::Exact(0) }] {
            let error = input.element_size(&env).unwrap_err();
            assert_eq!(error.to_string(), "not supported: elements of 0 bytes, which hold no data");
        }
    }
}
