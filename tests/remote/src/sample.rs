//! A small dataset in which every value encodes its position.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use ncz::model::{
    DataError, Elements, Format, Hierarchy, NcType, NewFill, Sharding, Slab, Value, VariableBuilder,
};
use ncz::registry::spec::ChainSpec;
use ncz::store::{MemoryStore, Store};
use ncz::zarr::Dataset;

use crate::client::session;
use crate::explained;

/// The rows of a sample that was created.
pub const OLD: u64 = 5;

/// The rows of a sample that has grown.
pub const NEW: u64 = 9;

/// The value that is read where nothing was written.
const FILL: i32 = -1;

const PATHS: [&str; 3] = ["/a", "/b", "/g/c"];

/// A dataset with three variables along the dimension `t`: `/a` (two-dimensional), `/b` and `/g/c`. `/a` and `/b` grow
/// by writing, `/g/c` because it shares their dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// How its metadata are written.
    pub format: Format,
    /// Whether two by two chunks of `/a` and two of the others share an object.
    pub is_sharded: bool,
    /// Whether it has consolidated metadata.
    pub is_consolidated: bool,
    /// Distinguishes two samples of the same shape.
    pub seed: u64,
}

impl Sample {
    /// One for each way in which metadata and chunks are stored.
    pub const ALL: [Self; 4] = [Self::NCZARR, Self::ZARR2, Self::ZARR3, Self::SHARDED];

    /// NCZarr in version 2.
    pub const NCZARR: Self = Self::new(Format::NCZARR);

    /// Pure Zarr in version 2.
    pub const ZARR2: Self = Self::new(Format::Zarr2);

    /// Pure Zarr in version 3.
    pub const ZARR3: Self = Self::new(Format::Zarr3);

    /// Pure Zarr in version 3 with shards.
    pub const SHARDED: Self = Self { is_sharded: true, ..Self::ZARR3 };

    /// A sample with consolidated metadata.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format, is_sharded: false, is_consolidated: true, seed: 0 }
    }

    /// The same with other values.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Makes the sample in the store of a new dataset.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn create(self, store: Arc<dyn Store>) -> Result<(), DataError> {
        let session = session();
        let hierarchy = self.hierarchy();
        let mut dataset = Dataset::create(store, hierarchy, session, self.is_consolidated)?;
        for path in PATHS {
            self.write_rows(&mut dataset, path, 0..OLD)?;
        }
        dataset.finish()
    }

    /// The sample in memory.
    ///
    /// # Panics
    ///
    /// Never, or the sample makes no sense.
    #[must_use]
    pub fn in_memory(self) -> Arc<MemoryStore> {
        let store = Arc::new(MemoryStore::new("sample"));
        self.create(store.clone()).unwrap_or_else(|error| panic!("{}", explained(&error)));
        store
    }

    /// Makes a sample longer: from [`OLD`] rows to [`NEW`], which `/g/c` has no values for.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn grow(self, dataset: &mut Dataset) -> Result<(), DataError> {
        for path in ["/a", "/b"] {
            if !self.format.is_nczarr() {
                let shape: &[u64] = if path == "/a" { &[NEW, 3] } else { &[NEW] };
                dataset.resize(path, shape)?;
            }
            self.write_rows(dataset, path, OLD..NEW)?;
        }
        if !self.format.is_nczarr() {
            dataset.resize("/g/c", &[NEW])?;
        }
        dataset.flush()
    }

    /// Checks that a dataset is this sample, whole, with [`OLD`] rows.
    ///
    /// # Errors
    ///
    /// Those of the dataset.
    ///
    /// # Panics
    ///
    /// If there are other variables, lengths or values.
    pub fn check(self, dataset: &Dataset) -> Result<(), DataError> {
        self.check_variables(dataset);
        for path in PATHS {
            let (len, written) = self.rows_of(dataset, path)?;
            assert_eq!((len, written), (OLD, OLD), "{path}");
        }
        Ok(())
    }

    /// Checks that a dataset is this sample after growth.
    ///
    /// # Errors
    ///
    /// Those of the dataset.
    ///
    /// # Panics
    ///
    /// If there are other variables, lengths or values.
    pub fn check_grown(self, dataset: &Dataset) -> Result<(), DataError> {
        self.check_variables(dataset);
        for (path, filled) in [("/a", NEW), ("/b", NEW), ("/g/c", OLD)] {
            let (len, written) = self.rows_of(dataset, path)?;
            assert_eq!((len, written), (NEW, filled), "{path}");
        }
        Ok(())
    }

    /// Checks that a dataset is this sample, before or after growth or during it: old values are right, and so are
    /// new ones if the array has its new length. Returns the lengths of `/a`, `/b` and `/g/c`.
    ///
    /// # Errors
    ///
    /// Those of the dataset.
    ///
    /// # Panics
    ///
    /// If there are other variables, lengths or values.
    pub fn check_growing(self, dataset: &Dataset) -> Result<[u64; 3], DataError> {
        self.check_variables(dataset);
        let mut lens = [0; 3];
        for (path, len) in PATHS.into_iter().zip(&mut lens) {
            let (found, written) = self.rows_of(dataset, path)?;
            // an array that is still short is shown with fill, as long as its dimension
            let stored = dataset.hierarchy().variable(path)?.shape[0];
            let is_short = path == "/g/c" || stored == OLD;
            assert!([OLD, NEW].contains(&found) && [OLD, NEW].contains(&stored), "{path}: {found}, {stored}");
            assert_eq!(written, if is_short { OLD } else { NEW }, "{path}: {stored} of {found} rows");
            *len = found;
        }
        Ok(lens)
    }

    /// The values of rows of a variable, in the machine's byte order.
    #[must_use]
    pub fn rows(self, path: &str, range: Range<u64>) -> Vec<u8> {
        let columns = match path {
            "/a" => 0..3,
            "/b" => 3..4,
            _ => 4..5,
        };
        let value = |t: u64, column: u64| (self.seed * 100_000 + t * 5 + column) as i32;
        range.flat_map(|t| columns.clone().flat_map(move |column| value(t, column).to_ne_bytes())).collect()
    }

    fn hierarchy(self) -> Hierarchy {
        let session = session();
        let build = || -> Result<Hierarchy, Box<dyn std::error::Error>> {
            let mut hierarchy = Hierarchy::new(self.format);
            hierarchy.add_dimension("/", "t", OLD, self.format.is_nczarr())?;
            hierarchy.add_dimension("/", "x", 3, false)?;
            hierarchy.add_group("/", "g")?;
            for (group, name, dimensions, chunks) in [
                ("/", "a", vec!["t", "x"], vec![2_u64, 2]),
                ("/", "b", vec!["t"], vec![4]),
                ("/g", "c", vec!["t"], vec![2]),
            ] {
                let shards: Vec<u64> = chunks.iter().map(|len| 2 * len).collect();
                let fill = NewFill::Value(Value::from(FILL));
                let mut new =
                    VariableBuilder::new(name, NcType::Int).dimensions(dimensions).chunks(chunks).fill(fill);
                // What is read in parts of objects has no checksum of the service's.
                let mut codecs = r#"{"id":"zstd"}"#;
                if self.is_sharded {
                    new = new.sharding(Sharding::new(shards));
                    codecs = r#"[{"id":"zstd"},{"id":"crc32c"}]"#;
                }
                let variable = hierarchy.add_variable(group, new)?;
                session.define(variable, self.format, &ChainSpec::parse(codecs)?)?;
            }
            Ok(hierarchy)
        };
        build().unwrap_or_else(|error| panic!("{}", explained(&*error)))
    }

    fn write_rows(self, dataset: &mut Dataset, path: &str, range: Range<u64>) -> Result<(), DataError> {
        let count = range.end - range.start;
        let slab = match path {
            "/a" => Slab::new([range.start, 0], [count, 3]),
            _ => Slab::new([range.start], [count]),
        };
        dataset.write(path, &slab, Elements::Native, &self.rows(path, range))
    }

    fn check_variables(self, dataset: &Dataset) {
        let hierarchy = dataset.hierarchy();
        let lost: Vec<String> = hierarchy.unreadable().map(|lost| explained(&lost.error())).collect();
        assert!(lost.is_empty(), "{lost:?}");
        let mut paths: Vec<&str> = hierarchy.variables().map(|variable| variable.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, PATHS);
    }

    /// The length of a variable, and how many rows from the first on have their values. All others have fill, and are
    /// above [`OLD`].
    fn rows_of(self, dataset: &Dataset, path: &str) -> Result<(u64, u64), DataError> {
        let array = dataset.array(path)?;
        let len = array.shape()[0];
        assert!(len >= OLD, "{path}: {len} rows of {OLD}");
        let slab = Slab::whole(array.shape());
        let wanted = self.rows(path, 0..len);
        // What is not filled in shows.
        let mut found = vec![0x5a; wanted.len()];
        array.read_bytes(&slab, Elements::Native, &mut found)?;
        let row = wanted.len() / len as usize;
        let mut written = 0;
        for (t, (found, wanted)) in found.chunks_exact(row).zip(wanted.chunks_exact(row)).enumerate() {
            let t = t as u64;
            let is_fill = found.chunks_exact(4).all(|element| element == FILL.to_ne_bytes());
            assert!(
                found == wanted || t >= OLD && is_fill,
                "{path}, row {t}: expected {wanted:?}, got {found:?}"
            );
            if found == wanted && written == t {
                written = t + 1;
            }
        }
        Ok((len, written))
    }
}

/// Shape and values of each variable, by path.
pub type Contents = BTreeMap<String, (Vec<u64>, Vec<u8>)>;

/// What a dataset shows of each variable.
///
/// # Errors
///
/// Those of the dataset.
pub fn contents(dataset: &Dataset) -> Result<Contents, DataError> {
    let mut all = Contents::new();
    for variable in dataset.hierarchy().variables() {
        let array = dataset.array(&variable.path)?;
        let slab = Slab::whole(array.shape());
        let len = array.shape().iter().product::<u64>() as usize * array.dtype().size();
        let mut out = vec![0; len];
        array.read_bytes(&slab, Elements::Native, &mut out)?;
        all.insert(variable.path.clone(), (array.shape().to_vec(), out));
    }
    Ok(all)
}
