//! Looks up the codecs of a chain in a registry.

use std::sync::Arc;

use ncz_codec::config::unknown_key;
use ncz_codec::{AnyConfig, CodecError, Dialect};
use serde_json::{Map, Value};

use crate::chain::Stage;
use crate::error::NotFound;
use crate::spec::generic::{self, Generic};
use crate::spec::{ChainSpec, StageSpec};
use crate::{Entry, Registry, known};

/// The HDF5 id of shuffle.
const SHUFFLE: u32 = 2;

/// Why a codec of a chain cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("codec {spec} (stage {} of {stages})", .stage + 1)]
#[non_exhaustive]
pub struct ResolveError {
    /// The codec as it was written.
    pub spec: String,
    /// The stage, counted from 0 in encoding order.
    pub stage: usize,
    /// The number of stages of the chain.
    pub stages: usize,
    /// The error.
    pub source: StageError,
}

/// The error of a codec of a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The codec was not found.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The codec refuses its configuration.
    #[error("{origin} refuses this configuration")]
    Config {
        /// The origin of the codec.
        origin: String,
        /// Its error.
        source: CodecError,
    },
}

impl ResolveError {
    /// The netCDF error number (`netcdf.h`): NC_ENOFILTER for a codec that is not there, else NC_EFILTER.
    pub fn netcdf_code(&self) -> i32 {
        match self.source {
            StageError::NotFound(_) => -136,
            StageError::Config { .. } => -132,
        }
    }
}

impl ChainSpec {
    /// Looks up the codecs in `registry` and configures them.
    ///
    /// # Errors
    /// A codec that is not found, or that refuses its configuration.
    pub fn resolve(&self, registry: &Registry) -> Result<Vec<Stage>, ResolveError> {
        let stages = self.stages();
        let resolve = |(stage, spec): (usize, &StageSpec)| {
            spec.resolve(registry).map_err(|source| ResolveError {
                spec: spec.to_string(),
                stage,
                stages: stages.len(),
                source,
            })
        };
        stages.iter().enumerate().map(resolve).collect()
    }

    /// Adds a codec at the end; one that the chain already has, under any name or number, is replaced
    /// in position, as in `nc_def_var_filter`.
    pub fn define_with(&mut self, registry: &Registry, stage: StageSpec) {
        match self.stages().iter().position(|have| have.is_codec_of(&stage, registry)) {
            Some(place) => self.replace(place, stage),
            None => self.push(stage),
        }
    }

    /// Removes the codec of an HDF5 filter, under any name or number. Returns whether it was
    /// present.
    pub fn remove(&mut self, registry: &Registry, id: u32) -> bool {
        let filter = StageSpec::Filter { id, params: Vec::new() };
        let before = self.stages().len();
        self.retain(|have| !have.is_codec_of(&filter, registry));
        self.stages().len() < before
    }
}

impl StageSpec {
    /// Looks up this codec in `registry` and configures it.
    ///
    /// # Errors
    /// The codec is not found, or refuses its configuration.
    pub fn resolve(&self, registry: &Registry) -> Result<Stage, StageError> {
        let by_number = match self {
            Self::Json { name, config, .. } if name == generic::NAME => {
                let read = generic::read(config);
                Some(read.map_err(|source| StageError::Config { origin: generic::NAME.to_owned(), source })?)
            }
            _ => None,
        };
        let (entry, spelling) = self.find(registry)?;
        let mut notes = Vec::new();
        let origin = entry.origin().to_string();
        let refused = |source| StageError::Config { origin: origin.clone(), source };
        if let Some((id, params)) = by_number {
            let config = entry.codec().parse_params(&params).map_err(refused)?;
            return Ok(stage_by_number(&entry, id, params, config));
        }
        let config = match self {
            Self::Json { dialect: Dialect::ZarrV3, name, config } if spelling == Dialect::Numcodecs => {
                parse_numcodecs_in_v3(&entry, name, config, &mut notes)
            }
            Self::Json { config, .. } => entry.codec().parse_json(spelling, config, &mut notes),
            Self::Filter { params, .. } => entry.codec().parse_params(params),
            // A bare name means the codec's own defaults, which only JSON has for every codec. But shuffle's
            // JSON default is a size of 4 for every type, while its parameters default to the size of the type.
            Self::Named { params, .. }
                if params.is_empty()
                    && entry.has_json_defaults()
                    && entry.info().filter_id != Some(SHUFFLE) =>
            {
                entry.codec().parse_json(Dialect::Numcodecs, &serde_json::Map::new(), &mut notes)
            }
            Self::Named { params, .. } => entry.codec().parse_params(params),
        };
        let config = config.map_err(refused)?;
        match (self, entry.info().filter_id) {
            (Self::Filter { params, .. } | Self::Named { params, .. }, Some(id))
                if !entry.can_name(params) =>
            {
                Ok(stage_by_number(&entry, id, params.clone(), config))
            }
            _ => Ok(Stage { info: entry.info().clone(), config, origin, notes }),
        }
    }

    /// Returns the codec that a name or number means, in any form.
    ///
    /// # Errors
    /// It was not found.
    pub fn entry(&self, registry: &Registry) -> Result<Arc<Entry>, NotFound> {
        self.find(registry).map(|(entry, _)| entry)
    }

    /// The codec, and the dialect of its configuration.
    fn find(&self, registry: &Registry) -> Result<(Arc<Entry>, Dialect), NotFound> {
        match self {
            Self::Json { dialect, name, config } if name == generic::NAME => match generic::read(config) {
                Ok((id, _)) => registry.by_id(id).map(|entry| (entry, Dialect::Numcodecs)),
                Err(_) => registry.by_dialect_name(*dialect, name),
            },
            Self::Json { dialect, name, .. } => registry.by_dialect_name(*dialect, name),
            Self::Filter { id, .. } => registry.by_id(*id).map(|entry| (entry, Dialect::Numcodecs)),
            Self::Named { name, .. } => registry.by_any_name(name).map(|entry| (entry, Dialect::Numcodecs)),
        }
    }

    /// Tests whether both name the same codec, in any form. Codecs that are not available are compared by
    /// their text only.
    fn is_codec_of(&self, other: &Self, registry: &Registry) -> bool {
        self.same_codec(other)
            || match (self.find(registry), other.find(registry)) {
                (Ok((a, _)), Ok((b, _))) => Arc::ptr_eq(&a, &b) || a.info() == b.info(),
                _ => false,
            }
    }
}

/// A codec that metadata name by its filter number.
fn stage_by_number(entry: &Entry, id: u32, params: Vec<u32>, config: Arc<dyn AnyConfig>) -> Stage {
    Stage {
        info: generic::info(entry.info()),
        config: Arc::new(Generic::new(id, params, config)),
        origin: entry.origin().to_string(),
        notes: Vec::new(),
    }
}

/// Reads the configuration of a `numcodecs.` name in Zarr v3, where unknown keys are errors.
fn parse_numcodecs_in_v3(
    entry: &Entry,
    name: &str,
    config: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<Arc<dyn AnyConfig>, CodecError> {
    let parsed = entry.codec().parse_json(Dialect::Numcodecs, config, notes)?;
    if let Some(key) = notes.iter().find_map(|note| unknown_key(note)) {
        let text = "numcodecs defines no such key for this codec; other readers of Zarr v3 refuse it";
        return Err(CodecError::config(key, text));
    }
    if !known::is_in_zarr_python(name) {
        notes.push(format!(
            "zarr-python has no codec {name:?}, and possibly other readers of Zarr v3 do not either"
        ));
    }
    Ok(parsed)
}
