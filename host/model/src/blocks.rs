//! Splits an array into pieces that fit in memory.

use crate::grid::Slab;

/// The boxes of an array in row-major order. Each is a run of elements within a number of bytes, or one element.
#[derive(Clone, Debug)]
pub struct Blocks {
    shape: Vec<u64>,
    /// The dimension that is split: in a box, inner dimensions are whole and outer dimensions have length one.
    cut: usize,
    step: u64,
    next: Option<Vec<u64>>,
}

impl Blocks {
    /// Splits an array of `shape`, whose elements take `element` bytes, into boxes within `budget` bytes each. Boxes
    /// consist of whole chunks if possible.
    #[must_use]
    pub fn new(shape: &[u64], chunk: &[u64], element: u64, budget: u64) -> Self {
        let mut cut = shape.len().saturating_sub(1);
        // Bytes of one index of the split dimension.
        let mut inner = element.max(1);
        while cut > 0 && inner.saturating_mul(shape[cut]) <= budget {
            inner *= shape[cut];
            cut -= 1;
        }
        let mut step = (budget / inner.max(1)).max(1);
        if let (Some(&len), Some(&chunk)) = (shape.get(cut), chunk.get(cut)) {
            step = step.min(len.max(1));
            if step < len && step > chunk {
                // Whole chunks, so that no chunk is decoded twice.
                step -= step % chunk;
            }
        }
        let empty = shape.contains(&0);
        Self { cut, step, next: (!empty).then(|| vec![0; shape.len()]), shape: shape.to_vec() }
    }
}

impl Iterator for Blocks {
    type Item = Slab;

    fn next(&mut self) -> Option<Slab> {
        let start = self.next.take()?;
        let mut count = vec![1; start.len()];
        count.iter_mut().zip(&self.shape).skip(self.cut).for_each(|(count, len)| *count = *len);
        if let Some(len) = count.get_mut(self.cut) {
            *len = self.step.min(self.shape[self.cut] - start[self.cut]);
        }
        let mut after = start.clone();
        for dimension in (0..=self.cut.min(start.len().saturating_sub(1))).rev() {
            let Some(at) = after.get_mut(dimension) else { break };
            *at += if dimension == self.cut { self.step } else { 1 };
            if *at < self.shape[dimension] {
                self.next = Some(after);
                break;
            }
            *at = 0;
        }
        Some(Slab::new(start, count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUDGET: u64 = 8 << 20;

    proptest! {
        #[test]
        fn blocks_cover_every_element_once_and_in_order(
            lengths in prop::collection::vec((1u64..9, 1u64..5), 0..4),
            element in prop::sample::select(vec![1u64, 8, BUDGET / 30, BUDGET / 3, BUDGET, BUDGET * 2]),
        ) {
            let shape: Vec<u64> = lengths.iter().map(|(len, _)| *len).collect();
            let chunk: Vec<u64> = lengths.iter().map(|(_, chunk)| *chunk).collect();
            let mut next = 0u64;
            for slab in Blocks::new(&shape, &chunk, element, BUDGET) {
                let count: u64 = slab.count().iter().product();
                prop_assert!(count == 1 || count * element <= BUDGET, "{slab:?}");
                let first = slab.start().iter().zip(&shape).fold(0, |at, (i, len)| at * len + i);
                prop_assert_eq!(first, next, "{:?}", slab);
                let last = slab.start().iter().zip(slab.count()).zip(&shape)
                    .fold(0, |at, ((i, n), len)| at * len + i + n - 1);
                prop_assert_eq!(last + 1, first + count, "not contiguous: {:?}", slab);
                next += count;
            }
            prop_assert_eq!(next, shape.iter().product::<u64>());
        }
    }

    #[test]
    fn an_array_without_elements_has_no_blocks() {
        assert_eq!(Blocks::new(&[3, 0], &[1, 1], 4, BUDGET).count(), 0);
        assert_eq!(Blocks::new(&[], &[], 4, BUDGET).count(), 1);
    }
}
