//! The element size of shuffle, which netcdf-c and numcodecs read differently.

use ncz_codec::{CodecError, Dialect};
use ncz_registry::chain::{ChainError, FilterChain, Operation};
use ncz_registry::spec::{ChainSpec, StageSpec};

use crate::data_error::DataError;
use crate::dtype::NcType;
use crate::hierarchy::Variable;
use crate::json::Json;

/// HDF5's number of shuffle.
pub const SHUFFLE: u32 = 2;

/// The element size of a shuffle in numcodecs if the JSON has none.
pub const NUMCODECS_SIZE: u64 = 4;

/// Whether a codec's JSON is that of shuffle.
#[must_use]
pub fn is_shuffle(codec: &Json) -> bool {
    codec.get("id").and_then(Json::as_str) == Some("shuffle")
}

/// Returns the shuffles whose element size netcdf-c and numcodecs may read differently. After a codec that changes the
/// type there is no disagreement, because netcdf-c does not have such codecs.
pub fn shuffles_of_the_type(filters: &mut [Json]) -> impl Iterator<Item = &mut Json> {
    const TYPE_CHANGING: [&str; 4] = ["astype", "delta", "fixedscaleoffset", "packbits"];
    let changes =
        |codec: &Json| codec.get("id").and_then(Json::as_str).is_some_and(|id| TYPE_CHANGING.contains(&id));
    filters.iter_mut().take_while(move |codec| !changes(codec)).filter(|codec| is_shuffle(codec))
}

/// The element size that netcdf-c uses in shuffle: for strings, the size of a pointer.
#[must_use]
pub fn netcdf_size(variable: &Variable) -> u64 {
    if variable.nc_type == Some(NcType::String) { 8 } else { variable.dtype.size() as u64 }
}

/// Refuses shuffled strings, which netcdf-c would read wrongly, see [`netcdf_size`].
pub(crate) fn refuse_shuffled_strings(variable: &Variable, chain: &FilterChain) -> Result<(), DataError> {
    let size = netcdf_size(variable);
    let wrong = |(id, words): &(u32, &[u32])| {
        *id == SHUFFLE && words.first().is_some_and(|&word| word > 1 && u64::from(word) != size)
    };
    let Some(stage) = chain.working().iter().position(wrong) else { return Ok(()) };
    Err(DataError::Chain {
        variable: variable.path.clone(),
        source: Box::new(ChainError {
            operation: Operation::Bind,
            codec: "shuffle".to_owned(),
            stage,
            stages: chain.len(),
            origin: "NCZarr".to_owned(),
            source: CodecError::unsupported(format!(
                "netcdf-c shuffles strings by {size} bytes, regardless of their length, and would read other text"
            )),
        }),
    })
}

/// Returns `spec` with the true element size in each shuffle whose JSON has none: numcodecs would use 4 for any type.
pub(crate) fn with_true_sizes(spec: &ChainSpec) -> ChainSpec {
    let stages = spec.stages().iter().map(|stage| match stage.clone() {
        StageSpec::Json { dialect: Dialect::Numcodecs, name, mut config } if name == "shuffle" => {
            config.entry("elementsize").or_insert_with(|| 0.into());
            StageSpec::Json { dialect: Dialect::Numcodecs, name, config }
        }
        other => other,
    });
    ChainSpec::new(stages.collect())
}
