//! Zarr version 3: one document, `zarr.json`, for each group and array (Zarr v3 core specification).
//!
//! What the specification leaves open, or writers do otherwise:
//!
//! - A key that is not known is an error, unless its value says `"must_understand": false`; then it is kept.
//! - `fill_value` may not be `null`; where it is, elements that were never written are zeros, and a warning says so.
//! - Variables whose data type or codecs are not read here are listed as unreadable; the others open.
//! - In xarray's reading the attribute `_FillValue` of floating-point variables is the Base64 of a little-endian
//!   double. It is read in that form and as a number, and written in that form, since xarray refuses the other.
//! - Consolidated metadata are zarr-python's: in the root, as `consolidated_metadata` of kind `inline`.
//!
//! # The draft of NCZarr version 3
//!
//! netcdf-c's documents have a draft in a comment (`nczarr.md`, "Appendix E"), which no release follows. It is read
//! where [`ReadOptions::nczarr3`](super::ReadOptions::nczarr3) is set, and written for
//! [`Format::Nczarr3`](crate::Format::Nczarr3). Where it is silent or contradicts itself, we have decided:
//!
//! - Attributes are in the `attributes` of `zarr.json`, which the draft calls `zarr.info` in places.
//! - The attribute with the types is `_nczarr_attrs`, as in the draft's example, without a line at its end.
//! - The types in it are Zarr's names (`int32`), `char`, `string` and `json`. `json` is for values that are lists or
//!   objects which netCDF shows as text, and for NCZarr's own attributes.
//! - `dimension_names` has the names without their groups, as the core specification wants; `dimension_references`
//!   decides.
//! - Scalars have the shape `[]` and no mark. `unlimited` is 0 or 1; truth values are read too.
//! - No fill value, which `fill_value` cannot say in version 3, is `"no_fill": 1` in `_nczarr_array`.
//! - Storage classes other than chunked are `"storage"` in `_nczarr_array`, as in version 2.
//! - The fill value of a string is the Base64 of its bytes, which tensorstore reads for types `r<bits>`. The list of the
//!   bytes, which the core specification wants and tensorstore refuses, is read too.
//! - `_NCProperties` is an attribute of the root, as in version 2.

mod array;
mod codecs;
mod consolidated;
mod draft;
mod read;
mod write;

pub(super) use self::consolidated::{is_consolidated, same_meaning};
pub(super) use self::draft::named;
pub(super) use self::read::{is_group, read};
pub(super) use self::write::{consolidated_object, group_object, variable_object};

/// The document of a group or array.
pub(super) const DOCUMENT: &str = "zarr.json";

/// The member of a group with consolidated metadata.
const CONSOLIDATED: &str = "consolidated_metadata";
