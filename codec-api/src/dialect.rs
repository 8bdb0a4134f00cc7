//! The two JSON dialects in which codecs are configured.

use std::fmt;

/// The JSON dialect of a configuration. One name can have different schemas in different dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// numcodecs, as in Zarr v2 and NCZarr: `{"id": "zstd", "level": 3}`.
    Numcodecs,
    /// Zarr v3: `{"name": "zstd", "configuration": {"level": 3}}`.
    ZarrV3,
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numcodecs => "numcodecs",
            Self::ZarrV3 => "Zarr v3",
        })
    }
}
