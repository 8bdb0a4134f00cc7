//! The filters `noop` and `noop1`, which print what they are called with.

use std::ffi::{CStr, c_char, c_int};
use std::io::{self, Write};

use ncz_bad_plugins::{Chunk, Filter, Json, Words};

use crate::json::{Config, put_json};

/// One of the two filters.
#[derive(Debug)]
pub struct Noop<const ID: u32>;

/// The HDF5 id of `noop`.
pub const NOOP: u32 = 40000;
/// The HDF5 id of `noop1`.
pub const NOOP1: u32 = 40001;

impl<const ID: u32> Filter for Noop<ID> {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let direction = if chunk.is_decoding() { "decompress" } else { "compress" };
        let words: String = chunk.given().iter().map(|word| format!(" {word}")).collect();
        // A caller that closed the output still gets the chunk; a panic would end the program.
        let count = chunk.given().len();
        let _ = writeln!(io::stdout(), "direction={direction} id={ID} cd_nelmts={count} cd_values={words}");
        let bytes = chunk.input().to_vec();
        chunk.put(&bytes)
    }
}

impl<const ID: u32> Json for Noop<ID> {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        let read = || {
            let config = Config::parse(json, name::<ID>())?;
            (0..config.count()).map(|at| config.word(&format!("p{at}"))).collect::<Result<Vec<u32>, c_int>>()
        };
        match read() {
            Ok(given) => words.put(&given),
            Err(code) => code,
        }
    }

    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        put_json(name::<ID>(), (0..).map(|at| format!("p{at}")).zip(words), json)
    }
}

fn name<const ID: u32>() -> &'static str {
    if ID == NOOP { "noop" } else { "noop1" }
}
