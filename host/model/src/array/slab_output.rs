//! The output of a slab, which one thread fills, or several at the same time with the parts of different chunks.
#![expect(unsafe_code, reason = "threads write disjoint parts of one buffer, which interleave")]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::region::{Bytes, Region};
use crate::grid::Segment;

/// Where the parts of the chunks of a slab go.
pub(super) enum SlabOutput<'a, 'out> {
    /// The buffer of the only thread.
    Own(&'a mut [u8]),
    /// A buffer that several threads fill.
    Shared(&'a SharedOutput<'out>),
}

/// The buffer of a slab that several threads fill without a lock.
///
/// The parts of two chunks have no element in common, and each part is given out once: so no byte has two writers.
pub(super) struct SharedOutput<'out> {
    start: *mut u8,
    len: usize,
    element: usize,
    /// The number of elements in each dimension of the slab.
    count: &'out [u64],
    /// A bit for each element: whether the part that begins with it was given out.
    given: Box<[AtomicUsize]>,
    buffer: PhantomData<&'out mut [u8]>,
}

// SAFETY: `start` is valid for reads and writes of `len` bytes for as long as `'out`, in which nobody else has the buffer:
// `new` took it as a mutable reference. Threads reach its bytes only through `Part` and `run`, whose bytes are disjoint.
unsafe impl Sync for SharedOutput<'_> {}

/// The elements of a slab that lie in one chunk. Nobody else writes them.
pub(super) struct Part<'a, 'out> {
    output: &'a SharedOutput<'out>,
}

impl<'out> SharedOutput<'out> {
    /// Shares the buffer of a slab of `count` elements.
    pub(super) fn new(buffer: &'out mut [u8], count: &'out [u64], element: usize) -> Self {
        let bits = buffer.len() / element.max(1);
        // Zeros that the system gives on first use: only the few pages in which parts begin become memory.
        let zeros = vec![0_usize; bits.div_ceil(usize::BITS as usize)].into_boxed_slice();
        const { assert!(align_of::<AtomicUsize>() == align_of::<usize>()) };
        // SAFETY: an `AtomicUsize` has the size and the values of a `usize`, and, as asserted, its alignment.
        let given = unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [AtomicUsize]) };
        Self { start: buffer.as_mut_ptr(), len: buffer.len(), element, count, given, buffer: PhantomData }
    }

    /// Gives out the part of a chunk, and sets `region` to it. `segments` are what a cover of this slab says of a chunk.
    ///
    /// # Panics
    /// The part was given out before.
    pub(super) fn part<'a>(&'a self, segments: &[Segment], region: &mut Region) -> Part<'a, 'out> {
        region.in_slab(segments, self.count, self.element);
        self.give(region.offset);
        Part { output: self }
    }

    /// Gives out the part of a chunk that is one run of the buffer.
    ///
    /// # Panics
    /// The part was given out before, or is not one run.
    #[expect(clippy::mut_from_ref, reason = "each run is given out once")]
    pub(super) fn run(&self, segments: &[Segment], region: &mut Region) -> &mut [u8] {
        region.in_slab(segments, self.count, self.element);
        let mut len = self.element;
        for (segment, &stride) in segments.iter().zip(&region.strides).rev() {
            assert!(stride == len || segment.len == 1, "a part that is not one run");
            len *= segment.len as usize;
        }
        assert!(region.offset <= self.len && len <= self.len - region.offset, "a part beyond the slab");
        self.give(region.offset);
        // SAFETY: the assertion above keeps the run within the buffer, which is valid and borrowed for `'out`. The bytes
        // are those of one part, since it is one run; `give` made sure that it is given out once, and other parts have
        // other bytes, because each element of a slab lies in one chunk.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(region.offset), len) }
    }

    /// Notes that the part whose first byte is this one is given out. Parts that begin with different elements are those
    /// of different chunks.
    fn give(&self, offset: usize) {
        let first = offset / self.element.max(1);
        let bit = 1 << (first % usize::BITS as usize);
        // Relaxed: only the bit itself counts. What threads wrote is seen by the thread that joins them.
        let before = self.given[first / usize::BITS as usize].fetch_or(bit, Ordering::Relaxed);
        assert!(before & bit == 0, "a part of a slab that is written twice");
    }
}

impl Bytes for Part<'_, '_> {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        let SharedOutput { start, len, .. } = *self.output;
        assert!(at <= len && bytes.len() <= len - at, "a part beyond the slab");
        // SAFETY: the assertion keeps the target within the buffer, which is valid for writes during `'out`. Only the
        // elements of this part are put, as `part` set the region; no other thread writes or reads them while `self`
        // exists, because a part is given out once and each element of a slab lies in one chunk. `bytes` is a buffer of
        // its own: the slab's was taken as a mutable reference.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(at), bytes.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::region;
    use super::*;
    use crate::grid::Slab;

    /// Four threads write the parts of interleaved chunks: each element gets the number of its chunk. Run by Miri too.
    #[test]
    fn threads_fill_interleaved_parts() {
        let slab = Slab::new([1, 2], [6, 9]).with_stride([1, 2]);
        let chunk = [2, 5];
        let cover = slab.cover(&chunk);
        let chunks = cover.chunks().unwrap();
        let mut buffer = vec![0; 6 * 9 * 2];
        let output = SharedOutput::new(&mut buffer, slab.count(), 2);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (cover, output) = (&cover, &output);
                scope.spawn(move || {
                    let (mut index, mut segments) = (Vec::new(), Vec::new());
                    let mut target = Region::default();
                    for number in (thread..chunks).step_by(4) {
                        cover.part(number, &mut index, &mut segments);
                        let mut part = output.part(&segments, &mut target);
                        region::fill_region(&segments, &[number as u8, 1], &mut part, &target);
                    }
                });
            }
        });
        for (at, element) in buffer.chunks(2).enumerate() {
            let (row, column) = (1 + at as u64 / 9, 2 + at as u64 % 9 * 2);
            let columns = 4; // of chunks that the slab touches: columns 2 to 18, in chunks of 5
            let number = row / 2 * columns + column / 5;
            assert_eq!(element, [number as u8, 1], "element {at}");
        }
    }

    #[test]
    fn threads_fill_runs() {
        let slab = Slab::new([3], [10]);
        let chunk = [4];
        let cover = slab.cover(&chunk);
        let mut buffer = vec![0; 10];
        let output = SharedOutput::new(&mut buffer, slab.count(), 1);
        let (mut index, mut segments) = (Vec::new(), Vec::new());
        let mut region = Region::default();
        for number in [2, 0, 3, 1] {
            cover.part(number, &mut index, &mut segments);
            output.run(&segments, &mut region).fill(number as u8);
        }
        assert_eq!(buffer, [0, 1, 1, 1, 1, 2, 2, 2, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "written twice")]
    fn a_part_is_given_out_once() {
        let slab = Slab::new([0], [4]);
        let cover = slab.cover(&[2]);
        let mut buffer = [0; 4];
        let output = SharedOutput::new(&mut buffer, slab.count(), 1);
        let (mut index, mut segments) = (Vec::new(), Vec::new());
        cover.part(1, &mut index, &mut segments);
        let mut region = Region::default();
        output.part(&segments, &mut region);
        output.part(&segments, &mut region);
    }
}
