//! The kinds of netCDF file, as the options of nccopy and ncgen name them.

use crate::args::FormatArg;

/// The kinds: the letter of the option, and the names for `-k`. The first name is that of `ncdump -k`.
const KINDS: [(FormatArg, char, &[&str]); 5] = [
    (FormatArg::Classic, '3', &["classic", "nc3", "1"]),
    (FormatArg::Offset64, '6', &["64-bit offset", "nc6", "2", "64-bit-offset"]),
    (
        FormatArg::Netcdf4,
        '4',
        &["netCDF-4", "nc4", "3", "netCDF4", "hdf5", "enhanced", "netcdf-4", "netcdf4"],
    ),
    (
        FormatArg::Netcdf4Classic,
        '7',
        &[
            "netCDF-4 classic model",
            "nc7",
            "4",
            "netCDF-4-classic",
            "netCDF-4_classic",
            "netCDF4_classic",
            "hdf5-nc3",
            "enhanced-nc3",
        ],
    ),
    (FormatArg::Cdf5, '5', &["cdf5", "5", "64-bit-data", "64-bit data", "nc5", "cdf-5"]),
];

/// The kind with this name for `-k`.
pub(super) fn by_name(name: &str) -> Option<FormatArg> {
    KINDS.iter().find(|(.., names)| names.contains(&name)).map(|(kind, ..)| *kind)
}

/// The kind with this option.
pub(super) fn by_letter(letter: char) -> Option<FormatArg> {
    KINDS.iter().find(|(_, other, _)| *other == letter).map(|(kind, ..)| *kind)
}

/// The format for a target: as requested, but NCZarr has the data model of netCDF-4, so that kind is that of a Zarr
/// target too.
pub(super) fn of_target(kind: Option<FormatArg>, is_zarr: bool) -> Option<FormatArg> {
    let is_model = |kind: &FormatArg| matches!(kind, FormatArg::Netcdf4 | FormatArg::Netcdf4Classic);
    kind.filter(|kind| !(is_zarr && is_model(kind)))
}
