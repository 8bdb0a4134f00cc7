//! The native interface between ncz and its plugins; `include/ncz_codec.h` is the same in C.
//!
//! One table of functions serves any number of codecs. Configurations, coders and scratches are opaque
//! handles of the plugin; texts are passed by pointer and length; structured texts are JSON (see
//! [`wire`](crate::wire)). Functions return 0 or a number of [`status`], with details in [`ErrorOut`].
//!
//! A table grows at its end only. `size` is its size when the plugin was compiled, so that a host
//! never reads past it. Any other change raises the major number of `api_version`.

use std::ffi::{CStr, c_char, c_void};

/// The name of the function that returns the table: `const ncz_plugin *ncz_codec_plugin(void)`.
pub const PLUGIN_SYMBOL: &CStr = c"ncz_codec_plugin";

/// The major number of this interface; tables with another one are refused.
pub const API_MAJOR: u16 = 1;
/// The minor number of this interface; it counts additions at the end of the table.
pub const API_MINOR: u16 = 1;
/// Both numbers in one word.
pub const API_VERSION: u32 = ((API_MAJOR as u32) << 16) | API_MINOR as u32;

/// "Not known" where a length is expected.
pub const NO_LENGTH: usize = usize::MAX;

/// The return values of functions: 0 or the kind of the error, as in [`ErrorKind`](crate::ErrorKind).
pub mod status {
    /// Done.
    pub const OK: i32 = 0;
    /// `Truncated`
    pub const TRUNCATED: i32 = 1;
    /// `Trailing`; `first` is the number of extra bytes.
    pub const TRAILING: i32 = 2;
    /// `Size`; `first` is the expected length, `second` the one found.
    pub const SIZE: i32 = 3;
    /// `Checksum`
    pub const CHECKSUM: i32 = 4;
    /// `Corrupt`
    pub const CORRUPT: i32 = 5;
    /// `OutputFull`; `second` is 1 if `first` is the length needed.
    pub const OUTPUT_FULL: i32 = 6;
    /// `Config`; the first `key_len` bytes of the text are the key.
    pub const CONFIG: i32 = 7;
    /// `Unsupported`; also an invalid call (a null pointer, an unknown codec number).
    pub const UNSUPPORTED: i32 = 8;
    /// `Plugin`; `first` is the code as a signed number.
    pub const PLUGIN: i32 = 9;
    /// `Panicked`
    pub const PANICKED: i32 = 10;
    /// `Values`
    pub const VALUES: i32 = 11;
}

/// The numbers of the JSON dialects.
pub mod dialect {
    /// `Dialect::Numcodecs`
    pub const NUMCODECS: u32 = 2;
    /// `Dialect::ZarrV3`
    pub const ZARR_V3: u32 = 3;
}

/// Where a function writes text: `write` may be called any number of times, each call appends.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Sink {
    /// Passed on to `write`.
    pub context: *mut c_void,
    /// Appends bytes.
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, data: *const c_char, len: usize)>,
}

/// The details of an error. The caller provides `text` and `text_capacity`; all else is written by a
/// function that fails. Texts that do not fit are cut at a character's boundary.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ErrorOut {
    /// A number whose meaning depends on [`status`].
    pub first: u64,
    /// A number whose meaning depends on [`status`].
    pub second: u64,
    /// The caller's buffer for UTF-8 text; may be null with a capacity of 0.
    pub text: *mut c_char,
    /// The size of the buffer.
    pub text_capacity: usize,
    /// The length of the text.
    pub text_len: usize,
    /// How many bytes at the text's beginning are the key (see [`status::CONFIG`]).
    pub key_len: usize,
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            _opaque: [u8; 0],
        }
    )+};
}

handles! {
    /// A configuration of a codec; may be used from any thread, and from several at a time.
    Config;
    /// A codec ready to run; may be used from any thread, and from several at a time.
    Coder;
    /// The working memory of one call to a coder; may move between threads, used by one at a time.
    Scratch;
}

/// `describe`: writes the names and properties of codec number `codec` as JSON.
pub type Describe = unsafe extern "C" fn(codec: u32, out: *const Sink, error: *mut ErrorOut) -> i32;
/// `config_from_json`: a configuration from JSON without the codec's name; `notes` gets one line per remark.
pub type ConfigFromJson = unsafe extern "C" fn(
    codec: u32,
    dialect: u32,
    json: *const c_char,
    json_len: usize,
    notes: *const Sink,
    config: *mut *mut Config,
    error: *mut ErrorOut,
) -> i32;
/// `config_from_params`: a configuration from parameter words.
pub type ConfigFromParams = unsafe extern "C" fn(
    codec: u32,
    params: *const u32,
    count: usize,
    config: *mut *mut Config,
    error: *mut ErrorOut,
) -> i32;
/// `config_to_json`: writes the configuration as JSON without the codec's name.
pub type ConfigToJson =
    unsafe extern "C" fn(config: *const Config, dialect: u32, out: *const Sink, error: *mut ErrorOut) -> i32;
/// `config_to_params`: writes the parameter words as a JSON array.
pub type ConfigToParams =
    unsafe extern "C" fn(config: *const Config, out: *const Sink, error: *mut ErrorOut) -> i32;
/// `config_free`
pub type ConfigFree = unsafe extern "C" fn(config: *mut Config);
/// `bind`: from a configuration and a JSON request to the stored configuration, a coder and a JSON response.
pub type Bind = unsafe extern "C" fn(
    config: *const Config,
    request: *const c_char,
    request_len: usize,
    response: *const Sink,
    stored: *mut *mut Config,
    coder: *mut *mut Coder,
    error: *mut ErrorOut,
) -> i32;
/// `coder_from_params`: a coder from working words.
pub type CoderFromParams = unsafe extern "C" fn(
    codec: u32,
    params: *const u32,
    count: usize,
    coder: *mut *mut Coder,
    error: *mut ErrorOut,
) -> i32;
/// `coder_free`
pub type CoderFree = unsafe extern "C" fn(coder: *mut Coder);
/// `scratch_new`
pub type ScratchNew =
    unsafe extern "C" fn(coder: *const Coder, scratch: *mut *mut Scratch, error: *mut ErrorOut) -> i32;
/// `scratch_free`
pub type ScratchFree = unsafe extern "C" fn(scratch: *mut Scratch);
/// `max_encoded_len`: the largest encoded length of `len` bytes, or [`NO_LENGTH`].
pub type MaxEncodedLen = unsafe extern "C" fn(coder: *const Coder, len: usize) -> usize;
/// `encode` and `decode`: from `input` to `output`; `written` gets the length.
pub type Transcode = unsafe extern "C" fn(
    coder: *const Coder,
    scratch: *mut Scratch,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_capacity: usize,
    written: *mut usize,
    error: *mut ErrorOut,
) -> i32;
/// `decoded_len`: the length that the stream states, or [`NO_LENGTH`].
pub type DecodedLen = unsafe extern "C" fn(
    coder: *const Coder,
    input: *const u8,
    input_len: usize,
    len: *mut usize,
    error: *mut ErrorOut,
) -> i32;
/// `version`: the version of the plugin, a semantic one such as `1.2.0` that ends with a zero byte and lives as long as
/// the library; null or empty if the plugin states no version.
pub type Version = unsafe extern "C" fn() -> *const c_char;
/// [`PLUGIN_SYMBOL`]
pub type PluginEntry = unsafe extern "C" fn() -> *const Plugin;

/// The table. No function pointer except the last may be null. A table of version 1.0 ends before
/// [`version`](Self::version).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// The size of the table in bytes.
    pub size: usize,
    /// [`API_VERSION`].
    pub api_version: u32,
    /// The number of codecs, which are numbered from 0.
    pub codec_count: u32,
    /// See [`Describe`].
    pub describe: Option<Describe>,
    /// See [`ConfigFromJson`].
    pub config_from_json: Option<ConfigFromJson>,
    /// See [`ConfigFromParams`].
    pub config_from_params: Option<ConfigFromParams>,
    /// See [`ConfigToJson`].
    pub config_to_json: Option<ConfigToJson>,
    /// See [`ConfigToParams`].
    pub config_to_params: Option<ConfigToParams>,
    /// See [`ConfigFree`].
    pub config_free: Option<ConfigFree>,
    /// See [`Bind`].
    pub bind: Option<Bind>,
    /// See [`CoderFromParams`].
    pub coder_from_params: Option<CoderFromParams>,
    /// See [`CoderFree`].
    pub coder_free: Option<CoderFree>,
    /// See [`ScratchNew`].
    pub scratch_new: Option<ScratchNew>,
    /// See [`ScratchFree`].
    pub scratch_free: Option<ScratchFree>,
    /// See [`MaxEncodedLen`].
    pub max_encoded_len: Option<MaxEncodedLen>,
    /// See [`Transcode`].
    pub encode: Option<Transcode>,
    /// See [`Transcode`].
    pub decode: Option<Transcode>,
    /// See [`DecodedLen`].
    pub decoded_len: Option<DecodedLen>,
    /// See [`Version`]; since 1.1. The only optional function.
    pub version: Option<Version>,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Sink>() == 16);
    assert!(offset_of!(Sink, write) == 8);
    assert!(size_of::<ErrorOut>() == 48);
    assert!(offset_of!(ErrorOut, text) == 16);
    assert!(offset_of!(ErrorOut, text_len) == 32);
    assert!(offset_of!(ErrorOut, key_len) == 40);
    assert!(size_of::<Plugin>() == 144);
    assert!(offset_of!(Plugin, api_version) == 8);
    assert!(offset_of!(Plugin, codec_count) == 12);
    assert!(offset_of!(Plugin, describe) == 16);
    assert!(offset_of!(Plugin, bind) == 64);
    assert!(offset_of!(Plugin, encode) == 112);
    assert!(offset_of!(Plugin, decoded_len) == 128);
    assert!(offset_of!(Plugin, version) == 136);
};
