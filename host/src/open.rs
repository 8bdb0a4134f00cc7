//! Opening and creating datasets.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ncz_model::{Hierarchy, Pool};
use ncz_model::{Session, ShuffleReading};
use ncz_registry::Registry;
use ncz_store::Access;
use ncz_zarr::Dataset as ZarrDataset;

use crate::dataset::Dataset;
use crate::location::{DatasetUrl, Location, LocationError};

/// Opens the dataset at a path or URL for reading. [`OpenOptions`] has more choices.
///
/// It is a Zarr or NCZarr dataset, or a netCDF or HDF5 file. Codecs are those that are built in and the plugins on
/// `HDF5_PLUGIN_PATH`; each core has a thread. What follows `#` in a URL are [mode words](crate::location::Mode), as in
/// `s3://bucket/key#mode=zarr` and `https://host/path#mode=bytes`.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ocean.zarr");
/// # ncz::create(&path, ncz::model::Hierarchy::new(ncz::model::Format::Zarr3))?.finish()?;
/// let dataset = ncz::open(&path)?;
/// for variable in dataset.hierarchy().variables() {
///     println!("{} {:?}", variable.path, variable.shape);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// There is no dataset, it cannot be read, or its metadata are damaged. Codecs are looked up later, when data are read.
pub fn open(path_or_url: impl AsRef<OsStr>) -> Result<Dataset, LocationError> {
    OpenOptions::new().open(path_or_url)
}

/// Creates a dataset with these groups, dimensions and variables. [`CreateOptions`] has more choices.
///
/// It is stored in a directory, in a zip file if the path ends in `.zip`, or in S3. It becomes visible, as a whole, by
/// [`finish`](ZarrDataset::finish); without that it is lost.
///
/// ```
/// use ncz::prelude::*;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ocean.zarr");
/// let mut hierarchy = Hierarchy::new(Format::Zarr3);
/// hierarchy.add_dimension("/", "x", 4, false)?;
/// hierarchy.add_variable("/", VariableBuilder::new("depth", NcType::Float).dimensions(["x"]))?;
/// let dataset = ncz::create(&path, hierarchy)?;
/// dataset.array("/depth")?.write(.., &[1.0f32, 2.0, 3.0, 4.0])?;
/// dataset.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Something exists there already, or the location cannot be written to.
pub fn create(path_or_url: impl AsRef<OsStr>, hierarchy: Hierarchy) -> Result<ZarrDataset, LocationError> {
    CreateOptions::new().create(path_or_url, hierarchy)
}

/// How to open a dataset.
///
/// ```
/// use ncz::OpenOptions;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ocean.zarr");
/// # ncz::create(&path, ncz::model::Hierarchy::new(ncz::model::Format::Zarr3))?.finish()?;
/// let dataset = OpenOptions::new().threads(2).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    resources: Resources,
    shuffle: ShuffleReading,
}

/// How to create a dataset.
///
/// ```
/// use ncz::CreateOptions;
/// use ncz::model::{Format, Hierarchy};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ocean.zarr");
/// # ncz::create(&path, Hierarchy::new(Format::Zarr3))?.finish()?;
/// let options = CreateOptions::new().overwrite(true).consolidated(true);
/// let dataset = options.create(&path, Hierarchy::new(Format::NCZARR))?;
/// dataset.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    resources: Resources,
    overwrite: bool,
    consolidated: bool,
}

/// The codecs and threads of a dataset; `None` for the defaults.
#[derive(Clone, Debug, Default)]
struct Resources {
    registry: Option<Arc<Registry>>,
    pool: Option<Pool>,
    threads: Option<usize>,
}

impl OpenOptions {
    /// With the default codecs and a thread for each core.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses the codecs of this registry instead of those built in and on `HDF5_PLUGIN_PATH`.
    #[must_use]
    pub fn registry(mut self, registry: Arc<Registry>) -> Self {
        self.resources.registry = Some(registry);
        self
    }

    /// Uses this number of threads instead of one for each core; 1 works on the calling thread.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.resources.threads = Some(threads);
        self
    }

    /// Uses the threads of this pool, which several datasets may share.
    #[must_use]
    pub fn pool(mut self, pool: Pool) -> Self {
        self.resources.pool = Some(pool);
        self
    }

    /// What an element size of shuffle means on which netcdf-c and numcodecs disagree. Such data are refused by
    /// default.
    #[must_use]
    pub fn shuffle(mut self, reading: ShuffleReading) -> Self {
        self.shuffle = reading;
        self
    }

    /// Opens the dataset at a path or URL for reading.
    ///
    /// # Errors
    /// See [`open`]; threads cannot be started.
    pub fn open(&self, path_or_url: impl AsRef<OsStr>) -> Result<Dataset, LocationError> {
        parsed(path_or_url.as_ref())?.open(self.session()?)
    }

    /// Opens the Zarr dataset at a path or URL for reading and writing. End the changes with
    /// [`finish`](ZarrDataset::finish).
    ///
    /// # Errors
    /// See [`open`]; it is a netCDF file, or on an HTTP server; threads cannot be started.
    pub fn open_zarr(&self, path_or_url: impl AsRef<OsStr>) -> Result<ZarrDataset, LocationError> {
        parsed(path_or_url.as_ref())?.open_zarr(Access::ReadWrite, self.session()?)
    }

    fn session(&self) -> Result<Session, LocationError> {
        Ok(Session { shuffle: self.shuffle, ..self.resources.session()? })
    }
}

impl CreateOptions {
    /// With the default codecs and a thread for each core; nothing is overwritten.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses the codecs of this registry instead of those built in and on `HDF5_PLUGIN_PATH`.
    #[must_use]
    pub fn registry(mut self, registry: Arc<Registry>) -> Self {
        self.resources.registry = Some(registry);
        self
    }

    /// Uses this number of threads instead of one for each core; 1 works on the calling thread.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.resources.threads = Some(threads);
        self
    }

    /// Uses the threads of this pool, which several datasets may share.
    #[must_use]
    pub fn pool(mut self, pool: Pool) -> Self {
        self.resources.pool = Some(pool);
        self
    }

    /// Whether an existing dataset is replaced when the new one is finished. Anything else is never replaced.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Whether to write consolidated metadata.
    #[must_use]
    pub fn consolidated(mut self, consolidated: bool) -> Self {
        self.consolidated = consolidated;
        self
    }

    /// Creates a dataset with these groups, dimensions and variables at a path or URL.
    ///
    /// # Errors
    /// See [`create`]; the mode words of the URL ask for another format than that of `hierarchy`; threads cannot be
    /// started.
    pub fn create(
        &self,
        path_or_url: impl AsRef<OsStr>,
        hierarchy: Hierarchy,
    ) -> Result<ZarrDataset, LocationError> {
        let url = parsed(path_or_url.as_ref())?;
        let location = || url.location.clone();
        let format = hierarchy.format;
        if let Some(requested) = url.mode.new_format().filter(|requested| *requested != format) {
            return Err(LocationError::Format { location: location(), requested, format });
        }
        let session = self.resources.session()?;
        let store = url.create_store(self.overwrite);
        let store = store.map_err(|source| LocationError::CreateStore {
            location: location(),
            source: Box::new(source),
        })?;
        let consolidated = self.consolidated || url.mode.consolidated;
        ZarrDataset::create(store, hierarchy, session, consolidated)
            .map_err(|source| LocationError::Create { location: location(), source: Box::new(source) })
    }
}

impl Resources {
    fn session(&self) -> Result<Session, LocationError> {
        let registry = self.registry.clone().unwrap_or_else(|| Arc::new(Registry::builder().build()));
        let pool = match (&self.pool, self.threads) {
            (Some(pool), _) => pool.clone(),
            (None, Some(threads)) => Pool::with_threads(threads)?,
            (None, None) => Pool::for_this_machine()?,
        };
        Ok(Session::new(registry, pool))
    }
}

/// Parses a path or URL. A path that is not UTF-8 has no mode words.
fn parsed(path_or_url: &OsStr) -> Result<DatasetUrl, LocationError> {
    match path_or_url.to_str() {
        Some(text) => DatasetUrl::parse(text),
        None => Ok(DatasetUrl { location: Location::from(Path::new(path_or_url)), mode: Default::default() }),
    }
}

#[cfg(test)]
mod tests {
    use ncz_model::{Format, NcType, VariableBuilder, s};

    use super::*;

    fn hierarchy(format: Format) -> Hierarchy {
        let mut hierarchy = Hierarchy::new(format);
        hierarchy.add_dimension("/", "x", 4, false).unwrap();
        let variable = VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([3]);
        hierarchy.add_variable("/", variable).unwrap();
        hierarchy
    }

    #[test]
    fn a_dataset_is_created_and_opened_in_every_local_storage() {
        let folder = tempfile::tempdir().unwrap();
        for (name, format) in [("a.zarr", Format::Zarr3), ("b.zip", Format::Zarr2), ("c", Format::NCZARR)] {
            let path = folder.path().join(name);
            let dataset = create(&path, hierarchy(format)).unwrap();
            dataset.array("/v").unwrap().write(s![1..3], &[5, 6]).unwrap();
            dataset.finish().unwrap();
            let dataset = open(&path).unwrap();
            assert_eq!(dataset.hierarchy().format, format);
            assert_eq!(dataset.array("v").unwrap().read_vec::<i32>(s![1..3]).unwrap(), [5, 6]);
        }
    }

    #[test]
    fn nothing_is_overwritten_unless_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zarr");
        create(&path, hierarchy(Format::Zarr3)).unwrap().finish().unwrap();
        assert!(matches!(create(&path, hierarchy(Format::Zarr3)), Err(LocationError::CreateStore { .. })));
        let options = CreateOptions::new().overwrite(true).threads(1);
        options.create(&path, hierarchy(Format::Zarr2)).unwrap().finish().unwrap();
        assert_eq!(open(&path).unwrap().hierarchy().format, Format::Zarr2);
    }

    #[test]
    fn a_dataset_that_is_open_for_reading_cannot_be_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zarr");
        create(&path, hierarchy(Format::Zarr3)).unwrap().finish().unwrap();
        let options = OpenOptions::new().pool(Pool::serial());
        assert!(options.open(&path).unwrap().array("v").unwrap().write(s![0], &[1]).is_err());
        let dataset = options.open_zarr(&path).unwrap();
        dataset.array("v").unwrap().write(s![0], &[1]).unwrap();
        dataset.finish().unwrap();
    }

    #[test]
    fn a_mode_of_another_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}#mode=nczarr,file", folder.path().join("a").display());
        let error = create(&url, hierarchy(Format::Zarr3)).unwrap_err();
        assert!(matches!(error, LocationError::Format { .. }), "{error}");
        create(&url, hierarchy(Format::NCZARR)).unwrap().finish().unwrap();
        assert_eq!(open(&url).unwrap().hierarchy().format, Format::NCZARR);
    }
}
