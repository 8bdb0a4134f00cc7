//! Filters for images of small integers.

use ncz_codec::Kind;

use super::{Chunk, NotForThis, ParameterSet, Sets};

/// FCIDECOMP (JPEG-LS): rows and columns, with up to four components before them.
pub(super) fn fcidecomp(chunk: Chunk<'_>) -> Sets {
    if ![Kind::Int, Kind::UInt].contains(&chunk.dtype.kind) || chunk.dtype.size > 2 {
        return Err(NotForThis("FCIDECOMP takes integers of 1 and 2 bytes".to_owned()));
    }
    let (components, rows, columns) = match chunk.dims()?[..] {
        [rows, columns] => (1, rows, columns),
        [components @ 1..=4, rows, columns] => (components, rows, columns),
        _ => return Err(NotForThis("FCIDECOMP takes 2 dimensions, or up to 4 components and 2".to_owned())),
    };
    if u64::from(rows) * u64::from(columns) < 16 {
        return Err(NotForThis("FCIDECOMP takes no images of less than 16 pixels".to_owned()));
    }
    let size = chunk.dtype.size as u32;
    let words = [size, components, rows, columns, 8 * size, components];
    Ok(vec![ParameterSet::exact(&[], [&words[..], &[0; 7]].concat())])
}

/// HTJ2K: the size and sign of an element, columns, rows, components.
pub(super) fn htj2k(chunk: Chunk<'_>) -> Sets {
    chunk.is_little(&[Kind::Int, Kind::UInt], &[1, 2])?;
    let dims = if chunk.shape.len() == 2 { chunk.dims()? } else { chunk.long_dims()? };
    let (columns, rows, components) = match dims[..] {
        [] => (1, 1, 1),
        [columns] => (columns, 1, 1),
        [rows, columns] => (columns, rows, 1),
        [rows, columns, 3] => (columns, rows, 3),
        _ => return Err(NotForThis("HTJ2K takes 2 dimensions, or 2 and 3 components".to_owned())),
    };
    let sign = if chunk.dtype.kind == Kind::Int { 128 } else { 0 };
    let words = vec![1, chunk.dtype.size as u32 | sign, columns, rows, components];
    Ok(vec![ParameterSet::exact(&[], words)])
}
