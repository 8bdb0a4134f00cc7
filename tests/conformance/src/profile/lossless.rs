//! Filters for any bytes, szip and nbit.

use ncz_codec::{ByteOrder, Kind};

use super::{Chunk, NotForThis, ParameterSet, Sets};
use crate::sample::dtype_name;

/// HDF5's own shuffle: the size of an element.
pub(super) fn shuffle(chunk: Chunk<'_>) -> Sets {
    Ok(vec![ParameterSet::exact(&[], vec![chunk.dtype.size as u32])])
}

/// HDF5's own szip: the byte order goes into the mask, then come the bits of an element and the scanline.
pub(super) fn szip(chunk: Chunk<'_>) -> Sets {
    const MAX_BLOCKS: u64 = 128;
    const MAX_SCANLINE: u64 = 4096;
    let numbers = [Kind::Int, Kind::UInt, Kind::Float, Kind::Bool];
    if !numbers.contains(&chunk.dtype.kind) || ![1, 2, 4, 8].contains(&chunk.dtype.size) {
        return Err(NotForThis(format!("szip is not for {}", dtype_name(chunk.dtype))));
    }
    let order = match chunk.dtype.order {
        ByteOrder::Little => 8,
        ByteOrder::Big => 16,
    };
    let bits = chunk.dtype.size as u32 * 8;
    let all = chunk.elements().unwrap_or(u64::MAX);
    let last = chunk.shape.last().copied().unwrap_or(1);
    let sets = [[32, 16], [4, 8], [32, 4], [4, 32], [32, 2]].into_iter().filter_map(|[mask, block]| {
        let most = u64::from(block) * MAX_BLOCKS;
        let scanline = match last {
            last if last < u64::from(block) && all < u64::from(block) => return None,
            last if last < u64::from(block) => all.min(most),
            last if last <= MAX_SCANLINE => last.min(most),
            _ => most,
        };
        Some(ParameterSet::exact(&[mask, block], vec![mask | order, block, bits, scanline as u32]))
    });
    let sets: Vec<_> = sets.collect();
    if sets.is_empty() {
        return Err(NotForThis("szip takes no chunk with fewer elements than a block has".to_owned()));
    }
    Ok(sets)
}

/// h5py's LZF, revision 4 with liblzf 1.5: the size of the chunk.
pub(super) fn lzf(chunk: Chunk<'_>) -> Sets {
    Ok(vec![ParameterSet::exact(&[], vec![4, 0x0105, chunk.bytes()?])])
}

/// The Blosc filter, revision 2: the size of an element, that of the chunk.
pub(super) fn blosc(chunk: Chunk<'_>) -> Sets {
    let typesize = if chunk.dtype.size > 255 { 1 } else { chunk.dtype.size as u32 };
    let bytes = chunk.bytes()?;
    // Level, shuffle (1 by bytes, 2 by bits), compressor (blosclz, lz4, lz4hc, snappy, zlib, zstd). Snappy is left
    // out: not all builds have it.
    let choices = [[5, 1, 1], [5, 1, 0], [9, 2, 1], [1, 0, 4], [9, 1, 5], [4, 2, 2]];
    Ok(choices
        .into_iter()
        .map(|[level, shuffle, compressor]| {
            let given = [0, 0, 0, 0, level, shuffle, compressor];
            ParameterSet::exact(&given, vec![2, 2, typesize, bytes, level, shuffle, compressor])
        })
        .collect())
}

/// The Blosc2 filter: as Blosc, and the shape from two dimensions on.
pub(super) fn blosc2(chunk: Chunk<'_>) -> Sets {
    const DIMS_MAX: usize = 8;
    let typesize = chunk.dtype.size as u32;
    let (bytes, dims) = (chunk.bytes()?, chunk.dims()?);
    if dims.len() > DIMS_MAX {
        return Err(NotForThis(format!("Blosc2 takes at most {DIMS_MAX} dimensions")));
    }
    let shape = if dims.len() > 1 { [&[dims.len() as u32], &dims[..]].concat() } else { Vec::new() };
    let choices = [[5, 1, 1], [5, 1, 0], [9, 2, 1], [1, 0, 4], [9, 1, 5], [4, 2, 2]];
    Ok(choices
        .into_iter()
        .map(|[level, shuffle, compressor]| {
            let given = [0, 0, 0, 0, level, shuffle, compressor];
            let head = [1, 0, typesize, bytes, level, shuffle, compressor];
            ParameterSet::exact(&given, [&head, &shape[..]].concat())
        })
        .collect())
}

/// Bitshuffle, version 0.4: the size of an element is before what is given.
pub(super) fn bitshuffle(chunk: Chunk<'_>) -> Sets {
    let choices: [&[u32]; 4] = [&[0, 2], &[], &[0, 3, 7], &[512, 2]];
    let size = chunk.dtype.size as u32;
    Ok(choices.into_iter().map(|given| ParameterSet::exact(given, [&[0, 4, size], given].concat())).collect())
}

/// HDF5's own nbit, which copies ordinary numbers; and for numbers with an unused bit, which is restored as
/// zero.
pub(super) fn nbit(chunk: Chunk<'_>) -> Sets {
    if ![Kind::Int, Kind::UInt, Kind::Float].contains(&chunk.dtype.kind) {
        return Err(NotForThis(format!("nbit is not for {}", dtype_name(chunk.dtype))));
    }
    chunk.bytes()?;
    let elements = chunk.elements().unwrap_or(u64::MAX) as u32;
    let (size, order) = (chunk.dtype.size as u32, u32::from(chunk.dtype.order == ByteOrder::Big));
    let words = |copied: u32, precision: u32| vec![8, copied, elements, 1, size, order, precision, 0];
    Ok(vec![ParameterSet::exact(&[], words(1, 8 * size)), ParameterSet::lossy(&[], words(0, 8 * size - 1))])
}
