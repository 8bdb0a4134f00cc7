//! Zarr version 3: one document, `zarr.json`, for each group and array (Zarr v3 core specification).
//!
//! Decisions where the specification leaves a choice, or writers differ from it:
//!
//! - An unknown key is an error, unless its value has `"must_understand": false`; then it is kept.
//! - `fill_value` must not be `null`; if it is, elements that were never written read as zeros, with a warning.
//! - Variables whose data type or codecs are not supported are listed as unreadable; the others open.
//! - In xarray the attribute `_FillValue` of floating-point variables is the Base64 of a little-endian double. It is
//!   read in that form and as a number, and written in that form, because xarray refuses a number.
//! - Consolidated metadata are those of zarr-python: in the root, as `consolidated_metadata` of kind `inline`.
//!
//! # The draft of NCZarr version 3
//!
//! netcdf-c's documents have a draft in a comment (`nczarr.md`, "Appendix E"), which no release follows. It is read if
//! [`ReadOptions::nczarr3`](super::ReadOptions::nczarr3) is set, and written for
//! [`Format::Nczarr3`](ncz_model::Format::Nczarr3). Decisions where it is silent or contradicts itself:
//!
//! - Attributes are in the `attributes` of `zarr.json`, which the draft sometimes calls `zarr.info`.
//! - The attribute with the types is `_nczarr_attrs`, as in the draft's example, without a line at its end.
//! - The types in it are Zarr's names (`int32`), `char`, `string` and `json`. `json` is for lists and objects that
//!   netCDF shows as text, and for NCZarr's own attributes.
//! - `dimension_names` has the names without their groups, as the core specification requires; `dimension_references`
//!   takes precedence.
//! - Scalars have the shape `[]` and no mark. `unlimited` is 0 or 1; truth values are read too.
//! - The absence of a fill value, which `fill_value` cannot express in version 3, is `"no_fill": 1` in `_nczarr_array`.
//! - Storage classes other than chunked are `"storage"` in `_nczarr_array`, as in version 2.
//! - The fill value of a string is the Base64 of its bytes, which tensorstore reads for types `r<bits>`. The list of
//!   the bytes, which the core specification requires and tensorstore refuses, is read too.
//! - `_NCProperties` is an attribute of the root, as in version 2.

mod array;
mod codecs;
mod consolidated;
mod data_type;
mod draft;
mod extension;
mod read;
mod write;

pub(super) use self::consolidated::{is_consolidated, same_meaning};
pub(super) use self::draft::named;
pub(super) use self::read::{is_group, read};
pub use self::write::codec_of_little_endian;
pub(super) use self::write::{consolidated_object, group_object, variable_object};

/// The member of a group with consolidated metadata.
const CONSOLIDATED: &str = "consolidated_metadata";
