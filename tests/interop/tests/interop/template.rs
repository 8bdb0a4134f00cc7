//! The plugin template, as a new author uses it: copied out of the tree by the commands of its README, built, tested
//! and put through the conformance runner there, then loaded by ncz, h5py and netcdf-c. Also what `NCZ_LOG` prints of
//! those.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ncz::codec::{Container, Dialect, ErrorKind};
use ncz::registry::{CodecOrigin, Face, TranslatorOrigin};
use ncz_test_support::{
    Python, build_binary, build_plugins, program, python, run, target_dir, workspace_root,
};
use serde_json::{Value, json};

use crate::harness::{bind, filters, mapped_from, plugins, run_json, script};

const RUST: Filter = Filter { id: 32801, name: "my-delta8" };
const C: Filter = Filter { id: 32802, name: "my-cdelta8" };
/// The packages of the template.
const PACKAGES: [&str; 4] = ["my-delta8", "my-delta8-plugin", "my-delta8-hdf5-only", "my-delta8-codec-only"];
const HDF5_NAMES: [&str; 2] = ["H5PLget_plugin_info", "H5PLget_plugin_type"];
const HDF5_DRAFT_NAMES: [&str; 2] = ["H5Z_get_plugin_info", "H5Z_plugin_type"];
const CODEC_NAME: &str = "NCZ_get_codec_info";
const NATIVE_NAME: &str = "ncz_codec_plugin";
const ROOT_MODULE: &str = "_1as_0lib_1header_0root_bmodule_bloader";
/// What cargo may take on a slow machine with nothing built yet.
const BUILDING: Duration = Duration::from_secs(900);
const RUNNING: Duration = Duration::from_secs(180);

/// Makes h5py fail twice.
const REFUSED: &str = r#"
import h5py
with h5py.File("v.h5", "w") as file:
    made = {"shape": (9,), "dtype": "i1", "chunks": (9,), "compression": 32802}
    try:
        file.create_dataset("v", **made, compression_opts=(999,))
        raise SystemExit("not refused")
    except ValueError:
        pass
    file.create_dataset("w", **made).id.write_direct_chunk((0,), bytes([9, 0, 0, 0, 0, 0, 0, 0, 1]))
    try:
        file["w"][...]
        raise SystemExit("not refused")
    except OSError:
        pass
"#;

/// A filter of the template: both are one format.
pub(crate) struct Filter {
    pub(crate) id: u32,
    pub(crate) name: &'static str,
}

#[test]
fn the_commands_of_the_readme_lead_from_a_copy_to_a_plugin_that_every_program_uses() {
    let copy = Copy::empty();
    let commands = copy.follow_readme();
    assert_eq!(commands.len(), 5, "{commands:?}");
    let library = copy.source().join("target/release/libmy_h5delta8.so");
    let both = [&HDF5_NAMES[..], &HDF5_DRAFT_NAMES, &[CODEC_NAME, NATIVE_NAME, ROOT_MODULE]].concat();
    exports(&library, &both);
    passes_everything(&library);

    let folder = alone(&library);
    ncz_runs_it(&RUST, folder.path(), "libmy_h5delta8.so");
    ncz_says_where_it_comes_from(folder.path(), "libmy_h5delta8.so");
    h5py_and_netcdf_use_it(&RUST, &["h5py", "netcdf"], folder.path());

    let Ok(python) = python() else { return };
    let readme = std::fs::read_to_string(copy.source().join("README.md")).unwrap();
    let plugins = copy.source().join("target/release");
    let mut command = python.command(&[("HDF5_PLUGIN_PATH", plugins.as_os_str())]);
    command.current_dir(copy.folder.path()).arg("-c").arg(block(&readme, "python"));
    run(&mut command, RUNNING).unwrap().success("the script of the README").unwrap();
}

#[test]
fn libraries_with_one_face_each_form_a_codec() {
    let copy = Copy::new();
    copy.cargo(&["build", "-p", "my-delta8-hdf5-only", "-p", "my-delta8-codec-only"]);
    let built = |name| copy.source().join("target/debug").join(name);
    let (filter, half) = (built("libmy_h5delta8_filter.so"), built("libmy_nczdelta8.so"));
    exports(&filter, &[HDF5_NAMES, HDF5_DRAFT_NAMES].concat());
    exports(&half, &[CODEC_NAME]);

    let folder = alone(&filter);
    h5py_and_netcdf_use_it(&RUST, &["h5py"], folder.path());
    assert!(plugins(&[folder.path()]).by_name(Dialect::Numcodecs, RUST.name).is_err());

    std::fs::copy(&half, folder.path().join("libmy_nczdelta8.so")).unwrap();
    let registry = plugins(&[folder.path()]);
    let expected = CodecOrigin::Plugin {
        path: folder.path().join("libmy_h5delta8_filter.so"),
        face: Face::Hdf5AndNczarr,
        translator: Some(TranslatorOrigin::Library(folder.path().join("libmy_nczdelta8.so"))),
        isolated: false,
    };
    assert_eq!(*registry.by_name(Dialect::Numcodecs, RUST.name).unwrap().origin(), expected);
    h5py_and_netcdf_use_it(&RUST, &["netcdf"], folder.path());
}

#[test]
fn the_example_in_c_needs_no_rust_and_writes_the_same_streams() {
    let Ok(compiler) = program("cc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = workspace_root().join("plugin-template/c");
    std::fs::copy(source.join("my_cdelta8.c"), folder.path().join("my_cdelta8.c")).unwrap();
    let readme = std::fs::read_to_string(source.join("README.md")).unwrap();
    let build = block(&readme, "sh").lines().next().unwrap();
    shell(build, folder.path(), RUNNING);
    compiles_strictly(&compiler, &folder.path().join("my_cdelta8.c"), &folder.path().join("strict.so"));

    let library = folder.path().join("libmy_cdelta8.so");
    exports(&library, &[&HDF5_NAMES[..], &[CODEC_NAME, NATIVE_NAME]].concat());
    passes_everything(&library);
    let folder = alone(&library);
    ncz_runs_it(&C, folder.path(), "libmy_cdelta8.so");
    reads_json(folder.path());
    h5py_and_netcdf_use_it(&C, &["h5py", "netcdf"], folder.path());
    the_chunk_gives_the_distance(folder.path());
    the_log_says_what_h5py_does_not(folder.path());
}

#[test]
fn the_macros_for_c_export_the_faces_that_they_name() {
    let Ok(compiler) = program("cc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let example = std::fs::read_to_string(workspace_root().join("plugin-template/c/my_cdelta8.c")).unwrap();
    for (form, names) in [
        ("NCZ_PLUGIN_HDF5(my_cdelta8);", &HDF5_NAMES[..]),
        ("NCZ_PLUGIN_NCZARR(my_cdelta8);", &[CODEC_NAME]),
        ("NCZ_PLUGIN_NATIVE(&my_cdelta8, &my_cdelta8);", &[NATIVE_NAME]),
    ] {
        let source = example.replace("NCZ_PLUGIN(my_cdelta8);", form);
        assert!(source.contains(form));
        let (file, library) = (folder.path().join("form.c"), folder.path().join("libform.so"));
        std::fs::write(&file, source).unwrap();
        compiles_strictly(&compiler, &file, &library);
        exports(&library, names);
    }
}

#[test]
fn a_trace_shows_the_calls_of_h5py_and_netcdf() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let given = "cd_values=[0, 0, 0, 0, 5, 1, 1]";
    let working = "cd_values=[2, 2, 4, 2000, 5, 1, 1] nbytes=";
    let both = [("encode", working), ("decode", working)];
    let hdf5 = [("H5PLget_plugin_info", "-> filter 32001"), ("set_local", given)];
    let netcdf = [
        ("NCZ_get_codec_info", "-> codec for filter 32001"),
        (
            "NCZ_modify_parameters",
            "visible=[0, 0, 0, 0, 5, 1, 1] chunk=<i4[10, 50] array=[20, 50] -> visible=",
        ),
        ("NCZ_hdf5_to_codec", "-> {\"id\": \"blosc\", "),
        ("NCZ_codec_to_hdf5", " {\"id\": \"blosc\", "),
    ];
    for (program, own) in [("h5py", &hdf5[..]), ("netcdf", &netcdf)] {
        let trace = trace(&python, program, &folder.path().join(program));
        for (call, detail) in own.iter().chain(&both) {
            let mut lines = trace.lines().filter(|line| line.starts_with(&format!("ncz: blosc: {call} ")));
            let line = lines.find(|line| line.contains(detail));
            let line = line.unwrap_or_else(|| panic!("no {call} with {detail}\n{trace}"));
            let caller = if program == "h5py" { "libhdf5" } else { "libnetcdf" };
            let (_, by) = line.rsplit_once(" us, called by /").unwrap();
            assert!(by.contains(caller), "{line}");
        }
        assert!(trace.lines().all(|line| line.starts_with("ncz: blosc: ")), "{trace}");
        assert!(!trace.contains("failed"), "{trace}");
    }
}

#[test]
fn the_template_locks_the_versions_of_the_workspace() {
    let ours = locked(&workspace_root().join("Cargo.lock"));
    let theirs = locked(&workspace_root().join("plugin-template/Cargo.lock"));
    let own: BTreeSet<_> = PACKAGES.map(|name| (name.to_owned(), "0.1.0".to_owned())).into();
    let others: BTreeSet<_> = theirs.difference(&ours).cloned().collect();
    // else building the template wants crates that building the workspace has not fetched
    assert_eq!(
        others, own,
        "remedy: cp Cargo.lock plugin-template/ && cd plugin-template && cargo check --offline"
    );
}

/// The library through every check of the runner, as thoroughly as `NCZ_CONFORM_LEVEL` says.
pub(crate) fn passes_everything(library: &Path) {
    let mut command = Command::new(build_binary("ncz-conform").unwrap());
    let level = std::env::var("NCZ_CONFORM_LEVEL").unwrap_or("6".to_owned());
    run(command.args(["--level", &level]).arg(library), BUILDING).unwrap().success("ncz-conform").unwrap();
}

/// A plugin in C becomes a library without a warning.
fn compiles_strictly(compiler: &Path, source: &Path, library: &Path) {
    let mut strict = Command::new(compiler);
    strict.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC"]);
    strict.args(["-fvisibility=hidden", "-I"]).arg(workspace_root().join("codec-api/include"));
    strict.arg("-o").arg(library).arg(source);
    run(&mut strict, RUNNING).unwrap().success("cc").unwrap();
}

/// The library exports these names and no others.
fn exports(library: &Path, expected: &[&str]) {
    let Ok(nm) = program("nm") else { return };
    let output = run(Command::new(nm).args(["-D", "--defined-only"]).arg(library), RUNNING).unwrap();
    let printed = output.success("nm").unwrap().stdout_text();
    let names: BTreeSet<&str> = printed.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(names, expected.iter().copied().collect(), "{library:?}");
}

/// A folder with only this library.
pub(crate) fn alone(library: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(library, folder.path().join(library.file_name().unwrap())).unwrap();
    folder
}

/// What the format is, said again.
fn stream(distance: usize, data: &[u8]) -> Vec<u8> {
    let before = |at: usize| at.checked_sub(distance).map_or(0, |at| data[at]);
    let differences = data.iter().enumerate().map(|(at, byte)| byte.wrapping_sub(before(at)));
    (data.len() as u64).to_le_bytes().into_iter().chain(differences).collect()
}

fn ncz_runs_it(filter: &Filter, folder: &Path, library: &str) {
    let registry = plugins(&[folder]);
    for entry in [registry.by_id(filter.id), registry.by_name(Dialect::Numcodecs, filter.name)] {
        let path = folder.join(library);
        let expected = CodecOrigin::Plugin { path, face: Face::Native, translator: None, isolated: false };
        assert_eq!(*entry.unwrap().origin(), expected);
    }
    let chunk: Vec<u8> = (0..900_u32).flat_map(|n| (n * n * 7 / 3).to_le_bytes()).collect();
    for distance in [1, 4, 255] {
        let spec = filters([(filter.id, &[distance][..])]);
        let chain = bind(&registry, &spec, "<i4", &[900], Container::NczarrV2);
        let mut scratch = chain.scratch();
        let stored = chain.encode(&mut scratch, &chunk).unwrap().to_vec();
        assert!(stored == stream(distance as usize, &chunk), "distance {distance}");
        let mut decoded = vec![0; chunk.len()];
        chain.decode(0, &mut scratch, &stored, &mut decoded).unwrap();
        assert!(decoded == chunk, "distance {distance}");
        let cut = chain.decode(0, &mut scratch, &stored[..99], &mut decoded).unwrap_err();
        assert_eq!(*cut.source.kind(), ErrorKind::Truncated);
        let longer = [&stored[..], &[0]].concat();
        let longer = chain.decode(0, &mut scratch, &longer, &mut decoded).unwrap_err();
        assert_eq!(*longer.source.kind(), ErrorKind::Trailing { extra: 1 });
    }
}

/// What the C example makes of JSON, written out; the Rust one says the same in its own tests, but for the default.
fn reads_json(folder: &Path) {
    let registry = plugins(&[folder]);
    let entry = registry.by_id(C.id).unwrap();
    let parse = |dialect, json: &Value| {
        let mut notes = Vec::new();
        let config = entry.codec().parse_json(dialect, json.as_object().unwrap(), &mut notes);
        (config.map(|config| config.to_params().unwrap()), notes)
    };
    for (json, words) in [
        (json!({}), 0),
        (json!({"distance": 0}), 0),
        (json!({"distance": null}), 0),
        (json!({"distance": 255}), 255),
        (json!({"distance": "4"}), 4), // as netcdf-c before 4.10 wrote it
        (json!({"a\"b": [1, {"distance": 9, "é": -1.5e-3}], "distance": 7, "\u{1F600}": "\n\\"}), 7),
    ] {
        let (params, notes) = parse(Dialect::Numcodecs, &json);
        assert_eq!(params.unwrap(), [words], "{json}");
        let unknown = json.as_object().unwrap().keys().filter(|key| *key != "distance").count();
        assert_eq!(notes.iter().filter(|note| note.contains("unknown key")).count(), unknown, "{notes:?}");
    }
    for bad in [json!(256), json!(-1), json!(1.5), json!([4]), json!({}), json!("x"), json!(true)] {
        let error = parse(Dialect::Numcodecs, &json!({"distance": bad})).0.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Config { key: "distance".to_owned() }, "{bad}");
    }
    let error = parse(Dialect::ZarrV3, &json!({"distance": 2, "level": 9})).0.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Config { key: "level".to_owned() });
    for words in [&[256][..], &[u32::MAX], &[1, 1]] {
        assert!(matches!(entry.codec().parse_params(words).unwrap_err().kind(), ErrorKind::Config { .. }));
    }
}

fn ncz_says_where_it_comes_from(folder: &Path, library: &str) {
    let mut command = Command::new(build_binary("ncz").unwrap());
    command.env_remove("HDF5_PLUGIN_PRELOAD").env("HDF5_PLUGIN_PATH", folder).env("NO_COLOR", "1");
    let output = run(command.args(["plugins", "why", RUST.name]), RUNNING).unwrap();
    let explanation = output.success("ncz plugins why").unwrap().stdout_text();
    assert!(explanation.contains(&folder.join(library).display().to_string()), "{explanation}");
}

pub(crate) fn h5py_and_netcdf_use_it(filter: &Filter, programs: &[&str], folder: &Path) {
    let data: Vec<u8> = (0..500_i32).flat_map(i32::to_le_bytes).collect();
    for program in programs {
        stores(filter, program, folder, "<i4", &["4"], &data, 4);
    }
}

/// The C example takes the size of an element for a distance that is not given, or 0, and it is in the metadata.
fn the_chunk_gives_the_distance(folder: &Path) {
    let shorts: Vec<u8> = (0..500_i16).flat_map(i16::to_le_bytes).collect();
    let doubles: Vec<u8> = (0..500_i32).flat_map(|n| f64::from(n).to_le_bytes()).collect();
    for program in ["h5py", "netcdf"] {
        for words in [&[][..], &["0"]] {
            stores(&C, program, folder, "<i2", words, &shorts, 2);
            stores(&C, program, folder, "<f8", words, &doubles, 8);
        }
    }
    let registry = plugins(&[folder]);
    let chain = bind(&registry, &filters([(C.id, &[][..])]), "<f8", &[500], Container::NczarrV2);
    let mut scratch = chain.scratch();
    assert!(chain.encode(&mut scratch, &doubles).unwrap().to_vec() == stream(8, &doubles));
}

/// h5py refuses words, and then a chunk that was cut, with messages that do not say why.
fn the_log_says_what_h5py_does_not(folder: &Path) {
    let Ok(python) = python() else { return };
    let out = tempfile::tempdir().unwrap();
    let log = out.path().join("log");
    let env = [
        ("HDF5_PLUGIN_PATH", folder.as_os_str()),
        ("NCZ_LOG", OsStr::new("error")),
        ("NCZ_LOG_FILE", log.as_os_str()),
    ];
    let mut command = python.command(&env);
    command.arg("-c").arg(REFUSED).current_dir(out.path());
    run(&mut command, RUNNING).unwrap().success("h5py").unwrap();
    let printed = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    let starts = [
        "ncz: my-cdelta8: set_local -> failed: the configuration is not usable: cd_values[0]: expected an integer from 1 to 255",
        "ncz: my-cdelta8: decode -> failed: the stream is truncated (called by /",
    ];
    assert_eq!(lines.len(), starts.len(), "{printed}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start) && line.contains("libhdf5"), "{printed}");
    }
}

/// A program writes and reads 20 x 50 numbers with these words: the first chunk is the stream of `data` with the
/// distance, which the metadata have.
fn stores(
    filter: &Filter,
    program: &str,
    folder: &Path,
    dtype: &str,
    words: &[&str],
    data: &[u8],
    distance: usize,
) {
    let Ok(python) = python() else { return };
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join(program).display().to_string();
    let id = filter.id.to_string();
    let args = [&[program, path.as_str(), dtype, id.as_str()][..], words].concat();
    let printed = run_json(&python, "template.py", &args, Some(folder));
    assert_eq!(printed["stored"], json!(stream(distance, data)[..24]), "{args:?}");
    assert!(!mapped_from(&printed, folder).is_empty(), "{args:?}");
    match program {
        "netcdf" => {
            assert_eq!(printed["filters"], json!([{"id": filter.name, "distance": distance}]), "{args:?}")
        }
        _ => assert_eq!(printed["cd_values"], json!([distance]), "{args:?}"),
    }
}

/// What `NCZ_LOG=trace` prints while a program uses our blosc, whose parameters depend on the variable.
fn trace(python: &Python, program: &str, path: &Path) -> String {
    let plugins = alone(&build_plugins().unwrap().join(library_name("blosc")));
    let env = [("HDF5_PLUGIN_PATH", plugins.path().as_os_str()), ("NCZ_LOG", OsStr::new("trace"))];
    let mut command = python.command(&env);
    command.arg(script("template.py")).arg(program).arg(path).args("<i4 32001 0 0 0 0 5 1 1".split(' '));
    let output = run(&mut command, RUNNING).unwrap().success(program).unwrap();
    String::from_utf8(output.stderr).unwrap()
}

/// The file of the plugin among those of [`build_plugins`].
fn library_name(plugin: &str) -> std::ffi::OsString {
    ncz_test_support::plugin(plugin).unwrap().file_name().unwrap().to_owned()
}

/// The first block of a language in a text.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let start = format!("```{language}\n");
    text.split(&start).nth(1).and_then(|rest| rest.split("```").next()).unwrap()
}

/// Runs a line as a new author types it; `$NCZ` is the tree, and its programs are on the path.
fn shell(line: &str, folder: &Path, limit: Duration) {
    let programs =
        ["ncz", "ncz-conform"].map(|name| build_binary(name).unwrap().parent().unwrap().to_owned());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(programs.into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut command = Command::new("sh");
    // what the cargo that runs this test has set
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_", "NEXTEST"].iter().any(|start| text.starts_with(start)) && text != "CARGO_HOME" {
            command.env_remove(name);
        }
    }
    command.env("NCZ", workspace_root()).env("PATH", path).env("CARGO_NET_OFFLINE", "true");
    run(command.current_dir(folder).arg("-ec").arg(line), limit).unwrap().success(line).unwrap();
}

/// The target folder of cargo for projects outside the workspace: kept between runs, for the dependencies. It serves one
/// test at a time.
pub(crate) struct Target {
    pub(crate) folder: PathBuf,
    _lock: File,
}

impl Target {
    /// Waits until no other test uses the folder.
    pub(crate) fn lock() -> Self {
        // inside the workspace's own, so that cargo clean removes it
        let folder = target_dir().join("plugin-template");
        std::fs::create_dir_all(&folder).unwrap();
        let lock = File::create(folder.join("test.lock")).unwrap();
        lock.lock().unwrap();
        Self { folder, _lock: lock }
    }
}

/// The template in a temporary folder.
struct Copy {
    folder: tempfile::TempDir,
    target: Target,
}

impl Copy {
    /// The folder before the README's first command.
    fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), target: Target::lock() }
    }

    /// The folder after the README's second command: nothing is built yet.
    fn new() -> Self {
        let copy = Self::empty();
        let readme = std::fs::read_to_string(workspace_root().join("plugin-template/README.md")).unwrap();
        let commands: Vec<_> = block(&readme, "sh").lines().collect();
        shell(commands[0], copy.folder.path(), RUNNING);
        copy.prepare();
        shell(commands[1], &copy.source(), RUNNING);
        copy.clean();
        copy
    }

    /// Runs all commands of the README, in order.
    fn follow_readme(&self) -> Vec<String> {
        let readme = std::fs::read_to_string(workspace_root().join("plugin-template/README.md")).unwrap();
        let commands: Vec<_> = block(&readme, "sh").lines().map(str::to_owned).collect();
        shell(&commands[0], self.folder.path(), RUNNING);
        self.prepare();
        let locked = std::fs::read(self.source().join("Cargo.lock")).unwrap();
        shell(&commands[1], &self.source(), RUNNING);
        self.clean();
        for command in &commands[2..] {
            shell(command, &self.source(), BUILDING);
        }
        assert!(
            std::fs::read(self.source().join("Cargo.lock")).unwrap() == locked,
            "the lock file is not the template's"
        );
        commands
    }

    /// Gives the copy the target folder that is kept.
    fn prepare(&self) {
        let own = self.source().join("target");
        // what somebody has built inside the template
        if own.exists() {
            std::fs::remove_dir_all(&own).unwrap();
        }
        std::os::unix::fs::symlink(&self.target.folder, own).unwrap();
    }

    /// Removes what earlier copies have left.
    fn clean(&self) {
        for profile in ["dev", "release"] {
            let mut args = vec!["clean", "--profile", profile];
            args.extend(PACKAGES.iter().flat_map(|package| ["-p", package]));
            self.cargo(&args);
        }
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("my-delta8")
    }

    fn cargo(&self, args: &[&str]) {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        shell(&format!("'{cargo}' {}", args.join(" ")), &self.source(), BUILDING);
    }
}

/// Names and versions in a lock file.
fn locked(file: &Path) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).unwrap();
        line.trim_matches('"').to_owned()
    };
    let packages: BTreeSet<_> = text
        .split("[[package]]")
        .skip(1)
        .map(|package| (value(package, "name"), value(package, "version")))
        .collect();
    assert!(packages.len() > 10, "{file:?}: {packages:?}");
    packages
}
