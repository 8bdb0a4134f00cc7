//! A dataset some of whose variables are converted as they are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz_model::json::Json;
use ncz_model::{
    Array, ChunkError, ChunkIndex, ChunkLocation, Container, DataError, Elements, Extent, Format, Hierarchy,
    Interrupted, Session, StringArray, UserArray, Variable,
};
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::ChainSpec;
use ncz_store::Store;

use super::Conversion;
use crate::dataset::Dataset;
use crate::tiles::{LISTED, each_run};

/// Conversions by the path of the variable.
pub(crate) type Conversions = BTreeMap<String, Conversion>;

/// A dataset that is converted.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    Owned(Dataset),
    Borrowed(&'a dyn Container),
}

impl Source<'_> {
    fn get(&self) -> &dyn Container {
        match self {
            Self::Owned(dataset) => &**dataset,
            Self::Borrowed(dataset) => *dataset,
        }
    }
}

/// A dataset with converted variables.
#[derive(Debug)]
pub(crate) struct Converted<'a> {
    source: Source<'a>,
    hierarchy: Hierarchy,
    conversions: BTreeMap<String, Arc<Conversion>>,
}

impl<'a> Converted<'a> {
    /// Converts variables of a dataset.
    ///
    /// # Errors
    /// A variable does not exist; its missing chunks do not stay missing, and it has too many to look for each.
    pub(crate) fn new(source: Source<'a>, conversions: Conversions) -> Result<Self, DataError> {
        let mut hierarchy = source.get().hierarchy().clone();
        for (path, conversion) in &conversions {
            let variable = hierarchy.variable_mut(path)?;
            let counts =
                variable.shape.iter().zip(variable.object_shape()).map(|(len, chunk)| len.div_ceil(*chunk));
            if counts.fold(1, u64::saturating_mul) > LISTED && !conversion.keeps_fill(variable) {
                return Err(DataError::Unsupported {
                    variable: path.clone(),
                    reason: format!(
                        "{}; its fill values differ, and it has too many chunks",
                        conversion.reason
                    ),
                });
            }
            *variable = conversion.apply(variable);
        }
        let conversions = conversions.into_iter().map(|(path, one)| (path, Arc::new(one))).collect();
        Ok(Self { source, hierarchy, conversions })
    }

    fn conversion(&self, variable: &Variable) -> Option<&Arc<Conversion>> {
        self.conversions.get(&variable.path)
    }

    /// A variable as the dataset stores it.
    fn stored(&self, variable: &Variable) -> Result<&Variable, DataError> {
        Ok(self.source.get().hierarchy().variable(&variable.path)?)
    }
}

impl Container for Converted<'_> {
    fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.source.get().store()
    }

    fn session(&self) -> &Session {
        self.source.get().session()
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        match self.conversion(variable) {
            Some(_) => self.session().bind(variable, self.hierarchy.format, &ChainSpec::default()),
            None => self.source.get().chain(variable),
        }
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        let Some(conversion) = self.conversion(variable) else { return self.source.get().chunks(variable) };
        let stored = self.stored(variable)?;
        Ok(Arc::new(ConvertedChunks {
            array: self.source.get().array(&stored.path)?,
            index: self.source.get().chunks(stored)?,
            keeps_fill: conversion.keeps_fill(stored),
            conversion: Arc::clone(conversion),
            chunk: variable.chunk_shape.clone(),
            fill: variable.fill_bytes(),
        }))
    }

    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        match self.conversion(variable) {
            Some(_) => Ok(Vec::new()),
            None => self.source.get().agreed_filters(variable, format),
        }
    }

    fn interrupted(&self) -> Result<Option<Interrupted>, DataError> {
        self.source.get().interrupted()
    }

    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        self.source.get().user_array(path)
    }

    fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        self.source.get().strings(path)
    }
}

/// Chunks without codecs, of converted elements.
#[derive(Debug)]
struct ConvertedChunks {
    array: Array,
    index: Arc<dyn ChunkIndex>,
    conversion: Arc<Conversion>,
    /// Whether missing chunks stay missing.
    keeps_fill: bool,
    chunk: Vec<u64>,
    /// One element of fill.
    fill: Vec<u8>,
}

impl ChunkIndex for ConvertedChunks {
    fn locate(&self, object: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        self.array.path().trim_matches('/').clone_into(&mut location.key);
        location.filter_mask = 0;
        location.extent = Extent::Missing;
        let slab = self.array.object_slab(object);
        let bytes = |count: Option<u64>, size: usize| {
            let bytes = count.and_then(|count| usize::try_from(count).ok()?.checked_mul(size));
            bytes.unwrap_or(usize::MAX)
        };
        let len = bytes(slab.elements(), self.array.dtype().size());
        let mut elements = Vec::new();
        elements.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
        elements.resize(len, 0);
        let mut worker = self.array.worker();
        let found = self.array.read_serial(&mut worker, &slab, Elements::Native, &mut elements);
        self.array.release(worker);
        if !found.map_err(|error| ChunkError::Elements(Box::new(error)))? && self.keeps_fill {
            return Ok(());
        }
        let converted = self.conversion.convert(&elements).map_err(|error| {
            // The message names the chunk as it is stored.
            let stored = self.index.locate(object, location);
            stored.err().unwrap_or(ChunkError::Elements(Box::new(error)))
        })?;
        let size = self.fill.len();
        let len = bytes(ncz_model::product(self.chunk.iter().copied()), size);
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
        while chunk.len() < len {
            chunk.extend_from_slice(&self.fill);
        }
        each_run(slab.count(), &vec![0; self.chunk.len()], &self.chunk, |from, to, count| {
            let (from, to, count) = (from * size, to * size, count * size);
            if let (Some(to), Some(from)) = (chunk.get_mut(to..to + count), converted.get(from..from + count))
            {
                to.copy_from_slice(from);
            }
        });
        location.extent = Extent::Inline(chunk.into());
        Ok(())
    }

    fn object_index(&self, key: &str) -> Option<Vec<u64>> {
        self.index.object_index(key)
    }

    fn prefix(&self) -> &str {
        self.index.prefix()
    }

    fn stored(&self) -> Option<Vec<Vec<u64>>> {
        self.index.stored().filter(|_| self.keeps_fill)
    }
}
