//! The geometry of chunks: the chunks that a hyperslab touches, and the part of each.

mod select;

pub use self::select::{AxisRange, Select, Selected};

/// A hyperslab: in each dimension, every `stride`-th element from `start`, `count` elements (netCDF User's Guide,
/// "Specify a Hyperslab").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    start: Vec<u64>,
    count: Vec<u64>,
    stride: Vec<u64>,
}

/// Why a hyperslab does not fit an array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlabError {
    /// The number of dimensions differs.
    #[error("expected a hyperslab of {array} dimensions, like the variable, got {slab}")]
    Rank {
        /// The number of dimensions of the hyperslab.
        slab: usize,
        /// The number of dimensions of the variable.
        array: usize,
    },
    /// It reaches beyond the array.
    #[error(
        "dimension {dimension} has {len} elements, but the hyperslab takes {count} from {start} with stride {stride}"
    )]
    Bounds {
        /// The dimension, counted from 0.
        dimension: usize,
        /// Its length.
        len: u64,
        /// The first element of the hyperslab.
        start: u64,
        /// The number of elements of the hyperslab.
        count: u64,
        /// The step.
        stride: u64,
    },
    /// A stride of 0.
    #[error("the stride of dimension {dimension} is 0; it must be at least 1")]
    Stride {
        /// The dimension, counted from 0.
        dimension: usize,
    },
    /// There is no chunk with these coordinates.
    #[error("there is no chunk {index:?}, the array has {counts:?} chunks")]
    Chunk {
        /// The requested coordinates.
        index: Vec<u64>,
        /// The number of chunks in each dimension.
        counts: Vec<u64>,
    },
    /// The values to write have another shape.
    #[error("the part has the shape {part:?}, the values have {values:?}")]
    Values {
        /// Of the part of the array.
        part: Vec<u64>,
        /// Of the values.
        values: Vec<u64>,
    },
    /// There is another number of values.
    #[error("the part has {want} elements, got {got} values")]
    Length {
        /// Elements of the part.
        want: u64,
        /// Values of the caller.
        got: u64,
    },
    /// The caller's buffer does not have the size of the hyperslab.
    #[error("the hyperslab has {want} bytes, the buffer {got}")]
    Buffer {
        /// Bytes of the hyperslab.
        want: u64,
        /// Bytes of the buffer.
        got: u64,
    },
}

impl Slab {
    /// A hyperslab of `count` elements from `start` in each dimension, with stride 1.
    #[must_use]
    pub fn new(start: impl Into<Vec<u64>>, count: impl Into<Vec<u64>>) -> Self {
        let start = start.into();
        let stride = vec![1; start.len()];
        Self { start, count: count.into(), stride }
    }

    /// The hyperslab of a whole array.
    #[must_use]
    pub fn whole(shape: &[u64]) -> Self {
        Self::new(vec![0; shape.len()], shape)
    }

    /// Sets the stride of each dimension.
    #[must_use]
    pub fn with_stride(mut self, stride: impl Into<Vec<u64>>) -> Self {
        self.stride = stride.into();
        self
    }

    /// The first element in each dimension.
    #[must_use]
    pub fn start(&self) -> &[u64] {
        &self.start
    }

    /// The number of elements in each dimension.
    #[must_use]
    pub fn count(&self) -> &[u64] {
        &self.count
    }

    /// The step in each dimension.
    #[must_use]
    pub fn stride(&self) -> &[u64] {
        &self.stride
    }

    /// The number of elements; `None` beyond 64 bits.
    #[must_use]
    pub fn elements(&self) -> Option<u64> {
        product(self.count.iter().copied())
    }

    /// The first half of the elements in row-major order and the rest; `None` of one element or none.
    #[must_use]
    pub fn halves(&self) -> Option<(Self, Self)> {
        let axis = self.count.iter().position(|count| *count != 1)?;
        let (mut first, mut second) = (self.clone(), self.clone());
        let half = self.count.get(axis)? / 2;
        *first.count.get_mut(axis)? = half;
        *second.count.get_mut(axis)? -= half;
        *second.start.get_mut(axis)? += half * self.stride.get(axis)?;
        (half > 0).then_some((first, second))
    }

    /// Checks it against the lengths of an array.
    ///
    /// # Errors
    /// The rank differs, a stride is 0, or the array does not have all the elements.
    pub fn check(&self, shape: &[u64]) -> Result<(), SlabError> {
        for slab in [self.start.len(), self.count.len(), self.stride.len()] {
            if slab != shape.len() {
                return Err(SlabError::Rank { slab, array: shape.len() });
            }
        }
        for (dimension, &len) in shape.iter().enumerate() {
            let (start, count, stride) =
                (self.start[dimension], self.count[dimension], self.stride[dimension]);
            if stride == 0 {
                return Err(SlabError::Stride { dimension });
            }
            let end = match count.checked_sub(1) {
                // No elements are taken: any start within the array is valid.
                None => Some(start),
                Some(steps) => {
                    steps.checked_mul(stride).and_then(|far| far.checked_add(start)?.checked_add(1))
                }
            };
            if end.is_none_or(|end| end > len) {
                return Err(SlabError::Bounds { dimension, len, start, count, stride });
            }
        }
        Ok(())
    }

    /// Returns the parts of the slab that are in one chunk each, for chunks of lengths `chunk`, in row-major order. The
    /// slab must have been checked.
    pub fn parts<'a>(&'a self, chunk: &'a [u64]) -> impl Iterator<Item = SlabPart> + 'a {
        let cover = self.cover(chunk);
        (0..cover.chunks().unwrap_or(0)).map(move |number| {
            let (mut index, mut segments) = (Vec::new(), Vec::new());
            cover.part(number, &mut index, &mut segments);
            let of = |what: fn(&Segment) -> u64| segments.iter().map(what).collect::<Vec<_>>();
            let starts = index.iter().zip(chunk).zip(&segments);
            let start: Vec<u64> = starts.map(|((i, len), segment)| i * len + segment.in_chunk).collect();
            let slab = Slab::new(start, of(|segment| segment.len)).with_stride(of(|segment| segment.stride));
            SlabPart { at: of(|segment| segment.in_slab), chunk: index, slab }
        })
    }

    /// Returns the parts of the chunks of lengths `chunk` that the slab takes. The slab must have been checked.
    pub(crate) fn cover<'a>(&'a self, chunk: &'a [u64]) -> Cover<'a> {
        let spans = (0..chunk.len())
            .map(|dimension| {
                let first = self.start[dimension] / chunk[dimension];
                let Some(steps) = self.count[dimension].checked_sub(1) else { return (first, 0) };
                if self.stride[dimension] >= chunk[dimension] {
                    return (first, steps + 1);
                }
                let last = (self.start[dimension] + steps * self.stride[dimension]) / chunk[dimension];
                (first, last - first + 1)
            })
            .collect();
        Cover { slab: self, chunk, spans }
    }
}

/// The part of a slab that is in one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlabPart {
    /// The coordinates of the chunk.
    pub chunk: Vec<u64>,
    /// The position of its first element in the slab.
    pub at: Vec<u64>,
    /// The elements.
    pub slab: Slab,
}

/// The chunks that a slab touches.
#[derive(Clone, Debug)]
pub(crate) struct Cover<'a> {
    slab: &'a Slab,
    chunk: &'a [u64],
    /// For each dimension, the first touched chunk and the number of touched chunks. These chunks are adjacent, or hold
    /// one element each if the stride is a chunk's length or more.
    spans: Vec<(u64, u64)>,
}

/// The part of one chunk that a slab takes, in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The first element taken, counted from the chunk's first.
    pub(crate) in_chunk: u64,
    /// The step within the chunk; 1 for a single element.
    pub(crate) stride: u64,
    /// The position of the first element in the slab.
    pub(crate) in_slab: u64,
    /// The number of elements, at least 1.
    pub(crate) len: u64,
}

impl Cover<'_> {
    /// The number of touched chunks; `None` beyond 64 bits.
    pub(crate) fn chunks(&self) -> Option<u64> {
        product(self.spans.iter().map(|&(_, count)| count))
    }

    /// Computes the coordinates of touched chunk `number` in row-major order, and the part of it that the slab takes.
    pub(crate) fn part(&self, number: u64, index: &mut Vec<u64>, segments: &mut Vec<Segment>) {
        let rank = self.spans.len();
        index.clear();
        index.resize(rank, 0);
        segments.clear();
        segments.resize(rank, Segment { in_chunk: 0, stride: 1, in_slab: 0, len: 1 });
        let mut rest = number;
        for dimension in (0..rank).rev() {
            let count = self.spans[dimension].1;
            (index[dimension], segments[dimension]) = self.segment(dimension, rest % count);
            rest /= count;
        }
    }

    /// Returns the coordinate of the `nth` touched chunk of a dimension, and the part that is taken of it.
    fn segment(&self, dimension: usize, nth: u64) -> (u64, Segment) {
        let (start, stride) = (self.slab.start[dimension], self.slab.stride[dimension]);
        let chunk = self.chunk[dimension];
        if stride >= chunk {
            let at = start + nth * stride;
            return (at / chunk, Segment { in_chunk: at % chunk, stride: 1, in_slab: nth, len: 1 });
        }
        let index = self.spans[dimension].0 + nth;
        let low = index * chunk;
        // A chunk at the very end of 64 bits is cut.
        let high = low.saturating_add(chunk - 1);
        let first = low.saturating_sub(start).div_ceil(stride);
        let last = ((high - start) / stride).min(self.slab.count[dimension] - 1);
        let len = last - first + 1;
        let in_chunk = start + first * stride - low;
        (index, Segment { in_chunk, stride: if len == 1 { 1 } else { stride }, in_slab: first, len })
    }

    /// Whether each chunk's part is one run of the slab, and the runs are in the order of the chunks: outer dimensions
    /// take one element of a chunk, one dimension has several chunks, inner dimensions have one chunk.
    pub(crate) fn is_sequential(&self) -> bool {
        let Some(last_many) = self.spans.iter().rposition(|&(_, count)| count > 1) else { return true };
        (0..last_many).all(|dimension| {
            let one_each = self.chunk[dimension] == 1 || self.slab.stride[dimension] >= self.chunk[dimension];
            one_each || self.slab.count[dimension] == 1
        })
    }
}

/// Returns the product of the factors; `None` beyond 64 bits, but 0 if any factor is 0.
#[must_use]
pub fn product(factors: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    if factors.clone().any(|factor| factor == 0) {
        return Some(0);
    }
    factors.into_iter().try_fold(1u64, u64::checked_mul)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn slabs() -> impl Strategy<Value = (Vec<u64>, Vec<u64>, Slab)> {
        let dimension = (1u64..12, 1u64..6, 1u64..5).prop_flat_map(|(len, chunk, stride)| {
            (0..len).prop_flat_map(move |start| {
                let most = (len - start).div_ceil(stride);
                (Just(len), Just(chunk), Just(start), 0..=most, Just(stride))
            })
        });
        prop::collection::vec(dimension, 0..4).prop_map(|dimensions| {
            let shape = dimensions.iter().map(|d| d.0).collect();
            let chunk = dimensions.iter().map(|d| d.1).collect();
            let slab = Slab::new(
                dimensions.iter().map(|d| d.2).collect::<Vec<_>>(),
                dimensions.iter().map(|d| d.3).collect::<Vec<_>>(),
            )
            .with_stride(dimensions.iter().map(|d| d.4).collect::<Vec<_>>());
            (shape, chunk, slab)
        })
    }

    proptest! {
        #[test]
        fn the_parts_of_the_chunks_cover_each_element_of_the_slab_once((shape, chunk, slab) in slabs()) {
            slab.check(&shape).unwrap();
            let cover = slab.cover(&chunk);
            let mut seen = HashSet::new();
            let (mut index, mut segments) = (Vec::new(), Vec::new());
            let mut next_run = 0;
            for number in 0..cover.chunks().unwrap() {
                cover.part(number, &mut index, &mut segments);
                prop_assert!(segments.iter().all(|segment| segment.len > 0));
                let elements: u64 = segments.iter().map(|s| s.len).product();
                let mut offsets = Vec::new();
                for element in 0..elements {
                    let mut rest = element;
                    let mut at = vec![0; shape.len()];
                    let mut offset = 0;
                    let mut in_slab = vec![0; shape.len()];
                    for d in (0..shape.len()).rev() {
                        let k = rest % segments[d].len;
                        rest /= segments[d].len;
                        prop_assert!(segments[d].in_chunk + k * segments[d].stride < chunk[d]);
                        at[d] = index[d] * chunk[d] + segments[d].in_chunk + k * segments[d].stride;
                        in_slab[d] = segments[d].in_slab + k;
                        prop_assert_eq!(at[d], slab.start[d] + in_slab[d] * slab.stride[d]);
                    }
                    for (count, at) in slab.count.iter().zip(&in_slab) { offset = offset * count + at; }
                    offsets.push(offset);
                    prop_assert!(seen.insert(at));
                }
                if cover.is_sequential() {
                    for offset in offsets { prop_assert_eq!(offset, next_run); next_run += 1; }
                }
            }
            prop_assert_eq!(seen.len() as u64, slab.elements().unwrap());
        }
    }

    #[test]
    fn slabs_beyond_the_array_are_refused() {
        let shape = [4, u64::MAX];
        Slab::whole(&shape).check(&shape).unwrap();
        Slab::new([4, 0], [0, 1]).check(&shape).unwrap();
        for (start, count, stride) in [
            ([0, 0], [5, 1], [1, 1]),
            ([5, 0], [0, 1], [1, 1]),
            ([0, 0], [2, 1], [4, 1]),
            ([0, 1], [1, u64::MAX], [1, 1]),
            ([0, 0], [1, u64::MAX], [1, u64::MAX]),
            ([0, 0], [1, 1], [0, 1]),
        ] {
            Slab::new(start, count).with_stride(stride).check(&shape).unwrap_err();
        }
        Slab::new([0], [1]).check(&shape).unwrap_err();
        assert_eq!(Slab::whole(&[u64::MAX, 2]).elements(), None);
        assert_eq!(Slab::whole(&[u64::MAX, 2, 0]).elements(), Some(0));
    }

    #[test]
    fn chunks_that_a_wide_stride_skips_are_not_touched() {
        let slab = Slab::new([1, u64::MAX - 2], [1 << 20, 1]).with_stride([1 << 40, u64::MAX]);
        slab.check(&[u64::MAX, u64::MAX]).unwrap();
        let cover = slab.cover(&[3, 10]);
        assert_eq!(cover.chunks(), Some(1 << 20));
        let (mut index, mut segments) = (Vec::new(), Vec::new());
        cover.part(5, &mut index, &mut segments);
        let at = 1 + 5 * (1u64 << 40);
        assert_eq!(index, [at / 3, (u64::MAX - 2) / 10]);
        assert_eq!(segments[0], Segment { in_chunk: at % 3, stride: 1, in_slab: 5, len: 1 });
        assert_eq!(segments[1], Segment { in_chunk: (u64::MAX - 2) % 10, stride: 1, in_slab: 0, len: 1 });
    }
}
