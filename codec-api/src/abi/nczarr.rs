//! The NCZarr codec interface (`netcdf_filter_build.h` of netcdf-c 4.9 and later) and the libnetcdf constants that a
//! codec needs.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The name of the function that returns a codec's record.
pub const CODEC_INFO_SYMBOL: &CStr = c"NCZ_get_codec_info";
/// The name of the function that returns a null-terminated vector of records.
pub const CODEC_DEFAULTS_SYMBOL: &CStr = c"NCZ_codec_info_defaults";
/// A function of the 2021 draft only; its record has another layout.
pub const DRAFT_CODEC_TYPE_SYMBOL: &CStr = c"NCZ_codec_type";

/// The version of [`Codec`] (`NCZ_CODEC_CLASS_VER`).
pub const CODEC_VERSION: c_int = 1;
/// The sort of a codec that belongs to an HDF5 filter (`NCZ_CODEC_HDF5`).
pub const SORT_HDF5: c_int = 1;

/// `int (*)(const char* codec_json, size_t* nparams, unsigned** params)`
pub type CodecToHdf5 = unsafe extern "C" fn(*const c_char, *mut usize, *mut *mut c_uint) -> c_int;
/// `int (*)(size_t nparams, const unsigned* params, char** codec_json)`
pub type Hdf5ToCodec = unsafe extern "C" fn(usize, *const c_uint, *mut *mut c_char) -> c_int;
/// `int (*)(int ncid, int varid, size_t* vnparams, unsigned** vparams, size_t* wnparams, unsigned** wparams)`
pub type ModifyParameters =
    unsafe extern "C" fn(c_int, c_int, *mut usize, *mut *mut c_uint, *mut usize, *mut *mut c_uint) -> c_int;
/// `const void* NCZ_get_codec_info(void)`, also `NCZ_codec_info_defaults`
pub type CodecInfo = unsafe extern "C" fn() -> *const c_void;

/// A codec's record (`NCZ_codec_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    /// [`CODEC_VERSION`].
    pub version: c_int,
    /// [`SORT_HDF5`].
    pub sort: c_int,
    /// The numcodecs id.
    pub codecid: *const c_char,
    /// The id of the HDF5 filter that runs the codec.
    pub hdf5id: c_uint,
    /// Called once after loading; may be null.
    pub initialize: Option<unsafe extern "C" fn()>,
    /// Called before unloading; may be null.
    pub finalize: Option<unsafe extern "C" fn()>,
    /// JSON to parameters, in a vector from malloc.
    pub codec_to_hdf5: Option<CodecToHdf5>,
    /// Parameters to JSON, in a string from malloc.
    pub hdf5_to_codec: Option<Hdf5ToCodec>,
    /// Visible parameters to working ones; may be null.
    pub modify_parameters: Option<ModifyParameters>,
}

/// Error numbers of netcdf-c that codecs use.
pub mod error {
    use std::ffi::c_int;

    /// `NC_NOERR`
    pub const NOERR: c_int = 0;
    /// `NC_EINVAL`: an argument, or a value in the JSON, is wrong.
    pub const EINVAL: c_int = -36;
    /// `NC_ENOMEM`
    pub const ENOMEM: c_int = -61;
    /// `NC_EFILTER`: the filter failed.
    pub const EFILTER: c_int = -132;
    /// `NC_EPLUGIN`: the plugin is not valid.
    pub const EPLUGIN: c_int = -142;
}

/// Numbers of netcdf's atomic types (`nc_type`).
pub mod nc_type {
    use std::ffi::c_int;

    /// `NC_BYTE`
    pub const BYTE: c_int = 1;
    /// `NC_CHAR`
    pub const CHAR: c_int = 2;
    /// `NC_SHORT`
    pub const SHORT: c_int = 3;
    /// `NC_INT`
    pub const INT: c_int = 4;
    /// `NC_FLOAT`
    pub const FLOAT: c_int = 5;
    /// `NC_DOUBLE`
    pub const DOUBLE: c_int = 6;
    /// `NC_UBYTE`
    pub const UBYTE: c_int = 7;
    /// `NC_USHORT`
    pub const USHORT: c_int = 8;
    /// `NC_UINT`
    pub const UINT: c_int = 9;
    /// `NC_INT64`
    pub const INT64: c_int = 10;
    /// `NC_UINT64`
    pub const UINT64: c_int = 11;
    /// `NC_STRING`
    pub const STRING: c_int = 12;
}

/// `NC_CHUNKED`
pub const STORAGE_CHUNKED: c_int = 0;
/// `NC_ENDIAN_LITTLE`
pub const ENDIAN_LITTLE: c_int = 1;
/// `NC_ENDIAN_BIG`
pub const ENDIAN_BIG: c_int = 2;

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Codec>() == 64);
    assert!(offset_of!(Codec, version) == 0);
    assert!(offset_of!(Codec, sort) == 4);
    assert!(offset_of!(Codec, codecid) == 8);
    assert!(offset_of!(Codec, hdf5id) == 16);
    assert!(offset_of!(Codec, initialize) == 24);
    assert!(offset_of!(Codec, finalize) == 32);
    assert!(offset_of!(Codec, codec_to_hdf5) == 40);
    assert!(offset_of!(Codec, hdf5_to_codec) == 48);
    assert!(offset_of!(Codec, modify_parameters) == 56);
};
