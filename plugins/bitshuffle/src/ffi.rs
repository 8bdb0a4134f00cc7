//! The bits of a block with the vector instructions that every x86-64 machine has (SSE2).
//!
//! 128 elements at a time, whose bits make 16 bytes of each row. The address of a byte among them has four bits for the
//! square of 8 elements, three for the element in it, and those for the byte in the element. Interleaving the first
//! half of some vectors with the second half rotates their address bits by one: the byte in the element moves to the
//! top, so that a vector has two squares of a plane; the bits of the squares are transposed; the square moves to the
//! bottom. Everything stays in registers and on the stack.

#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "vector instructions"))]

/// Sorts the bits of `block` into `rows` as [`crate::bits`] does and returns true; returns false if there is no code
/// for `size`.
pub(crate) fn sort(size: usize, block: &[u8], rows: &mut [u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the functions need SSE2, which is part of x86-64.
    unsafe {
        match size {
            1 => x86_64::sort::<1>(block, rows),
            2 => x86_64::sort::<2>(block, rows),
            4 => x86_64::sort::<4>(block, rows),
            8 => x86_64::sort::<8>(block, rows),
            16 => x86_64::sort::<16>(block, rows),
            _ => return false,
        }
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (size, block, rows);
        false
    }
}

/// The inverse of [`sort`].
pub(crate) fn unsort(size: usize, rows: &[u8], block: &mut [u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the functions need SSE2, which is part of x86-64.
    unsafe {
        match size {
            1 => x86_64::unsort::<1>(rows, block),
            2 => x86_64::unsort::<2>(rows, block),
            4 => x86_64::unsort::<4>(rows, block),
            8 => x86_64::unsort::<8>(rows, block),
            16 => x86_64::unsort::<16>(rows, block),
            _ => return false,
        }
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (size, rows, block);
        false
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_loadu_si128, _mm_set1_epi64x, _mm_setzero_si128, _mm_slli_epi64,
        _mm_srli_epi64, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8, _mm_xor_si128,
    };

    /// The element types of a vector.
    type Bytes = [u8; 16];
    /// Vectors of a plane of a tile.
    const VECTORS: usize = 8;
    /// Elements of a tile: each is a bit in 16 bytes of a row.
    const ELEMENTS: usize = VECTORS * size_of::<Bytes>();

    #[target_feature(enable = "sse2")]
    pub(super) fn sort<const SIZE: usize>(block: &[u8], rows: &mut [u8]) {
        let row = block.len() / SIZE / 8;
        let mut planes = [[_mm_setzero_si128(); VECTORS]; SIZE];
        for (number, tile) in block.chunks(ELEMENTS * SIZE).enumerate() {
            if tile.len() == ELEMENTS * SIZE {
                split(tile.as_chunks().0, &mut planes);
            } else {
                let mut padded = [[[0; 16]; VECTORS]; SIZE];
                padded.as_flattened_mut().as_flattened_mut()[..tile.len()].copy_from_slice(tile);
                split(padded.as_flattened(), &mut planes);
            }
            let at = size_of::<Bytes>() * number;
            for (plane, rows) in planes.iter().zip(rows.chunks_exact_mut(8 * row)) {
                let mut vectors = *plane;
                for squares in &mut vectors {
                    *squares = turn_bits(*squares);
                }
                for _ in 0..4 {
                    vectors = interleave(vectors);
                }
                for (vector, row) in vectors.iter().zip(rows.chunks_exact_mut(row)) {
                    let rest = &mut row[at..];
                    if let Some(bytes) = rest.first_chunk_mut() {
                        store(*vector, bytes);
                    } else {
                        let mut padded = [0; 16];
                        store(*vector, &mut padded);
                        rest.copy_from_slice(&padded[..rest.len()]);
                    }
                }
            }
        }
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn unsort<const SIZE: usize>(rows: &[u8], block: &mut [u8]) {
        let row = rows.len() / SIZE / 8;
        let mut planes = [[_mm_setzero_si128(); VECTORS]; SIZE];
        for (number, tile) in block.chunks_mut(ELEMENTS * SIZE).enumerate() {
            let at = size_of::<Bytes>() * number;
            for (plane, rows) in planes.iter_mut().zip(rows.chunks_exact(8 * row)) {
                let mut vectors = [_mm_setzero_si128(); VECTORS];
                for (vector, row) in vectors.iter_mut().zip(rows.chunks_exact(row)) {
                    let rest = &row[at..];
                    *vector = if let Some(bytes) = rest.first_chunk() {
                        load(bytes)
                    } else {
                        let mut padded = [0; 16];
                        padded[..rest.len()].copy_from_slice(rest);
                        load(&padded)
                    };
                }
                for _ in 0..VECTORS.ilog2() {
                    vectors = interleave(vectors);
                }
                for (to, squares) in plane.iter_mut().zip(&vectors) {
                    *to = turn_bits(*squares);
                }
            }
            if tile.len() == ELEMENTS * SIZE {
                join(&planes, tile.as_chunks_mut().0);
            } else {
                let mut padded = [[[0; 16]; VECTORS]; SIZE];
                join(&planes, padded.as_flattened_mut());
                tile.copy_from_slice(&padded.as_flattened().as_flattened()[..tile.len()]);
            }
        }
    }

    /// The planes of a tile.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn split<const SIZE: usize>(tile: &[Bytes], planes: &mut [[__m128i; VECTORS]; SIZE]) {
        for (number, elements) in tile.as_chunks::<SIZE>().0.iter().take(VECTORS).enumerate() {
            let mut vectors = [_mm_setzero_si128(); SIZE];
            for (vector, bytes) in vectors.iter_mut().zip(elements) {
                *vector = load(bytes);
            }
            for _ in 0..4 {
                vectors = interleave(vectors);
            }
            for (plane, vector) in planes.iter_mut().zip(&vectors) {
                plane[number] = *vector;
            }
        }
    }

    /// The inverse of [`split`].
    #[inline]
    #[target_feature(enable = "sse2")]
    fn join<const SIZE: usize>(planes: &[[__m128i; VECTORS]; SIZE], tile: &mut [Bytes]) {
        for (number, elements) in tile.as_chunks_mut::<SIZE>().0.iter_mut().take(VECTORS).enumerate() {
            let mut vectors = [_mm_setzero_si128(); SIZE];
            for (vector, plane) in vectors.iter_mut().zip(planes) {
                *vector = plane[number];
            }
            for _ in 0..SIZE.ilog2() {
                vectors = interleave(vectors);
            }
            for (bytes, vector) in elements.iter_mut().zip(&vectors) {
                store(*vector, bytes);
            }
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn interleave<const N: usize>(vectors: [__m128i; N]) -> [__m128i; N] {
        let mut turned = vectors;
        for n in 0..N / 2 {
            turned[2 * n] = _mm_unpacklo_epi8(vectors[n], vectors[n + N / 2]);
            turned[2 * n + 1] = _mm_unpackhi_epi8(vectors[n], vectors[n + N / 2]);
        }
        turned
    }

    /// Turns two squares of 8 x 8 bits, a byte a row.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn turn_bits(squares: __m128i) -> __m128i {
        let squares = exchange::<7>(squares, 0x00aa_00aa_00aa_00aa);
        let squares = exchange::<14>(squares, 0x0000_cccc_0000_cccc);
        exchange::<28>(squares, 0x0000_0000_f0f0_f0f0)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn exchange<const SHIFT: i32>(squares: __m128i, mask: i64) -> __m128i {
        let unlike = _mm_xor_si128(squares, _mm_srli_epi64::<SHIFT>(squares));
        let moved = _mm_and_si128(unlike, _mm_set1_epi64x(mask));
        _mm_xor_si128(squares, _mm_xor_si128(moved, _mm_slli_epi64::<SHIFT>(moved)))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(bytes: &Bytes) -> __m128i {
        // SAFETY: 16 bytes are there; the load takes any alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn store(vector: __m128i, bytes: &mut Bytes) {
        // SAFETY: 16 bytes are there; the store takes any alignment.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), vector) }
    }
}
