//! References: datasets in JSON that names ranges of other files (Kerchunk).
//!
//! [`write`](write()) makes references to the chunks of any dataset, such as a netCDF file. fsspec, zarr-python and
//! xarray read them as a Zarr dataset of version 2, without copying the file. [`open`](open()) opens such JSON.

mod json;
mod open;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod variable;

use std::io;

use ncz_model::{Container, DataError, FillText, FillValue, Format, Variable, names};
use ncz_zarr::metadata;

pub use self::open::{open, open_store};

use self::json::Json;
use self::output::Output;
use crate::copy::{self, CopyError, CopyOptions, Selection, UnreadableVariable};
use crate::progress::{Phase, Progress};

/// The most references that are written, and read (16 Mi).
pub const MOST_REFERENCES: u64 = 16 << 20;

/// How to write references.
#[derive(Clone, Debug)]
pub struct ReferenceOptions {
    /// Stored chunks of at most this many bytes become part of the references; 500 by default, as in Kerchunk.
    pub inline: u64,
    /// What cannot be a reference becomes part of the references if it has at most this many bytes; else it is refused.
    /// 4 MiB by default.
    pub most_inline: u64,
    /// What of the dataset to refer to. Parts of dimensions are not possible.
    pub selection: Selection,
}

impl Default for ReferenceOptions {
    fn default() -> Self {
        Self { inline: 500, most_inline: 4 << 20, selection: Selection::default() }
    }
}

/// What references were written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReferenceSummary {
    /// Chunks that are ranges, or objects, elsewhere.
    pub references: u64,
    /// Their bytes; objects count as their whole lengths.
    pub bytes: u64,
    /// Chunks that are part of the references.
    pub inline: u64,
    /// Chunks of these that were encoded again, because readers of Zarr could not decode their stored bytes.
    pub recoded: u64,
    /// Chunks that were never written, and read as fill.
    pub missing: u64,
    /// What the objects are that the references are ranges of, by their URLs. It is written beside the references, and
    /// compared when they are opened.
    pub sources: ncz_store::references::Sources,
    /// Variables that cannot be read and were left out, as [`Selection::skip_unreadable`] allows.
    pub unreadable: Vec<UnreadableVariable>,
}

/// Why references were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// What the references should contain cannot be planned.
    #[error(transparent)]
    Plan(#[from] CopyError),
    /// The dataset cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The stored chunks of a variable are not those of a Zarr dataset of version 2.
    #[error("variable {path:?} cannot be referred to: {reason}; copy the dataset instead")]
    Variable {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
    /// One chunk cannot be a reference, and is too long to be a part of them.
    #[error(
        "chunk {chunk:?} of variable {path:?} cannot be a reference: {reason}, and has {len} bytes, more than {most}; \
         raise the limit, or copy the dataset"
    )]
    Chunk {
        /// The path of the variable.
        path: String,
        /// The coordinates of the chunk.
        chunk: Vec<u64>,
        /// Why.
        reason: &'static str,
        /// The bytes that would be part of the references.
        len: u64,
        /// The limit, [`ReferenceOptions::most_inline`].
        most: u64,
    },
    /// There are too many chunks.
    #[error(
        "variable {path:?} has {count} chunks, with which there are more than {MOST_REFERENCES}; leave it out"
    )]
    TooMany {
        /// The path of the variable.
        path: String,
        /// Its chunks.
        count: u64,
    },
    /// The progress said to stop.
    #[error("the references were not completed")]
    Stopped,
    /// The text cannot be written.
    #[error("cannot write the references")]
    Output(#[from] io::Error),
}

/// Writes references to the chunks of a dataset, as JSON of Kerchunk in version 1. `url` gives the URL of an object of
/// its store by its key: absolute, or relative to the references where their readers allow that.
///
/// The metadata are those of pure Zarr version 2. A variable of a netCDF file without the attribute `_FillValue`, of
/// which all chunks exist, has no fill value, since readers mask that.
///
/// # Errors
/// See [`ReferenceError`]. What was written until then is incomplete.
pub fn write(
    source: &dyn Container,
    url: &dyn Fn(&str) -> String,
    options: &ReferenceOptions,
    out: &mut dyn io::Write,
    progress: &dyn Progress,
) -> Result<ReferenceSummary, ReferenceError> {
    write_to(source, url, options, &mut Json::begin(out)?, progress)
}

/// Writes references as [`write`](write()) does, as tables of Parquet in the folder of a new store. They become visible
/// when that is [published](ncz_store::Store::publish).
///
/// # Errors
/// As there.
#[cfg(feature = "parquet")]
pub fn write_parquet(
    source: &dyn Container,
    url: &dyn Fn(&str) -> String,
    options: &ReferenceOptions,
    to: &dyn ncz_store::Store,
    progress: &dyn Progress,
) -> Result<ReferenceSummary, ReferenceError> {
    write_to(source, url, options, &mut parquet::Parquet::begin(to), progress)
}

fn write_to(
    source: &dyn Container,
    url: &dyn Fn(&str) -> String,
    options: &ReferenceOptions,
    out: &mut dyn Output,
    progress: &dyn Progress,
) -> Result<ReferenceSummary, ReferenceError> {
    let selection = options.selection.clone();
    if let Some(dimension) = selection.slabs.keys().next() {
        let path = dimension.to_string();
        return Err(ReferenceError::Variable {
            path,
            reason: "only whole dimensions are possible".to_owned(),
        });
    }
    let planned = CopyOptions { format: Some(Format::Zarr2), selection, ..CopyOptions::default() };
    let (mut hierarchy, unreadable) = copy::planned(source, &planned, progress)?;
    let mut summary = ReferenceSummary { unreadable, ..ReferenceSummary::default() };
    let bytes = |variable: &Variable| {
        let lens =
            variable.shape.iter().fold(variable.dtype.size() as u64, |all, len| all.saturating_mul(*len));
        lens.max(1)
    };
    progress.begin(Phase::Refer, hierarchy.variables().map(bytes).fold(0, u64::saturating_add));
    let paths: Vec<String> = hierarchy.variables().map(|variable| variable.path.clone()).collect();
    for path in paths {
        let original = source.hierarchy().variable(&path).map_err(DataError::from)?;
        let planned = hierarchy.variable_mut(&path).map_err(DataError::from)?;
        set_key(planned)?;
        // A copy may join records of a netCDF file.
        planned.chunk_shape.clone_from(&original.chunk_shape);
        let missing = summary.missing;
        variable::write(source, original, planned, (url, options), out, &mut summary, progress)?;
        if summary.missing == missing && source.hierarchy().format.is_netcdf() {
            planned.fill = masking_fill(original, planned);
        }
    }
    for (key, content) in metadata::write(&hierarchy, false).map_err(DataError::from)? {
        out.document(&key, &content)?;
    }
    out.end(&summary.sources)?;
    Ok(summary)
}

/// Gives a variable the key of its path.
fn set_key(planned: &mut Variable) -> Result<(), ReferenceError> {
    let path = planned.path.trim_matches('/');
    match path.split('/').find_map(names::broken_key_rule) {
        Some(reason) => Err(ReferenceError::Variable {
            path: planned.path.clone(),
            reason: format!("its path cannot be a key of Zarr: {reason}"),
        }),
        None => {
            planned.key = path.to_owned();
            Ok(())
        }
    }
}

/// The fill value of a variable of which all chunks exist: it says only what is masked.
fn masking_fill(original: &Variable, planned: &Variable) -> Option<FillValue> {
    let attribute = original.attribute("_FillValue")?;
    FillValue::from_value(&attribute.value, &planned.dtype, FillText::of(Format::Zarr2)).ok()
}
