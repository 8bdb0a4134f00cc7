//! Where the elements of a dataset are (HDF5 file format, IV.A.2.i).

use std::sync::Arc;

use super::cursor::{Cursor, Decoded};

/// Bit 0 of the flags: chunks that reach beyond the shape are not filtered.
const EDGES_UNFILTERED: u8 = 0x01;

/// Bit 1 of the flags: the size and the mask of a single chunk are in the message.
const SINGLE_FILTERED: u8 = 0x02;

/// Where the elements of a dataset are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In the header.
    Compact(Arc<[u8]>),
    /// One block; `None` if it was never written.
    Contiguous(Option<u64>),
    /// Chunks.
    Chunked {
        /// The lengths of a chunk.
        shape: Vec<u64>,
        /// The bytes of an element, as the layout has them.
        element: u64,
        edges_unfiltered: bool,
        index: Index,
        /// The address of the index; `None` if there are no chunks.
        address: Option<u64>,
    },
}

/// How chunks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    TreeV1,
    /// One chunk: its stored length and mask, if it is filtered.
    Single(Option<(u64, u32)>),
    Implicit,
    FixedArray,
    ExtensibleArray,
    TreeV2,
}

/// Decodes the layout of a dataset with `rank` dimensions.
pub(super) fn layout(mut cursor: Cursor<'_>, rank: usize) -> Decoded<Layout> {
    match cursor.u8()? {
        1 | 2 => old(cursor, rank),
        3 => new(cursor, rank, true),
        4 | 5 => new(cursor, rank, false),
        version => Err(format!("its version is {version}, known are 1 to 5").into()),
    }
}

fn old(mut cursor: Cursor<'_>, rank: usize) -> Decoded<Layout> {
    let lens = usize::from(cursor.u8()?);
    let class = cursor.u8()?;
    cursor.skip(5)?;
    let address = if class == 0 { None } else { cursor.address()? };
    let sizes: Vec<u64> = (0..lens).map(|_| cursor.u32().map(u64::from)).collect::<Decoded<_>>()?;
    match class {
        0 => {
            let len = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
            Ok(Layout::Compact(cursor.take(len)?.into()))
        }
        1 => Ok(Layout::Contiguous(address)),
        2 => chunked(sizes, rank, false, Index::TreeV1, address),
        class => Err(unknown_class(class)),
    }
}

fn new(mut cursor: Cursor<'_>, rank: usize, is_v3: bool) -> Decoded<Layout> {
    match cursor.u8()? {
        0 => {
            let len = usize::from(cursor.u16()?);
            Ok(Layout::Compact(cursor.take(len)?.into()))
        }
        1 => Ok(Layout::Contiguous(cursor.address()?)),
        2 if is_v3 => {
            let lens = usize::from(cursor.u8()?);
            let address = cursor.address()?;
            let sizes = (0..lens).map(|_| cursor.u32().map(u64::from)).collect::<Decoded<_>>()?;
            chunked(sizes, rank, false, Index::TreeV1, address)
        }
        2 => {
            let flags = cursor.u8()?;
            let lens = usize::from(cursor.u8()?);
            let width = usize::from(cursor.u8()?);
            let sizes = (0..lens).map(|_| cursor.uint(width)).collect::<Decoded<_>>()?;
            // The parameters of arrays and trees are in their headers too.
            let (index, params) = match cursor.u8()? {
                1 if flags & SINGLE_FILTERED != 0 => {
                    (Index::Single(Some((cursor.length()?, cursor.u32()?))), 0)
                }
                1 => (Index::Single(None), 0),
                2 => (Index::Implicit, 0),
                3 => (Index::FixedArray, 1),
                4 => (Index::ExtensibleArray, 5),
                5 => (Index::TreeV2, 6),
                other => return Err(format!("its chunks have an index of type {other}").into()),
            };
            cursor.skip(params)?;
            chunked(sizes, rank, flags & EDGES_UNFILTERED != 0, index, cursor.address()?)
        }
        class => Err(unknown_class(class)),
    }
}

fn unknown_class(class: u8) -> super::cursor::Malformed {
    match class {
        3 => "the dataset is virtual: its data are those of other datasets, which is not supported".into(),
        other => format!("the class {other} is not known").into(),
    }
}

fn chunked(
    mut sizes: Vec<u64>,
    rank: usize,
    edges_unfiltered: bool,
    index: Index,
    address: Option<u64>,
) -> Decoded<Layout> {
    let element = sizes.pop().unwrap_or(0);
    if sizes.len() != rank || sizes.contains(&0) || rank == 0 {
        return Err(format!("chunks of shape {sizes:?} do not fit {rank} dimensions").into());
    }
    Ok(Layout::Chunked { shape: sizes, element, edges_unfiltered, index, address })
}
