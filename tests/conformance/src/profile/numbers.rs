//! Filters for fields of numbers: most of them restore values only within a tolerance.

use ncz_codec::{ByteOrder, Kind};

use super::{Chunk, NotForThis, ParameterSet, Sets};

/// 0.001 as two words.
const THOUSANDTH: [u32; 2] = [1_062_232_653, 3_539_053_052];

/// H5Z-ZFP 1.1: a version word, then the header that zfp would write: a magic, the type and the lengths less one in
/// 52 bits, the mode in 12 (`zfp_write_header`).
pub(super) fn zfp(chunk: Chunk<'_>) -> Sets {
    /// Of H5Z-ZFP 1.1.0; later ones take it.
    const VERSION: u32 = 268_456_208;
    const MAGIC: u32 = u32::from_le_bytes(*b"zfp\x05");
    /// Ten bits a value; a rate counts the bits of a block of 4 elements in each dimension.
    const RATE: u64 = 10;
    const TEN: u32 = 1_076_101_120;
    chunk.is_little(&[Kind::Int, Kind::UInt, Kind::Float], &[4, 8])?;
    let sort = match (chunk.dtype.kind, chunk.dtype.size) {
        (Kind::Float, 4) => 2,
        (Kind::Float, _) => 3,
        (_, 4) => 0,
        _ => 1_u64,
    };
    let dims = chunk.long_dims()?;
    let bits = match dims.len() {
        1 => 48,
        2 => 24,
        3 => 16,
        4 => 12,
        other => return Err(NotForThis(format!("zfp takes 1 to 4 dimensions longer than 1, not {other}"))),
    };
    let mut meta = sort | ((dims.len() as u64 - 1) << 2);
    for (place, &len) in dims.iter().rev().enumerate() {
        let last = u64::from(len) - 1;
        if last >> bits != 0 {
            return Err(NotForThis(format!("zfp takes no {}-D chunk with a dimension of {len}", dims.len())));
        }
        meta |= last << (4 + bits * place);
    }
    // Integers have no exponent: fewer planes, or a rate, keep nothing of small ones.
    let planes = if chunk.dtype.kind == Kind::Float { 16 } else { 8 * chunk.dtype.size as u32 };
    let words = |mode: u64| {
        let header = meta | (mode << 52);
        vec![VERSION, MAGIC, header as u32, (header >> 32) as u32]
    };
    let mut sets = vec![
        ParameterSet::exact(&[5], words(2176)),
        ParameterSet::lossy(&[2, 0, planes], words(2048 + u64::from(planes) - 1)),
    ];
    if chunk.dtype.kind == Kind::Float {
        // The largest power of two that is at most 0.001 is 2 to the -10; exponents count from -1074.
        let accuracy = 2177 + 1074 - 10;
        sets.push(ParameterSet::lossy(&[3, 0, THOUSANDTH[1], THOUSANDTH[0]], words(accuracy)));
        sets.push(ParameterSet::lossy(&[1, 0, 0, TEN, 0, 0], words(RATE * 4_u64.pow(dims.len() as u32) - 1)));
    }
    Ok(sets)
}

/// HDF5's own scaleoffset: scale type and factor, elements, class, size, sign, byte order, and 0 as the fill value.
pub(super) fn scaleoffset(chunk: Chunk<'_>) -> Sets {
    let (float, size) = (chunk.dtype.kind == Kind::Float, chunk.dtype.size);
    let integer = [Kind::Int, Kind::UInt].contains(&chunk.dtype.kind);
    if !(integer && [1, 2, 4, 8].contains(&size) || float && [4, 8].contains(&size)) {
        return Err(NotForThis("scaleoffset takes integers and floating-point numbers".to_owned()));
    }
    chunk.bytes()?;
    let elements = chunk.elements().unwrap_or(u64::MAX) as u32;
    let signed = u32::from(chunk.dtype.kind == Kind::Int);
    let order = u32::from(chunk.dtype.order == ByteOrder::Big);
    let words = |given: [u32; 2]| {
        let own = [elements, u32::from(float), size as u32, signed, order, 1];
        [&given[..], &own, &[0; 12]].concat()
    };
    Ok(match float {
        true => [[0, 2], [0, 5]].map(|given| ParameterSet::lossy(&given, words(given))).into(),
        // Fewer bits than are needed give back other numbers, however far off.
        false => vec![ParameterSet::exact(&[2, 0], words([2, 0]))],
    })
}

/// BitRound: bits that are kept, size of a number, and no fill value.
pub(super) fn bitround(chunk: Chunk<'_>) -> Sets {
    chunk.is_little(&[Kind::Float], &[4, 8])?;
    let words = |keepbits| vec![keepbits, chunk.dtype.size as u32, 0, 0, 0];
    Ok([9, 7, 22].map(|keepbits| ParameterSet::lossy(&[keepbits], words(keepbits))).into())
}

/// SZ and SZ3: rank, type and lengths, the last dimension first, before what is given.
pub(super) fn sz(chunk: Chunk<'_>, is_sz3: bool) -> Sets {
    const DIMS_MAX: usize = 4;
    let sort = match chunk.dtype.kind {
        Kind::Float => {
            chunk.is_little(&[Kind::Float], &[4, 8])?;
            chunk.dtype.size as u32 / 8
        }
        kind => {
            chunk.is_little(&[Kind::Int, Kind::UInt], &[1, 2, 4, 8])?;
            2 + 2 * chunk.dtype.size.trailing_zeros() + u32::from(kind == Kind::Int)
        }
    };
    let mut dims = chunk.long_dims()?;
    if chunk.shape == [1] {
        dims.push(1);
    }
    let mut head = vec![dims.len() as u32, sort];
    match dims.len() {
        // One length, in two words.
        1 => head.extend([0, dims[0]]),
        2..=DIMS_MAX => head.extend(dims.iter().rev()),
        other => return Err(NotForThis(format!("SZ takes 1 to 4 dimensions longer than 1, not {other}"))),
    }
    let absolute = [0, THOUSANDTH[0], THOUSANDTH[1], 0, 0, 0, 0, 0, 0];
    let mut sets = vec![ParameterSet::lossy(&absolute, [&head[..], &absolute].concat())];
    if is_sz3 {
        sets.push(ParameterSet::lossy(&[], head));
    }
    Ok(sets)
}

/// SPERR: the rank, whether elements have 4 bytes, and the mode in the first word; the tolerance; the lengths.
pub(super) fn sperr(chunk: Chunk<'_>) -> Sets {
    /// What users give for an absolute tolerance of 0.001.
    const TOLERANCE: u32 = 940_177_214;
    chunk.is_little(&[Kind::Float], &[4, 8])?;
    let dims = chunk.long_dims()?;
    if !(2..=3).contains(&dims.len()) {
        return Err(NotForThis(format!("SPERR takes 2 or 3 dimensions longer than 1, not {}", dims.len())));
    }
    let first = 1024 | dims.len() as u32 | if chunk.dtype.size == 4 { 16 } else { 0 };
    Ok([0, 1]
        .into_iter()
        .map(|mode| {
            let head = [first + 64 * mode, TOLERANCE];
            ParameterSet::lossy(&[TOLERANCE, mode], [&head, &dims[..]].concat())
        })
        .collect())
}
