//! Reads the memory demands of a chunk of a stream before Pco allocates memory for it (Pco's format.md, "Chunk
//! metadata").

use ncz_codec::{CodecError, Result};

use crate::numbers::Numbers;

/// The type byte and the count before the metadata of a chunk.
const PREAMBLE: usize = 4;
/// Encoders look back this far, however few numbers there are.
const WINDOW_LOG: u32 = 16;
/// The first major version of the format whose differences have variants.
const VARIANTS: u8 = 3;
const DICTIONARY: u32 = 4;
const LOOKBACK: u32 = 2;

/// Refuses a chunk at the start of `input` whose dictionary is missing, or whose window is far longer than its
/// `count` numbers. Input that is too short or unknown is left to Pco.
pub(crate) fn check(input: &[u8], major: u8, numbers: Numbers, count: usize) -> Result<()> {
    let Some(metadata) = input.get(PREAMBLE..) else { return Ok(()) };
    let size = numbers.size();
    // The offset of the differences in bits.
    let delta = match bits(metadata, 0, 4) {
        Some(0) => 4,
        Some(1 | 2) => 4 + size * 8,
        Some(3) => 4 + 8,
        Some(DICTIONARY) => {
            let Some(entries) = bits(metadata, 4, 25) else { return Ok(()) };
            let end = 4 + entries as usize * size;
            if end > metadata.len() {
                return Err(CodecError::truncated(format!("a dictionary of {entries} numbers is cut")));
            }
            end * 8
        }
        _ => return Ok(()),
    };
    if major < VARIANTS || bits(metadata, delta, 4) != Some(LOOKBACK) {
        return Ok(());
    }
    match bits(metadata, delta + 4, 5).map(|log| log + 1) {
        Some(log) if log > WINDOW_LOG && 1_usize.checked_shl(log).is_none_or(|window| window / 2 > count) => {
            Err(CodecError::corrupt(format!(
                "a chunk of {count} numbers requires a window of 2^{log} numbers"
            )))
        }
        _ => Ok(()),
    }
}

/// `count` bits, up to 25, from the bit `at`; the lowest bit of a byte comes first.
fn bits(bytes: &[u8], at: usize, count: u32) -> Option<u32> {
    let last = (at + count as usize - 1) / 8;
    let bytes = bytes.get(at / 8..=last)?;
    let word = bytes.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    Some((word >> (at % 8)) as u32 & ((1 << count) - 1))
}
