//! Loading real libraries: our plugins by both of their faces, and those of the Python packages.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ncz_codec::{AnyCoder, CodecError, CodecType, Container, Dialect, Dtype, Env, ErrorKind, Kind};
use ncz_registry::chain::{FilterChain, Stage};
use ncz_registry::load::{self, ForeignCodec, JsonTranslator, Library, LoadError, NczarrCodec};
use ncz_test_support::{ChunkCase, build_plugins, chunks, plugin, program, python, run, workspace_root};
use serde_json::json;

#[path = "load/bad.rs"]
mod bad; // plugins in C that break a rule

type Codecs = BTreeMap<u32, Arc<dyn CodecType>>;

fn libraries(folder: &Path) -> Vec<Arc<Library>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(".so"));
    paths.sort();
    paths
        .iter()
        .map(|path| load::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .collect()
}

/// The codecs by filter id, run by the HDF5 filters.
fn foreign(libraries: &[Arc<Library>]) -> Codecs {
    let halves = libraries.iter().filter_map(|library| library.hdf5()).map(Result::unwrap);
    halves.map(|half| (half.id(), Arc::new(ForeignCodec::new(Some(Arc::new(half)), None)) as _)).collect()
}

/// The codecs by filter id, run by the native face.
fn native(libraries: &[Arc<Library>]) -> Codecs {
    let codecs = libraries.iter().flat_map(|library| library.native().unwrap());
    codecs.filter_map(|codec| Some((codec.info().filter_id?, Arc::new(codec) as _))).collect()
}

fn decode(coder: &dyn AnyCoder, input: &[u8], guess: usize) -> Result<Vec<u8>, CodecError> {
    let mut output = vec![0; guess];
    let mut scratch = coder.scratch();
    let len = match coder.decode(&mut scratch, input, &mut output) {
        Err(error) if let ErrorKind::OutputFull { need: Some(need) } = *error.kind() => {
            output.resize(need as usize, 0);
            coder.decode(&mut scratch, input, &mut output)
        }
        other => other,
    }?;
    output.truncate(len);
    Ok(output)
}

/// Decodes a chunk by its pipeline, if `codecs` has all of it.
fn decode_case(case: &ChunkCase, codecs: &Codecs) -> Option<Result<Vec<u8>, CodecError>> {
    let runs = |index: usize| case.filter_mask & (1 << index) == 0;
    let filters = case.filters.iter().enumerate().filter(|(index, _)| runs(*index));
    let stages: Option<Vec<_>> =
        filters.map(|(_, filter)| Some((codecs.get(&filter.id)?, &filter.params))).collect();
    let stages = stages.filter(|stages| !stages.is_empty())?;
    Some(stages.into_iter().rev().try_fold(case.encoded.clone(), |bytes, (codec, params)| {
        decode(codec.coder(params)?.as_ref(), &bytes, 2 * case.raw.len() + 1000)
    }))
}

/// Decodes every stored chunk that `codecs` can; returns how many.
fn decode_all(codecs: &Codecs) -> usize {
    let mut done = 0;
    for case in chunks().unwrap() {
        let Some(decoded) = decode_case(&case, codecs) else { continue };
        let decoded = decoded.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert!(decoded == case.raw, "{}: other bytes", case.name);
        done += 1;
    }
    done
}

fn env() -> Env {
    Env {
        dtype: Dtype::little(Kind::Float, 4),
        array_shape: vec![100],
        chunk_shape: vec![100],
        container: Container::Hdf5,
    }
}

#[test]
fn our_plugins_have_three_faces_that_agree() {
    let libraries = libraries(&build_plugins().unwrap());
    let mut seen = 0;
    for library in &libraries {
        let Some(half) = library.hdf5() else { continue };
        let half = half.unwrap();
        let native = library.native().unwrap().remove(0);
        let info = native.info();
        let Some(codec) = library.codecs().pop() else {
            // netcdf-c cannot use a filter without a name.
            let nameless = ["bitroundh5", "bitshuffle", "blosc2", "nbit", "scaleoffset", "zfp"];
            assert!(nameless.contains(&&*info.name), "{}", info.name);
            continue;
        };
        let codec = codec.unwrap();
        assert_eq!((Some(half.id()), Some(codec.filter_id())), (info.filter_id, info.filter_id));
        assert_eq!((half.name(), codec.codec_id()), (info.name.as_ref(), info.numcodecs.first().unwrap()));
        assert_eq!(half.has_set_local(), info.has_working_params);
        assert_eq!(codec.has_modify_parameters(), info.has_working_params);
        assert!(library.default_codecs().is_empty());
        seen += 1;
    }
    assert!(seen >= 6, "{seen} plugins");
}

#[test]
fn our_plugins_export_their_entries_only_and_need_no_libhdf5_or_libnetcdf() {
    /// The symbol that netcdf-c looks for, which a filter without JSON does not have.
    const CODEC: &str = "NCZ_get_codec_info";
    const ENTRIES: [&str; 6] = [
        "H5PLget_plugin_info",
        "H5PLget_plugin_type",
        "H5Z_get_plugin_info",
        "H5Z_plugin_type",
        "_1as_0lib_1header_0root_bmodule_bloader",
        "ncz_codec_plugin",
    ];
    let (Ok(nm), Ok(readelf)) = (program("nm"), program("readelf")) else { return };
    let (mut native_only, mut for_netcdf) = (0, 0);
    let print = |program: &Path, arguments: &[&str], library: &Path| {
        let mut command = std::process::Command::new(program);
        let output = run(command.args(arguments).arg(library), std::time::Duration::from_secs(60)).unwrap();
        output.success("binutils").unwrap().stdout_text()
    };
    for entry in std::fs::read_dir(build_plugins().unwrap()).unwrap() {
        let library = entry.unwrap().path();
        let symbols = print(&nm, &["-D", "--defined-only", "--format=posix"], &library);
        let mut symbols: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
        symbols.sort_unstable();
        // C libraries cannot use a codec without an HDF5 id.
        let without_id = !library.file_name().unwrap().to_string_lossy().starts_with("libncz_h5");
        let entries = if without_id { &ENTRIES[4..] } else { &ENTRIES[..] };
        let all = symbols.len();
        symbols.retain(|symbol| without_id || *symbol != CODEC);
        for_netcdf += all - symbols.len();
        assert_eq!(symbols, entries, "{}", library.display());
        native_only += usize::from(without_id);
        let needed = print(&readelf, &["-d"], &library);
        assert!(needed.contains("libc.so"), "{needed}");
        assert!(!needed.contains("hdf5") && !needed.contains("netcdf"), "{needed}");
    }
    assert!(native_only >= 5, "{native_only} libraries for ncz only");
    assert_eq!(for_netcdf, 9, "libraries that netcdf-c can name");
}

#[test]
fn stored_chunks_decode_by_the_native_face_and_by_the_c_face() {
    let libraries = libraries(&build_plugins().unwrap());
    let (native, foreign) = (decode_all(&native(&libraries)), decode_all(&foreign(&libraries)));
    assert_eq!(native, foreign);
    assert!(native >= 70, "{native} chunks");
}

#[test]
fn what_one_face_encodes_the_other_decodes() {
    let library = load::open(&plugin("zstd").unwrap()).unwrap();
    let foreign =
        ForeignCodec::new(library.hdf5().map(|half| Arc::new(half.unwrap()) as _), None).coder(&[5]).unwrap();
    let native = library.native().unwrap()[0].coder(&[5]).unwrap();
    let input: Vec<u8> = (0..100_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    for (encoder, decoder) in [(&foreign, &native), (&native, &foreign)] {
        let mut stream = vec![0; encoder.max_encoded_len(input.len()).unwrap()];
        let len = encoder.encode(&mut encoder.scratch(), &input, &mut stream).unwrap();
        assert!(len < input.len() / 2);
        assert!(decode(decoder.as_ref(), &stream[..len], input.len()).unwrap() == input);
        let cut = decode(decoder.as_ref(), &stream[..len - 1], input.len()).unwrap_err();
        assert!(matches!(cut.kind(), ErrorKind::Truncated | ErrorKind::Plugin { code: 0 }), "{cut}");
    }
}

#[test]
fn a_library_is_opened_once_by_whatever_path() {
    let path = plugin("zstd").unwrap();
    let library = load::open(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("libother.so");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(Arc::ptr_eq(&library, &load::open(&link).unwrap()));
    // A copy is another file: it is another library with its own functions.
    let copy = folder.path().join("libcopy.so");
    std::fs::copy(&path, &copy).unwrap();
    let copy = load::open(&copy).unwrap();
    assert!(!Arc::ptr_eq(&library, &copy));
    assert!(library.native().unwrap()[0].info() == copy.native().unwrap()[0].info());
}

#[test]
fn files_that_are_not_libraries_are_refused_with_the_loaders_message() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("libtext.so");
    std::fs::write(&text, "no library").unwrap();
    let error = load::open(&text).unwrap_err();
    assert!(matches!(&error, LoadError::Refused(text) if text.contains("libtext.so")), "{error}");
    assert!(matches!(load::open(folder.path()).unwrap_err(), LoadError::NotAFile));
    assert!(matches!(load::open(&folder.path().join("none")).unwrap_err(), LoadError::Unreadable(_)));
}

#[test]
fn the_filters_of_hdf5plugin_decode_without_a_libhdf5() {
    let Ok(python) = python() else { return };
    let libraries = libraries(&python.plugin_dir("hdf5plugin").unwrap());
    let codecs = foreign(&libraries);
    for id in [307, 32_001, 32_004, 32_008, 32_013, 32_015, 32_026] {
        assert!(codecs.contains_key(&id), "filter {id}");
    }
    let done = decode_all(&codecs);
    assert!(done >= 90, "{done} chunks");
    // Parameters that only set_local can make are not made up.
    let blosc = codecs[&32_001].parse_params(&[0, 0, 0, 0, 5]).unwrap();
    let env = env();
    let coder = blosc.bind(&env.chunk(), &env).unwrap().coder;
    let error = coder.encode(&mut coder.scratch(), &[0; 400], &mut [0; 1000]).unwrap_err();
    assert!(error.to_string().contains("filter blosc runs with [2, 2, 4, 400, 5]"), "{error}");
}

#[test]
fn the_codec_halves_of_netcdf_read_and_write_json() {
    let Ok(python) = python() else { return };
    let folder = python.plugin_dir("netCDF4").unwrap();
    let halves: BTreeMap<String, NczarrCodec> = libraries(&folder)
        .iter()
        .flat_map(|library| library.default_codecs())
        .map(|half| half.unwrap())
        .map(|half| (half.codec_id().to_owned(), half))
        .collect();
    let names: Vec<_> = halves.keys().map(String::as_str).collect();
    assert_eq!(names, ["blosc", "bz2", "fletcher32", "shuffle", "szip", "zlib", "zstd"]);
    let params = |name: &str, config: serde_json::Value| halves[name].to_params(config.as_object().unwrap());
    assert_eq!(params("zstd", json!({"level": 5})).unwrap(), [5]);
    assert_eq!(
        params("blosc", json!({"clevel": 5, "blocksize": 0, "cname": "lz4", "shuffle": 1})).unwrap(),
        [0, 0, 0, 0, 5, 1, 1]
    );
    assert!(params("fletcher32", json!({})).unwrap().is_empty());
    assert_eq!(params("szip", json!({})).unwrap_err().kind(), &ErrorKind::Plugin { code: -132 });
    let written = serde_json::Value::Object(halves["zlib"].to_json(&[7]).unwrap());
    assert_eq!(written, json!({"level": 7}));
    let zlib = ForeignCodec::new(None, Some(Arc::new(halves["zlib"].clone())));
    let map = json!({"level": 3});
    let config = zlib.parse_json(Dialect::Numcodecs, map.as_object().unwrap(), &mut Vec::new()).unwrap();
    assert_eq!(serde_json::Value::Object(config.to_json(Dialect::Numcodecs).unwrap()), map);
}

#[test]
fn a_plugin_in_c_needs_only_the_header() {
    let Ok(compiler) = program("cc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libinvert.so");
    let api = workspace_root().join("codec-api");
    let mut command = std::process::Command::new(compiler);
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", "-I"]);
    command.arg(api.join("include")).arg(api.join("tests/c/invert.c")).arg("-o").arg(&library);
    run(&mut command, std::time::Duration::from_secs(60)).unwrap().success("cc").unwrap();

    let library = load::open(&library).unwrap();
    assert!(library.hdf5().is_none() && library.codecs().is_empty());
    let codec = library.native().unwrap().remove(0);
    assert_eq!((codec.info().name.as_ref(), codec.info().filter_id), ("invert", None));
    assert_eq!(library.version().unwrap().to_string(), "1.2.3");
    assert_eq!(library.interface().unwrap().to_string(), "1.1.0");
    let mut notes = Vec::new();
    let map = json!({"a": 1});
    let config = codec.parse_json(Dialect::Numcodecs, map.as_object().unwrap(), &mut notes).unwrap();
    assert_eq!(notes, ["all keys are ignored"]);
    assert_eq!(
        codec.parse_json(Dialect::ZarrV3, map.as_object().unwrap(), &mut notes).unwrap_err().detail(),
        "only numcodecs"
    );
    assert_eq!(codec.parse_params(&[1]).unwrap_err().kind(), &ErrorKind::Config { key: "params".to_owned() });
    let env = env();
    let coder = config.bind(&env.chunk(), &env).unwrap().coder;
    let mut output = [0; 3];
    assert_eq!(coder.encode(&mut coder.scratch(), &[0, 1, 255], &mut output).unwrap(), 3);
    assert_eq!(output, [255, 254, 0]);
    let full = coder.decode(&mut coder.scratch(), &[0; 4], &mut output).unwrap_err();
    assert_eq!(full.kind(), &ErrorKind::OutputFull { need: Some(4) });
}

#[test]
fn bytes_of_any_length_run_through_filters_of_c_but_none_at_all() {
    let codecs = foreign(&libraries(&build_plugins().unwrap()));
    let env = Env { container: Container::ZarrV2, ..env() };
    let bind = |id: u32, params: &[u32]| {
        let codec = &codecs[&id];
        let config = codec.parse_params(params).unwrap();
        let stage = Stage { info: codec.info().clone(), config, origin: "test".into(), notes: Vec::new() };
        FilterChain::bind_bytes(&[stage], &env, 1 << 20)
    };
    for (id, params) in [(1, &[6][..]), (307, &[9]), (32015, &[3]), (3, &[])] {
        let chain = bind(id, params).unwrap();
        let (mut scratch, mut out) = (chain.scratch(), Vec::new());
        for len in [1, 5000, 1 << 20, 3] {
            let bytes = vec![7; len];
            let stored = chain.encode_bytes(&mut scratch, &bytes).unwrap().to_vec();
            chain.decode_bytes(&mut scratch, &stored, len, &mut out).unwrap();
            assert!(out == bytes, "filter {id}, {len} bytes");
            let error = chain.decode_bytes(&mut scratch, &stored, len - 1, &mut out).unwrap_err();
            assert_eq!(*error.source.kind(), ErrorKind::OutputFull { need: Some(len as u64) });
        }
        // For C filters, 0 bytes is only a failure.
        assert_eq!(*chain.encode_bytes(&mut scratch, &[]).unwrap_err().source.kind(), ErrorKind::Truncated);
    }
    // Our filters query the library that called them, which is the stub library that this program makes for them.
    let chain = bind(32001, &[]).unwrap();
    // Bytes of any length have elements of one byte.
    assert_eq!(chain.working()[0].1[..3], [2, 2, 1]);
}
