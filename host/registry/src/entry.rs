//! One codec of the registry, with its origin and its alternatives.
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ncz_codec::{CodecInfo, CodecType, Dialect, ErrorKind};
use semver::Version;
use serde::Serialize;

use crate::imagecodecs::BuiltinTranslator;
use crate::json_text;

/// The face of a library that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Face {
    /// Our own interface.
    Native,
    /// The HDF5 filter, with an NCZarr codec for its JSON.
    Hdf5AndNczarr,
    /// Only the HDF5 filter: usable for HDF5 data only.
    Hdf5,
    /// Only the NCZarr codec: not usable.
    Nczarr,
}

/// The library of the NCZarr codec, if it is not that of the filter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TranslatorOrigin {
    /// The program itself.
    Builtin,
    /// Another library.
    Library(PathBuf),
}

/// The origin of a codec.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "origin")]
pub enum CodecOrigin {
    /// Registered by the program as it runs.
    #[serde(rename = "registered")]
    Registered,
    /// Linked into the program.
    #[serde(rename = "built-in")]
    Builtin,
    /// A library.
    #[serde(rename = "plugin")]
    Plugin {
        /// The library that runs the codec, or that has its only part.
        #[serde(serialize_with = "json_text::path")]
        path: PathBuf,
        /// The face that is called.
        #[serde(serialize_with = "json_text::text")]
        face: Face,
        /// The origin of the NCZarr codec, if it is not the same library.
        #[serde(rename = "nczarr_codec", serialize_with = "json_text::option")]
        translator: Option<TranslatorOrigin>,
        /// Whether it runs in worker processes.
        isolated: bool,
    },
}

/// Another candidate of the same codec, which is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Where it comes from.
    pub origin: CodecOrigin,
    /// Why it is not used, as a fragment.
    pub state: String,
}

/// A codec that can be used.
#[derive(Debug)]
pub struct Entry {
    codec: CodecHandle,
    origin: CodecOrigin,
    others: Vec<Other>,
    version: Option<Version>,
    /// The built-in JSON translator, if the filter has no NCZarr codec.
    translator: Option<&'static dyn BuiltinTranslator>,
    /// Whether the trace has reported it.
    pub(crate) traced: AtomicBool,
}

/// Built-ins are never dropped, others live as long as they are referenced.
#[derive(Debug, Clone)]
pub(crate) enum CodecHandle {
    Static(&'static dyn CodecType),
    Shared(Arc<dyn CodecType>),
}

impl Entry {
    pub(crate) fn new(
        codec: CodecHandle,
        origin: CodecOrigin,
        others: Vec<Other>,
        version: Option<Version>,
        translator: Option<&'static dyn BuiltinTranslator>,
    ) -> Self {
        Self { codec, origin, others, version, translator, traced: AtomicBool::new(false) }
    }

    /// Whether an empty JSON configuration means the defaults of the codec. That of an HDF5 filter under a name
    /// of imagecodecs has those of that program, such as an element size of 1.
    pub(crate) fn has_json_defaults(&self) -> bool {
        let borrowed = |name: &str| name.starts_with("imagecodecs_");
        self.translator.is_none() && !self.info().numcodecs.iter().any(borrowed) && self.can_name(&[])
    }

    /// Tests whether JSON with the codec's name can express these parameters; else the form by number is used.
    pub(crate) fn can_name(&self, params: &[u32]) -> bool {
        let info = self.info();
        !(info.numcodecs.is_empty() && info.zarr_v3.is_empty())
            && self
                .translator
                .map_or_else(|| self.has_json(params), |translator| translator.can_express(params))
    }

    /// Tests whether the codec has JSON for these parameters in some dialect, now or once it is bound to the variable.
    fn has_json(&self, params: &[u32]) -> bool {
        let Ok(config) = self.codec().parse_params(params) else { return true };
        [Dialect::Numcodecs, Dialect::ZarrV3].into_iter().any(|dialect| match config.to_json(dialect) {
            Ok(_) => true,
            Err(error) => *error.kind() != ErrorKind::Unsupported,
        })
    }

    /// The codec.
    pub fn codec(&self) -> &dyn CodecType {
        self.codec.get()
    }

    /// Returns the names and properties of the codec.
    pub fn info(&self) -> &CodecInfo {
        self.codec().info()
    }

    /// Where it comes from.
    pub fn origin(&self) -> &CodecOrigin {
        &self.origin
    }

    /// The version that the plugin, or the package of a built-in, states.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// The candidates that are passed over, in the order of preference. Empty for a built-in that was
    /// found before anybody looked for plugins.
    pub fn others(&self) -> &[Other] {
        &self.others
    }
}

impl CodecHandle {
    pub(crate) fn get(&self) -> &dyn CodecType {
        match self {
            Self::Static(codec) => *codec,
            Self::Shared(codec) => &**codec,
        }
    }
}

impl fmt::Display for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Native => "native",
            Self::Hdf5AndNczarr => "HDF5+NCZarr",
            Self::Hdf5 => "HDF5",
            Self::Nczarr => "NCZarr",
        })
    }
}

impl fmt::Display for TranslatorOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built-in"),
            Self::Library(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Display for CodecOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered => f.write_str("registered by the program"),
            Self::Builtin => f.write_str("built-in"),
            Self::Plugin { path, face, translator, isolated } => {
                write!(f, "{} ({face}", path.display())?;
                if *isolated {
                    f.write_str(", in a worker process")?;
                }
                match translator {
                    Some(translator) => write!(f, "; NCZarr codec: {translator})"),
                    None => f.write_str(")"),
                }
            }
        }
    }
}
