//! New netCDF files.

mod chunk_store;
mod completion;
mod new_elements;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ncz_model::json::{Json, to_values};
use ncz_model::{
    Array, Attribute, ChunkIndex, Container, ContainerWriter, DataError, Format, Hierarchy, KeyEncoding,
    MetadataError, NetcdfKind, Order, ScalarForm, Separator, Session, Storage, StringArray, UserArray,
    Variable,
};
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::{ChainSpec, StageSpec, generic};
use ncz_store::{FilePermissions, FileStore, Key, KeyBuf, NewFile, Store, StoreError};

use self::chunk_store::{ChunkStore, Elements, FILE, NewChunks, Slot};
use self::new_elements::NewElements;
use crate::classic::layout::Layout;
use crate::classic::write::{self as classic_write, NewClassic};
use crate::hdf5_write::{self, SUPERBLOCK_BYTES};
use crate::netcdf_file::NetcdfFile;
use crate::user_elements::fill_row;
use crate::user_layout::UserLayout;

/// A new netCDF file: netCDF-4 or classic, as the [`Format`] of its hierarchy says.
///
/// The bytes of chunks go into a hidden file beside the target as they come. Completing it writes what makes them a netCDF
/// file. Then the file is read as every other; publishing gives it its name.
#[derive(Debug)]
pub struct NetcdfWriter {
    hierarchy: Hierarchy,
    session: Session,
    chunks: Arc<ChunkStore>,
    store: Arc<dyn Store>,
    /// The header of a classic file.
    classic: Option<NewClassic>,
    completed: OnceLock<NetcdfFile>,
}

impl NetcdfWriter {
    /// Starts a file at `path`. The variables of the hierarchy get the form that the file can hold: a classic file stores
    /// big-endian numbers without filters, and neither has shards. If `overwrite` is set, a netCDF file that exists there
    /// is replaced when the new one is published.
    ///
    /// # Errors
    /// A file of this kind cannot hold the dataset; something exists at `path` that is not to be replaced; or the file
    /// cannot be created.
    pub fn create(
        path: &Path,
        overwrite: bool,
        mut hierarchy: Hierarchy,
        session: Session,
    ) -> Result<Self, DataError> {
        let location = path.display().to_string();
        let refused =
            |source: ncz_model::SourceError| DataError::Write { location: location.clone(), source };
        let kind = hierarchy.format.kind();
        if let Some(path) = user_typed(&hierarchy).filter(|_| kind != NetcdfKind::Netcdf4) {
            let error = format!(
                "{path}: files of the kind {} have no user-defined types; write netCDF-4",
                kind.name()
            );
            return Err(refused(error.into()));
        }
        let classic = if hierarchy.format.kind().is_hdf5() {
            hierarchy.nc_properties = Some(format!("version=2,ncz={}", env!("CARGO_PKG_VERSION")));
            if hierarchy.format.kind() == NetcdfKind::Netcdf4Classic {
                classic_write::check_model(&hierarchy).map_err(|error| refused(error.into()))?;
            }
            settle_all(&mut hierarchy);
            hdf5_write::check(&hierarchy).map_err(|error| refused(error.into()))?;
            None
        } else {
            Some(classic_write::plan(&mut hierarchy).map_err(|error| refused(error.into()))?)
        };
        let permissions = FilePermissions::default().from_environment();
        let may_replace = overwrite.then(|| Box::new(is_netcdf) as _);
        let file = permissions.and_then(|permissions| NewFile::create(path, permissions, may_replace));
        let file = file.map_err(|source| DataError::Store { store: location.clone(), source })?;
        let reserved = match &classic {
            Some(classic) => classic.len,
            None => SUPERBLOCK_BYTES,
        };
        let _ = file.reserve(reserved);
        let slots = slots(&hierarchy, classic.as_ref(), &file);
        let slots = slots.map_err(|reason: String| refused(reason.into()))?;
        let chunks = Arc::new(ChunkStore::new(file, slots));
        let store: Arc<dyn Store> = Arc::clone(&chunks) as Arc<dyn Store>;
        Ok(Self { hierarchy, session, chunks, store, classic, completed: OnceLock::new() })
    }

    fn error(&self, source: impl Into<ncz_model::SourceError>) -> DataError {
        DataError::Write { location: self.chunks.to_string(), source: source.into() }
    }

    /// The position of a variable in the file.
    fn number(&self, path: &str) -> Result<usize, DataError> {
        let number = self.hierarchy.variables().position(|other| other.path == path);
        Ok(number.ok_or_else(|| MetadataError::NotFound { kind: "variable", path: path.to_owned() })?)
    }

    /// The index of the chunks that are written so far.
    fn new_chunks(&self, path: &str) -> Result<Arc<dyn ChunkIndex>, DataError> {
        Ok(Arc::new(NewChunks::new(&self.chunks, self.number(path)?)))
    }

    /// The variable at a path with the keys that it has until the file is complete, its shape and its codecs.
    fn parts(&self, path: &str) -> Result<(Variable, Vec<u64>, FilterChain), DataError> {
        let variable = self.hierarchy.variable(path)?;
        let chain = self.chain(variable)?;
        Ok((keyed(variable, self.number(path)?), self.hierarchy.shape_of(variable), chain))
    }
}

impl Container for NetcdfWriter {
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
        if let Some(file) = self.completed.get() {
            return file.chain(variable);
        }
        let codecs = to_values(&variable.filters);
        let stages = codecs.iter().map(|codec| {
            let (id, params) = generic::of_codec_json(codec).ok_or_else(|| DataError::Unsupported {
                variable: variable.path.clone(),
                reason: format!("{codec} is not an HDF5 filter by its number"),
            })?;
            Ok(StageSpec::Filter { id, params })
        });
        let stages = stages.collect::<Result<Vec<_>, DataError>>()?;
        self.session.bind(variable, self.hierarchy.format, &ChainSpec::new(stages))
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        match self.completed.get() {
            Some(file) => file.chunks(variable),
            None => self.new_chunks(&variable.path),
        }
    }

    fn agreed_filters(&self, variable: &Variable, format: Format) -> Result<Vec<Json>, DataError> {
        match self.completed.get() {
            Some(file) => file.agreed_filters(variable, format),
            None => Ok(variable.filters.clone()),
        }
    }

    fn array(&self, path: &str) -> Result<Array, DataError> {
        if let Some(file) = self.completed.get() {
            return file.array(path);
        }
        let (variable, shape, chain) = self.parts(path)?;
        let array = Array::new(Arc::clone(&self.store), &variable, shape, chain, self.session.pool.clone())?;
        Ok(array.with_chunks(self.new_chunks(path)?))
    }

    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        if let Some(file) = self.completed.get() {
            return file.user_array(path);
        }
        let (mut variable, mut shape, chain) = self.parts(path)?;
        let unsupported = |reason| DataError::Unsupported { variable: path.to_owned(), reason };
        let user = variable.user_type.as_ref();
        let user =
            user.ok_or_else(|| unsupported("its type is not user-defined; write it as an array".to_owned()))?;
        let layout = UserLayout::of(user).map_err(&unsupported)?;
        let own = shape.clone();
        let mut padding = None;
        if layout.has_references() && variable.fill.is_some() && variable.storage == Storage::Chunked {
            padding = Some(fill_row(&variable).map_err(unsupported)?.clone());
            for lens in [&mut shape, &mut variable.shape] {
                lens.iter_mut().zip(&variable.chunk_shape).for_each(|(len, chunk)| {
                    *len = len.checked_next_multiple_of((*chunk).max(1)).unwrap_or(*len);
                });
            }
        }
        let pool = self.session.pool.clone();
        let array = Array::new(Arc::clone(&self.store), &variable, shape, chain, pool)?;
        let array = array.with_chunks(self.new_chunks(path)?);
        let elements = NewElements::new(Arc::clone(&self.chunks), layout, padding);
        Ok(UserArray::new(array, Arc::new(elements)).padded(own))
    }

    fn strings(&self, path: &str) -> Result<StringArray, DataError> {
        if let Some(file) = self.completed.get() {
            return file.strings(path);
        }
        let (variable, shape, chain) = self.parts(path)?;
        StringArray::new(Arc::clone(&self.store), &variable, shape, chain, self.session.pool.clone())
    }
}

impl ContainerWriter for NetcdfWriter {
    fn complete(&self) -> Result<(), DataError> {
        if self.completed.get().is_some() {
            return Ok(());
        }
        completion::complete(&self.hierarchy, &self.chunks, self.classic.as_ref())
            .map_err(|source| self.error(source))?;
        let key = KeyBuf::parse(FILE).map_err(|error| self.error(error))?;
        let file = NetcdfFile::open(Arc::clone(&self.store), key, self.session.clone())?;
        // Only one thread completes a file.
        let _ = self.completed.set(file);
        Ok(())
    }

    fn read_back(&self) -> Result<Hierarchy, DataError> {
        self.complete()?;
        Ok(self.completed.get().map_or_else(|| self.hierarchy.clone(), |file| file.hierarchy().clone()))
    }

    fn publish(self: Box<Self>) -> Result<(), DataError> {
        self.complete()?;
        let published = self.chunks.file().publish();
        published.map_err(|source| DataError::Store { store: self.chunks.to_string(), source })
    }

    fn discard(self: Box<Self>) {}
}

/// The path of a user-defined type, or of a variable or an attribute that has one.
fn user_typed(hierarchy: &Hierarchy) -> Option<String> {
    let attribute = |path: &str, all: &[Attribute]| {
        let found = all.iter().find(|attribute| attribute.user.is_some());
        found.map(|attribute| format!("{path}:{}", attribute.name))
    };
    hierarchy.groups().find_map(|group| {
        let of_variable = |variable: &Variable| {
            let own = variable.user_type.as_ref().map(|_| variable.path.clone());
            own.or_else(|| attribute(&variable.path, &variable.attributes))
        };
        let types = group.types.first().map(|user| user.path());
        let own = types.or_else(|| attribute(&group.path, &group.attributes));
        own.or_else(|| group.variables.iter().find_map(of_variable))
    })
}

/// Gives the variables of a netCDF-4 file the form that HDF5 can hold.
fn settle_all(hierarchy: &mut Hierarchy) {
    let unlimited: Vec<_> = hierarchy
        .groups()
        .flat_map(|group| {
            let unlimited = group.dimensions.iter().filter(|dimension| dimension.unlimited);
            unlimited.map(|dimension| (group.path.clone(), dimension.name.clone()))
        })
        .collect();
    let shapes: Vec<(String, Vec<u64>)> =
        hierarchy.variables().map(|variable| (variable.path.clone(), hierarchy.shape_of(variable))).collect();
    for (path, shape) in shapes {
        if let Ok(variable) = hierarchy.variable_mut(&path) {
            let can_grow = variable.dimensions.iter().any(|dimension| {
                unlimited.iter().any(|(group, name)| *group == dimension.group && *name == dimension.name)
            });
            if !can_grow {
                // An array of HDF5 has the length of its fixed dimensions.
                variable.shape = shape;
            }
            settle(variable, can_grow);
        }
    }
}

fn settle(variable: &mut Variable, can_grow: bool) {
    variable.sharding = None;
    variable.order = Order::C;
    let is_scalar = variable.shape.is_empty();
    variable.scalar = is_scalar.then_some(ScalarForm::Rank0);
    if variable.dtype.is_variable_length() {
        // The filters would apply to references into a heap, which they cannot make smaller.
        variable.filters.clear();
    }
    variable.storage = match variable.storage {
        _ if is_scalar => Storage::Scalar,
        _ if can_grow || !variable.filters.is_empty() => Storage::Chunked,
        // HDF5 stores nothing of an array without elements.
        _ if variable.shape.contains(&0) => Storage::Contiguous,
        Storage::Chunked => Storage::Chunked,
        _ if variable.dtype.is_variable_length() => Storage::Chunked,
        _ => Storage::Contiguous,
    };
    if is_scalar {
        variable.filters.clear();
        variable.chunk_shape.clear();
    } else if variable.storage == Storage::Contiguous {
        let layout = Layout::block(0, &variable.shape, variable.dtype.size() as u64);
        if let Some(layout) = layout {
            variable.chunk_shape = layout.chunk_shape;
        }
    }
}

/// Where the elements of each variable go.
fn slots(hierarchy: &Hierarchy, classic: Option<&NewClassic>, file: &NewFile) -> Result<Vec<Slot>, String> {
    let mut slots = Vec::new();
    for (number, variable) in hierarchy.variables().enumerate() {
        let classic = classic.and_then(|classic| classic.layouts.get(number));
        let elements = match classic {
            Some(layout) => Elements::region(layout.clone()),
            None if variable.dtype.is_variable_length() => Elements::strings(),
            None if variable.storage == Storage::Chunked => Elements::chunks(),
            None => {
                let element = variable.dtype.size() as u64;
                let bytes = ncz_model::product(variable.shape.iter().copied().chain([element]));
                let bytes = bytes.ok_or_else(|| format!("{:?} has too many elements", variable.path))?;
                let begin = file.reserve(bytes);
                let layout = Layout::block(begin, &variable.shape, element);
                Elements::region(layout.ok_or_else(|| format!("{:?} has too many elements", variable.path))?)
            }
        };
        slots.push(Slot::new(&keyed(variable, number), elements));
    }
    Ok(slots)
}

/// The longest path that is part of a key, so that coordinates have room.
const MOST_PATH: usize = 256;

/// A variable with the keys of its path. If that cannot be a key, they are those of its number, which ends with a space as
/// no name does.
fn keyed(variable: &Variable, number: usize) -> Variable {
    let path = variable.path.trim_start_matches('/');
    let is_key = path.len() <= MOST_PATH && Key::parse(path).is_ok();
    Variable {
        key: if is_key { path.to_owned() } else { format!("{number} ") },
        key_encoding: KeyEncoding::V2,
        separator: Separator::Dot,
        ..variable.clone()
    }
}

/// Whether the file at a path is a netCDF or HDF5 file.
fn is_netcdf(path: &Path) -> Result<bool, StoreError> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
    let Ok(key) = KeyBuf::parse(name) else { return Ok(false) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let store = FileStore::open(folder, ncz_store::Access::Read)?;
    match NetcdfFile::recognizes(Arc::new(store), key) {
        Ok(recognized) => Ok(recognized),
        Err(DataError::Store { source, .. }) => Err(source),
        Err(_) => Ok(false),
    }
}
