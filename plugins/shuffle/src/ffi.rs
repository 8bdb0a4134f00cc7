//! Byte planes with the vector instructions that every x86-64 machine has (SSE2).
//!
//! The address of a byte in a block of 16 elements has four bits for the element, above the bits for the byte in it; in
//! planes they are swapped. Interleaving the first half of the vectors with the second half rotates all address bits by
//! one, so four such steps split elements of any power of two, and as many steps as an element has address bits join
//! them. AVX2 was tried: it is a little faster in the cache, and not faster beyond it.

#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "vector instructions"))]

/// Splits as many of the first elements as fill vectors and returns their count; 0 if there is no code for `size`.
pub(crate) fn split(size: usize, input: &[u8], output: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the functions need SSE2, which is part of x86-64.
    unsafe {
        match size {
            2 => return x86_64::split::<2>(input, output),
            4 => return x86_64::split::<4>(input, output),
            8 => return x86_64::split::<8>(input, output),
            16 => return x86_64::split::<16>(input, output),
            _ => {}
        }
    }
    let _ = (size, input, output);
    0
}

/// Joins as many of the first elements as fill vectors and returns their count; 0 if there is no code for `size`.
pub(crate) fn join(size: usize, input: &[u8], output: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the functions need SSE2, which is part of x86-64.
    unsafe {
        match size {
            2 => return x86_64::join::<2>(input, output),
            4 => return x86_64::join::<4>(input, output),
            8 => return x86_64::join::<8>(input, output),
            16 => return x86_64::join::<16>(input, output),
            _ => {}
        }
    }
    let _ = (size, input, output);
    0
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_setzero_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8,
    };

    /// Elements of a block: each plane of a block is one vector.
    const BLOCK: usize = 16;

    #[target_feature(enable = "sse2")]
    pub(super) fn split<const SIZE: usize>(input: &[u8], output: &mut [u8]) -> usize {
        let elements = input.len() / SIZE;
        let mut rest = output;
        let mut planes: [&mut [[u8; BLOCK]]; SIZE] = std::array::from_fn(|_| {
            let (plane, next) = std::mem::take(&mut rest).split_at_mut(elements);
            rest = next;
            plane.as_chunks_mut().0
        });
        let (rows, _) = input.as_chunks::<BLOCK>();
        let blocks = elements / BLOCK;
        for block in 0..blocks {
            let rows = &rows[block * SIZE..][..SIZE];
            let mut vectors = [_mm_setzero_si128(); SIZE];
            for (vector, row) in vectors.iter_mut().zip(rows) {
                *vector = load(row);
            }
            for _ in 0..BLOCK.ilog2() {
                vectors = turn(vectors);
            }
            for (plane, vector) in planes.iter_mut().zip(vectors) {
                store(vector, &mut plane[block]);
            }
        }
        blocks * BLOCK
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn join<const SIZE: usize>(input: &[u8], output: &mut [u8]) -> usize {
        let elements = input.len() / SIZE;
        let planes: [&[[u8; BLOCK]]; SIZE] =
            std::array::from_fn(|plane| input[plane * elements..][..elements].as_chunks().0);
        let (rows, _) = output.as_chunks_mut::<BLOCK>();
        let blocks = elements / BLOCK;
        for block in 0..blocks {
            let rows = &mut rows[block * SIZE..][..SIZE];
            let mut vectors = [_mm_setzero_si128(); SIZE];
            for (vector, plane) in vectors.iter_mut().zip(planes) {
                *vector = load(&plane[block]);
            }
            for _ in 0..SIZE.ilog2() {
                vectors = turn(vectors);
            }
            for (row, vector) in rows.iter_mut().zip(vectors) {
                store(vector, row);
            }
        }
        blocks * BLOCK
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn turn<const SIZE: usize>(vectors: [__m128i; SIZE]) -> [__m128i; SIZE] {
        let mut turned = vectors;
        for n in 0..SIZE / 2 {
            turned[2 * n] = _mm_unpacklo_epi8(vectors[n], vectors[n + SIZE / 2]);
            turned[2 * n + 1] = _mm_unpackhi_epi8(vectors[n], vectors[n + SIZE / 2]);
        }
        turned
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8; BLOCK]) -> __m128i {
        // SAFETY: 16 bytes are there; the load takes any alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn store(vector: __m128i, bytes: &mut [u8; BLOCK]) {
        // SAFETY: 16 bytes are there; the store takes any alignment.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), vector) }
    }
}
