//! Names that netCDF reserves or does not have.

/// The attribute of the root with the programs that made the file.
pub(crate) const PROPERTIES: &str = "_NCProperties";

/// The attribute of the root that marks the classic data model.
pub(crate) const STRICT: &str = "_nc3_strict";

/// The prefix of the name of a variable that has the name of a dimension but is not over it.
pub(crate) const NON_COORDINATE: &str = "_nc4_non_coord_";

/// The text in [`NAME`] of a dimension without variable; its length follows.
pub(crate) const NOT_A_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable.";

/// The class of a dimension scale.
pub(crate) const CLASS: &str = "CLASS";
/// The name of a dimension scale.
pub(crate) const NAME: &str = "NAME";
/// The dimension scales of a dataset.
pub(crate) const DIMENSION_LIST: &str = "DIMENSION_LIST";
/// The datasets that use a dimension scale.
pub(crate) const REFERENCE_LIST: &str = "REFERENCE_LIST";
/// The number of a dimension in the file.
pub(crate) const DIMENSION_ID: &str = "_Netcdf4Dimid";
/// The numbers of the dimensions of a variable.
pub(crate) const COORDINATES: &str = "_Netcdf4Coordinates";

/// What netCDF does not show as attributes (`NC_reserved` in netcdf-c).
const HIDDEN: [&str; 15] = [
    CLASS,
    NAME,
    DIMENSION_LIST,
    REFERENCE_LIST,
    DIMENSION_ID,
    COORDINATES,
    STRICT,
    PROPERTIES,
    "_ARRAY_DIMENSIONS",
    "_nczarr_attrs",
    "_Codecs",
    "_Format",
    "_IsNetcdf4",
    "_SuperblockVersion",
    "_nczarr_maxstrlen",
];

/// Whether netCDF hides an attribute.
pub(crate) fn is_hidden(name: &str) -> bool {
    HIDDEN.contains(&name) || name.starts_with("_nczarr_") || name.starts_with("_NCZARR_")
}

/// Why netCDF does not have this name for any object (netCDF User's Guide, "Permitted characters in netCDF names").
pub(crate) fn unusable(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.contains('\0') {
        return Some("it contains a NUL");
    }
    (name.len() > ncz_model::limits::NAME_BYTES).then_some("it is longer than 256 bytes")
}
