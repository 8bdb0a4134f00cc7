//! The NCZarr codec of a library that runs in this process.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use ncz_codec::abi::nczarr;
use ncz_codec::{CodecError, ErrorKind, Result, wire};
use serde_json::{Map, Value};

use super::Library;
use super::c_faces::JsonFacts;
use super::c_memory::{Malloced, padded, usable_size};
use super::record::CodecRecord;

/// The most parameters of a filter.
pub(super) const PARAMS_MAX: usize = 1 << 16;

/// An NCZarr codec of a library that runs in this process: it reads and writes JSON for a filter.
#[derive(Clone)]
pub struct NczarrCodec {
    library: Arc<Library>,
    record: CodecRecord,
}

impl NczarrCodec {
    pub(super) fn new(library: Arc<Library>, record: CodecRecord) -> Self {
        Self { library, record }
    }

    /// The library.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// The numcodecs id.
    pub fn codec_id(&self) -> &str {
        &self.record.facts.codec_id
    }

    /// The id of the filter that runs the codec, 1 to 65535.
    pub fn filter_id(&self) -> u32 {
        self.record.facts.filter_id
    }

    /// Whether the codec makes working parameters of the visible ones.
    pub fn has_modify_parameters(&self) -> bool {
        self.record.facts.has_modify_parameters
    }

    pub(super) fn modify_function(&self) -> Option<nczarr::ModifyParameters> {
        self.record.modify_parameters
    }

    #[cfg(feature = "probe")]
    pub(super) fn to_words_function(&self) -> nczarr::CodecToHdf5 {
        self.record.codec_to_hdf5
    }

    #[cfg(feature = "probe")]
    pub(super) fn to_json_function(&self) -> nczarr::Hdf5ToCodec {
        self.record.hdf5_to_codec
    }

    pub(super) fn facts(&self) -> &JsonFacts {
        &self.record.facts
    }

    /// Calls `NCZ_codec_to_hdf5`: the visible parameters for a configuration without the codec's id.
    pub(super) fn call_to_params(&self, config: &Map<String, Value>) -> Result<Vec<u32>> {
        let mut whole = Map::new();
        whole.insert("id".to_owned(), self.codec_id().into());
        whole.extend(
            config.iter().filter(|(key, _)| *key != "id").map(|(key, value)| (key.clone(), value.clone())),
        );
        let mut text = Value::Object(whole).to_string().into_bytes();
        if text.contains(&0) {
            return Err(CodecError::unsupported("a zero byte in JSON"));
        }
        text.push(0);
        self.library.initialize();
        let _calls = self.library.one_call();
        let (mut count, mut words) = (0, std::ptr::null_mut());
        // SAFETY: called as netcdf-c calls it, with a C string and two valid output pointers.
        let code =
            unsafe { (self.record.codec_to_hdf5)(text.as_ptr().cast(), &raw mut count, &raw mut words) };
        let words = Malloced(NonNull::new(words.cast()));
        check(code, "NCZ_codec_to_hdf5")?;
        match words.0 {
            _ if count == 0 => Ok(Vec::new()),
            Some(start) if count <= PARAMS_MAX && usable_size(start) >= count * 4 => {
                let start = start.cast::<u32>().as_ptr();
                // SAFETY: the block holds at least that many words, according to its size.
                Ok((0..count).map(|i| unsafe { start.add(i).read_unaligned() }).collect())
            }
            _ => Err(CodecError::unsupported(format!(
                "the library reports {count} parameters but does not return them"
            ))),
        }
    }

    /// Calls `NCZ_hdf5_to_codec`: the configuration without the codec's id for visible parameters.
    pub(super) fn call_to_json(&self, params: &[u32]) -> Result<Map<String, Value>> {
        // Some libraries read parameters beyond the end; if there are none, netcdf-c passes a null pointer.
        let padded = padded(params);
        let start = if params.is_empty() { std::ptr::null() } else { padded.as_ptr() };
        self.library.initialize();
        let _calls = self.library.one_call();
        let mut text: *mut c_char = std::ptr::null_mut();
        // SAFETY: called as netcdf-c calls it.
        let code = unsafe { (self.record.hdf5_to_codec)(params.len(), start, &raw mut text) };
        let text = Malloced(NonNull::new(text.cast()));
        check(code, "NCZ_hdf5_to_codec")?;
        let start = text.0.ok_or_else(|| CodecError::unsupported("the library returns no JSON"))?;
        let room = usable_size(start);
        // SAFETY: the block has that size. Bytes after the text may never have been written, so they
        // are read one by one and only up to the end of the text.
        let bytes = (0..room).map(|i| unsafe { start.as_ptr().cast::<u8>().add(i).read() });
        let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        if bytes.len() == room {
            return Err(CodecError::unsupported("the library returns a text without a terminating zero"));
        }
        let mut map = wire::parse_object(&bytes)?;
        match map.shift_remove("id") {
            Some(Value::String(id)) if id == self.codec_id() => Ok(map),
            other => Err(CodecError::config(
                "id",
                format!(
                    "the library writes {}, its codec is {:?}",
                    other.unwrap_or(Value::Null),
                    self.codec_id()
                ),
            )),
        }
    }
}

impl fmt::Debug for NczarrCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NczarrCodec").field("id", &self.codec_id()).field("library", &self.library).finish()
    }
}

/// An error for a code other than NC_NOERR.
pub(super) fn check(code: c_int, function: &str) -> Result<()> {
    if code == nczarr::error::NOERR {
        return Ok(());
    }
    Err(CodecError::new(ErrorKind::Plugin { code: code.into() }, format!("from {function}")))
}
