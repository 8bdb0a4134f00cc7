//! What several commands report about a variable, in words and as JSON.

use ncz::location::{DatasetUrl, Storage};
use ncz::model::json::Json;
use ncz::model::{
    ChunkLocation, Container, DataError, Dtype, Extent, Hierarchy, NcType, NetcdfView, Variable, limits,
};
use ncz::store::{Depth, EntryKind, Key, Prefix, Store, StoreError};
use ncz::zarr::metadata::document;
use serde::Serialize;

use crate::error::CliError;

/// A variable as its metadata describe it.
#[derive(Debug, Serialize)]
pub(crate) struct VariableReport<'a> {
    path: &'a str,
    /// The netCDF type in which values are shown; `None` if netCDF has none for them.
    #[serde(rename = "type")]
    type_name: Option<&'static str>,
    /// The path of the user-defined type.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_type: Option<String>,
    dtype: &'a str,
    dimensions: Vec<String>,
    shape: Vec<u64>,
    chunks: &'a [u64],
    shards: Option<&'a [u64]>,
    codecs: &'a [Json],
}

/// A variable and the bytes that its values take.
#[derive(Debug, Serialize)]
pub(crate) struct SizedVariableReport<'a> {
    #[serde(flatten)]
    variable: VariableReport<'a>,
    /// `None` if the elements have no fixed length.
    raw_bytes: Option<u64>,
    /// `None` unless the sizes were requested; the same holds for the chunks.
    stored_bytes: Option<u64>,
    stored_chunks: Option<u64>,
}

/// The stored chunks of a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredSize {
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
}

impl<'a> VariableReport<'a> {
    pub(crate) fn new(hierarchy: &Hierarchy, variable: &'a Variable) -> Self {
        Self {
            path: &variable.path,
            type_name: type_name(variable),
            user_type: variable.user_type.as_ref().map(|user| user.path()),
            dtype: variable.dtype.text(),
            dimensions: variable.dimensions.iter().map(ToString::to_string).collect(),
            shape: hierarchy.shape_of(variable),
            chunks: &variable.chunk_shape,
            shards: variable.sharding.as_ref().map(|sharding| sharding.shape.as_slice()),
            codecs: &variable.filters,
        }
    }
}

impl<'a> SizedVariableReport<'a> {
    pub(crate) fn new(hierarchy: &Hierarchy, variable: &'a Variable, size: Option<StoredSize>) -> Self {
        Self {
            variable: VariableReport::new(hierarchy, variable),
            raw_bytes: raw_bytes(hierarchy, variable),
            stored_bytes: size.map(|size| size.bytes),
            stored_chunks: size.map(|size| size.chunks),
        }
    }
}

impl StoredSize {
    /// Adds up the chunks of a variable: every object below its key except metadata documents.
    pub(crate) fn of(
        dataset: &dyn Container,
        url: &DatasetUrl,
        variable: &Variable,
    ) -> Result<Self, CliError> {
        // A folder with tables of references does not list its chunks.
        let is_indexed =
            matches!(url.storage(), Ok(Storage::References)) && !dataset.store().capabilities().list;
        if dataset.hierarchy().format.is_netcdf() || is_indexed {
            return Self::in_file(dataset, variable).map_err(CliError::dataset(&url.location));
        }
        let store: &dyn Store = &**dataset.store();
        let failed = CliError::store(&url.location);
        let prefix = if variable.key.is_empty() {
            Prefix::ROOT
        } else {
            Prefix::parse(&variable.key).map_err(|error| failed(error.into()))?
        };
        let listing = store.list(prefix, Depth::All, limits::CHILDREN).map_err(&failed)?;
        let mut size = Self { chunks: 0, bytes: 0 };
        for entry in &listing.entries {
            let key = entry.key.as_key();
            let is_document = key.name().starts_with('.') || key.name() == document::ZARR_JSON;
            if entry.kind == EntryKind::Object && !is_document {
                size.chunks += 1;
                size.bytes += store.len(key).map_err(&failed)?.unwrap_or(0);
            }
        }
        Ok(size)
    }

    /// Adds up the chunks of a variable by its chunk index.
    fn in_file(dataset: &dyn Container, variable: &Variable) -> Result<Self, DataError> {
        let chunks = dataset.chunks(variable)?;
        let mut location = ChunkLocation::default();
        let mut size = Self { chunks: 0, bytes: 0 };
        let mut add = |index: &[u64]| {
            let failed = |location: &ChunkLocation, source| DataError::Chunk {
                variable: variable.path.clone(),
                key: location.key.clone(),
                store: dataset.store().to_string(),
                source: Box::new(source),
            };
            chunks.locate(index, &mut location).map_err(|source| failed(&location, source))?;
            let bytes = match &location.extent {
                Extent::Range(range) => Some(range.end - range.start),
                Extent::Inline(bytes) => Some(bytes.len() as u64),
                Extent::Missing => None,
                Extent::Object => {
                    let key = Key::parse(&location.key).map_err(StoreError::from);
                    let len = key.and_then(|key| dataset.store().len(key));
                    len.map_err(|source| failed(&location, source.into()))?
                }
            };
            size.chunks += u64::from(bytes.is_some());
            size.bytes += bytes.unwrap_or(0);
            Ok::<_, DataError>(())
        };
        if let Some(stored) = chunks.stored() {
            stored.iter().try_for_each(|index| add(index))?;
            return Ok(size);
        }
        let counts =
            variable.shape.iter().zip(variable.object_shape()).map(|(len, chunk)| len.div_ceil(*chunk));
        let counts: Vec<u64> = counts.collect();
        let mut index = vec![0; counts.len()];
        while !counts.contains(&0) {
            add(&index)?;
            let Some(axis) = (0..index.len()).rev().find(|&axis| index[axis] + 1 < counts[axis]) else {
                break;
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
        Ok(size)
    }
}

/// Returns the bytes of a variable's decoded data; saturates.
pub(crate) fn raw_len(hierarchy: &Hierarchy, variable: &Variable) -> u64 {
    let element = variable.dtype.size() as u64;
    hierarchy.shape_of(variable).iter().fold(element, |product, len| product.saturating_mul(*len))
}

/// Returns the same, or `None` if the elements have no fixed length, so that only the data say how long they are.
pub(crate) fn raw_bytes(hierarchy: &Hierarchy, variable: &Variable) -> Option<u64> {
    (!variable.dtype.is_variable_length()).then(|| raw_len(hierarchy, variable))
}

/// Returns the name of the type in which the values of a variable are shown.
fn type_name(variable: &Variable) -> Option<&'static str> {
    Some(match variable.shown()? {
        NetcdfView::Plain(nc_type) => nc_type.name(),
        NetcdfView::Complex(NcType::Float) => "complex64",
        NetcdfView::Complex(_) => "complex128",
        NetcdfView::Bytes => "bytes",
    })
}

/// Returns the type of a variable for a table, with its byte order if that is big-endian.
pub(crate) fn type_words(variable: &Variable) -> String {
    let is_big = |dtype: &Dtype| dtype.text().starts_with('>') && dtype.size() > 1;
    let big = if is_big(&variable.dtype) { " big-endian" } else { "" };
    if let Some(user) = &variable.user_type {
        return format!("{} ({})", user.path().trim_start_matches('/'), user.class_name());
    }
    match (variable.nc_type, variable.dtype.vlen_codec()) {
        // Strings are stored in several ways that share the name of the type.
        (Some(NcType::String), Some(codec)) => format!("string ({codec})"),
        (Some(NcType::String), None) => format!("string ({})", variable.dtype),
        (Some(nc_type), _) => format!("{}{big}", nc_type.name()),
        (None, Some(codec)) => codec.to_owned(),
        (None, None) => variable.dtype.text().to_owned(),
    }
}

/// Returns the dimensions of a variable for a table: `time=16 lat=73`, or `scalar`.
pub(crate) fn dimensions_words(hierarchy: &Hierarchy, variable: &Variable) -> String {
    let lengths = hierarchy.shape_of(variable);
    let words =
        variable.dimensions.iter().zip(&lengths).map(|(dimension, len)| format!("{}={len}", dimension.name));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "scalar".to_owned() } else { words.join(" ") }
}

/// Returns the lengths of a chunk for a table, and those of the shard around it.
pub(crate) fn chunks_words(variable: &Variable) -> String {
    let joined = |lengths: &[u64]| lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    match &variable.sharding {
        _ if variable.chunk_shape.is_empty() => "1".to_owned(),
        Some(sharding) => format!("{} in {}", joined(&variable.chunk_shape), joined(&sharding.shape)),
        None => joined(&variable.chunk_shape),
    }
}

/// Joins the path of a group and a name inside it.
pub(crate) fn join(group: &str, name: &str) -> String {
    format!("{}/{name}", group.trim_end_matches('/'))
}
