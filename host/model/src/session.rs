//! The session of a dataset: its codecs, its threads and the user's choices.

use std::sync::Arc;

use ncz_registry::Registry;
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::{ChainSpec, generic};
use tracing::debug;

use crate::array::codec_env;
use crate::data_error::DataError;
use crate::dtype::NcType;
use crate::format::Format;
use crate::hierarchy::Variable;
use crate::json::Json;
use crate::lossy_guard;
use crate::pool::Pool;
use crate::shuffle::{refuse_shuffled_strings, with_true_sizes};
use crate::strings::MAX_CHUNK_BYTES;

/// The codecs, threads and options that a dataset works with. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    /// The registry in which codecs are looked up.
    pub registry: Arc<Registry>,
    /// The threads that chunks are spread over.
    pub pool: Pool,
    /// The element size of shuffle to use if readers disagree about it.
    pub shuffle: ShuffleReading,
    /// Whether a lossy codec is refused if it changes which values are missing. Off by default, as in other libraries.
    pub lossy_guard: LossyGuard,
}

/// The meaning of a shuffle's element size in NCZarr data that is neither 0 nor the size of the variable's type:
/// netcdf-c ignores it, numcodecs uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ShuffleReading {
    /// Refuse, and name both readings.
    #[default]
    Refuse,
    /// As netcdf-c: the size of the variable's type.
    TypeSize,
    /// As numcodecs and zarr-python: the number in the metadata.
    AsStored,
}

/// Whether to store chunks that a lossy codec changes too much: missing values become data, data become missing, or
/// values are destroyed by missing values near them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LossyGuard {
    /// The encoded chunk is stored without a check, as in every other program.
    #[default]
    Off,
    /// Such a chunk is not stored; the write fails.
    On,
}

impl Session {
    /// A session with codecs from `registry` and threads from `pool`.
    #[must_use]
    pub fn new(registry: Arc<Registry>, pool: Pool) -> Self {
        Self { registry, pool, shuffle: ShuffleReading::Refuse, lossy_guard: LossyGuard::Off }
    }

    /// Looks up the codecs of `spec` and binds them to a variable.
    ///
    /// # Errors
    /// A codec is not found, a configuration is invalid, or the codecs do not fit.
    pub fn bind(
        &self,
        variable: &Variable,
        format: Format,
        spec: &ChainSpec,
    ) -> Result<FilterChain, DataError> {
        let stages = spec.resolve(&self.registry).map_err(|source| DataError::Resolve {
            variable: variable.path.clone(),
            source: Box::new(source),
        })?;
        let env = codec_env(variable, format);
        if env.dtype.size == 0 && !variable.dtype.is_variable_length() {
            return Err(DataError::without_size(variable));
        }
        let chain = if variable.dtype.is_variable_length() {
            FilterChain::bind_bytes(&stages, &env, MAX_CHUNK_BYTES)
        } else {
            let fill = variable.fill.as_ref().map(|fill| fill.bytes().to_vec());
            FilterChain::bind_with_fill(&stages, &env, fill.filter(|fill| fill.len() == env.dtype.size))
        };
        let chain = chain.inspect(|chain| {
            debug!(
                target: "ncz_model", variable = ?variable.path, codecs = %chain.details(),
                chunk_bytes = chain.chunk_len(), "codecs bound"
            );
        });
        chain.map_err(|source| DataError::Chain { variable: variable.path.clone(), source: Box::new(source) })
    }

    /// Sets the codecs of a variable that is being defined, in the form of its metadata. A shuffle without an element
    /// size gets the size of the type.
    ///
    /// # Errors
    /// As for [`bind`](Self::bind); or the metadata cannot name a codec, or a lossy codec would turn the variable's
    /// fill value into data.
    pub fn define(
        &self,
        variable: &mut Variable,
        format: Format,
        spec: &ChainSpec,
    ) -> Result<FilterChain, DataError> {
        let chain = self.bind(variable, format, &with_true_sizes(spec))?;
        if format.is_nczarr() && variable.nc_type == Some(NcType::String) {
            refuse_shuffled_strings(variable, &chain)?;
        }
        if self.lossy_guard == LossyGuard::On {
            lossy_guard::check_fill(variable, format, &chain)?;
        }
        // A file has filters by number, also those without a name in JSON.
        let by_number = || {
            let working = chain.working();
            let has_numbers = format.is_netcdf() && working.iter().all(|(id, _)| *id != 0);
            has_numbers.then(|| working.iter().map(|(id, words)| generic::codec_json(*id, words)).collect())
        };
        let stored = chain.stored_json(format.dialect()).or_else(|source| by_number().ok_or(source));
        let stored: Vec<_> = stored.map_err(|source| DataError::Spec {
            variable: variable.path.clone(),
            source: Box::new(source),
        })?;
        variable.filters = stored.into_iter().map(Json::from).collect();
        Ok(chain)
    }
}
