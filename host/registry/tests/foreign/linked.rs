//! Plugins that are linked against a libhdf5 or libnetcdf: they use that one if it exists, and this program in a folder
//! without it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz_codec::{Container, Env};
use ncz_registry::load::{self, FilterFunction, Hdf5Filter, Hdf5Provider, JsonTranslator, Variable};
use ncz_registry::registry::Registry;
use ncz_test_support::{program, python, run, workspace_root};
use serde_json::{Value, json};

use super::oracle::dtype;
use super::{HDF5PLUGIN, NETCDF4, child_folder, debian, in_a_child, in_a_child_with, package};

const FILTERS: [(u32, &str); 5] = [
    (2, "lib__nch5shuffle.so"),
    (4, "lib__nch5szip.so"),
    (307, "lib__nch5bzip2.so"),
    (32_001, "lib__nch5blosc.so"),
    (32_015, "lib__nch5zstd.so"),
];
const DEBIANS: [(u32, &str); 4] =
    [(307, "libh5bz2.so"), (32_001, "libH5Zblosc.so"), (32_004, "libh5lz4.so"), (32_013, "libh5zzfp.so")];

fn variable(text: &str, array: &[u64], chunk: &[u64]) -> Variable {
    let env = Env {
        dtype: dtype(text),
        array_shape: array.to_vec(),
        chunk_shape: chunk.to_vec(),
        container: Container::NczarrV2,
    };
    Variable::new(&env.chunk(), &env)
}

fn half(path: &Path) -> Hdf5Filter {
    load::open(path).unwrap().hdf5().unwrap().unwrap()
}

/// Returns what a libhdf5 records with the plugins of `folder`.
fn recorded(libhdf5: &Path, folder: &Path, filters: &[(u32, &str)]) -> String {
    let python = python().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/libhdf5_oracle.py");
    let mut args = vec![libhdf5.display().to_string()];
    args.extend(filters.iter().map(|(id, _)| id.to_string()));
    python.run(&script, &args, &[("HDF5_PLUGIN_PATH", folder.as_os_str())]).unwrap().stdout_text()
}

/// Compares the filters with the record; returns the number of cases.
fn compare(
    table: &str,
    folder: &Path,
    filters: &[(u32, &str)],
    bound: impl Fn(&Hdf5Provider) -> bool,
) -> usize {
    let halves: BTreeMap<u32, Hdf5Filter> =
        filters.iter().map(|&(id, name)| (id, half(&folder.join(name)))).collect();
    for half in halves.values() {
        let found = half.library().hdf5_provider();
        assert!(bound(found) || (half.id() == 307 && *found == Hdf5Provider::Nothing), "{half:?}: {found}");
    }
    let numbers = |text: &str, by: char| -> Vec<u64> {
        text.split(by).filter(|word| !word.is_empty()).map(|word| word.parse().unwrap()).collect()
    };
    let words = |text: &str| numbers(text, ',').into_iter().map(|word| word as u32).collect::<Vec<_>>();
    for line in table.lines() {
        let [id, dtype, shape, given, wanted] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let shape = numbers(shape, 'x');
        let found = halves[&id.parse().unwrap()].set_local(&words(given), &variable(dtype, &shape, &shape));
        match (wanted, found) {
            ("refused", Err(_)) => {}
            (wanted, Ok(found)) if wanted != "refused" => assert_eq!(found, words(wanted), "{line}"),
            // libhdf5 continues if `set_local` fails with 0.
            (wanted, Err(error)) if wanted == given && error.to_string().contains("no working") => {}
            (_, found) => panic!("{line}: {found:?}"),
        }
    }
    table.lines().count()
}

#[test]
fn plugins_of_netcdf4_ask_the_libhdf5_that_they_are_linked_to() {
    let Some(folder) = package(NETCDF4) else { return };
    let libhdf5 = beside(&folder, "libhdf5-");
    let table = recorded(&libhdf5, &folder, &FILTERS);
    let is_it = |bound: &Hdf5Provider| matches!(bound, Hdf5Provider::Hdf5(path) if path.canonicalize().unwrap() == libhdf5.canonicalize().unwrap());
    assert_eq!(compare(&table, &folder, &FILTERS, is_it), 756);
}

#[test]
fn plugins_of_debian_ask_the_libhdf5_that_they_are_linked_to() {
    let (Some(folder), Ok(_)) = (debian(), python()) else { return };
    let table = recorded(Path::new("libhdf5_serial.so.103"), &folder, &DEBIANS);
    let is_it = |bound: &Hdf5Provider| matches!(bound, Hdf5Provider::Hdf5(path) if path.ends_with("libhdf5_serial.so.103"));
    assert_eq!(compare(&table, &folder, &DEBIANS, is_it), 1080);
}

#[test]
fn plugins_of_netcdf4_do_the_same_without_a_libhdf5() {
    if let Some((folder, found)) = child_folder() {
        return plugins_in_a_process_of_their_own(&folder, found);
    }
    let Some(folder) = package(NETCDF4) else { return };
    let table = recorded(&beside(&folder, "libhdf5-"), &folder, &FILTERS);
    let alone = tempfile::tempdir().unwrap();
    lone_copies(&folder, alone.path());
    std::fs::write(alone.path().join("table.tsv"), table).unwrap();
    // The loader would take a libhdf5 that is open already.
    assert_eq!(in_a_child("linked::plugins_of_netcdf4_do_the_same_without_a_libhdf5", alone.path()), "756");
}

fn plugins_in_a_process_of_their_own(alone: &Path, found: impl Fn(&str)) {
    let table = std::fs::read_to_string(alone.join("table.tsv")).unwrap();
    let count = compare(&table, &alone.join("a/plugins"), &FILTERS, |bound| *bound == Hdf5Provider::Shim);
    found(&count.to_string());
}

#[test]
fn plugins_of_debian_do_the_same_without_a_libhdf5() {
    let (Some(folder), Ok(_)) = (debian(), python()) else { return };
    let table = recorded(Path::new("libhdf5_serial.so.103"), &folder, &DEBIANS);
    let alone = tempfile::tempdir().unwrap();
    for (_, name) in DEBIANS {
        // The libhdf5 of a distribution cannot be hidden, but a name that does not exist can be requested.
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let absent = replaced(&bytes, b"libhdf5_serial.so.103", b"libhdf5_absent.so.103");
        std::fs::write(alone.path().join(name), absent).unwrap();
    }
    assert_eq!(compare(&table, alone.path(), &DEBIANS, |bound| *bound == Hdf5Provider::Shim), 1080);
}

/// A program that is linked to a libhdf5 has it in its global scope, where plugins that define the same names find it:
/// with another one they would overwrite its variables.
#[test]
fn plugins_that_take_a_path_use_the_libhdf5_of_the_program_itself() {
    if let Some((folder, found)) = child_folder() {
        return with_a_global_libhdf5(&folder, found);
    }
    let (Some(folder), Some(_)) = (package(HDF5PLUGIN), debian()) else { return };
    let shared = tempfile::tempdir().unwrap();
    std::fs::write(shared.path().join("plugins.txt"), folder.display().to_string()).unwrap();
    let preload = [("LD_PRELOAD", "libhdf5_serial.so.103")];
    assert_eq!(
        in_a_child_with(
            "linked::plugins_that_take_a_path_use_the_libhdf5_of_the_program_itself",
            shared.path(),
            &preload
        ),
        "done"
    );
}

fn with_a_global_libhdf5(folder: &Path, found: impl Fn(&str)) {
    let plugins = PathBuf::from(std::fs::read_to_string(folder.join("plugins.txt")).unwrap());
    let field = variable("f4", &[64, 48], &[64, 48]);
    for (name, given, working) in [
        ("libh5blosc.so", &[0, 0, 0, 0, 9][..], &[2, 2, 4, 12_288, 9][..]),
        ("libh5bshuf.so", &[0, 3, 7], &[0, 4, 4, 0, 3, 7]),
        ("libh5zfp.so", &[2, 0, 16], &[269_504_785, 91_252_346, 4_026_532_598, 2_163_212_291]),
        ("libh5sz3.so", &[], &[2, 0, 48, 64]),
    ] {
        let half = half(&plugins.join(name));
        assert!(
            matches!(half.library().hdf5_provider(), Hdf5Provider::Hdf5(path) if path.ends_with("libhdf5_serial.so.103"))
        );
        let made = half.set_local(given, &field).unwrap();
        assert!(made.starts_with(working), "{name}: {made:?}");
        // Its errors are its own, and end nothing.
        let error = half.set_local(&[13, 2], &variable("f4", &[2, 2, 4, 12, 16], &[2, 2, 4, 12, 16]));
        assert!(error.is_err() || name.contains("blosc") || name.contains("sz3"), "{name}");
    }
    found("done");
}

/// Plugins that name no libhdf5 and leave its functions to the program bind to the one in its global scope.
#[test]
fn plugins_that_name_no_libhdf5_ask_the_one_that_the_program_opened_for_all() {
    if let Some((folder, found)) = child_folder() {
        return with_an_opened_libhdf5(&folder, found);
    }
    let (Some(_), Ok(compiler)) = (debian(), program("cc")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = workspace_root().join("host/registry/tests/foreign/asks.c");
    let mut command = std::process::Command::new(compiler);
    command
        .args(["-std=c99", "-shared", "-fPIC"])
        .arg(source)
        .arg("-o")
        .arg(folder.path().join("libasks.so"));
    run(&mut command, std::time::Duration::from_secs(60)).unwrap().success("cc").unwrap();
    assert_eq!(
        in_a_child(
            "linked::plugins_that_name_no_libhdf5_ask_the_one_that_the_program_opened_for_all",
            folder.path()
        ),
        "done"
    );
}

fn with_an_opened_libhdf5(folder: &Path, found: impl Fn(&str)) {
    let copy = folder.join("libcopy.so");
    std::fs::copy(folder.join("libasks.so"), &copy).unwrap();
    let field = variable(">f8", &[6, 7], &[6, 7]);
    // Size, byte order, rank, and which of the parameters that were given.
    let working = [8, 1, 2, 5];
    // No library has the functions: they are this program's.
    let alone = half(&copy);
    assert_eq!(*alone.library().hdf5_provider(), Hdf5Provider::Shim);
    assert_eq!(alone.set_local(&[5], &field).unwrap(), working);
    open_for_all("libhdf5_serial.so.103");
    let served = half(&folder.join("libasks.so"));
    let bound = served.library().hdf5_provider();
    assert!(
        matches!(bound, Hdf5Provider::Hdf5(path) if path.ends_with("libhdf5_serial.so.103")),
        "{bound:?}"
    );
    assert_eq!(served.set_local(&[5], &field).unwrap(), working);
    assert_eq!(alone.set_local(&[5], &field).unwrap(), working);
    found("done");
}

/// `dlopen` with `RTLD_GLOBAL`, as programs do that load their modules so.
#[expect(unsafe_code, reason = "opens a library for the whole process")]
fn open_for_all(name: &str) {
    let flags = libloading::os::unix::RTLD_NOW | libloading::os::unix::RTLD_GLOBAL;
    // SAFETY: a libhdf5, which is never closed.
    let library = unsafe { libloading::os::unix::Library::open(Some(name), flags) }.unwrap();
    std::mem::forget(library);
}

/// Visible and working words, as NCZarr in netcdf-c passes them to its filters.
fn check_codecs(folder: &Path, bound: impl Fn(&Hdf5Provider) -> bool) {
    let mut halves: BTreeMap<String, Arc<dyn JsonTranslator>> = BTreeMap::new();
    for name in ["lib__nczhdf5filters.so", "lib__nczstdfilters.so"] {
        let library = load::open(&folder.join(name)).unwrap();
        assert!(bound(library.hdf5_provider()), "{}", library.hdf5_provider());
        for half in library.default_codecs() {
            let half = half.unwrap();
            halves.insert(half.codec_id().to_owned(), Arc::new(half));
        }
    }
    let check = |id: &str,
                 config: Value,
                 dtype: &str,
                 [array, chunk]: [&[u64]; 2],
                 visible: &[u32],
                 working: &[u32]| {
        let half = &halves[id];
        let given = half.to_params(config.as_object().unwrap()).unwrap();
        let modified = half.modify_parameters(&given, &variable(dtype, array, chunk)).unwrap();
        assert_eq!((&modified.visible[..], &modified.working[..]), (visible, working), "{id} {dtype}");
    };
    let field: [&[u64]; 2] = [&[64, 48], &[64, 48]];
    let blosc = json!({"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0});
    let visible = halves["blosc"].to_params(blosc.as_object().unwrap()).unwrap();
    let words = |size: u32, bytes: u32| [2, 2, size, bytes, 5, 1, 1];
    check("blosc", blosc.clone(), "f4", field, &visible, &words(4, 12_288));
    check("blosc", blosc.clone(), ">f8", field, &visible, &words(8, 24_576));
    check("blosc", blosc, "u1", [&[100, 7], &[10, 7]], &visible, &words(1, 70));
    let shuffle = json!({"elementsize": 4});
    // It takes nothing of its JSON, and always finds the size itself.
    check("shuffle", shuffle.clone(), "f4", field, &[], &[4]);
    check("shuffle", shuffle, "i2", field, &[], &[2]);
    check("fletcher32", json!({}), "f4", field, &[], &[]);
    let szip = json!({"mask": 32, "pixels-per-block": 8});
    check("szip", szip.clone(), "f4", field, &[32, 8], &[169, 8, 32, 48]);
    let cube: [&[u64]; 2] = [&[100, 1000, 3], &[10, 100, 3]];
    check("szip", szip.clone(), ">f8", cube, &[32, 8], &[177, 8, 64, 1024]);
    // A chunk that is longer than the array, for which libnetcdf has no dimension.
    check("szip", szip.clone(), "f4", [&[10, 40], &[64, 48]], &[32, 8], &[169, 8, 32, 40]);
    check("szip", szip.clone(), "f4", [&[10, 40], &[10, 40]], &[32, 8], &[169, 8, 32, 40]);
    // Fewer pixels than a block.
    let half = &halves["szip"];
    half.modify_parameters(&[32, 8], &variable("i2", &[5], &[5])).unwrap_err();
    let error = half.modify_parameters(&[32, 8], &variable("f2", &[64], &[64])).unwrap_err();
    assert!(error.to_string().contains("2-byte Float"), "{error}");
}

#[test]
fn codec_halves_of_netcdf4_ask_their_libnetcdf() {
    let Some(folder) = package(NETCDF4) else { return };
    check_codecs(
        &folder,
        |bound| matches!(bound, Hdf5Provider::Netcdf(path) if path.to_string_lossy().contains("libnetcdf")),
    );
}

#[test]
fn nczarr_codecs_of_netcdf4_do_the_same_without_a_libnetcdf() {
    if let Some((folder, found)) = child_folder() {
        return codecs_in_a_process_of_their_own(&folder, found);
    }
    let Some(folder) = package(NETCDF4) else { return };
    let alone = tempfile::tempdir().unwrap();
    lone_copies(&folder, alone.path());
    assert_eq!(
        in_a_child("linked::nczarr_codecs_of_netcdf4_do_the_same_without_a_libnetcdf", alone.path()),
        "done"
    );
}

fn codecs_in_a_process_of_their_own(alone: &Path, found: impl Fn(&str)) {
    check_codecs(&alone.join("a/plugins"), |bound| *bound == Hdf5Provider::Shim);
    found("done");
}

#[test]
fn the_report_says_whom_a_library_asks() {
    let Some(folder) = package(NETCDF4) else { return };
    let registry = Registry::builder().plugin_path(vec![folder]).builtins(false).build();
    let bound = |name: &str| {
        let file = registry.report().files().find(|file| file.path.ends_with(name)).unwrap();
        file.dependencies.hdf5_provider.as_ref().unwrap().to_string()
    };
    assert!(bound("lib__nch5blosc.so").starts_with("the libhdf5 /"));
    assert!(bound("lib__nczstdfilters.so").starts_with("the libnetcdf /"));
}

/// The library of the netCDF4 package whose name begins so.
fn beside(folder: &Path, prefix: &str) -> PathBuf {
    let libraries = folder.join("../../netcdf4.libs");
    let mut entries = std::fs::read_dir(&libraries).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix)).unwrap()
}

/// The plugins and what they need in the layout of the package, without libhdf5 and libnetcdf.
fn lone_copies(folder: &Path, to: &Path) {
    let (plugins, libraries) = (to.join("a/plugins"), to.join("netcdf4.libs"));
    for (from, to) in [(folder.to_owned(), plugins), (folder.join("../../netcdf4.libs"), libraries)] {
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with("libhdf5") && !name.starts_with("libnetcdf") {
                std::fs::copy(entry.path(), to.join(name)).unwrap();
            }
        }
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|window| window == from) {
        at += found;
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}
