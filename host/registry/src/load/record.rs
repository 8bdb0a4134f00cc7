//! The records of C plugins, checked and copied into owned values.

use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use ncz_codec::abi::{hdf5, nczarr};
use ncz_codec::{CodecError, ErrorKind, Result, wire};
use serde_json::{Map, Value};

use super::Library;
use super::half::{Direction, FilterFacts, FilterHalf, JsonFacts, JsonHalf, Modified, Variable};
use super::{filter_call, foreign, libnetcdf, local};

/// The longest name of a filter that is taken for one.
const NAME_MAX: usize = 1024;
/// The most codec halves that one library may list.
const DEFAULTS_MAX: usize = 4096;
/// The most parameters of a filter.
pub(super) const PARAMS_MAX: usize = 1 << 16;

/// Why a record of a library is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A plugin of HDF5, but no filter.
    #[error("not a filter plugin: its plugin type is {0}, filters have 0")]
    NotAFilter(i32),
    /// The entry function gives no record.
    #[error("its entry function gives no record")]
    NoRecord,
    /// The record is of a version that is not known: a newer one, or none at all.
    #[error("its record has version {version}; this program knows {known}")]
    NewerThanNcz {
        /// The version in the record.
        version: i32,
        /// The version that is known.
        known: i32,
    },
    /// The record is of a sort that is not known.
    #[error("its codec is of sort {0}, the only known sort is 1")]
    UnknownSort(i32),
    /// The filter id is not one.
    #[error("its filter id is {0}, not within 1 to 65535")]
    IdOutOfRange(i64),
    /// The name cannot be read.
    #[error("its {0} is not readable text")]
    BadName(&'static str),
    /// A function that every plugin must have is missing.
    #[error("its record has no {0} function")]
    NoFunction(&'static str),
    /// A codec record as the draft of 2021 had it, with another layout.
    #[error("draft codec record: a proposal of 2021 with another layout, which no release of netcdf-c uses")]
    DraftCodec,
    /// The native face belongs to an incompatible version of the interface.
    #[error("built with an incompatible version of the codec interface: {0}; rebuild it")]
    OtherApi(String),
    /// The native face breaks a rule.
    #[error("its native table is not usable: {0}")]
    BadTable(String),
}

/// What an HDF5 filter's record says.
#[derive(Debug, Clone)]
pub(super) struct Hdf5Record {
    pub(super) facts: FilterFacts,
    pub(super) filter: hdf5::Filter,
    can_apply: Option<hdf5::CanApply>,
    set_local: Option<hdf5::SetLocal>,
    /// The record itself, for a libhdf5 that is told of the filter.
    class: Class,
}

/// Where a record lies.
#[derive(Debug, Clone, Copy)]
struct Class(*const hdf5::Class2);

// SAFETY: nobody writes there: records are constants of libraries that are never closed.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

/// What a codec's record says.
#[derive(Debug, Clone)]
pub(super) struct CodecRecord {
    pub(super) facts: JsonFacts,
    pub(super) initialize: Option<unsafe extern "C" fn()>,
    pub(super) codec_to_hdf5: nczarr::CodecToHdf5,
    pub(super) hdf5_to_codec: nczarr::Hdf5ToCodec,
    modify_parameters: Option<nczarr::ModifyParameters>,
}

/// An HDF5 filter of a library.
#[derive(Clone)]
pub struct Hdf5Half {
    library: Arc<Library>,
    record: Hdf5Record,
}

/// An NCZarr codec of a library: it reads and writes JSON for a filter.
#[derive(Clone)]
pub struct CodecHalf {
    library: Arc<Library>,
    record: CodecRecord,
}

impl Hdf5Half {
    pub(super) fn new(library: Arc<Library>, record: Hdf5Record) -> Self {
        Self { library, record }
    }

    /// The library.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// The filter id, 1 to 65535.
    pub fn id(&self) -> u32 {
        self.record.facts.id
    }

    /// The name for people; may be empty.
    pub fn name(&self) -> &str {
        &self.record.facts.name
    }

    /// Whether the filter says that it encodes.
    pub fn encodes(&self) -> bool {
        self.record.facts.encodes
    }

    /// Whether the filter says that it decodes.
    pub fn decodes(&self) -> bool {
        self.record.facts.decodes
    }

    /// Whether the filter tests types before it runs.
    pub fn has_can_apply(&self) -> bool {
        self.record.facts.has_can_apply
    }

    /// Whether the filter makes working parameters of the user's.
    pub fn has_set_local(&self) -> bool {
        self.record.facts.has_set_local
    }

    pub(super) fn filter(&self) -> hdf5::Filter {
        self.record.filter
    }

    pub(super) fn can_apply(&self) -> Option<hdf5::CanApply> {
        self.record.can_apply
    }

    pub(super) fn set_local_function(&self) -> Option<hdf5::SetLocal> {
        self.record.set_local
    }

    /// The record where the library has it.
    pub(super) fn class(&self) -> *const hdf5::Class2 {
        self.record.class.0
    }

    /// Makes a call of the filter function, alone unless the filter is known to bear company. Where `fails` says
    /// so of the result, what the filter said on the error stack comes with it.
    pub(super) fn with_words<R>(
        &self,
        call: impl FnOnce() -> R,
        fails: impl FnOnce(&R) -> bool,
    ) -> (R, Vec<String>) {
        let library = &self.library;
        let _call = (!library.is_parallel(&self.record.facts)).then(|| library.one_call());
        library.forget_words();
        let result = call();
        let words = if fails(&result) { library.take_words() } else { Vec::new() };
        (result, words)
    }

    /// The name as it stands in sentences, or the number where it is empty.
    pub(super) fn title(&self) -> String {
        let name = foreign::short(self.name());
        if name.is_empty() { self.id().to_string() } else { name.to_owned() }
    }
}

impl CodecHalf {
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
}

impl JsonHalf for CodecHalf {
    fn facts(&self) -> &JsonFacts {
        &self.record.facts
    }

    fn prepare(&self) -> Result<()> {
        self.library.initialize();
        Ok(())
    }

    fn to_params(&self, config: &Map<String, Value>) -> Result<Vec<u32>> {
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
        // SAFETY: called as netcdf-c calls it, with a C string and two places.
        let code =
            unsafe { (self.record.codec_to_hdf5)(text.as_ptr().cast(), &raw mut count, &raw mut words) };
        let words = Malloced(NonNull::new(words.cast()));
        check(code, "NCZ_codec_to_hdf5")?;
        match words.0 {
            _ if count == 0 => Ok(Vec::new()),
            Some(start) if count <= PARAMS_MAX && usable_size(start) >= count * 4 => {
                let start = start.cast::<u32>().as_ptr();
                // SAFETY: the block holds at least that many words, as its size says.
                Ok((0..count).map(|i| unsafe { start.add(i).read_unaligned() }).collect())
            }
            _ => Err(CodecError::unsupported(format!(
                "the library claims {count} parameters that it does not give"
            ))),
        }
    }

    fn to_json(&self, params: &[u32]) -> Result<Map<String, Value>> {
        // Some libraries read parameters that are not there; where there are none, netcdf-c has no place for them.
        let padded = padded(params);
        let start = if params.is_empty() { std::ptr::null() } else { padded.as_ptr() };
        self.library.initialize();
        let _calls = self.library.one_call();
        let mut text: *mut c_char = std::ptr::null_mut();
        // SAFETY: called as netcdf-c calls it.
        let code = unsafe { (self.record.hdf5_to_codec)(params.len(), start, &raw mut text) };
        let text = Malloced(NonNull::new(text.cast()));
        check(code, "NCZ_hdf5_to_codec")?;
        let start = text.0.ok_or_else(|| CodecError::unsupported("the library gives no JSON"))?;
        let room = usable_size(start);
        // SAFETY: the block has that size. Bytes behind the text may never have been written, so they
        // are read one by one and only up to the end of the text.
        let bytes = (0..room).map(|i| unsafe { start.as_ptr().cast::<u8>().add(i).read() });
        let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        if bytes.len() == room {
            return Err(CodecError::unsupported("the library gives a text without an end"));
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

    fn modify_parameters(&self, visible: &[u32], variable: &Variable) -> Result<Modified> {
        libnetcdf::modify(self, visible, variable)
    }
}

impl FilterHalf for Hdf5Half {
    fn facts(&self) -> &FilterFacts {
        &self.record.facts
    }

    fn prepare(&self) -> Result<()> {
        self.library.initialize();
        Ok(())
    }

    fn set_local(&self, given: &[u32], variable: &Variable) -> Result<Vec<u32>> {
        self.library.initialize();
        local::working(self, given, variable)
    }

    fn run(&self, direction: Direction, params: &[u32], input: &[u8], output: &mut [u8]) -> Result<usize> {
        filter_call::run(self, direction, params, input, output)
    }
}

impl Hdf5Record {
    /// # Safety
    /// `record` is null or what a filter plugin gives: a record with its strings and functions that live
    /// as long as the library.
    pub(super) unsafe fn take(class: *const hdf5::Class2) -> std::result::Result<Self, RecordError> {
        let record = class;
        // Only the version is there in every version.
        // SAFETY: null, or a record that begins with its version.
        unsafe { check_version(record.cast(), hdf5::CLASS_VERSION) }?;
        // SAFETY: not null, and of the version whose layout this is; it may lie at any address.
        let record = unsafe { record.read_unaligned() };
        let id = filter_id(record.id.into())?;
        let name = match record.name.is_null() {
            true => String::new(),
            // SAFETY: the record's name is a C string.
            false => unsafe { text(record.name) }.ok_or(RecordError::BadName("name"))?,
        };
        Ok(Self {
            facts: FilterFacts {
                id,
                name,
                encodes: record.encoder_present != 0,
                decodes: record.decoder_present != 0,
                has_can_apply: record.can_apply.is_some(),
                has_set_local: record.set_local.is_some(),
            },
            filter: record.filter.ok_or(RecordError::NoFunction("filter"))?,
            can_apply: record.can_apply,
            set_local: record.set_local,
            class: Class(class),
        })
    }
}

impl CodecRecord {
    /// # Safety
    /// `record` is null or what a codec library gives: a record with its strings and functions that live
    /// as long as the library.
    pub(super) unsafe fn take(record: *const nczarr::Codec) -> std::result::Result<Self, RecordError> {
        // SAFETY: null, or a record that begins with its version.
        unsafe { check_version(record.cast(), nczarr::CODEC_VERSION) }?;
        // SAFETY: not null, and of the version whose layout this is; it may lie at any address.
        let record = unsafe { record.read_unaligned() };
        if record.sort != nczarr::SORT_HDF5 {
            return Err(RecordError::UnknownSort(record.sort));
        }
        let filter_id = filter_id(record.hdf5id.into())?;
        let bad_id = RecordError::BadName("codec id");
        if record.codecid.is_null() {
            return Err(bad_id);
        }
        // SAFETY: the record's id is a C string.
        let codec_id = unsafe { text(record.codecid) }.filter(|id| !id.is_empty()).ok_or(bad_id)?;
        Ok(Self {
            facts: JsonFacts {
                codec_id,
                filter_id,
                has_modify_parameters: record.modify_parameters.is_some(),
            },
            initialize: record.initialize,
            codec_to_hdf5: record.codec_to_hdf5.ok_or(RecordError::NoFunction("codec_to_hdf5"))?,
            hdf5_to_codec: record.hdf5_to_codec.ok_or(RecordError::NoFunction("hdf5_to_codec"))?,
            modify_parameters: record.modify_parameters,
        })
    }

    /// # Safety
    /// `records` is null or a vector of records that ends with null.
    pub(super) unsafe fn take_all(
        records: *const *const nczarr::Codec,
    ) -> Vec<std::result::Result<Self, RecordError>> {
        if records.is_null() {
            return vec![Err(RecordError::NoRecord)];
        }
        (0..DEFAULTS_MAX)
            // SAFETY: the vector goes on until a null is met.
            .map(|i| unsafe { records.add(i).read_unaligned() })
            .take_while(|record| !record.is_null())
            // SAFETY: a record of the library.
            .map(|record| unsafe { Self::take(record) })
            .collect()
    }
}

impl fmt::Debug for Hdf5Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hdf5Half").field("id", &self.id()).field("library", &self.library).finish()
    }
}

impl fmt::Debug for CodecHalf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodecHalf").field("id", &self.codec_id()).field("library", &self.library).finish()
    }
}

/// A block that a library got from malloc and left to us.
pub(super) struct Malloced(pub(super) Option<NonNull<c_void>>);

impl Drop for Malloced {
    fn drop(&mut self) {
        if let Some(start) = self.0 {
            // SAFETY: from malloc, ours, and not used any more.
            unsafe { libc::free(start.as_ptr()) }
        }
    }
}

/// The parameters with zeros behind them, for libraries that read more than they are given.
pub(super) fn padded(params: &[u32]) -> Vec<u32> {
    let mut words = params.to_vec();
    words.resize(params.len() + 32, 0);
    words
}

/// How many bytes a block of malloc holds.
pub(super) fn usable_size(start: NonNull<c_void>) -> usize {
    #[cfg(target_os = "macos")]
    // SAFETY: the block is one of malloc's.
    let size = unsafe { libc::malloc_size(start.as_ptr()) };
    #[cfg(not(target_os = "macos"))]
    // SAFETY: the block is one of malloc's.
    let size = unsafe { libc::malloc_usable_size(start.as_ptr()) };
    size
}

/// # Safety
/// `record` is null or begins with its version.
unsafe fn check_version(record: *const c_int, known: c_int) -> std::result::Result<(), RecordError> {
    if record.is_null() {
        return Err(RecordError::NoRecord);
    }
    // SAFETY: not null, says the line above; the version is there, says the caller.
    let version = unsafe { record.read_unaligned() };
    if version == known { Ok(()) } else { Err(RecordError::NewerThanNcz { version, known }) }
}

fn filter_id(id: i64) -> std::result::Result<u32, RecordError> {
    let range = 1..=i64::from(hdf5::FILTER_MAX);
    u32::try_from(id).ok().filter(|_| range.contains(&id)).ok_or(RecordError::IdOutOfRange(id))
}

/// A name; none if it is too long, not UTF-8, or would steer a terminal.
///
/// # Safety
/// `text` is a C string, or `NAME_MAX` bytes and one more can be read there.
unsafe fn text(text: *const c_char) -> Option<String> {
    // A text without an end is followed no further than a name may be long.
    // SAFETY: reads up to the end of the text or the limit, whichever comes first.
    let len = unsafe { libc::strnlen(text, NAME_MAX + 1) };
    // SAFETY: so many bytes were just read.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
    let text = std::str::from_utf8(bytes).ok()?;
    (len <= NAME_MAX && !text.contains(char::is_control)).then(|| text.to_owned())
}

pub(super) fn check(code: c_int, function: &str) -> Result<()> {
    if code == nczarr::error::NOERR {
        return Ok(());
    }
    Err(CodecError::new(ErrorKind::Plugin { code: code.into() }, format!("from {function}")))
}
