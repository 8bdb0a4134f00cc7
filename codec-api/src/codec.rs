//! The codec traits: a typed configuration that can be bound to an input and then run.

use std::fmt;

use serde_json::{Map, Value};

use crate::dialect::Dialect;
use crate::error::{CodecError, Result};
use crate::info::CodecInfo;
use crate::repr::{Env, Repr, Size};

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
///     /// The default is 5 for the JSON key and 9 for the word.
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
    /// are not errors (an ignored key, a value interpreted as another) to `notes`.
    ///
    /// # Errors
    /// A key of the wrong type or out of range, or a dialect in which the codec is not defined.
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self>;

    /// Returns the configuration as JSON, without the key that names the codec: the smallest set of
    /// keys that the dialect defines, in its usual order.
    ///
    /// # Errors
    /// The dialect cannot express this configuration.
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>>;

    /// Reads the configuration from parameter words, as given by a user or as stored by HDF5.
    ///
    /// # Errors
    /// Too few or too many words, or one out of range.
    fn from_params(params: &[u32]) -> Result<Self>;

    /// Returns the configuration as parameter words, as a user gives them.
    ///
    /// # Errors
    /// The words cannot express this configuration.
    fn to_params(&self) -> Result<Vec<u32>>;
}

/// A codec. The implementing struct is its typed configuration.
///
/// There are three parameter sets: as *given* (this struct), as *stored* in metadata and as *run*
/// (the working words that an HDF5 filter function gets). [`bind`](Self::bind) derives the other two
/// from the first.
pub trait Codec: CodecConfig + Clone + fmt::Debug + Send + Sync + 'static {
    /// The names and properties of the codec.
    const INFO: CodecInfo;

    /// Encodes and decodes with a bound configuration.
    type Coder: Coder;

    /// Binds the configuration to the input of the stage.
    ///
    /// The default implementation is for a bytes-to-bytes codec whose parameter words express its whole configuration:
    /// it stores the configuration unchanged and runs with those words.
    ///
    /// # Errors
    /// The codec cannot take this input, or needs facts that `env` does not have.
    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let _ = env;
        let working = self.to_params()?;
        let coder = Self::coder(&working)?;
        Bound::bytes(self.clone(), working, coder, input)
    }

    /// Makes a coder from the working words only, as an HDF5 filter function gets them.
    ///
    /// # Errors
    /// The words are not ones that `bind` produces.
    fn coder(working: &[u32]) -> Result<Self::Coder>;

    /// Returns whether decoding can return other values than were encoded, for this configuration, as stored by
    /// [`bind`](Self::bind), and this input. The default is [`INFO`](CodecInfo::lossy), which holds for all of them.
    /// `Some(false)` guarantees every bit.
    fn is_lossy(&self, input: &Repr) -> Option<bool> {
        let _ = input;
        Self::INFO.lossy
    }
}

/// A configuration bound to its input.
#[derive(Debug, Clone)]
pub struct Bound<C: Codec> {
    /// The configuration for the metadata.
    pub stored: C,
    /// The parameter words for an HDF5 filter function.
    pub working: Vec<u32>,
    /// The output of the stage when encoding, with an upper bound of its size if there is one.
    pub output: Repr,
    /// Runs the codec.
    pub coder: C::Coder,
}

impl<C: Codec> Bound<C> {
    /// Binds a bytes-to-bytes codec to `input`; the length of the output follows from the coder.
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
            // The input may be shorter than its bound; one that is too long is refused when it is encoded.
            Size::AtMost(len) => coder.max_encoded_len(len).map_or(Size::Unknown, Size::AtMost),
            Size::Unknown => Size::Unknown,
        };
        Ok(Self { stored, working, output: Repr::Bytes { size }, coder })
    }
}

/// Runs a bound codec. Shared between threads; the working memory of a call is in the scratch.
pub trait Coder: fmt::Debug + Send + Sync + 'static {
    /// Contexts and tables that one thread reuses between calls, so that a call does not allocate.
    type Scratch: Send + 'static;

    /// Whether every encoding of `len` bytes has exactly [`max_encoded_len(len)`](Self::max_encoded_len) bytes.
    const HAS_FIXED_LEN: bool = false;
    /// Makes a new scratch for one thread.
    fn scratch(&self) -> Self::Scratch;

    /// Returns the largest number of bytes that [`encode`](Self::encode) can write for `len` bytes, or `None` on
    /// overflow.
    fn max_encoded_len(&self, len: usize) -> Option<usize>;

    /// Encodes `input` into `output` and returns the length. Any input has a valid encoding:
    /// data that do not shrink are not an error. `output` holds at least
    /// [`max_encoded_len`](Self::max_encoded_len) bytes.
    ///
    /// # Errors
    /// The input does not have the bound representation, or the library fails. A codec that would not preserve the
    /// values as its configuration promises refuses them with [`Values`](crate::ErrorKind::Values).
    fn encode(&self, scratch: &mut Self::Scratch, input: &[u8], output: &mut [u8]) -> Result<usize>;

    /// Decodes the whole of `input` into `output` and returns the length. It never writes or reports
    /// more than `output.len()` bytes; a stream with more is an [`OutputFull`](crate::ErrorKind::OutputFull) error.
    ///
    /// # Errors
    /// The stream is truncated, followed by other bytes, damaged or too long.
    fn decode(&self, scratch: &mut Self::Scratch, input: &[u8], output: &mut [u8]) -> Result<usize>;

    /// Returns the decoded length that the stream itself states, if any. It is not trusted: check
    /// it against a limit before allocating memory.
    ///
    /// # Errors
    /// The part of the stream that states the length is truncated or damaged.
    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let _ = input;
        Ok(None)
    }

    /// Checks of an encoded `input` what costs next to nothing, without decoding it: a host calls it for streams that it
    /// passes on as they are. `len` is the length that `input` should decode to, if it is known. Returns the bytes that
    /// were encoded, if `input` has them as they were, such as those beside a checksum.
    ///
    /// The default compares what [`decoded_len`](Self::decoded_len) finds with `len`.
    ///
    /// # Errors
    /// [`decode`](Self::decode) would fail, or give another length. That there is no error proves nothing.
    fn check<'a>(&self, input: &'a [u8], len: Option<usize>) -> Result<Option<&'a [u8]>> {
        check_len(self.decoded_len(input)?, len).map(|()| None)
    }
}

/// Compares the decoded length that a stream states with the one that it should have; `None` is unknown.
pub(crate) fn check_len(stated: Option<usize>, wanted: Option<usize>) -> Result<()> {
    match (stated, wanted) {
        (Some(stated), Some(wanted)) if stated != wanted => {
            Err(CodecError::size(wanted, stated, "the decoded length that the stream states"))
        }
        _ => Ok(()),
    }
}

/// Copies `input` to the start of `output` and returns the length: the decoder of a codec whose encoder only changes
/// values.
///
/// # Errors
/// `output` is shorter.
pub fn copy_bytes(input: &[u8], output: &mut [u8]) -> Result<usize> {
    let full = || CodecError::output_full(Some(input.len()));
    output.get_mut(..input.len()).ok_or_else(full)?.copy_from_slice(input);
    Ok(input.len())
}
