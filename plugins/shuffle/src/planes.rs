//! Byte planes: the first bytes of all elements, then the second bytes, and so on.

use crate::ffi;

/// Elements handled at a time, so that a tile of them stays in the first cache.
const TILE: usize = 256;

/// Writes the planes of `input`, whole elements of `size` bytes, to `output` of the same length.
pub(crate) fn split(size: usize, input: &[u8], output: &mut [u8]) {
    let done = ffi::split(size, input, output);
    // With a constant size, the compiler vectorizes the loop for machines without code in `ffi`.
    match size {
        2 => split_from(done, 2, input, output),
        4 => split_from(done, 4, input, output),
        8 => split_from(done, 8, input, output),
        _ => split_from(done, size, input, output),
    }
}

/// Undoes [`split`].
pub(crate) fn join(size: usize, input: &[u8], output: &mut [u8]) {
    let done = ffi::join(size, input, output);
    match size {
        2 => join_from(done, 2, input, output),
        4 => join_from(done, 4, input, output),
        8 => join_from(done, 8, input, output),
        _ => join_from(done, size, input, output),
    }
}

/// Splits all elements but the first `done`.
#[inline(always)]
fn split_from(done: usize, size: usize, input: &[u8], output: &mut [u8]) {
    let elements = input.len() / size;
    for (tile, items) in input[done * size..].chunks(TILE * size).enumerate() {
        for plane in 0..size {
            let target = &mut output[plane * elements + done + tile * TILE..];
            for (byte, item) in target.iter_mut().zip(items.chunks_exact(size)) {
                *byte = item[plane];
            }
        }
    }
}

/// Joins all elements but the first `done`.
#[inline(always)]
fn join_from(done: usize, size: usize, input: &[u8], output: &mut [u8]) {
    let elements = input.len() / size;
    for (tile, items) in output[done * size..].chunks_mut(TILE * size).enumerate() {
        for plane in 0..size {
            let source = &input[plane * elements + done + tile * TILE..];
            for (byte, item) in source.iter().zip(items.chunks_exact_mut(size)) {
                item[plane] = *byte;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn planes_are_as_defined_and_join_again(
            size in 1..40_usize,
            elements in 0..700_usize,
            seed in any::<u32>(),
        ) {
            let data: Vec<u8> =
                (0..elements * size).map(|n| (n as u32).wrapping_mul(2_654_435_761).wrapping_add(seed).to_le_bytes()[3]).collect();
            let mut planes = vec![0; data.len()];
            split(size, &data, &mut planes);
            for (at, byte) in planes.iter().enumerate() {
                prop_assert_eq!(*byte, data[at % elements * size + at / elements]);
            }
            let mut back = vec![0; data.len()];
            join(size, &planes, &mut back);
            prop_assert_eq!(back, data);
        }
    }
}
