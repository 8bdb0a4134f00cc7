//! Filter chains: the fold of `bind` over the stages, and running the result over chunks.
//!
//! One chain has three forms: Zarr v2's `filters` and `compressor`, the bytes-to-bytes tail of a
//! Zarr v3 pipeline, and the HDF5 filter pipeline. Every intermediate size has a bound before anything
//! is decoded, so a stream cannot make the host allocate more memory than the chunk justifies.

mod byte_order;
mod bytes;
mod run;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ncz_codec::config::unknown_key;
use ncz_codec::{AnyConfig, BoundStage, CodecError, CodecInfo, Dialect, Env, Repr, Scratch, Size};
use serde_json::Value;

use self::run::output_limit;
use crate::known::closest;
use crate::spec::{SpecError, format_spec_text, stored_codec_json};

/// The most bytes that a decoded chunk may have: 4 GiB.
pub const MAX_CHUNK_BYTES: usize = 4 << 30;
/// The most codecs of a chain, as in HDF5 (`H5Z_MAX_NFILTERS`): each takes memory for its context.
pub const MAX_STAGES: usize = 32;
/// The largest size in bytes between two stages: some encoders make a chunk longer.
const MAX_STAGE_BYTES: usize = 2 * MAX_CHUNK_BYTES;

/// A codec of a chain, looked up and configured, but not yet bound to an input.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The name of the codec.
    pub info: CodecInfo,
    /// Its configuration as given.
    pub config: Arc<dyn AnyConfig>,
    /// The origin of the codec, for messages: `built-in`, or a library's path and face.
    pub origin: String,
    /// Notes from reading the configuration: the anomaly, and after a semicolon how it is interpreted.
    pub notes: Vec<String>,
}

impl Stage {
    /// Whether metadata name the codec by its filter number, in a form that no other program reads
    /// ([`generic`](crate::spec::generic)).
    pub fn is_by_number(&self) -> bool {
        self.info.numcodecs.first().is_some_and(|name| name == crate::spec::generic::NAME)
    }

    /// The error in the configuration, if a user requested it.
    pub fn fault(&self) -> Option<String> {
        self.notes.first().map(|note| fault(note, &*self.config))
    }
}

/// Converts a note on a configuration to the error for one that a user requested: the anomaly and the remedy, without
/// the interpretation.
pub fn fault(note: &str, config: &dyn AnyConfig) -> String {
    let made_of_it = |end: &str| end.ends_with(" is used") || end.ends_with(" is ignored");
    match unknown_key(note) {
        Some(key) => {
            let known = config.to_json(Dialect::Numcodecs).unwrap_or_default();
            match closest(key, known.keys().map(String::as_str)) {
                Some(close) => format!("unknown key \"{key}\"; did you mean {close:?}?"),
                None => format!("unknown key \"{key}\"; correct the configuration"),
            }
        }
        None => {
            let (what, _) = note.rsplit_once("; ").filter(|(_, end)| made_of_it(end)).unwrap_or((note, ""));
            format!("{what}; correct the configuration")
        }
    }
}

/// A chain bound to the chunks of one variable. Encodes and decodes; shared between threads, each with
/// its own [`ChainScratch`].
#[derive(Debug, Clone)]
pub struct FilterChain {
    links: Vec<Link>,
    /// The input of the first stage: a chunk of a fixed length, or bytes up to a length.
    input: Size,
    /// The most bytes of that.
    chunk_len: usize,
}

/// One bound stage.
#[derive(Debug, Clone)]
struct Link {
    info: CodecInfo,
    origin: String,
    bound: BoundStage,
    /// The input of the stage when encoding, which decoding must restore.
    input: Size,
}

/// The working memory of one thread for a chain: the codecs' contexts and two buffers that swap between
/// stages. Reused between chunks, so that after the first ones nothing is allocated.
#[derive(Debug, Default)]
pub struct ChainScratch {
    contexts: Vec<Scratch>,
    front: Vec<u8>,
    back: Vec<u8>,
}

/// The operation of a chain that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Fitting a configuration to its input.
    Bind,
    /// Encoding a chunk.
    Encode,
    /// Decoding a chunk.
    Decode,
}

/// A chain failed; names the stage and its codec.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{operation} by codec {codec} (stage {} of {stages}, {origin})", .stage + 1)]
pub struct ChainError {
    /// The operation.
    pub operation: Operation,
    /// The name of the codec.
    pub codec: String,
    /// The stage, counted from 0 in encoding order.
    pub stage: usize,
    /// The number of stages of the chain.
    pub stages: usize,
    /// The origin of the codec.
    pub origin: String,
    /// The codec's error.
    pub source: CodecError,
}

impl FilterChain {
    /// Binds `stages`, in encoding order, to the chunks of a variable.
    ///
    /// # Errors
    /// A codec cannot take the output of the stage before it, or the chunk is too large.
    pub fn bind(stages: &[Stage], env: &Env) -> Result<Self, ChainError> {
        Self::bind_with_fill(stages, env, None)
    }

    /// Binds `stages` to the chunks of a variable that has a fill value, one element as it is stored.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_with_fill(stages: &[Stage], env: &Env, fill: Option<Vec<u8>>) -> Result<Self, ChainError> {
        let size = ncz_codec::repr::byte_len(&env.chunk_shape, env.dtype.size).map(Size::Exact);
        let chunk = Repr::Array { dtype: env.dtype, shape: env.chunk_shape.clone(), fill };
        Self::fold(stages, env, chunk, size)
    }

    /// Binds `stages` to an input of this size, which is unknown if it overflows.
    fn fold(
        stages: &[Stage],
        env: &Env,
        mut input: Repr,
        size: Result<Size, CodecError>,
    ) -> Result<Self, ChainError> {
        let mut links = Vec::with_capacity(stages.len());
        let fail = |index: usize, stage: &Stage, source| ChainError {
            operation: Operation::Bind,
            codec: stage.info.name.to_string(),
            stage: index,
            stages: stages.len(),
            origin: stage.origin.clone(),
            source,
        };
        if let Some(stage) = stages.get(MAX_STAGES) {
            let text = format!("a chain of {} codecs exceeds the limit of {MAX_STAGES}", stages.len());
            return Err(fail(MAX_STAGES, stage, CodecError::unsupported(text)));
        }
        for (index, stage) in stages.iter().enumerate() {
            // Data without a size, such as elements of 0 bytes, are refused before any codec.
            let size = input.size().map_err(|source| fail(index, stage, source))?;
            let bound = stage.config.bind(&input, env).map_err(|source| fail(index, stage, source))?;
            byte_order::check(stage, &bound, &input, env).map_err(|source| fail(index, stage, source))?;
            input = bound.output.clone();
            links.push(Link { info: stage.info.clone(), origin: stage.origin.clone(), bound, input: size });
        }
        let (size, chunk_len) = size
            .and_then(|size| {
                let len = size.bound().unwrap_or(usize::MAX);
                let too_large =
                    || CodecError::unsupported(format!("a chunk of {len} bytes exceeds the limit of 4 GiB"));
                if len <= MAX_CHUNK_BYTES { Ok((size, len)) } else { Err(too_large()) }
            })
            .map_err(|source| ChainError {
                operation: Operation::Bind,
                codec: stages.first().map_or_else(|| "none".to_owned(), |stage| stage.info.name.to_string()),
                stage: 0,
                stages: stages.len(),
                origin: "chunk shape".to_owned(),
                source,
            })?;
        // Buffers for decoding are as large as a stage's output may be, and that is a plugin's word.
        for (index, (stage, link)) in stages.iter().zip(&links).enumerate() {
            let bound = link.bound.output.size().map_err(|source| fail(index, stage, source))?.bound();
            if let Some(most) = bound.filter(|&most| most > MAX_STAGE_BYTES) {
                let text = format!("an output of {most} bytes exceeds the limit of 8 GiB");
                return Err(fail(index, stage, CodecError::unsupported(text)));
            }
        }
        Ok(Self { links, input: size, chunk_len })
    }

    /// Tests whether the chain is empty: chunks are stored unencoded.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The number of codecs.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// The bytes of a decoded chunk; of a chain of bytes the most that there may be.
    pub fn chunk_len(&self) -> usize {
        self.chunk_len
    }

    /// The most bytes that a stored chunk may plausibly have; a longer object is not a chunk of this chain.
    pub fn max_stored_len(&self) -> usize {
        match self.links.last() {
            None => self.chunk_len,
            Some(link) => output_limit(link.bound.output.size().unwrap_or(Size::Unknown), self.chunk_len),
        }
    }

    /// The codecs as JSON for metadata, in encoding order: the stored configuration, with the values
    /// that `bind` determined (such as shuffle's element size).
    ///
    /// In Zarr v3 a codec without a Zarr v3 name is written with its numcodecs id, `numcodecs.zlib`.
    ///
    /// # Errors
    /// A codec has no name in the dialect, or its configuration cannot be expressed there.
    pub fn stored_json(&self, dialect: Dialect) -> Result<Vec<Value>, SpecError> {
        self.links.iter().map(|link| stored_codec_json(&link.info, &*link.bound.stored, dialect)).collect()
    }

    /// The stages as (HDF5 id, working words); an id of 0 means a codec without one.
    pub fn working(&self) -> Vec<(u32, &[u32])> {
        self.links
            .iter()
            .map(|link| (link.info.filter_id.unwrap_or(0), link.bound.working.as_slice()))
            .collect()
    }

    /// The stages as (HDF5 id, stored words); an id of 0 means a codec without one.
    ///
    /// # Errors
    /// A configuration that words cannot express.
    pub fn stored_params(&self) -> Result<Vec<(u32, Vec<u32>)>, CodecError> {
        self.links
            .iter()
            .map(|link| Ok((link.info.filter_id.unwrap_or(0), link.bound.stored.to_params()?)))
            .collect()
    }

    /// Describes each codec: its stored words, its working words if they differ, and its origin:
    /// `shuffle [4] (built-in) | szip [141, 32], runs with [141, 32, 32, 64] (built-in)`.
    pub fn details(&self) -> impl fmt::Display {
        fmt::from_fn(|f| {
            if self.is_empty() {
                return f.write_str("none");
            }
            for (index, Link { info, origin, bound, .. }) in self.links.iter().enumerate() {
                let bar = if index == 0 { "" } else { " | " };
                write!(f, "{bar}{}", info.name)?;
                match bound.stored.to_params() {
                    Ok(stored) if stored == bound.working => write!(f, " {stored:?}")?,
                    Ok(stored) => write!(f, " {stored:?}, runs with {:?}", bound.working)?,
                    // Words are HDF5's, and a codec need not have any.
                    Err(_) => {}
                }
                write!(f, " ({origin})")?;
            }
            Ok(())
        })
    }

    /// Whether damage to a stored chunk is always noticed: some codec carries a checksum.
    pub fn has_checksum(&self) -> bool {
        self.links.iter().any(|link| link.info.has_checksum)
    }

    /// Returns the codecs, each with whether it can change values, with its configuration and input; `None` if
    /// unknown.
    pub fn each_lossy(&self) -> impl Iterator<Item = (&CodecInfo, Option<bool>)> {
        self.links.iter().map(|link| (&link.info, link.bound.lossy))
    }

    /// Returns the codecs that can change values.
    pub fn lossy(&self) -> impl Iterator<Item = &CodecInfo> {
        self.each_lossy().filter(|(_, lossy)| *lossy == Some(true)).map(|(info, _)| info)
    }

    /// The stages from the first lossy codec to the last one; `None`: no codec is known to be lossy.
    pub fn lossy_stages(&self) -> Option<Range<usize>> {
        let is_lossy = |link: &Link| link.bound.lossy == Some(true);
        let first = self.links.iter().position(is_lossy)?;
        let last = self.links.iter().rposition(is_lossy)?;
        Some(first..last + 1)
    }

    /// Returns the chain of only the first `count` codecs; of all if there are fewer.
    #[must_use]
    pub fn first_stages(&self, count: usize) -> Self {
        let links = self.links.iter().take(count).cloned().collect();
        Self { links, input: self.input, chunk_len: self.chunk_len }
    }
}

impl fmt::Display for FilterChain {
    /// The stored parameters as filter text, `2,4|1,6`; codecs without a number by name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, link) in self.links.iter().enumerate() {
            if index > 0 {
                f.write_str("|")?;
            }
            match (link.info.filter_id, link.bound.stored.to_params()) {
                (Some(id), Ok(params)) => f.write_str(&format_spec_text(&[(id, params.as_slice())]))?,
                _ => f.write_str(&link.info.name)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bind => "setting up",
            Self::Encode => "encoding",
            Self::Decode => "decoding",
        })
    }
}

#[cfg(test)]
mod tests;
