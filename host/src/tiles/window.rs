//! The part of an array that is copied, and its position in the copy.

use ncz_model::Slab;

/// Indices of a dimension: `start`, `start + step`, ..., `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indices {
    /// The first one.
    pub start: u64,
    /// How many there are.
    pub count: u64,
    /// From one to the next; at least 1.
    pub step: u64,
}

impl Indices {
    /// All indices of a dimension of this length.
    #[must_use]
    pub fn all(len: u64) -> Self {
        Self { start: 0, count: len, step: 1 }
    }

    /// How many of them an array has that is this long.
    pub(crate) fn within(self, len: u64) -> u64 {
        match len.checked_sub(self.start) {
            None | Some(0) => 0,
            Some(rest) => rest.div_ceil(self.step).min(self.count),
        }
    }
}

/// A hyperslab of the source, and the box of the same shape in the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    axes: Vec<Axis>,
}

/// One dimension: `source.count` indices of the original go to those from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    source: Indices,
    offset: u64,
}

impl Window {
    /// These indices of the original become the first ones of the copy.
    pub(crate) fn new(indices: impl IntoIterator<Item = Indices>) -> Self {
        Self { axes: indices.into_iter().map(|source| Axis { source, offset: 0 }).collect() }
    }

    /// All of an array, at the same position in the copy.
    pub(crate) fn whole(shape: &[u64]) -> Self {
        Self::new(shape.iter().map(|&len| Indices::all(len)))
    }

    /// The same part, after the first `offset` indices of the copy along one dimension.
    pub(crate) fn after(mut self, dimension: usize, offset: u64) -> Self {
        if let Some(axis) = self.axes.get_mut(dimension) {
            axis.offset = offset;
        }
        self
    }

    /// The part of it in the box of the copy with this start and shape, which lies within it.
    pub(crate) fn part(&self, start: &[u64], shape: &[u64]) -> Self {
        let axes = self.axes.iter().zip(start.iter().zip(shape));
        let part = |(axis, (&offset, &count)): (&Axis, (&u64, &u64))| {
            let Axis { source: Indices { start, step, .. }, offset: first } = *axis;
            let start = start.saturating_add(offset.saturating_sub(first).saturating_mul(step));
            Axis { source: Indices { start, count, step }, offset }
        };
        Self { axes: axes.map(part).collect() }
    }

    /// Whether every index of the original has the same one in the copy.
    pub(crate) fn is_straight(&self) -> bool {
        self.axes.iter().all(|axis| axis.source.start == axis.offset && axis.source.step == 1)
    }

    /// Whether it begins at the start of the copy.
    pub(crate) fn is_at_start(&self) -> bool {
        self.axes.iter().all(|axis| axis.offset == 0)
    }

    /// Its start in the copy.
    pub(crate) fn offset(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.offset).collect()
    }

    /// Its end in the copy.
    pub(crate) fn end(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.offset.saturating_add(axis.source.count)).collect()
    }

    /// The indices of the original along a dimension.
    pub(crate) fn indices(&self, dimension: usize) -> Indices {
        self.axes[dimension].source
    }

    /// The part of it in a box of the copy: in the original, and in the copy.
    pub(crate) fn cut(&self, start: &[u64], lens: &[u64]) -> (Slab, Slab) {
        let (mut from, mut to, mut count) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, (start, len)) in self.axes.iter().zip(start.iter().zip(lens)) {
            let low = (*start).max(axis.offset);
            let high = start.saturating_add(*len).min(axis.offset.saturating_add(axis.source.count));
            to.push(low);
            from.push(axis.source.start + (low - axis.offset) * axis.source.step);
            count.push(high.saturating_sub(low));
        }
        let steps: Vec<u64> = self.axes.iter().map(|axis| axis.source.step).collect();
        (Slab::new(from, count.as_slice()).with_stride(steps), Slab::new(to, count))
    }

    /// The first and the last index in the copy of what lies between two indices of the original; `None`: it is not
    /// copied.
    pub(crate) fn through(&self, dimension: usize, low: u64, high: u64) -> Option<(u64, u64)> {
        let Axis { source: Indices { start, count, step }, offset } = self.axes[dimension];
        let first = low.saturating_sub(start).div_ceil(step);
        let last = (high.checked_sub(start)? / step).min(count.checked_sub(1)?);
        (first <= last).then(|| (offset + first, offset + last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_of_the_copy_is_cut_from_the_original() {
        let window = Window::new([Indices { start: 5, count: 4, step: 3 }, Indices::all(7)]).after(0, 10);
        let (from, to) = window.cut(&[12, 0], &[8, 4]);
        assert_eq!((to.start(), to.count()), (&[12, 0][..], &[2, 4][..]));
        assert_eq!((from.start(), from.count(), from.stride()), (&[11, 0][..], &[2, 4][..], &[3, 1][..]));
        assert_eq!(window.end(), [14, 7]);
        assert!(!window.is_straight() && Window::whole(&[3]).is_straight());
    }

    #[test]
    fn what_a_chunk_of_the_original_becomes_is_found() {
        let window = Window::new([Indices { start: 5, count: 4, step: 3 }]).after(0, 10);
        // 5, 8, 11, 14 go to 10, 11, 12, 13.
        for ((low, high), wanted) in [
            ((0, 4), None),
            ((0, 5), Some((10, 10))),
            ((6, 7), None),
            ((6, 11), Some((11, 12))),
            ((12, 99), Some((13, 13))),
            ((15, 99), None),
        ] {
            assert_eq!(window.through(0, low, high), wanted, "{low}..={high}");
        }
    }
}
