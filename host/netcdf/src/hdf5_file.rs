//! HDF5 files as datasets.

mod chunks;
mod strings;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ncz_codec::Dialect;
use ncz_model::json::Json;
use ncz_model::{
    Array, ChunkIndex, Container, DataError, Dtype, Format, Hierarchy, MetadataError, Session, StringArray,
    UserArray, Variable,
};
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::{self, ChainSpec, StageSpec, generic};
use ncz_store::Store;

use self::chunks::FileChunks;
use self::strings::{HeapStrings, TerminatedStrings};
use crate::hdf5::{Dataset, DatatypeMessage, File, Hdf5Error};
use crate::mapping;
use crate::source::Source;
use crate::user_elements::HeapElements;

/// The numbers of HDF5's shuffle and checksum.
const SHUFFLE: u32 = 2;
const FLETCHER32: u32 = 3;

/// HDF5's shuffle, nbit and scaleoffset: they work on elements of one size, which strings of any length do not have.
const OF_ELEMENTS: [u16; 3] = [2, 5, 6];

/// An HDF5 file, with or without what netCDF-4 adds, read by byte ranges.
///
/// Opening it reads the description of all objects. The index of the chunks of a variable is read when its data are
/// asked for.
#[derive(Debug)]
pub struct Hdf5File {
    store: Arc<dyn Store>,
    hierarchy: Hierarchy,
    session: Session,
    /// By the path of the variable.
    datasets: HashMap<String, Dataset>,
    indexes: Mutex<HashMap<String, Arc<FileChunks>>>,
}

impl Hdf5File {
    /// Reads the description of all groups and variables of a file.
    ///
    /// A variable that is damaged, or not supported, is listed as unreadable.
    ///
    /// # Errors
    /// It is not an HDF5 file, it is cut short, its root is damaged, or the store fails.
    pub fn open(source: Source, session: Session) -> Result<Self, Hdf5Error> {
        let store = Arc::clone(source.store());
        let file = Arc::new(File::open(Arc::new(source), 0)?);
        let mapped = mapping::map(&file)?;
        Ok(Self {
            store,
            hierarchy: mapped.hierarchy,
            session,
            datasets: mapped.datasets,
            indexes: Mutex::default(),
        })
    }

    fn dataset(&self, variable: &Variable) -> Result<&Dataset, DataError> {
        self.datasets
            .get(&variable.path)
            .ok_or_else(|| MetadataError::NotFound { kind: "variable", path: variable.path.clone() }.into())
    }

    /// The filters of a variable, by their numbers.
    fn filters(&self, variable: &Variable) -> Result<Vec<StageSpec>, DataError> {
        let filters = self.dataset(variable)?.filters.iter();
        let stages = filters
            .map(|filter| StageSpec::Filter { id: u32::from(filter.id), params: filter.params.clone() });
        Ok(stages.collect())
    }

    fn index(&self, variable: &Variable) -> Result<Arc<FileChunks>, DataError> {
        let indexes = || self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes().get(&variable.path) {
            return Ok(Arc::clone(index));
        }
        // Two threads may read the same index; nothing waits for the store meanwhile.
        let dataset = self.dataset(variable)?;
        let index = FileChunks::read(dataset);
        let index = Arc::new(index.map_err(|source| MetadataError::Read {
            key: format!("{} ({})", dataset.file.source.key(), variable.path),
            source: Box::new(source),
        })?);
        indexes().insert(variable.path.clone(), Arc::clone(&index));
        Ok(index)
    }

    /// The elements of a variable of strings as they are stored: addresses, or strings of a fixed length.
    fn elements(&self, variable: &Variable) -> Result<Array, DataError> {
        let element = self.dataset(variable)?.element;
        let mut stored = variable.clone();
        stored.dtype = Dtype::parse(&format!("|V{element}")).map_err(|error| DataError::Unsupported {
            variable: variable.path.clone(),
            reason: error.to_string(),
        })?;
        stored.nc_type = None;
        stored.fill = None;
        let spec = ChainSpec::new(self.filters(variable)?);
        let chain = self.session.bind(&stored, self.hierarchy.format, &spec)?;
        let store = Arc::clone(&self.store);
        let pool = self.session.pool.clone();
        let array = Array::new(store, &stored, stored.shape.clone(), chain, pool)?;
        Ok(array.with_chunks(self.index(variable)?))
    }

    /// The JSON of a filter that another format has no codec for.
    fn by_number(stage: &StageSpec, dialect: Dialect) -> Option<Json> {
        let StageSpec::Filter { id, params } = stage else { return None };
        let mut codec = generic::codec_json(*id, params);
        codec.as_object_mut()?.shift_remove("id");
        Some(spec::codec_json(dialect, generic::NAME, codec.as_object()?.clone()).into())
    }
}

impl Container for Hdf5File {
    fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn session(&self) -> &Session {
        &self.session
    }

    /// Looks up the filters of a variable. Those of strings of any length apply to addresses, and not to the strings:
    /// their chain is empty.
    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        let stages = if variable.dtype.is_variable_length() { Vec::new() } else { self.filters(variable)? };
        self.session.bind(variable, self.hierarchy.format, &ChainSpec::new(stages))
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        Ok(self.index(variable)?)
    }

    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        let mut stages = self.filters(variable)?;
        if variable.dtype.is_variable_length() {
            let is_of_elements = |stage: &StageSpec| matches!(stage, StageSpec::Filter { id, .. } if OF_ELEMENTS.iter().any(|of| u32::from(*of) == *id));
            stages.retain(|stage| !is_of_elements(stage));
        } else {
            shuffle_whole_elements(&mut stages, variable);
        }
        let written = |stages: Vec<StageSpec>| {
            let chain = self.session.bind(variable, self.hierarchy.format, &ChainSpec::new(stages))?;
            Ok::<_, DataError>(chain.stored_json(format.dialect()).ok())
        };
        if let Some(codecs) = written(stages.clone())? {
            return Ok(codecs.into_iter().map(Json::from).collect());
        }
        let mut codecs = Vec::new();
        for stage in stages {
            match written(vec![stage.clone()])? {
                Some(codec) => codecs.extend(codec.into_iter().map(Json::from)),
                None => codecs.extend(Self::by_number(&stage, format.dialect())),
            }
        }
        Ok(codecs)
    }

    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        let variable = self.hierarchy.variable(path)?;
        if variable.user_type.is_none() {
            return Err(DataError::Unsupported {
                variable: variable.path.clone(),
                reason: "its type is not a user-defined type; read it as an array".to_owned(),
            });
        }
        let dataset = self.dataset(variable)?;
        let elements = HeapElements::new(Arc::clone(&dataset.file), dataset.datatype.clone());
        Ok(UserArray::new(self.array(path)?, Arc::new(elements)))
    }

    fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        let variable = self.hierarchy.variable(path)?;
        let shape = self.hierarchy.shape_of(variable);
        let chain = self.chain(variable)?;
        let store = Arc::clone(&self.store);
        let strings = StringArray::new(store, variable, shape, chain, self.session.pool.clone())?;
        if !variable.dtype.is_variable_length() {
            return Ok(strings.with_chunks(self.index(variable)?));
        }
        let dataset = self.dataset(variable)?;
        let elements = self.elements(variable)?;
        Ok(strings.supplied(match dataset.datatype {
            DatatypeMessage::FixedString { .. } => Arc::new(TerminatedStrings::new(elements)),
            _ => Arc::new(HeapStrings::new(Arc::clone(&dataset.file), elements)),
        }))
    }
}

/// Moves shuffles before the filters whose output may not be whole elements: HDF5 leaves the rest of such bytes as it
/// is, where numcodecs refuses them. A chain that is changed applies to new chunks only; stored ones are encoded again.
fn shuffle_whole_elements(stages: &mut Vec<StageSpec>, variable: &Variable) {
    let element = variable.dtype.size() as u64;
    // The bytes that enter a stage; `None` after a filter whose output has any length.
    let mut len = ncz_model::product(variable.chunk_shape.iter().copied().chain([element]));
    let mut moved = Vec::new();
    let mut has_shuffle = false;
    stages.retain(|stage| {
        let StageSpec::Filter { id, params } = stage else { return true };
        match *id {
            SHUFFLE => {
                let size = params.first().map_or(element, |size| u64::from(*size));
                let is_whole = size < 2 || len.is_some_and(|len| len.is_multiple_of(size));
                if !is_whole {
                    moved.push(stage.clone());
                }
                has_shuffle |= is_whole;
                is_whole
            }
            FLETCHER32 => {
                len = len.and_then(|len| len.checked_add(4));
                true
            }
            _ => {
                len = None;
                true
            }
        }
    });
    // One shuffle is enough.
    if !has_shuffle && let Some(shuffle) = moved.into_iter().next() {
        stages.insert(0, shuffle);
    }
}
