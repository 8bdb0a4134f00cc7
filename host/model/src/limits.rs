//! Limits on what metadata can demand of this process.

/// The deepest nesting of JSON arrays and objects.
pub const JSON_DEPTH: usize = 64;

/// Largest metadata document in bytes (16 MiB).
pub const DOCUMENT_BYTES: usize = 16 << 20;

/// Largest consolidated metadata in bytes (128 MiB): one document that holds those of all variables.
pub const CONSOLIDATED_BYTES: usize = 128 << 20;

/// Largest journal in bytes (1 GiB): it holds the documents that are being replaced, consolidated metadata among them.
pub const JOURNAL_BYTES: u64 = 1 << 30;

/// The most children that one group may list.
pub const CHILDREN: usize = 1_000_000;

/// The most arrays and groups of one dataset. Each directory may have [`CHILDREN`], and symbolic links can make one
/// directory the child of many.
pub const MEMBERS: usize = 4_000_000;

/// The deepest nesting of groups.
pub const GROUP_DEPTH: usize = 64;

/// Most dimensions of one array.
pub const RANK: usize = 64;

/// Largest decoded chunk in bytes (4 GiB).
pub const CHUNK_BYTES: u64 = 4 << 30;

/// Longest netCDF name in bytes.
pub const NAME_BYTES: usize = 256;

/// Largest size in bytes of one element (a fixed-length string, a structure).
pub const ELEMENT_BYTES: u64 = 1 << 30;
