//! What a chunk holds beyond the end of its array.

/// The positions of the elements of a chunk, and how many of them are in the array.
pub(super) struct Layout {
    /// Lengths of a chunk from the dimension that changes slowest to the one that changes fastest.
    shape: Vec<usize>,
    /// One element of fill as stored.
    fill: Vec<u8>,
    axes: Vec<usize>,
}

impl Layout {
    /// The layout of chunks of `shape` whose dimensions lie in the order of `axes`.
    pub(super) fn new(shape: &[u64], axes: Vec<usize>, fill: Vec<u8>) -> Self {
        // A decoded chunk has at most 4 GiB, so that its lengths fit.
        let shape = axes.iter().filter_map(|&d| shape.get(d)).map(|&len| len as usize).collect();
        Self { shape, fill, axes }
    }

    /// Whether all elements of `chunk` beyond the first `count` in each dimension are fill.
    pub(super) fn is_filled(&self, chunk: &[u8], count: &[u64]) -> bool {
        let count: Vec<usize> =
            self.axes.iter().filter_map(|&d| count.get(d)).map(|&len| len as usize).collect();
        let (Some((&row, outer)), Some((&inside, outer_count))) =
            (self.shape.split_last(), count.split_last())
        else {
            return true;
        };
        if self.fill.is_empty() || row == 0 || count == self.shape {
            return true;
        }
        let mut at = vec![0usize; outer.len()];
        for bytes in chunk.chunks_exact(row * self.fill.len()) {
            let is_inside = at.iter().zip(outer_count).all(|(at, count)| at < count);
            let padding = if is_inside { bytes.get(inside * self.fill.len()..) } else { Some(bytes) };
            if !padding.is_none_or(|padding| self.is_fill(padding)) {
                return false;
            }
            for (at, len) in at.iter_mut().zip(outer).rev() {
                *at += 1;
                if *at < *len {
                    break;
                }
                *at = 0;
            }
        }
        true
    }

    fn is_fill(&self, bytes: &[u8]) -> bool {
        match self.fill.iter().all(|&byte| byte == 0) {
            true => bytes.iter().all(|&byte| byte == 0),
            false => bytes.chunks_exact(self.fill.len()).all(|element| element == self.fill),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_beyond_the_array_is_looked_at() {
        // 2 x 3 of two bytes, of which 1 x 2 belong to the array.
        let sound = [9, 9, 8, 8, 1, 2, 1, 2, 1, 2, 1, 2];
        let layout = Layout::new(&[2, 3], vec![0, 1], vec![1, 2]);
        assert!(layout.is_filled(&sound, &[1, 2]));
        for at in 4..12 {
            let mut wrong = sound;
            wrong[at] ^= 1;
            assert!(!layout.is_filled(&wrong, &[1, 2]), "{at}");
        }
        assert!(layout.is_filled(&[7; 12], &[2, 3]));
        // The same in order F: the first dimension changes fastest.
        let fortran = [9, 9, 1, 2, 8, 8, 1, 2, 1, 2, 1, 2];
        let layout = Layout::new(&[2, 3], vec![1, 0], vec![1, 2]);
        assert!(layout.is_filled(&fortran, &[1, 2]));
        assert!(!layout.is_filled(&sound, &[1, 2]));
        assert!(Layout::new(&[], Vec::new(), vec![0]).is_filled(&[5], &[]));
    }
}
