//! Debian's HDF5 1.10 with our plugins: h5repack writes with blosc, bzip2 and zstd, single and in chains, h5diff and
//! h5dump read it; what they write hdf5plugin reads, and the other way round. (For the ids 1 to 4 every libhdf5 has
//! filters of its own: `direct` and `netcdf4` show ours.)

use std::path::{Path, PathBuf};

use ncz_test_support::{Python, Skip, build_plugins, python};
use serde_json::Value;
use tempfile::TempDir;

use super::{debian, debian_ok};
use crate::harness::{run_json, with_one_damaged};

const SCRIPT: &str = "third_party.py";
/// The folders of third-party plugins in Debian's packages.
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins";
/// Filters as h5repack takes them (id, whether optional, number of words, words), the number of filters they make and
/// our plugins among them.
const REPACKS: [(&[&str], usize, &[&str]); 7] = [
    (&["UD=32015,0,1,3"], 1, &["zstd"]),
    (&["UD=32015,1,0"], 1, &["zstd"]),
    (&["UD=32001,0,7,0,0,0,0,5,1,1"], 1, &["blosc"]),
    (&["UD=32001,0,7,0,0,0,0,9,2,5"], 1, &["blosc"]),
    (&["UD=307,1,1,9"], 1, &["bzip2"]),
    (&["SHUF", "UD=32015,0,1,9", "FLET"], 3, &["zstd"]),
    // one after the other: data that do not shrink pass through all of them
    (&["UD=32001,0,0", "UD=307,0,0", "UD=32015,0,1,1"], 3, &["blosc", "bzip2", "zstd"]),
];

/// A folder with `plain.h5`: every type, sizes from one byte on, half of it noise, no filters; `small.h5` is without
/// the large arrays.
struct Files {
    folder: TempDir,
    python: Python,
}

impl Files {
    fn new(python: Python) -> Self {
        let files = Self { folder: tempfile::tempdir().unwrap(), python };
        for (name, option) in [("plain.h5", "--once"), ("small.h5", "--small")] {
            run_json(&files.python, SCRIPT, &["plain", "h5py", &files.text(name), "--once", option], None);
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn repack(&self, filters: &[&str], from: &str, to: &str, plugins: &[&Path]) -> Result<(), Skip> {
        let (from, to) = (self.text(from), self.text(to));
        let mut args: Vec<&str> = filters.iter().flat_map(|filter| ["-f", filter]).collect();
        args.extend([from.as_str(), to.as_str()]);
        let output = debian_ok("h5repack", &args, plugins)?;
        // if a plugin is not found, h5repack leaves the dataset unchanged, with a warning and success
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{filters:?}: {}", output.text());
        Ok(())
    }

    /// Reads every case with h5py, with the filters of hdf5plugin or without any.
    fn read(&self, name: &str, options: &[&str]) -> Value {
        let path = self.text(name);
        let args: Vec<&str> = ["read", "h5py", &path, "--once"].iter().chain(options).copied().collect();
        let read = run_json(&self.python, SCRIPT, &args, None);
        let wrong = read["wrong"].as_object().unwrap();
        assert!(wrong.is_empty(), "{name}: {} of {}: {wrong:?}", wrong.len(), read["count"]);
        read
    }

    /// What h5dump prints of all data, except for the file's name in the first line.
    fn dump(&self, name: &str, plugins: &[&Path]) -> Result<String, Skip> {
        let path = self.text(name);
        // 17 digits distinguish every float64 from its neighbours
        let text = debian_ok("h5dump", &["-m", "%.17g", &path], plugins)?.stdout_text();
        Ok(text.split_once('\n').unwrap().1.to_owned())
    }
}

#[test]
fn h5repack_writes_with_our_plugins_and_hdf5plugin_reads_it() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let files = Files::new(python);
    for (number, (filters, count, used)) in REPACKS.into_iter().enumerate() {
        // the large arrays once for each plugin
        let (plain, sizes): (_, &[&str]) = match number {
            0 | 2 | 4 => ("plain.h5", &[]),
            _ => ("small.h5", &["--small"]),
        };
        if files.repack(filters, plain, "packed.h5", &[&plugins]).is_err() {
            return;
        }
        let count = format!("--filters={count}");
        let read = files.read("packed.h5", &[&["--hdf5plugin", &*count], sizes].concat());
        assert_eq!(read["masked"], 0, "{filters:?}: chunks that did not go through every filter");
        // h5diff decodes in HDF5 1.10, and h5repack writes what it has decoded
        let compared = [files.text(plain), files.text("packed.h5")];
        debian_ok("h5diff", &compared, &[&plugins]).unwrap();
        files.repack(&["NONE"], "packed.h5", "unpacked.h5", &[&plugins]).unwrap();
        files.read("unpacked.h5", &[&["--unfiltered"], sizes].concat());
        // and without one of our libraries it does neither
        for name in used {
            let damaged = with_one_damaged(&plugins, name);
            let one = ["-d", "/i1_0_zstd", &compared[1]];
            debian_ok("h5dump", &one, &[&plugins]).unwrap();
            let output = debian("h5dump", &one, &[damaged.path()]).unwrap();
            assert!(!output.status.success(), "{filters:?} without {name}: {}", output.text());
        }
    }
}

#[test]
fn h5dump_reads_what_hdf5plugin_wrote_with_our_plugins() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let files = Files::new(python);
    let theirs = files.text("theirs.h5");
    run_json(&files.python, SCRIPT, &["write", "h5py", &theirs, "--once", "--hdf5plugin"], None);
    if files.repack(&["NONE"], "theirs.h5", "unpacked.h5", &[&plugins]).is_err() {
        return;
    }
    files.read("unpacked.h5", &["--unfiltered"]);
    for action in ["plain", "write"] {
        let mut args = vec![action, "h5py"];
        let path = files.text(&format!("small-{action}.h5"));
        args.extend([path.as_str(), "--once", "--small"]);
        if action == "write" {
            args.push("--hdf5plugin");
        }
        run_json(&files.python, SCRIPT, &args, None);
    }
    let dumped = files.dump("small-write.h5", &[&plugins]).unwrap();
    assert_eq!(dumped, files.dump("small-plain.h5", &[&plugins]).unwrap());
    assert!(dumped.matches("DATASET").count() > 60, "{dumped}");
    for name in ["blosc", "bzip2", "zstd"] {
        let damaged = with_one_damaged(&plugins, name);
        let output = debian("h5dump", &[files.text("small-write.h5")], &[damaged.path()]).unwrap();
        assert!(!output.status.success(), "all was dumped without {name}");
    }
}

#[test]
fn a_cut_chunk_is_an_error_in_h5dump_and_our_code_says_so() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let code = "import sys, h5py, numpy as np\n\
                data = np.arange(5000, dtype='<i4').reshape(50, 100) // 7\n\
                path, id_ = sys.argv[1], int(sys.argv[2])\n\
                with h5py.File(path, 'w') as f: f.create_dataset('v', data=data, chunks=data.shape, compression=id_)\n\
                with h5py.File(path, 'r+') as f:\n\
                \x20   chunk = f['v'].id.read_direct_chunk((0, 0))[1]\n\
                \x20   f['v'].id.write_direct_chunk((0, 0), chunk[:len(chunk) * 2 // 3])\n";
    for (id, name) in [("32001", "blosc"), ("307", "bzip2"), ("32015", "zstd")] {
        let path = folder.path().join(name).display().to_string();
        python.run_code(code, &[&path, id], &[("HDF5_PLUGIN_PATH", plugins.as_os_str())]).unwrap();
        let Ok(output) = debian("h5dump", &[&path], &[&plugins]) else { return };
        let text = output.text();
        assert!(!output.status.success(), "{name}: {text}");
        let ours = text.lines().find(|line| line.starts_with(&format!("ncz: {name}: decode ")));
        assert!(ours.is_some_and(|line| line.contains("libhdf5_serial")), "{name} did not run: {text}");
    }
}

#[test]
fn beside_debians_own_plugins_the_data_are_right_in_either_order() {
    let Ok(python) = python() else { return };
    if !Path::new(DEBIAN).is_dir() {
        let remedy = "apt-get install hdf5-filter-plugin, or run tests/support/setup.sh";
        drop(Skip::new("Debian's HDF5 plugins", format!("no {DEBIAN}"), remedy));
        return;
    }
    let plugins = build_plugins().unwrap();
    let files = Files::new(python);
    let debians = Path::new(DEBIAN);
    // lz4 is only Debian's; optional, as their filters fail if data do not shrink
    let filters = ["UD=32004,1,0", "UD=32001,1,7,0,0,0,0,5,1,1", "UD=307,1,1,9", "UD=32015,1,1,3"];
    for order in [[&*plugins, debians], [debians, &*plugins]] {
        if files.repack(&filters, "plain.h5", "mixed.h5", &order).is_err() {
            return;
        }
        for order in [[&*plugins, debians], [debians, &*plugins]] {
            files.repack(&["NONE"], "mixed.h5", "unpacked.h5", &order).unwrap();
            files.read("unpacked.h5", &["--unfiltered"]);
        }
    }
}
