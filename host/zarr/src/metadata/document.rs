//! The names of metadata documents.

use ncz_model::limits;
use ncz_store::{Key, ReadRange, ReadRequest};

/// An array of Zarr 2.
pub const ZARRAY: &str = ".zarray";
/// A group of Zarr 2.
pub const ZGROUP: &str = ".zgroup";
/// The attributes of a group or array of Zarr 2.
pub const ZATTRS: &str = ".zattrs";
/// Consolidated metadata of Zarr 2: all documents of a dataset in one.
pub const ZMETADATA: &str = ".zmetadata";
/// A group or array of Zarr 3, with its attributes; in the root with consolidated metadata.
pub const ZARR_JSON: &str = "zarr.json";
/// The root of a dataset of netcdf-c 4.8.0.
pub const NCZARR: &str = ".nczarr";
/// A group of netcdf-c 4.8.0.
pub const NCZGROUP: &str = ".nczgroup";
/// A variable of netcdf-c 4.8.0.
pub const NCZVAR: &str = ".nczvar";
/// The types of attributes of netcdf-c 4.8.0.
pub const NCZATTR: &str = ".nczattr";

/// An array of a draft of NCZarr.
pub const NCZARRAY: &str = ".nczarray";
/// Variables of a draft of NCZarr.
pub const NCZVARS: &str = ".nczvars";
/// Attributes of a draft of NCZarr.
pub const NCZATTRS: &str = ".nczattrs";

/// The names in all versions of Zarr and generations of NCZarr.
pub const ALL: [&str; 12] = [
    ZARR_JSON, ZARRAY, ZATTRS, ZGROUP, ZMETADATA, NCZARR, NCZGROUP, NCZARRAY, NCZVAR, NCZVARS, NCZATTR,
    NCZATTRS,
];

/// The largest document of a key in bytes: the root's may be consolidated.
#[must_use]
pub fn max_bytes(key: &str) -> usize {
    match key {
        ZMETADATA | ZARR_JSON => limits::CONSOLIDATED_BYTES,
        _ => limits::DOCUMENT_BYTES,
    }
}

/// The request for a metadata document.
pub(crate) fn request(key: Key<'_>) -> ReadRequest<'_> {
    ReadRequest { key, range: ReadRange::All, max_len: max_bytes(key.as_str()) as u64 }
}
