//! Known filters and the packages that contain them, for messages only: nothing here is loaded.

mod readers;
mod usual_folders;

pub use readers::{CodecHome, Reader, ReaderSetup, ReaderSetupError, Unread, read_by};
pub use usual_folders::{InstallPrefixes, UnsearchedLibrary};

use crate::spec::NUMCODECS_PREFIX;

/// A registered HDF5 filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    /// The id, as registered with The HDF Group.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Pieces of the names of files that hold it, in small letters.
    files: &'static [&'static str],
    /// Whether the Python package hdf5plugin brings it.
    hdf5plugin: bool,
    /// The Debian package that brings it.
    debian: Option<&'static str>,
}

const fn filter(id: u32, name: &'static str, files: &'static [&'static str]) -> Filter {
    Filter { id, name, files, hdf5plugin: false, debian: None }
}

const fn packaged(
    id: u32,
    name: &'static str,
    files: &'static [&'static str],
    debian: Option<&'static str>,
) -> Filter {
    Filter { id, name, files, hdf5plugin: true, debian }
}

/// The HDF Group's list of registered filters, as of June 2026.
const FILTERS: &[Filter] = &[
    filter(1, "deflate", &["deflate"]),
    filter(2, "shuffle", &["shuffle"]),
    filter(3, "fletcher32", &["fletcher32"]),
    filter(4, "szip", &["szip"]),
    filter(5, "nbit", &[]),
    filter(6, "scaleoffset", &[]),
    filter(305, "LZO", &["lzo"]),
    packaged(307, "bzip2", &["bz2", "bzip2"], Some("hdf5-filter-plugin")),
    Filter { debian: Some("hdf5-plugin-lzf"), ..filter(32_000, "LZF", &["lzf"]) },
    packaged(32_001, "Blosc", &["blosc"], Some("hdf5-filter-plugin-blosc-serial")),
    filter(32_002, "MAFISC", &["mafisc"]),
    filter(32_003, "Snappy", &["snappy"]),
    packaged(32_004, "LZ4", &["lz4"], Some("hdf5-filter-plugin")),
    filter(32_006, "CBF", &["cbf"]),
    filter(32_007, "JPEG-XR", &["jpegxr"]),
    packaged(32_008, "bitshuffle", &["bshuf", "bitshuffle"], None),
    filter(32_009, "SPDP", &["spdp"]),
    filter(32_010, "LPC-Rice", &["lpcrice"]),
    filter(32_011, "CCSDS-123", &["ccsds"]),
    filter(32_012, "JPEG-LS", &["jpegls"]),
    packaged(32_013, "ZFP", &["zfp"], Some("hdf5-filter-plugin-zfp-serial")),
    filter(32_014, "fpzip", &["fpzip"]),
    packaged(32_015, "Zstandard", &["zstd"], None),
    filter(32_016, "B3D", &["b3d"]),
    packaged(32_017, "SZ", &["h5sz."], None),
    packaged(32_018, "FCIDECOMP", &["fcidecomp"], None),
    filter(32_019, "JPEG", &["jpeg"]),
    filter(32_020, "VBZ", &["vbz"]),
    filter(32_021, "FAPEC", &["fapec"]),
    filter(32_022, "BitGroom", &["bitgroom"]),
    filter(32_023, "Granular BitRound", &["granularbr"]),
    packaged(32_024, "SZ3", &["sz3"], None),
    filter(32_025, "Delta-Rice", &["deltarice"]),
    packaged(32_026, "Blosc2", &["blosc2"], None),
    filter(32_027, "FLAC", &["flac"]),
    packaged(32_028, "SPERR", &["sperr"], None),
    filter(32_029, "TERSE/PROLIX", &["trpx"]),
    filter(32_030, "FFMPEG", &["ffmpeg"]),
    filter(32_031, "JPEG2000", &["jpeg2000"]),
    filter(32_032, "BitRound", &["bitround"]),
    packaged(32_033, "High-throughput JPEG 2000", &["htj2k"], None),
];

/// Registered filters whose format loses nothing, of any library.
const LOSSLESS: &[u32] = &[
    1, 2, 3, 4, 5, 305, 307, 32_000, 32_001, 32_002, 32_003, 32_004, 32_008, 32_009, 32_010, 32_015, 32_020,
    32_025, 32_029,
];

/// Registered filters that are made to keep fewer digits, or do so with some parameters.
const LOSSY: &[u32] = &[
    6, 32_007, 32_013, 32_014, 32_016, 32_017, 32_019, 32_021, 32_022, 32_023, 32_024, 32_026, 32_028,
    32_030, 32_031, 32_032, 32_033,
];

/// Returns the package that contains a libhdf5 or libnetcdf of this name, as a fragment.
pub(crate) fn brings(library: &str) -> String {
    let (stem, version) = library.split_once(".so").unwrap_or((library, ""));
    let version = version.trim_start_matches('.');
    let of = |name: &str| {
        name.rsplit_once('-')
            .is_some_and(|(_, hash)| hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    if of(stem) {
        return format!(
            "{library} is part of the Python package that the plugin comes with: install that package again"
        );
    }
    // Debian names its packages after the number; the suffix marks rebuilds for other compilers.
    let debian = match (stem, version) {
        ("libhdf5_serial", version @ ("100" | "103")) => format!("the Debian package libhdf5-{version}-1"),
        ("libhdf5_serial", version) if !version.is_empty() => format!("the Debian package libhdf5-{version}"),
        ("libhdf5_openmpi" | "libhdf5_mpich", _) => {
            "the Debian package libhdf5-openmpi-dev or libhdf5-mpich-dev".to_owned()
        }
        ("libnetcdf", version) if !version.is_empty() => format!("the Debian package libnetcdf{version}"),
        _ => "the package hdf5 of conda or of the system".to_owned(),
    };
    format!("{debian} brings {library}")
}

/// The codecs that zarr-python has for Zarr v3 under the names `numcodecs.x` (`zarr.codecs.numcodecs` of 3.1).
const ZARR_PYTHON: &[&str] = &[
    "adler32",
    "astype",
    "bitround",
    "blosc",
    "bz2",
    "crc32",
    "crc32c",
    "delta",
    "fixedscaleoffset",
    "fletcher32",
    "gzip",
    "jenkins_lookup3",
    "lz4",
    "lzma",
    "packbits",
    "pcodec",
    "quantize",
    "shuffle",
    "zfpy",
    "zlib",
    "zstd",
];

/// Returns why ncz has no codec of this numcodecs id and the remedy, for those that no plugin package contains.
pub(crate) fn without_codec(name: &str) -> Option<&'static str> {
    Some(match name.strip_prefix(NUMCODECS_PREFIX).unwrap_or(name) {
        "pickle" => {
            "reading a pickle runs the program in it, so ncz never does; if you trust the source of the array, \
             read it with zarr-python and store it again as text (vlen-utf8) or as numbers"
        }
        "json" | "json2" | "msgpack" | "msgpack2" => {
            "its chunks hold objects of Python and not elements of one type; read the array with zarr-python and store it \
             again as text (vlen-utf8) or as numbers"
        }
        "categorize" => {
            "it stores text as numbers of a list of labels; read the array with zarr-python and store it again as text \
             (vlen-utf8)"
        }
        "base64" => "it only makes data longer; read the array with zarr-python and store it again without",
        "vlen-array" => {
            "rows of any length are not read here; read the array with zarr-python and store it again in rows of one length"
        }
        "vlen-utf8" | "vlen-bytes" => {
            "it is the layout of arrays of type |O (in Zarr v3 string and variable_length_bytes) and must be first there; ncz \
             adds it automatically for such a type"
        }
        _ => return None,
    })
}

/// Whether a codec of this name exists, here or not.
pub(crate) fn is_known(name: &str) -> bool {
    let plain = name.strip_prefix(NUMCODECS_PREFIX).unwrap_or(name);
    by_name(name).is_some()
        || twin(name).is_some()
        || without_codec(name).is_some()
        || ZARR_PYTHON.contains(&plain)
}

/// The name that a user may have meant, of those there are.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&lower, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))
        .map(|(_, known)| known)
}

/// The registered filter with this id.
pub fn by_id(id: u32) -> Option<&'static Filter> {
    FILTERS.iter().find(|filter| filter.id == id)
}

/// The registered filter that a codec name means, for the names that are common.
pub fn by_name(name: &str) -> Option<&'static Filter> {
    let plain = name.strip_prefix("imagecodecs_").or(name.strip_prefix(NUMCODECS_PREFIX)).unwrap_or(name);
    // A plugin for one format is not a remedy for the other.
    if plain_twin(name).is_some() {
        return None;
    }
    let known = match plain {
        "zlib" => "deflate",
        "bz2" => "bzip2",
        "zstd" => "Zstandard",
        "lz4h5" => "LZ4",
        "bshuf" => "bitshuffle",
        // Other programs have this format under the name of the standard.
        "jpegls" if plain != name => "FCIDECOMP",
        "htj2k" => "High-throughput JPEG 2000",
        other => other,
    };
    FILTERS.iter().find(|filter| filter.name.eq_ignore_ascii_case(known))
}

/// The HDF5 filter that shares its name with a codec of another format.
pub fn twin(name: &str) -> Option<&'static Filter> {
    by_id(plain_twin(name)?)
}

fn plain_twin(name: &str) -> Option<u32> {
    Some(match name.strip_prefix(NUMCODECS_PREFIX).unwrap_or(name) {
        "lz4" | "imagecodecs_lz4" => 32_004,
        "zfpy" | "imagecodecs_zfp" => 32_013,
        "imagecodecs_sz3" => 32_024,
        // This one does not preserve a fill value.
        "bitround" => 32_032,
        "imagecodecs_blosc2" => 32_026,
        "imagecodecs_sperr" => 32_028,
        _ => return None,
    })
}

/// Tests whether zarr-python knows the codec that Zarr v3 metadata call `name`, which begins with `numcodecs.`.
pub fn is_in_zarr_python(name: &str) -> bool {
    name.strip_prefix(NUMCODECS_PREFIX).is_some_and(|id| ZARR_PYTHON.contains(&id))
}

/// Returns whether a registered filter can change values, with some parameters; `None` if unknown.
pub fn is_lossy(id: u32) -> Option<bool> {
    match (LOSSY.contains(&id), LOSSLESS.contains(&id)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

impl Filter {
    /// Returns what a user can install to get it, as a fragment; `None` if nothing is known.
    pub fn packages(&self) -> Option<String> {
        let python = self.hdf5plugin.then(|| "the Python package hdf5plugin".to_owned());
        let debian = self.debian.map(|package| format!("the Debian package {package}"));
        let packages: Vec<String> = [python, debian].into_iter().flatten().collect();
        (!packages.is_empty()).then(|| packages.join(" or "))
    }

    /// Whether a file of this name may hold the filter.
    pub(crate) fn may_be(&self, file: &str) -> bool {
        let file = file.to_ascii_lowercase();
        // "blosc2" holds "blosc", and is another filter.
        let other = FILTERS.iter().any(|other| {
            let longer =
                |piece: &&str| self.files.iter().any(|own| piece.len() > own.len() && piece.contains(own));
            other.id != self.id && other.files.iter().any(|piece| longer(piece) && file.contains(piece))
        });
        !other && self.files.iter().any(|piece| file.contains(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_lead_to_packages() {
        let lz4 = by_id(32_004).unwrap();
        assert_eq!(
            lz4.packages().unwrap(),
            "the Python package hdf5plugin or the Debian package hdf5-filter-plugin"
        );
        let blosc2 = by_id(32_026).unwrap();
        assert_eq!(blosc2.packages().unwrap(), "the Python package hdf5plugin");
        assert_eq!(by_name("imagecodecs_lz4h5").unwrap().id, 32_004);
        assert_eq!(by_name("zstd").unwrap().id, 32_015);
        assert_eq!(by_name("bz2").unwrap().id, 307);
        // Another format of the same name: its plugin would not help.
        for name in ["lz4", "zfpy", "numcodecs.zfpy", "imagecodecs_sperr"] {
            assert!(by_name(name).is_none(), "{name}");
        }
        assert_eq!(twin("zfpy").unwrap().name, "ZFP");
        assert!(twin("zstd").is_none());
        assert_eq!(by_name("imagecodecs_jpegls").unwrap().id, 32_018);
        assert_eq!(by_name("sperr").unwrap().id, 32_028);
        assert!(by_id(40_000).is_none());
        assert!(by_id(5).unwrap().packages().is_none());
    }

    #[test]
    fn a_missing_libhdf5_leads_to_who_brings_it() {
        for (library, who) in [
            ("libhdf5_serial.so.103", "Debian package libhdf5-103-1"),
            ("libhdf5_serial.so.310", "Debian package libhdf5-310"),
            ("libhdf5-34cf00cd.so.320.2.0", "Python package that the plugin comes with"),
            ("libnetcdf.so.19", "Debian package libnetcdf19"),
            ("libhdf5.so.310", "conda"),
        ] {
            let said = brings(library);
            assert!(said.contains(who) && said.contains(library), "{said}");
        }
    }

    #[test]
    fn file_names_are_distinguished() {
        let blosc = by_id(32_001).unwrap();
        assert!(blosc.may_be("libH5Zblosc.so") && !blosc.may_be("libh5blosc2.so"));
        assert!(by_id(32_026).unwrap().may_be("libh5blosc2.so"));
        assert!(by_id(32_017).unwrap().may_be("libh5sz.so") && !by_id(32_017).unwrap().may_be("libh5sz3.so"));
        assert!(by_id(32_024).unwrap().may_be("libh5sz3.so"));
    }

    #[test]
    fn what_is_lossy_is_registered_and_on_one_list_only() {
        assert!(LOSSY.iter().chain(LOSSLESS).all(|id| by_id(*id).is_some()));
        assert!(LOSSY.iter().all(|id| !LOSSLESS.contains(id)));
        assert_eq!([32_013, 32_015, 40_000].map(is_lossy), [Some(true), Some(false), None]);
    }

    #[test]
    fn ids_are_sorted_and_unique() {
        assert!(FILTERS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
