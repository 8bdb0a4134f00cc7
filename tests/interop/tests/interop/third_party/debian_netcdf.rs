//! Debian's netcdf-c 4.9.0 (with HDF5 1.10) and our plugins: ncdump and nccopy read what netcdf-c 4.10 wrote, nccopy and ncgen
//! write what others read.
//!
//! That is so for netCDF-4 files. NCZarr is built there without any way to load a plugin: it reads compressed chunks as if they
//! were the data, and drops filters when it writes, all of it in silence. The last test says which of the two a build is.

use std::path::{Path, PathBuf};

use ncz_test_support::{Python, Skip, build_plugins, python};
use tempfile::TempDir;

use super::{debian, debian_ok};
use crate::harness::{run_json, with_one_damaged};

const SCRIPT: &str = "third_party.py";
/// Filters as `nccopy -F` takes them, the number of filters they make and our plugin among them.
const COPIES: [(&str, usize, &str); 4] = [
    ("*,32015,3", 1, "zstd"),
    ("*,32001,0,0,0,0,5,1,1", 1, "blosc"),
    ("*,307,9", 1, "bzip2"),
    ("*,2|32015,4|3", 3, "zstd"),
];

struct Files {
    folder: TempDir,
    python: Python,
}

impl Files {
    fn new(python: Python) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), python }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The dataset `name` as NCZarr in a folder.
    fn url(&self, name: &str) -> String {
        format!("file://{}#mode=nczarr,file", self.text(name))
    }

    /// Runs the script on `name`; everything that it reads must be right.
    fn script(&self, action: &str, library: &str, name: &str, options: &[&str], plugins: Option<&Path>) {
        let path = self.text(name);
        let args: Vec<&str> = [action, library, &path, "--once"].iter().chain(options).copied().collect();
        let printed = run_json(&self.python, SCRIPT, &args, plugins);
        if action == "read" {
            let wrong = printed["wrong"].as_object().unwrap();
            assert!(wrong.is_empty(), "{name}: {} of {}: {wrong:?}", wrong.len(), printed["count"]);
        }
    }

    /// What ncdump prints, under one name.
    fn dump(&self, name: &str, plugins: &Path) -> Result<String, Skip> {
        let output = debian_ok("ncdump", &["-p", "9,17", "-n", "data", name], &[plugins])?;
        Ok(output.stdout_text())
    }
}

#[test]
fn ncdump_and_nccopy_read_what_netcdf_c_4_10_wrote_with_its_own_plugins() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let files = Files::new(python);
    // their blosc writes no chunk that does not shrink
    files.script("write", "netcdf", "theirs.nc", &["--smooth", "--big"], None);
    let (theirs, plain) = (files.text("theirs.nc"), files.text("plain.nc"));
    if debian_ok("nccopy", &["-F", "none", &theirs, &plain], &[&plugins]).is_err() {
        return;
    }
    files.script("read", "netcdf", "plain.nc", &["--unfiltered", "--smooth", "--big"], None);
    for name in ["blosc", "bzip2", "zstd"] {
        let damaged = with_one_damaged(&plugins, name);
        let no_copy = files.text("no-copy.nc");
        for (program, args) in
            [("ncdump", vec![theirs.as_str()]), ("nccopy", vec!["-F", "none", &theirs, &no_copy])]
        {
            let output = debian(program, &args, &[damaged.path()]).unwrap();
            assert!(!output.status.success(), "{program} without {name}: {}", output.text());
        }
    }
    // printed values as well; filters are not printed
    files.script("write", "netcdf", "small.nc", &["--small"], Some(&plugins));
    let (small, plain) = (files.text("small.nc"), files.text("small-plain.nc"));
    debian_ok("nccopy", &["-F", "none", &small, &plain], &[&plugins]).unwrap();
    let (printed, expected) = (files.dump(&small, &plugins).unwrap(), files.dump(&plain, &plugins).unwrap());
    assert_eq!(printed, expected);
    assert!(printed.lines().count() > 200, "{printed}");
}

#[test]
fn nccopy_writes_with_our_plugins_what_hdf5plugin_reads() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let files = Files::new(python);
    files.script("plain", "netcdf", "plain.nc", &[], None);
    let (plain, packed) = (files.text("plain.nc"), files.text("packed.nc"));
    for (filters, count, name) in COPIES {
        if debian_ok("nccopy", &["-F", filters, &plain, &packed], &[&plugins]).is_err() {
            return;
        }
        let count = format!("--filters={count}");
        files.script("read", "h5py", "packed.nc", &["--of=netcdf", "--hdf5plugin", &count], None);
        let damaged = with_one_damaged(&plugins, name);
        let output = debian("ncdump", &[&packed], &[damaged.path()]).unwrap();
        assert!(!output.status.success(), "{filters} without {name}");
    }
}

#[test]
fn ncgen_writes_the_filters_of_a_text_with_our_plugins() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let files = Files::new(python);
    let cdl = "netcdf data {\ndimensions:\n\tx = 1000 ;\nvariables:\n\tint v(x) ;\n\t\tv:_ChunkSizes = 300 ;\n\
               \t\tv:_Filter = \"32015,3\" ;\ndata:\n\n v = 1, 2, 300000, -4 ;\n}\n";
    std::fs::write(files.path("data.cdl"), cdl).unwrap();
    let (text, file) = (files.text("data.cdl"), files.text("data.nc"));
    let Ok(refused) = debian("ncgen", &["-4", "-o", &file, &text], &[files.folder.path()]) else { return };
    assert!(refused.text().contains("Filter id=32015; filter not available"), "{}", refused.text());
    debian_ok("ncgen", &["-4", "-o", &file, &text], &[&plugins]).unwrap();
    let code = "import sys, hdf5plugin, h5py\n\
                v = h5py.File(sys.argv[1])['v']\n\
                assert v.id.get_create_plist().get_filter(0)[0] == 32015 and v.chunks == (300,)\n\
                assert list(v[:5]) == [1, 2, 300000, -4, -2147483647] and v.shape == (1000,)";
    files.python.run_code(code, &[&file], &[]).unwrap();
}

#[test]
fn nczarr_of_debian_never_calls_a_plugin_or_calls_ours_rightly() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let files = Files::new(python);
    // from a netCDF-4 file through our plugins into NCZarr: what reaches the folder is right
    files.script("write", "netcdf", "ours.nc", &["--small"], Some(&plugins));
    let copied = files.url("copied");
    if debian_ok("nccopy", &[&files.text("ours.nc"), &copied], &[&plugins]).is_err() {
        return;
    }
    let from_file = files.dump(&files.text("ours.nc"), &plugins).unwrap();
    assert_eq!(files.dump(&copied, &plugins).unwrap(), from_file);

    files.script("write", "nczarr", "filtered", &["--small"], Some(&plugins));
    let mut command = std::process::Command::new(ncz_test_support::program("ncdump").unwrap());
    // the loader reports which files it opens, before anything else could
    command.env("HDF5_PLUGIN_PATH", &plugins).env("LD_DEBUG", "files").arg(files.url("filtered"));
    let output = ncz_test_support::run(&mut command, super::LIMIT).unwrap().success("ncdump").unwrap();
    let opened = String::from_utf8_lossy(&output.stderr).contains("libncz_h5zstd.so");
    let metadata = std::fs::read_to_string(files.path("copied/i1_0_zstd/.zarray")).unwrap();
    if opened {
        let plain = files.url("plain");
        debian_ok("nccopy", &["-F", "none", &files.url("filtered"), &plain], &[&plugins]).unwrap();
        files.script("read", "nczarr", "plain", &["--small", "--unfiltered", "--of=nczarr"], None);
        assert!(metadata.contains("zstd"), "{metadata}");
    } else {
        // so it is in 4.9.0-3: nothing to prove, and nothing to rely on
        assert!(metadata.contains("\"compressor\": null, \"filters\": null"), "{metadata}");
        let version = debian("ncdump", &["-v"], &[]).unwrap().text();
        assert!(version.contains("4.9.0"), "a build that was never looked at: {version}");
    }
}
