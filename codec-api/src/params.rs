//! Parameter words, which HDF5 and netcdf-c call `cd_values`.
//!
//! A filter's parameters are unsigned 32-bit words. Wider values take two words, **low word first**
//! on every machine (netCDF filter documentation, "Filter Specification Syntax": the little-endian
//! layout; a big-endian machine swaps before it stores). HDF5 itself converts each word between
//! machines, so it is enough to put the low word first.

use crate::error::{CodecError, Result};

/// Splits a 64-bit word in two, low word first.
pub const fn u64_words(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Joins two words, low word first.
pub const fn words_u64(words: [u32; 2]) -> u64 {
    (words[0] as u64) | ((words[1] as u64) << 32)
}

/// Splits a signed 64-bit integer, low word first.
pub const fn i64_words(value: i64) -> [u32; 2] {
    u64_words(value as u64)
}

/// Joins two words to a signed 64-bit integer.
pub const fn words_i64(words: [u32; 2]) -> i64 {
    words_u64(words) as i64
}

/// Splits a double, low word first.
pub const fn f64_words(value: f64) -> [u32; 2] {
    u64_words(value.to_bits())
}

/// Joins two words to a double.
pub const fn words_f64(words: [u32; 2]) -> f64 {
    f64::from_bits(words_u64(words))
}

/// Returns the word at `index`, or `default` if the list is shorter.
pub fn word_or(words: &[u32], index: usize, default: u32) -> u32 {
    words.get(index).copied().unwrap_or(default)
}

/// Refuses a parameter list that is longer than `most` or shorter than `least`.
///
/// # Errors
/// The count is out of range; the message names `codec` and the counts.
pub fn check_count(codec: &str, words: &[u32], least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&words.len()) {
        return Ok(());
    }
    let expected = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    Err(CodecError::config("cd_values", format!("{codec} takes {expected} parameters, got {}", words.len())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a machine does according to the netCDF documentation: the value's bytes in memory order are
    /// "fixed" (big-endian only: reverse all eight, then each half), then taken as two words in the
    /// machine's own order.
    fn machine_words(value: u64, big_endian: bool) -> [u32; 2] {
        let mut memory = if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        if big_endian {
            memory.reverse();
            memory[..4].reverse();
            memory[4..].reverse();
        }
        let word = |bytes: &[u8]| {
            let bytes: [u8; 4] = bytes.try_into().unwrap();
            if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        [word(&memory[..4]), word(&memory[4..])]
    }

    /// The inverse on either machine: halves first, then all eight.
    fn machine_value(words: [u32; 2], big_endian: bool) -> u64 {
        let mut memory = [0; 8];
        for (bytes, word) in memory.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&if big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        if big_endian {
            memory[..4].reverse();
            memory[4..].reverse();
            memory.reverse();
            u64::from_be_bytes(memory)
        } else {
            u64::from_le_bytes(memory)
        }
    }

    #[test]
    fn the_documented_vector_of_the_test_filter_is_met() {
        // The reference vector of netcdf-c's test filter: a double, an int64 and a uint64 in two words each.
        assert_eq!(f64_words(12345678.12345678), [3287505826, 1097305129]);
        assert_eq!(i64_words(-9223372036854775807), [1, 2147483648]);
        assert_eq!(u64_words(18446744073709551615), [4294967295, 4294967295]);
        assert_eq!(f64_words("3.14".parse().unwrap()), [1374389535, 1074339512]);
    }

    proptest! {
        #[test]
        fn both_kinds_of_machine_write_and_read_our_words(value: u64) {
            for big_endian in [false, true] {
                prop_assert_eq!(machine_words(value, big_endian), u64_words(value));
                prop_assert_eq!(machine_value(u64_words(value), big_endian), value);
            }
            prop_assert_eq!(words_u64(u64_words(value)), value);
        }
    }
}
