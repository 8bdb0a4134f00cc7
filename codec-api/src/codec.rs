//! The codec, once: a typed configuration that can be bound to an input and then run.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

use crate::error::Result;
use crate::repr::{Env, Repr};

/// How a codec is spelled in JSON. The same name can mean another schema in another dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// numcodecs, as in Zarr v2 and NCZarr: `{"id": "zstd", "level": 3}`.
    Numcodecs,
    /// Zarr v3: `{"name": "zstd", "configuration": {"level": 3}}`.
    ZarrV3,
}

/// What a codec is called and what it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecInfo {
    /// The name for people, also the HDF5 filter name, e.g. `"zstd"`.
    pub name: Cow<'static, str>,
    /// One line that says what it does.
    pub summary: Cow<'static, str>,
    /// The HDF5 filter id (1 to 65535), if the codec has one.
    pub filter_id: Option<u32>,
    /// Its numcodecs ids: the one to write first, then others that are accepted. Empty: none.
    pub numcodecs: Cow<'static, [Cow<'static, str>]>,
    /// Its Zarr v3 names, in the same way.
    pub zarr_v3: Cow<'static, [Cow<'static, str>]>,
    /// Whether working parameters differ from the stored ones, so that HDF5 needs a `set_local`
    /// and netcdf-c an `NCZ_modify_parameters`.
    pub has_working_params: bool,
    /// Whether the stream carries a checksum over its content, so that damage is always seen.
    pub has_checksum: bool,
    /// Whether decoding may give other values back than were encoded, with some configuration or input; `None` if
    /// that is not known.
    pub lossy: Option<bool>,
}

/// A codec. The implementing struct is its typed configuration.
///
/// There are three parameter sets: as *given* (this struct), as *stored* in metadata and as *run*
/// (the working words that an HDF5 filter function gets). [`bind`](Self::bind) leads from the first
/// to the other two.
pub trait Codec: Clone + fmt::Debug + Send + Sync + 'static {
    /// What the codec is called.
    const INFO: CodecInfo;

    /// Encodes and decodes once the configuration is bound.
    type Coder: Coder;

    /// Reads the configuration from JSON, without the key that names the codec; pushes remarks that
    /// are no errors (an ignored key, a value taken as another) to `notes`.
    ///
    /// # Errors
    /// A key of the wrong type or out of range, or a dialect that does not know the codec.
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self>;

    /// The configuration as JSON, without the key that names the codec: the least set of keys that
    /// the dialect defines, in its customary order.
    ///
    /// # Errors
    /// The dialect cannot express this configuration.
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>>;

    /// Reads the configuration from parameter words, as given by a user or as stored by HDF5.
    ///
    /// # Errors
    /// Too few or too many words, or one out of range.
    fn from_params(params: &[u32]) -> Result<Self>;

    /// The configuration as parameter words, as a user gives them.
    ///
    /// # Errors
    /// The words cannot express this configuration.
    fn to_params(&self) -> Result<Vec<u32>>;

    /// Binds the configuration to what enters the stage.
    ///
    /// # Errors
    /// The codec cannot take this input, or needs facts that `env` does not hold.
    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>>;

    /// A coder from the working words alone, as an HDF5 filter function gets them.
    ///
    /// # Errors
    /// Words that no `bind` produces.
    fn coder(working: &[u32]) -> Result<Self::Coder>;

    /// Whether decoding may give other values back than were encoded, of this configuration, which is one that
    /// [`bind`](Self::bind) stored, and this input: what [`INFO`](CodecInfo::lossy) says of all of them, if the codec does
    /// not know better. `Some(false)` is a promise for every bit.
    fn is_lossy(&self, input: &Repr) -> Option<bool> {
        let _ = input;
        Self::INFO.lossy
    }
}

/// A configuration bound to its input.
#[derive(Debug, Clone)]
pub struct Bound<C: Codec> {
    /// What metadata get.
    pub stored: C,
    /// What an HDF5 filter function gets.
    pub working: Vec<u32>,
    /// What leaves the stage when encoding, with an upper bound of its size where there is one.
    pub output: Repr,
    /// Runs the codec.
    pub coder: C::Coder,
}

/// Runs a bound codec. Shared between threads; what a call needs to write to is in the scratch.
pub trait Coder: fmt::Debug + Send + Sync + 'static {
    /// Contexts and tables that one thread reuses from call to call, so that a call allocates nothing.
    type Scratch: Send + 'static;

    /// A fresh scratch for one thread.
    fn scratch(&self) -> Self::Scratch;

    /// The most bytes that [`encode`](Self::encode) makes of `len` bytes, or `None` if that overflows.
    fn max_encoded_len(&self, len: usize) -> Option<usize>;

    /// Encodes `input` into `output` and returns the length. Any input has a valid encoding:
    /// data that do not shrink are no error. `output` holds at least
    /// [`max_encoded_len`](Self::max_encoded_len) bytes.
    ///
    /// # Errors
    /// The input is not of the bound representation, or the library fails. A codec that would give back other values than
    /// its configuration promises refuses them with [`Values`](crate::ErrorKind::Values).
    fn encode(&self, scratch: &mut Self::Scratch, input: &[u8], output: &mut [u8]) -> Result<usize>;

    /// Decodes the whole of `input` into `output` and returns the length. Never writes or claims more
    /// than `output.len()`; a stream that would gives [`OutputFull`](crate::ErrorKind::OutputFull).
    ///
    /// # Errors
    /// The stream is truncated, followed by other bytes, damaged or too long.
    fn decode(&self, scratch: &mut Self::Scratch, input: &[u8], output: &mut [u8]) -> Result<usize>;

    /// The decoded length that the stream itself states, if it does. Untrusted: check it against a
    /// limit before taking memory.
    ///
    /// # Errors
    /// The part that states it is truncated or damaged.
    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let _ = input;
        Ok(None)
    }
}

impl CodecInfo {
    /// The names in `dialect`, the one to write first.
    pub fn names(&self, dialect: Dialect) -> &[Cow<'static, str>] {
        match dialect {
            Dialect::Numcodecs => &self.numcodecs,
            Dialect::ZarrV3 => &self.zarr_v3,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numcodecs => "numcodecs",
            Self::ZarrV3 => "Zarr v3",
        })
    }
}
