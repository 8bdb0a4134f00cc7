//! Calling a C filter function: the buffer protocol, with nothing of the result believed.

use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;

use ncz_codec::abi::hdf5;
use ncz_codec::{CodecError, ErrorKind, Result};

use super::c_faces::Direction;
use super::c_memory::{Malloced, padded, usable_size};
use super::hdf5_filter::Hdf5Filter;

/// No result is longer than this: the limit of a decoded chunk.
const RESULT_MAX: usize = 4 << 30;
/// Zeros after the input: damaged streams make some filters read on.
const SLACK: usize = 64;

/// Runs the filter of `half` over `input`, into `output`.
///
/// The filter gets a copy of the input in memory from malloc, as in HDF5 and netcdf-c, and may free or replace it.
/// Failure is a result of 0, a null buffer, or a length that exceeds the returned block: some plugins return error
/// codes near 2^64.
pub(super) fn run(
    half: &Hdf5Filter,
    direction: Direction,
    params: &[u32],
    input: &[u8],
    output: &mut [u8],
) -> Result<usize> {
    if input.is_empty() {
        // Some plugins divide by the length, others hang.
        return Err(CodecError::truncated("no bytes for a filter"));
    }
    let flags: c_uint = match direction {
        Direction::Encode => 0,
        Direction::Decode => hdf5::FLAG_REVERSE,
    };
    let words = padded(params);
    let mut block = copy(input)?;
    let mut size = input.len();
    let filter = half.filter();
    // Most filters need none.
    let (caller, lack) = match half.library().caller() {
        Ok(caller) => (caller, String::new()),
        Err(error) => (None, format!("; if it queries libhdf5, it does not find this program: {error}")),
    };
    let call = || {
        // SAFETY: called as HDF5 calls it: the words are there, the block is from malloc and has the stated
        // size, no other call of the library runs unless it is known to be thread-safe, and `half` keeps the library.
        unsafe {
            match caller {
                Some(caller) => {
                    let (size, block) = ((&raw mut size) as usize, (&raw mut block) as usize);
                    let words = words.as_ptr() as usize;
                    let arguments = [flags as usize, params.len(), words, input.len(), size, block];
                    caller.call(filter as *const (), arguments)
                }
                None => {
                    filter(flags, params.len(), words.as_ptr(), input.len(), &raw mut size, &raw mut block)
                }
            }
        }
    };
    let (result, said) = half.with_words(call, |&result| result == 0 || result > RESULT_MAX);
    let left = Malloced(NonNull::new(block));
    let failed = |code: i64, detail: &str| {
        let comma = if said.is_empty() { "" } else { ": " };
        Err(CodecError::new(ErrorKind::Plugin { code }, format!("{detail}{comma}{}{lack}", said.join("; "))))
    };
    let Some(start) = left.0 else { return failed(result as i64, "the filter lost its buffer") };
    if result == 0 {
        return failed(0, "the filter failed");
    }
    if result > isize::MAX as usize || result > usable_size(start) {
        return failed(result as i64, "the filter failed, or reports more than its buffer holds");
    }
    if result > RESULT_MAX {
        return Err(CodecError::unsupported(format!(
            "a result of {result} bytes, more than the limit of 4 GiB"
        )));
    }
    let Some(output) = output.get_mut(..result) else { return Err(CodecError::output_full(Some(result))) };
    // SAFETY: the block holds `result` bytes, according to malloc, and the filter reports that it wrote
    // them; `output` is as long and does not overlap.
    unsafe { output.as_mut_ptr().copy_from_nonoverlapping(start.as_ptr().cast(), result) };
    Ok(result)
}

/// The input in a block of malloc's, with zeros after it.
fn copy(input: &[u8]) -> Result<*mut c_void> {
    let room = input.len() + SLACK;
    // SAFETY: any size is allowed; the result is checked.
    let Some(start) = NonNull::new(unsafe { libc::malloc(room) }) else {
        return Err(CodecError::unsupported(format!("no memory for {room} bytes")));
    };
    let bytes = start.cast::<u8>().as_ptr();
    // SAFETY: the block has room for the input and the slack, and is fresh.
    unsafe {
        bytes.copy_from_nonoverlapping(input.as_ptr(), input.len());
        bytes.add(input.len()).write_bytes(0, SLACK);
    }
    Ok(start.as_ptr())
}
