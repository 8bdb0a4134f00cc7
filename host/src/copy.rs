//! Copying a dataset or a part of it, with other codecs or chunks if requested.
//!
//! # Memory
//! The data that are decoded and encoded at the same time are bounded by [`CopyOptions::memory`], unless a single chunk
//! is more, whatever the size of the dataset. If the chunk shape changes, boxes of that size are moved. If then every
//! chunk of the original had to be decoded several times, as where rows become columns, the elements go through a
//! scratch file ([`CopyOptions::scratch`]) in pieces that both sides have in common, so that it is decoded once.
//! Strings of any length have no scratch file.

mod append;
mod foreign_objects;
mod kept_codecs;
mod missing_values;
mod netcdf;
pub mod parts;
mod plan;
mod rechunk;
mod resume;
mod salvage;
mod scratch;
mod select;
mod strings;
mod trace;
mod transfer;
mod types;
mod user_values;
mod variable;
mod version;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ncz_model::Appending;
use ncz_model::Remedy;
use ncz_model::{Container, ContainerWriter};
use ncz_model::{DataError, Format, Hierarchy};
use ncz_registry::spec::ChainSpec;
use serde::{Deserialize, Serialize};

pub(crate) use self::append::find as find_dimension;
pub use self::append::{Appended, append, append_with_receipt};
pub use self::resume::{PartialCopy, ResumeError};
pub use self::salvage::LostChunk;
pub use self::select::Selection;
pub use self::types::{Substitute, substitute};
pub use crate::tiles::Indices;

pub(crate) use self::kept_codecs::{same_codecs, same_elements};
pub(crate) use self::netcdf::{filters as hdf5_filters, has_references};
use self::strings::AnyVariableCopy;
pub(crate) use self::types::fill_text;
use crate::causes::with_causes;
use crate::new_dataset::NewDataset;
use crate::progress::{Phase, Progress};
use crate::readers::{self, ReaderSetup, Refusal};

/// The codecs of a variable in the copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Codecs {
    /// Those of the source.
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
    /// How its chunks are grouped.
    pub shards: Shards,
}

/// How chunks of the copy are grouped into shards, the objects of Zarr version 3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shards {
    /// As in the original, in whole chunks.
    #[default]
    Keep,
    /// Each chunk is an object.
    Single,
    /// Shards of at least these lengths, in whole chunks. A shard of one chunk is none.
    Of(Vec<u64>),
}

/// What to copy, and how.
#[derive(Clone, Debug, Default)]
pub struct CopyOptions {
    /// Plans by the path of the variable, such as `/g1/q`; others are kept as they are.
    pub variables: BTreeMap<String, VariablePlan>,
    /// The format of the copy; `None` keeps that of the original, NCZarr in its newest generation.
    pub format: Option<Format>,
    /// Whether to read both sides again at the end and compare; what it finds is in [`VariableSummary::verified`].
    /// Compared are all values, and from the metadata of the copy which value its readers mask
    /// ([`Variable::masked_value`](ncz_model::Variable::masked_value)).
    ///
    /// If a codec is lossy, values can differ from the original's. The source is then encoded once more and must
    /// give identical results, and the codecs before the first lossy one must restore the source. An error that the
    /// lossy codec repeats is not detected.
    pub verify: bool,
    /// Whether to write consolidated metadata.
    pub consolidated: bool,
    /// Whether to leave `_ARRAY_DIMENSIONS` out, which version 2 has for xarray (netCDF's mode `noxarray`).
    pub noxarray: bool,
    /// What to copy; by default everything.
    pub selection: Selection,
    /// Whether unlimited dimensions become fixed.
    pub fixed: bool,
    /// Bytes of decoded and encoded data to hold at most; 96 MiB by default. A single chunk may be
    /// larger.
    pub memory: Option<u64>,
    /// The folder for scratch files; by default that of the system. The files have no names and disappear with the
    /// program.
    pub scratch: Option<PathBuf>,
    /// Whether to take over what an interrupted copy with the same options left in the target: its objects are kept as
    /// they are. That the original is still the same is for the caller to know. Has no effect on a copy that is to
    /// [`salvage`](Self::salvage) chunks.
    pub resume: bool,
    /// Whether to copy what can be read. Chunks that cannot, also after the store has tried again, are listed in
    /// [`VariableSummary::lost`]. In the copy their elements have the value that readers mask
    /// ([`Variable::masked_value`](ncz_model::Variable::masked_value)), or the fill value if there is none; where missing
    /// chunks read as that, the chunks are missing. Variables of which nothing can be read are left out, as by
    /// [`Selection::skip_unreadable`]. All chunks are decoded, also those that are copied as they are stored.
    ///
    /// [`append`] does not know it.
    pub salvage: bool,
    /// Whether records may be appended whatever the order of their coordinate. Only [`append`] knows it.
    pub any_order: bool,
    /// Programs that must be able to read the copy. What they do not read is an error before anything is written.
    pub readers: Vec<ReaderSetup>,
    /// Programs for which codecs of the source are replaced: variables that keep their codecs get the
    /// [nearest](readers::nearest) that all of these read. [`Progress::codecs_replaced`] says which.
    pub codecs_for: Vec<ReaderSetup>,
}

/// What moving data may take, and what it finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources<'a> {
    memory: u64,
    scratch: Option<&'a Path>,
    /// Whether objects that the target has are kept.
    keep: bool,
    /// Whether chunks that cannot be read are left out.
    salvage: bool,
}

/// What a copy did.
#[derive(Clone, Debug)]
pub struct CopySummary {
    /// Variable by variable, in the order of the dataset.
    pub variables: Vec<VariableSummary>,
    /// Objects in the store of the source that are not part of the dataset, and were not copied.
    pub foreign_objects: ForeignObjects,
    /// Variables that cannot be read and were left out, as [`Selection::skip_unreadable`] and [`CopyOptions::salvage`]
    /// allow.
    pub unreadable: Vec<UnreadableVariable>,
    /// How long moving the data took.
    pub elapsed: Duration,
}

/// Files, folders and links in the store that belong to no group and no array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignObjects {
    /// Some of them by their keys.
    pub keys: Vec<String>,
    /// How many more there are.
    pub more: u64,
}

/// A variable that cannot be read, so that the copy has it not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableVariable {
    /// The path.
    pub path: String,
    /// Why it cannot be read, with all causes.
    pub reason: String,
}

/// A variable that the format of a copy cannot have. As text it is `"/path": reason`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstorable {
    /// The path.
    pub path: String,
    /// Why, as a clause.
    pub reason: String,
}

impl fmt::Display for Unstorable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.path, self.reason)
    }
}

/// A variable that cannot be read, and why.
#[derive(Debug)]
pub(crate) struct UnreadableSource {
    path: String,
    error: DataError,
}

/// What a copy did with one variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariableSummary {
    /// The path.
    pub path: String,
    /// The codecs in the copy, as filter text; empty for none.
    pub chain: String,
    /// Bytes of an element in the copy; 0 for strings of any length.
    pub element: usize,
    /// The codecs through which its values went that may change them, by their names.
    pub lossy: Vec<String>,
    /// Records that the target had and that those codecs encoded once more, because records that were appended share
    /// their chunks.
    pub encoded_again: u64,
    /// Whether the stored chunks were copied as they are, unless filters were skipped in some of them.
    pub unchanged: bool,
    /// Chunks that were decoded and encoded; the others were copied as they are.
    pub recoded: u64,
    /// Why they were.
    pub recoding: Option<Recoding>,
    /// Bytes of the decoded data in the chunks that exist, without the padding beyond the end of a dimension.
    pub decoded: u64,
    /// Bytes of the stored chunks of the original, if they were all read once.
    pub before: Option<u64>,
    /// Bytes of the stored chunks of the copy.
    pub after: u64,
    /// Chunks written.
    pub chunks: u64,
    /// What [`CopyOptions::verify`] found; `None` if it was not requested. Chunks that are lost are not compared.
    pub verified: Option<Verified>,
    /// Chunks of the original that cannot be read, if [`CopyOptions::salvage`] says to go on without them.
    #[serde(skip)]
    pub lost: Vec<LostChunk>,
}

/// Why chunks are decoded and encoded instead of being copied as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Recoding {
    /// The chunks of the copy hold other elements.
    Chunks,
    /// The elements have another type, byte order or order.
    Elements,
    /// The copy has another fill value, which chunks are padded with.
    Fill,
    /// The copy has other codecs, or their parameters differ.
    Codecs,
    /// The copy stores strings in another form.
    Strings,
    /// The elements refer to what is in a heap of their file.
    Heaps,
    /// HDF5 skipped filters in these chunks.
    SkippedFilters,
}

impl fmt::Display for Recoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chunks => "the chunks differ",
            Self::Elements => "the type or order of the elements differs",
            Self::Fill => "the fill value differs",
            Self::Codecs => "the codecs differ",
            Self::Strings => "strings are stored in another form",
            Self::Heaps => "their values are in a heap of the file",
            Self::SkippedFilters => "filters were skipped in them",
        })
    }
}

/// In what a copy was found to agree with its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verified {
    /// Every value is the same.
    Same,
    /// Values differ, and are those that the lossy codecs give when they run once more.
    Repeated {
        /// In how many boxes of elements values differ.
        boxes: u64,
        /// How many were compared.
        of: u64,
    },
}

/// Why a copy was not made. The target is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// Reading the original or writing the copy failed.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A chunk of the original cannot be read; [`CopyOptions::salvage`] copies the others.
    #[error(transparent)]
    Chunk(DataError),
    /// Variables of the original cannot be read, so the copy would lack them.
    #[error("the copy would lack {}, which cannot be read; leave them out to copy the rest", paths.join(", "))]
    Unreadable {
        /// Their paths.
        paths: Vec<String>,
        /// Why the first one cannot be read.
        source: Box<DataError>,
    },
    /// The store holds an array or a group that NCZarr's metadata do not list, as other programs add them.
    #[error(
        "the copy would lack {key:?}, which the NCZarr metadata of {group:?} do not list: another program added it, \
         or it is a leftover; read the dataset as pure Zarr (#mode=zarr) to copy it, or remove it"
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
    /// Programs of [`CopyOptions::readers`] would not read the copy.
    #[error("{}", refusals.iter().map(refused).collect::<Vec<_>>().join("; "))]
    Readers {
        /// What they would not read.
        refusals: Vec<Refusal>,
    },
    /// The format of the copy has no types for variables of the original.
    #[error("the copy cannot have {}", variables.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    NoType {
        /// These variables.
        variables: Vec<Unstorable>,
    },
    /// A plan names a variable that does not exist.
    #[error("there is no variable {path:?} in the dataset")]
    NoSuchVariable {
        /// The path.
        path: String,
    },
    /// The selection names a group that does not exist.
    #[error("there is no group {path:?} in the dataset")]
    NoSuchGroup {
        /// The path.
        path: String,
    },
    /// There is no dimension of this name in all datasets.
    #[error("there is no dimension {dimension:?} in all datasets")]
    NoSuchDimension {
        /// The name.
        dimension: String,
    },
    /// Several dimensions have this name.
    #[error("there are several dimensions {dimension:?}; say which one: {}", paths.join(" or "))]
    AmbiguousDimension {
        /// The name.
        dimension: String,
        /// Two of their paths.
        paths: Vec<String>,
    },
    /// A dimension that is not unlimited cannot get longer.
    #[error(
        "dimension {dimension:?} of the target is fixed, at {len}; only unlimited dimensions get longer: make the target \
         anew with an unlimited one"
    )]
    Fixed {
        /// The dimension.
        dimension: String,
        /// Its length.
        len: u64,
    },
    /// The two sides of an append do not go together.
    #[error("variable {path:?} cannot be appended to: {reason}")]
    Disagree {
        /// The path.
        path: String,
        /// In what they differ.
        reason: String,
    },
    /// The coordinate of the dimension would not be in order after an append;
    /// [`any_order`](CopyOptions::any_order) allows it.
    #[error("the coordinate {path:?} would not be in order: {reason}")]
    Order {
        /// The path of the coordinate.
        path: String,
        /// Where.
        reason: String,
    },
    /// The selection asks for indices that a dimension has not.
    #[error(
        "dimension {dimension:?} has {len} indices; {} from {} with step {} are not among them",
        indices.count, indices.start, indices.step
    )]
    Slab {
        /// The dimension.
        dimension: String,
        /// Its length; 0 if there is no such dimension.
        len: u64,
        /// The requested value.
        indices: Indices,
    },
    /// Shards where there are none.
    #[error("variable {path:?} cannot have shards: {reason}")]
    Shards {
        /// The path.
        path: String,
        /// Why.
        reason: &'static str,
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
        /// The requested value.
        chunks: Vec<u64>,
    },
    /// New records would share chunks of a lossy codec with existing ones, so that its changes could not be
    /// distinguished from errors.
    #[error(
        "what is appended to variable {path:?} could not be verified: its {len} records end inside a chunk of {chunk}, \
         and {codec}, which is lossy, would encode that again with the new ones; append without verifying, or so that \
         the records before are whole chunks"
    )]
    Unverifiable {
        /// The path.
        path: String,
        /// The name of the lossy codec.
        codec: String,
        /// The records before.
        len: u64,
        /// The records of a chunk.
        chunk: u64,
    },
    /// The two sides differ.
    #[error(
        "variable {path:?} differs between original and copy in the chunk at {start:?}; a codec of the chain is lossy or faulty"
    )]
    Verify {
        /// The path.
        path: String,
        /// The start of the chunk.
        start: Vec<u64>,
    },
    /// Readers of the copy would mask other values than readers of the source.
    #[error(
        "readers of the copy would take other values of variable {path:?} for missing ones: {copied} instead of {original}; \
         choose another format for the copy"
    )]
    Masks {
        /// The path.
        path: String,
        /// What readers of the source mask.
        original: String,
        /// What readers of the copy would mask.
        copied: String,
    },
    /// The same append was interrupted, and is finished now; the source no longer gives the records that it brought.
    #[error(
        "{append} was interrupted; it is finished now, and nothing more was appended, since {} no longer gives the records \
         that were appended: look at both, and append again what is missing",
        append.source
    )]
    SourceChanged {
        /// The append that was interrupted.
        append: Box<Appending>,
    },
    /// The progress said to stop.
    #[error("the copy was stopped; the target is as it was before")]
    Stopped,
}

impl CopyError {
    /// What can be done about it, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Data(error) => error.remedy(),
            Self::Chunk(_) => Some(Remedy::Salvage),
            Self::Unreadable { source, .. } => source.remedy(),
            Self::NoType { .. } => Some(Remedy::Exclude),
            Self::Order { .. } => Some(Remedy::AnyOrder),
            _ => None,
        }
    }

    /// The error of reading the original.
    fn of_source(error: DataError) -> Self {
        if salvage::is_of_chunk(&error) { Self::Chunk(error) } else { Self::Data(error) }
    }
}

/// Copies `source`, or what is selected of it, to the new dataset in `target` and makes that visible at the end.
///
/// Chunks are copied unchanged if nothing that affects them differs; else they are decoded and encoded
/// on all threads of the source's session.
///
/// # Errors
/// See [`CopyError`]; nothing is visible at the target then.
pub fn copy(
    source: &dyn Container,
    target: impl Into<NewDataset>,
    options: &CopyOptions,
    progress: &dyn Progress,
) -> Result<CopySummary, CopyError> {
    let Prepared { hierarchy, lost, foreign_objects } = prepare(source, options, progress)?;
    let has = |path: &str| options.selection.has(path) && lost.iter().all(|lost| lost.path != path);
    let session = source.session().clone();
    let target = target.into().begin(hierarchy, session, options.consolidated, options.resume)?;

    let started = Instant::now();
    let (variables, elapsed) = match transfer(source, &*target, &has, options, progress) {
        Ok(variables) => (variables, started.elapsed()),
        Err(error) => {
            target.discard();
            return Err(error);
        }
    };
    target.publish()?;
    let unreadable = lost.into_iter().map(UnreadableVariable::from).collect();
    Ok(CopySummary { variables, foreign_objects, unreadable, elapsed })
}

/// What is known of a copy before anything is written.
struct Prepared {
    hierarchy: Hierarchy,
    /// Variables that cannot be read and are left out.
    lost: Vec<UnreadableSource>,
    foreign_objects: ForeignObjects,
}

/// Plans the metadata of a copy, and refuses what cannot be copied.
fn prepare(
    source: &dyn Container,
    options: &CopyOptions,
    progress: &dyn Progress,
) -> Result<Prepared, CopyError> {
    let selection = &options.selection;
    selection.check(source.hierarchy())?;
    let lost = selection.unreadable(source, plan::format(source, options), options.salvage)?;
    let has = |path: &str| selection.has(path) && lost.iter().all(|lost| lost.path != path);
    let foreign_objects = foreign_objects::find(source, &has)?;
    let (hierarchy, replaced) = plan_with_codecs(source, options, &lost, progress)?;
    let refusals = readers::refusals(&hierarchy, source.session(), &options.readers);
    if !refusals.is_empty() {
        return Err(CopyError::Readers { refusals });
    }
    if !replaced.is_empty() {
        progress.codecs_replaced(&replaced);
    }
    progress.planned(&hierarchy);
    Ok(Prepared { hierarchy, lost, foreign_objects })
}

/// Plans the metadata of a copy, with codecs that all of [`CopyOptions::codecs_for`] read in place of those that they
/// lack, which are returned too.
fn plan_with_codecs(
    source: &dyn Container,
    options: &CopyOptions,
    lost: &[UnreadableSource],
    progress: &dyn Progress,
) -> Result<(Hierarchy, Vec<Refusal>), CopyError> {
    let hierarchy = plan::plan(source, options, lost, progress)?;
    let keeps = |path: &String| options.variables.get(path).is_none_or(|plan| plan.codecs == Codecs::Keep);
    let mut replaced = readers::refusals(&hierarchy, source.session(), &options.codecs_for);
    for refusal in &mut replaced {
        refusal.instead.values_mut().for_each(|paths| paths.retain(keeps));
        refusal.instead.retain(|_, paths| !paths.is_empty());
    }
    replaced.retain(|refusal| !refusal.instead.is_empty());
    if replaced.is_empty() {
        return Ok((hierarchy, replaced));
    }
    let mut options = options.clone();
    for (chain, paths) in replaced.iter().flat_map(|refusal| &refusal.instead) {
        for path in paths {
            // It was made as text that this reads.
            let spec = if chain == "none" { Ok(ChainSpec::default()) } else { ChainSpec::parse(chain) };
            let Ok(spec) = spec else { continue };
            options.variables.entry(path.clone()).or_default().codecs = Codecs::Spec(spec);
        }
    }
    Ok((plan::plan(source, &options, lost, progress)?, replaced))
}

/// The hierarchy of a copy, and the variables that it leaves out.
///
/// # Errors
/// The selection names what does not exist, a variable cannot be read, or the format cannot describe one.
pub(crate) fn planned(
    source: &dyn Container,
    options: &CopyOptions,
    progress: &dyn Progress,
) -> Result<(Hierarchy, Vec<UnreadableVariable>), CopyError> {
    options.selection.check(source.hierarchy())?;
    let lost = options.selection.unreadable(source, plan::format(source, options), options.salvage)?;
    let hierarchy = plan::plan(source, options, &lost, progress)?;
    Ok((hierarchy, lost.into_iter().map(UnreadableVariable::from).collect()))
}

/// Moves the data of the variables that `has` names, and compares them if requested.
fn transfer(
    source: &dyn Container,
    target: &dyn ContainerWriter,
    has: &dyn Fn(&str) -> bool,
    options: &CopyOptions,
    progress: &dyn Progress,
) -> Result<Vec<VariableSummary>, CopyError> {
    let selection = &options.selection;
    let resources = Resources {
        memory: options.memory.unwrap_or(rechunk::MEMORY),
        scratch: options.scratch.as_deref(),
        keep: options.resume && !options.salvage,
        salvage: options.salvage,
    };
    let wanted = source
        .hierarchy()
        .variables()
        .filter(|original| has(&original.path) && selection.has_values(&original.path));
    let mut copies = Vec::new();
    for original in wanted {
        let window = selection.window(original);
        copies.push(AnyVariableCopy::new(source, target, original, window, resources)?);
    }
    let mut variables = run(&copies, progress)?;
    target.complete()?;
    if options.verify {
        verify(&copies, &mut variables, progress)?;
        missing_values::verify(source.hierarchy(), &target.read_back()?)?;
    }
    Ok(variables)
}

/// Moves the data of all variables.
fn run(copies: &[AnyVariableCopy<'_>], progress: &dyn Progress) -> Result<Vec<VariableSummary>, CopyError> {
    progress.begin(Phase::Copy, total(copies));
    let mut variables = Vec::new();
    for variable in copies {
        let start = Instant::now();
        let summary = variable.copy(progress)?;
        trace::copied(&summary, start.elapsed());
        variables.push(summary);
    }
    Ok(variables)
}

/// Compares both sides of all variables, and notes in their summaries how they agree.
fn verify(
    copies: &[AnyVariableCopy<'_>],
    variables: &mut [VariableSummary],
    progress: &dyn Progress,
) -> Result<(), CopyError> {
    progress.begin(Phase::Verify, total(copies));
    for (variable, summary) in copies.iter().zip(variables) {
        summary.verified = Some(variable.verify(progress)?);
    }
    Ok(())
}

/// A refusal as a clause.
fn refused(Refusal { obstacle, .. }: &Refusal) -> String {
    let of = |variables: &[String]| match variables {
        [] => String::new(),
        paths => format!(" of {}", paths.join(", ")),
    };
    format!("{}{}: {}", obstacle.what, of(&obstacle.variables), obstacle.why)
}

/// Bytes of decoded data to move, at most.
fn total(copies: &[AnyVariableCopy<'_>]) -> u64 {
    copies.iter().map(AnyVariableCopy::decoded_len).fold(0, u64::saturating_add)
}

impl From<UnreadableSource> for UnreadableVariable {
    fn from(lost: UnreadableSource) -> Self {
        let reason = with_causes(&lost.error);
        Self { path: lost.path, reason }
    }
}

/// Reports decoded bytes. An error if the caller wants to stop.
pub(super) fn advance(progress: &dyn Progress, bytes: u64) -> Result<(), CopyError> {
    match progress.advance(bytes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CopyError::Stopped),
    }
}
