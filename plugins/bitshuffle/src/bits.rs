//! Sorting the bits of a block: the first bits of all elements, then the second bits, and so on.
//!
//! A block has a multiple of 8 elements. Its sorted form has a row for each bit of an element, the least significant
//! bit of the first byte first; a row has a bit for each element, the first in the least significant bit of its first
//! byte.
//!
//! Between the two is the block by planes: the first bytes of all elements, then the second bytes, and so on. Each
//! plane is sorted separately, 64 bytes at a time if it has that many: eight squares of 8 x 8 bits are transposed, then
//! one of 8 x 8 bytes, so that whole words are read and written. [`ffi`] does this with vector instructions, if the
//! machine has them; for most sizes the planes then stay in registers.

use crate::ffi;

/// The largest element size with specialized code for its planes.
const EIGHT: usize = 8;

/// Sorts the bits of `block`, which has elements of `size` bytes, into `rows`; `planes` is room to work in. All three
/// have one length, a multiple of 8 elements.
pub(crate) fn sort(size: usize, block: &[u8], planes: &mut [u8], rows: &mut [u8]) {
    if !ffi::sort(size, block, rows) {
        sort_by_planes(size, block, planes, rows, |plane, rows| {
            if !ffi::sort(1, plane, rows) {
                sort_plane(plane, rows);
            }
        });
    }
}

/// The inverse of [`sort`].
pub(crate) fn unsort(size: usize, rows: &[u8], planes: &mut [u8], block: &mut [u8]) {
    if !ffi::unsort(size, rows, block) {
        unsort_by_planes(size, rows, planes, block, |rows, plane| {
            if !ffi::unsort(1, rows, plane) {
                unsort_plane(rows, plane);
            }
        });
    }
}

/// [`sort`] with `sort_plane` for each plane.
fn sort_by_planes(
    size: usize,
    block: &[u8],
    planes: &mut [u8],
    rows: &mut [u8],
    sort_plane: impl Fn(&[u8], &mut [u8]),
) {
    let count = block.len() / size;
    if count == 0 {
        return;
    }
    let planes = match size {
        1 => block,
        2 => split::<2>(block, planes),
        4 => split::<4>(block, planes),
        EIGHT => split::<8>(block, planes),
        _ => {
            for (at, plane) in planes.chunks_exact_mut(count).enumerate() {
                for (to, element) in plane.iter_mut().zip(block.chunks_exact(size)) {
                    *to = element[at];
                }
            }
            planes
        }
    };
    for (plane, rows) in planes.chunks_exact(count).zip(rows.chunks_exact_mut(count)) {
        sort_plane(plane, rows);
    }
}

/// The inverse of [`sort_by_planes`].
fn unsort_by_planes(
    size: usize,
    rows: &[u8],
    planes: &mut [u8],
    block: &mut [u8],
    unsort_plane: impl Fn(&[u8], &mut [u8]),
) {
    let count = rows.len() / size;
    if count == 0 {
        return;
    }
    if size == 1 {
        return unsort_plane(rows, block);
    }
    for (rows, plane) in rows.chunks_exact(count).zip(planes.chunks_exact_mut(count)) {
        unsort_plane(rows, plane);
    }
    match size {
        2 => join::<2>(planes, block),
        4 => join::<4>(planes, block),
        EIGHT => join::<8>(planes, block),
        _ => {
            for (at, plane) in planes.chunks_exact(count).enumerate() {
                for (from, element) in plane.iter().zip(block.chunks_exact_mut(size)) {
                    element[at] = *from;
                }
            }
        }
    }
}

/// Splits elements of `N` bytes into planes.
fn split<'a, const N: usize>(block: &[u8], planes: &'a mut [u8]) -> &'a [u8] {
    let (elements, _) = block.as_chunks::<N>();
    let mut rest = &mut *planes;
    let mut each: [&mut [u8]; N] = std::array::from_fn(|_| {
        let (plane, others) = std::mem::take(&mut rest).split_at_mut(elements.len());
        rest = others;
        plane
    });
    for (at, element) in elements.iter().enumerate() {
        for (plane, &byte) in each.iter_mut().zip(element) {
            plane[at] = byte;
        }
    }
    planes
}

/// The inverse of [`split`].
fn join<const N: usize>(planes: &[u8], block: &mut [u8]) {
    let (elements, _) = block.as_chunks_mut::<N>();
    let count = elements.len();
    let each: [&[u8]; N] = std::array::from_fn(|plane| &planes[plane * count..][..count]);
    for (at, element) in elements.iter_mut().enumerate() {
        *element = each.map(|plane| plane[at]);
    }
}

/// Sorts the bits of bytes, a multiple of 8, into eight rows.
fn sort_plane(plane: &[u8], rows: &mut [u8]) {
    let row = plane.len() / 8;
    let (squares, _) = plane.as_chunks::<8>();
    let (whole, rest) = squares.as_chunks::<8>();
    for (at, squares) in whole.iter().enumerate() {
        let words = turn_bytes(turn_bits(squares.map(u64::from_le_bytes)));
        for (number, word) in words.into_iter().enumerate() {
            rows[number * row + 8 * at..][..8].copy_from_slice(&word.to_le_bytes());
        }
    }
    for (square, at) in rest.iter().zip(8 * whole.len()..) {
        let [word] = turn_bits([u64::from_le_bytes(*square)]);
        for (number, byte) in word.to_le_bytes().into_iter().enumerate() {
            rows[number * row + at] = byte;
        }
    }
}

/// The inverse of [`sort_plane`].
fn unsort_plane(rows: &[u8], plane: &mut [u8]) {
    let row = plane.len() / 8;
    let (squares, _) = plane.as_chunks_mut::<8>();
    let (whole, rest) = squares.as_chunks_mut::<8>();
    let done = 8 * whole.len();
    for (at, squares) in whole.iter_mut().enumerate() {
        let words = std::array::from_fn(|number| {
            rows[number * row + 8 * at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
        });
        *squares = turn_bits(turn_bytes(words)).map(u64::to_le_bytes);
    }
    for (square, at) in rest.iter_mut().zip(done..) {
        let word = u64::from_le_bytes(std::array::from_fn(|number| rows[number * row + at]));
        let [word] = turn_bits([word]);
        *square = word.to_le_bytes();
    }
}

/// Turns squares of 8 x 8 bits, a byte a row: bit m of byte n becomes bit n of byte m.
///
/// Squares of 1, 2 and 4 bits are exchanged in turn (H. S. Warren, Hacker's Delight, section 7-3).
fn turn_bits<const N: usize>(mut words: [u64; N]) -> [u64; N] {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        for word in &mut words {
            let moved = (*word ^ (*word >> shift)) & mask;
            *word ^= moved ^ (moved << shift);
        }
    }
    words
}

/// Turns a square of 8 x 8 bytes: byte m of word n becomes byte n of word m.
fn turn_bytes(mut words: [u64; 8]) -> [u64; 8] {
    for (step, mask) in [(1, 0x00ff_00ff_00ff_00ff), (2, 0x0000_ffff_0000_ffff), (4, 0x0000_0000_ffff_ffff)] {
        let shift = 8 * step;
        for upper in (0..8).filter(|number| number & step == 0) {
            let lower = upper + step;
            let moved = ((words[upper] >> shift) ^ words[lower]) & mask;
            words[upper] ^= moved << shift;
            words[lower] ^= moved;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, bit by bit.
    fn slow(size: usize, block: &[u8]) -> Vec<u8> {
        let count = block.len() / size;
        let mut rows = vec![0; block.len()];
        for element in 0..count {
            for bit in 0..8 * size {
                let value = block[element * size + bit / 8] >> (bit % 8) & 1;
                rows[bit * (count / 8) + element / 8] |= value << (element % 8);
            }
        }
        rows
    }

    proptest! {
        #[test]
        fn the_fast_code_is_the_definition_and_has_an_inverse(
            size in prop_oneof![1..20_usize, Just(8_usize), Just(16), Just(300)],
            eights in 0..40_usize,
            seed: u64,
        ) {
            let len = 8 * eights * size;
            let mut state = seed;
            let block: Vec<u8> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            }).take(len).collect();
            let (mut planes, mut rows, mut back) = (vec![0; len], vec![0; len], vec![0; len]);
            sort(size, &block, &mut planes, &mut rows);
            prop_assert!(rows == slow(size, &block));
            unsort(size, &rows, &mut planes, &mut back);
            prop_assert!(back == block);
        }

        #[test]
        fn the_portable_code_makes_the_same(
            size in prop_oneof![1..20_usize, Just(8_usize), Just(16)],
            (eights, bytes) in (0..70_usize).prop_flat_map(|eights| {
                (Just(eights), prop::collection::vec(any::<u8>(), 8 * eights * 20))
            }),
        ) {
            let block = &bytes[..8 * eights * size];
            let [mut planes, mut rows, mut portable, mut back] = [(); 4].map(|()| vec![0; block.len()]);
            sort(size, block, &mut planes, &mut rows);
            sort_by_planes(size, block, &mut planes, &mut portable, sort_plane);
            prop_assert!(portable == rows);
            unsort_by_planes(size, &rows, &mut planes, &mut back, unsort_plane);
            prop_assert!(back == block);
        }
    }
}
