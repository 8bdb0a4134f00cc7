//! Arrays in blocks of several dimensions (c-blosc2, README_B2ND_METALAYER.rst): the position of a block's rows in an
//! array.

/// The most dimensions (`B2ND_MAX_DIM` since C-Blosc2 2.17; 8 before).
pub(crate) const RANK_MAX: usize = 16;

/// An array that is cut into chunks, and these into blocks. Blocks and chunks at the far edges are filled up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The bytes of an element.
    pub(crate) item: usize,
    /// The lengths of the array.
    pub(crate) shape: Vec<usize>,
    /// Those of a chunk; none is 0 or more than that of the array.
    pub(crate) chunk: Vec<usize>,
    /// Those of a block; none is 0 or more than that of the chunk.
    pub(crate) block: Vec<usize>,
}

impl Grid {
    /// The bytes of the array.
    pub(crate) fn len(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.item, |product, &len| product.checked_mul(len))
    }

    /// The bytes of a block.
    pub(crate) fn block_len(&self) -> Option<usize> {
        self.block.iter().try_fold(self.item, |product, &len| product.checked_mul(len))
    }

    /// The bytes of a chunk that is filled up to whole blocks.
    pub(crate) fn chunk_len(&self) -> Option<usize> {
        self.chunk.iter().zip(&self.block).try_fold(self.item, |product, (&len, &block)| {
            product.checked_mul(len.checked_next_multiple_of(block)?)
        })
    }

    /// The number of chunks.
    pub(crate) fn chunks(&self) -> Option<usize> {
        self.shape
            .iter()
            .zip(&self.chunk)
            .try_fold(1_usize, |product, (&len, &chunk)| product.checked_mul(len.div_ceil(chunk)))
    }

    /// The blocks of a chunk that share something with the array, in order; one of them is the first.
    pub(crate) fn blocks_within(&self, chunk: usize) -> impl Iterator<Item = usize> + use<> {
        let mut chunk = chunk;
        // Along each dimension, the innermost first: how many blocks are within the array, and how many there are.
        let mut lengths = Vec::with_capacity(self.shape.len());
        for ((&len, &each), &block) in self.shape.iter().zip(&self.chunk).zip(&self.block).rev() {
            let chunks = len.div_ceil(each);
            let within = each.min(len - chunk % chunks * each);
            chunk /= chunks;
            lengths.push((within.div_ceil(block), each.div_ceil(block)));
        }
        let count = lengths.iter().map(|(within, _)| within).product();
        (0..count).map(move |mut number: usize| {
            let (mut block, mut step) = (0, 1);
            for (within, all) in &lengths {
                block += number % within * step;
                number /= within;
                step *= all;
            }
            block
        })
    }

    /// Copies the part of the array that is in a block, and sets the rest of the block to zero.
    pub(crate) fn gather(&self, chunk: usize, block: usize, array: &[u8], to: &mut [u8]) {
        to.fill(0);
        self.rows(chunk, block, |in_array, in_block, len| {
            to[in_block..in_block + len].copy_from_slice(&array[in_array..in_array + len]);
        });
    }

    /// Copies a block to its position in the array.
    pub(crate) fn scatter(&self, chunk: usize, block: usize, from: &[u8], array: &mut [u8]) {
        self.rows(chunk, block, |in_array, in_block, len| {
            array[in_array..in_array + len].copy_from_slice(&from[in_block..in_block + len]);
        });
    }

    /// Calls `row` for each run of bytes that a block shares with the array: its start in the array, its start in the
    /// block, and its length.
    fn rows(&self, chunk: usize, block: usize, mut row: impl FnMut(usize, usize, usize)) {
        let rank = self.shape.len();
        assert!(rank <= RANK_MAX);
        // The number of the block's elements that are within the array along each dimension, and one step in bytes.
        let (mut count, mut array_step, mut block_step) = ([1; RANK_MAX], [0; RANK_MAX], [0; RANK_MAX]);
        let (mut chunk, mut block) = (chunk, block);
        let (mut in_array, mut in_block) = (0, 0);
        let (mut array_size, mut block_size) = (self.item, self.item);
        for d in (0..rank).rev() {
            let chunks = self.shape[d].div_ceil(self.chunk[d]);
            let blocks = self.chunk[d].div_ceil(self.block[d]);
            let in_chunk = block % blocks * self.block[d];
            let start = chunk % chunks * self.chunk[d] + in_chunk;
            // A chunk at the edge has less of the array than it has room for.
            count[d] = self.block[d].min(self.chunk[d] - in_chunk).min(self.shape[d].saturating_sub(start));
            chunk /= chunks;
            block /= blocks;
            in_array += start * array_size;
            (array_step[d], block_step[d]) = (array_size, block_size);
            array_size *= self.shape[d];
            block_size *= self.block[d];
        }
        if count.contains(&0) {
            return;
        }
        // A dimension that the block takes whole is one with the next outer one.
        let mut inner = rank;
        let mut len = self.item;
        while inner > 0 {
            inner -= 1;
            len *= count[inner];
            if count[inner] != self.shape[inner] || count[inner] != self.block[inner] {
                break;
            }
        }
        let mut at = [0; RANK_MAX];
        loop {
            row(in_array, in_block, len);
            // Like an odometer: the innermost index that is not at its end is incremented, those inside it are reset.
            let mut d = inner;
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                at[d] += 1;
                in_array += array_step[d];
                in_block += block_step[d];
                if at[d] < count[d] {
                    break;
                }
                in_array -= at[d] * array_step[d];
                in_block -= at[d] * block_step[d];
                at[d] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_blocks_within_an_array_are_those_that_share_rows_with_it(
            lengths in prop::collection::vec((1..8_usize, 1..8_usize, 1..8_usize), 0..4),
        ) {
            let mut grid = Grid { item: 1, shape: Vec::new(), chunk: Vec::new(), block: Vec::new() };
            for (a, b, c) in lengths {
                let mut sorted = [a, b, c];
                sorted.sort_unstable();
                grid.block.push(sorted[0]);
                grid.chunk.push(sorted[1]);
                grid.shape.push(sorted[2]);
            }
            let blocks: usize = grid.chunk.iter().zip(&grid.block).map(|(c, b)| c.div_ceil(*b)).product();
            for chunk in 0..grid.chunks().unwrap_or(0) {
                let shares = |&block: &usize| {
                    let mut rows = 0;
                    grid.rows(chunk, block, |_, _, _| rows += 1);
                    rows > 0
                };
                let sharing: Vec<usize> = (0..blocks).filter(shares).collect();
                prop_assert_eq!(grid.blocks_within(chunk).collect::<Vec<_>>(), sharing);
            }
        }
    }
}
