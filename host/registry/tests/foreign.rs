//! Third-party plugins: the verdict on each library, and an exact decoding of every stored chunk of
//! its filter.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ncz_codec::{Container, Dialect, Dtype, Env, Kind};
use ncz_registry::chain::{FilterChain, Stage};
use ncz_registry::registry::{CodecOrigin, Face, Registry};
use ncz_registry::report::{Report, Verdict};
use ncz_test_support::{ChunkCase, Skip, chunks, python, run};

#[path = "foreign/known_hazards.rs"]
mod known_hazards; // what filters are not called with, and threads
#[path = "foreign/linked.rs"]
mod linked; // plugins with a libhdf5 or libnetcdf, and without it
#[path = "foreign/oracle.rs"]
mod oracle; // working parameters and chunks against h5py

/// Names the folder of a test that runs in its own process.
const CHILD: &str = "NCZ_TEST_CHILD";
const HDF5PLUGIN: &str = "hdf5plugin";
const NETCDF4: &str = "netCDF4";
const DEBIAN_PACKAGES: &str =
    "hdf5-filter-plugin hdf5-filter-plugin-blosc-serial hdf5-filter-plugin-zfp-serial";

/// The folder of a Python package with plugins; `None` is a skip that was announced.
fn package(name: &str) -> Option<PathBuf> {
    python().ok().map(|python| python.plugin_dir(name).unwrap())
}

fn debian() -> Option<PathBuf> {
    let folder = PathBuf::from(format!("/usr/lib/{}-linux-gnu/hdf5/serial/plugins", std::env::consts::ARCH));
    let complete =
        ["libh5lz4.so", "libH5Zblosc.so", "libh5zzfp.so"].iter().all(|name| folder.join(name).is_file());
    if !complete {
        let remedy = format!("apt-get install {DEBIAN_PACKAGES}, or run tests/support/setup.sh");
        let _ = Skip::new("Debian's HDF5 plugins", format!("they are not in {}", folder.display()), remedy);
    }
    complete.then_some(folder)
}

fn registry(folders: &[&Path]) -> Registry {
    // No built-ins: this tests third-party code.
    let folders = folders.iter().map(|folder| folder.to_path_buf()).collect();
    Registry::builder().plugin_path(folders).builtins(false).build()
}

/// File name, verdict, and the ids and parts on offer.
fn verdicts(report: &Report) -> Vec<(String, Verdict, String)> {
    let row = |file: &ncz_registry::report::FileReport| {
        let name = file.path.file_name().unwrap().to_string_lossy().into_owned();
        let offers: Vec<_> = file
            .offers
            .iter()
            .map(|offer| format!("{} {}", offer.part, offer.id.map_or_else(String::new, |id| id.to_string())))
            .collect();
        let missing: Vec<_> = file.dependencies.missing().collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
        println!(
            "{name:26} {:10} {:28} {:4} undefined H5 symbols  {}",
            file.verdict,
            offers.join(", "),
            file.dependencies.undefined_h5.len(),
            file.reason
        );
        (name, file.verdict, offers.join(", "))
    };
    report.files().map(row).collect()
}

fn check(report: &Report, expected: &[(&str, Verdict, &str)]) {
    let found = verdicts(report);
    let found: Vec<_> =
        found.iter().map(|(name, verdict, offers)| (name.as_str(), *verdict, offers.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_library_of_hdf5plugin_gets_its_verdict() {
    let Some(folder) = package(HDF5PLUGIN) else { return };
    let registry = registry(&[&folder]);
    use Verdict::Incomplete;
    check(
        registry.report(),
        &[
            ("libh5blosc.so", Incomplete, "HDF5 32001"),
            ("libh5blosc2.so", Incomplete, "HDF5 32026"),
            ("libh5bshuf.so", Incomplete, "HDF5 32008"),
            ("libh5bzip2.so", Incomplete, "HDF5 307"),
            ("libh5fcidecomp.so", Incomplete, "HDF5 32018"),
            ("libh5htj2k.so", Incomplete, "HDF5 32033"),
            ("libh5lz4.so", Incomplete, "HDF5 32004"),
            ("libh5sperr.so", Incomplete, "HDF5 32028"),
            ("libh5sz.so", Incomplete, "HDF5 32017"),
            ("libh5sz3.so", Incomplete, "HDF5 32024"),
            ("libh5zfp.so", Incomplete, "HDF5 32013"),
            ("libh5zstd.so", Incomplete, "HDF5 32015"),
        ],
    );
    assert!(registry.report().files().all(|file| file.dependencies.undefined_h5.is_empty()));
}

#[test]
fn every_library_of_netcdf4_gets_its_verdict() {
    let Some(folder) = package(NETCDF4) else { return };
    let registry = registry(&[&folder]);
    use Verdict::{Ignored, Loaded};
    check(
        registry.report(),
        &[
            ("empty.txt", Ignored, ""),
            ("lib__nch5blosc.so", Loaded, "HDF5 32001"),
            ("lib__nch5bzip2.so", Loaded, "HDF5 307"),
            ("lib__nch5deflate.so", Loaded, "HDF5 1"),
            ("lib__nch5fletcher32.so", Loaded, "HDF5 3"),
            ("lib__nch5shuffle.so", Loaded, "HDF5 2"),
            ("lib__nch5szip.so", Loaded, "HDF5 4"),
            ("lib__nch5zstd.so", Loaded, "HDF5 32015"),
            (
                "lib__nczhdf5filters.so",
                Loaded,
                "NCZarr default 2, NCZarr default 3, NCZarr default 1, NCZarr default 4",
            ),
            (
                "lib__nczstdfilters.so",
                Loaded,
                "NCZarr 307, NCZarr default 307, NCZarr default 32015, NCZarr default 32001",
            ),
        ],
    );
    // The filter and the NCZarr codec come from two libraries, and the name finds them.
    let entry = registry.by_name(Dialect::Numcodecs, "bz2").unwrap();
    let CodecOrigin::Plugin { path, face, translator, .. } = entry.origin() else { panic!() };
    assert!(path.ends_with("lib__nch5bzip2.so") && *face == Face::Hdf5AndNczarr);
    assert!(translator.as_ref().unwrap().to_string().ends_with("lib__nczstdfilters.so"));
}

#[test]
fn every_library_of_debian_gets_its_verdict() {
    let Some(folder) = debian() else { return };
    let registry = registry(&[&folder]);
    use Verdict::{Ignored, Incomplete};
    check(
        registry.report(),
        &[
            ("libH5Zblosc.so", Incomplete, "HDF5 32001"),
            ("libblosc_filter.so", Ignored, ""),
            ("libh5bz2.so", Incomplete, "HDF5 307"),
            ("libh5lz4.so", Incomplete, "HDF5 32004"),
            ("libh5zzfp.so", Incomplete, "HDF5 32013"),
        ],
    );
}

#[test]
fn chunks_decode_through_hdf5plugin() {
    let (Some(first), Some(second)) = (package(HDF5PLUGIN), package(NETCDF4)) else { return };
    let decoded = decode_all(&[&first, &second], &first);
    let ids: Vec<u32> = decoded.keys().copied().collect();
    // fcidecomp, htj2k, sperr, sz and sz3 have no stored chunks.
    assert_eq!(ids, [307, 32_001, 32_004, 32_008, 32_013, 32_015, 32_026]);
}

#[test]
fn chunks_decode_through_netcdf4() {
    let Some(folder) = package(NETCDF4) else { return };
    let decoded = decode_all(&[&folder], &folder);
    let ids: Vec<u32> = decoded.keys().copied().collect();
    assert_eq!(ids, [1, 2, 3, 4, 307, 32_001, 32_015]);
}

#[test]
fn chunks_decode_through_debians_plugins() {
    let Some(folder) = debian() else { return };
    let decoded = decode_all(&[&folder], &folder);
    let ids: Vec<u32> = decoded.keys().copied().collect();
    assert_eq!(ids, [307, 32_001, 32_004, 32_013]);
}

#[test]
fn a_damaged_copy_of_a_chunk_fails_or_differs_so_the_foreign_code_did_run() {
    let Some(folder) = package(NETCDF4) else { return };
    let registry = registry(&[&folder]);
    let all = chunks().unwrap();
    let case =
        all.iter().find(|case| case.filters.len() == 1 && case.filters[0].id == 1 && case.filter_mask == 0);
    let mut case = case.unwrap().clone();
    let middle = case.encoded.len() / 2;
    case.encoded[middle] ^= 0x55;
    assert!(decode(&registry, &case).is_none_or(|found| found != case.raw));
}

#[test]
fn every_truncation_of_lz4_and_zstd_is_an_error_also_with_a_foreign_plugin() {
    let Some(folder) = package(HDF5PLUGIN) else { return };
    let registry = registry(&[&folder]);
    let mut ids = BTreeSet::new();
    for case in chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if ![32_004, 32_015].contains(&filter.id) || case.filter_mask != 0 {
            continue;
        }
        ids.insert(filter.id);
        let len = case.encoded.len();
        for cut in (0..len).step_by(1 + len / 150).chain([len - 1]) {
            let mut case = case.clone();
            case.encoded.truncate(cut);
            assert!(decode(&registry, &case).is_none(), "{}, the first {cut} of {len} bytes", case.name);
        }
        let mut longer = case.clone();
        longer.encoded.push(0);
        assert!(filter.id != 32_004 || decode(&registry, &longer).is_none(), "{}", case.name);
    }
    assert_eq!(ids.len(), 2);
}

#[test]
fn the_lz4_of_hdf5plugin_serves_zarr_under_the_name_that_imagecodecs_gave_it() {
    let Some(folder) = package(HDF5PLUGIN) else { return };
    let registry = Registry::builder().plugin_path(vec![folder]).build();
    let entry = registry.by_name(Dialect::Numcodecs, "imagecodecs_lz4h5").unwrap();
    let json = serde_json::json!({"level": null, "blocksize": 4096});
    let config =
        entry.codec().parse_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new()).unwrap();
    let env = Env {
        dtype: Dtype::little(Kind::Float, 4),
        array_shape: vec![5000],
        chunk_shape: vec![5000],
        container: Container::ZarrV2,
    };
    let origin = entry.origin().to_string();
    let stage = Stage { info: entry.info().clone(), config, origin, notes: Vec::new() };
    let chain = FilterChain::bind(&[stage], &env).unwrap();
    let chunk: Vec<u8> = (0..5000).flat_map(|i| (i as f32 / 7.0).floor().to_le_bytes()).collect();
    let mut scratch = chain.scratch();
    let stored = chain.encode(&mut scratch, &chunk).unwrap().to_vec();
    // The layout of HDF5: the length in 8 bytes, the block size in 4, both big-endian.
    assert_eq!(stored[..12], [0, 0, 0, 0, 0, 0, 0x4e, 0x20, 0, 0, 0x10, 0]);
    let mut back = vec![0; chunk.len()];
    chain.decode(0, &mut scratch, &stored, &mut back).unwrap();
    assert!(back == chunk);
    let written = chain.stored_json(Dialect::Numcodecs).unwrap();
    assert_eq!(written[0]["id"], "imagecodecs_lz4h5");
    assert_eq!(written[0]["blocksize"], 4096);
}

/// Runs the calling test again in its own process, which some filters end; returns its findings.
fn in_a_child(test: &str, folder: &Path) -> String {
    in_a_child_with(test, folder, &[])
}

/// [`in_a_child`] with variables in its environment.
fn in_a_child_with(test: &str, folder: &Path, environment: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test]).current_dir(folder).env(CHILD, folder);
    child.envs(environment.iter().copied());
    let output = run(&mut child, Duration::from_secs(120)).unwrap();
    // The exit status is not reliable: some filters end a program with success.
    std::fs::read_to_string(folder.join("found.txt")).unwrap_or_else(|_| {
        let at = std::fs::read_to_string(folder.join("at.txt")).unwrap_or_default();
        panic!("{test} ended early {at}: {output:?}")
    })
}

/// In the process that [`in_a_child`] starts, which runs the same test: the folder, and the file for its findings.
fn child_folder() -> Option<(PathBuf, impl Fn(&str))> {
    let folder = PathBuf::from(std::env::var_os(CHILD)?);
    let found = folder.join("found.txt");
    Some((folder, move |text: &str| std::fs::write(&found, text).unwrap()))
}

/// Decodes every chunk whose filters are all available, and counts them by the ids in `own`.
fn decode_all(path: &[&Path], own: &Path) -> BTreeMap<u32, usize> {
    let registry = registry(path);
    let mut decoded = BTreeMap::new();
    for case in chunks().unwrap() {
        let entries: Vec<_> = case.filters.iter().map(|filter| registry.by_id(filter.id)).collect();
        if entries.iter().any(Result::is_err) {
            continue;
        }
        let found = decode(&registry, &case).unwrap_or_else(|| panic!("{} does not decode", case.name));
        assert!(found == case.raw, "{} decodes to other bytes", case.name);
        for (bit, (filter, entry)) in case.filters.iter().zip(&entries).enumerate() {
            let CodecOrigin::Plugin { path, .. } = entry.as_ref().unwrap().origin() else { panic!() };
            if path.starts_with(own) && case.filter_mask & (1 << bit) == 0 {
                *decoded.entry(filter.id).or_default() += 1;
            }
        }
    }
    println!("{}: chunks decoded by id: {decoded:?}", own.display());
    decoded
}

/// The chunk as the registry's codecs decode it with the recorded parameters.
fn decode(registry: &Registry, case: &ChunkCase) -> Option<Vec<u8>> {
    let stages: Vec<Stage> = case
        .filters
        .iter()
        .map(|filter| {
            let entry = registry.by_id(filter.id).unwrap();
            Stage {
                info: entry.info().clone(),
                config: entry.codec().parse_params(&filter.params).unwrap(),
                origin: entry.origin().to_string(),
                notes: Vec::new(),
            }
        })
        .collect();
    let dtype = dtype(&case.dtype);
    let env = Env {
        dtype,
        array_shape: case.shape.clone(),
        chunk_shape: case.shape.clone(),
        container: Container::Hdf5,
    };
    let chain = FilterChain::bind(&stages, &env).unwrap();
    let mut chunk = vec![0; chain.chunk_len()];
    match chain.decode(case.filter_mask, &mut chain.scratch(), &case.encoded, &mut chunk) {
        Ok(()) => Some(chunk),
        Err(error) => {
            println!("{}: {error}: {:?}", case.name, error.source);
            None
        }
    }
}

/// A dtype in numpy's notation.
fn dtype(text: &str) -> Dtype {
    let size = text[2..].parse().unwrap();
    let kind = match &text[1..2] {
        "f" => Kind::Float,
        "i" => Kind::Int,
        "u" => Kind::UInt,
        other => panic!("dtype kind {other}"),
    };
    if text.starts_with('>') { Dtype::big(kind, size) } else { Dtype::little(kind, size) }
}
