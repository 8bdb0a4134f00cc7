//! A dataset: a store, what its metadata say, and the codecs and threads to read and write it with.

mod change;
mod documents;
mod grow;
mod journaling;
mod missing;
mod pending;
mod room;
mod source;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use ncz_codec::{CodecError, Dialect};
use ncz_registry::Registry;
use ncz_registry::chain::{ChainError, FilterChain, Operation};
use ncz_registry::spec::{ChainSpec, StageSpec};
use ncz_store::{Store, StoreError};
use serde_json::Value as Json;

use self::journaling::Journaling;
pub use self::journaling::Receipt;
use self::pending::Pending;
use self::source::StoreDocuments;
pub(crate) use self::source::whole_document;
use crate::array::{Array, LossyTerms, codec_env};
use crate::data_error::DataError;
use crate::dtype::{ByteOrder, NcType};
use crate::metadata::{self, ReadOptions};
use crate::missing::Missing;
use crate::model::{DimensionRef, Format, Hierarchy, Variable, Warning};
use crate::pool::Pool;
use crate::trace;

/// HDF5's number of shuffle.
const SHUFFLE: u32 = 2;

/// The element size of a shuffle in numcodecs where the JSON names none.
const NUMCODECS_SIZE: u64 = 4;

/// What a dataset works with: codecs and threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    /// Where codecs are looked up.
    pub registry: Arc<Registry>,
    /// The threads that chunks are spread over.
    pub pool: Pool,
    /// What to believe where readers disagree about shuffle's element size.
    pub shuffle: ShuffleReading,
}

/// What the element size of a shuffle in NCZarr data means where it is neither 0 nor the size of the
/// variable's type: netcdf-c ignores it, numcodecs follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ShuffleReading {
    /// Refuse, and name both readings.
    #[default]
    Refuse,
    /// As netcdf-c: the size of the variable's type.
    TypeSize,
    /// As numcodecs and zarr-python: the number in the metadata.
    AsStored,
}

/// An open dataset.
///
/// [`array`](Self::array) gives the data of a variable as they are. What makes variables longer or changes
/// metadata goes through the dataset and takes it `&mut`: [`write`](Self::write), [`append`](Self::append),
/// [`resize`](Self::resize), [`change`](Self::change).
///
/// End every change with [`finish`](Self::finish). A dataset that is dropped without it loses what was not
/// [flushed](Self::flush), and a new one is lost whole; an event at `error` (target `ncz_nczarr`) says so. To give
/// changes up on purpose, call [`discard`](Self::discard).
#[derive(Debug)]
#[must_use = "changes are lost without `finish`"]
pub struct Dataset {
    store: Arc<dyn Store>,
    hierarchy: Hierarchy,
    session: Session,
    pending: Pending,
    /// The store shows what was written when it is published, and that was not done yet.
    unpublished: bool,
    journaling: Journaling,
}

impl Session {
    /// Codecs from `registry`, chunks on `pool`.
    #[must_use]
    pub fn new(registry: Arc<Registry>, pool: Pool) -> Self {
        Self { registry, pool, shuffle: ShuffleReading::Refuse }
    }

    /// Looks up the codecs of `spec` and binds them to a variable.
    ///
    /// # Errors
    /// A codec that is not found, a configuration that is not usable, or codecs that do not fit.
    pub fn bind(
        &self,
        variable: &Variable,
        format: Format,
        spec: &ChainSpec,
    ) -> Result<FilterChain, DataError> {
        let stages = spec.resolve(&self.registry).map_err(|source| DataError::Resolve {
            variable: variable.path.clone(),
            source: Box::new(source),
        })?;
        let env = codec_env(variable, format);
        if env.dtype.size == 0 && !variable.dtype.is_variable_length() {
            return Err(DataError::without_size(variable));
        }
        let chain = if variable.dtype.is_variable_length() {
            FilterChain::bind_bytes(&stages, &env, crate::strings::MAX_CHUNK_BYTES)
        } else {
            let fill = variable.fill.as_ref().map(|fill| fill.bytes().to_vec());
            FilterChain::bind_with_fill(&stages, &env, fill.filter(|fill| fill.len() == env.dtype.size))
        };
        let chain = chain.inspect(|chain| trace::bound(variable, chain));
        chain.map_err(|source| DataError::Chain { variable: variable.path.clone(), source: Box::new(source) })
    }

    /// Gives a variable that is being defined the codecs of `spec`, as metadata will hold them. A shuffle
    /// without an element size gets that of the type.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); also a codec that the metadata cannot name, and lossy codecs that would make data of
    /// the variable's fill value.
    pub fn define(
        &self,
        variable: &mut Variable,
        format: Format,
        spec: &ChainSpec,
    ) -> Result<FilterChain, DataError> {
        let chain = self.bind(variable, format, &with_true_sizes(spec))?;
        if format.is_nczarr() && variable.nc_type == Some(NcType::String) {
            refuse_shuffled_strings(variable, &chain)?;
        }
        missing::refuse_changed(variable, format, &chain, codec_env(variable, format).dtype)?;
        variable.filters = chain.stored_json(format.dialect()).map_err(|source| DataError::Spec {
            variable: variable.path.clone(),
            source: Box::new(source),
        })?;
        Ok(chain)
    }
}

impl Dataset {
    /// Opens the dataset in `store`: reads metadata only, looks for no plugin.
    ///
    /// Where the store can be written to, and not only consolidated metadata are read, growth that was interrupted is
    /// finished first, or given up where nothing of it is visible: [`journal`](crate::journal).
    ///
    /// # Errors
    /// There is no dataset, its root metadata are damaged, or the store fails. A damaged variable is
    /// no error here; it is listed as unreadable.
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

    /// Starts a new dataset: writes the metadata of `hierarchy`, whose variables have their codecs
    /// already ([`Session::define`]). Write the data next, then [`finish`](Self::finish), which writes the
    /// documents of the root: without them there is no dataset.
    ///
    /// # Errors
    /// The store holds something already; metadata that contradict themselves; the store fails.
    pub fn create(
        store: Arc<dyn Store>,
        hierarchy: Hierarchy,
        session: Session,
        consolidated: bool,
    ) -> Result<Self, DataError> {
        Self::start(store, hierarchy, session, consolidated, false)
    }

    /// Goes on with a new dataset that was not [finished](Self::finish): as [`create`](Self::create), but what is in
    /// the store is taken over. Whether it is of the same data is for the caller to know.
    ///
    /// # Errors
    /// As [`create`](Self::create); [`DataError::Changed`] where metadata in the store are not those of `hierarchy`.
    pub fn resume(
        store: Arc<dyn Store>,
        hierarchy: Hierarchy,
        session: Session,
        consolidated: bool,
    ) -> Result<Self, DataError> {
        Self::start(store, hierarchy, session, consolidated, true)
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

    /// Makes what was written durable ([`flush`](Self::flush)), and a new dataset visible. A dataset that is
    /// dropped without it keeps its old lengths; a new one does not come to be.
    ///
    /// # Errors
    /// As [`flush`](Self::flush); a new dataset is not visible then.
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

    /// Gives up what was not [flushed](Self::flush), without the event that a dataset otherwise leaves when it is
    /// dropped with changes. A new dataset does not come to be.
    pub fn discard(mut self) {
        self.pending = Pending::default();
        self.unpublished = false;
    }

    /// Groups, dimensions, variables and attributes.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Where the dataset is.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The codecs and threads.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The codecs of a variable as its metadata say, looked up and bound.
    ///
    /// # Errors
    /// A codec that is not found, or metadata that do not fit it.
    pub fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        let mut filters = variable.filters.clone();
        let settled = matches!(self.hierarchy.format, Format::Nczarr(_))
            && self.settle_shuffle(variable, &mut filters)?;
        // The stored number counts in plain Zarr, so that is how the codecs are told of the variable.
        let format = if settled { Format::Zarr2 } else { self.hierarchy.format };
        let spec = ChainSpec::from_json(format.dialect(), &filters).map_err(|source| DataError::Spec {
            variable: variable.path.clone(),
            source: Box::new(source),
        })?;
        self.session.bind(variable, format, &spec)
    }

    /// The codecs of a variable for metadata in `format` that every reader reads alike: with the element
    /// size of each shuffle spelled out, in NCZarr that of the type. All else is as it was written.
    ///
    /// # Errors
    /// As [`chain`](Self::chain).
    pub fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        let chain = self.chain(variable)?;
        let mut filters = variable.filters.clone();
        if !filters.iter().any(is_shuffle) {
            return Ok(filters);
        }
        let bound = chain.stored_json(Dialect::Numcodecs).map_err(|source| DataError::Spec {
            variable: variable.path.clone(),
            source: Box::new(source),
        })?;
        for (codec, bound) in filters.iter_mut().zip(&bound).filter(|(codec, _)| is_shuffle(codec)) {
            codec["elementsize"] = bound["elementsize"].clone();
        }
        if format.is_nczarr() {
            for codec in shuffles_of_the_type(&mut filters) {
                codec["elementsize"] = Json::from(netcdf_size(variable));
            }
        }
        Ok(filters)
    }

    /// The data of a variable, by its path, as it is now: where it gets longer here, ask for it again.
    ///
    /// # Errors
    /// No such variable, one that cannot be read, or its codecs are not to be had.
    pub fn array(&self, path: &str) -> Result<Array, DataError> {
        let variable = self.hierarchy.variable(path)?;
        let shape = self.hierarchy.shape_of(variable);
        let chain = self.chain(variable)?;
        let array = Array::new(Arc::clone(&self.store), variable, shape, chain, self.session.pool.clone())?;
        Ok(array.with_terms(self.lossy_terms(variable)))
    }

    /// On what terms lossy codecs get its chunks. All dimensions of Zarr may get longer, and of NCZarr one that did
    /// may do so once more.
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
            missing: Missing::of(variable, format, codec_env(variable, format).dtype)
                .and_then(Missing::without_zeros),
        }
    }

    /// Makes the element size of each shuffle in NCZarr metadata unambiguous; says whether there is one.
    fn settle_shuffle(&self, variable: &Variable, filters: &mut [Json]) -> Result<bool, DataError> {
        let type_size = netcdf_size(variable);
        let mut any = false;
        for codec in shuffles_of_the_type(filters) {
            any = true;
            // Anything but a number is left to the codec, which refuses it.
            let Some(stored) = codec.get("elementsize").map_or(Some(NUMCODECS_SIZE), Json::as_u64) else {
                continue;
            };
            let size = match self.session.shuffle {
                _ if stored == 0 || stored == type_size => type_size,
                ShuffleReading::AsStored => stored,
                ShuffleReading::TypeSize => type_size,
                ShuffleReading::Refuse => {
                    return Err(DataError::Unsupported {
                        variable: variable.path.clone(),
                        reason: format!(
                            "its shuffle has element size {stored} where the type has {type_size} bytes: netcdf-c \
                             reads such data with {type_size}, numcodecs with {stored}; choose with --shuffle-size \
                             type or --shuffle-size stored"
                        ),
                    });
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

/// netcdf-c up to 4.9.2 declared such variables as big-endian but did not turn their values round. Every
/// reader since then believes the declaration.
fn doubtful_byte_orders(hierarchy: &Hierarchy) -> Vec<Warning> {
    if matches!(hierarchy.format, Format::Zarr2 | Format::NCZARR | Format::Zarr3 | Format::Nczarr3) {
        return Vec::new();
    }
    let big =
        |variable: &&Variable| variable.dtype.order() == ByteOrder::Big && variable.dtype.swap_unit() > 1;
    let warning = |variable: &Variable| Warning {
        at: variable.path.clone(),
        text: format!(
            "it is declared big-endian by netcdf-c 4.9.2 or older, which may have stored the machine's byte order; \
             if its values make no sense, they are little-endian: put {:?} for the \"dtype\" in its .zarray",
            variable.dtype.text().replacen('>', "<", 1)
        ),
    };
    hierarchy.variables().filter(big).map(warning).collect()
}

/// Whether a codec's JSON is that of shuffle.
fn is_shuffle(codec: &Json) -> bool {
    codec.get("id").and_then(Json::as_str) == Some("shuffle")
}

/// The shuffles whose element size netcdf-c and numcodecs may read differently. Behind a codec that
/// changes the type the number has a meaning that netcdf-c, which lacks such codecs, does not dispute.
fn shuffles_of_the_type(filters: &mut [Json]) -> impl Iterator<Item = &mut Json> {
    const TYPE_CHANGING: [&str; 4] = ["astype", "delta", "fixedscaleoffset", "packbits"];
    let changes =
        |codec: &Json| codec.get("id").and_then(Json::as_str).is_some_and(|id| TYPE_CHANGING.contains(&id));
    filters.iter_mut().take_while(move |codec| !changes(codec)).filter(|codec| is_shuffle(codec))
}

/// The size of an element to netcdf-c, whose shuffle knows no other: for strings that of a pointer.
fn netcdf_size(variable: &Variable) -> u64 {
    if variable.nc_type == Some(NcType::String) { 8 } else { variable.dtype.size() as u64 }
}

/// netcdf-c would read shuffled strings wrongly, see [`netcdf_size`].
fn refuse_shuffled_strings(variable: &Variable, chain: &FilterChain) -> Result<(), DataError> {
    let size = netcdf_size(variable);
    let wrong = |(id, words): &(u32, &[u32])| {
        *id == SHUFFLE && words.first().is_some_and(|&word| word > 1 && u64::from(word) != size)
    };
    let Some(stage) = chain.working().iter().position(wrong) else { return Ok(()) };
    Err(DataError::Chain {
        variable: variable.path.clone(),
        source: Box::new(ChainError {
            operation: Operation::Bind,
            codec: "shuffle".to_owned(),
            stage,
            stages: chain.len(),
            origin: "NCZarr".to_owned(),
            source: CodecError::unsupported(format!(
                "netcdf-c shuffles strings by {size} bytes, whatever their length, and would read other text"
            )),
        }),
    })
}

/// `spec` with a shuffle of the true size where its JSON names none: that of numcodecs is then 4, for any type.
fn with_true_sizes(spec: &ChainSpec) -> ChainSpec {
    let stages = spec.stages().iter().map(|stage| match stage.clone() {
        StageSpec::Json { dialect: Dialect::Numcodecs, name, mut config } if name == "shuffle" => {
            config.entry("elementsize").or_insert_with(|| Json::from(0));
            StageSpec::Json { dialect: Dialect::Numcodecs, name, config }
        }
        other => other,
    });
    ChainSpec::new(stages.collect())
}
