//! The exports of a library in addition to its entry points.

use ncz_registry::symbols::names;

use super::image::Image;
use crate::outcome::Ending;
use crate::trial::Trial;

/// The number of names in a message.
const SHOWN: usize = 6;

/// Names of widely used libraries: a prefix, or with a blank at its end a whole name.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("libhdf5", &["H5"]),
    ("netcdf-c", &["nc_", "NC_", "ncaux_"]),
    ("zstd", &["ZSTD_", "ZDICT_", "HUF_", "FSE_"]),
    ("xxHash", &["XXH32", "XXH64", "XXH3_", "XXH128"]),
    ("LZ4", &["LZ4_", "LZ4F_", "LZ4HC_"]),
    (
        "zlib",
        &[
            "inflate",
            "deflate",
            "compress ",
            "compress2 ",
            "compressBound ",
            "uncompress ",
            "uncompress2 ",
            "crc32 ",
            "adler32 ",
            "zlibVersion ",
            "zcalloc ",
            "zcfree ",
            "gzopen ",
            "gzread ",
            "gzwrite ",
            "_tr_",
        ],
    ),
    ("libdeflate", &["libdeflate_"]),
    ("bzip2", &["BZ2_"]),
    ("xz", &["lzma_"]),
    ("c-blosc", &["blosc_", "blosclz_"]),
    ("c-blosc2", &["blosc1_", "blosc2_", "b2nd_"]),
    ("bitshuffle", &["bshuf_", "bitshuf_"]),
    ("snappy", &["snappy_"]),
    ("libaec", &["aec_"]),
    ("szip or SZ", &["SZ_"]),
    ("zfp", &["zfp_"]),
    ("libjpeg", &["jpeg_"]),
    ("OpenJPEG", &["opj_"]),
    ("lzf", &["lzf_"]),
];

/// Whether somebody calls the library by this name.
fn is_entry(name: &str) -> bool {
    names::ALL.contains(&name)
}

/// The filters whose records libhdf5 exports itself.
const OF_HDF5: [&str; 6] = ["DEFLATE", "SHUFFLE", "FLETCHER32", "SZIP", "NBIT", "SCALEOFFSET"];

/// Whether only builds of the same filter have such a name: the record, or the filter function.
fn is_of_the_filter(name: &str) -> bool {
    let is_record = name.strip_prefix("H5Z_").is_some_and(|filter| {
        filter.starts_with(|c: char| c.is_ascii_uppercase()) && !OF_HDF5.contains(&filter)
    });
    is_record || name.ends_with("_H5Filter") || ["blosc_filter", "blosc_set_local"].contains(&name)
}

/// The well-known library that has a function of this name.
fn owner(name: &str) -> Option<&'static str> {
    if is_of_the_filter(name) {
        return None;
    }
    let owns = |pattern: &&str| match pattern.strip_suffix(' ') {
        Some(whole) => name == whole,
        // `H5open`, `H5_checksum_crc`; not somebody's `H5` or `H52`.
        None if *pattern == "H5" => name
            .strip_prefix("H5")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')),
        None => name.starts_with(pattern),
    };
    LIBRARIES.iter().find(|(_, patterns)| patterns.iter().any(owns)).map(|(library, _)| *library)
}

/// Sorts the exports and reports the invalid ones.
pub(super) fn check(trial: &mut Trial, image: &Image) -> Result<(), Ending> {
    let others: Vec<&str> = image.exports.iter().map(String::as_str).filter(|name| !is_entry(name)).collect();
    trial.figure("exports", image.exports.len());
    trial.figure("beside entry points", others.len());
    let taken: Vec<(&str, &str)> = others.iter().filter_map(|name| Some((*name, owner(name)?))).collect();
    if !taken.is_empty() {
        return Err(Ending::failed(format!(
            "exports {} that other libraries have too: {}; if plugins share one scope, as in netcdf-c, these libraries \
             call the plugin's in place of their own, or the plugin calls theirs; {REMEDY}",
            count(taken.len(), "name"),
            by_owner(&taken),
        )));
    }
    if !image.unique.is_empty() {
        let names: Vec<&str> = image.unique.iter().map(String::as_str).collect();
        trial.warn(format!(
            "exports {} that the loader merges with those of other libraries even if they are loaded privately: {}; \
             {REMEDY}, or compile with -fno-gnu-unique",
            count(names.len(), "name"),
            some(&names)
        ));
    }
    if !others.is_empty() {
        trial.warn(format!(
            "exports {} in addition to its entry points: {}; {REMEDY}",
            count(others.len(), "name"),
            some(&others)
        ));
    }
    Ok(())
}

const REMEDY: &str =
    "export only the entry points (a version script, or -fvisibility=hidden and -Wl,--exclude-libs,ALL)";

/// The first two names of each library.
fn by_owner(taken: &[(&str, &str)]) -> String {
    let mut owners: Vec<&str> = taken.iter().map(|(_, owner)| *owner).collect();
    owners.sort_unstable();
    owners.dedup();
    let of = |owner: &str| {
        let names: Vec<&str> = taken.iter().filter(|(_, of)| *of == owner).map(|(name, _)| *name).collect();
        let more = if names.len() > 2 { " .." } else { "" };
        format!("{}{more} ({owner})", names.iter().take(2).copied().collect::<Vec<_>>().join(", "))
    };
    owners.into_iter().map(of).collect::<Vec<_>>().join(", ")
}

/// The first few names, and that there are more.
pub(super) fn some(names: &[&str]) -> String {
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} ..") } else { shown }
}

pub(super) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_are_known_and_entry_points_are_nobodys() {
        assert_eq!(owner("ZSTD_compress"), Some("zstd"));
        assert_eq!(owner("compress2"), Some("zlib"));
        assert_eq!(owner("compress_chunk"), None);
        assert_eq!(owner("H5Tget_size"), Some("libhdf5"));
        assert_eq!(owner("H5Z_SHUFFLE"), Some("libhdf5"));
        assert_eq!(owner("H5Z_ZSTD"), None);
        assert_eq!(owner("blosc_H5Filter"), None);
        assert_eq!(owner("blosc_compress"), Some("c-blosc"));
        assert_eq!(owner("H5"), None);
        assert!(names::ALL.iter().all(|name| is_entry(name)) && !is_entry("H5PLget_plugin_types"));
    }

    #[test]
    fn each_library_is_shown_with_two_names() {
        let taken = [("BZ2_a", "bzip2"), ("ZSTD_a", "zstd"), ("ZSTD_b", "zstd"), ("ZSTD_c", "zstd")];
        assert_eq!(by_owner(&taken), "BZ2_a (bzip2), ZSTD_a, ZSTD_b .. (zstd)");
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(some(&["a", "b"]), "a, b");
        assert!(some(&["a"; 9]).ends_with("a, a .."));
    }
}
