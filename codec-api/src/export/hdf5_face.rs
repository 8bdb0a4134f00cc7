//! The HDF5 face: the filter function and `set_local` of a codec.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::slice;

use super::caller;
use super::fmt::{Type, Words};
use super::guard::guard;
use super::hdf5_library::Library;
use super::names;
use crate::abi::hdf5::{self as abi, Class2, Hid};
use crate::buffer::{Allocator, CBuffer};
use crate::codec::{Codec, Coder};
use crate::error::{CodecError, ErrorKind, Result};
use crate::info::CodecInfo;
use crate::repr::{Container, Env, Repr};

/// The largest number of bytes that a chunk may decode to.
const DECODED_MAX: usize = 4 << 30;
/// The number of coders that a thread keeps ready.
const READY_MAX: usize = 4;
/// A larger output buffer is not kept from call to call.
const SPARE_MAX: usize = 64 << 20;
/// The largest number of parameters of a filter.
const PARAMS_MAX: usize = 1 << 16;

/// What `H5PLget_plugin_type` returns.
pub fn plugin_type<C: Codec>() -> c_int {
    guard(&Face::<C>::INFO.name, "H5PLget_plugin_type", |trace| {
        trace.answer(format_args!("{}", abi::PLUGIN_TYPE_FILTER));
        Ok(abi::PLUGIN_TYPE_FILTER)
    })
    .unwrap_or(-1)
}

/// What `H5PLget_plugin_info` returns: the record of `C`, which lives as long as the library.
pub fn plugin_info<C: Codec>() -> *const c_void {
    let record: &'static Class2 = const { &Face::<C>::RECORD };
    let _ = guard(&Face::<C>::INFO.name, "H5PLget_plugin_info", |trace| {
        trace.answer(format_args!("filter {}", record.id));
        Ok(())
    });
    std::ptr::from_ref(record).cast()
}

struct Face<C>(PhantomData<C>);

impl<C: Codec> Face<C> {
    const INFO: &'static CodecInfo = &C::INFO;
    const NAME: &'static [u8; names::LEN] = &names::c_string(names::text(&Self::INFO.name));
    const RECORD: Class2 = Class2 {
        version: abi::CLASS_VERSION,
        id: names::filter_id(Self::INFO) as c_int,
        encoder_present: 1,
        decoder_present: 1,
        name: Self::NAME.as_ptr() as *const c_char,
        can_apply: None,
        set_local: if Self::INFO.has_working_params { Some(set_local::<C>) } else { None },
        filter: Some(filter::<C>),
    };
}

/// The filter function of `C` (HDF5 user guide, "Data pipeline filters"; `H5Z_func_t`).
///
/// On failure `*buf` and `*buf_size` are unchanged.
///
/// # Safety
/// As HDF5 calls it: `cd_values` holds `cd_nelmts` words, `*buf` is a block of the caller's allocator
/// (`H5allocate_memory`, or malloc) whose first `nbytes` bytes are valid and whose size is `*buf_size`.
pub unsafe extern "C" fn filter<C: Codec>(
    flags: c_uint,
    cd_nelmts: usize,
    cd_values: *const c_uint,
    nbytes: usize,
    buf_size: *mut usize,
    buf: *mut *mut c_void,
) -> usize {
    let decode = flags & abi::FLAG_REVERSE != 0;
    let call = if decode { "decode" } else { "encode" };
    guard(&Face::<C>::INFO.name, call, |trace| {
        if cd_nelmts > PARAMS_MAX || (cd_values.is_null() && cd_nelmts != 0) {
            return Err(CodecError::config("cd_values", format!("{cd_nelmts} words at {cd_values:p}")));
        }
        let words = match cd_nelmts {
            0 => &[],
            // SAFETY: not null, and the caller guarantees that many words.
            _ => unsafe { slice::from_raw_parts(cd_values, cd_nelmts) },
        };
        trace.given(format_args!("flags=0x{flags:x} cd_values={} nbytes={nbytes}", Words(words)));
        // SAFETY: the caller guarantees what `ChunkBuffer` requires.
        let mut chunk = unsafe { ChunkBuffer::new(nbytes, buf_size, buf) }?;
        trace.given(format_args!(" buf_size={}", *chunk.block_size));
        let block = *chunk.block;
        let len = with_ready::<C, _>(words, |ready, spare| {
            if decode { ready.decode(&mut chunk, spare) } else { ready.encode(&mut chunk, spare) }
        })?;
        let place = if block == *chunk.block { "" } else { ", another block" };
        trace.answer(format_args!("{len} bytes, buf_size={}{place}", *chunk.block_size));
        Ok(len)
    })
    // 0 is failure; an error code would be taken for a length.
    .unwrap_or(0)
}

/// The `set_local` of `C`: turns the user's parameters in a dataset's creation properties into the working ones.
///
/// # Safety
/// As HDF5 calls it: the identifiers belong to the libhdf5 that calls.
pub unsafe extern "C" fn set_local<C: Codec>(dcpl: Hid, datatype: Hid, _space: Hid) -> c_int {
    let result = guard(&Face::<C>::INFO.name, "set_local", |trace| {
        let id = Face::<C>::RECORD.id;
        // SAFETY: our caller guarantees that libhdf5 calls with its own identifiers.
        let library = unsafe { Library::calling() }?;
        let (flags, given) = library.filter(dcpl, id)?;
        trace.given(format_args!("flags=0x{flags:x} cd_values={}", Words(&given)));
        let (dtype, elements) = library.dtype(datatype)?;
        let mut shape = library.chunk(dcpl)?;
        // An array datatype adds a dimension of elements.
        shape.extend(elements);
        let fill = library.fill(dcpl, datatype, dtype)?;
        trace.given(format_args!(" dtype={} chunk={shape:?}", Type(&dtype)));
        let chunk = Repr::Array { dtype, shape: shape.clone(), fill };
        // The space that HDF5 passes has the chunk's shape; the array's own is not known here.
        let env = Env { dtype, array_shape: shape.clone(), chunk_shape: shape, container: Container::Hdf5 };
        let bound = C::from_params(&given)?.bind(&chunk, &env)?;
        trace.answer(format_args!("cd_values={}", Words(&bound.working)));
        library.modify_filter(dcpl, id, flags, &bound.working)
    });
    if result.is_ok() { 0 } else { -1 }
}

/// The caller's buffer: `buf`, `buf_size` and `nbytes` of a filter call.
struct ChunkBuffer<'a> {
    block: &'a mut *mut c_void,
    block_size: &'a mut usize,
    len: usize,
}

impl<'a> ChunkBuffer<'a> {
    /// # Safety
    /// `buf` and `buf_size` are null or valid for `'a`; `*buf` is null or a block with `nbytes` valid bytes.
    unsafe fn new(nbytes: usize, buf_size: *mut usize, buf: *mut *mut c_void) -> Result<Self> {
        // SAFETY: the caller promises it.
        let (block, block_size) = unsafe { (buf.as_mut(), buf_size.as_mut()) };
        let (Some(block), Some(block_size)) = (block, block_size) else {
            return Err(CodecError::unsupported("called without a buffer"));
        };
        if block.is_null() || nbytes == 0 || nbytes > isize::MAX as usize {
            return Err(CodecError::unsupported(format!(
                "called with a chunk of {nbytes} bytes at {block:p}"
            )));
        }
        Ok(Self { block, block_size, len: nbytes })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the caller of `new` guarantees a block with this many valid bytes.
        unsafe { slice::from_raw_parts(self.block.cast::<u8>(), self.len) }
    }

    /// Returns how many bytes the block can take. An earlier filter may have stated a smaller size than it filled.
    fn capacity(&self) -> usize {
        (*self.block_size).max(self.len)
    }

    /// Puts `result` into the block if it fits, else into a new one.
    fn store(&mut self, result: &[u8]) -> Result<usize> {
        let len = whole(result.len())?;
        if len > self.capacity() {
            let allocator = caller::calling_allocator();
            return self.replace(CBuffer::copy_of(result, allocator)?, len, allocator);
        }
        // SAFETY: the block has that capacity; `result` is in our own memory.
        unsafe { self.block.cast::<u8>().copy_from_nonoverlapping(result.as_ptr(), len) };
        *self.block_size = self.capacity();
        Ok(len)
    }

    /// Replaces the block by `new`, of which `len` bytes are valid. Both blocks come from `allocator`.
    fn replace(&mut self, new: CBuffer, len: usize, allocator: Allocator) -> Result<usize> {
        let (start, capacity) = new.into_raw();
        let old = std::mem::replace(self.block, start.as_ptr().cast());
        *self.block_size = capacity;
        // SAFETY: the old block is the caller's, from the caller's allocator, and no longer used.
        unsafe { allocator.free(old) };
        Ok(len)
    }
}

/// A codec ready to run with one set of working words.
struct Ready<C: Codec> {
    words: Vec<u32>,
    coder: C::Coder,
    scratch: <C::Coder as Coder>::Scratch,
    /// The decoded length of the last chunk, a good first guess for the next.
    last_decoded: usize,
}

impl<C: Codec> Ready<C> {
    fn encode(&mut self, chunk: &mut ChunkBuffer<'_>, spare: &mut Vec<u8>) -> Result<usize> {
        let input = chunk.bytes();
        let most = self
            .coder
            .max_encoded_len(input.len())
            .ok_or_else(|| CodecError::unsupported(format!("a chunk of {} bytes", input.len())))?;
        let output = room(spare, most)?;
        let len = self.coder.encode(&mut self.scratch, input, output)?;
        chunk.store(written(output, len)?)
    }

    fn decode(&mut self, chunk: &mut ChunkBuffer<'_>, spare: &mut Vec<u8>) -> Result<usize> {
        let input = chunk.bytes();
        let stated = self.coder.decoded_len(input)?;
        if let Some(len) = stated
            && len <= chunk.capacity()
        {
            let output = room(spare, len)?;
            let len = self.coder.decode(&mut self.scratch, input, output)?;
            return chunk.store(written(output, len)?);
        }
        let allocator = caller::calling_allocator();
        let mut capacity = match stated {
            Some(len) if len > DECODED_MAX => {
                return Err(CodecError::unsupported(format!(
                    "the chunk states a decoded length of {len} bytes, more than the limit of {DECODED_MAX}"
                )));
            }
            Some(len) => len,
            None => input.len().saturating_mul(4).max(self.last_decoded).min(DECODED_MAX),
        };
        loop {
            let mut new = CBuffer::zeroed(capacity, allocator)?;
            let error = match self.coder.decode(&mut self.scratch, chunk.bytes(), new.as_mut_slice()) {
                Ok(len) => {
                    whole(written(new.as_slice(), len)?.len())?;
                    self.last_decoded = len;
                    if new.capacity() - len > len / 8 {
                        new.shrink_to(len);
                    }
                    return chunk.replace(new, len, allocator);
                }
                Err(error) => error,
            };
            capacity = match error.kind() {
                ErrorKind::OutputFull { need } if stated.is_none() && capacity < DECODED_MAX => {
                    let need =
                        need.and_then(|need| usize::try_from(need).ok()).filter(|&need| need > capacity);
                    need.unwrap_or(capacity.saturating_mul(2)).min(DECODED_MAX)
                }
                _ => return Err(error),
            };
        }
    }
}

/// The state that a thread keeps between calls.
#[derive(Default)]
struct Kept {
    /// `Ready<C>` for the last sets of words, newest last.
    ready: Vec<Box<dyn Any>>,
    /// A buffer for output that is then copied to the caller's.
    spare: Vec<u8>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Runs `body` with a codec for `words`; meanwhile the state is taken out of the thread's store, so that
/// a panic leaves nothing incomplete there.
fn with_ready<C: Codec, R>(
    words: &[u32],
    body: impl FnOnce(&mut Ready<C>, &mut Vec<u8>) -> Result<R>,
) -> Result<R> {
    let is_wanted = |entry: &Box<dyn Any>| entry.downcast_ref::<Ready<C>>().is_some_and(|r| r.words == words);
    // The store no longer exists while a thread ends, but HDF5 may still write chunks then.
    let (entry, mut spare) = KEPT
        .try_with(|kept| {
            let kept = &mut *kept.borrow_mut();
            let entry = kept.ready.iter().position(is_wanted).map(|at| kept.ready.remove(at));
            (entry, std::mem::take(&mut kept.spare))
        })
        .unwrap_or_default();
    let mut ready = match entry.map(Box::<dyn Any>::downcast::<Ready<C>>) {
        Some(Ok(ready)) => ready,
        _ => {
            let coder = C::coder(words)?;
            let scratch = coder.scratch();
            Box::new(Ready { words: words.to_vec(), coder, scratch, last_decoded: 0 })
        }
    };
    let result = body(&mut ready, &mut spare);
    let _ = KEPT.try_with(|kept| {
        let kept = &mut *kept.borrow_mut();
        if kept.ready.len() >= READY_MAX {
            kept.ready.remove(0);
        }
        kept.ready.push(ready);
        if spare.len() <= SPARE_MAX {
            kept.spare = spare;
        }
    });
    result
}

/// Returns the first `len` bytes of `spare`, which grows if necessary.
fn room(spare: &mut Vec<u8>, len: usize) -> Result<&mut [u8]> {
    if spare.len() < len {
        spare
            .try_reserve_exact(len - spare.len())
            .map_err(|_| CodecError::unsupported(format!("no memory for {len} bytes")))?;
        spare.resize(len, 0);
    }
    Ok(&mut spare[..len])
}

/// Returns the part of `output` that a coder reports as written.
fn written(output: &[u8], len: usize) -> Result<&[u8]> {
    output
        .get(..len)
        .ok_or_else(|| CodecError::size(output.len(), len, "the codec reports more than its buffer holds"))
}

/// Returns a result's length, which cannot be 0: HDF5 interprets that as failure.
fn whole(len: usize) -> Result<usize> {
    if len == 0 {
        return Err(CodecError::unsupported("a chunk of 0 bytes, which HDF5 cannot express"));
    }
    Ok(len)
}
