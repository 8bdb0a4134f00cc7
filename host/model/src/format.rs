//! The formats of datasets.

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
}

impl Format {
    /// The format of new NCZarr datasets.
    pub const NCZARR: Self = Self::Nczarr(Generation::Attributes);

    /// Whether the metadata have NCZarr's keys.
    #[must_use]
    pub fn is_nczarr(self) -> bool {
        matches!(self, Self::Nczarr(_) | Self::Nczarr3)
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
        }
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
