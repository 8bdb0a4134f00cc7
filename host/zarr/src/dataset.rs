//! A dataset: a store, its metadata, and the codecs and threads to read and write it with.

mod change;
mod documents;
mod grow;
mod grown_variable;
mod journaling;
mod pending;
mod source;
mod stale_tail;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ncz_codec::Dialect;
use ncz_model::json::{self, Json};
use ncz_model::{
    Array, ByteOrder, ChunkIndex, Container, ContainerWriter, DataError, DimensionRef, Format, Hierarchy,
    Interrupted, LossyGuard, LossyTerms, MissingValues, ObjectKeys, Session, ShuffleReading, StringArray,
    Variable, Warning, codec_env, shuffle,
};
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::ChainSpec;
use ncz_store::{Store, StoreError};

use self::journaling::Journaling;
pub use self::journaling::Receipt;
use self::pending::Pending;
use self::source::StoreDocuments;
use crate::metadata::{self, ReadOptions};
use crate::trace;

/// An open dataset.
///
/// [`array`](Self::array) returns the data of a variable. Operations that grow variables or change metadata take the
/// dataset as `&mut`: [`write`](Self::write), [`append`](Self::append), [`resize`](Self::resize),
/// [`change`](Self::change).
///
/// End every change with [`finish`](Self::finish). A dataset that is dropped without it loses the changes that were not
/// [flushed](Self::flush), and a new dataset is lost entirely; an event at `error` (target `ncz_zarr`) reports this. To
/// discard changes on purpose, call [`discard`](Self::discard).
#[derive(Debug)]
#[must_use = "changes are lost without `finish`"]
pub struct Dataset {
    store: Arc<dyn Store>,
    hierarchy: Hierarchy,
    session: Session,
    pending: Pending,
    /// Whether the store has written data that readers see only after it is published.
    unpublished: bool,
    journaling: Journaling,
}

impl Dataset {
    /// Opens the dataset in `store`. Only metadata are read, and no plugin is searched for.
    ///
    /// If the store is writable, and not only consolidated metadata are read, interrupted growth is finished first, or
    /// discarded if nothing of it is visible: [`journal`](crate::journal).
    ///
    /// # Errors
    /// There is no dataset, its root metadata are damaged, or the store fails. A damaged variable is not an error here;
    /// it is listed as unreadable.
    pub fn open(store: Arc<dyn Store>, session: Session, options: &ReadOptions) -> Result<Self, DataError> {
        let journaling = match store.capabilities().writable && options.consolidated.reads_documents() {
            true => Journaling::on_opening(&*store)?,
            false => Journaling::default(),
        };
        let documents = trace::Opening::of(StoreDocuments {
            store: &*store,
            pool: &session.pool,
            visited: Mutex::default(),
        });
        let mut hierarchy = metadata::read(&documents, options)?;
        let doubtful = doubtful_byte_orders(&hierarchy);
        hierarchy.warnings.extend(doubtful);
        documents.done(&*store, &hierarchy);
        Ok(Self { store, hierarchy, session, pending: Pending::default(), unpublished: false, journaling })
    }

    /// Starts a new dataset: writes the metadata of `hierarchy`, whose variables must have their codecs
    /// ([`Session::define`]). Write the data next, then call [`finish`](Self::finish), which writes the documents of
    /// the root: without them there is no dataset.
    ///
    /// # Errors
    /// The store is not empty, the metadata contradict themselves, or the store fails.
    pub fn create(
        store: Arc<dyn Store>,
        hierarchy: Hierarchy,
        session: Session,
        consolidated: bool,
    ) -> Result<Self, DataError> {
        Self::start(store, hierarchy, session, consolidated, false)
    }

    /// Continues a new dataset that was not [finished](Self::finish), like [`create`](Self::create), but uses the
    /// existing content of the store. The caller must know that this content belongs to the same data.
    ///
    /// # Errors
    /// As for [`create`](Self::create); [`DataError::Changed`] if metadata in the store differ from `hierarchy`.
    pub fn resume(
        store: Arc<dyn Store>,
        hierarchy: Hierarchy,
        session: Session,
        consolidated: bool,
    ) -> Result<Self, DataError> {
        Self::start(store, hierarchy, session, consolidated, true)
    }

    /// The data of a new dataset whose metadata somebody else writes: `hierarchy` says what its objects are, and no
    /// document is read or written.
    pub fn without_documents(store: Arc<dyn Store>, hierarchy: Hierarchy, session: Session) -> Self {
        Self {
            store,
            hierarchy,
            session,
            pending: Pending::default(),
            unpublished: false,
            journaling: Journaling::default(),
        }
    }

    fn start(
        store: Arc<dyn Store>,
        hierarchy: Hierarchy,
        session: Session,
        consolidated: bool,
        resumes: bool,
    ) -> Result<Self, DataError> {
        let unpublished = store.capabilities().atomic_publish;
        let mut dataset = Self {
            store,
            hierarchy,
            session,
            pending: Pending::default(),
            unpublished,
            journaling: Journaling::default(),
        };
        match dataset.begin(consolidated, resumes) {
            Ok(()) => Ok(dataset),
            Err(error) => {
                dataset.discard();
                Err(error)
            }
        }
    }

    /// Makes the written data durable ([`flush`](Self::flush)), and a new dataset visible. A dataset that is dropped
    /// without this call keeps its old lengths; a new dataset is not created.
    ///
    /// # Errors
    /// As for [`flush`](Self::flush); a new dataset is not visible after an error.
    pub fn finish(mut self) -> Result<(), DataError> {
        let published = self.publish();
        self.discard();
        published
    }

    fn publish(&mut self) -> Result<(), DataError> {
        let start = Instant::now();
        self.flush()?;
        self.store.publish().map_err(|source| self.store_error(source))?;
        self.unpublished = false;
        trace::finished(&*self.store, &self.hierarchy, start.elapsed());
        Ok(())
    }

    /// Discards the changes that were not [flushed](Self::flush), without the event of a dataset that is dropped with
    /// changes. A new dataset is not created.
    pub fn discard(mut self) {
        self.pending = Pending::default();
        self.unpublished = false;
    }

    /// Returns the codecs of a variable for metadata in `format` that all readers interpret alike: with an explicit
    /// element size in each shuffle, in NCZarr the size of the type. The rest is unchanged.
    ///
    /// # Errors
    /// As for [`chain`](Self::chain).
    pub fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        let chain = self.chain(variable)?;
        let mut filters = variable.filters.clone();
        if !filters.iter().any(shuffle::is_shuffle) {
            return Ok(filters);
        }
        let bound = chain.stored_json(Dialect::Numcodecs).map_err(|source| DataError::Spec {
            variable: variable.path.clone(),
            source: Box::new(source),
        })?;
        for (codec, bound) in filters.iter_mut().zip(&bound).filter(|(codec, _)| shuffle::is_shuffle(codec)) {
            codec["elementsize"] = Json::from(bound["elementsize"].clone());
        }
        if format.is_nczarr() {
            for codec in shuffle::shuffles_of_the_type(&mut filters) {
                codec["elementsize"] = Json::from(shuffle::netcdf_size(variable));
            }
        }
        Ok(filters)
    }

    /// The groups, dimensions, variables and attributes.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The store that holds the dataset.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The codecs and threads.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Looks up and binds the codecs in the metadata of a variable.
    ///
    /// # Errors
    /// A codec is not found, or the metadata do not fit it.
    pub fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        let mut filters = variable.filters.clone();
        let settled = matches!(self.hierarchy.format, Format::Nczarr(_))
            && self.settle_shuffle(variable, &mut filters)?;
        // Plain Zarr uses the stored number, so the codecs are bound as in plain Zarr.
        let format = if settled { Format::Zarr2 } else { self.hierarchy.format };
        let spec = ChainSpec::from_json(format.dialect(), &json::to_values(&filters)).map_err(|source| {
            DataError::Spec { variable: variable.path.clone(), source: Box::new(source) }
        })?;
        self.session.bind(variable, format, &spec)
    }

    /// The data of a variable, by its path, with its current shape. If the variable grows, call this again.
    ///
    /// # Errors
    /// There is no such variable, it cannot be read, or one of its codecs is not found.
    pub fn array(&self, path: &str) -> Result<Array, DataError> {
        let variable = self.hierarchy.variable(path)?;
        let shape = self.hierarchy.shape_of(variable);
        let chain = self.chain(variable)?;
        let array = Array::new(Arc::clone(&self.store), variable, shape, chain, self.session.pool.clone())?;
        Ok(array.with_terms(self.lossy_terms(variable)))
    }

    /// The data of a variable whose elements are strings, by its path.
    ///
    /// # Errors
    /// There is no such variable, it cannot be read, its elements are not strings, or one of its codecs is not found.
    pub fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        Container::strings(self, path)
    }

    /// The conditions under which lossy codecs receive its chunks. All dimensions of Zarr may grow; in NCZarr the
    /// unlimited ones, and those that have grown before.
    fn lossy_terms(&self, variable: &Variable) -> LossyTerms {
        let format = self.hierarchy.format;
        let is_fixed = |(axis, reference): (usize, &DimensionRef)| {
            let dimension = self.hierarchy.dimension(reference);
            dimension.is_some_and(|dimension| !dimension.unlimited && !dimension.anonymous)
                && !self.pending.clean.contains(&(variable.path.clone(), axis))
        };
        let dimensions = variable.dimensions.iter().enumerate();
        LossyTerms {
            fixed: dimensions.map(|dimension| format.is_nczarr() && is_fixed(dimension)).collect(),
            guard: (self.session.lossy_guard == LossyGuard::On)
                .then(|| MissingValues::of(variable, format, codec_env(variable, format).dtype))
                .flatten()
                .and_then(MissingValues::without_zeros),
        }
    }

    /// Makes the element size of each shuffle in NCZarr metadata unambiguous; returns whether there is one.
    fn settle_shuffle(&self, variable: &Variable, filters: &mut [Json]) -> Result<bool, DataError> {
        let type_size = shuffle::netcdf_size(variable);
        let mut any = false;
        for codec in shuffle::shuffles_of_the_type(filters) {
            any = true;
            // JSON that is not a number is left to the codec, which refuses it.
            let Some(stored) = codec.get("elementsize").map_or(Some(shuffle::NUMCODECS_SIZE), Json::as_u64)
            else {
                continue;
            };
            let size = match self.session.shuffle {
                _ if stored == 0 || stored == type_size => type_size,
                ShuffleReading::AsStored => stored,
                ShuffleReading::TypeSize => type_size,
                ShuffleReading::Refuse => {
                    let variable = variable.path.clone();
                    return Err(DataError::ShuffleSize { variable, stored, type_size });
                }
            };
            codec["elementsize"] = Json::from(size);
        }
        Ok(any)
    }

    fn store_error(&self, source: StoreError) -> DataError {
        DataError::Store { store: self.store.to_string(), source }
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        if self.unpublished || self.pending.is_unsaved() {
            trace::dropped(&*self.store);
        }
    }
}

impl Container for Dataset {
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
        Self::chain(self, variable)
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        Ok(Arc::new(ObjectKeys::new(variable)))
    }

    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        Self::agreed_filters(self, variable, format)
    }

    fn interrupted(&self) -> Result<Option<Interrupted>, DataError> {
        Self::interrupted(self)
    }

    fn array(&self, path: &str) -> Result<Array, DataError> {
        Self::array(self, path)
    }
}

impl ContainerWriter for Dataset {
    /// Does nothing: the documents of the root, which make it a dataset, are written when it is published.
    fn complete(&self) -> Result<(), DataError> {
        Ok(())
    }

    fn read_back(&self) -> Result<Hierarchy, DataError> {
        let documents: BTreeMap<String, Vec<u8>> =
            metadata::write(&self.hierarchy, false)?.into_iter().collect();
        let nczarr3 = self.hierarchy.format == Format::Nczarr3;
        Ok(metadata::read(&documents, &ReadOptions { nczarr3, ..ReadOptions::default() })?)
    }

    fn publish(self: Box<Self>) -> Result<(), DataError> {
        self.finish()
    }

    fn discard(self: Box<Self>) {
        (*self).discard();
    }
}

/// Warns about variables that netcdf-c up to 4.9.2 may have declared as big-endian without swapping their bytes. All
/// later readers trust the declaration.
fn doubtful_byte_orders(hierarchy: &Hierarchy) -> Vec<Warning> {
    if matches!(hierarchy.format, Format::Zarr2 | Format::NCZARR | Format::Zarr3 | Format::Nczarr3) {
        return Vec::new();
    }
    let big =
        |variable: &&Variable| variable.dtype.order() == ByteOrder::Big && variable.dtype.swap_unit() > 1;
    let warning = |variable: &Variable| Warning {
        at: variable.path.clone(),
        text: format!(
            "it is declared big-endian by netcdf-c 4.9.2 or older, which may have stored the machine's byte order; if \
             its values make no sense, they are little-endian: set \"dtype\" to {:?} in its .zarray",
            variable.dtype.text().replacen('>', "<", 1)
        ),
    };
    hierarchy.variables().filter(big).map(warning).collect()
}
