//! Copies boxes of elements between flat buffers.

use crate::grid::Segment;

/// A box within a flat buffer: the offset of its first element, and the step of each dimension, in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub(super) offset: usize,
    pub(super) strides: Vec<usize>,
}

impl Region {
    /// Sets the part of a chunk that `segments` take; `axes` are its dimensions from the slowest-changing to the
    /// fastest-changing.
    pub(super) fn in_chunk(&mut self, segments: &[Segment], chunk: &[u64], element: usize, axes: &[usize]) {
        self.offset = 0;
        self.strides.clear();
        self.strides.resize(segments.len(), 0);
        let mut step = element;
        for &dimension in axes.iter().rev() {
            let segment = &segments[dimension];
            self.offset += segment.in_chunk as usize * step;
            self.strides[dimension] = segment.stride as usize * step;
            step *= chunk[dimension] as usize;
        }
    }

    /// Sets the part of a slab of `count` elements that `segments` take.
    pub(super) fn in_slab(&mut self, segments: &[Segment], count: &[u64], element: usize) {
        self.offset = 0;
        self.strides.clear();
        self.strides.resize(segments.len(), 0);
        let mut step = element;
        for dimension in (0..segments.len()).rev() {
            self.offset += segments[dimension].in_slab as usize * step;
            self.strides[dimension] = step;
            step *= count[dimension] as usize;
        }
    }

    /// Sets the region of a buffer that holds only the segments' elements.
    pub(super) fn packed(&mut self, segments: &[Segment], element: usize) {
        self.offset = 0;
        self.strides.clear();
        self.strides.resize(segments.len(), 0);
        let mut step = element;
        for dimension in (0..segments.len()).rev() {
            self.strides[dimension] = step;
            step *= segments[dimension].len as usize;
        }
    }
}

/// Bytes that elements are copied to.
pub(super) trait Bytes {
    /// Copies these bytes to this position.
    fn put(&mut self, at: usize, bytes: &[u8]);
}

impl Bytes for [u8] {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Copies the elements of `segments`' lengths from one region to another. Both must be within their buffers; the
/// bounds checks of the slices ensure it.
pub(super) fn copy(
    segments: &[Segment],
    element: usize,
    from: &[u8],
    source: &Region,
    to: &mut (impl Bytes + ?Sized),
    target: &Region,
) {
    let (outer, run) = inner_run(segments, element, source, target);
    let walk = Walk { segments: &segments[..outer], source: &source.strides, target: &target.strides };
    match run {
        1 => walk.each(source.offset, target.offset, &mut |s, t| copy_fixed::<1>(from, s, to, t)),
        2 => walk.each(source.offset, target.offset, &mut |s, t| copy_fixed::<2>(from, s, to, t)),
        4 => walk.each(source.offset, target.offset, &mut |s, t| copy_fixed::<4>(from, s, to, t)),
        8 => walk.each(source.offset, target.offset, &mut |s, t| copy_fixed::<8>(from, s, to, t)),
        _ => walk.each(source.offset, target.offset, &mut |s, t| to.put(t, &from[s..s + run])),
    }
}

/// Visits the runs of elements that are contiguous in both regions: the start of each run in both, and its bytes.
pub(super) fn each_run(
    segments: &[Segment],
    element: usize,
    source: &Region,
    target: &Region,
    visit: &mut impl FnMut(usize, usize, usize),
) {
    let (outer, run) = inner_run(segments, element, source, target);
    let walk = Walk { segments: &segments[..outer], source: &source.strides, target: &target.strides };
    walk.each(source.offset, target.offset, &mut |s, t| visit(s, t, run));
}

/// Finds the run that the innermost dimensions form, if they are contiguous in both regions: returns the number of
/// dimensions outside the run, and its bytes.
fn inner_run(segments: &[Segment], element: usize, source: &Region, target: &Region) -> (usize, usize) {
    let mut run = element;
    let mut outer = segments.len();
    while outer > 0 && source.strides[outer - 1] == run && target.strides[outer - 1] == run {
        run *= segments[outer - 1].len as usize;
        outer -= 1;
    }
    (outer, run)
}

/// Fills a buffer with copies of one element.
pub(super) fn fill(buffer: &mut [u8], element: &[u8]) {
    match element {
        [] => {}
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => buffer.fill(*first),
        _ => {
            for target in buffer.chunks_exact_mut(element.len()) {
                target.copy_from_slice(element);
            }
        }
    }
}

/// Fills a region with copies of one element.
pub(super) fn fill_region(
    segments: &[Segment],
    element: &[u8],
    to: &mut (impl Bytes + ?Sized),
    target: &Region,
) {
    let walk = Walk { segments, source: &target.strides, target: &target.strides };
    walk.each(target.offset, target.offset, &mut |_, t| to.put(t, element));
}

/// Reverses the bytes of each unit of `unit` bytes.
pub(super) fn swap_bytes(buffer: &mut [u8], unit: usize) {
    match unit {
        2 => swap_fixed::<2>(buffer),
        4 => swap_fixed::<4>(buffer),
        8 => swap_fixed::<8>(buffer),
        0 | 1 => {}
        _ => buffer.chunks_exact_mut(unit).for_each(<[u8]>::reverse),
    }
}

/// Visits the elements of a box, the last dimension fastest.
struct Walk<'a> {
    segments: &'a [Segment],
    source: &'a [usize],
    target: &'a [usize],
}

impl Walk<'_> {
    fn each(&self, source: usize, target: usize, visit: &mut impl FnMut(usize, usize)) {
        match self.segments {
            [] => visit(source, target),
            [last] => {
                let (source_step, target_step) = (self.source[0], self.target[0]);
                for step in 0..last.len as usize {
                    visit(source + step * source_step, target + step * target_step);
                }
            }
            [first, rest @ ..] => {
                let inner = Walk { segments: rest, source: &self.source[1..], target: &self.target[1..] };
                for step in 0..first.len as usize {
                    inner.each(source + step * self.source[0], target + step * self.target[0], visit);
                }
            }
        }
    }
}

/// Copies a number of bytes that the compiler knows: one instruction instead of a call.
fn copy_fixed<const N: usize>(from: &[u8], source: usize, to: &mut (impl Bytes + ?Sized), target: usize) {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&from[source..source + N]);
    to.put(target, &bytes);
}

fn swap_fixed<const N: usize>(buffer: &mut [u8]) {
    let (units, _) = buffer.as_chunks_mut::<N>();
    units.iter_mut().for_each(|unit| unit.reverse());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fortran_chunk_is_transposed_when_copied() {
        // Chunk (2, 3) in F order: element (i, j) at i + 2 j.
        let chunk = [0u8, 10, 1, 11, 2, 12];
        let whole = |len| Segment { in_chunk: 0, stride: 1, in_slab: 0, len };
        let segments = [whole(2), whole(3)];
        let (mut source, mut target) = (Region::default(), Region::default());
        source.in_chunk(&segments, &[2, 3], 1, &[1, 0]);
        target.packed(&segments, 1);
        let mut out = [0; 6];
        copy(&segments, 1, &chunk, &source, &mut out[..], &target);
        assert_eq!(out, [0, 1, 2, 10, 11, 12]);
    }

    #[test]
    fn swapping_and_filling() {
        let mut bytes = [1, 2, 3, 4, 5, 6];
        swap_bytes(&mut bytes, 2);
        assert_eq!(bytes, [2, 1, 4, 3, 6, 5]);
        swap_bytes(&mut bytes, 3);
        assert_eq!(bytes, [4, 1, 2, 5, 6, 3]);
        fill(&mut bytes, &[7, 8]);
        assert_eq!(bytes, [7, 8, 7, 8, 7, 8]);
    }
}
