//! The HDF5 face, called as libhdf5 calls it.

use std::ffi::{CStr, c_uint, c_void};

use ncz_codec::abi::hdf5::{Class2, FLAG_REVERSE, Filter};
use ncz_codec::export::hdf5_face;
use proptest::prelude::*;

use crate::rle::{Mode, Rle};

/// A chunk in malloc's memory, as libhdf5 holds it.
struct Chunk {
    block: *mut c_void,
    size: usize,
}

impl Chunk {
    fn new(bytes: &[u8], size: usize) -> Self {
        let size = size.max(bytes.len());
        let block = unsafe { libc::malloc(size.max(1)) };
        unsafe { block.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Self { block, size }
    }

    fn bytes(&self, len: usize) -> &[u8] {
        assert!(len <= self.size, "{len} bytes claimed in a block of {}", self.size);
        unsafe { std::slice::from_raw_parts(self.block.cast(), len) }
    }

    fn run(&mut self, flags: c_uint, words: &[u32], nbytes: usize) -> usize {
        let run = filter();
        unsafe { run(flags, words.len(), words.as_ptr(), nbytes, &raw mut self.size, &raw mut self.block) }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        unsafe { libc::free(self.block) }
    }
}

fn record() -> &'static Class2 {
    unsafe { &*hdf5_face::plugin_info::<Rle>().cast() }
}

fn filter() -> Filter {
    record().filter.unwrap()
}

#[test]
fn the_record_is_what_a_loader_checks() {
    let record = record();
    assert_eq!((record.version, record.id), (1, 40100));
    assert_eq!((record.encoder_present, record.decoder_present), (1, 1));
    assert_eq!(unsafe { CStr::from_ptr(record.name) }, c"rle");
    assert!(record.can_apply.is_none() && record.set_local.is_some());
}

#[test]
fn set_local_fails_when_no_libhdf5_calls() {
    let set_local = record().set_local.unwrap();
    assert_eq!(unsafe { set_local(1, 2, 3) }, -1);
}

#[test]
fn a_shrunk_chunk_stays_in_its_block_and_a_grown_one_gets_another() {
    let input = [5; 10_000];
    let mut chunk = Chunk::new(&input, 0);
    let block = chunk.block;
    let len = chunk.run(0, &[0], input.len());
    assert_eq!((len, chunk.block, chunk.size), (80, block, input.len()));
    // Decoding into the same block, which is large enough; the stream does not state its length, so the result is in a
    // new block.
    assert_eq!(chunk.run(FLAG_REVERSE, &[0], len), input.len());
    assert_eq!(chunk.bytes(input.len()), input);

    let input: Vec<u8> = (0..=255).collect();
    let mut chunk = Chunk::new(&input, 0);
    assert_eq!(chunk.run(0, &[1], input.len()), 520);
    assert!(chunk.size >= 520);
    assert_eq!(chunk.run(FLAG_REVERSE, &[1], 520), 256);
    assert_eq!(chunk.bytes(256), input);
}

#[test]
fn a_guess_that_is_too_large_is_given_back() {
    let mut chunk = Chunk::new(&[1, 9].repeat(100_000), 0);
    assert_eq!(chunk.run(FLAG_REVERSE, &[0], 200_000), 100_000);
    assert_eq!(chunk.bytes(100_000), [9; 100_000]);
    assert!(chunk.size < 120_000, "{} bytes kept", chunk.size);
}

#[test]
fn failures_return_zero_and_leave_the_block_as_it_was() {
    let stream = [3, 7, 1];
    let huge: Vec<u8> = (1_u64 << 60).to_le_bytes().into();
    let cases: [(&str, &[u8], &[u32]); 8] = [
        ("truncated", &stream, &[0]),
        ("stated length without runs", &huge, &[1]),
        ("no stated length", &stream, &[1]),
        ("panic", &stream, &[Mode::Panics as u32]),
        ("panic with a panicking payload", &stream, &[Mode::PanicsTwice as u32]),
        ("claim", &stream[..2], &[Mode::Claims as u32]),
        ("parameter out of range", &stream, &[9]),
        ("too many parameters", &stream, &[0, 0, 0]),
    ];
    for (name, bytes, words) in cases {
        for flags in [FLAG_REVERSE, 0] {
            let is_encodable = matches!(words, [0 | 1]);
            if flags == 0 && is_encodable {
                continue;
            }
            let mut chunk = Chunk::new(bytes, 64);
            let block = chunk.block;
            assert_eq!(chunk.run(flags, words, bytes.len()), 0, "{name}");
            assert_eq!((chunk.block, chunk.size), (block, 64), "{name}");
            assert_eq!(chunk.bytes(bytes.len()), bytes, "{name}");
        }
    }
    // After all that, the same thread still works.
    let mut chunk = Chunk::new(&[1; 9], 0);
    assert_eq!(chunk.run(0, &[0], 9), 2);
}

#[test]
fn calls_without_a_chunk_fail() {
    let run = filter();
    let (mut size, mut block) = (0, std::ptr::null_mut());
    let words = [0];
    unsafe {
        assert_eq!(run(0, 1, words.as_ptr(), 0, &raw mut size, &raw mut block), 0);
        assert_eq!(run(0, 1, words.as_ptr(), 8, std::ptr::null_mut(), &raw mut block), 0);
        assert_eq!(run(0, 1, words.as_ptr(), 8, &raw mut size, std::ptr::null_mut()), 0);
        assert_eq!(run(0, 1, words.as_ptr(), 8, &raw mut size, &raw mut block), 0);
    }
    let mut chunk = Chunk::new(&[1; 9], 0);
    assert_eq!(unsafe { run(0, 3, std::ptr::null(), 9, &raw mut chunk.size, &raw mut chunk.block) }, 0);
    assert_eq!(chunk.run(0, &[], 9), 2);
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        runs in prop::collection::vec((any::<u8>(), 1..300_usize), 1..50),
        spare in 0..1000_usize,
        mode in 0..2_u32,
    ) {
        let input: Vec<u8> = runs.iter().flat_map(|&(value, count)| vec![value; count]).collect();
        let mut chunk = Chunk::new(&input, input.len() + spare);
        let len = chunk.run(0, &[mode], input.len());
        prop_assert!(len > 0);
        prop_assert_eq!(chunk.run(FLAG_REVERSE, &[mode], len), input.len());
        prop_assert_eq!(chunk.bytes(input.len()), input);
    }
}
