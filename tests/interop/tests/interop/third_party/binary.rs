//! What a shared library of ours shows to the loader: its entry symbols and nothing else, no libhdf5 and no libnetcdf, and no newer
//! glibc than we promise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{Skip, build_plugins, program, workspace_root};

use super::{FILTERS, LIMIT};

/// The newest version of glibc that a plugin built on Debian 12 asks for; `plugins/README.md` states it.
const GLIBC: (u32, u32) = (2, 34);
/// The entries of a codec without an HDF5 id.
const NATIVE: [&str; 2] = ["_1as_0lib_1header_0root_bmodule_bloader", "ncz_codec_plugin"];
/// What the others have besides.
const FOREIGN: [&str; 4] =
    ["H5PLget_plugin_info", "H5PLget_plugin_type", "H5Z_get_plugin_info", "H5Z_plugin_type"];
/// What those have besides that netcdf-c can name in JSON.
const CODEC: &str = "NCZ_get_codec_info";
/// Filters for which no other program has JSON.
const NAMELESS: [&str; 6] = ["bitround", "bitshuffle", "blosc2", "nbit", "scaleoffset", "zfp"];
/// Hooks of libzstd that stay empty unless a program defines them.
const HOOKS: &str = "ZSTD_trace_";
/// What every Linux system with glibc has.
const LIBRARIES: [&str; 4] = ["ld-linux-x86-64.so.2", "libc.so.6", "libgcc_s.so.1", "libm.so.6"];

#[test]
fn nothing_but_the_entry_symbols_is_exported() {
    let libraries = libraries();
    assert!(libraries.len() >= FILTERS.len() + 5, "{libraries:?}");
    for library in libraries {
        let Ok(text) = printed("nm", &["-D", "--defined-only"], &library) else { return };
        let exported: BTreeSet<&str> =
            text.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
        let name = file_name(&library);
        // A codec without an HDF5 id has no "h5" in the name of its library.
        let is_filter = name.starts_with("libncz_h5");
        let mut expected = BTreeSet::from(NATIVE);
        if is_filter {
            expected.extend(FOREIGN);
            if !NAMELESS.iter().any(|nameless| name.contains(nameless)) {
                expected.insert(CODEC);
            }
        }
        assert_eq!(exported, expected, "{name}");
    }
}

#[test]
fn nothing_of_hdf5_or_netcdf_is_needed() {
    for library in libraries() {
        let Ok(text) = printed("objdump", &["-p"], &library) else { return };
        let needed: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("NEEDED"))
            .map(str::trim)
            .filter(|needed| !LIBRARIES.contains(needed))
            .collect();
        assert!(needed.is_empty(), "{} needs {needed:?}", file_name(&library));
        let text = printed("nm", &["-D", "--undefined-only"], &library).unwrap();
        let foreign: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next_back())
            .filter(|symbol| !symbol.starts_with(HOOKS))
            .filter(|symbol| {
                ["H5", "nc", "NC", "blosc", "ZSTD", "BZ2"].iter().any(|start| symbol.starts_with(start))
            })
            .collect();
        assert!(foreign.is_empty(), "{} wants {foreign:?}", file_name(&library));
    }
}

#[test]
fn no_newer_glibc_is_needed_than_the_readme_says() {
    for library in libraries() {
        let Ok(text) = printed("objdump", &["-T"], &library) else { return };
        let (version, symbol) = newest(&text).unwrap_or_else(|| panic!("no version in {text}"));
        assert!(
            version <= GLIBC,
            "{} needs glibc {}.{} for {symbol}, more than {}.{}: build on Debian 12 or older, or, if that cannot be \
             helped, change the number here and in plugins/README.md",
            file_name(&library),
            version.0,
            version.1,
            GLIBC.0,
            GLIBC.1,
        );
    }
    let readme = std::fs::read_to_string(workspace_root().join("plugins/README.md")).unwrap();
    let stated = format!("glibc {}.{}", GLIBC.0, GLIBC.1);
    assert!(readme.contains(&stated), "plugins/README.md does not say {stated}");
}

#[test]
fn versions_are_compared_as_numbers() {
    let table = "0 DF *UND* 0 (GLIBC_2.2.5) memcpy\n0 DF *UND* 0 (GLIBC_2.34) dlsym\n0 w D *UND* 0 GLIBC_2.9 pipe\n0 GCC_3.0 x";
    assert_eq!(newest(table), Some(((2, 34), "dlsym")));
    assert_eq!(newest("0 DF .text 0 Base main"), None);
}

/// The newest version of glibc in a table of symbols, with a symbol of it.
fn newest(table: &str) -> Option<((u32, u32), &str)> {
    let versions = table.lines().filter_map(|line| {
        let mut words = line.split_whitespace().rev();
        let symbol = words.next()?;
        let version = words.next()?.trim_matches(['(', ')']).strip_prefix("GLIBC_")?;
        let mut numbers = version.split('.').map_while(|number| number.parse().ok());
        Some(((numbers.next()?, numbers.next()?), symbol))
    });
    versions.max_by_key(|(version, _)| *version)
}

fn libraries() -> Vec<PathBuf> {
    let mut libraries: Vec<_> =
        std::fs::read_dir(build_plugins().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    libraries.sort();
    libraries
}

fn printed(tool: &str, args: &[&str], library: &Path) -> Result<String, Skip> {
    let mut command = Command::new(program(tool)?);
    let output = ncz_test_support::run(command.args(args).arg(library), LIMIT).unwrap();
    Ok(output.success(tool).unwrap().stdout_text())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
