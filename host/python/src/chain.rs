//! Chains of codecs over memory of Python.

use std::sync::{Arc, Mutex, PoisonError};

use ncz::codec::{Container, Dialect, Dtype, Env};
use ncz::model::{ByteOrder, Dtype as ZarrDtype, Kind as ZarrKind, MAX_CHUNK_BYTES};
use ncz::registry::chain::{ChainScratch, FilterChain, Stage};
use ncz::registry::spec::{ChainSpec, StageSpec};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::buffers::{Memory, ReadBuffer, WriteBuffer};
use crate::errors::{Failure, Kind};
use crate::plugins;
use crate::threads::detached;

/// Inputs that a chain stays bound to: those that were used last.
const KEPT: usize = 8;

/// Codecs whose streams or configurations say all that decoding needs, though they look at the type for encoding.
const SELF_DESCRIBING: [&str; 10] = [
    "astype",
    "bitround",
    "blosc",
    "blosc2",
    "delta",
    "fixedscaleoffset",
    "packbits",
    "pcodec",
    "quantize",
    "zfpy",
];

/// A chain of codecs: bound to elements of one type and shape, or to what each call brings.
#[pyclass(module = "ncz._ncz", frozen)]
pub(crate) struct Chain {
    json: String,
    stages: Vec<Stage>,
    container: Container,
    fixed: Option<(Dtype, Vec<u64>)>,
    /// Locked by attached threads only, and never while one attaches.
    bound: Mutex<Vec<Arc<BoundChain>>>,
}

/// A chain that is bound to an input.
struct BoundChain {
    input: Input,
    chain: FilterChain,
    /// Locked by attached threads only.
    idle: Mutex<Vec<ChainScratch>>,
}

/// What enters a chain.
#[derive(Clone, Debug, PartialEq)]
enum Input {
    /// The elements of an array.
    Array(Dtype, Vec<u64>),
    /// Bytes of any length.
    Bytes,
    /// What another codec made of elements of this type, in chunks of this shape.
    Stream(Dtype, Vec<u64>),
}

#[pymethods]
impl Chain {
    /// Looks up the codecs of a specification; `dtype` and `shape` bind them to arrays of one kind.
    #[new]
    #[pyo3(signature = (codecs, dtype=None, shape=None))]
    fn new(py: Python<'_>, codecs: String, dtype: Option<&str>, shape: Option<Vec<u64>>) -> PyResult<Self> {
        let registry = plugins::registry(py, None);
        let fixed = match (dtype, shape) {
            (None, None) => None,
            (Some(dtype), Some(shape)) => Some((parse_dtype(dtype)?, shape)),
            _ => return Err(Failure::new(Kind::Value, "dtype and shape: expected both or none").into()),
        };
        let spec = ChainSpec::parse(&codecs).map_err(Failure::from)?;
        let is_v3 = |stage: &StageSpec| matches!(stage, StageSpec::Json { dialect: Dialect::ZarrV3, .. });
        let container = if spec.stages().iter().any(is_v3) { Container::ZarrV3 } else { Container::ZarrV2 };
        let stages = detached(py, || Ok(spec.resolve(&registry)?))?;
        for stage in &stages {
            // In version 3 keys that are not known are errors anyway; the notes there are on other readers.
            let fault = stage.fault().filter(|_| container == Container::ZarrV2);
            if let Some(fault) = fault {
                return Err(Failure::new(Kind::Codec, format!("codec {}: {fault}", stage.info.name)).into());
            }
        }
        let chain = Self { json: codecs, stages, container, fixed, bound: Mutex::default() };
        if let Some((dtype, shape)) = &chain.fixed {
            chain.bind(Input::Array(*dtype, shape.clone()))?;
        }
        Ok(chain)
    }

    /// The specification.
    #[getter]
    fn codecs(&self) -> &str {
        &self.json
    }

    /// The codecs as metadata of numcodecs' dialect or of Zarr version 3 have them: JSON of a list.
    #[pyo3(signature = (dialect="zarr3"))]
    fn stored(&self, dialect: &str) -> PyResult<String> {
        let dialect = if dialect == "zarr3" { Dialect::ZarrV3 } else { Dialect::Numcodecs };
        let chain = match &self.fixed {
            Some((dtype, shape)) => self.bind(Input::Array(*dtype, shape.clone()))?,
            None => self.bind(Input::Bytes)?,
        };
        let json = chain.chain.stored_json(dialect).map_err(Failure::from)?;
        Ok(ncz::model::json::Json::Array(json.into_iter().map(Into::into).collect()).to_string())
    }

    /// Encodes the memory of an object.
    fn encode<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let data = ReadBuffer::new(data)?;
        let input = match &self.fixed {
            Some((dtype, shape)) => Input::Array(*dtype, shape.clone()),
            None => Input::Array(data.dtype(), data.shape()),
        };
        let bound = self.bind(input)?;
        bound.encode(py, data.bytes())
    }

    /// Encodes what enters a codec of Zarr version 3: a chunk of this type and shape, or what another codec made of it.
    fn encode_chunk<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        dtype: &str,
        shape: Vec<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = ReadBuffer::new(data)?;
        let dtype = parse_dtype(dtype)?;
        let is_chunk = byte_len(dtype, &shape) == Some(data.bytes().len());
        let bound =
            self.bind(if is_chunk { Input::Array(dtype, shape) } else { Input::Stream(dtype, shape) })?;
        bound.encode(py, data.bytes())
    }

    /// Decodes bytes: into memory of Python, or into memory of its own. Returns the latter, or the number of bytes.
    #[pyo3(signature = (data, out=None))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        let data = ReadBuffer::new(data)?;
        let Some(out) = out else {
            let Some((dtype, shape)) = &self.fixed else {
                return self.bind(Input::Bytes)?.decode_stream(py, data.bytes()).map(Some);
            };
            let bound = self.bind(Input::Array(*dtype, shape.clone()))?;
            return bound.decode_chunk(py, data.bytes()).map(Some);
        };
        let mut out = WriteBuffer::in_any_order(out)?;
        let input = match &self.fixed {
            Some((dtype, shape)) => Input::Array(*dtype, shape.clone()),
            None => Input::Array(out.dtype(), out.shape()),
        };
        self.bind(input)?.decode_into(py, data.bytes(), out.bytes())?;
        Ok(None)
    }

    /// Decodes what [`encode_chunk`](Self::encode_chunk) made.
    fn decode_chunk<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        dtype: &str,
        shape: Vec<u64>,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let data = ReadBuffer::new(data)?;
        let dtype = parse_dtype(dtype)?;
        let chunk = self.bind(Input::Array(dtype, shape.clone()))?.decode_chunk(py, data.bytes());
        let Err(error) = chunk else { return chunk };
        // Another length: the input was another codec's output, if this codec takes such a thing.
        let Ok(stream) = self.bind(Input::Stream(dtype, shape)) else { return Err(error) };
        stream.decode_stream(py, data.bytes()).map_err(|_| error)
    }
}

impl Chain {
    /// The chain for an input.
    fn bind(&self, input: Input) -> Result<Arc<BoundChain>, Failure> {
        let mut kept = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|bound| bound.input == input) {
            if at > 0 {
                kept[..=at].rotate_right(1);
            }
            return Ok(Arc::clone(&kept[0]));
        }
        drop(kept);
        let chain = self.bind_new(&input)?;
        let bound = Arc::new(BoundChain { input, chain, idle: Mutex::default() });
        kept = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(KEPT - 1);
        kept.insert(0, Arc::clone(&bound));
        Ok(bound)
    }

    fn bind_new(&self, input: &Input) -> Result<FilterChain, Failure> {
        let env = |dtype: Dtype, shape: &[u64]| Env {
            dtype,
            array_shape: shape.to_vec(),
            chunk_shape: shape.to_vec(),
            container: self.container,
        };
        let bytes = || {
            let env = env(Dtype::little(ncz::codec::Kind::Opaque, 1), &[]);
            FilterChain::bind_bytes(&self.stages, &env, MAX_CHUNK_BYTES)
        };
        Ok(match input {
            Input::Array(dtype, shape) => {
                let chain = FilterChain::bind(&self.stages, &env(*dtype, shape))?;
                if self.fixed.is_none() && self.container == Container::ZarrV2 {
                    self.refuse_what_depends_on_the_type(&chain, bytes().ok().as_ref(), *dtype)?;
                }
                chain
            }
            Input::Bytes => bytes()?,
            Input::Stream(dtype, shape) => {
                FilterChain::bind_after_another(&self.stages, &env(*dtype, shape), MAX_CHUNK_BYTES)?
            }
        })
    }

    /// Refuses codecs that use the type of the elements in a way that the decoder has to know: numcodecs does not tell a
    /// decoder the type.
    fn refuse_what_depends_on_the_type(
        &self,
        typed: &FilterChain,
        bytes: Option<&FilterChain>,
        dtype: Dtype,
    ) -> Result<(), Failure> {
        if dtype.size == 1 && dtype.kind == ncz::codec::Kind::UInt && bytes.is_some() {
            return Ok(());
        }
        let bytes = bytes.map(FilterChain::working);
        for (number, (stage, typed)) in self.stages.iter().zip(typed.working()).enumerate() {
            let same =
                bytes.as_ref().and_then(|bytes| bytes.get(number)).is_some_and(|bytes| bytes.1 == typed.1);
            if !same && !SELF_DESCRIBING.contains(&&*stage.info.name) {
                let text = format!(
                    "codec {} depends on the type of the elements ({} bytes each), which is not known when it decodes; \
                     give dtype and shape to ncz.Chain, or all parameters to the codec",
                    stage.info.name, dtype.size
                );
                return Err(Failure::new(Kind::Codec, text));
            }
        }
        Ok(())
    }
}

impl BoundChain {
    fn scratch(&self) -> ChainScratch {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn release(&self, scratch: ChainScratch) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }

    fn encode<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let mut scratch = self.scratch();
        let encoded = detached(py, || {
            Ok(match self.input {
                Input::Array(..) => self.chain.encode(&mut scratch, data)?,
                Input::Bytes | Input::Stream(..) => self.chain.encode_bytes(&mut scratch, data)?,
            })
        });
        let encoded = encoded.map(|bytes| PyBytes::new(py, bytes));
        self.release(scratch);
        encoded
    }

    /// Decodes bytes of any length.
    fn decode_stream<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyMemoryView>> {
        let mut scratch = self.scratch();
        let mut out = Vec::new();
        let decoded =
            detached(py, || Ok(self.chain.decode_bytes(&mut scratch, data, MAX_CHUNK_BYTES, &mut out)?));
        self.release(scratch);
        decoded?;
        Memory::view(py, out)
    }

    /// Decodes a chunk of the length that the chain is bound to.
    fn decode_chunk<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyMemoryView>> {
        let len = self.chain.chunk_len();
        let mut out = Vec::new();
        out.try_reserve_exact(len)
            .map_err(|_| Failure::new(Kind::Memory, format!("no memory for a chunk of {len} bytes")))?;
        out.resize(len, 0);
        self.decode_into(py, data, &mut out)?;
        Memory::view(py, out)
    }

    fn decode_into(&self, py: Python<'_>, data: &[u8], out: &mut [u8]) -> PyResult<()> {
        let mut scratch = self.scratch();
        let decoded = detached(py, || Ok(self.chain.decode(0, &mut scratch, data, out)?));
        self.release(scratch);
        decoded
    }
}

/// Reads numpy's text of a type.
fn parse_dtype(text: &str) -> Result<Dtype, Failure> {
    let dtype = ZarrDtype::parse(text).map_err(|error| Failure::of(Kind::Value, &error))?;
    let kind = match dtype.kind() {
        ZarrKind::Bool => ncz::codec::Kind::Bool,
        ZarrKind::Int | ZarrKind::DateTime | ZarrKind::TimeDelta => ncz::codec::Kind::Int,
        ZarrKind::UInt => ncz::codec::Kind::UInt,
        ZarrKind::Float => ncz::codec::Kind::Float,
        ZarrKind::Complex => ncz::codec::Kind::Complex,
        _ => ncz::codec::Kind::Opaque,
    };
    let order = match dtype.order() {
        ByteOrder::Big => ncz::codec::ByteOrder::Big,
        _ => ncz::codec::ByteOrder::Little,
    };
    if dtype.size() == 0 {
        return Err(Failure::new(Kind::Value, format!("dtype: elements of {text:?} have no size")));
    }
    Ok(Dtype { kind, size: dtype.size(), order })
}

/// The bytes of a chunk.
fn byte_len(dtype: Dtype, shape: &[u64]) -> Option<usize> {
    shape.iter().try_fold(dtype.size, |len, &count| len.checked_mul(usize::try_from(count).ok()?))
}

/// The ids of numcodecs and the names of Zarr version 3 of the codecs of this process: pairs of dialect and name.
#[pyfunction]
fn codec_names(py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
    let registry = plugins::registry(py, None);
    detached(py, || {
        let report = registry.report();
        let names = report.codecs.iter().flat_map(|codec| {
            let numcodecs = codec.numcodecs.iter().map(|name| ("numcodecs", name.clone()));
            numcodecs.chain(codec.zarr_v3.iter().map(|name| ("zarr3", name.clone())))
        });
        Ok(names.collect())
    })
}

/// Whether there is a codec of this id of numcodecs.
#[pyfunction]
fn has_codec(py: Python<'_>, id: &str) -> PyResult<bool> {
    let registry = plugins::registry(py, None);
    detached(py, || Ok(registry.by_name(Dialect::Numcodecs, id).is_ok()))
}

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Chain>()?;
    module.add_class::<Memory>()?;
    module.add_function(wrap_pyfunction!(codec_names, module)?)?;
    module.add_function(wrap_pyfunction!(has_codec, module)?)
}
