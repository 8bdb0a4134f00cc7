//! Pixels of 4 or 8 bytes to planes of bytes, and back.

/// Splits `pixels` into `count` planes, kept in `planes`.
pub(super) fn split<'a>(pixels: &[u8], count: usize, planes: &'a mut Vec<u8>) -> &'a [u8] {
    planes.resize(pixels.len(), 0);
    let plane = pixels.len() / count;
    if plane == 0 {
        return planes;
    }
    match count {
        4 => split_by::<4>(pixels, plane, planes),
        _ => split_by::<8>(pixels, plane, planes),
    }
    planes
}

/// The reverse of [`split`].
pub(super) fn join(planes: &[u8], count: usize, pixels: &mut [u8]) {
    let plane = pixels.len() / count;
    if plane == 0 {
        return;
    }
    match count {
        4 => join_by::<4>(planes, plane, pixels),
        _ => join_by::<8>(planes, plane, pixels),
    }
}

fn split_by<const N: usize>(pixels: &[u8], plane: usize, planes: &mut [u8]) {
    let pixels = pixels.as_chunks::<N>().0;
    for (byte, plane) in planes.chunks_exact_mut(plane).enumerate() {
        for (target, pixel) in plane.iter_mut().zip(pixels) {
            *target = pixel[byte];
        }
    }
}

fn join_by<const N: usize>(planes: &[u8], plane: usize, pixels: &mut [u8]) {
    let pixels = pixels.as_chunks_mut::<N>().0;
    for (byte, plane) in planes.chunks_exact(plane).enumerate() {
        for (pixel, source) in pixels.iter_mut().zip(plane) {
            pixel[byte] = *source;
        }
    }
}
