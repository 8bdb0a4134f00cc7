//! Codecs that use the native face. Encoding and decoding are plain calls: no lock, no allocation.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use ncz_codec::abi::hdf5;
use ncz_codec::abi::native::{self as abi, ErrorOut, NO_LENGTH, Plugin, Sink, status};
use ncz_codec::{
    AnyCoder, AnyConfig, BoundStage, CodecError, CodecInfo, CodecType, Dialect, Env, Repr, Result, Scratch,
    wire,
};
use semver::Version;
use serde_json::{Map, Value};

use super::Library;
use super::record::RecordError;

/// The text of an error is cut after this many bytes.
const TEXT_MAX: usize = 1024;
/// More codecs in one library are a mistake.
const CODECS_MAX: u32 = 4096;
/// The longest version.
const VERSION_MAX: usize = 256;
/// The size of a table of interface version 1.0.
const SIZE_1_0: usize = std::mem::offset_of!(Plugin, version);

/// A codec of a library with the native face.
#[derive(Clone)]
pub struct NativeCodec(Arc<Shared>);

/// The functions of a plugin's table, none of them null, and its own description.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// The version of the plugin, if it states one.
    pub(super) version: Option<Version>,
    /// The version of the interface that it was built for.
    pub(super) interface: Version,
    codec_count: u32,
    describe: abi::Describe,
    config_from_json: abi::ConfigFromJson,
    config_from_params: abi::ConfigFromParams,
    config_to_json: abi::ConfigToJson,
    config_to_params: abi::ConfigToParams,
    config_free: abi::ConfigFree,
    bind: abi::Bind,
    coder_from_params: abi::CoderFromParams,
    coder_free: abi::CoderFree,
    scratch_new: abi::ScratchNew,
    scratch_free: abi::ScratchFree,
    max_encoded_len: abi::MaxEncodedLen,
    encode: abi::Transcode,
    decode: abi::Transcode,
    decoded_len: abi::DecodedLen,
}

struct Shared {
    /// Keeps the functions of the table callable.
    library: Arc<Library>,
    table: Table,
    number: u32,
    info: CodecInfo,
}

/// A configuration of the plugin.
struct NativeConfig {
    codec: Arc<Shared>,
    handle: NonNull<abi::Config>,
}

/// A coder of the plugin.
struct NativeCoder(Arc<CoderHandle>);

struct CoderHandle {
    codec: Arc<Shared>,
    handle: NonNull<abi::Coder>,
}

/// A scratch of the plugin, with the coder that made it: it works only with that coder.
struct NativeScratch {
    coder: Arc<CoderHandle>,
    handle: Result<NonNull<abi::Scratch>>,
}

// SAFETY: the interface allows configurations to be used from any thread, by several at a time.
unsafe impl Send for NativeConfig {}
// SAFETY: as above.
unsafe impl Sync for NativeConfig {}
// SAFETY: the interface allows coders to be used from any thread, by several at a time.
unsafe impl Send for CoderHandle {}
// SAFETY: as above.
unsafe impl Sync for CoderHandle {}
// SAFETY: the interface allows scratches to move between threads.
unsafe impl Send for NativeScratch {}

impl NativeCodec {
    /// All codecs of a table.
    pub(super) fn all(library: &Arc<Library>, table: &Table) -> Result<Vec<Self>, RecordError> {
        (0..table.codec_count).map(|number| Self::new(library, table.clone(), number)).collect()
    }

    /// The library.
    pub fn library(&self) -> &Arc<Library> {
        &self.0.library
    }

    /// Makes a configuration from unchecked text.
    pub(super) fn parse_text(
        &self,
        dialect: Dialect,
        text: &[u8],
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>> {
        let Shared { table, number, .. } = &*self.0;
        let mut handle = std::ptr::null_mut();
        let remarks = text_of(|sink, error| {
            // SAFETY: the table's contract; `self` keeps the function.
            unsafe {
                (table.config_from_json)(
                    *number,
                    wire::dialect_number(dialect),
                    text.as_ptr().cast(),
                    text.len(),
                    sink,
                    &raw mut handle,
                    error,
                )
            }
        })?;
        let config = NativeConfig::new(&self.0, handle)?;
        notes.extend(String::from_utf8_lossy(&remarks).lines().map(str::to_owned));
        Ok(Arc::new(config))
    }

    fn new(library: &Arc<Library>, table: Table, number: u32) -> Result<Self, RecordError> {
        let bad = |error: CodecError| RecordError::BadTable(format!("codec number {number}: {error}"));
        let text = text_of(|sink, error| {
            // SAFETY: the table's contract; `library` keeps the function.
            unsafe { (table.describe)(number, sink, error) }
        });
        let info = wire::info_from_json(&text.map_err(bad)?).map_err(bad)?;
        if let Some(id) = info.filter_id.filter(|id| !(1..=hdf5::FILTER_MAX as u32).contains(id)) {
            return Err(RecordError::IdOutOfRange(id.into()));
        }
        let is_bad = |name: &str| name.is_empty() || name.contains(char::is_control);
        if is_bad(&info.name) || info.numcodecs.iter().chain(info.zarr_v3.iter()).any(is_bad) {
            return Err(RecordError::BadName("codec name"));
        }
        if info.summary.contains(char::is_control) {
            return Err(RecordError::BadName("summary"));
        }
        Ok(Self(Arc::new(Shared { library: Arc::clone(library), table, number, info })))
    }
}

impl Table {
    /// # Safety
    /// `table` is null or a plugin's table, which lives as long as the library.
    pub(super) unsafe fn take(table: *const Plugin) -> Result<Self, RecordError> {
        // The size and the version are there in every version.
        if table.is_null() {
            return Err(RecordError::NoRecord);
        }
        // SAFETY: not null, and a table begins with its size; it may lie at any address.
        let size = unsafe { table.cast::<usize>().read_unaligned() };
        if size < std::mem::offset_of!(Plugin, describe) {
            return Err(RecordError::BadTable(format!("it has {size} bytes")));
        }
        // SAFETY: the table is large enough to have it.
        let version = unsafe { (&raw const (*table).api_version).read_unaligned() };
        let (major, minor) = ((version >> 16) as u16, version as u16);
        if major != abi::API_MAJOR {
            return Err(RecordError::OtherApi(format!(
                "its interface is {major}.{minor}, this program's {}.{}",
                abi::API_MAJOR,
                abi::API_MINOR
            )));
        }
        let known = if minor == 0 { SIZE_1_0 } else { size_of::<Plugin>() };
        if size < known {
            return Err(RecordError::BadTable(format!("it has {size} of {known} bytes")));
        }
        // Fields that a table of 1.0 lacks are null.
        let mut whole = MaybeUninit::<Plugin>::zeroed();
        // SAFETY: the plugin's table has at least `known` bytes, and `whole` has room for them.
        unsafe { table.cast::<u8>().copy_to_nonoverlapping(whole.as_mut_ptr().cast(), known) };
        // SAFETY: all fields are numbers or functions that may be null, so zeros are valid, and what was copied is a
        // table of this major version.
        let table = unsafe { whole.assume_init() };
        if !(1..=CODECS_MAX).contains(&table.codec_count) {
            return Err(RecordError::BadTable(format!("it states {} codecs", table.codec_count)));
        }
        let none = RecordError::NoFunction;
        Ok(Self {
            // SAFETY: the table's contract.
            version: table.version.map_or(Ok(None), |version| unsafe { version_of(version) })?,
            interface: Version::new(major.into(), minor.into(), 0),
            codec_count: table.codec_count,
            describe: table.describe.ok_or(none("describe"))?,
            config_from_json: table.config_from_json.ok_or(none("config_from_json"))?,
            config_from_params: table.config_from_params.ok_or(none("config_from_params"))?,
            config_to_json: table.config_to_json.ok_or(none("config_to_json"))?,
            config_to_params: table.config_to_params.ok_or(none("config_to_params"))?,
            config_free: table.config_free.ok_or(none("config_free"))?,
            bind: table.bind.ok_or(none("bind"))?,
            coder_from_params: table.coder_from_params.ok_or(none("coder_from_params"))?,
            coder_free: table.coder_free.ok_or(none("coder_free"))?,
            scratch_new: table.scratch_new.ok_or(none("scratch_new"))?,
            scratch_free: table.scratch_free.ok_or(none("scratch_free"))?,
            max_encoded_len: table.max_encoded_len.ok_or(none("max_encoded_len"))?,
            encode: table.encode.ok_or(none("encode"))?,
            decode: table.decode.ok_or(none("decode"))?,
            decoded_len: table.decoded_len.ok_or(none("decoded_len"))?,
        })
    }
}

/// The version that a plugin states.
///
/// # Safety
/// `version` is the function of a plugin's table.
unsafe fn version_of(version: abi::Version) -> Result<Option<Version>, RecordError> {
    // SAFETY: called as the C header says.
    let text = unsafe { version() };
    if text.is_null() {
        return Ok(None);
    }
    // A text without an end is followed no further than a version may be long.
    // SAFETY: reads up to the end of the text or the limit, whichever comes first.
    let len = unsafe { libc::strnlen(text, VERSION_MAX + 1) };
    // SAFETY: that many bytes were just read.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= VERSION_MAX);
    let text = text.filter(|text| !text.contains(char::is_control)).ok_or(RecordError::BadName("version"))?;
    match text {
        "" => Ok(None),
        text => Version::parse(text).map(Some).map_err(|_| RecordError::BadVersion(text.to_owned())),
    }
}

impl CodecType for NativeCodec {
    fn info(&self) -> &CodecInfo {
        &self.0.info
    }

    fn parse_json(
        &self,
        dialect: Dialect,
        config: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>> {
        self.parse_text(dialect, Value::Object(config.clone()).to_string().as_bytes(), notes)
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn AnyConfig>> {
        let Shared { table, number, .. } = &*self.0;
        let mut handle = std::ptr::null_mut();
        checked(|error| {
            // SAFETY: the table's contract; `self` keeps the function.
            unsafe {
                (table.config_from_params)(*number, params.as_ptr(), params.len(), &raw mut handle, error)
            }
        })?;
        Ok(Arc::new(NativeConfig::new(&self.0, handle)?))
    }

    fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>> {
        let Shared { table, number, .. } = &*self.0;
        let mut handle = std::ptr::null_mut();
        checked(|error| {
            // SAFETY: the table's contract; `self` keeps the function.
            unsafe {
                (table.coder_from_params)(*number, working.as_ptr(), working.len(), &raw mut handle, error)
            }
        })?;
        Ok(Arc::new(NativeCoder::new(&self.0, handle)?))
    }
}

impl AnyConfig for NativeConfig {
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let text = text_of(|sink, error| {
            // SAFETY: the table's contract; the handle is the plugin's and alive.
            unsafe {
                (self.codec.table.config_to_json)(
                    self.handle.as_ptr(),
                    wire::dialect_number(dialect),
                    sink,
                    error,
                )
            }
        })?;
        wire::parse_object(&text)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        let text = text_of(|sink, error| {
            // SAFETY: the table's contract; the handle is the plugin's and alive.
            unsafe { (self.codec.table.config_to_params)(self.handle.as_ptr(), sink, error) }
        })?;
        wire::parse_words(&text)
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<BoundStage> {
        let request = wire::request_to_json(input, env).to_string();
        let (mut stored, mut coder) = (std::ptr::null_mut(), std::ptr::null_mut());
        let response = text_of(|sink, error| {
            // SAFETY: the table's contract; the handle is the plugin's and alive.
            unsafe {
                (self.codec.table.bind)(
                    self.handle.as_ptr(),
                    request.as_ptr().cast(),
                    request.len(),
                    sink,
                    &raw mut stored,
                    &raw mut coder,
                    error,
                )
            }
        })?;
        // Both handles get their owners before anything else can fail.
        let (stored, coder) = (NativeConfig::new(&self.codec, stored), NativeCoder::new(&self.codec, coder));
        let (working, output, lossy) = wire::response_from_json(&response)?;
        let lossy = lossy.or(self.codec.info.lossy);
        Ok(BoundStage { stored: Arc::new(stored?), working, output, lossy, coder: Arc::new(coder?) })
    }
}

impl AnyCoder for NativeCoder {
    fn scratch(&self) -> Scratch {
        let CoderHandle { codec, handle } = &*self.0;
        let mut scratch = std::ptr::null_mut();
        let made = checked(|error| {
            // SAFETY: the table's contract; the handle is the plugin's and alive.
            unsafe { (codec.table.scratch_new)(handle.as_ptr(), &raw mut scratch, error) }
        });
        let handle = made.and_then(|()| NonNull::new(scratch).ok_or_else(no_handle));
        Scratch::new(NativeScratch { coder: Arc::clone(&self.0), handle })
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        let CoderHandle { codec, handle } = &*self.0;
        // SAFETY: the table's contract; the handle is the plugin's and alive.
        let most = unsafe { (codec.table.max_encoded_len)(handle.as_ptr(), len) };
        (most != NO_LENGTH).then_some(most)
    }

    fn encode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.run(self.0.codec.table.encode, scratch, input, output)
    }

    fn decode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.run(self.0.codec.table.decode, scratch, input, output)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let CoderHandle { codec, handle } = &*self.0;
        let mut len = NO_LENGTH;
        checked(|error| {
            // SAFETY: the table's contract; the handle is the plugin's and alive.
            unsafe {
                (codec.table.decoded_len)(handle.as_ptr(), input.as_ptr(), input.len(), &raw mut len, error)
            }
        })?;
        Ok((len != NO_LENGTH).then_some(len))
    }
}

impl NativeCoder {
    fn new(codec: &Arc<Shared>, handle: *mut abi::Coder) -> Result<Self> {
        let handle = NonNull::new(handle).ok_or_else(no_handle)?;
        Ok(Self(Arc::new(CoderHandle { codec: Arc::clone(codec), handle })))
    }

    fn run(
        &self,
        function: abi::Transcode,
        scratch: &mut Scratch,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize> {
        let scratch: &mut NativeScratch = scratch.downcast()?;
        if !Arc::ptr_eq(&scratch.coder, &self.0) {
            return Err(CodecError::unsupported("the scratch belongs to another coder"));
        }
        let handle = *scratch.handle.as_ref().map_err(Clone::clone)?;
        let mut written = usize::MAX;
        checked(|error| {
            // SAFETY: the table's contract: both handles are the plugin's and alive, the scratch is made
            // by this coder and borrowed only by this call, input and output are apart.
            unsafe {
                function(
                    self.0.handle.as_ptr(),
                    handle.as_ptr(),
                    input.as_ptr(),
                    input.len(),
                    output.as_mut_ptr(),
                    output.len(),
                    &raw mut written,
                    error,
                )
            }
        })?;
        if written > output.len() {
            return Err(CodecError::size(
                output.len(),
                written,
                "the plugin reports more than its buffer holds",
            ));
        }
        Ok(written)
    }
}

impl NativeConfig {
    fn new(codec: &Arc<Shared>, handle: *mut abi::Config) -> Result<Self> {
        let handle = NonNull::new(handle).ok_or_else(no_handle)?;
        Ok(Self { codec: Arc::clone(codec), handle })
    }
}

impl Drop for NativeConfig {
    fn drop(&mut self) {
        // SAFETY: the handle is ours to free, once.
        unsafe { (self.codec.table.config_free)(self.handle.as_ptr()) }
    }
}

impl Drop for CoderHandle {
    fn drop(&mut self) {
        // SAFETY: the handle is ours to free, once; scratches that need it hold it alive.
        unsafe { (self.codec.table.coder_free)(self.handle.as_ptr()) }
    }
}

impl Drop for NativeScratch {
    fn drop(&mut self) {
        if let Ok(handle) = &self.handle {
            // SAFETY: the handle is ours to free, once.
            unsafe { (self.coder.codec.table.scratch_free)(handle.as_ptr()) }
        }
    }
}

impl fmt::Debug for NativeCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeCodec").field("name", &self.info.name).field("library", &self.library).finish()
    }
}

impl fmt::Debug for NativeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeConfig").field(&self.codec.info.name).finish()
    }
}

impl fmt::Debug for NativeCoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeCoder").field(&self.0.codec.info.name).finish()
    }
}

/// Calls a function of the table that can fail.
#[inline]
fn checked(call: impl FnOnce(*mut ErrorOut) -> i32) -> Result<()> {
    let mut text = [0_u8; TEXT_MAX];
    let mut error = ErrorOut {
        first: 0,
        second: 0,
        text: text.as_mut_ptr().cast::<c_char>(),
        text_capacity: TEXT_MAX,
        text_len: 0,
        key_len: 0,
    };
    match call(&raw mut error) {
        status::OK => Ok(()),
        number => Err(failure(number, &error, &text)),
    }
}

#[cold]
fn failure(number: i32, error: &ErrorOut, text: &[u8; TEXT_MAX]) -> CodecError {
    // `error.text` is not followed: a plugin may have stored its own pointer there. Zeros are dropped
    // from a text that it reports but did not write.
    let text = &text[..error.text_len.min(TEXT_MAX)];
    let text = &text[..text.iter().position(|&byte| byte == 0).unwrap_or(text.len())];
    let (key, detail) = text.split_at(error.key_len.min(text.len()));
    wire::error_of(
        number,
        error.first,
        error.second,
        &String::from_utf8_lossy(key),
        &String::from_utf8_lossy(detail),
    )
}

/// Calls a function of the table that writes text.
fn text_of(call: impl FnOnce(*const Sink, *mut ErrorOut) -> i32) -> Result<Vec<u8>> {
    unsafe extern "C" fn append(context: *mut c_void, data: *const c_char, len: usize) {
        if data.is_null() || len > isize::MAX as usize {
            return;
        }
        // SAFETY: the context is the vector below, during the call that it was made for; the plugin
        // guarantees that this many bytes are valid.
        unsafe {
            let out = &mut *context.cast::<Vec<u8>>();
            out.extend_from_slice(std::slice::from_raw_parts(data.cast(), len));
        }
    }
    let mut out: Vec<u8> = Vec::new();
    let sink = Sink { context: (&raw mut out).cast(), write: Some(append) };
    checked(|error| call(&raw const sink, error))?;
    Ok(out)
}

fn no_handle() -> CodecError {
    CodecError::unsupported("the plugin reports success but returns nothing")
}
