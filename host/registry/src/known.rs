//! What is known of filters and where they come from, for messages only: nothing here is loaded.

use std::path::{Path, PathBuf};

use crate::search_path::Platform;
use crate::spec::NUMCODECS_PREFIX;
use crate::symbols::{LibraryFinder, inspect};

/// A registered HDF5 filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    /// The id, as registered with The HDF Group.
    pub id: u32,
    /// What it is called.
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
    filter(32_000, "LZF", &["lzf"]),
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

/// A library outside the search path that would serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// The folder to add to the search path.
    pub folder: PathBuf,
    /// The library.
    pub file: PathBuf,
}

/// The facts about the machine that tell where plugins usually lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Folders below which Python keeps its packages (`<prefix>/lib/python3.x/site-packages`).
    pub python_prefixes: Vec<PathBuf>,
    /// The root of a conda environment.
    pub conda_prefix: Option<PathBuf>,
    /// Folders of the operating system's packages.
    pub system: Vec<PathBuf>,
}

/// The registered filter with this id.
pub fn by_id(id: u32) -> Option<&'static Filter> {
    FILTERS.iter().find(|filter| filter.id == id)
}

/// The registered filter that a codec name means, for the names that are common.
pub fn by_name(name: &str) -> Option<&'static Filter> {
    let plain = name.strip_prefix("imagecodecs_").or(name.strip_prefix(NUMCODECS_PREFIX)).unwrap_or(name);
    let known = match plain {
        "zlib" => "deflate",
        "bz2" => "bzip2",
        "zstd" => "Zstandard",
        "lz4h5" => "LZ4",
        "zfpy" => "ZFP",
        other => other,
    };
    // numcodecs' lz4 and HDF5's LZ4 are two formats: a plugin for one is no remedy for the other.
    if plain == "lz4" {
        return None;
    }
    FILTERS.iter().find(|filter| filter.name.eq_ignore_ascii_case(known))
}

/// Whether zarr-python knows the codec that Zarr v3 metadata call `name`, which begins with `numcodecs.`.
pub fn is_in_zarr_python(name: &str) -> bool {
    name.strip_prefix(NUMCODECS_PREFIX).is_some_and(|id| ZARR_PYTHON.contains(&id))
}

impl Filter {
    /// What a user can install to get it, as a fragment; `None` where nothing is known.
    pub fn packages(&self) -> Option<String> {
        let python = self.hdf5plugin.then(|| "the Python package hdf5plugin".to_owned());
        let debian = self.debian.map(|package| format!("the Debian package {package}"));
        match (python, debian) {
            (Some(python), Some(debian)) => Some(format!("{python} or {debian}")),
            (python, debian) => python.or(debian),
        }
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

impl Surroundings {
    /// What the environment of this process tells.
    pub fn capture() -> Self {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let conda = variable("CONDA_PREFIX");
        let local = variable("HOME").map(|home| home.join(".local"));
        let usual = ["/usr/local", "/usr"].map(PathBuf::from);
        let prefixes = variable("VIRTUAL_ENV").into_iter().chain(conda.clone()).chain(local).chain(usual);
        let triple = format!("/usr/lib/{}-linux-gnu/hdf5", std::env::consts::ARCH);
        let debian = ["serial/plugins", "openmpi/plugins", "mpich/plugins", "plugins"];
        let mut system: Vec<_> = debian.iter().map(|folder| Path::new(&triple).join(folder)).collect();
        system.extend(["/usr/lib64/hdf5/plugin", "/usr/local/hdf5/lib/plugin"].map(PathBuf::from));
        Self { python_prefixes: prefixes.collect(), conda_prefix: conda, system }
    }

    /// The folders that exist, in a fixed order.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders = self.system.clone();
        if let Some(conda) = &self.conda_prefix {
            folders.extend(["hdf5/lib/plugin", "lib/hdf5/plugin"].map(|folder| conda.join(folder)));
        }
        for packages in self.python_prefixes.iter().flat_map(|prefix| python_packages(prefix)) {
            folders.extend(["hdf5plugin/plugins", "netCDF4/plugins"].map(|folder| packages.join(folder)));
        }
        folders.retain(|folder| folder.is_dir());
        folders.dedup();
        folders
    }

    /// The libraries in the usual places that seem to hold `filter`, judged by their names and by what
    /// they export. None is opened by the loader.
    pub fn serving(&self, filter: &Filter) -> Vec<Elsewhere> {
        let mut finder = LibraryFinder::system();
        let mut found = Vec::new();
        for folder in self.folders() {
            let mut files: Vec<_> = std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            files.sort();
            for file in files {
                let Some(name) = file.file_name() else { continue };
                if Platform::current().matches(name)
                    && filter.may_be(&name.to_string_lossy())
                    && inspect(&file, &mut finder)
                        .is_ok_and(|symbols| symbols.exports.has_hdf5() || symbols.exports.has_native())
                {
                    found.push(Elsewhere { folder: folder.clone(), file });
                }
            }
        }
        found
    }
}

/// The package folders of the Pythons below a prefix.
fn python_packages(prefix: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["lib", "lib64"]
        .iter()
        .flat_map(|lib| std::fs::read_dir(prefix.join(lib)).into_iter().flatten().flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|entry| ["site-packages", "dist-packages"].map(|name| entry.path().join(name)))
        .filter(|folder| folder.is_dir())
        .collect();
    found.sort();
    found
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
        assert_eq!(by_name("imagecodecs_lz4h5").unwrap().id, 32_004);
        assert_eq!(by_name("zstd").unwrap().id, 32_015);
        assert_eq!(by_name("bz2").unwrap().id, 307);
        // Another format of the same name: its plugin would not help.
        assert!(by_name("lz4").is_none());
        assert!(by_id(40_000).is_none());
        assert!(by_id(5).unwrap().packages().is_none());
    }

    #[test]
    fn file_names_are_told_apart() {
        let blosc = by_id(32_001).unwrap();
        assert!(blosc.may_be("libH5Zblosc.so") && !blosc.may_be("libh5blosc2.so"));
        assert!(by_id(32_026).unwrap().may_be("libh5blosc2.so"));
        assert!(by_id(32_017).unwrap().may_be("libh5sz.so") && !by_id(32_017).unwrap().may_be("libh5sz3.so"));
        assert!(by_id(32_024).unwrap().may_be("libh5sz3.so"));
    }

    #[test]
    fn ids_are_sorted_and_unique() {
        assert!(FILTERS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }

    #[test]
    fn packages_are_found_below_a_prefix_and_judged_by_what_they_export() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("lib/python3.11/site-packages/hdf5plugin/plugins");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libh5lz4.so"), "no library").unwrap();
        let around =
            Surroundings { python_prefixes: vec![root.path().to_owned()], ..Surroundings::default() };
        assert_eq!(around.folders(), [folder]);
        assert_eq!(around.serving(by_id(32_004).unwrap()), []);
    }
}
