//! Changes to bytes of which nothing is known, and to numbers that may be lengths.

use fastrand::Rng;

/// Changes bytes in one way: cuts, flips, repeats, takes from `other`, or writes a number that could be a length.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    if bytes.is_empty() {
        let len = rng.usize(1..40);
        bytes.extend(std::iter::repeat_with(|| rng.u8(..)).take(len));
        return;
    }
    let at = place(bytes.len(), rng);
    let longest = 1 << rng.u32(..10);
    let end = at + rng.usize(..=(bytes.len() - at).min(longest));
    match rng.u32(..12) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 | 3 => bytes[at] ^= 1 << rng.u32(..8),
        4 => bytes[at] = rng.u8(..),
        5 => bytes[at..end].fill(if rng.bool() { 0 } else { 0xFF }),
        6 => {
            let block = bytes[at..end].to_vec();
            bytes.splice(at..at, block);
        }
        7 if !other.is_empty() => {
            let from = rng.usize(..other.len());
            let to = from + rng.usize(..=(other.len() - from).min(4096));
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        8 => {
            let tail = rng.usize(1..64);
            bytes.extend(std::iter::repeat_with(|| rng.u8(..)).take(tail));
        }
        _ => number(bytes, at, rng),
    }
}

/// Somewhere; headers and directories are at the ends.
fn place(len: usize, rng: &mut Rng) -> usize {
    match rng.u32(..4) {
        0 => rng.usize(..len.min(40)),
        1 => len - 1 - rng.usize(..len.min(80)),
        _ => rng.usize(..len),
    }
}

/// Writes a number of 2, 4 or 8 bytes in either order: one that is near a limit, or near the one that is there.
fn number(bytes: &mut [u8], at: usize, rng: &mut Rng) {
    let len = bytes.len() as u64;
    let width = 1 << rng.usize(1..4);
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let big = rng.bool();
    let mut word = [0; 8];
    word[..width].copy_from_slice(field);
    if big {
        word[..width].reverse();
    }
    let old = u64::from_le_bytes(word);
    let near = [old, old, len, 0, 1 << 7, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX];
    let new = near[rng.usize(..near.len())].wrapping_add(rng.u64(..9)).wrapping_sub(4);
    let mut word = new.to_le_bytes();
    if big {
        word[..width].reverse();
    }
    field.copy_from_slice(&word[..width]);
}
