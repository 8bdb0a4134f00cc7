//! The NCZarr face: a codec's record for netcdf-c.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::slice;

use serde_json::Value;

use super::fmt::{Json, Stage, Words};
use super::guard::guard;
use super::log::Trace;
use super::names;
use super::netcdf_library::Library;
use crate::abi::nczarr::{self as abi, error};
use crate::buffer::{Allocator, CBuffer};
use crate::codec::Codec;
use crate::dialect::Dialect;
use crate::error::{CodecError, ErrorKind, Result};
use crate::info::CodecInfo;
use crate::wire;

/// The largest number of parameters of a filter.
const PARAMS_MAX: usize = 1 << 16;

/// What `NCZ_get_codec_info` returns: the record of `C`, which lives as long as the library.
pub fn codec_info<C: Codec>() -> *const c_void {
    let record: &'static abi::Codec = const { &Face::<C>::RECORD };
    let _ = guard(&Face::<C>::INFO.name, "NCZ_get_codec_info", |trace| {
        trace.answer(format_args!("codec for filter {}", record.hdf5id));
        Ok(())
    });
    std::ptr::from_ref(record).cast()
}

struct Face<C>(PhantomData<C>);

impl<C: Codec> Face<C> {
    const INFO: &'static CodecInfo = &C::INFO;
    const ID: &'static [u8; names::LEN] = &names::c_string(names::numcodecs_id(Self::INFO));
    const RECORD: abi::Codec = abi::Codec {
        version: abi::CODEC_VERSION,
        sort: abi::SORT_HDF5,
        codecid: Self::ID.as_ptr() as *const c_char,
        hdf5id: names::filter_id(Self::INFO),
        initialize: None,
        finalize: None,
        codec_to_hdf5: Some(codec_to_hdf5::<C>),
        hdf5_to_codec: Some(hdf5_to_codec::<C>),
        modify_parameters: if Self::INFO.has_working_params { Some(modify_parameters::<C>) } else { None },
    };
}

/// `NCZ_codec_to_hdf5` of `C`: JSON to visible parameters, in a vector from malloc (null if there are none).
///
/// # Safety
/// As netcdf-c calls it: a C string and two pointers that are valid for writes.
pub unsafe extern "C" fn codec_to_hdf5<C: Codec>(
    json: *const c_char,
    count: *mut usize,
    params: *mut *mut c_uint,
) -> c_int {
    answer(&Face::<C>::INFO.name, "NCZ_codec_to_hdf5", |trace| {
        // SAFETY: the caller passes pointers that are null or valid for writes.
        let (count, params) = unsafe { outputs(count, params) }?;
        if json.is_null() {
            return Err(CodecError::unsupported("called without JSON"));
        }
        // SAFETY: not null, and the caller promises a C string.
        let json = unsafe { CStr::from_ptr(json) }.to_bytes();
        trace.given(format_args!("{}", Json(json)));
        let words = parse::<C>(json)?.to_params()?;
        trace.answer(format_args!("{}", Words(&words)));
        let (start, len) = malloc_words(&words)?;
        (*params, *count) = (start, len);
        Ok(())
    })
}

/// `NCZ_hdf5_to_codec` of `C`: visible parameters to JSON, in a string from malloc.
///
/// # Safety
/// As netcdf-c calls it: `params` holds `count` words, and the output pointer is valid for writes.
pub unsafe extern "C" fn hdf5_to_codec<C: Codec>(
    count: usize,
    params: *const c_uint,
    json: *mut *mut c_char,
) -> c_int {
    answer(&Face::<C>::INFO.name, "NCZ_hdf5_to_codec", |trace| {
        // SAFETY: the caller passes that many words and an output pointer that is null or valid.
        let (words, json) = unsafe { (words(params, count)?, json.as_mut()) };
        let json = json.ok_or_else(|| CodecError::unsupported("called without a pointer for JSON"))?;
        trace.given(format_args!("{}", Words(words)));
        let mut text = print::<C>(&C::from_params(words)?)?;
        trace.answer(format_args!("{}", Json(&text)));
        text.push(0);
        let (start, _) = CBuffer::copy_of(&text, Allocator::LIBC)?.into_raw();
        *json = start.as_ptr().cast();
        Ok(())
    })
}

/// `NCZ_modify_parameters` of `C`: visible parameters and the variable to working parameters.
///
/// The visible parameters are replaced if the stored configuration has more than the given one: netcdf-c
/// makes its JSON from them, and other readers misread shuffle without its element size.
///
/// # Safety
/// As netcdf-c calls it: the identifiers are its own, both vectors are null or from malloc with the number
/// of words in their counts.
pub unsafe extern "C" fn modify_parameters<C: Codec>(
    ncid: c_int,
    varid: c_int,
    visible_count: *mut usize,
    visible: *mut *mut c_uint,
    working_count: *mut usize,
    working: *mut *mut c_uint,
) -> c_int {
    answer(&Face::<C>::INFO.name, "NCZ_modify_parameters", |trace| {
        // SAFETY: the caller passes pointers that are null or valid for writes.
        let (visible_count, visible) = unsafe { outputs(visible_count, visible) }?;
        // SAFETY: as above.
        let (working_count, working) = unsafe { outputs(working_count, working) }?;
        // SAFETY: the caller guarantees that many words.
        let given = unsafe { words(*visible, *visible_count) }?;
        trace.given(format_args!("ncid={ncid} varid={varid} visible={}", Words(given)));
        // SAFETY: our caller guarantees that libnetcdf calls with its own identifiers.
        let env = unsafe { Library::calling() }?.env(ncid, varid)?;
        trace.given(format_args!(" chunk={} array={:?}", Stage(&env.chunk()), env.array_shape));
        let bound = C::from_params(given)?.bind(&env.chunk(), &env)?;
        let stored = bound.stored.to_params()?;
        trace.answer(format_args!("visible={} working={}", Words(&stored), Words(&bound.working)));
        // All memory is allocated first, so that a failure changes nothing.
        let new_visible = if stored == given { None } else { Some(malloc_words(&stored)?) };
        let new_working = malloc_words(&bound.working)?;
        if let Some((start, len)) = new_visible {
            // SAFETY: the old vector is from malloc and replaced.
            unsafe { Allocator::LIBC.free(std::mem::replace(visible, start).cast()) };
            *visible_count = len;
        }
        // SAFETY: as above.
        unsafe { Allocator::LIBC.free(std::mem::replace(working, new_working.0).cast()) };
        *working_count = new_working.1;
        Ok(())
    })
}

/// Reads the configuration from a JSON text that includes the codec's name.
fn parse<C: Codec>(text: &[u8]) -> Result<C> {
    let mut map = wire::parse_object(text)?;
    let id = match map.shift_remove("id") {
        Some(Value::String(id)) => id,
        _ => return Err(CodecError::unsupported("JSON without a codec's id")),
    };
    if !Face::<C>::INFO.numcodecs.contains(&id) {
        return Err(CodecError::config("id", format!("{id:?} is another codec")));
    }
    // netcdf-c has no way to report remarks.
    C::from_json(Dialect::Numcodecs, &map, &mut Vec::new())
}

/// Returns the configuration as netcdf-c writes it: the name first, blanks after colons and between members.
fn print<C: Codec>(config: &C) -> Result<Vec<u8>> {
    let id = Value::from(names::numcodecs_id(Face::<C>::INFO));
    let mut text = format!("{{\"id\": {id}");
    for (key, value) in config.to_json(Dialect::Numcodecs)? {
        text.push_str(&format!(", {}: {value}", Value::from(key)));
    }
    text.push('}');
    Ok(text.into_bytes())
}

/// Runs `body` under the guard and turns the outcome into a netcdf error number.
fn answer(codec: &'static str, call: &str, body: impl FnOnce(&mut Trace) -> Result<()>) -> c_int {
    match guard(codec, call, body) {
        Ok(()) => error::NOERR,
        Err(error) => match error.kind() {
            ErrorKind::Config { .. } => error::EINVAL,
            ErrorKind::Panicked => error::EPLUGIN,
            // An error number of libnetcdf itself is returned to it. Some libraries fail with 0, which would
            // mean success here.
            ErrorKind::Plugin { code } if *code != 0 => c_int::try_from(*code).unwrap_or(error::EFILTER),
            _ => error::EFILTER,
        },
    }
}

/// # Safety
/// Both are null or can be written to for `'a`.
unsafe fn outputs<'a>(
    count: *mut usize,
    vector: *mut *mut c_uint,
) -> Result<(&'a mut usize, &'a mut *mut c_uint)> {
    // SAFETY: the caller promises it.
    match unsafe { (count.as_mut(), vector.as_mut()) } {
        (Some(count), Some(vector)) => Ok((count, vector)),
        _ => Err(CodecError::unsupported("called without a pointer for parameters")),
    }
}

/// # Safety
/// `params` is null or holds `count` words for `'a`.
unsafe fn words<'a>(params: *const c_uint, count: usize) -> Result<&'a [u32]> {
    match count {
        0 => Ok(&[]),
        1..=PARAMS_MAX if !params.is_null() => {
            // SAFETY: the caller promises it.
            Ok(unsafe { slice::from_raw_parts(params, count) })
        }
        _ => Err(CodecError::config("params", format!("{count} words at {params:p}"))),
    }
}

/// A vector from malloc and its length; null if there are no words.
fn malloc_words(words: &[u32]) -> Result<(*mut c_uint, usize)> {
    if words.is_empty() {
        return Ok((std::ptr::null_mut(), 0));
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    // malloc's blocks are aligned for every ordinary type.
    let (start, _) = CBuffer::copy_of(&bytes, Allocator::LIBC)?.into_raw();
    Ok((start.as_ptr().cast(), words.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_is_answered_with_success() {
        let plugin = |code| answer("test", "call", |_| Err(CodecError::new(ErrorKind::Plugin { code }, "")));
        assert_eq!(plugin(-33), -33);
        assert_eq!(plugin(0), error::EFILTER);
        assert_eq!(plugin(1 << 40), error::EFILTER);
    }
}
