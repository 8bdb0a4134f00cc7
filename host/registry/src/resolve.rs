//! From what somebody wrote of a chain to codecs that are at hand: the look-up.

use std::sync::Arc;

use ncz_codec::{CodecError, Dialect};

use crate::chain::Stage;
use crate::error::NotFound;
use crate::spec::{ChainSpec, StageSpec};
use crate::{Entry, Registry};

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
    /// How many stages the chain has.
    pub stages: usize,
    /// What is wrong.
    pub source: ResolveFault,
}

/// What is wrong with a codec of a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveFault {
    /// There is no such codec here.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The codec refuses its configuration.
    #[error("{origin} refuses this configuration")]
    Config {
        /// Where the codec comes from.
        origin: String,
        /// What it says.
        source: CodecError,
    },
}

impl ResolveError {
    /// The netCDF error number (`netcdf.h`): NC_ENOFILTER for a codec that is not there, else NC_EFILTER.
    pub fn netcdf_code(&self) -> i32 {
        match self.source {
            ResolveFault::NotFound(_) => -136,
            ResolveFault::Config { .. } => -132,
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
}

impl StageSpec {
    /// Looks up this codec in `registry` and configures it.
    ///
    /// # Errors
    /// The codec is not found, or refuses its configuration.
    pub fn resolve(&self, registry: &Registry) -> Result<Stage, ResolveFault> {
        let entry = self.find(registry)?;
        let mut notes = Vec::new();
        let config = match self {
            Self::Json { dialect, config, .. } => entry.codec().parse_json(*dialect, config, &mut notes),
            Self::Filter { params, .. } => entry.codec().parse_params(params),
            // A bare name means the codec's own defaults, which only JSON has for every codec. But that of
            // shuffle is a size of 4 whatever the type, where its parameters default to the type's.
            Self::Named { params, .. } if params.is_empty() && entry.info().filter_id != Some(SHUFFLE) => {
                entry.codec().parse_json(Dialect::Numcodecs, &serde_json::Map::new(), &mut notes)
            }
            Self::Named { params, .. } => entry.codec().parse_params(params),
        };
        let origin = entry.origin().to_string();
        let config = match config {
            Ok(config) => config,
            Err(source) => return Err(ResolveFault::Config { origin, source }),
        };
        Ok(Stage { info: entry.info().clone(), config, origin, notes })
    }

    fn find(&self, registry: &Registry) -> Result<Arc<Entry>, NotFound> {
        match self {
            Self::Json { dialect, name, .. } => registry.by_name(*dialect, name),
            Self::Filter { id, .. } => registry.by_id(*id),
            Self::Named { name, .. } => registry.by_any_name(name),
        }
    }
}
