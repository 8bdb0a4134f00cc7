//! Findings of checks, as values that a program can act on.

use std::fmt;

use ncz_model::Interrupted;
pub use ncz_model::Remedy;
use ncz_store::Key;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is wrong; for information.
    Note,
    /// ncz reads it correctly, but other programs misread or refuse it.
    Warning,
    /// Data are lost, or cannot be read correctly by any program.
    Error,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Kinds of findings and their ids, which stay the same from version to version.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// The kinds of findings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// The short name of the kind, the same in every version.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }
        }
    };
}

codes! {
    /// A stored chunk ends before its stream does.
    ChunkTruncated = "chunk-truncated",
    /// Bytes follow the end of a chunk.
    ChunkTail = "chunk-tail",
    /// A chunk has another length than the metadata ask for.
    ChunkLength = "chunk-length",
    /// A checksum does not match.
    ChunkChecksum = "chunk-checksum",
    /// A chunk cannot be decoded for another reason.
    ChunkDamaged = "chunk-damaged",
    /// The store could not give the chunk.
    ChunkUnread = "chunk-unread",
    /// A chunk under a key that no reader looks at.
    ChunkKey = "chunk-key",
    /// A chunk beyond the ends of the array.
    ChunkOutside = "chunk-outside",
    /// Values that are none of the type.
    ChunkValues = "chunk-values",
    /// What lies beyond the array in its last chunks is not fill.
    Padding = "padding",
    /// The chunks of a variable were not looked at.
    VariableUnchecked = "variable-unchecked",
    /// A variable whose metadata cannot be read.
    VariableUnreadable = "variable-unreadable",
    /// A codec that was not found.
    CodecMissing = "codec-missing",
    /// Codecs that do not fit the variable.
    CodecUnusable = "codec-unusable",
    /// Something in the metadata that a reader should know.
    Metadata = "metadata",
    /// An unknown key in the metadata.
    UnknownKey = "unknown-key",
    /// A chunk order that netcdf-c ignores.
    OrderF = "order-f",
    /// An object in the store that is not part of the dataset.
    Stray = "stray-object",
    /// A file or folder of a writer that ended early.
    Leftover = "leftover",
    /// An array or group that NCZarr's metadata do not list.
    Unlisted = "unlisted",
    /// Growth that is not finished.
    Interrupted = "interrupted-growth",
    /// A name in the store that is not an object.
    NoObject = "no-object",
    /// A store that cannot list its keys, so that not all is looked for.
    NotListed = "not-listed",
    /// A metadata document followed by the rest of an older one.
    DocumentTail = "document-tail",
    /// A metadata document that is not valid JSON.
    DocumentDamaged = "document-damaged",
    /// Words in a metadata document that JSON does not have.
    DocumentWords = "document-words",
    /// `.zmetadata` that differs from the documents.
    ConsolidatedStale = "consolidated-stale",
    /// A shuffle with element size 0.
    ShuffleSizeZero = "shuffle-size-zero",
    /// A shuffle whose element size is a text.
    ShuffleSizeText = "shuffle-size-text",
    /// A shuffle whose element size readers take differently.
    ShuffleSizeDisputed = "shuffle-size-disputed",
    /// zlib without a level, or with a negative one.
    ZlibLevel = "zlib-level",
    /// zstd with a key that not every reader knows.
    ZstdChecksumKey = "zstd-checksum-key",
    /// A list of one as fill value.
    FillList = "fill-list",
    /// No fill value at all.
    FillMissing = "fill-missing",
    /// The number 0 as fill value of texts.
    FillTextZero = "fill-text-zero",
    /// A word for NaN or infinity as C prints it.
    FillWord = "fill-word",
    /// A type of several bytes without byte order.
    ByteOrderMissing = "byte-order-missing",
    /// A big-endian type by a version of netcdf-c that did not mean it.
    ByteOrderDoubtful = "byte-order-doubtful",
    /// An attribute that netcdf-c does not open.
    AttributeRefused = "attribute-refused",
    /// A text that is stored as a number or a truth value.
    AttributeText = "attribute-text",
    /// Metadata of an old generation of NCZarr.
    OldGeneration = "old-generation",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// The finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The kind.
    pub code: Code,
    /// The path of the variable, if it is about one.
    pub variable: Option<String>,
    /// The index of the chunk, if it is about one.
    pub chunk: Option<Vec<u64>>,
    /// The key in the store, if it is about one object.
    pub key: Option<String>,
    /// What is wrong, and why.
    pub reason: String,
    /// What can be done about it; `None` if nothing is known to be right.
    pub remedy: Option<Remedy>,
}

impl Finding {
    /// A finding about the dataset; the rest is added by the methods below.
    pub(crate) fn new(severity: Severity, code: Code, reason: impl Into<String>) -> Self {
        Self { severity, code, variable: None, chunk: None, key: None, reason: reason.into(), remedy: None }
    }

    /// Growth that was interrupted, or is being made.
    pub(crate) fn interrupted(interrupted: &Interrupted) -> Self {
        let severity = match interrupted.running {
            Some(true) => Severity::Note,
            _ => Severity::Warning,
        };
        Self::new(severity, Code::Interrupted, interrupted.with_remedy())
            .key(Key::JOURNAL.as_str())
            .remedy(interrupted.remedy())
    }

    pub(crate) fn variable(self, path: impl Into<String>) -> Self {
        Self { variable: Some(path.into()), ..self }
    }

    pub(crate) fn chunk(self, index: impl Into<Vec<u64>>) -> Self {
        Self { chunk: Some(index.into()), ..self }
    }

    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    pub(crate) fn remedy(self, remedy: impl Into<Option<Remedy>>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.variable, &self.chunk, &self.key) {
            (Some(variable), Some(chunk), _) => write!(f, "{variable} chunk {chunk:?}: ")?,
            (Some(variable), None, _) => write!(f, "{variable}: ")?,
            (None, _, Some(key)) => write!(f, "{key}: ")?,
            (None, _, None) => {}
        }
        f.write_str(&self.reason)
    }
}
