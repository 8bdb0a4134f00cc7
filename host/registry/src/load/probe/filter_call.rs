//! One call of a filter function, and what it left.

use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;
use std::{fmt, io};

use ncz_codec::abi::hdf5;

use super::allocator::{self, Host};
use super::memory::ReadOnly;
use crate::load::c_memory::usable_size;
use crate::load::{Hdf5Filter, Library};

/// Bytes after the buffer that must not be written.
const CANARY: usize = 256;
/// Words after `cd_values`, if any.
const WORDS_BEHIND: usize = 32;

/// A call of a filter function, before it is made.
#[derive(Debug, Clone, Copy)]
pub struct FilterCall<'a> {
    /// The flags: 0 encodes, 0x0100 decodes.
    pub flags: u32,
    /// `cd_values`.
    pub params: &'a [u32],
    /// What follows them.
    pub params_end: ParamsEnd,
    /// The bytes that count.
    pub input: &'a [u8],
    /// `*buf_size`: at least as long as the input.
    pub capacity: usize,
    /// The bytes after the input, up to `*buf_size` and a little beyond.
    pub after: &'a [u8],
    /// The bytes after that.
    pub filler: u8,
    /// Whose memory the buffer is.
    pub host: Host,
    /// Whether calls of other threads may run meanwhile, which HDF5 never does.
    pub concurrent: bool,
}

/// The bytes after `cd_values`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamsEnd {
    /// A page that must not be touched.
    Trap,
    /// More words, all the same: filters are known that read words which they were not given.
    Words(u32),
}

/// The result of a call. The buffer that the filter left is freed with it, as a host would.
#[derive(Debug)]
pub struct FilterAnswer {
    /// The return value of the filter: the length of its result, 0 for a failure.
    pub returned: usize,
    /// `*buf_size` afterwards.
    pub buf_size: usize,
    /// The size of the block that it left; 0 if `*buf` is null.
    pub holds: usize,
    /// Whether `*buf` is another block than before.
    pub replaced: bool,
    /// The number of bytes changed after the *given* buffer; known only if the buffer is still that one.
    pub beyond: Option<usize>,
    block: Block,
}

/// A block that was given back.
struct Block(Option<NonNull<c_void>>, Host);

impl<'a> FilterCall<'a> {
    /// Makes a call with a buffer from malloc that is as large as the input, without other calls.
    pub fn new(flags: u32, params: &'a [u32], input: &'a [u8]) -> Self {
        let capacity = input.len();
        Self {
            flags,
            params,
            params_end: ParamsEnd::Trap,
            input,
            capacity,
            after: &[],
            filler: 0,
            host: Host::Malloc,
            concurrent: false,
        }
    }

    /// A call that encodes.
    pub fn encode(params: &'a [u32], input: &'a [u8]) -> Self {
        Self::new(0, params, input)
    }

    /// A call that decodes.
    pub fn decode(params: &'a [u32], input: &'a [u8]) -> Self {
        Self::new(hdf5::FLAG_REVERSE, params, input)
    }

    /// Returns the byte at `place` after the input.
    fn byte_after(&self, place: usize) -> u8 {
        self.after.get(place).copied().unwrap_or(self.filler)
    }
}

impl FilterAnswer {
    /// The result: as many bytes as were returned, or all that the block holds if that is less.
    pub fn bytes(&self) -> &[u8] {
        self.left(self.returned)
    }

    /// The first `len` bytes of the block that is there now, or all that it holds if that is less.
    pub fn left(&self, len: usize) -> &[u8] {
        match self.block.0 {
            // SAFETY: the block holds that many bytes, as its allocator says; bytes that the filter did not
            // write are unspecified, but they are plain memory.
            Some(start) => unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), len.min(self.holds)) },
            None => &[],
        }
    }

    /// Whether `*buf` is null now.
    pub fn lost(&self) -> bool {
        self.block.0.is_none()
    }

    /// Whether the filter failed, or left less than it claims: hosts take nothing from such an answer.
    pub fn failed(&self) -> bool {
        self.returned == 0 || self.returned > self.holds
    }
}

impl Hdf5Filter {
    /// Makes a call.
    ///
    /// # Errors
    /// There is no memory for the buffer.
    pub fn probe(&self, call: &FilterCall<'_>) -> io::Result<FilterAnswer> {
        let mut params = call.params.to_vec();
        if let ParamsEnd::Words(word) = call.params_end {
            params.resize(params.len() + WORDS_BEHIND, word);
        }
        let params = ReadOnly::of_words(&params)?;
        let capacity = call.capacity.max(call.input.len());
        let room = capacity.checked_add(CANARY).ok_or(io::ErrorKind::OutOfMemory)?;
        let given = match call.host {
            // SAFETY: any size is allowed.
            Host::Malloc => unsafe { libc::malloc(room) },
            Host::Marked => allocator::allocate(room, false),
        };
        let given = NonNull::new(given).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the block is fresh and has that much room.
        unsafe {
            let bytes = given.cast::<u8>().as_ptr();
            bytes.copy_from_nonoverlapping(call.input.as_ptr(), call.input.len());
            let rest = room - call.input.len();
            let after = call.after.len().min(rest);
            bytes.add(call.input.len()).copy_from_nonoverlapping(call.after.as_ptr(), after);
            bytes.add(call.input.len() + after).write_bytes(call.filler, rest - after);
        }
        let (mut block, mut size) = (given.as_ptr(), capacity);
        let filter = self.filter();
        let flags: c_uint = call.flags;
        self.library().initialize();
        let returned = {
            let _calls = (!call.concurrent).then(|| self.library().one_call());
            // SAFETY: called as HDF5 calls it, with words and a block that are there. What a filter does that
            // breaks the rules is what this is for; the process can be spared.
            unsafe {
                filter(
                    flags,
                    call.params.len(),
                    params.as_slice().as_ptr().cast(),
                    call.input.len(),
                    &raw mut size,
                    &raw mut block,
                )
            }
        };
        let left = NonNull::new(block);
        let replaced = left != Some(given);
        let holds = left.map_or(0, |start| match call.host {
            Host::Malloc => usable_size(start),
            Host::Marked => allocator::held(start).unwrap_or(0),
        });
        // A block that was made larger or smaller in place is another one.
        let untouched = !replaced && size == capacity && holds >= room;
        let beyond = untouched.then(|| {
            // SAFETY: the block is still the one that was given, and holds `room` bytes.
            let after =
                unsafe { std::slice::from_raw_parts(given.cast::<u8>().as_ptr().add(capacity), CANARY) };
            let first = capacity - call.input.len();
            (first..).zip(after).filter(|&(place, &byte)| byte != call.byte_after(place)).count()
        });
        let holds = if untouched { capacity } else { holds };
        Ok(FilterAnswer { returned, buf_size: size, holds, replaced, beyond, block: Block(left, call.host) })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some(start) = self.0 else { return };
        // SAFETY: the block that the filter left to us, not used any more. If it is none of the allocator's,
        // that is the plugin's fault, and shows here.
        unsafe {
            match self.1 {
                Host::Malloc => libc::free(start.as_ptr()),
                Host::Marked => allocator::free(start.as_ptr()),
            }
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Library {
    /// Hdf5Imports the library for its records anew, as a host does that did not keep them.
    pub fn asked_again(self: &std::sync::Arc<Self>) -> [Option<String>; 3] {
        let hdf5 = self.take_hdf5().map(|record| format!("{record:?}"));
        let codec = self.take_codec().map(|record| format!("{record:?}"));
        let native = self.take_native().map(|table| format!("{table:?}"));
        [hdf5, codec, native]
    }
}

/// The time of calls of a filter function, and the number of bytes that the last one returned.
#[derive(Debug, Clone, Copy)]
pub struct BareCalls {
    /// The time of all calls, with what HDF5 does around each: a block from malloc, a copy of the input, free.
    pub time: std::time::Duration,
    /// The length of the result.
    pub len: usize,
}

impl Hdf5Filter {
    /// Calls the filter function in a bare loop, as a C program does that believes it.
    ///
    /// # Errors
    /// There is no memory, or the filter fails.
    pub fn bare_calls(
        &self,
        flags: u32,
        params: &[u32],
        input: &[u8],
        rounds: usize,
    ) -> io::Result<BareCalls> {
        let filter = self.filter();
        self.library().initialize();
        let start = std::time::Instant::now();
        let mut len = 0;
        for _ in 0..rounds {
            // SAFETY: any size is allowed.
            let mut block = unsafe { libc::malloc(input.len()) };
            if block.is_null() {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            let mut size = input.len();
            // SAFETY: the block has room for the input; then called as HDF5 calls it, which frees what is left.
            unsafe {
                block.cast::<u8>().copy_from_nonoverlapping(input.as_ptr(), input.len());
                len =
                    filter(flags, params.len(), params.as_ptr(), input.len(), &raw mut size, &raw mut block);
                libc::free(block);
            }
        }
        if len == 0 {
            Err(io::Error::other("the filter fails"))
        } else {
            Ok(BareCalls { time: start.elapsed(), len })
        }
    }
}
