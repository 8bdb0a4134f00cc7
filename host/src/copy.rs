//! Copying a dataset, with other codecs or chunks where they are asked for.

mod route;
pub(crate) mod strangers;
mod strings;
pub(crate) mod tasks;
mod version;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz_nczarr::{
    DataError, Dataset, Dtype, FillText, Format, Hierarchy, Kind, Order, ScalarForm, Storage, Variable,
    VariableFault,
};
use ncz_registry::spec::{ChainSpec, StageSpec};
use ncz_store::Store;
use serde_json::json;

use self::strings::AnyRoute;
use crate::trace;

/// The codecs of a variable in the copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Codecs {
    /// Those of the original.
    #[default]
    Keep,
    /// These; an empty chain for none.
    Spec(ChainSpec),
    /// A lossless chain that suits the type: shuffle and zstd for numbers of several bytes (in version 3
    /// both as blosc), zstd for the rest, none for scalars.
    Sensible,
}

/// What becomes of one variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariablePlan {
    /// Its codecs.
    pub codecs: Codecs,
    /// Its chunk lengths; `None` keeps those of the original.
    pub chunks: Option<Vec<u64>>,
}

/// What to copy, and how.
#[derive(Clone, Debug, Default)]
pub struct CopyOptions {
    /// Plans by the path of the variable, such as `/g1/q`; others are kept as they are.
    pub variables: BTreeMap<String, VariablePlan>,
    /// The format of the copy; `None` keeps that of the original, NCZarr in its newest generation.
    pub format: Option<Format>,
    /// Whether to read both sides again at the end and compare.
    pub verify: bool,
    /// Whether to write consolidated metadata.
    pub consolidated: bool,
    /// Whether to leave `_ARRAY_DIMENSIONS` out, which version 2 has for xarray (netCDF's mode `noxarray`).
    pub noxarray: bool,
}

/// Follows a copy, on any of its threads.
pub trait Progress: Sync {
    /// The copy is about to move this many bytes of decoded data.
    fn begin(&self, phase: Phase, total: u64) {
        let _ = (phase, total);
    }

    /// So many more bytes are done; `Break` ends the copy.
    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        let _ = bytes;
        ControlFlow::Continue(())
    }
}

/// What a copy is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Moving chunks.
    Copy,
    /// Comparing both sides, or decoding every chunk.
    Verify,
    /// Looking for what can be repaired.
    Repair,
}

/// Nobody follows.
impl Progress for () {}

/// What a copy did.
#[derive(Clone, Debug)]
pub struct CopySummary {
    /// Variable by variable, in the order of the dataset.
    pub variables: Vec<VariableSummary>,
    /// What is stored beside the dataset and was not copied.
    pub left_out: LeftOut,
    /// How long moving the data took.
    pub elapsed: Duration,
}

/// Files, folders and links in the store that belong to no group and no array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Some of them by their keys.
    pub keys: Vec<String>,
    /// How many more there are.
    pub more: u64,
}

/// What a copy did with one variable.
#[derive(Clone, Debug)]
pub struct VariableSummary {
    /// The path.
    pub path: String,
    /// The codecs in the copy, as filter text; empty for none.
    pub chain: String,
    /// Whether the stored chunks were copied as they are.
    pub unchanged: bool,
    /// Bytes of the decoded data in the chunks that exist.
    pub decoded: u64,
    /// Bytes of the stored chunks of the original, where they were all read once.
    pub before: Option<u64>,
    /// Bytes of the stored chunks of the copy.
    pub after: u64,
    /// Chunks written.
    pub chunks: u64,
}

/// Why a copy was not made. The target is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// Reading the original or writing the copy failed.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A variable of the original cannot be read, so the copy would lack it.
    #[error("the copy would lack a variable")]
    Unreadable {
        /// Why it cannot be read.
        source: ncz_nczarr::NczarrError,
    },
    /// The store holds an array or a group that NCZarr's metadata do not list, as other programs add them.
    #[error(
        "the copy would lack {key:?}, which the NCZarr metadata of {group:?} do not list: another program added it, \
         or it was left behind; read the dataset as pure Zarr (#mode=zarr) to copy it, or remove it"
    )]
    Unlisted {
        /// The key in the store.
        key: String,
        /// The path of the group around it.
        group: String,
    },
    /// The store holds an array or a group of the other version of Zarr than the dataset around it.
    #[error(
        "the copy would lack {key:?}, which is of the other version of Zarr than the dataset around it; copy it by its own \
         path, and the rest after moving it away"
    )]
    OtherVersion {
        /// The key in the store.
        key: String,
    },
    /// A plan names a variable that does not exist.
    #[error("there is no variable {path:?} in the dataset")]
    NoSuchVariable {
        /// The path.
        path: String,
    },
    /// Chunk lengths that do not fit a variable.
    #[error(
        "variable {path:?} has {rank} dimensions; chunk lengths {chunks:?} do not fit, give {rank} numbers of at least 1"
    )]
    Chunks {
        /// The path.
        path: String,
        /// Its dimensions.
        rank: usize,
        /// What was asked for.
        chunks: Vec<u64>,
    },
    /// The two sides differ.
    #[error(
        "variable {path:?} differs between original and copy in the chunk at {start:?}; a codec of the chain is lossy or faulty"
    )]
    Verify {
        /// The path.
        path: String,
        /// Where the chunk starts.
        start: Vec<u64>,
    },
    /// The progress said to stop.
    #[error("the copy was stopped; the target is as it was before")]
    Stopped,
}

/// Copies `source` to the new dataset in `target` and makes that visible at the end.
///
/// Chunks pass as they are where nothing that shapes them differs; else they are decoded and encoded
/// on all threads of the source's session. Memory is bounded by a few chunks a thread.
///
/// # Errors
/// See [`CopyError`]; nothing is visible at the target then.
pub fn copy(
    source: &Dataset,
    target: Arc<dyn Store>,
    options: &CopyOptions,
    progress: &dyn Progress,
) -> Result<CopySummary, CopyError> {
    if let Some(lost) = source.hierarchy().unreadable().next() {
        return Err(CopyError::Unreadable { source: lost.error() });
    }
    let left_out = strangers::left_out(source)?;
    let hierarchy = plan(source, options, progress)?;
    let session = source.session().clone();
    let target = Dataset::create(target, hierarchy, session, options.consolidated)?;

    let started = Instant::now();
    let mut routes = Vec::new();
    for variable in source.hierarchy().variables() {
        routes.push(AnyRoute::new(source, &target, variable)?);
    }
    let total = routes.iter().map(AnyRoute::decoded_len).fold(0, u64::saturating_add);
    progress.begin(Phase::Copy, total);
    let mut variables = Vec::new();
    for route in &routes {
        let start = Instant::now();
        let summary = route.copy(progress)?;
        trace::copied(&summary, start.elapsed());
        variables.push(summary);
    }
    let elapsed = started.elapsed();
    if options.verify {
        progress.begin(Phase::Verify, total);
        for route in &routes {
            route.verify(progress)?;
        }
    }
    drop(routes);
    target.finish()?;
    Ok(CopySummary { variables, left_out, elapsed })
}

/// The metadata of the copy.
fn plan(source: &Dataset, options: &CopyOptions, progress: &dyn Progress) -> Result<Hierarchy, CopyError> {
    let mut hierarchy = source.hierarchy().clone();
    hierarchy.format = options.format.unwrap_or(match hierarchy.format {
        Format::Nczarr(_) => Format::NCZARR,
        other => other,
    });
    let format = hierarchy.format;
    if format.is_nczarr() {
        // An array alone has no place for the metadata of NCZarr.
        hierarchy.root_array = false;
    } else {
        // Who wrote NCZarr metadata is itself NCZarr metadata, which pure Zarr has none of.
        let was_nczarr = source.hierarchy().format.is_nczarr();
        hierarchy.nc_properties = hierarchy.nc_properties.filter(|_| !was_nczarr);
    }
    for path in options.variables.keys() {
        if !source.hierarchy().variables().any(|variable| variable.path == *path) {
            return Err(CopyError::NoSuchVariable { path: path.clone() });
        }
    }
    let keep = VariablePlan::default();
    for original in source.hierarchy().variables() {
        let plan = options.variables.get(&original.path).unwrap_or(&keep);
        let variable = hierarchy.variable_mut(&original.path).map_err(DataError::from)?;
        strings::fix_length(source, original, variable, format, progress)?;
        let was = source.hierarchy().format;
        if (was.is_nczarr(), was.is_v3()) != (format.is_nczarr(), format.is_v3()) {
            change_format(source, variable, format)?;
        }
        if was.is_v3() != format.is_v3() {
            version::change(source, variable, format)?;
        }
        if format.is_nczarr() {
            // netcdf-c reads every chunk as row-major, whatever its metadata say.
            variable.order = Order::C;
        }
        if let Some(chunks) = &plan.chunks {
            if chunks.len() != variable.shape.len() || chunks.contains(&0) {
                let (path, rank) = (original.path.clone(), variable.shape.len());
                return Err(CopyError::Chunks { path, rank, chunks: chunks.clone() });
            }
            variable.chunk_shape.clone_from(chunks);
            if let Some(sharding) = &mut variable.sharding {
                version::fit_shards(sharding, chunks);
            }
        }
        match &plan.codecs {
            Codecs::Keep if was.is_v3() == format.is_v3() => {
                variable.filters = source.agreed_filters(original, format)?;
            }
            Codecs::Keep => variable.filters = version::filters(source, original, variable, format)?,
            Codecs::Spec(spec) => {
                source.session().define(variable, format, spec)?;
            }
            Codecs::Sensible => {
                source.session().define(variable, format, &sensible(original, format))?;
            }
        }
        let one_block = matches!(variable.storage, Storage::Contiguous | Storage::Compact);
        let filtered = plan.codecs != Codecs::Keep && !variable.filters.is_empty();
        if one_block && (plan.chunks.is_some() || filtered) {
            variable.storage = Storage::Chunked;
        }
        if let Some(dtype) = one_byte_dtype(variable) {
            variable.dtype = dtype;
        }
        if options.noxarray
            && let Some(zattrs) = &mut variable.documents.zattrs
        {
            Arc::make_mut(zattrs).shift_remove("_ARRAY_DIMENSIONS");
        }
    }
    hierarchy.xarray = !options.noxarray;
    Ok(hierarchy)
}

/// What the other format writes otherwise for the same data.
fn change_format(source: &Dataset, variable: &mut Variable, format: Format) -> Result<(), CopyError> {
    let text = FillText::of(format);
    if let Some(fill) = variable.fill.take() {
        let unwritable = |fault: VariableFault| DataError::Unsupported {
            variable: variable.path.clone(),
            reason: format!("its fill value cannot be written in the other format: {fault}"),
        };
        variable.fill = Some(fill.respelled(&variable.dtype, text).map_err(unwritable)?);
    }
    if format.is_nczarr() {
        if variable.key.is_empty() {
            variable.key.clone_from(&variable.name);
        }
        variable.scalar = variable.scalar.map(|_| ScalarForm::Rank1);
    } else {
        // Pure Zarr has no dimensions that could be longer than the array, and scalars of its own.
        variable.shape = source.hierarchy().shape_of(variable);
        variable.scalar = variable.scalar.map(|_| ScalarForm::Rank0);
    }
    Ok(())
}

/// The spelling of a one-byte integer that most readers understand, if the variable's is another one:
/// zarr-python refuses `<i1`, as netcdf-c writes it; netcdf-c opens no dataset with szip on `|i1`.
fn one_byte_dtype(variable: &Variable) -> Option<Dtype> {
    let has_szip = variable.filters.iter().any(|codec| codec.get("id").is_some_and(|id| id == "szip"));
    let text = match (variable.dtype.kind(), variable.dtype.size(), has_szip) {
        (Kind::Int, 1, false) => "|i1",
        (Kind::Int, 1, true) => "<i1",
        (Kind::UInt, 1, false) => "|u1",
        (Kind::UInt, 1, true) => "<u1",
        _ => return None,
    };
    Dtype::parse(text).ok().filter(|usual| *usual != variable.dtype)
}

/// A lossless chain that suits the type of a variable, in version 3 of codecs that every reader has.
fn sensible(variable: &Variable, format: Format) -> ChainSpec {
    if variable.shape.is_empty() {
        return ChainSpec::default();
    }
    let codec = |value: serde_json::Value| StageSpec::from_json(ncz_codec::Dialect::Numcodecs, &value).ok();
    let zstd = codec(json!({"id": "zstd", "level": 3}));
    let size = variable.dtype.size();
    let numeric = matches!(
        variable.dtype.kind(),
        Kind::Int | Kind::UInt | Kind::Float | Kind::DateTime | Kind::TimeDelta | Kind::Complex
    );
    if numeric && size > 1 && format.is_v3() {
        let blosc = json!({"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 1, "blocksize": 0});
        return ChainSpec::new(codec(blosc).into_iter().collect());
    }
    let shuffle =
        if numeric && size > 1 { codec(json!({"id": "shuffle", "elementsize": size})) } else { None };
    ChainSpec::new(shuffle.into_iter().chain(zstd).collect())
}
