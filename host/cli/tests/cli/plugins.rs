use std::fs;
use std::path::Path;

use ncz_test_support::build_plugins;
use serde_json::json;

use crate::bench::{Run, command, ncz, ocean, run};

fn with_path(folder: &Path, args: &[&str]) -> Run {
    run(command().env("HDF5_PLUGIN_PATH", folder).args(args))
}

#[test]
fn without_plugins_the_built_in_codecs_are_listed() {
    let run = ncz(["plugins"]).ends(0);
    for (name, id) in [
        ("deflate", 1),
        ("shuffle", 2),
        ("fletcher32", 3),
        ("szip", 4),
        ("nbit", 5),
        ("scaleoffset", 6),
        ("bzip2", 307),
        ("lzf", 32000),
        ("blosc", 32001),
        ("lz4h5", 32004),
        ("bitshuffle", 32008),
        ("zstd", 32015),
        ("bitroundh5", 32032),
    ] {
        let line = run
            .stdout
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}: {}", run.stdout));
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((cells[1], *cells.last().unwrap()), (id.to_string().as_str(), "built-in"), "{line}");
    }
    for name in ["crc32c", "gzip"] {
        let line = run.stdout.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.ends_with("built-in"), "{line}");
    }
    assert_eq!(run.stdout, ncz(["plugins", "list"]).ends(0).stdout);
}

#[test]
fn our_plugins_are_found_and_serve_when_they_are_preferred() {
    let folder = build_plugins().unwrap();
    let list = with_path(&folder, &["plugins", "--prefer", "plugins", "--json"]).ends(0).json();
    assert_eq!(list["schema"], json!(1));
    let zstd = list["codecs"].as_array().unwrap().iter().find(|codec| codec["id"] == 32015).unwrap();
    let used =
        zstd["candidates"].as_array().unwrap().iter().find(|candidate| candidate["used"] == true).unwrap();
    assert_eq!((&used["origin"], &used["face"]), (&json!("plugin"), &json!("native")), "{zstd}");

    let table = with_path(&folder, &["plugins"]).ends(0).stdout;
    let line = table.lines().find(|line| line.contains("libncz_h5zstd")).unwrap();
    assert!(line.contains("shadowed") && line.contains("32015"), "{table}");

    let why = with_path(&folder, &["plugins", "why", "zstd"]).ends(0).stdout;
    assert!(why.contains("built-in") && why.contains("libncz_h5zstd"), "{why}");
    let why = ncz(["plugins", "why", "numcodecs.delta"]).ends(0).stdout;
    assert!(why.contains("built-in"), "{why}");
    let show = with_path(&folder, &["plugins", "show", "libncz_h5zstd.so"]).ends(0).stdout;
    assert!(show.contains("H5PLget_plugin_info") && show.contains("NCZ_get_codec_info"), "{show}");
}

#[test]
fn versions_are_shown_and_can_be_required() {
    let folder = build_plugins().unwrap();
    let ncz = |args: &[&str]| with_path(&folder, args);
    let list = ncz(&["plugins", "--json"]).ends(0).json();
    let files = list["folders"][0]["files"].as_array().unwrap();
    let zstd =
        files.iter().find(|file| file["path"].as_str().unwrap().ends_with("libncz_h5zstd.so")).unwrap();
    assert_eq!((&zstd["version"], &zstd["interface"]), (&json!("0.1.0"), &json!("1.1.0")), "{zstd}");
    let why = ncz(&["plugins", "why", "libncz_h5zstd.so"]).ends(1).stdout;
    assert!(why.contains("version 0.1.0, for interface 1.1.0"), "{why}");

    ncz(&["plugins", "avail", "zstd", "--require", "zstd>=0.1"]).ends(0);
    let unmet = ncz(&["plugins", "avail", "zstd", "--require", "zstd>=99"]).ends(1).stdout;
    for reason in [
        "built-in: refused: its version is 0.1.0, and zstd>=99 is required",
        "libncz_h5zstd.so: native face of zstd: refused: its version is 0.1.0, and zstd>=99 is required",
    ] {
        assert!(unmet.contains(reason), "{unmet}");
    }
    let usage = ncz(&["plugins", "--require", "zstd"]).ends(2).stderr;
    assert!(usage.contains("such as blosc>=1.2, got \"zstd\""), "{usage}");

    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("list").display().to_string();
    ncz(&["plugins", "lock", "--output", &file, "--require", "zstd>=99"]).ends(0);
    let list: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&list["schema"], &list["require"]), (&json!("1.1.0"), &json!(["zstd>=99"])));
    ncz(&["plugins", "avail", "zstd", "--plugin-lock", &file]).ends(1);
    ncz(&["plugins", "avail", "bzip2", "--plugin-lock", &file]).ends(0);
    ncz(&["plugins", "lock", "--output", &file, "--check"]).ends(0);
}

#[test]
fn a_copy_runs_through_our_plugins_and_equals_that_of_the_built_ins() {
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str, options: &[&str]| {
        let target = folder.path().join(name);
        let args = [
            "copy",
            ocean().to_str().unwrap(),
            target.to_str().unwrap(),
            "--codec",
            "shuffle|zstd,3",
            "--verify",
        ]
        .iter()
        .chain(options)
        .map(|arg| (*arg).to_owned())
        .collect::<Vec<_>>();
        run(command().args(args)).ends(0);
        target
    };
    let own = copy("own", &["--no-plugins"]);
    let path = ["--plugin-path", plugins.to_str().unwrap()];
    let foreign = copy("foreign", &path);
    // A named folder comes before the built-in codecs: it was them that ran.
    let codecs = ncz(["codec", "shuffle|zstd,3"].iter().chain(&path)).ends(0).stdout;
    assert!(codecs.contains("libncz_h5shuffle.so") && codecs.contains("libncz_h5zstd.so"), "{codecs}");
    for key in ["air_temperature/0.0.0", "model/salinity/2.1.1"] {
        assert_eq!(fs::read(own.join(key)).unwrap(), fs::read(foreign.join(key)).unwrap());
    }
}

#[test]
fn files_that_are_not_plugins_are_listed_and_the_search_continues() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("libh5broken.so"), "not a library").unwrap();
    fs::write(folder.path().join("README"), "text").unwrap();
    let run = with_path(folder.path(), &["plugins"]);
    assert!(run.stdout.contains("libh5broken.so"), "{}", run.stdout);
    assert!(run.stdout.contains("README"), "{}", run.stdout);
    let target = folder.path().join("copy.zarr");
    with_path(folder.path(), &["copy", ocean().to_str().unwrap(), target.to_str().unwrap(), "--compress"])
        .ends(0);
    let why = with_path(folder.path(), &["plugins", "why", "libh5broken.so"]).ends(1).stdout;
    assert!(why.contains("libh5broken.so is"), "{why}");
}

#[test]
fn no_load_reads_symbols_only() {
    let folder = build_plugins().unwrap();
    let run = with_path(&folder, &["plugins", "--no-load"]).ends(0);
    assert!(run.stdout.contains("candidate"), "{}", run.stdout);
    assert!(run.stdout.contains("no library was loaded"), "{}", run.stdout);
    let list = with_path(&folder, &["plugins", "--no-load", "--json"]).ends(0).json();
    assert_eq!(list["loaded"], json!(false));
}

#[test]
fn the_search_path_is_shown_with_who_named_it() {
    let folder = tempfile::tempdir().unwrap();
    let list = format!("{}:/nowhere/plugins", folder.path().display());
    let path = with_path(Path::new(&list), &["plugins", "path"]).ends(1).stdout;
    let lines: Vec<&str> = path.lines().collect();
    assert!(
        lines[1].contains(folder.path().to_str().unwrap()) && lines[1].contains("HDF5_PLUGIN_PATH"),
        "{path}"
    );
    assert!(lines[2].contains("/nowhere/plugins") && lines[2].contains("does not exist"), "{path}");
    let explicit =
        with_path(Path::new(&list), &["plugins", "path", "--plugin-path", folder.path().to_str().unwrap()]);
    let explicit = explicit.ends(0).stdout;
    assert!(!explicit.contains("/nowhere") && explicit.contains("the given plugin path"), "{explicit}");
    let off = with_path(Path::new(&list), &["plugins", "path", "--no-plugins"]).ends(0).stdout;
    assert!(off.contains("switched off by request"), "{off}");
}

#[test]
fn a_codec_that_is_not_found_is_reported_with_the_folders_searched() {
    let folder = tempfile::tempdir().unwrap();
    let why = with_path(folder.path(), &["plugins", "why", "32028"]).ends(1).stdout;
    assert!(why.contains("no codec found for HDF5 filter 32028"), "{why}");
    assert!(why.contains(folder.path().to_str().unwrap()), "{why}");
    let show = with_path(folder.path(), &["plugins", "show", "32028"]).ends(1).stdout;
    assert!(show.contains("ncz plugins why 32028"), "{show}");
}

#[test]
#[cfg(unix)]
fn avail_and_ncfilteravail_say_whether_a_filter_is_available() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/netcdf-tools/ncfilteravail");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ncz")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(program.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let ncfilteravail = |arguments: &[&str]| {
        let mut command = std::process::Command::new(script);
        crate::bench::run(command.args(arguments).env("PATH", &path).env("HDF5_PLUGIN_PATH", ""))
    };
    for (filter, answer) in [
        ("1", "yes"),
        ("deflate", "yes"),
        ("zstd", "yes"),
        ("32015", "yes"),
        ("307", "yes"),
        ("40000", "no"),
        ("lzo", "no"),
    ] {
        assert_eq!(ncfilteravail(&["-t", "nczarr", filter]).ends(0).stdout, answer, "{filter}");
        let run = crate::bench::ncz(["plugins", "avail", filter]).ends(i32::from(answer == "no"));
        assert!(run.stdout.starts_with(answer), "{}", run.stdout);
    }
    ncfilteravail(&["a", "b"]).ends(1).says(&["more than one filter specified"]);
    let json = crate::bench::ncz(["plugins", "avail", "lzo", "--json"]).ends(1).json();
    assert_eq!(json["available"], false);
    assert!(json["reason"].as_str().unwrap().contains("lzo"), "{json}");
}
