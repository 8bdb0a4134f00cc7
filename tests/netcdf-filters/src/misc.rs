//! The filter `test`, which looks at its parameters.

use std::ffi::{CStr, c_char, c_int};

use ncz_bad_plugins::abi::nczarr::error;
use ncz_bad_plugins::{Chunk, Filter, Json, Words};

use crate::json::{Config, put_json};

/// The HDF5 id.
pub const ID: u32 = 32768;
/// The keys of the parameters in JSON, in the order of netcdf-c's scripts.
const KEYS: [&str; 14] = [
    "testcase", "byte", "ubyte", "short", "ushort", "int", "uint", "float", "double_0", "double_1",
    "int64_0", "int64_1", "uint64_0", "uint64_1",
];
/// What netcdf-c's tests give after the first: one value of each type, those of 8 bytes as two words, low word first.
/// In this order they are in its scripts and in `nc_test4/test_filter_misc.c`.
const GIVEN: [u32; 13] = [
    (-17_i8) as u8 as u32,
    23,
    (-25_i16) as u16 as u32,
    27,
    77,
    93,
    789_f32.to_bits(),
    12_345_678.123_456_78_f64.to_bits() as u32,
    (12_345_678.123_456_78_f64.to_bits() >> 32) as u32,
    -i64::MAX as u32,
    (-i64::MAX >> 32) as u32,
    u32::MAX,
    u32::MAX,
];
/// The index of the double in [`GIVEN`], and of the integers of 8 bytes after it. netcdf-c's own filter, and
/// `nczarr_test/testfilter_misc.c`, have the integers first; either order is accepted.
const DOUBLE: usize = 7;
/// The length of what [`EXPANDED`] makes.
const LEN: usize = 8192;

/// The parameters must be those of netcdf-c's tests.
const PARAMS: u32 = 1;
/// The sizes of each chunk are printed.
const ODD_SIZE: u32 = 2;
/// A chunk gets longer: its length in 8 bytes, the chunk, and zeros.
const EXPANDED: u32 = 3;

/// The filter.
#[derive(Debug)]
pub struct Misc;

/// The codec.
#[derive(Debug)]
pub struct MiscCodec;

impl Filter for Misc {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let Some((&case, given)) = chunk.given().split_first() else { return 0 };
        match case {
            PARAMS if !came_through(given) => 0,
            EXPANDED if chunk.is_decoding() => match shrunk(chunk.input()).map(<[u8]>::to_vec) {
                Some(bytes) => chunk.put(&bytes),
                None => 0,
            },
            EXPANDED => match expanded(chunk.input()) {
                Some(bytes) => chunk.put(&bytes),
                None => 0,
            },
            _ => {
                if case == ODD_SIZE {
                    eprintln!(">>> nbytes = {} chunk size = {}", chunk.len, chunk.block_size);
                }
                let bytes = chunk.input().to_vec();
                chunk.put(&bytes)
            }
        }
    }
}

impl Json for MiscCodec {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        let read = || {
            let config = Config::parse(json, "test")?;
            if config.count() != KEYS.len() {
                return Err(error::EINVAL);
            }
            KEYS.iter().map(|key| config.word(key)).collect::<Result<Vec<u32>, c_int>>()
        };
        match read() {
            Ok(given) => words.put(&given),
            Err(code) => code,
        }
    }

    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        if words.len() != KEYS.len() {
            eprintln!("Incorrect no. of parameters: need=14 sent={}", words.len());
            return error::EINVAL;
        }
        put_json("test", KEYS.iter().map(|&key| key.to_owned()).zip(words), json)
    }
}

/// Whether the words after the first are those of netcdf-c's tests.
fn came_through(given: &[u32]) -> bool {
    if given.len() != GIVEN.len() {
        eprintln!(">>> Incorrect number of parameters: expected=14 sent={}", given.len() + 1);
        return false;
    }
    let mut double_last = GIVEN;
    double_last[DOUBLE..].rotate_left(2);
    if given == double_last {
        return true;
    }
    let mut others = KEYS[1..].iter().zip(given).zip(GIVEN).filter(|((_, given), wanted)| *given != wanted);
    let other = others.next();
    if let Some(((key, _), _)) = other {
        eprintln!(">>> mismatch: {key}");
    }
    other.is_none()
}

fn expanded(chunk: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = (chunk.len() as u64).to_ne_bytes().to_vec();
    bytes.extend(chunk);
    (bytes.len() <= LEN).then(|| {
        bytes.resize(LEN, 0);
        bytes
    })
}

fn shrunk(stored: &[u8]) -> Option<&[u8]> {
    let (len, rest) = stored.split_first_chunk()?;
    rest.get(..usize::try_from(u64::from_ne_bytes(*len)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_double_can_be_before_or_after_the_integers() {
        let [first @ .., double_0, double_1, int64_0, int64_1, uint64_0, uint64_1] = GIVEN;
        let last = [&first[..], &[int64_0, int64_1, uint64_0, uint64_1, double_0, double_1]].concat();
        assert!(came_through(&GIVEN) && came_through(&last));
        let between = [&first[..], &[int64_0, int64_1, double_0, double_1, uint64_0, uint64_1]].concat();
        assert!(!came_through(&between));
        assert!(!came_through(&last[1..]));
    }
}
