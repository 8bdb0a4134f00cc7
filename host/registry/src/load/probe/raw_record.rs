//! The records of a library as they are, not as a host can use them.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use ncz_codec::abi::{hdf5, nczarr};

use crate::load::Library;

/// The most records of a vector that are looked at.
const RECORDS_MAX: usize = 4096;
/// The most bytes of a name that are looked at.
const NAME_MAX: usize = 1024;

/// The results of the two entry functions of an HDF5 plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPlugin {
    /// The plugin type; filters have 0.
    pub plugin_type: c_int,
    /// The record; none if it is null, or if the plugin is not a filter.
    pub record: Option<RawFilter>,
}

/// A filter's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFilter {
    /// Its address.
    pub address: usize,
    /// Its version. The rest is given for version 1 only.
    pub version: c_int,
    /// The contents of a record of version 1.
    pub fields: Option<RawFilterFields>,
}

/// The contents of a filter's record of version 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFilterFields {
    /// The id.
    pub id: c_int,
    /// Whether it declares that it encodes.
    pub encoder_present: u32,
    /// Whether it declares that it decodes.
    pub decoder_present: u32,
    /// The name, cut at 1024 bytes; none if it is null.
    pub name: Option<Vec<u8>>,
    /// The addresses of its functions; 0 for none: `can_apply`, `set_local`, the filter function.
    pub functions: [usize; 3],
}

/// A codec's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCodec {
    /// Its address.
    pub address: usize,
    /// Its version. The rest is given for version 1 only.
    pub version: c_int,
    /// The contents of a record of version 1.
    pub fields: Option<RawCodecFields>,
}

/// The contents of a codec's record of version 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCodecFields {
    /// The sort; 1 for codecs of HDF5 filters.
    pub sort: c_int,
    /// The numcodecs id, cut at 1024 bytes; none if it is null.
    pub codec_id: Option<Vec<u8>>,
    /// The filter's id.
    pub filter_id: u32,
    /// The addresses of its functions; 0 for none: `initialize`, `finalize`, `codec_to_hdf5`, `hdf5_to_codec`,
    /// `modify_parameters`.
    pub functions: [usize; 5],
}

/// The result of `NCZ_codec_info_defaults`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDefaults {
    /// The records up to the terminating null; none if there is no vector.
    pub records: Option<Vec<RawCodec>>,
    /// Whether the null was found.
    pub ends: bool,
}

impl Library {
    /// Hdf5Imports the library for the record of its HDF5 filter; none if it exports no such pair of functions.
    pub fn raw_hdf5(self: &Arc<Self>) -> Option<RawPlugin> {
        let pairs = [
            (hdf5::PLUGIN_TYPE_SYMBOL, hdf5::PLUGIN_INFO_SYMBOL),
            (hdf5::DRAFT_PLUGIN_TYPE_SYMBOL, hdf5::DRAFT_PLUGIN_INFO_SYMBOL),
        ];
        // SAFETY: the interface gives functions of this name these types, in all plugins of HDF5.
        let (plugin_type, info) = pairs.into_iter().find_map(|(plugin_type, info)| unsafe {
            Some((self.symbol::<hdf5::PluginType>(plugin_type)?, self.symbol::<hdf5::PluginInfo>(info)?))
        })?;
        let _calls = self.one_call();
        // SAFETY: called as HDF5 calls it.
        let plugin_type = unsafe { plugin_type() };
        if plugin_type != hdf5::PLUGIN_TYPE_FILTER {
            return Some(RawPlugin { plugin_type, record: None });
        }
        // SAFETY: called as HDF5 calls it; a filter's record lives as long as the library.
        let record = unsafe { RawFilter::read(info().cast()) };
        Some(RawPlugin { plugin_type, record })
    }

    /// Queries the library for the record of its NCZarr codec: `None` if it does not export that function or exports
    /// that of the draft, `Some(None)` if the function returns null.
    pub fn raw_codec(self: &Arc<Self>) -> Option<Option<RawCodec>> {
        if self.exports(nczarr::DRAFT_CODEC_TYPE_SYMBOL) {
            return None;
        }
        // SAFETY: the interface gives a function of this name this type in all codec libraries since 2021.
        let info: nczarr::CodecInfo = unsafe { self.symbol(nczarr::CODEC_INFO_SYMBOL) }?;
        let _calls = self.one_call();
        // SAFETY: called as netcdf-c calls it; the record lives as long as the library.
        Some(unsafe { RawCodec::read(info().cast()) })
    }

    /// Queries the library for its vector of NCZarr codecs; `None` if it does not export that function.
    pub fn raw_defaults(self: &Arc<Self>) -> Option<RawDefaults> {
        // SAFETY: the interface gives a function of this name this type.
        let info: nczarr::CodecInfo = unsafe { self.symbol(nczarr::CODEC_DEFAULTS_SYMBOL) }?;
        let _calls = self.one_call();
        // SAFETY: called as netcdf-c calls it.
        let vector: *const *const nczarr::Codec = unsafe { info() }.cast();
        if vector.is_null() {
            return Some(RawDefaults { records: None, ends: false });
        }
        let mut records = Vec::new();
        for at in 0..RECORDS_MAX {
            // SAFETY: the vector goes on until a null is met; a vector without one is a bug in the plugin.
            let record = unsafe { RawCodec::read(vector.add(at).read_unaligned()) };
            let Some(record) = record else {
                return Some(RawDefaults { records: Some(records), ends: true });
            };
            records.push(record);
        }
        Some(RawDefaults { records: Some(records), ends: false })
    }
}

impl RawFilter {
    /// # Safety
    /// As for `Hdf5Record::take`.
    unsafe fn read(record: *const hdf5::Class2) -> Option<Self> {
        // SAFETY: null, or a record that begins with its version.
        let version = unsafe { version(record.cast()) }?;
        let fields = (version == hdf5::CLASS_VERSION).then(|| {
            // SAFETY: of the version whose layout this is; it may lie at any address.
            let fields = unsafe { record.read_unaligned() };
            RawFilterFields {
                id: fields.id,
                encoder_present: fields.encoder_present,
                decoder_present: fields.decoder_present,
                // SAFETY: the record's name is null or a C string.
                name: unsafe { bytes(fields.name) },
                functions: [
                    fields.can_apply.map_or(0, |function| function as usize),
                    fields.set_local.map_or(0, |function| function as usize),
                    fields.filter.map_or(0, |function| function as usize),
                ],
            }
        });
        Some(Self { address: record as usize, version, fields })
    }
}

impl RawCodec {
    /// # Safety
    /// As for `CodecRecord::take`.
    unsafe fn read(record: *const nczarr::Codec) -> Option<Self> {
        // SAFETY: null, or a record that begins with its version.
        let version = unsafe { version(record.cast()) }?;
        let fields = (version == nczarr::CODEC_VERSION).then(|| {
            // SAFETY: of the version whose layout this is; it may lie at any address.
            let fields = unsafe { record.read_unaligned() };
            RawCodecFields {
                sort: fields.sort,
                // SAFETY: the record's id is null or a C string.
                codec_id: unsafe { bytes(fields.codecid) },
                filter_id: fields.hdf5id,
                functions: [
                    fields.initialize.map_or(0, |function| function as usize),
                    fields.finalize.map_or(0, |function| function as usize),
                    fields.codec_to_hdf5.map_or(0, |function| function as usize),
                    fields.hdf5_to_codec.map_or(0, |function| function as usize),
                    fields.modify_parameters.map_or(0, |function| function as usize),
                ],
            }
        });
        Some(Self { address: record as usize, version, fields })
    }
}

/// # Safety
/// `record` is null or begins with its version.
unsafe fn version(record: *const c_int) -> Option<c_int> {
    // SAFETY: not null, as checked first; the caller guarantees that the version is valid.
    (!record.is_null()).then(|| unsafe { record.read_unaligned() })
}

/// # Safety
/// `text` is null, a C string, or `NAME_MAX` bytes can be read there.
unsafe fn bytes(text: *const c_char) -> Option<Vec<u8>> {
    if text.is_null() {
        return None;
    }
    // SAFETY: reads up to the end of the text or the limit, whichever comes first.
    let len = unsafe { libc::strnlen(text, NAME_MAX) };
    // SAFETY: that many bytes were just read.
    Some(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) }.to_vec())
}
