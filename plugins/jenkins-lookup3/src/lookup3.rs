//! The hash lookup3 of Bob Jenkins over bytes, as HDF5 has it (`H5_checksum_lookup3`): the same on every machine.

/// The number of bytes that are mixed at a time.
const BLOCK: usize = 12;
/// The number that lookup3 starts with.
const START: u32 = 0xdead_beef;

/// The hash of `data`.
pub(crate) fn hash(data: &[u8], initval: u32) -> u32 {
    // The length counts modulo 2^32.
    let mut state = [START.wrapping_add(data.len() as u32).wrapping_add(initval); 3];
    // The last block, even a whole one, is finished differently.
    let whole = data.len().saturating_sub(1) / BLOCK * BLOCK;
    let (blocks, rest) = data.split_at(whole);
    for block in blocks.as_chunks::<BLOCK>().0 {
        add(&mut state, block);
        mix(&mut state);
    }
    if !rest.is_empty() {
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        add(&mut state, &last);
        finish(&mut state);
    }
    state[2]
}

fn add(state: &mut [u32; 3], block: &[u8; BLOCK]) {
    for (word, bytes) in state.iter_mut().zip(block.as_chunks().0) {
        *word = word.wrapping_add(u32::from_le_bytes(*bytes));
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    for turn in [4, 6, 8, 16, 19, 4] {
        *a = a.wrapping_sub(*c) ^ c.rotate_left(turn);
        *c = c.wrapping_add(*b);
        (*a, *b, *c) = (*b, *c, *a);
    }
}

fn finish([a, b, c]: &mut [u32; 3]) {
    for turn in [14, 11, 25, 16, 4, 14, 24] {
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(turn));
        (*a, *b, *c) = (*b, *c, *a);
    }
    (*a, *b, *c) = (*c, *a, *b);
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn vectors_of_the_author_are_met() {
        let text = b"Four score and seven years ago";
        assert_eq!(hash(b"", 0), 0xdead_beef);
        assert_eq!(hash(text, 0), 0x1777_0551);
        assert_eq!(hash(text, 1), 0xcd62_8161);
    }
}
