//! The parts of a foreign codec as the rest of the host uses them, independent of where their library runs: in this
//! process ([`Hdf5Filter`](super::Hdf5Filter), [`NczarrCodec`](super::NczarrCodec)) or in a worker.

use std::fmt;

use ncz_codec::{Container, Dtype, Env, Repr, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounded;

/// The direction of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From a chunk to what is stored.
    Encode,
    /// From what is stored to the chunk.
    Decode,
}

/// The contents of an HDF5 filter's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterFacts {
    /// The filter id, 1 to 65535.
    #[serde(deserialize_with = "bounded::filter_id")]
    pub id: u32,
    /// The name for people; may be empty.
    #[serde(deserialize_with = "bounded::name")]
    pub name: String,
    /// Whether the filter declares that it encodes.
    pub encodes: bool,
    /// Whether the filter declares that it decodes.
    pub decodes: bool,
    /// Whether the filter tests types before it runs.
    pub has_can_apply: bool,
    /// Whether the filter makes working parameters of the user's.
    pub has_set_local: bool,
}

/// The contents of an NCZarr codec's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonFacts {
    /// The numcodecs id.
    #[serde(deserialize_with = "bounded::codec_id")]
    pub codec_id: String,
    /// The id of the filter that runs the codec, 1 to 65535.
    #[serde(deserialize_with = "bounded::filter_id")]
    pub filter_id: u32,
    /// Whether the codec makes working parameters of the visible ones.
    pub has_modify_parameters: bool,
}

/// The facts about its data that a filter can query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The type of the filter's input, or the variable's if the input is bytes.
    pub dtype: Dtype,
    /// The lengths of the variable's dimensions.
    pub array_shape: Vec<u64>,
    /// The shape of what enters the filter: a chunk.
    pub chunk_shape: Vec<u64>,
    /// The fill value, of the dtype, if there is one that filters are given.
    pub fill: Option<Vec<u8>>,
}

/// Parameters as `NCZ_modify_parameters` leaves them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modified {
    /// The parameters in the metadata.
    #[serde(deserialize_with = "bounded::params")]
    pub visible: Vec<u32>,
    /// The working parameters.
    #[serde(deserialize_with = "bounded::params")]
    pub working: Vec<u32>,
}

/// The HDF5 filter of a library.
pub trait FilterFunction: fmt::Debug + Send + Sync {
    /// Returns the contents of its record.
    fn facts(&self) -> &FilterFacts;

    /// Whether it runs in a worker, whose environment lacks the variables that steer plugins.
    fn is_isolated(&self) -> bool {
        false
    }

    /// Makes the library ready to run, once.
    ///
    /// # Errors
    /// The library cannot be reached.
    fn prepare(&self) -> Result<()>;

    /// Runs `can_apply` and `set_local`: the working parameters for what the user gave.
    ///
    /// # Errors
    /// The filter does not support this type or shape, or refuses the parameters; or its queries cannot be
    /// answered.
    fn set_local(&self, given: &[u32], variable: &Variable) -> Result<Vec<u32>>;

    /// Runs the filter over `input` and writes what comes out to `output`. Returns how many bytes that is.
    ///
    /// # Errors
    /// The filter fails, or its result does not fit; then the error states the required size.
    fn run(&self, direction: Direction, params: &[u32], input: &[u8], output: &mut [u8]) -> Result<usize>;
}

/// The NCZarr codec of a library: it reads and writes JSON for a filter.
pub trait JsonTranslator: fmt::Debug + Send + Sync {
    /// Returns the contents of its record.
    fn facts(&self) -> &JsonFacts;

    /// Makes the library ready to run, once.
    ///
    /// # Errors
    /// The library cannot be reached.
    fn prepare(&self) -> Result<()>;

    /// The visible parameters for a configuration, which is JSON without the codec's id.
    ///
    /// # Errors
    /// The library refuses it; the code is a netcdf error number.
    fn to_params(&self, config: &Map<String, Value>) -> Result<Vec<u32>>;

    /// The configuration for visible parameters, as JSON without the codec's id. What the library
    /// writes is not trusted.
    ///
    /// # Errors
    /// The library refuses the parameters, or what it writes is not JSON of its codec.
    fn to_json(&self, params: &[u32]) -> Result<Map<String, Value>>;

    /// Runs `NCZ_modify_parameters`.
    ///
    /// # Errors
    /// The library refuses the parameters or the variable; or its queries cannot be answered.
    fn modify_parameters(&self, visible: &[u32], variable: &Variable) -> Result<Modified>;
}

impl FilterFacts {
    /// The name for tables and sentences: `HDF5 lz4 filter; see https://..` without the reference, and without the full
    /// stop that others end with.
    pub(super) fn short_name(&self) -> &str {
        self.name.split("; see ").next().unwrap_or(&self.name).trim().trim_end_matches('.')
    }
}

impl Variable {
    /// Returns the facts for a stage with this input.
    ///
    /// Only HDF5 stores the words that a filter derives from a fill value. In other containers they are derived again
    /// when a variable is opened, so with another fill value the same stored bytes would decode to other numbers: there
    /// filters get no fill value.
    pub fn new(input: &Repr, env: &Env) -> Self {
        let (dtype, chunk_shape, fill) = match input {
            Repr::Array { dtype, shape, fill } => {
                let fill = fill.clone().filter(|_| env.container == Container::Hdf5);
                (*dtype, shape.clone(), fill)
            }
            Repr::Bytes { .. } => (env.dtype, env.chunk_shape.clone(), None),
        };
        Self { dtype, array_shape: env.array_shape.clone(), chunk_shape, fill }
    }
}
