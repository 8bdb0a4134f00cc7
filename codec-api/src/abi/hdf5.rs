//! The HDF5 filter plugin interface (`H5PLextern.h`, `H5Zpublic.h`, `H5Tpublic.h` of HDF5 1.10 and later).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The name of the function that returns the plugin type of a library.
pub const PLUGIN_TYPE_SYMBOL: &CStr = c"H5PLget_plugin_type";
/// The name of the function that returns the filter's record.
pub const PLUGIN_INFO_SYMBOL: &CStr = c"H5PLget_plugin_info";
/// [`PLUGIN_TYPE_SYMBOL`] in the draft of the interface.
pub const DRAFT_PLUGIN_TYPE_SYMBOL: &CStr = c"H5Z_plugin_type";
/// [`PLUGIN_INFO_SYMBOL`] in the draft of the interface; the record is the same.
pub const DRAFT_PLUGIN_INFO_SYMBOL: &CStr = c"H5Z_get_plugin_info";

/// The plugin type of a filter (`H5PL_TYPE_FILTER`).
pub const PLUGIN_TYPE_FILTER: c_int = 0;
/// The version of [`Class2`] (`H5Z_CLASS_T_VERS`).
pub const CLASS_VERSION: c_int = 1;
/// The largest filter id (`H5Z_FILTER_MAX`).
pub const FILTER_MAX: c_int = 65535;
/// A failing filter may be left out for this chunk.
pub const FLAG_OPTIONAL: c_uint = 0x0001;
/// The filter decodes.
pub const FLAG_REVERSE: c_uint = 0x0100;
/// Checksums need not be checked when decoding.
pub const FLAG_SKIP_EDC: c_uint = 0x0200;

/// An object handle of libhdf5 (`hid_t` since HDF5 1.10).
pub type Hid = i64;
/// `htri_t (*can_apply)(hid_t dcpl_id, hid_t type_id, hid_t space_id)`
pub type CanApply = unsafe extern "C" fn(Hid, Hid, Hid) -> c_int;
/// `herr_t (*set_local)(hid_t dcpl_id, hid_t type_id, hid_t space_id)`
pub type SetLocal = unsafe extern "C" fn(Hid, Hid, Hid) -> c_int;
/// `size_t (*filter)(unsigned flags, size_t cd_nelmts, const unsigned cd_values[], size_t nbytes,
/// size_t *buf_size, void **buf)`: returns the number of valid bytes in `*buf`, 0 for failure.
pub type Filter =
    unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize;
/// `H5PL_type_t H5PLget_plugin_type(void)`
pub type PluginType = unsafe extern "C" fn() -> c_int;
/// `const void *H5PLget_plugin_info(void)`
pub type PluginInfo = unsafe extern "C" fn() -> *const c_void;

/// A filter's record (`H5Z_class2_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Class2 {
    /// [`CLASS_VERSION`].
    pub version: c_int,
    /// The filter id.
    pub id: c_int,
    /// 1 if the filter encodes.
    pub encoder_present: c_uint,
    /// 1 if the filter decodes.
    pub decoder_present: c_uint,
    /// A human-readable name.
    pub name: *const c_char,
    /// Whether the filter can run on a type and a space; may be null.
    pub can_apply: Option<CanApply>,
    /// Writes the working parameters into the property list; may be null.
    pub set_local: Option<SetLocal>,
    /// Encodes and decodes.
    pub filter: Option<Filter>,
}

/// The values of `H5T_class_t` that a filter distinguishes.
pub mod class {
    use std::ffi::c_int;

    /// `H5T_INTEGER`
    pub const INTEGER: c_int = 0;
    /// `H5T_FLOAT`
    pub const FLOAT: c_int = 1;
    /// `H5T_BITFIELD`
    pub const BITFIELD: c_int = 4;
    /// `H5T_ENUM`
    pub const ENUM: c_int = 8;
    /// `H5T_ARRAY`
    pub const ARRAY: c_int = 10;
    /// `H5T_COMPLEX`
    pub const COMPLEX: c_int = 11;
}

/// `H5D_FILL_VALUE_USER_DEFINED`
pub const FILL_VALUE_USER_DEFINED: c_int = 2;
/// `H5T_ORDER_LE`
pub const ORDER_LE: c_int = 0;
/// `H5T_ORDER_BE`
pub const ORDER_BE: c_int = 1;
/// `H5T_SGN_NONE`: an unsigned integer.
pub const SIGN_NONE: c_int = 0;

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Class2>() == 48);
    assert!(offset_of!(Class2, version) == 0);
    assert!(offset_of!(Class2, id) == 4);
    assert!(offset_of!(Class2, encoder_present) == 8);
    assert!(offset_of!(Class2, decoder_present) == 12);
    assert!(offset_of!(Class2, name) == 16);
    assert!(offset_of!(Class2, can_apply) == 24);
    assert!(offset_of!(Class2, set_local) == 32);
    assert!(offset_of!(Class2, filter) == 40);
};
