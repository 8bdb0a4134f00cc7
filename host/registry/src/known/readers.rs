//! The codecs that common programs for opening datasets can read.

use std::fmt;

use ncz_codec::{CodecInfo, Dialect};

use super::ZARR_PYTHON;
use crate::spec::{NUMCODECS_PREFIX, generic};

/// A program that reads datasets, as it is commonly installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// zarr-python with numcodecs: Zarr data whose metadata are in this dialect.
    ZarrPython(Dialect),
    /// netcdf-c with the filters that it has names for: NCZarr data.
    NetcdfC,
}

/// Why a reader does not read a codec. As text it is a clause: `zarr-python does not read it`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    reader: Reader,
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Metadata name it by its filter number.
    ByNumber,
    /// It comes with a Python package that zarr does not install.
    Package(&'static str),
    /// It has the name and takes the bytes for others.
    Misread,
    /// An HDF5 filter without a standard name in netCDF.
    Plugin,
    /// Earlier versions lack it.
    Since(&'static str),
    /// The reader has no such codec.
    Absent,
}

/// The names that Zarr v3 registers and zarr-python has.
const ZARR_PYTHON_V3: &[&str] = &["blosc", "crc32c", "gzip", "zstd"];

/// The names that it has since a version which is not everywhere yet.
const ZARR_PYTHON_SINCE: &[(&str, &str)] = &[("cast_value", "3.4"), ("scale_offset", "3.4")];

/// Codecs of numcodecs that need a package which neither zarr nor numcodecs installs.
const EXTRAS: &[(&str, &str)] = &[("pcodec", "pcodec"), ("zfpy", "zfpy")];

/// The codecs of netcdf-c: `nc_def_var_deflate` and its like.
const NETCDF_C: &[&str] = &["blosc", "bz2", "fletcher32", "shuffle", "szip", "zlib", "zstd"];

impl Reader {
    /// Why this reader does not read a codec; `None`: it does.
    #[must_use]
    pub fn unread(self, codec: &CodecInfo) -> Option<Unread> {
        let id = codec.numcodecs.first().unwrap_or_default();
        let why = match self {
            _ if id == generic::NAME => Some(Why::ByNumber),
            Self::NetcdfC if NETCDF_C.contains(&id) => None,
            Self::NetcdfC => Some(if codec.filter_id.is_some() { Why::Plugin } else { Why::Absent }),
            Self::ZarrPython(Dialect::Numcodecs) => of_numcodecs(id),
            Self::ZarrPython(Dialect::ZarrV3) => match codec.zarr_v3.first() {
                Some(name) => of_zarr_v3(name),
                // As written in metadata: numcodecs.zlib.
                None => of_zarr_v3(&format!("{NUMCODECS_PREFIX}{id}")),
            },
        };
        why.map(|why| Unread { reader: self, why })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ZarrPython(_) => "zarr-python",
            Self::NetcdfC => "netcdf-c",
        }
    }
}

fn of_numcodecs(id: &str) -> Option<Why> {
    match EXTRAS.iter().find(|(name, _)| *name == id) {
        Some((_, package)) => Some(Why::Package(package)),
        None if ZARR_PYTHON.contains(&id) => None,
        None if id == "imagecodecs_bitshuffle" => Some(Why::Misread),
        None if id.starts_with("imagecodecs_") => Some(Why::Package("imagecodecs")),
        None => Some(Why::Absent),
    }
}

fn of_zarr_v3(name: &str) -> Option<Why> {
    if ZARR_PYTHON_V3.contains(&name) {
        return None;
    }
    if let Some((_, version)) = ZARR_PYTHON_SINCE.iter().find(|(since, _)| *since == name) {
        return Some(Why::Since(version));
    }
    match name.strip_prefix(NUMCODECS_PREFIX) {
        // zarr-python has its own list of the codecs that it uses from numcodecs.
        Some(id) if ZARR_PYTHON.contains(&id) => of_numcodecs(id),
        _ => Some(Why::Absent),
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reader = self.reader.name();
        match self.why {
            Why::ByNumber => f.write_str("only ncz reads it"),
            Why::Package(package) => write!(f, "{reader} reads it only with the package {package}"),
            Why::Misread => write!(f, "{reader} with the package imagecodecs misreads it"),
            Why::Plugin => write!(f, "{reader} reads it only with a plugin"),
            Why::Since(version) => write!(f, "{reader} before {version} does not read it"),
            Why::Absent => write!(f, "{reader} does not read it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(reader: Reader, id: Option<u32>, numcodecs: &'static str, v3: &'static str) -> String {
        let names = |name: &'static str| Some(name).filter(|name| !name.is_empty()).into_iter().collect();
        let info = CodecInfo {
            filter_id: id,
            numcodecs: names(numcodecs),
            zarr_v3: names(v3),
            ..CodecInfo::new("x", "")
        };
        reader.unread(&info).map_or_else(|| "read".to_owned(), |unread| unread.to_string())
    }

    #[test]
    fn each_reader_has_its_own_codecs() {
        let (v2, v3) = (Reader::ZarrPython(Dialect::Numcodecs), Reader::ZarrPython(Dialect::ZarrV3));
        for (reader, id, numcodecs, name, wanted) in [
            (v2, Some(1), "zlib", "numcodecs.zlib", "read"),
            (v3, Some(1), "zlib", "numcodecs.zlib", "read"),
            (Reader::NetcdfC, Some(1), "zlib", "", "read"),
            (v2, Some(4), "szip", "", "zarr-python does not read it"),
            (v3, Some(4), "szip", "", "zarr-python does not read it"),
            (Reader::NetcdfC, Some(4), "szip", "", "read"),
            (v2, None, "lz4", "numcodecs.lz4", "read"),
            (Reader::NetcdfC, None, "lz4", "numcodecs.lz4", "netcdf-c does not read it"),
            (
                v2,
                Some(32_000),
                "imagecodecs_lzf",
                "",
                "zarr-python reads it only with the package imagecodecs",
            ),
            (v3, Some(32_000), "imagecodecs_lzf", "", "zarr-python does not read it"),
            (Reader::NetcdfC, Some(32_000), "imagecodecs_lzf", "", "netcdf-c reads it only with a plugin"),
            (v2, None, "bitround", "bitround", "read"),
            (v3, None, "bitround", "bitround", "zarr-python does not read it"),
            (v3, None, "pcodec", "numcodecs.pcodec", "zarr-python reads it only with the package pcodec"),
            (v3, None, "", "scale_offset", "zarr-python before 3.4 does not read it"),
            (v2, Some(32_008), generic::NAME, generic::NAME, "only ncz reads it"),
            (v3, Some(32_008), generic::NAME, generic::NAME, "only ncz reads it"),
            (Reader::NetcdfC, Some(32_008), generic::NAME, generic::NAME, "only ncz reads it"),
        ] {
            assert_eq!(said(reader, id, numcodecs, name), wanted, "{reader:?} {numcodecs} {name}");
        }
    }
}
