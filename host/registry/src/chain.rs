//! Filter chains: the fold of `bind` over the stages, and running the result over chunks.
//!
//! One chain has three forms: Zarr v2's `filters` and `compressor`, the bytes-to-bytes tail of a
//! Zarr v3 pipeline, and the HDF5 filter pipeline. Every intermediate size has a bound before anything
//! is decoded, so a stream cannot make the host allocate more memory than the chunk justifies.

mod byte_order;
mod bytes;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ncz_codec::config::unknown_key;
use ncz_codec::{AnyConfig, BoundStage, CodecError, CodecInfo, Dialect, Env, ErrorKind, Repr, Scratch, Size};
use serde_json::Value;

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

    /// A scratch for one thread.
    pub fn scratch(&self) -> ChainScratch {
        ChainScratch {
            contexts: self.links.iter().map(|link| link.bound.coder.scratch()).collect(),
            front: Vec::new(),
            back: Vec::new(),
        }
    }

    /// Encodes a chunk of [`chunk_len`](Self::chunk_len) bytes. The result is in the scratch, or is
    /// the chunk itself if there is no codec.
    ///
    /// # Errors
    /// A codec fails, or `chunk` has another length; data that do not shrink are not a failure.
    pub fn encode<'a>(&self, scratch: &'a mut ChainScratch, chunk: &'a [u8]) -> Result<&'a [u8], ChainError> {
        self.check(Operation::Encode, chunk, scratch)?;
        self.run_encoders(scratch, chunk)
    }

    /// Encodes input whose length and scratch were checked.
    fn run_encoders<'a>(
        &self,
        scratch: &'a mut ChainScratch,
        chunk: &'a [u8],
    ) -> Result<&'a [u8], ChainError> {
        let ChainScratch { contexts, front, back } = scratch;
        let mut encoded: Option<usize> = None;
        for (index, (link, context)) in self.links.iter().zip(contexts.iter_mut()).enumerate() {
            let fail = |source| self.error(Operation::Encode, index, source);
            let input = encoded.map_or(chunk, |len| &front[..len]);
            let coder = &link.bound.coder;
            let most = coder.max_encoded_len(input.len()).filter(|&len| len <= MAX_STAGE_BYTES);
            let most = most.ok_or_else(|| {
                fail(CodecError::unsupported(format!("{} bytes are too many to encode", input.len())))
            })?;
            reserve(back, most).map_err(fail)?;
            let mut room = most;
            let len = match coder.encode(context, input, &mut back[..room]) {
                // Only foreign codecs lack a reliable bound; they report what they need.
                Err(error) if let ErrorKind::OutputFull { need: Some(need) } = *error.kind() => {
                    let need = usize::try_from(need).ok().filter(|&need| need <= MAX_STAGE_BYTES);
                    room = need.ok_or_else(|| fail(error))?;
                    reserve(back, room).map_err(fail)?;
                    coder.encode(context, input, &mut back[..room])
                }
                other => other,
            }
            .and_then(|len| claimed_within(len, room))
            .map_err(fail)?;
            std::mem::swap(front, back);
            encoded = Some(len);
        }
        Ok(encoded.map_or(chunk, |len| &front[..len]))
    }

    /// Decodes a stored chunk into `chunk`, which has [`chunk_len`](Self::chunk_len) bytes.
    ///
    /// `mask` is the HDF5 filter mask: a set bit means that the stage with this number was skipped for
    /// this chunk. Zarr has no mask; pass 0.
    ///
    /// # Errors
    /// A codec fails, or any length differs from the expected one; then `chunk` holds nothing of use.
    pub fn decode(
        &self,
        mask: u32,
        scratch: &mut ChainScratch,
        stored: &[u8],
        chunk: &mut [u8],
    ) -> Result<(), ChainError> {
        self.check(Operation::Decode, chunk, scratch)?;
        let runs = |index: usize| index >= 32 || mask & (1 << index) == 0;
        let ChainScratch { contexts, front, back } = scratch;
        let mut decoded: Option<usize> = None;
        let first = (0..self.links.len()).find(|&index| runs(index));
        for index in (0..self.links.len()).rev().filter(|&index| runs(index)) {
            let fail = |source| self.error(Operation::Decode, index, source);
            let link = &self.links[index];
            let coder = &link.bound.coder;
            let context = &mut contexts[index];
            let input = decoded.map_or(stored, |len| &front[..len]);
            if Some(index) == first {
                let len = coder.decode(context, input, chunk).map_err(fail)?;
                if len != chunk.len() {
                    return Err(fail(CodecError::size(chunk.len(), len, "the decoded chunk")));
                }
                return Ok(());
            }
            let expected = if mask == 0 { link.input } else { self.size_before(index, mask) };
            let limit = output_limit(expected, self.chunk_len);
            reserve(back, limit).map_err(fail)?;
            let len = coder
                .decode(context, input, &mut back[..limit])
                .and_then(|len| claimed_within(len, limit))
                .map_err(fail)?;
            if let Size::Exact(want) = expected
                && len != want
            {
                return Err(fail(CodecError::size(want, len, "the output of this stage")));
            }
            std::mem::swap(front, back);
            decoded = Some(len);
        }
        // No codec ran: the chunk is stored unencoded.
        if stored.len() != chunk.len() {
            let source = CodecError::size(chunk.len(), stored.len(), "the stored chunk");
            return Err(self.error_of_none(Operation::Decode, "the chunk is stored without a codec", source));
        }
        chunk.copy_from_slice(stored);
        Ok(())
    }

    /// Checks of a stored chunk, for which all filters ran, what costs next to nothing: its length, and what its codecs
    /// find without decoding it ([`Coder::check`](ncz_codec::Coder::check)). That there is no error proves nothing.
    ///
    /// # Errors
    /// The chunk cannot be decoded.
    pub fn check_stored(&self, stored: &[u8]) -> Result<(), ChainError> {
        let mut seen = stored;
        for (index, link) in self.links.iter().enumerate().rev() {
            let fail = |source| self.error(Operation::Decode, index, source);
            if let Ok(Size::Exact(want)) = link.bound.output.size()
                && seen.len() != want
            {
                return Err(fail(CodecError::size(want, seen.len(), "the stored form")));
            }
            let len = if let Size::Exact(len) = link.input { Some(len) } else { None };
            match link.bound.coder.check(seen, len).map_err(fail)? {
                Some(inside) => seen = inside,
                None => return Ok(()),
            }
        }
        match self.input {
            Size::Exact(want) if seen.len() != want => {
                let source = CodecError::size(want, seen.len(), "the stored chunk");
                Err(self.error_of_none(Operation::Decode, "the chunk is stored without a codec", source))
            }
            _ => Ok(()),
        }
    }

    /// Sees to it that the caller's chunk and scratch are of this chain.
    fn check(
        &self,
        operation: Operation,
        chunk: &[u8],
        scratch: &mut ChainScratch,
    ) -> Result<(), ChainError> {
        if self.input != Size::Exact(chunk.len()) {
            let source = CodecError::size(self.chunk_len, chunk.len(), "the caller's chunk");
            return Err(self.error_of_none(operation, "the caller", source));
        }
        self.fit(scratch);
        Ok(())
    }

    /// Completes a scratch of another chain.
    fn fit(&self, scratch: &mut ChainScratch) {
        if scratch.contexts.len() != self.links.len() {
            scratch.contexts = self.scratch().contexts;
        }
    }

    /// An error outside of any codec.
    fn error_of_none(&self, operation: Operation, origin: &str, source: CodecError) -> ChainError {
        ChainError {
            operation,
            codec: "none".to_owned(),
            stage: 0,
            stages: self.links.len(),
            origin: origin.to_owned(),
            source,
        }
    }

    /// Returns the input of stage `index` when the stages of `mask` are skipped.
    fn size_before(&self, index: usize, mask: u32) -> Size {
        let mut size = Size::Exact(self.chunk_len);
        for (earlier, link) in self.links[..index].iter().enumerate() {
            if earlier < 32 && mask & (1 << earlier) != 0 {
                continue;
            }
            size = if size == link.input {
                link.bound.output.size().unwrap_or(Size::Unknown)
            } else {
                match size.bound().and_then(|len| link.bound.coder.max_encoded_len(len)) {
                    Some(most) => Size::AtMost(most),
                    None => Size::Unknown,
                }
            };
        }
        size
    }

    fn error(&self, operation: Operation, stage: usize, source: CodecError) -> ChainError {
        ChainError {
            operation,
            codec: self.links[stage].info.name.to_string(),
            stage,
            stages: self.links.len(),
            origin: self.links[stage].origin.clone(),
            source,
        }
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

/// Returns the largest stream length to accept for `size`: other encoders of a format can exceed
/// our bound somewhat, and a foreign codec has none.
fn output_limit(size: Size, chunk_len: usize) -> usize {
    match size {
        Size::Exact(len) => len,
        Size::AtMost(len) => len.saturating_add(len / 8).saturating_add(4096),
        Size::Unknown => chunk_len.saturating_mul(2).saturating_add(65536),
    }
}

/// A plugin's claim of how much it wrote, checked against what it was given.
fn claimed_within(len: usize, capacity: usize) -> Result<usize, CodecError> {
    if len <= capacity {
        Ok(len)
    } else {
        Err(CodecError::size(capacity, len, "the codec reports more than its buffer holds"))
    }
}

/// Makes `buffer` hold at least `len` bytes; keeps what it has.
fn reserve(buffer: &mut Vec<u8>, len: usize) -> Result<(), CodecError> {
    if buffer.len() < len {
        let more = len - buffer.len();
        buffer
            .try_reserve_exact(more)
            .map_err(|_| CodecError::unsupported(format!("no memory for a buffer of {len} bytes")))?;
        buffer.resize(len, 0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ncz_codec::{Bound, Codec, CodecConfig, Coder, Container, Dtype, Kind, Repr, Result};
    use serde_json::Map;

    use super::*;

    /// Adds a constant to each byte and puts it before the data `copies` times, so that sizes change.
    #[derive(Debug, Clone)]
    struct Add {
        add: u8,
        head: usize,
        lie: usize,
        boasts: bool,
    }

    impl CodecConfig for Add {
        fn from_json(_: Dialect, _: &Map<String, Value>, _: &mut Vec<String>) -> Result<Self> {
            Err(CodecError::unsupported(""))
        }

        fn to_json(&self, _: Dialect) -> Result<Map<String, Value>> {
            Ok(Map::from_iter([("add".to_owned(), Value::from(self.add))]))
        }

        fn from_params(words: &[u32]) -> Result<Self> {
            Ok(add(words[0] as u8, words[1] as usize))
        }

        fn to_params(&self) -> Result<Vec<u32>> {
            Ok(vec![u32::from(self.add), self.head as u32])
        }
    }

    impl Codec for Add {
        const INFO: CodecInfo = CodecInfo::new("add", "a test").filter_id(32768).numcodecs(&["add"]);

        type Coder = Self;

        fn bind(&self, input: &Repr, _: &Env) -> Result<Bound<Self>> {
            let size = match input.size()? {
                Size::Exact(len) => Size::AtMost(len + self.head),
                other => Size::AtMost(other.bound().unwrap() + self.head),
            };
            Ok(Bound {
                stored: self.clone(),
                working: CodecConfig::to_params(self)?,
                output: Repr::Bytes { size },
                coder: self.clone(),
            })
        }

        fn coder(working: &[u32]) -> Result<Self> {
            Self::from_params(working)
        }
    }

    impl Coder for Add {
        type Scratch = ();
        fn scratch(&self) {}
        fn max_encoded_len(&self, len: usize) -> Option<usize> {
            len.checked_add(self.head)
        }
        fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
            output[..self.head].fill(self.add);
            for (to, from) in output[self.head..].iter_mut().zip(input) {
                *to = from.wrapping_add(self.add);
            }
            let boast = if self.boasts { 1 } else { 0 };
            Ok(input.len() + self.head + boast)
        }
        fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
            let Some((head, data)) = input.split_at_checked(self.head) else {
                return Err(CodecError::truncated("head"));
            };
            if head.iter().any(|&byte| byte != self.add) {
                return Err(CodecError::new(ErrorKind::Checksum, ""));
            }
            if data.len() > output.len() {
                return Err(CodecError::output_full(Some(data.len())));
            }
            for (to, from) in output.iter_mut().zip(data) {
                *to = from.wrapping_sub(self.add);
            }
            Ok(data.len() + self.lie)
        }
    }

    fn env(len: u64) -> Env {
        Env {
            dtype: Dtype::little(Kind::UInt, 1),
            array_shape: vec![len],
            chunk_shape: vec![len],
            container: Container::Hdf5,
        }
    }

    fn chain(codecs: &[Add]) -> FilterChain {
        let stages: Vec<_> = codecs
            .iter()
            .map(|codec| Stage {
                info: Add::INFO,
                config: Arc::new(codec.clone()),
                origin: "test".into(),
                notes: vec![],
            })
            .collect();
        FilterChain::bind(&stages, &env(10)).unwrap()
    }

    fn add(add: u8, head: usize) -> Add {
        Add { add, head, lie: 0, boasts: false }
    }

    #[test]
    fn stages_run_in_order_and_back_and_the_mask_skips() {
        let chunk: Vec<u8> = (0..10).collect();
        for heads in [vec![], vec![2], vec![1, 2], vec![0, 1, 2, 3]] {
            let codecs: Vec<_> = heads.iter().map(|&head| add(head as u8 + 1, head)).collect();
            for mask in 0..1u32 << heads.len() {
                let stored = {
                    let kept: Vec<_> = codecs
                        .iter()
                        .enumerate()
                        .filter(|(i, _)| mask & (1 << i) == 0)
                        .map(|(_, c)| c.clone())
                        .collect();
                    let kept = chain(&kept);
                    let mut scratch = kept.scratch();
                    kept.encode(&mut scratch, &chunk).unwrap().to_vec()
                };
                let whole = chain(&codecs);
                let mut out = [99; 10];
                whole.decode(mask, &mut whole.scratch(), &stored, &mut out).unwrap();
                assert_eq!(out, chunk[..], "{heads:?} mask {mask:b}");
            }
        }
    }

    #[test]
    fn every_other_length_is_an_error_that_names_the_stage() {
        let chain = chain(&[add(1, 0), add(2, 3)]);
        let mut scratch = chain.scratch();
        let stored = chain.encode(&mut scratch, &[7; 10]).unwrap().to_vec();
        let mut out = [0; 10];
        for len in 0..stored.len() {
            chain.decode(0, &mut scratch, &stored[..len], &mut out).unwrap_err();
        }
        let longer = [&stored[..], &[0]].concat();
        chain.decode(0, &mut scratch, &longer, &mut out).unwrap_err();
        let error = chain.decode(0, &mut scratch, &stored[..2], &mut out).unwrap_err();
        assert_eq!(error.to_string(), "decoding by codec add (stage 2 of 2, test)");
        assert_eq!(error.source.to_string(), "the stream is truncated: head");
    }

    #[test]
    fn a_codec_that_claims_more_than_it_was_given_is_caught() {
        let liar = Add { lie: 1 << 40, ..add(1, 0) };
        let mut out = [0; 10];
        for codecs in [vec![liar.clone()], vec![add(1, 0), liar]] {
            let chain = chain(&codecs);
            let mut scratch = chain.scratch();
            let stored = chain.encode(&mut scratch, &[7; 10]).unwrap().to_vec();
            chain.decode(0, &mut scratch, &stored, &mut out).unwrap_err();
        }
        // The buffer has more room from the time of the larger stage before.
        let boaster = chain(&[add(1, 9), add(2, 0), Add { boasts: true, ..add(3, 0) }]);
        boaster.encode(&mut boaster.scratch(), &[7; 10]).unwrap_err();
        let small = chain(&[Add { boasts: true, ..add(3, 0) }]);
        let mut used = chain(&[add(1, 9)]).scratch();
        chain(&[add(1, 9)]).encode(&mut used, &[7; 10]).unwrap();
        std::mem::swap(&mut used.front, &mut used.back);
        small.encode(&mut used, &[7; 10]).unwrap_err();
    }

    #[test]
    fn a_chunk_of_another_length_is_refused_and_a_bare_scratch_is_completed() {
        let chain = chain(&[add(1, 0), add(2, 3)]);
        for len in [0, 9, 11] {
            chain.encode(&mut chain.scratch(), &vec![7; len]).unwrap_err();
            chain.decode(0, &mut chain.scratch(), &[2; 13], &mut vec![0; len]).unwrap_err();
        }
        let mut bare = ChainScratch::default();
        let stored = chain.encode(&mut bare, &[7; 10]).unwrap().to_vec();
        assert_eq!(stored, [&[2; 3][..], &[10; 10]].concat());
        let mut out = [0; 10];
        chain.decode(0, &mut ChainScratch::default(), &stored, &mut out).unwrap();
        assert_eq!(out, [7; 10]);
    }

    #[test]
    fn an_absurd_bound_of_a_stage_is_refused_before_memory_is_taken() {
        let stage = |head| Stage {
            info: Add::INFO,
            config: Arc::new(add(1, head)),
            origin: "test".into(),
            notes: vec![],
        };
        let error = FilterChain::bind(&[stage(4), stage(8 << 30)], &env(100)).unwrap_err();
        assert_eq!((error.stage, error.operation), (1, Operation::Bind));
        assert!(error.source.to_string().contains("exceeds the limit"), "{}", error.source);
        assert!(FilterChain::bind(&[stage(4), stage(1 << 30)], &env(100)).is_ok());
    }

    #[test]
    fn a_chain_of_too_many_codecs_is_refused() {
        chain(&vec![add(1, 0); MAX_STAGES]);
        let stage =
            Stage { info: Add::INFO, config: Arc::new(add(1, 0)), origin: "test".into(), notes: vec![] };
        let error = FilterChain::bind(&vec![stage; MAX_STAGES + 1], &env(10)).unwrap_err();
        assert_eq!((error.stage, error.operation), (MAX_STAGES, Operation::Bind));
        assert!(error.source.to_string().contains("33 codecs"), "{}", error.source);
    }

    #[test]
    fn elements_without_bytes_reach_no_codec() {
        // It would take the bound of the size for granted.
        let stage =
            Stage { info: Add::INFO, config: Arc::new(add(1, 0)), origin: "test".into(), notes: vec![] };
        for stages in [vec![stage], vec![]] {
            let env = Env { dtype: Dtype::little(Kind::Opaque, 0), ..env(10) };
            let error = FilterChain::bind(&stages, &env).unwrap_err();
            assert!(error.source.to_string().contains("elements of 0 bytes"), "{}", error.source);
        }
    }

    #[test]
    fn an_absurd_chunk_is_refused_before_memory_is_taken() {
        for shape in [vec![1 << 33], vec![1 << 40, 1 << 40]] {
            let env = Env { chunk_shape: shape, ..env(10) };
            FilterChain::bind(&[], &env).unwrap_err();
        }
    }
}
