//! The native face: the table of functions that ncz calls.

use std::ffi::c_char;
use std::marker::PhantomData;
use std::sync::Arc;

use super::guard::guard;
use crate::abi::native::{
    API_VERSION, Coder, Config, ErrorOut, NO_LENGTH, Plugin, Scratch as RawScratch, Sink, status,
};
use crate::erased::{AnyCoder, CodecConfig, CodecType, Scratch};
use crate::error::{CodecError, ErrorKind, Result};
use crate::wire;

/// The codecs of one plugin, in the order of their numbers.
pub trait CodecList: 'static {
    /// The codecs.
    const CODECS: &'static [&'static dyn CodecType];
}

/// The table for the codecs of `L`, which lives as long as the library.
pub fn plugin<L: CodecList>() -> *const Plugin {
    const { &Face::<L>::TABLE }
}

struct Face<L>(PhantomData<L>);

impl<L: CodecList> Face<L> {
    const TABLE: Plugin = Plugin {
        size: size_of::<Plugin>(),
        api_version: API_VERSION,
        codec_count: L::CODECS.len() as u32,
        describe: Some(describe::<L>),
        config_from_json: Some(config_from_json::<L>),
        config_from_params: Some(config_from_params::<L>),
        config_to_json: Some(config_to_json),
        config_to_params: Some(config_to_params),
        config_free: Some(config_free),
        bind: Some(bind),
        coder_from_params: Some(coder_from_params::<L>),
        coder_free: Some(coder_free),
        scratch_new: Some(scratch_new),
        scratch_free: Some(scratch_free),
        max_encoded_len: Some(max_encoded_len),
        encode: Some(encode),
        decode: Some(decode),
        decoded_len: Some(decoded_len),
    };
}

// What the opaque handles point to. Each is a box, made here and freed here.
type ConfigBox = Arc<dyn CodecConfig>;
type CoderBox = Arc<dyn AnyCoder>;

struct ScratchBox {
    scratch: Scratch,
    /// Set while a coder writes to the scratch; a panic leaves it set, and the next call starts afresh.
    is_torn: bool,
}

unsafe extern "C" fn describe<L: CodecList>(number: u32, out: *const Sink, error: *mut ErrorOut) -> i32 {
    // SAFETY: the table's contract: the pointers are null or valid during the call.
    unsafe {
        answer(error, "describe", || write(out, &wire::info_to_json(codec::<L>(number)?.info()).to_string()))
    }
}

unsafe extern "C" fn config_from_json<L: CodecList>(
    number: u32,
    dialect: u32,
    json: *const c_char,
    json_len: usize,
    notes: *const Sink,
    config: *mut *mut Config,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: the pointers are null or valid during the call.
    unsafe {
        answer(error, "config_from_json", || {
            let map = wire::parse_object(bytes(json.cast(), json_len)?)?;
            let mut remarks = Vec::new();
            let made = codec::<L>(number)?.parse_json(wire::dialect_of(dialect)?, &map, &mut remarks)?;
            for remark in remarks {
                write(notes, &remark.replace('\n', " "))?;
                write(notes, "\n")?;
            }
            give(config, made)
        })
    }
}

unsafe extern "C" fn config_from_params<L: CodecList>(
    number: u32,
    params: *const u32,
    count: usize,
    config: *mut *mut Config,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: the pointers are null or valid during the call.
    unsafe {
        answer(error, "config_from_params", || {
            give(config, codec::<L>(number)?.parse_params(words(params, count)?)?)
        })
    }
}

unsafe extern "C" fn config_to_json(
    config: *const Config,
    dialect: u32,
    out: *const Sink,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: a handle of ours, and pointers that are null or valid during the call.
    unsafe {
        answer(error, "config_to_json", || {
            let map = handle::<ConfigBox, _>(config)?.to_json(wire::dialect_of(dialect)?)?;
            write(out, &serde_json::Value::Object(map).to_string())
        })
    }
}

unsafe extern "C" fn config_to_params(config: *const Config, out: *const Sink, error: *mut ErrorOut) -> i32 {
    // SAFETY: the table's contract: a handle of ours, and pointers that are null or valid during the call.
    unsafe {
        answer(error, "config_to_params", || {
            let words = handle::<ConfigBox, _>(config)?.to_params()?;
            write(out, &serde_json::Value::from(words).to_string())
        })
    }
}

unsafe extern "C" fn config_free(config: *mut Config) {
    // SAFETY: the table's contract: null, or a handle of ours that nobody uses any more.
    unsafe { drop_box::<ConfigBox, _>(config, "config_free") }
}

unsafe extern "C" fn bind(
    config: *const Config,
    request: *const c_char,
    request_len: usize,
    response: *const Sink,
    stored: *mut *mut Config,
    coder: *mut *mut Coder,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: a handle of ours, and pointers that are null or valid during the call.
    unsafe {
        answer(error, "bind", || {
            if stored.is_null() || coder.is_null() {
                return Err(no_place());
            }
            let (input, env) = wire::request_from_json(bytes(request.cast(), request_len)?)?;
            let bound = handle::<ConfigBox, _>(config)?.bind(&input, &env)?;
            write(response, &wire::response_to_json(&bound.working, &bound.output).to_string())?;
            give(stored, bound.stored)?;
            give(coder, bound.coder)
        })
    }
}

unsafe extern "C" fn coder_from_params<L: CodecList>(
    number: u32,
    params: *const u32,
    count: usize,
    coder: *mut *mut Coder,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: the pointers are null or valid during the call.
    unsafe {
        answer(error, "coder_from_params", || give(coder, codec::<L>(number)?.coder(words(params, count)?)?))
    }
}

unsafe extern "C" fn coder_free(coder: *mut Coder) {
    // SAFETY: the table's contract: null, or a handle of ours that nobody uses any more.
    unsafe { drop_box::<CoderBox, _>(coder, "coder_free") }
}

unsafe extern "C" fn scratch_new(
    coder: *const Coder,
    scratch: *mut *mut RawScratch,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: a handle of ours, and pointers that are null or valid during the call.
    unsafe {
        answer(error, "scratch_new", || {
            give(scratch, ScratchBox { scratch: handle::<CoderBox, _>(coder)?.scratch(), is_torn: false })
        })
    }
}

unsafe extern "C" fn scratch_free(scratch: *mut RawScratch) {
    // SAFETY: the table's contract: null, or a handle of ours that nobody uses any more.
    unsafe { drop_box::<ScratchBox, _>(scratch, "scratch_free") }
}

unsafe extern "C" fn max_encoded_len(coder: *const Coder, len: usize) -> usize {
    guard("native", "max_encoded_len", || {
        // SAFETY: the table's contract: a handle of ours.
        Ok(unsafe { handle::<CoderBox, _>(coder) }?.max_encoded_len(len))
    })
    .ok()
    .flatten()
    .unwrap_or(NO_LENGTH)
}

unsafe extern "C" fn encode(
    coder: *const Coder,
    scratch: *mut RawScratch,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_capacity: usize,
    written: *mut usize,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: handles of ours, the scratch for this call alone; input and output
    // are apart and as long as said.
    unsafe {
        answer(error, "encode", || {
            let (input, output) = (bytes(input, input_len)?, bytes_mut(output, output_capacity)?);
            run(coder, scratch, written, |coder, scratch| coder.encode(scratch, input, output))
        })
    }
}

unsafe extern "C" fn decode(
    coder: *const Coder,
    scratch: *mut RawScratch,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_capacity: usize,
    written: *mut usize,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: as for `encode`.
    unsafe {
        answer(error, "decode", || {
            let (input, output) = (bytes(input, input_len)?, bytes_mut(output, output_capacity)?);
            run(coder, scratch, written, |coder, scratch| coder.decode(scratch, input, output))
        })
    }
}

unsafe extern "C" fn decoded_len(
    coder: *const Coder,
    input: *const u8,
    input_len: usize,
    len: *mut usize,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: a handle of ours, and pointers that are null or valid during the call.
    unsafe {
        answer(error, "decoded_len", || {
            let len = len.as_mut().ok_or_else(no_place)?;
            let stated = handle::<CoderBox, _>(coder)?.decoded_len(bytes(input, input_len)?)?;
            *len = stated.unwrap_or(NO_LENGTH);
            Ok(())
        })
    }
}

/// # Safety
/// As for [`encode`].
unsafe fn run(
    coder: *const Coder,
    scratch: *mut RawScratch,
    written: *mut usize,
    body: impl FnOnce(&dyn AnyCoder, &mut Scratch) -> Result<usize>,
) -> Result<()> {
    // SAFETY: the caller promises it.
    let (coder, scratch, written) =
        unsafe { (handle::<CoderBox, _>(coder)?, scratch.cast::<ScratchBox>().as_mut(), written.as_mut()) };
    let scratch = scratch.ok_or_else(|| CodecError::unsupported("called without a scratch"))?;
    let written = written.ok_or_else(no_place)?;
    if scratch.is_torn {
        scratch.scratch = coder.scratch();
    }
    scratch.is_torn = true;
    let result = body(coder.as_ref(), &mut scratch.scratch);
    scratch.is_torn = false;
    *written = result?;
    Ok(())
}

fn codec<L: CodecList>(number: u32) -> Result<&'static dyn CodecType> {
    let codec = L::CODECS.get(number as usize).copied();
    codec.ok_or_else(|| CodecError::unsupported(format!("this plugin has no codec number {number}")))
}

/// Runs `body` under the guard and turns the outcome into a status with details.
///
/// # Safety
/// `error` is null or can be written to, and its text buffer is as large as it says.
unsafe fn answer(error: *mut ErrorOut, call: &str, body: impl FnOnce() -> Result<()>) -> i32 {
    let Err(failure) = guard("native", call, body) else { return status::OK };
    let (number, first, second) = wire::error_numbers(failure.kind());
    // SAFETY: the caller promises it.
    if let Some(error) = unsafe { error.as_mut() } {
        let key = match failure.kind() {
            ErrorKind::Config { key } => key.as_str(),
            _ => "",
        };
        (error.first, error.second) = (first, second);
        let mut room = if error.text.is_null() { 0 } else { error.text_capacity };
        let mut at = error.text.cast::<u8>();
        let mut put = |text: &str| {
            let len = text.floor_char_boundary(room);
            // SAFETY: `len` bytes are left in the buffer, which the caller promises to be as large as it says.
            unsafe {
                at.copy_from_nonoverlapping(text.as_ptr(), len);
                at = at.add(len);
            }
            room -= len;
            len
        };
        error.key_len = put(key);
        error.text_len = error.key_len + put(failure.detail());
    }
    number
}

/// # Safety
/// `sink` is null or valid, and its function takes text.
unsafe fn write(sink: *const Sink, text: &str) -> Result<()> {
    // SAFETY: the caller promises it.
    let Some(&Sink { context, write: Some(write) }) = (unsafe { sink.as_ref() }) else {
        return Err(no_place());
    };
    // SAFETY: the caller promises it.
    unsafe { write(context, text.as_ptr().cast(), text.len()) };
    Ok(())
}

/// Hands `value` out behind an opaque handle.
///
/// # Safety
/// `place` is null or can be written to.
unsafe fn give<T, H>(place: *mut *mut H, value: T) -> Result<()> {
    // SAFETY: the caller promises it.
    let place = unsafe { place.as_mut() }.ok_or_else(no_place)?;
    *place = Box::into_raw(Box::new(value)).cast();
    Ok(())
}

/// What is behind a handle.
///
/// # Safety
/// The handle is null or was made by [`give`] of a `T` and is not freed during `'a`.
unsafe fn handle<'a, T, H>(handle: *const H) -> Result<&'a T> {
    // SAFETY: the caller promises it.
    unsafe { handle.cast::<T>().as_ref() }.ok_or_else(|| CodecError::unsupported("called without a handle"))
}

/// # Safety
/// The handle is null or was made by [`give`] of a `T`, and nobody uses it any more.
unsafe fn drop_box<T, H>(handle: *mut H, call: &str) {
    let _ = guard("native", call, || {
        if !handle.is_null() {
            // SAFETY: the caller promises it.
            drop(unsafe { Box::from_raw(handle.cast::<T>()) });
        }
        Ok(())
    });
}

/// # Safety
/// `start` is null or `len` bytes from it are valid during `'a`.
unsafe fn bytes<'a>(start: *const u8, len: usize) -> Result<&'a [u8]> {
    match len {
        0 => Ok(&[]),
        _ if !start.is_null() && len <= isize::MAX as usize => {
            // SAFETY: the caller promises it.
            Ok(unsafe { std::slice::from_raw_parts(start, len) })
        }
        _ => Err(CodecError::unsupported(format!("called with {len} bytes at {start:p}"))),
    }
}

/// # Safety
/// As [`bytes`], and nobody else uses them during `'a`.
unsafe fn bytes_mut<'a>(start: *mut u8, len: usize) -> Result<&'a mut [u8]> {
    match len {
        0 => Ok(&mut []),
        _ if !start.is_null() && len <= isize::MAX as usize => {
            // SAFETY: the caller promises it.
            Ok(unsafe { std::slice::from_raw_parts_mut(start, len) })
        }
        _ => Err(CodecError::unsupported(format!("called with {len} bytes at {start:p}"))),
    }
}

/// # Safety
/// `start` is null or holds `len` words during `'a`.
unsafe fn words<'a>(start: *const u32, len: usize) -> Result<&'a [u32]> {
    match len {
        0 => Ok(&[]),
        _ if !start.is_null() && len <= wire::TEXT_MAX => {
            // SAFETY: the caller promises it.
            Ok(unsafe { std::slice::from_raw_parts(start, len) })
        }
        _ => Err(CodecError::unsupported(format!("called with {len} words at {start:p}"))),
    }
}

fn no_place() -> CodecError {
    CodecError::unsupported("called without a place for the result")
}
