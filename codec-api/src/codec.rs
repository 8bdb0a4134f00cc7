//! The codec, once: a typed configuration that can be bound to an input and then run.

use std::fmt;

use serde_json::{Map, Value};

use crate::error::{CodecError, Result};
use crate::info::CodecInfo;
use crate::repr::{Env, Repr, Size};

/// How a codec is spelled in JSON. The same name can mean another schema in another dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// numcodecs, as in Zarr v2 and NCZarr: `{"id": "zstd", "level": 3}`.
    Numcodecs,
    /// Zarr v3: `{"name": "zstd", "configuration": {"level": 3}}`.
    ZarrV3,
}

/// The typed configuration of a codec: read from JSON and from parameter words, and written as both.
///
/// `#[derive(CodecConfig)]` implements it for most codecs: each field is a key in JSON and, in order, a parameter word.
/// The documentation of the crate `ncz_codec_derive` lists the attributes.
///
/// ```
/// use ncz_codec::{Codec, CodecConfig, CodecError, CodecInfo, Coder, ConfigEnum, Dialect, Result, copy_bytes};
///
/// #[derive(Debug, Clone, PartialEq, CodecConfig)]
/// struct Example {
///     /// 5 if the key is missing, 9 if the word is.
///     #[codec(range = 1..=9, default(json = 5, params = 9))]
///     level: u32,
///     /// Not written if it is the default.
///     #[codec(default, omit_default)]
///     order: Order,
/// }
///
/// #[derive(Debug, Clone, Copy, PartialEq, Default, ConfigEnum)]
/// enum Order {
///     #[default]
///     RowMajor = 0,
///     #[codec(name = "columns")]
///     ColumnMajor = 1,
/// }
///
/// impl Codec for Example {
///     const INFO: CodecInfo = CodecInfo::new("example", "copies").numcodecs(&["example"]).lossless();
///     type Coder = Copies;
///
///     fn coder(_: &[u32]) -> Result<Copies> {
///         Ok(Copies)
///     }
/// }
///
/// # #[derive(Debug)]
/// # struct Copies;
/// # impl Coder for Copies {
/// #     type Scratch = ();
/// #     fn scratch(&self) {}
/// #     fn max_encoded_len(&self, len: usize) -> Option<usize> { Some(len) }
/// #     fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> { copy_bytes(input, output) }
/// #     fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> { copy_bytes(input, output) }
/// # }
/// let read = |json: serde_json::Value| {
///     Example::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())
/// };
/// let columns = Example { level: 5, order: Order::ColumnMajor };
/// assert_eq!(read(serde_json::json!({"order": "columns"}))?, columns);
/// assert_eq!(columns.to_params()?, [5, 1]);
/// assert_eq!(Example::from_params(&[])?, Example { level: 9, order: Order::RowMajor });
/// assert_eq!(
///     read(serde_json::json!({"level": 10})).unwrap_err().to_string(),
///     r#"configuration key "level" is not usable: 10 is not within 1 to 9"#
/// );
/// # Ok::<(), CodecError>(())
/// ```
pub trait CodecConfig: Sized {
    /// Reads the configuration from JSON, without the key that names the codec; pushes remarks that
    /// are not errors (an ignored key, a value taken as another) to `notes`.
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
}

/// A codec. The implementing struct is its typed configuration.
///
/// There are three parameter sets: as *given* (this struct), as *stored* in metadata and as *run*
/// (the working words that an HDF5 filter function gets). [`bind`](Self::bind) leads from the first
/// to the other two.
pub trait Codec: CodecConfig + Clone + fmt::Debug + Send + Sync + 'static {
    /// What the codec is called.
    const INFO: CodecInfo;

    /// Encodes and decodes once the configuration is bound.
    type Coder: Coder;

    /// Binds the configuration to what enters the stage.
    ///
    /// The default is that of a codec from bytes to bytes whose parameter words say all of its configuration: it
    /// stores the configuration as it is and runs with those words.
    ///
    /// # Errors
    /// The codec cannot take this input, or needs facts that `env` does not hold.
    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let _ = env;
        let working = self.to_params()?;
        let coder = Self::coder(&working)?;
        Bound::bytes(self.clone(), working, coder, input)
    }

    /// A coder from the working words alone, as an HDF5 filter function gets them.
    ///
    /// # Errors
    /// Words that no `bind` produces.
    fn coder(working: &[u32]) -> Result<Self::Coder>;

    /// Whether decoding may give other values back than were encoded, of this configuration, which is one that
    /// [`bind`](Self::bind) stored, and this input: what [`INFO`](CodecInfo::lossy) says of all of them, if the codec
    /// does
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

impl<C: Codec> Bound<C> {
    /// A codec from bytes to bytes that is bound to `input`: how long its output is follows from the coder.
    ///
    /// # Errors
    /// `input` is longer than the coder can encode.
    pub fn bytes(stored: C, working: Vec<u32>, coder: C::Coder, input: &Repr) -> Result<Self> {
        let too_long = |len| {
            CodecError::unsupported(format!("{len} bytes are more than {} takes at once", C::INFO.name))
        };
        let most = |len| coder.max_encoded_len(len).ok_or_else(|| too_long(len));
        let size = match input.size()? {
            Size::Exact(len) if C::Coder::HAS_FIXED_LEN => Size::Exact(most(len)?),
            Size::AtMost(len) if C::Coder::HAS_FIXED_LEN => Size::AtMost(most(len)?),
            Size::Exact(len) => Size::AtMost(most(len)?),
            // The input may be shorter: one that is too long is refused when it is encoded.
            Size::AtMost(len) => coder.max_encoded_len(len).map_or(Size::Unknown, Size::AtMost),
            Size::Unknown => Size::Unknown,
        };
        Ok(Self { stored, working, output: Repr::Bytes { size }, coder })
    }
}

/// Runs a bound codec. Shared between threads; what a call needs to write to is in the scratch.
pub trait Coder: fmt::Debug + Send + Sync + 'static {
    /// Contexts and tables that one thread reuses from call to call, so that a call allocates nothing.
    type Scratch: Send + 'static;

    /// Whether every encoding of `len` bytes has exactly [`max_encoded_len(len)`](Self::max_encoded_len) bytes.
    const HAS_FIXED_LEN: bool = false;

    /// A fresh scratch for one thread.
    fn scratch(&self) -> Self::Scratch;

    /// The most bytes that [`encode`](Self::encode) makes of `len` bytes, or `None` if that overflows.
    fn max_encoded_len(&self, len: usize) -> Option<usize>;

    /// Encodes `input` into `output` and returns the length. Any input has a valid encoding:
    /// data that do not shrink are not an error. `output` holds at least
    /// [`max_encoded_len`](Self::max_encoded_len) bytes.
    ///
    /// # Errors
    /// The input is not of the bound representation, or the library fails. A codec that would give back other values
    /// than
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

/// Copies `input` to the start of `output`: how a codec decodes whose encoding only changed values. Returns the length.
///
/// # Errors
/// `output` is shorter.
pub fn copy_bytes(input: &[u8], output: &mut [u8]) -> Result<usize> {
    let full = || CodecError::output_full(Some(input.len()));
    output.get_mut(..input.len()).ok_or_else(full)?.copy_from_slice(input);
    Ok(input.len())
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numcodecs => "numcodecs",
            Self::ZarrV3 => "Zarr v3",
        })
    }
}
