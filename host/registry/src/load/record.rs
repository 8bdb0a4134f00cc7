//! The records of C plugins, checked and copied into owned values.

use std::ffi::{c_char, c_int};

use ncz_codec::abi::{hdf5, nczarr};

use super::c_faces::{FilterFacts, JsonFacts};

/// The longest accepted name of a filter.
const NAME_MAX: usize = 1024;
/// The most NCZarr codecs that one library may list.
const DEFAULTS_MAX: usize = 4096;
/// Why a record of a library is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A plugin of HDF5, but no filter.
    #[error("not a filter plugin: its plugin type is {0}, filters have 0")]
    NotAFilter(i32),
    /// The entry function returns no record.
    #[error("its entry function returns no record")]
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
    /// The native face has an incompatible version of the interface.
    #[error("built with an incompatible version of the codec interface: {0}; rebuild it")]
    OtherApi(String),
    /// The version of the plugin cannot be compared.
    #[error("its version {0:?} is not a semantic version such as 1.2.0")]
    BadVersion(String),
    /// The native face breaks a rule.
    #[error("its native table is not usable: {0}")]
    BadTable(String),
}

/// The contents of an HDF5 filter's record.
#[derive(Debug, Clone)]
pub(super) struct Hdf5Record {
    pub(super) facts: FilterFacts,
    pub(super) filter: hdf5::Filter,
    pub(super) can_apply: Option<hdf5::CanApply>,
    pub(super) set_local: Option<hdf5::SetLocal>,
    /// The record itself, for a libhdf5 that registers the filter.
    pub(super) class: Class,
}

/// The address of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class(pub(super) *const hdf5::Class2);

// SAFETY: nothing writes there: records are constants of libraries that are never closed.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

/// The contents of a codec's record.
#[derive(Debug, Clone)]
pub(super) struct CodecRecord {
    pub(super) facts: JsonFacts,
    pub(super) initialize: Option<unsafe extern "C" fn()>,
    pub(super) codec_to_hdf5: nczarr::CodecToHdf5,
    pub(super) hdf5_to_codec: nczarr::Hdf5ToCodec,
    pub(super) modify_parameters: Option<nczarr::ModifyParameters>,
}

impl Hdf5Record {
    /// # Safety
    /// `record` is null or from a filter plugin: a record with its strings and functions that live
    /// as long as the library.
    pub(super) unsafe fn take(class: *const hdf5::Class2) -> Result<Self, RecordError> {
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
    /// `record` is null or from a codec library: a record with its strings and functions that live
    /// as long as the library.
    pub(super) unsafe fn take(record: *const nczarr::Codec) -> Result<Self, RecordError> {
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
    pub(super) unsafe fn take_all(records: *const *const nczarr::Codec) -> Vec<Result<Self, RecordError>> {
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

/// # Safety
/// `record` is null or begins with its version.
unsafe fn check_version(record: *const c_int, known: c_int) -> Result<(), RecordError> {
    if record.is_null() {
        return Err(RecordError::NoRecord);
    }
    // SAFETY: not null, as checked above; the caller guarantees that the version is valid.
    let version = unsafe { record.read_unaligned() };
    if version == known { Ok(()) } else { Err(RecordError::NewerThanNcz { version, known }) }
}

fn filter_id(id: i64) -> Result<u32, RecordError> {
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
    // SAFETY: that many bytes were just read.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
    let text = std::str::from_utf8(bytes).ok()?;
    (len <= NAME_MAX && !text.contains(char::is_control)).then(|| text.to_owned())
}
