//! The calls of liblz4.

#![expect(unsafe_code, reason = "calls of the C library liblz4")]

use std::ffi::c_int;

use lz4_sys as c;

/// Writes `input` as one block to `output` and returns its length; `None` if it does not fit or `input` is too long.
///
/// With [`bound`](crate::bound) bytes it always fits. A greater `acceleration` is faster and compresses less; 1 is the
/// ordinary one, and smaller ones count as 1.
pub fn compress(input: &[u8], output: &mut [u8], acceleration: i32) -> Option<usize> {
    let from = c_int::try_from(input.len()).ok()?;
    // Room beyond what an int counts is not needed: the bound of the longest input is within it.
    let to = c_int::try_from(output.len()).unwrap_or(c_int::MAX);
    // SAFETY: both slices are valid for at least the stated lengths and do not overlap; the function takes every
    // acceleration, refuses too long an input and writes nothing after the output.
    let length = unsafe {
        c::LZ4_compress_fast(input.as_ptr().cast(), output.as_mut_ptr().cast(), from, to, acceleration)
    };
    usize::try_from(length).ok().filter(|&length| length > 0)
}

/// Writes `input` as one block to `output`, slower and smaller, and returns its length; `None` as for [`compress`].
///
/// `level` is 1 to 12; others count as the nearest.
pub fn compress_strongly(input: &[u8], output: &mut [u8], level: i32) -> Option<usize> {
    let from = c_int::try_from(input.len()).ok()?;
    let to = c_int::try_from(output.len()).unwrap_or(c_int::MAX);
    // SAFETY: as for `compress`; the function takes every level.
    let length =
        unsafe { c::LZ4_compress_HC(input.as_ptr().cast(), output.as_mut_ptr().cast(), from, to, level) };
    usize::try_from(length).ok().filter(|&length| length > 0)
}

/// Decodes `input`, which is exactly one block, into `output` and returns the length; `None` if it is not a block,
/// or decodes to more than `output` holds.
pub fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let from = c_int::try_from(input.len()).ok()?;
    let to = c_int::try_from(output.len()).unwrap_or(c_int::MAX);
    // SAFETY: both slices are valid for at least the stated lengths and do not overlap; the function reads and writes
    // within them, whatever the input is.
    let length =
        unsafe { c::LZ4_decompress_safe(input.as_ptr().cast(), output.as_mut_ptr().cast(), from, to) };
    usize::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{RATIO_MAX, bound};

    #[test]
    fn every_length_has_a_block_also_none() {
        for length in 0..300 {
            let data = vec![7; length];
            let mut block = vec![0; bound(length).unwrap()];
            let end = compress(&data, &mut block, 1).unwrap();
            let mut back = vec![0; length];
            assert_eq!(decompress(&block[..end], &mut back), Some(length));
            assert_eq!(back, data);
        }
        assert_eq!(decompress(&[], &mut [0; 9]), None);
    }

    #[test]
    fn the_ratio_of_a_long_run_is_within_the_limit() {
        let data = vec![0; 1 << 24];
        let mut block = vec![0; bound(data.len()).unwrap()];
        let end = compress(&data, &mut block, 1).unwrap();
        assert!(end * RATIO_MAX >= data.len() && end * (RATIO_MAX - 1) < data.len(), "{end}");
    }

    proptest! {
        #[test]
        fn blocks_of_any_bytes_and_acceleration_round_trip(
            data in proptest::collection::vec(0..5_u8, 0..5000),
            acceleration: i32,
        ) {
            let mut block = vec![0; bound(data.len()).unwrap()];
            let end = compress(&data, &mut block, acceleration).unwrap();
            let mut back = vec![0; data.len()];
            prop_assert_eq!(decompress(&block[..end], &mut back), Some(data.len()));
            prop_assert_eq!(back, data);
        }

        #[test]
        fn no_block_decodes_to_more_than_the_limit(input in proptest::collection::vec(any::<u8>(), 1..200)) {
            let mut output = vec![0; 1 << 16];
            if let Some(length) = decompress(&input, &mut output) {
                prop_assert!(length <= RATIO_MAX * input.len());
            }
        }
    }
}
