//! Metadata documents: from the keys of a store to a [`Hierarchy`](crate::Hierarchy), and back.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use ncz_nczarr::metadata::{ReadOptions, read, write};
//! use ncz_nczarr::{Format, Hierarchy, NcType, NewVariable};
//!
//! let mut dataset = Hierarchy::new(Format::NCZARR);
//! dataset.add_dimension("/", "x", 5, false)?;
//! dataset.add_variable("/", NewVariable::new("v", NcType::Int).dimensions(["x"]))?;
//!
//! let store: BTreeMap<String, Vec<u8>> = write(&dataset, false)?.into_iter().collect();
//! let back = read(&store, &ReadOptions::default())?;
//! assert_eq!(back.shape_of(back.variable("/v")?), [5]);
//! # Ok::<(), ncz_nczarr::NczarrError>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::error::SourceError;

mod ahead;
mod array;
mod consolidated;
mod dimensions;
mod loader;
mod read;
mod v3;
mod write;

pub use self::read::read;
pub use self::write::{consolidated_document, group_documents, variable_documents, write};

/// Where metadata documents come from. A store is plugged in here, which keeps this module free of I/O.
pub trait Documents {
    /// The content of a key such as `g1/.zattrs`; `None` if there is no such object.
    ///
    /// # Errors
    /// Whatever the store says.
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError>;

    /// The names right below a prefix (`""`, `g1/g2`): one segment each, in any order, objects and folders alike.
    ///
    /// # Errors
    /// Whatever the store says.
    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError>;

    /// Called for each group, with its prefix, before what is in it is asked for: the place to refuse a group that
    /// contains itself.
    ///
    /// # Errors
    /// Whatever the store says.
    fn enter(&self, prefix: &str) -> Result<(), SourceError> {
        let _ = prefix;
        Ok(())
    }

    /// The contents of many keys, each given to `each` with its place among `keys`, in any order. After a `Break` no
    /// more are read. This default reads one after the other; where a request costs a round trip, keep them waiting
    /// together.
    fn documents(&self, keys: &[&str], each: &mut EachDocument<'_>) {
        for (at, key) in keys.iter().enumerate() {
            let flow = match self.document(key) {
                Ok(found) => each(at, Ok(found.as_deref())),
                Err(error) => each(at, Err(error)),
            };
            if flow.is_break() {
                return;
            }
        }
    }

    /// What [`children`](Self::children) says of each prefix, in their order. This default asks one after the other.
    fn all_children(&self, prefixes: &[&str]) -> Vec<Result<Vec<String>, SourceError>> {
        prefixes.iter().map(|prefix| self.children(prefix)).collect()
    }
}

/// What [`Documents::documents`] calls for each document: its place among the keys, and its content.
pub type EachDocument<'a> =
    dyn FnMut(usize, Result<Option<&[u8]>, SourceError>) -> ControlFlow<()> + Send + 'a;

/// Documents in memory.
impl Documents for BTreeMap<String, Vec<u8>> {
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(self.get(key).cloned())
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        let inside = |key: &str| {
            let rest = if prefix.is_empty() { key } else { key.strip_prefix(prefix)?.strip_prefix('/')? };
            rest.split('/').next().map(str::to_owned)
        };
        let names: BTreeSet<String> = self.keys().filter_map(|key| inside(key)).collect();
        Ok(names.into_iter().collect())
    }
}

/// A version of the Zarr format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZarrVersion {
    /// `.zgroup`, `.zarray`, `.zattrs`.
    V2,
    /// `zarr.json`.
    V3,
}

/// What to do with consolidated metadata: `.zmetadata`, or `consolidated_metadata` in the root's `zarr.json`.
///
/// # What opening costs
///
/// Requests to the store, where none is for a length and none for an object that was read before. *Documents* are the
/// metadata objects of the dataset, *levels* the depth of its groups. A round trip is for as many requests as the store
/// keeps [in flight](ncz_store::Capabilities::in_flight); with more documents in a level there are more.
///
/// | dataset, opened with [`Prefer`](Self::Prefer) | GET | list | round trips |
/// | --- | --- | --- | --- |
/// | version 2, consolidated | 2: `zarr.json`, `.zmetadata` | 0 | 1 |
/// | version 3, consolidated | 2: the same | 0 | 1 |
/// | either, with [`ReadOptions::version`] | 1 | 0 | 1 |
/// | NCZarr, consolidated | 3: also the root's `.zattrs`, and those of groups with unlimited dimensions | 0 | 2 |
/// | NCZarr | documents + 2: `zarr.json`, `.zmetadata` | 0 | 2 + levels |
/// | draft of NCZarr version 3 | documents + 3: `.zmetadata`, `.zgroup`, `.zarray` | 0 | 2 + levels |
/// | version 2 | documents + 3 (also `.nczarr`), and 1 for each group in the root | one a group | 3, and 2 or 3 a level |
/// | version 3 | documents + 3 | one a group | 2, and 2 a level |
///
/// Where the store can be written to, [`Compare`](Self::Compare) and [`Ignore`](Self::Ignore) ask for a
/// [journal](crate::journal) first: one GET and one round trip more.
///
/// What is listed and has no documents costs up to four requests more. An array at the root is never listed.
///
/// # Stores that cannot list, or deny
///
/// What is neither consolidated nor named by NCZarr has to be listed: else [`NczarrError::NotListed`] says what to do.
///
/// Services answer "denied" also for objects that do not exist, to those who may not list. Documents that may well not
/// exist are then taken for missing, if others are found in their place: the other version's, `.zmetadata`, `.nczarr`.
/// All others are an error, [`NczarrError::Denied`]; nothing that belongs to the dataset is left out in silence. In two
/// cases it is a warning: the attributes of a version 2 array at the root, and the comparison of NCZarr's `.zmetadata`.
///
/// [`NczarrError::NotListed`]: crate::NczarrError::NotListed
/// [`NczarrError::Denied`]: crate::NczarrError::Denied
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConsolidatedPolicy {
    /// Read the documents, compare, and warn where consolidated metadata differ. For local stores, and for changing a
    /// dataset wherever it is.
    #[default]
    Compare,
    /// Read consolidated metadata alone; if there are none, the documents.
    Only,
    /// Read consolidated metadata where they can be used, else the documents, for reading from stores where each
    /// document costs a round trip. A dataset so opened cannot be changed if they were used.
    ///
    /// Consolidated metadata may be older than the dataset. For NCZarr that is looked at: netcdf-c appends without
    /// bringing them up to date. Compared are the root's document with its dimensions and its list of content, and
    /// those of other groups with unlimited dimensions; if one differs, a warning says so and the documents are read.
    /// Not seen is what changed elsewhere: attributes of a variable, a new variable in a group below the root. For pure
    /// Zarr nothing is compared, since no document tells of all changes: whoever changes such a dataset has to
    /// consolidate it again. [`Compare`](Self::Compare) sees it all.
    ///
    /// Whether there is a dataset of each version is looked at as far as these documents tell: beside a consolidated
    /// `zarr.json`, `.zgroup` and `.zarray` are not asked for.
    Prefer,
    /// Do not look at them.
    Ignore,
}

impl ConsolidatedPolicy {
    /// Whether documents are read, as one who changes the dataset does.
    pub(crate) fn reads_documents(self) -> bool {
        !self.uses_them()
    }

    /// Whether consolidated metadata are used where there are any.
    fn uses_them(self) -> bool {
        matches!(self, Self::Only | Self::Prefer)
    }
}

/// How to read the metadata of a dataset.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// What to do with consolidated metadata.
    pub consolidated: ConsolidatedPolicy,
    /// The version to read. `None`: the one that is there; where both are, that is
    /// [`NczarrError::Ambiguous`](crate::NczarrError::Ambiguous).
    pub version: Option<ZarrVersion>,
    /// Read NCZarr data as pure Zarr, as netcdf-c does under `mode=zarr`.
    pub pure: bool,
    /// Look at NCZarr's metadata in Zarr version 3. Experimental: they follow a draft in netcdf-c's documents that no
    /// release of netcdf-c reads or writes. Without it such data are pure Zarr.
    pub nczarr3: bool,
    /// The name of the one variable where the store holds an array at its root; `data` if `None`.
    pub root_array_name: Option<String>,
}
