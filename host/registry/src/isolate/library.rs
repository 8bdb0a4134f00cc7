//! The HDF5 filter and the NCZarr codecs of a library that runs in workers.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ncz_codec::{CodecError, Result, wire};
use semver::Version;
use serde_json::{Map, Value};

use super::memory::Shared;
use super::message::{Plain, Reply, Request, Run};
use super::pool::{Pool, StartError, said};
use super::process::{Limits, Process};
use super::worker_end::End;
use super::{Isolation, Tried};
use crate::allow_list::AllowList;
use crate::load::{
    Direction, FilterFacts, FilterFunction, Hdf5Provider, JsonFacts, JsonTranslator, Modified, Variable,
};

/// The codecs of a library that runs in workers.
pub(crate) struct IsolatedLibrary {
    /// The number of codecs of its native face, which workers do not support.
    pub(crate) natives: usize,
    /// The HDF5 filter.
    pub(crate) filter: Option<Arc<dyn FilterFunction>>,
    /// The NCZarr codec.
    pub(crate) codec: Option<Arc<dyn JsonTranslator>>,
    /// NCZarr codecs for filters of other libraries.
    pub(crate) defaults: Vec<Arc<dyn JsonTranslator>>,
    /// The provider of libhdf5's functions for the library, if known.
    pub(crate) hdf5_provider: Option<Hdf5Provider>,
    /// Parts that are refused, each with its reason.
    pub(crate) refused: Vec<String>,
    /// The version that the plugin states, and that of the interface that it was built for.
    pub(crate) version: Option<Version>,
    pub(crate) interface: Option<Version>,
}

/// A filter that runs in workers.
struct WorkerFilter {
    pool: Arc<Pool>,
    facts: FilterFacts,
}

/// An NCZarr codec that runs in workers.
struct WorkerCodec {
    pool: Arc<Pool>,
    facts: JsonFacts,
    /// Its index in the records.
    half: usize,
}

/// Opens the library at `path`, which the list has to admit if there is one, in a worker. This process does not open
/// it.
///
/// # Errors
/// The reason, as a fragment: there is no worker program, or the library ends the worker, or the loader refuses it.
pub(crate) fn open(
    path: &Path,
    isolation: &Isolation,
    allow_list: Option<&AllowList>,
) -> std::result::Result<IsolatedLibrary, String> {
    let path = path.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    let pool = Pool::open(&path, isolation, allow_list).map_err(|error| error.to_string())?;
    let records = pool.records();
    let filter = records.filter.clone().map(|facts| {
        let half = WorkerFilter { pool: Arc::clone(&pool), facts };
        Arc::new(half) as Arc<dyn FilterFunction>
    });
    let mut codecs = records.json.iter().enumerate().map(|(half, facts)| {
        let half = WorkerCodec { pool: Arc::clone(&pool), facts: facts.clone(), half };
        Arc::new(half) as Arc<dyn JsonTranslator>
    });
    let own: Vec<_> = codecs.by_ref().take(records.own).collect();
    Ok(IsolatedLibrary {
        natives: records.natives,
        filter,
        codec: own.into_iter().next(),
        defaults: codecs.collect(),
        hdf5_provider: records.hdf5_provider.clone(),
        refused: records.refused.iter().map(|Plain(reason)| reason.clone()).collect(),
        version: records.version.clone(),
        interface: records.interface.clone(),
    })
}

/// Opens the library at `path` in a worker and then ends the worker, to test whether it survives both. There is
/// no limit on memory: this process, which opens it next, has none either.
pub(crate) fn try_open(path: &Path, isolation: &Isolation, allow_list: Option<&AllowList>) -> Tried {
    let isolation = Isolation { memory: u64::MAX, ..isolation.clone() };
    match Pool::open(path, &isolation, allow_list) {
        Ok(pool) => match pool.exit() {
            Ok(()) => Tried::Survived,
            Err((end, words)) => Tried::Ended(format!("{}{}", end.of_test("closing"), said(&words))),
        },
        Err(StartError::Refused(_) | StartError::Changed) => Tried::Survived,
        Err(StartError::Died { end: End::System(error), .. }) => Tried::NoWorker(error.to_string()),
        Err(StartError::Died { end, words }) => {
            Tried::Ended(format!("{}{}", end.of_test("opening"), said(&words)))
        }
        Err(other) => Tried::NoWorker(other.to_string()),
    }
}

impl FilterFunction for WorkerFilter {
    fn facts(&self) -> &FilterFacts {
        &self.facts
    }

    fn is_isolated(&self) -> bool {
        true
    }

    fn prepare(&self) -> Result<()> {
        // Workers do this before they serve.
        Ok(())
    }

    fn set_local(&self, given: &[u32], variable: &Variable) -> Result<Vec<u32>> {
        let request = Request::SetLocal { given: given.to_vec(), variable: variable.clone() };
        let doing = || format!("making the working parameters of {given:?}");
        self.pool.call(doing, |worker, limits| match worker.call(&request, limits)? {
            Reply::Params(params) => Ok(Ok(params)),
            other => refusal(other),
        })
    }

    fn run(&self, direction: Direction, params: &[u32], input: &[u8], output: &mut [u8]) -> Result<usize> {
        if input.is_empty() {
            // Some plugins divide by the length, others hang.
            return Err(CodecError::truncated("no bytes for a filter"));
        }
        let doing = || match direction {
            Direction::Encode => format!("encoding {} bytes with {params:?}", input.len()),
            Direction::Decode => format!("decoding {} bytes with {params:?}", input.len()),
        };
        self.pool.call(doing, |worker, limits| run(worker, limits, direction, params, input, output))
    }
}

/// Runs the filter in a worker. Its answer is a length; it is only trusted to state how many bytes there are.
fn run(
    worker: &mut Process,
    limits: Limits,
    direction: Direction,
    params: &[u32],
    input: &[u8],
    output: &mut [u8],
) -> std::result::Result<Result<usize>, End> {
    let too_long = || End::System(std::io::ErrorKind::OutOfMemory.into());
    let at = Shared::output_at(input.len()).ok_or_else(too_long)?;
    let end = at.checked_add(output.len()).ok_or_else(too_long)?;
    worker.shared.grow(end).map_err(End::System)?;
    worker.shared.write(input);
    let run = Run {
        direction,
        params: params.to_vec(),
        input: input.len(),
        output: (at, output.len()),
        shared: worker.shared.len(),
    };
    let reply = worker.call(&Request::Run(run), limits)?;
    let (result, used) = match reply {
        Reply::Ran(len) => {
            let output = output.get_mut(..len).filter(|output| !output.is_empty());
            if !output.is_some_and(|output| worker.shared.read(at, output)) {
                return Err(End::Nonsense("a length that is none"));
            }
            (Ok(len), at + len)
        }
        other => (refusal(other)?, input.len()),
    };
    worker.shared.trim(used);
    Ok(result)
}

/// The error that an answer is; any other answer does not fit the question.
fn refusal<T>(reply: Reply) -> std::result::Result<Result<T>, End> {
    match reply {
        Reply::Failed(error) => Ok(Err(error)),
        _ => Err(End::Nonsense("an answer to another question")),
    }
}

impl JsonTranslator for WorkerCodec {
    fn facts(&self) -> &JsonFacts {
        &self.facts
    }

    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    fn to_params(&self, config: &Map<String, Value>) -> Result<Vec<u32>> {
        let json = Value::Object(config.clone()).to_string();
        let doing = || format!("making parameters of the JSON of {}", self.facts.codec_id);
        let request = Request::ToParams { half: self.half, json };
        self.pool.call(doing, |worker, limits| match worker.call(&request, limits)? {
            Reply::Params(params) => Ok(Ok(params)),
            other => refusal(other),
        })
    }

    fn to_json(&self, params: &[u32]) -> Result<Map<String, Value>> {
        let request = Request::ToJson { half: self.half, params: params.to_vec() };
        let doing = || format!("making the JSON of {} of {params:?}", self.facts.codec_id);
        self.pool.call(doing, |worker, limits| match worker.call(&request, limits)? {
            Reply::Json(text) => Ok(wire::parse_object(text.as_bytes())),
            other => refusal(other),
        })
    }

    fn modify_parameters(&self, visible: &[u32], variable: &Variable) -> Result<Modified> {
        let (visible, variable) = (visible.to_vec(), variable.clone());
        let doing = || format!("making the working parameters of {}", self.facts.codec_id);
        let request = Request::Modify { half: self.half, visible, variable };
        self.pool.call(doing, |worker, limits| match worker.call(&request, limits)? {
            Reply::Modified(modified) => Ok(Ok(modified)),
            other => refusal(other),
        })
    }
}

impl fmt::Debug for WorkerFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerFilter").field("id", &self.facts.id).field("pool", &self.pool).finish()
    }
}

impl fmt::Debug for WorkerCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerCodec").field("id", &self.facts.codec_id).field("pool", &self.pool).finish()
    }
}
