//! The formats of datasets, and the kinds of netCDF files.

use ncz_codec::{Container, Dialect};

/// The metadata format of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Zarr version 2 without NCZarr's keys.
    Zarr2,
    /// NCZarr over Zarr version 2, in one of its generations.
    Nczarr(Generation),
    /// Zarr version 3 without NCZarr's attributes.
    Zarr3,
    /// NCZarr over Zarr version 3, by the draft in netcdf-c's documents. Experimental: no release of netcdf-c reads or
    /// writes it.
    Nczarr3,
    /// A netCDF or HDF5 file. Its filters are in the JSON of [`generic`](ncz_registry::spec::generic): by number.
    Netcdf(NetcdfKind),
}

impl Format {
    /// The format of new NCZarr datasets.
    pub const NCZARR: Self = Self::Nczarr(Generation::Attributes);

    /// Whether the metadata have NCZarr's keys.
    #[must_use]
    pub fn is_nczarr(self) -> bool {
        matches!(self, Self::Nczarr(_) | Self::Nczarr3)
    }

    /// Whether the dataset is a netCDF or HDF5 file.
    #[must_use]
    pub fn is_netcdf(self) -> bool {
        matches!(self, Self::Netcdf(_))
    }

    /// Whether the dataset has netCDF's dimensions and attributes, and not only what Zarr has: NCZarr and netCDF files.
    #[must_use]
    pub fn has_netcdf_model(self) -> bool {
        self.is_nczarr() || self.is_netcdf()
    }

    /// Whether a dataset can have user-defined types: netCDF-4 files, but not those of the classic model.
    #[must_use]
    pub fn has_user_types(self) -> bool {
        matches!(self, Self::Netcdf(NetcdfKind::Netcdf4))
    }

    /// Whether metadata in both formats are written in the same way; generations of NCZarr do not count.
    #[must_use]
    pub fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// Whether the metadata are those of Zarr version 3.
    #[must_use]
    pub fn is_v3(self) -> bool {
        matches!(self, Self::Zarr3 | Self::Nczarr3)
    }

    /// The dialect of codecs in the metadata.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        if self.is_v3() { Dialect::ZarrV3 } else { Dialect::Numcodecs }
    }

    /// What codecs need to know about where they run.
    #[must_use]
    pub fn container(self) -> Container {
        match self {
            Self::Zarr2 => Container::ZarrV2,
            Self::Nczarr(_) => Container::NczarrV2,
            Self::Zarr3 | Self::Nczarr3 => Container::ZarrV3,
            Self::Netcdf(_) => Container::Hdf5,
        }
    }

    /// The kind of netCDF file whose data model the dataset has; NCZarr and Zarr have that of netCDF-4.
    #[must_use]
    pub fn kind(self) -> NetcdfKind {
        match self {
            Self::Netcdf(kind) => kind,
            _ => NetcdfKind::Netcdf4,
        }
    }
}

/// The kinds of netCDF files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetcdfKind {
    /// CDF-1.
    Classic,
    /// CDF-2.
    Offset64,
    /// CDF-5.
    Cdf5,
    /// HDF5, with or without netCDF's attributes.
    Netcdf4,
    /// HDF5, with the classic data model (`_nc3_strict`).
    Netcdf4Classic,
}

impl NetcdfKind {
    /// The name that `ncdump -k` prints.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Offset64 => "64-bit offset",
            Self::Cdf5 => "cdf5",
            Self::Netcdf4 => "netCDF-4",
            Self::Netcdf4Classic => "netCDF-4 classic model",
        }
    }

    /// Whether the file is HDF5.
    #[must_use]
    pub fn is_hdf5(self) -> bool {
        matches!(self, Self::Netcdf4 | Self::Netcdf4Classic)
    }
}

/// The generations of NCZarr metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// netcdf-c 4.8.0: separate objects, `.nczarr .nczgroup .nczvar .nczattr`.
    Objects,
    /// netcdf-c 4.8.1 and 4.9.0: `_NCZARR_*` in `.zgroup` and `.zarray`.
    UpperCase,
    /// netcdf-c 4.9.1 and 4.9.2: `_nczarr_*` in `.zgroup` and `.zarray`.
    LowerCase,
    /// netcdf-c 4.9.3 and later: `_nczarr_*` in `.zattrs`. New datasets use this generation.
    Attributes,
}
