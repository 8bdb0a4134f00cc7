//! The native face: the table of functions that ncz calls.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::sync::Arc;

use super::fmt::{Json, Stage, Type, Words};
use super::guard::guard;
use super::log::Trace;
use crate::abi::native::{
    API_VERSION, Coder, Config, ErrorOut, NO_LENGTH, Plugin, Scratch as RawScratch, Sink, status,
};
use crate::erased::{AnyCoder, AnyConfig, CodecType, Scratch};
use crate::error::{CodecError, ErrorKind, Result};
use crate::wire;

/// The codecs of one plugin, in the order of their numbers.
pub trait CodecList: 'static {
    /// The codecs.
    const CODECS: &'static [&'static dyn CodecType];
    /// The version of the plugin, a semantic version; empty if it states none.
    const VERSION: &'static CStr = c"";
}

/// The table for the codecs of `L`, which lives as long as the library.
pub fn plugin<L: CodecList>() -> *const Plugin {
    let _ = guard(UNNAMED_CODEC, "ncz_codec_plugin", |trace| {
        for codec in L::CODECS {
            trace.answer(format_args!("{} ", codec.info().name));
        }
        trace.answer(format_args!("of API version 0x{API_VERSION:x}"));
        Ok(())
    });
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
        version: Some(stated_version::<L>),
    };
}

/// Returns the version of a package, which ends with a zero byte, as a C string; empty if it contains another zero
/// byte.
pub const fn version(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    }
}

extern "C" fn stated_version<L: CodecList>() -> *const c_char {
    L::VERSION.as_ptr()
}

/// The codec name for calls that name none.
const UNNAMED_CODEC: &str = "plugin";

// The values that the opaque handles point to. Each is a box, allocated and freed here.
type ConfigBox = Handle<Arc<dyn AnyConfig>>;
type CoderBox = Handle<Arc<dyn AnyCoder>>;
type ScratchBox = Handle<Torn>;

struct Handle<T> {
    /// The codec's name, for the log.
    codec: &'static str,
    value: T,
}

struct Torn {
    scratch: Scratch,
    /// Set while a coder writes to the scratch; a panic leaves it set, and the next call makes a new scratch.
    is_torn: bool,
}

unsafe extern "C" fn describe<L: CodecList>(number: u32, out: *const Sink, error: *mut ErrorOut) -> i32 {
    // SAFETY: the table's contract: the pointers are null or valid during the call.
    unsafe {
        answer(error, "describe", |trace| {
            let text = wire::info_to_json(codec::<L>(number, trace)?.info()).to_string();
            trace.answer(format_args!("{}", Json(text.as_bytes())));
            write(out, &text)
        })
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
        answer(error, "config_from_json", |trace| {
            let codec = codec::<L>(number, trace)?;
            let json = bytes(json.cast(), json_len)?;
            trace.given(format_args!("dialect={dialect} {}", Json(json)));
            let map = wire::parse_object(json)?;
            let mut remarks = Vec::new();
            let value = codec.parse_json(wire::dialect_of(dialect)?, &map, &mut remarks)?;
            trace.answer(format_args!("a configuration, notes={remarks:?}"));
            for remark in remarks {
                write(notes, &remark.replace('\n', " "))?;
                write(notes, "\n")?;
            }
            give(config, Handle { codec: &codec.info().name, value })
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
        answer(error, "config_from_params", |trace| {
            let codec = codec::<L>(number, trace)?;
            let words = words(params, count)?;
            trace.given(format_args!("{}", Words(words)));
            let value = codec.parse_params(words)?;
            trace.answer(format_args!("a configuration"));
            give(config, Handle { codec: &codec.info().name, value })
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
        answer(error, "config_to_json", |trace| {
            let config = handle::<ConfigBox, _>(config)?;
            trace.of(config.codec);
            trace.given(format_args!("dialect={dialect}"));
            let map = config.value.to_json(wire::dialect_of(dialect)?)?;
            let text = serde_json::Value::Object(map).to_string();
            trace.answer(format_args!("{}", Json(text.as_bytes())));
            write(out, &text)
        })
    }
}

unsafe extern "C" fn config_to_params(config: *const Config, out: *const Sink, error: *mut ErrorOut) -> i32 {
    // SAFETY: the table's contract: a handle of ours, and pointers that are null or valid during the call.
    unsafe {
        answer(error, "config_to_params", |trace| {
            let config = handle::<ConfigBox, _>(config)?;
            trace.of(config.codec);
            let words = config.value.to_params()?;
            trace.answer(format_args!("{}", Words(&words)));
            write(out, &serde_json::Value::from(words).to_string())
        })
    }
}

unsafe extern "C" fn config_free(config: *mut Config) {
    // SAFETY: the table's contract: null, or a handle of ours that is not used any more.
    unsafe { drop_box::<Arc<dyn AnyConfig>, _>(config, "config_free") }
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
        answer(error, "bind", |trace| {
            let config = handle::<ConfigBox, _>(config)?;
            let codec = config.codec;
            trace.of(codec);
            if stored.is_null() || coder.is_null() {
                return Err(null_output());
            }
            let (input, env) = wire::request_from_json(bytes(request.cast(), request_len)?)?;
            trace.given(format_args!(
                "input={} dtype={} chunk={:?} array={:?} container={:?}",
                Stage(&input),
                Type(&env.dtype),
                env.chunk_shape,
                env.array_shape,
                env.container
            ));
            let bound = config.value.bind(&input, &env)?;
            trace.answer(format_args!("working={} output={}", Words(&bound.working), Stage(&bound.output)));
            let text = wire::response_to_json(&bound.working, &bound.output, bound.lossy).to_string();
            write(response, &text)?;
            give(stored, Handle { codec, value: bound.stored })?;
            give(coder, Handle { codec, value: bound.coder })
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
        answer(error, "coder_from_params", |trace| {
            let codec = codec::<L>(number, trace)?;
            let words = words(params, count)?;
            trace.given(format_args!("{}", Words(words)));
            let value = codec.coder(words)?;
            trace.answer(format_args!("a coder"));
            give(coder, Handle { codec: &codec.info().name, value })
        })
    }
}

unsafe extern "C" fn coder_free(coder: *mut Coder) {
    // SAFETY: the table's contract: null, or a handle of ours that is not used any more.
    unsafe { drop_box::<Arc<dyn AnyCoder>, _>(coder, "coder_free") }
}

unsafe extern "C" fn scratch_new(
    coder: *const Coder,
    scratch: *mut *mut RawScratch,
    error: *mut ErrorOut,
) -> i32 {
    // SAFETY: the table's contract: a handle of ours, and pointers that are null or valid during the call.
    unsafe {
        answer(error, "scratch_new", |trace| {
            let coder = handle::<CoderBox, _>(coder)?;
            trace.of(coder.codec);
            let value = Torn { scratch: coder.value.scratch(), is_torn: false };
            trace.answer(format_args!("a scratch"));
            give(scratch, ScratchBox { codec: coder.codec, value })
        })
    }
}

unsafe extern "C" fn scratch_free(scratch: *mut RawScratch) {
    // SAFETY: the table's contract: null, or a handle of ours that is not used any more.
    unsafe { drop_box::<Torn, _>(scratch, "scratch_free") }
}

unsafe extern "C" fn max_encoded_len(coder: *const Coder, len: usize) -> usize {
    guard(UNNAMED_CODEC, "max_encoded_len", |trace| {
        // SAFETY: the table's contract: a handle of ours.
        let coder = unsafe { handle::<CoderBox, _>(coder) }?;
        trace.of(coder.codec);
        trace.given(format_args!("input={len}"));
        let most = coder.value.max_encoded_len(len);
        trace.answer(format_args!("{most:?} bytes"));
        Ok(most)
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
    // SAFETY: the table's contract: handles of ours, the scratch for this call only; input and output
    // do not overlap and have the stated lengths.
    unsafe {
        answer(error, "encode", |trace| {
            trace.given(format_args!("input={input_len} output={output_capacity}"));
            let (input, output) = (bytes(input, input_len)?, bytes_mut(output, output_capacity)?);
            run(coder, scratch, written, trace, |coder, scratch| coder.encode(scratch, input, output))
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
        answer(error, "decode", |trace| {
            trace.given(format_args!("input={input_len} output={output_capacity}"));
            let (input, output) = (bytes(input, input_len)?, bytes_mut(output, output_capacity)?);
            run(coder, scratch, written, trace, |coder, scratch| coder.decode(scratch, input, output))
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
        answer(error, "decoded_len", |trace| {
            let len = len.as_mut().ok_or_else(null_output)?;
            let coder = handle::<CoderBox, _>(coder)?;
            trace.of(coder.codec);
            trace.given(format_args!("input={input_len}"));
            let stated = coder.value.decoded_len(bytes(input, input_len)?)?;
            trace.answer(format_args!("{stated:?} bytes"));
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
    trace: &mut Trace,
    body: impl FnOnce(&dyn AnyCoder, &mut Scratch) -> Result<usize>,
) -> Result<()> {
    // SAFETY: the caller promises it.
    let (coder, scratch, written) =
        unsafe { (handle::<CoderBox, _>(coder)?, scratch.cast::<ScratchBox>().as_mut(), written.as_mut()) };
    trace.of(coder.codec);
    let coder = coder.value.as_ref();
    let scratch = &mut scratch.ok_or_else(|| CodecError::unsupported("called without a scratch"))?.value;
    let written = written.ok_or_else(null_output)?;
    if scratch.is_torn {
        scratch.scratch = coder.scratch();
    }
    scratch.is_torn = true;
    let result = body(coder, &mut scratch.scratch);
    scratch.is_torn = false;
    *written = result?;
    trace.answer(format_args!("{written} bytes"));
    Ok(())
}

fn codec<L: CodecList>(number: u32, trace: &mut Trace) -> Result<&'static dyn CodecType> {
    let codec = L::CODECS.get(number as usize).copied();
    let missing = || CodecError::unsupported(format!("this plugin has no codec number {number}"));
    let codec = codec.ok_or_else(missing)?;
    trace.of(&codec.info().name);
    Ok(codec)
}

/// Runs `body` under the guard and turns the outcome into a status with details.
///
/// # Safety
/// `error` is null or can be written to, and its text buffer is as large as it says.
unsafe fn answer(error: *mut ErrorOut, call: &str, body: impl FnOnce(&mut Trace) -> Result<()>) -> i32 {
    let Err(failure) = guard(UNNAMED_CODEC, call, body) else { return status::OK };
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
        return Err(null_output());
    };
    // SAFETY: the caller promises it.
    unsafe { write(context, text.as_ptr().cast(), text.len()) };
    Ok(())
}

/// Stores `value` in a box and returns it as an opaque handle.
///
/// # Safety
/// `handle` is null or valid for writes.
unsafe fn give<T, H>(handle: *mut *mut H, value: T) -> Result<()> {
    // SAFETY: the caller promises it.
    let handle = unsafe { handle.as_mut() }.ok_or_else(null_output)?;
    *handle = Box::into_raw(Box::new(value)).cast();
    Ok(())
}

/// Returns the value of a handle.
///
/// # Safety
/// The handle is null or was made by [`give`] of a `T` and is not freed during `'a`.
unsafe fn handle<'a, T, H>(handle: *const H) -> Result<&'a T> {
    // SAFETY: the caller promises it.
    unsafe { handle.cast::<T>().as_ref() }.ok_or_else(|| CodecError::unsupported("called without a handle"))
}

/// # Safety
/// The handle is null or was made by [`give`] of a [`Handle`] `T`, and is not used any more.
unsafe fn drop_box<T, H>(handle: *mut H, call: &str) {
    let _ = guard(UNNAMED_CODEC, call, |trace| {
        if !handle.is_null() {
            // SAFETY: the caller promises it.
            let held = unsafe { Box::from_raw(handle.cast::<Handle<T>>()) };
            trace.of(held.codec);
            drop(held);
        }
        trace.answer(format_args!("freed"));
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
/// As for [`bytes`], and nothing else uses them during `'a`.
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

fn null_output() -> CodecError {
    CodecError::unsupported("called with a null pointer for the result")
}
