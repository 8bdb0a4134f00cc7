//! Which programs read a dataset: `ncz info`, `ncz codec`, and `ncz copy --for`.

use std::path::Path;

use ncz_test_support::{python, unpack};
use serde_json::json;

use crate::bench::{ncz, ocean};

/// Copies, and returns the standard error.
fn copy(source: &Path, target: &Path, options: &[&str], exit: i32) -> String {
    let paths = ["copy", source.to_str().unwrap(), target.to_str().unwrap()];
    ncz(paths.iter().chain(options)).ends(exit).stderr
}

/// The words of the remedy in an error, as a shell would split them: options in single quotes.
fn remedy(stderr: &str) -> Vec<String> {
    let line = stderr.lines().find_map(|line| line.trim_start().strip_prefix("remedy: use ")).unwrap();
    let mut words = Vec::new();
    for (number, piece) in line.split('\'').enumerate() {
        match number % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}

#[test]
fn info_ends_with_who_reads_a_dataset_and_why_not() {
    let text = ncz(["info", ocean().to_str().unwrap()]).ends(0).stdout;
    let wanted = "
  read by      tested
  netcdf-c     4.10.1    yes
  HDF5         2.0.0     no: it does not read NCZarr
  zarr-python  3.1.6     in part: wrong values of /air_temperature, /sea_surface_temperature, /model/salinity, because of shuffle without the size of elements
";
    assert!(text.contains(wanted), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let said = copy(&ocean(), &target, &["--codec", "lat=32000", "--codec", "lon=gzip"], 0);
    assert!(said.contains("note: /lat: has the codec lzf; netcdf-c reads it only with a plugin"), "{said}");
    assert!(said.contains("note: /lon: has the codec gzip; netcdf-c does not read it"), "{said}");
    let info = ncz(["info", "--json", target.to_str().unwrap()]).ends(0).json();
    assert_eq!(info["readers"][0]["name"], "netcdf-c");
    assert_eq!(info["readers"][0]["reads"], false);
    let wanted = json!({
        "variables": ["/lat"], "what": "codec lzf", "because": "netcdf-c reads it only with a plugin", "package": "plugins"
    });
    assert_eq!(info["readers"][0]["obstacles"][0], wanted);
    let text = ncz(["info", target.to_str().unwrap()]).ends(0).stdout;
    assert!(text.contains("yes: with the package imagecodecs for the codec lzf of /lat\n"), "{text}");
    // Only the named variable counts.
    let text = ncz(["info", target.to_str().unwrap(), "lon"]).ends(0).stdout;
    assert!(text.contains("in part: not the codec gzip of /lon\n") && !text.contains("lzf"), "{text}");
}

#[test]
fn a_copy_for_readers_is_refused_by_name_and_its_remedy_works_when_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let szip = ["--codec", "lat=szip,32,32"];
    let codecs = [
        "--codec",
        r#"air_temperature=[{"id":"shuffle","elementsize":4},{"id":"lz4"}]"#,
        "--codec",
        "lat&model/salinity=szip,32,32",
        "--codec",
        "lon=fletcher32",
    ];
    copy(&ocean(), &at("in"), &codecs, 0);
    for (number, (readers, options)) in [
        ("zarr-python,netcdf-c", &[][..]),
        ("zarr-python=2.18,xarray", &[]),
        ("tensorstore,zarr-python", &["--format", "zarr"]),
        ("tensorstore,zarrs", &[]),
        ("zarrs,xarray,gdal", &["--format", "zarr3"]),
    ]
    .into_iter()
    .enumerate()
    {
        let target = at(&format!("out{number}"));
        let options = [&["--for", readers, "--verify"], options].concat();
        let is_read = || {
            let info = ncz(["info", "--json", target.to_str().unwrap()]).ends(0).json();
            for reader in info["readers"].as_array().unwrap() {
                let name = reader["name"].as_str().unwrap().to_lowercase();
                if readers.split(',').any(|one| one.split('=').next() == Some(&name)) {
                    assert_eq!(reader["reads"], true, "{readers}: {reader}");
                }
            }
        };
        // What is requested is refused, with a remedy in place of it.
        let said = copy(&at("in"), &target, &[&options[..], &szip].concat(), 3);
        assert!(said.contains("codec szip of /lat:"), "{said}");
        assert!(!target.exists(), "{readers}");
        let words = remedy(&said);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        copy(&at("in"), &target, &[&options[..], &words].concat(), 0);
        is_read();
        // Codecs of the source are replaced.
        let excluded = words.iter().position(|word| *word == "--exclude").map_or(&[][..], |at| &words[at..]);
        let said = copy(&at("in"), &target, &[&options[..], &["--overwrite"], excluded].concat(), 0);
        assert!(said.contains(": codec szip: ") && said.contains(" instead\n"), "{said}");
        is_read();
    }
    copy(&ocean(), &at("zarrs"), &["--for", "zarrs"], 3);
    copy(&ocean(), &at("zarrs"), &["--for", "zarrs", "--exclude", "model/depth,model/salinity"], 0);
    copy(&ocean(), &at("v3"), &["--format", "zarr3"], 0);
    copy(&at("v3"), &at("netcdf-c"), &["--for", "netcdf-c"], 0);
    assert!(at("netcdf-c").join(".zgroup").exists());
    let said = copy(&ocean(), &at("x.nc"), &["--for", "zarr-python"], 3);
    assert!(said.contains("netCDF-4: zarr-python does not read it"), "{said}");
    let said = copy(&ocean(), &at("x"), &["--for", "zarr-pyton"], 2);
    assert!(said.contains("did you mean zarr-python?"), "{said}");
    let said = copy(&ocean(), &at("x.zip"), &["--for", "netcdf-c"], 2);
    assert!(said.contains("name the target .zarr or .nczarr"), "{said}");
}

#[test]
fn types_that_netcdf_lacks_become_others_or_are_refused_with_the_option_that_leaves_them_out() {
    let folder = tempfile::tempdir().unwrap();
    for (dtype, note) in [
        ("b1", "bool becomes ubyte, with the attribute dtype = \"bool\""),
        ("le-f2", "float16 becomes float, which has the same values"),
        ("le-M8-ns", "datetime64[ns] becomes int64, with units of CF"),
        ("le-m8-s", "timedelta64[s] becomes int64, with units of CF and the attribute dtype"),
        ("le-U5", "becomes string, which has the same text"),
    ] {
        let source = unpack(format!("zarr-python/v2-dtype-{dtype}.zip")).unwrap();
        for target in [format!("{dtype}.nczarr"), format!("{dtype}.nc")] {
            let target = folder.path().join(target);
            let format = if target.extension().unwrap() == "nc" { "netcdf4" } else { "nczarr" };
            let said = copy(source.path(), &target, &["--format", format, "--verify"], 0);
            assert!(said.contains(note), "{dtype}: {said}");
        }
    }
    let source = unpack("zarr-python/v2-dtype-le-c8.zip").unwrap();
    let target = folder.path().join("c8.nczarr");
    let said = copy(source.path(), &target, &["--format", "nczarr"], 3);
    assert!(said.contains("NCZarr has no type for") && said.contains("--exclude"), "{said}");
    assert!(!target.exists());
    let source = unpack("zarr-python/v2-dtype-le-M8-ns.zip").unwrap();
    let said = copy(source.path(), &folder.path().join("c.nc"), &["--format", "classic"], 3);
    assert!(said.contains("integers of 64 bits") && said.contains("--exclude"), "{said}");
}

#[test]
fn codec_says_who_reads_it() {
    let text = ncz(["codec", "zstd,3"]).ends(0).stdout;
    let line = text.lines().find(|line| line.contains("read by")).unwrap();
    assert!(
        line.contains("netcdf-c (HDF5 files, Zarr v2)") && line.contains("HDF5 with hdf5plugin"),
        "{line}"
    );
    let text = ncz(["codec", "shuffle|zlib,6"]).ends(0).stdout;
    assert_eq!(text.matches("read by").count(), 2, "{text}");
    let json = ncz(["codec", "--json", "nbit"]).json();
    assert_eq!(json["codecs"][0]["codecs"][0]["read_by"], "netcdf-c (HDF5 files); HDF5");
}

#[test]
fn codecs_have_the_names_that_metadata_give_them() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let script = "import sys, warnings, numpy as np, zarr\n\
                  warnings.simplefilter('ignore')\n\
                  from zarr.codecs import numcodecs as n\n\
                  group = zarr.create_group(sys.argv[1], zarr_format=3)\n\
                  for name, codec in [('zstd', n.Zstd(level=5)), ('gzip', n.GZip(level=1))]:\n    \
                      array = group.create_array(name, shape=40, dtype='<f8', compressors=[codec], dimension_names=['x'])\n    \
                      array[:] = np.arange(40.0)\n";
    python.run_code(script, &[at("in").to_str().unwrap()], &[]).unwrap();
    let text = ncz(["info", at("in").to_str().unwrap()]).ends(0).stdout;
    assert!(text.contains("not the codec numcodecs.zstd of /zstd"), "{text}");
    let said = copy(&at("in"), &at("out"), &["--for", "tensorstore"], 0);
    let note = "/zstd: codec numcodecs.zstd: tensorstore does not read it; stored with zstd 5 instead";
    assert!(said.contains(note), "{said}");
}
