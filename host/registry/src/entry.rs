//! One codec of the registry, with where it comes from and what else would offer it.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ncz_codec::{CodecInfo, CodecType, Dialect, ErrorKind};

use crate::json_half::BuiltinHalf;

/// Which face of a library is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Face {
    /// Our own interface.
    Native,
    /// The HDF5 filter, with a codec half for its JSON.
    Hdf5AndNczarr,
    /// The HDF5 filter alone: good for HDF5 data only.
    Hdf5,
    /// The codec half alone: of no use.
    Nczarr,
}

/// Who gives the codec half where the library of the filter does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HalfOrigin {
    /// The program itself.
    Builtin,
    /// Another library.
    Library(PathBuf),
}

/// Where a codec comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CodecOrigin {
    /// Linked into the program.
    Builtin,
    /// A library.
    Plugin {
        /// The library that runs, or that gives the only half there is.
        path: PathBuf,
        /// The face that is called.
        face: Face,
        /// Who gives the codec half, if it is not the same library.
        codec_half: Option<HalfOrigin>,
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
    codec: Held,
    origin: CodecOrigin,
    others: Vec<Other>,
    /// The built-in half that speaks for the filter, if it has none of its own.
    half: Option<&'static dyn BuiltinHalf>,
    /// Whether the trace has told of it.
    pub(crate) told: AtomicBool,
}

/// Built-ins live for ever, others as long as someone holds them.
#[derive(Debug, Clone)]
pub(crate) enum Held {
    Static(&'static dyn CodecType),
    Shared(Arc<dyn CodecType>),
}

impl Entry {
    pub(crate) fn new(
        codec: Held,
        origin: CodecOrigin,
        others: Vec<Other>,
        half: Option<&'static dyn BuiltinHalf>,
    ) -> Self {
        Self { codec, origin, others, half, told: AtomicBool::new(false) }
    }

    /// Whether an empty JSON configuration stands for the defaults of the codec. That of an HDF5 filter under a name
    /// of imagecodecs has those of that program, such as an element size of 1.
    pub(crate) fn has_json_defaults(&self) -> bool {
        let borrowed = |name: &Cow<'_, str>| name.starts_with("imagecodecs_");
        self.half.is_none() && !self.info().numcodecs.iter().any(borrowed) && self.can_name(&[])
    }

    /// Whether some JSON with a name of its own says what these parameters say; else there is the form by number.
    pub(crate) fn can_name(&self, params: &[u32]) -> bool {
        let info = self.info();
        !(info.numcodecs.is_empty() && info.zarr_v3.is_empty())
            && self.half.map_or_else(|| self.has_json(params), |half| half.speaks_for(params))
    }

    /// Whether the codec has JSON for these parameters in some dialect, if not yet then when it knows the variable.
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

    /// What the codec is called and what it can do.
    pub fn info(&self) -> &CodecInfo {
        self.codec().info()
    }

    /// Where it comes from.
    pub fn origin(&self) -> &CodecOrigin {
        &self.origin
    }

    /// The candidates that are passed over, in the order of preference. Empty for a built-in that was
    /// found before anybody looked for plugins.
    pub fn others(&self) -> &[Other] {
        &self.others
    }
}

impl Held {
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

impl fmt::Display for HalfOrigin {
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
            Self::Builtin => f.write_str("built-in"),
            Self::Plugin { path, face, codec_half, isolated } => {
                write!(f, "{} ({face}", path.display())?;
                if *isolated {
                    f.write_str(", in a worker process")?;
                }
                match codec_half {
                    Some(half) => write!(f, "; codec half: {half})"),
                    None => f.write_str(")"),
                }
            }
        }
    }
}
