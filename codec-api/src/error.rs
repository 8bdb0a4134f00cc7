//! The errors of codecs.

use std::fmt;

/// The result of a codec operation.
pub type Result<T, E = CodecError> = std::result::Result<T, E>;

/// An error of a codec: its [`ErrorKind`] and a short text that names the cause.
///
/// The caller of the codec adds the stage, the chunk and the variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecError {
    kind: ErrorKind,
    detail: String,
}

/// The kinds of codec errors, so that a caller can act on them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The stream ends before it is complete.
    Truncated,
    /// Bytes follow the end of the stream.
    Trailing {
        /// The number of extra bytes.
        extra: u64,
    },
    /// A length is not the one that was expected, in bytes.
    Size {
        /// The expected length.
        want: u64,
        /// The length found.
        got: u64,
    },
    /// A stored checksum differs from the computed one.
    Checksum,
    /// The stream is damaged in another way.
    Corrupt,
    /// The output does not fit the buffer; `need` is the required length, if the stream states it.
    OutputFull {
        /// The required bytes, if known.
        need: Option<u64>,
    },
    /// A key of a JSON configuration, or a parameter word (`cd_values[2]`), is missing or out of range.
    Config {
        /// The key or parameter.
        key: String,
    },
    /// The codec cannot do this with this input or in this container.
    Unsupported,
    /// The codec accepts chunks of this type, but not these values: it would not preserve them as its configuration
    /// promises.
    Values,
    /// A plugin reported failure with this code.
    Plugin {
        /// The code that the plugin returned.
        code: i64,
    },
    /// The codec's own code panicked, which is a bug in the codec.
    Panicked,
}

impl CodecError {
    /// Makes an error of `kind`; `detail` is a lower-case fragment, e.g. `"frame header cut after 3 bytes"`.
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// The stream ends before it is complete.
    pub fn truncated(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Truncated, detail)
    }

    /// `extra` bytes follow the end of the stream.
    pub fn trailing(extra: usize) -> Self {
        Self::new(ErrorKind::Trailing { extra: extra as u64 }, "")
    }

    /// A length of `got` bytes where `want` were expected.
    pub fn size(want: usize, got: usize, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Size { want: want as u64, got: got as u64 }, detail)
    }

    /// The stream is damaged.
    pub fn corrupt(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, detail)
    }

    /// The output buffer is too small.
    pub fn output_full(need: Option<usize>) -> Self {
        Self::new(ErrorKind::OutputFull { need: need.map(|n| n as u64) }, "")
    }

    /// The configuration's `key` is wrong; `detail` says why.
    pub fn config(key: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config { key: key.into() }, detail)
    }

    /// The codec cannot do this.
    pub fn unsupported(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, detail)
    }

    /// The codec accepts such chunks, but not these values.
    pub fn values(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Values, detail)
    }

    /// The kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The text that names the cause; may be empty.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Truncated => f.write_str("the stream is truncated")?,
            ErrorKind::Trailing { extra } => write!(f, "{extra} bytes follow the end of the stream")?,
            ErrorKind::Size { want, got } => write!(f, "expected {want} bytes, got {got}")?,
            ErrorKind::Checksum => f.write_str("the checksum does not match")?,
            ErrorKind::Corrupt => f.write_str("the stream is damaged")?,
            ErrorKind::OutputFull { need: Some(need) } => {
                write!(f, "the output needs {need} bytes, more than expected")?;
            }
            ErrorKind::OutputFull { need: None } => f.write_str("the output is longer than expected")?,
            ErrorKind::Config { key } => write!(f, "configuration key {key:?} is not usable")?,
            ErrorKind::Unsupported => f.write_str("not supported")?,
            ErrorKind::Values => f.write_str("these values cannot be encoded")?,
            ErrorKind::Plugin { code } => write!(f, "the plugin reported failure (code {code})")?,
            ErrorKind::Panicked => f.write_str("the codec panicked, which is a bug in the codec")?,
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for CodecError {}
