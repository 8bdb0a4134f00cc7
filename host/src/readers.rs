//! Which program reads a dataset, and which codecs it lacks.

use ncz_model::Format;
use ncz_registry::chain::FilterChain;
pub use ncz_registry::known::{Reader, Unread};

/// The program that most people read datasets of this format with: netcdf-c for NCZarr and netCDF files, zarr-python
/// for Zarr.
///
/// The draft of NCZarr over Zarr version 3 counts as Zarr: no release of netcdf-c reads it.
///
/// ```
/// use ncz::model::Format;
/// use ncz::readers::usual;
///
/// assert_eq!(usual(Format::NCZARR).name(), "netcdf-c");
/// assert_eq!(usual(Format::Zarr3).name(), "zarr-python");
/// ```
#[must_use]
pub fn usual(format: Format) -> Reader {
    match format {
        Format::Nczarr(_) | Format::Netcdf(_) => Reader::NetcdfC,
        other => Reader::ZarrPython(other.dialect()),
    }
}

/// The first codec of a chain that the [usual] reader of a format does not read, and why.
#[must_use]
pub fn unread(chain: &FilterChain, format: Format) -> Option<(&str, Unread)> {
    let reader = usual(format);
    chain.each_lossy().find_map(|(codec, _)| Some((&*codec.name, reader.unread(codec)?)))
}
