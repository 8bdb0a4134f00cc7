use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::fixtures;

/// How the program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program, with no plugins around and no colours.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncz"));
    command.env("HDF5_PLUGIN_PATH", "").env_remove("HDF5_PLUGIN_PRELOAD").env("NO_COLOR", "1");
    // What is known of plugins here is nothing for the user's own programs.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

/// Runs the program.
pub(crate) fn ncz<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    run(command().args(args))
}

pub(crate) fn run(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        // The text of an attribute in a file need not be UTF-8.
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
    /// It must have ended so.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// It must have said this on standard error, all of it.
    #[track_caller]
    pub(crate) fn says(self, wanted: &[&str]) -> Self {
        for text in wanted {
            assert!(self.stderr.contains(text), "{text:?} is missing in\n{}", self.stderr);
        }
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// The dataset of the README's example.
pub(crate) fn ocean() -> PathBuf {
    fixtures().join("ocean.nczarr")
}

/// Everything that a copy must keep: the text of header and values with all digits.
#[track_caller]
pub(crate) fn dump(path: &Path) -> String {
    let run = ncz([Path::new("dump"), path, Path::new("-n"), Path::new("d")]);
    // Old netcdf-c left a doubt about byte order that is a finding.
    let findings = i32::from(run.stderr.contains("netcdf-c 4.9.2 or older"));
    run.ends(findings).stdout
}

/// Both texts must be the same; shows the first line that differs.
#[track_caller]
pub(crate) fn assert_same_text(ours: &str, theirs: &str, what: &str) {
    for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{what}, line {}", at + 1);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{what}");
}

/// Both datasets must print the same, values and all.
#[track_caller]
pub(crate) fn assert_same_data(one: &Path, other: &Path) {
    assert_same_text(&dump(one), &dump(other), &other.display().to_string());
}

/// Makes a pure Zarr dataset by hand: one array `t` of 64-bit integers, uncompressed, in chunks of
/// `chunk` elements.
pub(crate) fn big_dataset(folder: &Path, chunks: u64, chunk: u64) -> PathBuf {
    let root = folder.join("big.zarr");
    let array = root.join("t");
    std::fs::create_dir_all(&array).unwrap();
    std::fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let len = chunks * chunk;
    let zarray = format!(
        r#"{{"zarr_format": 2, "shape": [{len}], "chunks": [{chunk}], "dtype": "<i8", "fill_value": 0, "order": "C", "compressor": null, "filters": null}}"#
    );
    std::fs::write(array.join(".zarray"), zarray).unwrap();
    let mut state = 1u64;
    for index in 0..chunks {
        let mut bytes = Vec::with_capacity(chunk as usize * 8);
        for _ in 0..chunk {
            // Hard to compress, so that it takes its time.
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            bytes.extend((state >> 20).to_le_bytes());
        }
        std::fs::write(array.join(index.to_string()), bytes).unwrap();
    }
    root
}
