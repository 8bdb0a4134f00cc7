//! Dataspaces: the shape of a dataset or an attribute (HDF5 file format, IV.A.2.b).

use super::cursor::{Cursor, Decoded};

/// HDF5's limit (`H5S_MAX_RANK`).
const MOST_RANK: u8 = 32;

/// A shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dataspace {
    /// No elements, and no shape.
    Null,
    /// A box of elements; one element if there are no dimensions.
    Simple {
        /// The current lengths.
        shape: Vec<u64>,
        /// The greatest lengths; `None` is unlimited.
        max: Vec<Option<u64>>,
    },
}

impl Dataspace {
    pub(crate) fn decode(mut cursor: Cursor<'_>) -> Decoded<Self> {
        let version = cursor.u8()?;
        let rank = cursor.u8()?;
        let flags = cursor.u8()?;
        let kind = cursor.u8()?;
        match version {
            1 => cursor.skip(4)?,
            2 if kind == 2 => return Ok(Self::Null),
            2 => {}
            _ => return Err(format!("the version of the dataspace is {version}, known are 1 and 2").into()),
        }
        if rank > MOST_RANK {
            return Err(format!("the dataspace has {rank} dimensions, possible are {MOST_RANK}").into());
        }
        let shape: Vec<u64> = (0..rank).map(|_| cursor.length()).collect::<Decoded<_>>()?;
        let max = match flags & 1 {
            0 => shape.iter().copied().map(Some).collect(),
            _ => (0..rank).map(|_| cursor.max_length()).collect::<Decoded<_>>()?,
        };
        Ok(Self::Simple { shape, max })
    }

    /// The number of elements; `None` beyond 64 bits.
    pub(crate) fn elements(&self) -> Option<u64> {
        match self {
            Self::Null => Some(0),
            Self::Simple { shape, .. } => {
                shape.iter().try_fold(1_u64, |product, len| product.checked_mul(*len))
            }
        }
    }

    pub(crate) fn shape(&self) -> &[u64] {
        match self {
            Self::Null => &[],
            Self::Simple { shape, .. } => shape,
        }
    }
}

impl Cursor<'_> {
    /// A greatest length; `None` if it is unlimited: all bits are 1.
    fn max_length(&mut self) -> Decoded<Option<u64>> {
        let before = self.position();
        let max = self.length()?;
        let width = self.position() - before;
        Ok(Some(max).filter(|max| *max != u64::MAX >> (64 - 8 * width.clamp(1, 8))))
    }
}
