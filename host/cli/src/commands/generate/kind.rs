//! The kind of netCDF file that a text needs.

use ncz::cdl::{Cdl, CdlVariable, Special};
use ncz::model::NcType;

use crate::args::FormatArg;

/// Returns the kind that ncgen chooses without an option: a classic file unless the text declares what only another kind
/// has. Integers that a classic file does not have need CDF-5; groups, user-defined types, strings, more than one
/// unlimited dimension and attributes for storage need netCDF-4.
pub(super) fn of_text(cdl: &Cdl) -> FormatArg {
    let of_groups = cdl.groups.iter().flat_map(|group| &group.attributes);
    let of_variables = cdl.variables.iter().flat_map(|variable| &variable.attributes);
    let attributes = of_groups.chain(of_variables).map(|(attribute, _)| attribute.value.nc_type());
    let types: Vec<NcType> =
        cdl.variables.iter().filter_map(CdlVariable::nc_type).chain(attributes).collect();
    let unlimited =
        cdl.groups.iter().flat_map(|group| &group.dimensions).filter(|dimension| dimension.unlimited).count();
    if cdl.groups.len() > 1
        || cdl.groups.iter().any(|group| !group.types.is_empty())
        || unlimited > 1
        || types.contains(&NcType::String)
        || cdl.variables.iter().any(has_storage)
    {
        FormatArg::Netcdf4
    } else if types.iter().any(|nc_type| !is_classic(*nc_type)) {
        FormatArg::Cdf5
    } else {
        FormatArg::Classic
    }
}

/// Whether a variable has attributes of netCDF-4 for its storage.
fn has_storage(variable: &CdlVariable) -> bool {
    let Special { storage, chunks, deflate, shuffle, fletcher32, filter, codecs, order, quantize, .. } =
        &variable.special;
    *shuffle
        || *fletcher32
        || storage.is_some()
        || chunks.is_some()
        || deflate.is_some()
        || filter.is_some()
        || codecs.is_some()
        || order.is_some()
        || quantize.is_some()
}

fn is_classic(nc_type: NcType) -> bool {
    matches!(
        nc_type,
        NcType::Byte | NcType::Char | NcType::Short | NcType::Int | NcType::Float | NcType::Double
    )
}
