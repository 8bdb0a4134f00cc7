//! Several datasets as one, along a dimension: a folder of daily files becomes one dataset.
//!
//! [`Concatenated`] is a [`Container`]: it is copied, read, and referred to like any dataset. Nothing is copied when it
//! is made. Before, it is checked that the datasets go together; what differs is named.

mod check;
mod chunks;
mod layout;
mod order;
mod parts_store;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ncz_model::json::Json;
use ncz_model::{
    ChunkIndex, Container, DataError, Format, Hierarchy, Session, StringArray, UserArray, Variable,
};
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::ChainSpec;
use ncz_store::Store;

use self::chunks::{AssembledChunks, AssembledStrings, Assembly, StoredChunks};
use self::layout::Layout;
use self::parts_store::PartsStore;
use crate::conversion::{Conversion, Conversions, Converted, Source};
use crate::copy::{CopyError, Selection, find_dimension};
use crate::dataset::Dataset;
use crate::location::{DatasetUrl, LocationError};

/// The most datasets that are opened at the same time.
const OPENING: usize = 16;

/// How to see datasets as one.
#[derive(Clone, Debug, Default)]
pub struct ConcatOptions {
    /// Which variables to have. Parts of dimensions are not looked at.
    pub selection: Selection,
    /// What becomes of variables whose chunks do not end where the datasets end.
    pub misaligned: Misaligned,
    /// Whether the coordinate of the dimension may have its values in any order.
    pub any_order: bool,
}

/// What becomes of variables whose stored chunks are not chunks of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misaligned {
    /// Their chunks are assembled from decoded elements.
    #[default]
    Assemble,
    /// So are those with at most this many bytes; they have no codecs. Others are refused, if they cannot be split into
    /// smaller chunks that fit.
    Refuse {
        /// The most bytes of a variable.
        most: u64,
    },
}

/// Why datasets are not one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConcatError {
    /// There are none.
    #[error("there are no datasets to join")]
    Nothing,
    /// One of them cannot be opened.
    #[error(transparent)]
    Open(#[from] LocationError),
    /// The first one does not have the dimension.
    #[error("cannot join along it in {part}")]
    Dimension {
        /// The first dataset.
        part: String,
        /// Why.
        source: Box<CopyError>,
    },
    /// No variable has the dimension.
    #[error("no variable of {part} has the dimension {dimension:?}, so that nothing is joined along it")]
    NoVariable {
        /// The first dataset.
        part: String,
        /// The dimension.
        dimension: String,
    },
    /// Two of them do not go together.
    #[error("variable {path:?} of {part} cannot follow that of {first}: {reason}; {remedy}")]
    Disagree {
        /// The path of the variable.
        path: String,
        /// The dataset.
        part: String,
        /// The one that it is compared with.
        first: String,
        /// In what they differ.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Two of them have different formats.
    #[error("{part} and {first} have different formats; copy one of them to the format of the other")]
    Formats {
        /// The dataset.
        part: String,
        /// The one that it is compared with.
        first: String,
    },
    /// The chunks of a dataset are not chunks of the whole.
    #[error(
        "the chunks of variable {path:?} of {part} cannot be referred to: {reason}; copy to a new dataset instead \
         (.zarr), or leave the variable out"
    )]
    Misaligned {
        /// The path of the variable.
        path: String,
        /// The dataset.
        part: String,
        /// Why.
        reason: String,
    },
    /// The coordinate of the dimension is not in order.
    #[error("the coordinate {path:?} is not in order: {reason}; give the datasets in its order")]
    Order {
        /// The path of the coordinate.
        path: String,
        /// Where.
        reason: String,
    },
    /// One of them cannot be read.
    #[error("cannot read {part}")]
    Data {
        /// The dataset.
        part: String,
        /// Why.
        source: Box<DataError>,
    },
}

/// Several datasets as one, along a dimension.
#[derive(Debug)]
pub struct Concatenated {
    parts: Arc<[Part]>,
    hierarchy: Hierarchy,
    store: Arc<dyn Store>,
    session: Session,
    /// The variables of the dimension, by path; others are those of the first dataset.
    along: HashMap<String, Along>,
    notes: Vec<String>,
}

/// One of the datasets.
#[derive(Debug)]
struct Part {
    name: String,
    dataset: Dataset,
    /// Its first index along the dimension.
    start: u64,
    /// Its length along the dimension.
    len: u64,
    /// Why variables are converted to those of the first dataset, by their paths.
    converted: BTreeMap<String, String>,
}

impl Part {
    /// Converts variables as they are read.
    fn converted(mut self, conversions: Conversions) -> Result<Self, ConcatError> {
        if conversions.is_empty() {
            return Ok(self);
        }
        let reason = |(path, of): (&String, &Conversion)| (path.clone(), of.reason.clone());
        self.converted = conversions.iter().map(reason).collect();
        let failed = |source| ConcatError::Data { part: self.name.clone(), source: Box::new(source) };
        self.dataset =
            Dataset::new(Converted::new(Source::Owned(self.dataset), conversions).map_err(failed)?);
        Ok(self)
    }
}

/// A variable of the dimension.
#[derive(Debug)]
struct Along {
    axis: usize,
    layout: Layout,
}

/// Opens datasets as one.
///
/// # Errors
/// See [`ConcatError`].
pub fn open(
    urls: &[DatasetUrl],
    dimension: &str,
    session: &Session,
    options: &ConcatOptions,
) -> Result<Concatenated, ConcatError> {
    let next = AtomicUsize::new(0);
    let opened: Mutex<Vec<Option<Result<Dataset, LocationError>>>> = Mutex::default();
    opened.lock().unwrap_or_else(PoisonError::into_inner).resize_with(urls.len(), || None);
    std::thread::scope(|scope| {
        let open = || {
            while let Some((number, url)) = {
                let number = next.fetch_add(1, Ordering::Relaxed);
                urls.get(number).map(|url| (number, url))
            } {
                let dataset = url.open(session.clone());
                let is_error = dataset.is_err();
                let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = opened.get_mut(number) {
                    *slot = Some(dataset);
                }
                if is_error {
                    // The others are not needed.
                    next.store(urls.len(), Ordering::Relaxed);
                }
            }
        };
        for _ in 0..urls.len().min(OPENING) {
            scope.spawn(open);
        }
    });
    let mut datasets = Vec::new();
    let opened = opened.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (failed, rest): (Vec<_>, Vec<_>) =
        opened.into_iter().zip(urls).partition(|(dataset, _)| matches!(dataset, Some(Err(_))));
    for (dataset, url) in failed.into_iter().chain(rest) {
        if let Some(dataset) = dataset {
            datasets.push((url.location.to_string(), dataset?));
        }
    }
    Concatenated::new(datasets, dimension, options)
}

/// The number of the dataset that an object belongs to, by its key in the store of a [`Concatenated`], and its key in the
/// store of that dataset.
#[must_use]
pub fn object(key: &str) -> Option<(usize, &str)> {
    parts_store::split(key)
}

impl Concatenated {
    /// Joins datasets in this order, each with the name that messages have for it, along a dimension: its name, or its
    /// path.
    ///
    /// Variables with the dimension are joined. Each must have the same type, other dimensions, and attributes that give
    /// numbers their meaning, in all datasets. Times in other units (CF conventions, the same calendar), other packing
    /// (`scale_factor`, `add_offset`) and other missing values become those of the first dataset as they are read, if every
    /// value stays exact; one that does not is an error of reading. Other variables must be equal in all datasets. Other
    /// attributes are those of the first; [`notes`](Self::notes) names those that differ and what is converted.
    ///
    /// # Errors
    /// See [`ConcatError`].
    pub fn new(
        datasets: Vec<(String, Dataset)>,
        dimension: &str,
        options: &ConcatOptions,
    ) -> Result<Self, ConcatError> {
        let Some((name, first)) = datasets.first() else { return Err(ConcatError::Nothing) };
        let session = first.session().clone();
        let found = find_dimension(first.hierarchy(), dimension);
        let joined = found
            .map_err(|source| ConcatError::Dimension { part: name.clone(), source: Box::new(source) })?;
        let mut parts = Vec::new();
        let mut start = 0_u64;
        for (name, dataset) in datasets {
            let len = dataset.hierarchy().dimension(&joined).map(|dimension| dimension.len);
            let disagree = |reason: &str| ConcatError::Disagree {
                path: joined.to_string(),
                part: name.clone(),
                first: parts.first().map_or_else(String::new, |first: &Part| first.name.clone()),
                reason: reason.to_owned(),
                remedy: "leave the dataset out",
            };
            let len = len.ok_or_else(|| disagree("it has no such dimension"))?;
            let end =
                start.checked_add(len).ok_or_else(|| disagree("it would have more than 2^64 indices"))?;
            parts.push(Part { name, dataset, start, len, converted: BTreeMap::new() });
            start = end;
        }
        let (notes, conversions) = check::check(&parts, &joined, &options.selection)?;
        let parts = parts.into_iter().zip(conversions).map(|(part, conversions)| part.converted(conversions));
        let parts: Arc<[Part]> = parts.collect::<Result<Vec<_>, _>>()?.into();
        let mut hierarchy = check::selected(&parts, &options.selection);
        let mut along = HashMap::new();
        for path in check::along(&hierarchy, &joined) {
            let (variable, axis, layout) = layout::plan(&parts, &path, &joined, start, options.misaligned)?;
            let reference = variable.dimensions.get(axis).cloned();
            if let Some(planned) = find(&mut hierarchy, &path) {
                *planned = variable;
            }
            along.insert(path, Along { axis, layout });
            for reference in reference.iter().chain([&joined]) {
                if let Some(dimension) = hierarchy.dimension_mut(reference) {
                    dimension.len = start;
                }
            }
        }
        if along.is_empty() {
            let part = parts.first().map(|part| part.name.clone()).unwrap_or_default();
            return Err(ConcatError::NoVariable { part, dimension: joined.to_string() });
        }
        let store = PartsStore::new(
            match parts.len() {
                1 => parts[0].name.clone(),
                count => format!("{} and {} more", parts[0].name, count - 1),
            },
            parts.iter().map(|part| Arc::clone(part.dataset.store())).collect(),
        );
        let joined_up = Self { parts, hierarchy, store: Arc::new(store), session, along, notes };
        if !options.any_order {
            order::check(&joined_up, &joined)?;
        }
        Ok(joined_up)
    }

    /// Attributes that differ between the datasets, so that only those of the first are kept, and variables whose values
    /// are converted.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn of_first(&self, variable: &Variable) -> Result<(&Dataset, &Variable), DataError> {
        let dataset = &self.parts[0].dataset;
        Ok((dataset, dataset.hierarchy().variable(&variable.path)?))
    }

    fn assembly(&self, variable: &Variable, axis: usize) -> Assembly {
        Assembly::new(&self.parts, variable, self.hierarchy.shape_of(variable), axis)
    }
}

impl Container for Concatenated {
    fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        match self.along.get(&variable.path) {
            Some(Along { layout, .. })
                if variable.dtype.is_variable_length() || *layout != Layout::Stored =>
            {
                self.session.bind(variable, self.hierarchy.format, &ChainSpec::default())
            }
            _ => {
                let (dataset, variable) = self.of_first(variable)?;
                dataset.chain(variable)
            }
        }
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        let along = self.along.get(&variable.path);
        let (axis, split) = match along {
            Some(Along { axis, layout: Layout::Assembled { .. } }) => {
                let assembly = self.assembly(variable, *axis);
                let arrays = self.parts.iter().map(|_| OnceLock::new()).collect();
                return Ok(Arc::new(AssembledChunks { assembly, fill: variable.fill_bytes(), arrays }));
            }
            Some(Along { axis, layout: Layout::Split(split) }) => (Some(*axis), Some(split.clone())),
            Some(Along { axis, layout: Layout::Stored }) => (Some(*axis), None),
            None => (None, None),
        };
        let chunk = axis.and_then(|axis| variable.object_shape().get(axis)).copied().unwrap_or(1).max(1);
        Ok(Arc::new(StoredChunks {
            parts: Arc::clone(&self.parts),
            path: variable.path.clone(),
            axis,
            first: self.parts.iter().map(|part| part.start.div_ceil(chunk)).collect(),
            split,
            indexes: self.parts.iter().map(|_| OnceLock::new()).collect(),
        }))
    }

    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        match self.along.get(&variable.path) {
            Some(Along { layout: Layout::Assembled { has_codecs: false } | Layout::Split(_), .. }) => {
                Ok(Vec::new())
            }
            _ => {
                let (dataset, variable) = self.of_first(variable)?;
                dataset.agreed_filters(variable, format)
            }
        }
    }

    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        let variable = self.hierarchy.variable(path)?;
        if self.along.contains_key(&variable.path) {
            return Err(DataError::Unsupported {
                variable: variable.path.clone(),
                reason: "values of a user-defined type are not joined; read each dataset by itself"
                    .to_owned(),
            });
        }
        self.of_first(variable)?.0.user_array(path)
    }

    fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        let variable = self.hierarchy.variable(path)?;
        let is_any_length = variable.dtype.is_variable_length();
        let along = match self.along.get(&variable.path) {
            None if is_any_length => return self.of_first(variable)?.0.strings(path),
            along => along.filter(|_| is_any_length),
        };
        let (shape, chain) = (self.hierarchy.shape_of(variable), self.chain(variable)?);
        let store = Arc::clone(&self.store);
        let strings = StringArray::new(store, variable, shape, chain, self.session.pool.clone())?;
        let Some(Along { axis, .. }) = along else { return Ok(strings.with_chunks(self.chunks(variable)?)) };
        let arrays = self.parts.iter().map(|part| part.dataset.strings(path)).collect::<Result<_, _>>()?;
        let fill = variable.fill_bytes();
        let assembly = self.assembly(variable, *axis);
        Ok(strings.supplied(Arc::new(AssembledStrings { assembly, fill, arrays })))
    }
}

fn find<'h>(hierarchy: &'h mut Hierarchy, path: &str) -> Option<&'h mut Variable> {
    hierarchy.variable_mut(path).ok()
}
