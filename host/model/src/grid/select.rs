//! Selections: the part of an array to read or write, as a hyperslab or as ranges.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{Slab, SlabError};

/// The part of an array to read or write.
///
/// A [`Slab`], `..` for the whole array, an array or slice of ranges with one for each dimension, or what
/// [`s!`](crate::s) makes.
///
/// ```
/// use ncz_model::{Select, Slab, s};
///
/// let shape = [100, 20, 30];
/// assert_eq!(s![10..20, .., 5].select(&shape)?.slab, Slab::new([10, 0, 5], [10, 20, 1]));
/// assert_eq!([10..20, 0..20, 5..6].select(&shape)?.slab, Slab::new([10, 0, 5], [10, 20, 1]));
/// assert_eq!((..).select(&shape)?.slab, Slab::whole(&shape));
/// // A single index removes its dimension from the result.
/// assert_eq!(s![10..20, .., 5].select(&shape)?.shape, [10, 20]);
/// # Ok::<(), ncz_model::SlabError>(())
/// ```
pub trait Select {
    /// The selection in an array of this shape.
    ///
    /// # Errors
    /// The selection has another number of dimensions than the array. Bounds are checked later, when data are read.
    fn select(&self, shape: &[u64]) -> Result<Selected, SlabError>;
}

/// A selection in an array of a known shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The elements.
    pub slab: Slab,
    /// The shape of the result: that of the slab without the dimensions of single indices.
    pub shape: Vec<u64>,
}

/// The selected indices of one dimension; see [`s!`](crate::s).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisRange {
    start: Index,
    /// The first index beyond the range; `None` for the end of the dimension.
    end: Option<Index>,
    step: u64,
    is_single: bool,
}

/// An index from the start of a dimension, or from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    FromStart(u64),
    FromEnd(u64),
}

/// Selects a part of an array: one range or index for each dimension, separated by commas.
///
/// - `2..5`, `2..`, `..5`, `..` and `2..=4` select ranges; `2..10; 3` every third index of one.
/// - A single index, such as `0`, selects it and removes the dimension from the result.
/// - A negative index counts from the end of the dimension, as in Python: `-1` is the last one.
///
/// ```
/// use ncz_model::{Select, Slab, s};
///
/// let selected = s![0, -10.., ..6; 2].select(&[5, 100, 6])?;
/// assert_eq!(selected.slab, Slab::new([0, 90, 0], [1, 10, 3]).with_stride([1, 1, 2]));
/// assert_eq!(selected.shape, [10, 3]);
/// # Ok::<(), ncz_model::SlabError>(())
/// ```
#[macro_export]
macro_rules! s {
    ($($range:expr $(; $step:expr)?),* $(,)?) => {
        [$($crate::AxisRange::from($range)$(.step_by($step))?),*]
    };
}

impl AxisRange {
    /// Every `step`-th index of the range.
    #[must_use]
    pub fn step_by(self, step: u64) -> Self {
        Self { step, ..self }
    }

    fn new(start: Index, end: Option<Index>) -> Self {
        Self { start, end, step: 1, is_single: false }
    }

    fn single(index: Index) -> Self {
        Self { is_single: true, ..Self::new(index, None) }
    }

    /// Start and count in a dimension of this length.
    fn resolve(self, len: u64) -> (u64, u64) {
        let start = self.start.resolve(len);
        let count = match self.end {
            _ if self.is_single => 1,
            None => len.saturating_sub(start),
            Some(end) => end.resolve(len).saturating_sub(start),
        };
        (start, count.div_ceil(self.step.max(1)))
    }
}

impl Index {
    /// The index from the start. One before the start becomes one beyond the end, which bounds checks refuse.
    fn resolve(self, len: u64) -> u64 {
        match self {
            Self::FromStart(index) => index,
            Self::FromEnd(index) => len.checked_sub(index).unwrap_or(u64::MAX),
        }
    }
}

impl From<u64> for Index {
    fn from(index: u64) -> Self {
        Self::FromStart(index)
    }
}

impl From<usize> for Index {
    fn from(index: usize) -> Self {
        Self::FromStart(index as u64)
    }
}

impl From<i32> for Index {
    fn from(index: i32) -> Self {
        i64::from(index).into()
    }
}

impl From<i64> for Index {
    fn from(index: i64) -> Self {
        if index < 0 { Self::FromEnd(index.unsigned_abs()) } else { Self::FromStart(index.unsigned_abs()) }
    }
}

/// Ranges of an integer type.
macro_rules! ranges {
    ($($integer:ty),*) => {$(
        impl From<$integer> for AxisRange {
            fn from(index: $integer) -> Self {
                Self::single(index.into())
            }
        }

        impl From<Range<$integer>> for AxisRange {
            fn from(range: Range<$integer>) -> Self {
                Self::new(range.start.into(), Some(range.end.into()))
            }
        }

        impl From<RangeInclusive<$integer>> for AxisRange {
            fn from(range: RangeInclusive<$integer>) -> Self {
                Self::new((*range.start()).into(), Index::from(*range.end()).after())
            }
        }

        impl From<RangeFrom<$integer>> for AxisRange {
            fn from(range: RangeFrom<$integer>) -> Self {
                Self::new(range.start.into(), None)
            }
        }

        impl From<RangeTo<$integer>> for AxisRange {
            fn from(range: RangeTo<$integer>) -> Self {
                Self::new(Index::FromStart(0), Some(range.end.into()))
            }
        }

        impl From<RangeToInclusive<$integer>> for AxisRange {
            fn from(range: RangeToInclusive<$integer>) -> Self {
                Self::new(Index::FromStart(0), Index::from(range.end).after())
            }
        }
    )*};
}

ranges!(i32, i64, u64, usize);

impl Index {
    /// The next index; `None` after the last index of a dimension.
    fn after(self) -> Option<Self> {
        match self {
            Self::FromStart(index) => index.checked_add(1).map(Self::FromStart),
            Self::FromEnd(index) => index.checked_sub(1).filter(|index| *index > 0).map(Self::FromEnd),
        }
    }
}

impl From<RangeFull> for AxisRange {
    fn from(_: RangeFull) -> Self {
        Self::new(Index::FromStart(0), None)
    }
}

impl Select for Slab {
    fn select(&self, _: &[u64]) -> Result<Selected, SlabError> {
        Ok(Selected { slab: self.clone(), shape: self.count().to_vec() })
    }
}

impl Select for RangeFull {
    fn select(&self, shape: &[u64]) -> Result<Selected, SlabError> {
        Ok(Selected { slab: Slab::whole(shape), shape: shape.to_vec() })
    }
}

impl<R: Clone + Into<AxisRange>> Select for [R] {
    fn select(&self, shape: &[u64]) -> Result<Selected, SlabError> {
        if self.len() != shape.len() {
            return Err(SlabError::Rank { slab: self.len(), array: shape.len() });
        }
        let ranges: Vec<AxisRange> = self.iter().cloned().map(Into::into).collect();
        let (start, count): (Vec<u64>, Vec<u64>) =
            ranges.iter().zip(shape).map(|(range, len)| range.resolve(*len)).unzip();
        let kept = ranges.iter().zip(&count).filter(|(range, _)| !range.is_single);
        let shape = kept.map(|(_, count)| *count).collect();
        let stride: Vec<u64> = ranges.iter().map(|range| range.step).collect();
        Ok(Selected { slab: Slab::new(start, count).with_stride(stride), shape })
    }
}

impl<R: Clone + Into<AxisRange>, const N: usize> Select for [R; N] {
    fn select(&self, shape: &[u64]) -> Result<Selected, SlabError> {
        self.as_slice().select(shape)
    }
}

impl<R: Clone + Into<AxisRange>> Select for Vec<R> {
    fn select(&self, shape: &[u64]) -> Result<Selected, SlabError> {
        self.as_slice().select(shape)
    }
}

impl<S: Select + ?Sized> Select for &S {
    fn select(&self, shape: &[u64]) -> Result<Selected, SlabError> {
        (**self).select(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slab(select: impl Select, shape: &[u64]) -> Result<Slab, SlabError> {
        let slab = select.select(shape)?.slab;
        slab.check(shape)?;
        Ok(slab)
    }

    #[test]
    fn ranges_mean_what_they_mean_in_python() {
        let of = |range: AxisRange| slab([range], &[10]).map(|slab| (slab.start()[0], slab.count()[0]));
        for (range, wanted) in [
            (AxisRange::from(..), (0, 10)),
            (AxisRange::from(3..), (3, 7)),
            (AxisRange::from(..3), (0, 3)),
            (AxisRange::from(3..5), (3, 2)),
            (AxisRange::from(3..=5), (3, 3)),
            (AxisRange::from(..=5), (0, 6)),
            (AxisRange::from(-3..), (7, 3)),
            (AxisRange::from(-3..=-1), (7, 3)),
            (AxisRange::from(-3..-1), (7, 2)),
            (AxisRange::from(..-8), (0, 2)),
            (AxisRange::from(-1), (9, 1)),
            (AxisRange::from(4), (4, 1)),
            (AxisRange::from(2..9).step_by(3), (2, 3)),
            (AxisRange::from(5..5), (5, 0)),
        ] {
            assert_eq!(of(range), Ok(wanted), "{range:?}");
        }
        for range in
            [AxisRange::from(3..11), AxisRange::from(-11..), AxisRange::from(10), AxisRange::from(-11)]
        {
            assert!(matches!(of(range), Err(SlabError::Bounds { .. })), "{range:?}");
        }
        assert!(matches!(of(AxisRange::from(..).step_by(0)), Err(SlabError::Stride { dimension: 0 })));
    }

    #[test]
    fn integers_of_all_types_select_the_same() {
        let (start, end) = (2usize, 5u64);
        assert_eq!(slab(s![start..start + 3, 2..end, 0], &[9, 9, 9]), Ok(Slab::new([2, 2, 0], [3, 3, 1])));
        assert_eq!(slab(vec![2u64..5, 0..9], &[9, 9]), slab([2..5, 0..9], &[9, 9]));
        let empty: [AxisRange; 0] = s![];
        assert_eq!(slab(empty, &[]), Ok(Slab::new([], [])));
    }

    #[test]
    fn another_number_of_dimensions_is_refused() {
        assert_eq!(slab(s![0, ..], &[3]), Err(SlabError::Rank { slab: 2, array: 1 }));
    }
}
