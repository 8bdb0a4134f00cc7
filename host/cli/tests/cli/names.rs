//! Names and patterns of variables, and options that stand before the command.

use std::fs;
use std::path::Path;

use crate::bench::{command, ncz, ocean, run};

fn paths(dataset: &Path) -> Vec<String> {
    let info = ncz(["info", "--json", dataset.to_str().unwrap()]).ends(0).json();
    let variables = info["variables"].as_array().unwrap();
    variables.iter().map(|variable| variable["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_copy_takes_patterns_for_variables_groups_and_codecs() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.nczarr");
    let (source, to) = (ocean(), target.to_str().unwrap());
    let source = source.to_str().unwrap();
    ncz(["copy", source, to, "--variables", "**/*temperature,l?t", "--no-coordinates"]).ends(0);
    assert_eq!(paths(&target), ["/lat", "/air_temperature", "/sea_surface_temperature"]);

    ncz(["convert", source, to, "--overwrite", "--groups", "mod*"]).ends(0);
    assert_eq!(paths(&target), ["/model/depth", "/model/salinity"]);

    ncz([
        "copy",
        source,
        to,
        "--overwrite",
        "--exclude",
        "*temp*",
        "--codec",
        "**/sal*=bzip2",
        "-F",
        "l*,none",
        "-c",
        "l?t:10",
    ])
    .ends(0);
    let info = ncz(["info", "--json", to]).ends(0).json();
    let codecs = |path: &str| {
        let variables = info["variables"].as_array().unwrap().iter();
        variables
            .filter(|variable| variable["path"] == path)
            .map(|variable| variable["codecs"].clone())
            .next()
    };
    assert_eq!(codecs("/air_temperature"), None);
    assert_eq!(codecs("/model/salinity").unwrap()[0]["id"], "bz2");
    assert_eq!(codecs("/lat").unwrap(), serde_json::json!([]));
    let lat = info["variables"].as_array().unwrap().iter().find(|one| one["path"] == "/lat").unwrap();
    assert_eq!(lat["chunks"], serde_json::json!([10]));
    ncz(["copy", source, to, "--overwrite", "-c", "x*:10"]).ends(2).says(&["x*", "known: "]);

    for option in ["--variables", "--exclude", "--groups", "--values"] {
        ncz(["copy", source, to, "--overwrite", option, "x*"]).ends(2).says(&["\"x*\"", "known: "]);
    }
    ncz(["copy", source, to, "--overwrite", "--codec", "x*=zstd"]).ends(2).says(&["x*"]);
    ncz(["verify", to, "--variables", "**/sal*,lat"]).ends(0);
    ncz(["verify", to, "--variables", "x*"]).ends(2).says(&["known: "]);
}

#[test]
fn info_shows_the_attributes_of_the_variables_that_are_named() {
    let source = ocean();
    let source = source.to_str().unwrap();
    let text = ncz(["info", source, "air*", "time"]).ends(0).stdout;
    assert!(text.contains("  /time\n") && text.contains("  /air_temperature\n"), "{text}");
    assert!(text.contains("    units ") && !text.contains("salinity") && !text.contains("depth"), "{text}");
    let info = ncz(["info", source, "model/salinity", "--json"]).ends(0).json();
    let variables = info["variables"].as_array().unwrap();
    assert_eq!(variables.len(), 1);
    let names: Vec<_> = variables[0]["attributes"].as_array().unwrap().iter().map(|a| &a["name"]).collect();
    assert!(names.contains(&&serde_json::json!("units")), "{names:?}");
    let dimensions: Vec<_> = info["dimensions"].as_array().unwrap().iter().map(|d| &d["path"]).collect();
    assert_eq!(dimensions, ["/lat", "/lon", "/model/depth"]);
    ncz(["info", source, "salinty"]).ends(2).says(&["did you mean \"/model/salinity\"?"]);
}

#[test]
fn help_and_verbosity_stand_before_or_after_the_command() {
    let help = ncz(["help", "copy"]).ends(0).stdout;
    assert_eq!(help, ncz(["copy", "--help"]).ends(0).stdout);
    assert!(ncz(["help", "plugins", "why"]).ends(0).stdout.starts_with("Example: ncz plugins why"));
    let source = ocean();
    let source = source.to_str().unwrap();
    let after = ncz(["info", "-v", source]).ends(0);
    let before = ncz(["-v", "info", source]).ends(0);
    assert!(!before.stderr.is_empty(), "{before:?}");
    assert!(!after.stderr.is_empty(), "{after:?}");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.zarr");
    assert_eq!(ncz(["-q", "copy", source, target.to_str().unwrap()]).ends(0).stdout, "");
}

#[test]
fn slabs_can_be_given_one_by_one() {
    let source = ocean();
    let source = source.to_str().unwrap();
    let joined = ncz(["cat", source, "air_temperature", "--slab", "time=0,lat=0:2"]).ends(0);
    let apart = ncz(["cat", source, "air_temperature", "--slab", "time=0", "--slab", "lat=0:2"]).ends(0);
    assert_eq!(joined.stdout, apart.stdout);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.nczarr");
    ncz(["copy", source, target.to_str().unwrap(), "--slab", "time=0:2", "--slab", "lat=3"]).ends(0);
    let info = ncz(["info", target.to_str().unwrap(), "--json"]).ends(0).json();
    assert_eq!((&info["dimensions"][0]["length"], &info["dimensions"][1]["length"]), (&2.into(), &1.into()));
}

#[test]
fn a_url_with_one_slash_is_a_slip() {
    for (text, url) in [
        ("s3:/bucket/x.zarr", "s3://bucket/x.zarr"),
        ("s3:bucket/x.zarr", "s3://bucket/x.zarr"),
        ("https:/host/x.zarr", "https://host/x.zarr"),
        ("file:/x.zarr", "file:///x.zarr"),
    ] {
        ncz(["info", text]).ends(2).says(&["two slashes", url]);
    }
}

#[test]
fn consolidated_metadata_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = ocean();
    ncz(["copy", source.to_str().unwrap(), &path("a.zarr"), "--format", "zarr", "--consolidated"]).ends(0);
    ncz(["copy", &path("a.zarr"), &path("b.zarr")]).ends(0);
    ncz(["copy", &path("a.zarr"), &path("c.zarr"), "--no-consolidated"]).ends(0);
    ncz(["copy", &path("a.zarr"), &path("d.zarr"), "--format", "zarr3"]).ends(0);
    assert!(folder.path().join("b.zarr/.zmetadata").exists());
    assert!(!folder.path().join("c.zarr/.zmetadata").exists());
    let root = fs::read_to_string(folder.path().join("d.zarr/zarr.json")).unwrap();
    assert!(root.contains("consolidated_metadata"), "{root}");
}

#[test]
fn plugins_env_keeps_the_folders_that_other_programs_search() {
    let folder = tempfile::tempdir().unwrap();
    let make = |path: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap().to_str().unwrap().to_owned()
    };
    let ours = make("my plugins");
    let set = make("set");
    let packages = "venv/lib/python3.13/site-packages";
    let netcdf = make(&format!("{packages}/netCDF4/plugins"));
    let hdf5plugin = make(&format!("{packages}/hdf5plugin/plugins"));
    let environment = |arguments: &[&str]| {
        let mut command = command();
        command.env("HDF5_PLUGIN_PATH", &set).env("VIRTUAL_ENV", folder.path().join("venv"));
        run(command.args(["plugins", "env"]).args(arguments))
    };
    let json = environment(&[&ours, "--json"]).ends(0).json();
    let folders: Vec<&str> =
        json["folders"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(folders[..2], [ours.as_str(), set.as_str()]);
    assert!(folders.contains(&netcdf.as_str()) && folders.contains(&hdf5plugin.as_str()), "{folders:?}");

    let line = environment(&[&ours, &ours]).ends(0).stdout;
    assert_eq!(line, format!("export HDF5_PLUGIN_PATH='{}'\n", folders.join(":")));
    // netCDF4 sets the variable itself if it is not set, and not if it is empty.
    let (none, bare) = (folder.path().join("none"), folder.path().join("bare"));
    let mut command = command();
    command.env("HDF5_PLUGIN_PATH", &none).env("VIRTUAL_ENV", &bare).env("PATH", "").env("HOME", &bare);
    let ran = run(command.env_remove("CONDA_PREFIX").args(["plugins", "env"])).ends(0);
    let ran = ran.says(&[&format!("{}: there is no such folder", none.display())]);
    assert!(!ran.stdout.contains("PATH=''"), "{}", ran.stdout);
    // The default folder of HDF5 may be on this machine.
    assert_eq!(ran.stdout.is_empty(), ran.stderr.contains("HDF5_PLUGIN_PATH is left as it is"), "{ran:#?}");
    environment(&["nowhere"]).ends(2).says(&["nowhere: there is no such folder"]);
    environment(&[&make("a:b")]).ends(2).says(&["a:b", "rename it"]);
}
