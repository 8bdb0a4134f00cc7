//! Metadata documents: reads the documents of a store as a [`Hierarchy`](ncz_model::Hierarchy), and writes them.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use ncz_model::{Format, Hierarchy, NcType, VariableBuilder};
//! use ncz_zarr::metadata::{ReadOptions, read, write};
//!
//! let mut dataset = Hierarchy::new(Format::NCZARR);
//! dataset.add_dimension("/", "x", 5, false)?;
//! dataset.add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["x"]))?;
//!
//! let store: BTreeMap<String, Vec<u8>> = write(&dataset, false)?.into_iter().collect();
//! let back = read(&store, &ReadOptions::default())?;
//! assert_eq!(back.shape_of(back.variable("/v")?), [5]);
//! # Ok::<(), ncz_model::MetadataError>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use ncz_model::SourceError;

mod array;
mod consolidated;
mod dimensions;
pub mod document;
mod loader;
mod nczarr_object;
mod prefetch;
mod read;
mod v3;
mod write;

pub use self::read::read;
pub use self::v3::codec_of_little_endian;
pub use self::write::{consolidated_document, group_documents, variable_documents, write};

/// A source of metadata documents. Stores implement it, which keeps this module free of I/O.
pub trait Documents {
    /// Returns the content of a key such as `g1/.zattrs`; `None` if there is no such object.
    ///
    /// # Errors
    /// The error of the store.
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError>;

    /// Returns the names directly below a prefix (`""`, `g1/g2`), both objects and folders: one segment each, in any
    /// order.
    ///
    /// # Errors
    /// The error of the store.
    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError>;

    /// Called for each group, with its prefix, before its content is requested. An implementation can refuse a group
    /// that contains itself here.
    ///
    /// # Errors
    /// The error of the store.
    fn enter(&self, prefix: &str) -> Result<(), SourceError> {
        let _ = prefix;
        Ok(())
    }

    /// Reads the contents of many keys, and calls `each` with the position of the key among `keys` and its content, in
    /// any order. After a `Break` no more keys are read. The default reads one key after the other; remote stores
    /// should send the requests concurrently.
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

    /// Returns the result of [`children`](Self::children) for each prefix, in their order. The default makes one
    /// request after the other.
    fn all_children(&self, prefixes: &[&str]) -> Vec<Result<Vec<String>, SourceError>> {
        prefixes.iter().map(|prefix| self.children(prefix)).collect()
    }
}

/// The callback of [`Documents::documents`] for each document: its position among the keys, and its content.
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

/// The use of consolidated metadata: `.zmetadata`, or `consolidated_metadata` in the root's `zarr.json`.
///
/// # The cost of opening
///
/// The table counts requests to the store. No request is for a length, and no object is read twice. *Documents* are the
/// metadata objects of the dataset, *levels* the depth of its groups. One round trip covers as many requests as the
/// store keeps [in flight](ncz_store::Capabilities::in_flight); more documents in a level take more round trips.
///
/// | dataset, opened with [`Prefer`](Self::Prefer) | GET | list | round trips |
/// | --- | --- | --- | --- |
/// | version 2, consolidated | 2: `zarr.json`, `.zmetadata` | 0 | 1 |
/// | version 3, consolidated | 2: the same | 0 | 1 |
/// | either, with [`ReadOptions::version`] | 1 | 0 | 1 |
/// | NCZarr, consolidated | 3: also the root's `.zattrs`, and those of groups with unlimited dimensions | 0 | 2 |
/// | NCZarr | documents + 2: `zarr.json`, `.zmetadata` | 0 | 2 + levels |
/// | draft of NCZarr version 3 | documents + 3: `.zmetadata`, `.zgroup`, `.zarray` | 0 | 2 + levels |
/// | version 2 | documents + 3 (also `.nczarr`), and 1 per group in the root | one a group | 3, and 2 or 3 a level |
/// | version 3 | documents + 3 | one a group | 2, and 2 a level |
///
/// If the store is writable, [`Compare`](Self::Compare) and [`Ignore`](Self::Ignore) first request a
/// [journal](crate::journal): one more GET and one more round trip.
///
/// A listed folder without documents costs up to four more requests. An array at the root is never listed.
///
/// # Stores that cannot list, or deny
///
/// Objects that are neither consolidated nor named by NCZarr must be listed; if the store cannot list, the error is
/// [`MetadataError::NotListed`], with the remedies.
///
/// If listing is not allowed, services also answer "denied" for objects that do not exist. Optional documents (those of
/// the other version, `.zmetadata`, `.nczarr`) then count as missing, if others are found instead. For all other
/// documents the error is [`MetadataError::Denied`]: no part of the dataset is left out silently. In two cases it is a
/// warning: the attributes of a version 2 array at the root, and the comparison of NCZarr's `.zmetadata`.
///
/// [`MetadataError::NotListed`]: ncz_model::MetadataError::NotListed
/// [`MetadataError::Denied`]: ncz_model::MetadataError::Denied
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConsolidatedPolicy {
    /// Read the documents, compare, and warn if consolidated metadata differ. For local stores, and for changing a
    /// dataset on any store.
    #[default]
    Compare,
    /// Read only consolidated metadata; if there are none, the documents.
    Only,
    /// Read consolidated metadata if they can be used, else the documents. For reading from stores where each document
    /// costs a round trip. If consolidated metadata were used, the dataset cannot be changed.
    ///
    /// Consolidated metadata may be older than the dataset. For NCZarr this is checked, because netcdf-c appends
    /// without updating them. The check compares the root's document with its dimensions and its list of content, and
    /// the documents of other groups with unlimited dimensions; if one differs, there is a warning and the documents
    /// are read. Other changes are not noticed: attributes of a variable, a new variable in a group below the root. For
    /// pure Zarr nothing is compared, because no document shows all changes: a program that changes such a dataset must
    /// consolidate it again. [`Compare`](Self::Compare) notices all changes.
    ///
    /// A second dataset of the other version is noticed only as far as these documents show it: with a consolidated
    /// `zarr.json`, `.zgroup` and `.zarray` are not requested.
    Prefer,
    /// Do not read consolidated metadata.
    Ignore,
}

impl ConsolidatedPolicy {
    /// Whether the documents are read, which is required for changing the dataset.
    pub(crate) fn reads_documents(self) -> bool {
        !self.uses_them()
    }

    /// Whether consolidated metadata are used if they exist.
    fn uses_them(self) -> bool {
        matches!(self, Self::Only | Self::Prefer)
    }
}

/// The options of reading the metadata of a dataset.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The use of consolidated metadata.
    pub consolidated: ConsolidatedPolicy,
    /// The version to read. With `None`, the existing version is read; if both exist, the error is
    /// [`MetadataError::Ambiguous`](ncz_model::MetadataError::Ambiguous).
    pub version: Option<ZarrVersion>,
    /// Reads NCZarr data as pure Zarr, as netcdf-c does under `mode=zarr`.
    pub pure: bool,
    /// Reads NCZarr's metadata in Zarr version 3. Experimental: they follow a draft in netcdf-c's documents that no
    /// release of netcdf-c reads or writes. Without this option such data are pure Zarr.
    pub nczarr3: bool,
    /// The name of the variable if the store holds a single array at its root; `data` if `None`.
    pub root_array_name: Option<String>,
}
