//! Pixels of 4 or 8 bytes to planes of bytes, and back.

/// Pixels that are moved at once: few enough to stay in the nearest cache for all planes.
const BATCH: usize = 1024;

/// Splits `pixels` into `count` planes, kept in `planes`.
pub(super) fn split<'a>(pixels: &[u8], count: usize, planes: &'a mut Vec<u8>) -> &'a [u8] {
    planes.resize(pixels.len(), 0);
    let plane = pixels.len() / count;
    if count == 4 {
        let pixels = pixels.as_chunks().0;
        split_by(pixels, planes, plane, count, |&pixel, shift| (u32::from_le_bytes(pixel) >> shift) as u8);
    } else {
        let pixels = pixels.as_chunks().0;
        split_by(pixels, planes, plane, count, |&pixel, shift| (u64::from_le_bytes(pixel) >> shift) as u8);
    }
    planes
}

/// The reverse of [`split`].
pub(super) fn join(planes: &[u8], count: usize, pixels: &mut [u8]) {
    let plane = pixels.len() / count;
    if count == 4 {
        join_by::<4>(planes, plane, pixels.as_chunks_mut().0);
    } else {
        join_by::<8>(planes, plane, pixels.as_chunks_mut().0);
    }
}

/// Words and shifts instead of an index into each pixel: so it becomes vector code.
#[inline(always)]
fn split_by<P>(pixels: &[P], planes: &mut [u8], plane: usize, count: usize, byte: impl Fn(&P, u32) -> u8) {
    for (number, batch) in pixels.chunks(BATCH).enumerate() {
        for at in 0..count {
            let start = at * plane + number * BATCH;
            let target = &mut planes[start..start + batch.len()];
            for (target, pixel) in target.iter_mut().zip(batch) {
                *target = byte(pixel, 8 * at as u32);
            }
        }
    }
}

fn join_by<const N: usize>(planes: &[u8], plane: usize, pixels: &mut [[u8; N]]) {
    for (number, batch) in pixels.chunks_mut(BATCH).enumerate() {
        let start = number * BATCH;
        let sources: [&[u8]; N] = std::array::from_fn(|at| &planes[at * plane + start..][..batch.len()]);
        for (i, pixel) in batch.iter_mut().enumerate() {
            *pixel = std::array::from_fn(|at| sources[at][i]);
        }
    }
}
