//! Input that is missing, damaged or absurd, through the command: an error that names variable, chunk, codec, path and
//! remedy; an exit code; nothing lost, the target absent or whole.

use std::path::{Path, PathBuf};

use ncz_test_support::{Output, SmallDisk, fixtures, unpack};
use tempfile::TempDir;

use crate::copy::entries;
use crate::harness::{ncz, ncz_ok};

/// What the exit code says.
const FINDINGS: i32 = 1;
const USAGE: i32 = 2;
const FAILED: i32 = 3;

/// A dataset of zarr-python, `/v` of 50 x 37 float32 in chunks of 20 x 15, to be damaged.
struct Victim {
    folder: TempDir,
}

impl Victim {
    fn new() -> Self {
        Self::of("zarr-python/v2-zlib.zip")
    }

    fn of(fixture: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::rename(unpack(fixture).unwrap().keep(), folder.path().join("in")).unwrap();
        Self { folder }
    }

    /// The dataset with other codecs.
    fn with(options: &[&str]) -> Self {
        let original = Self::new();
        let folder = tempfile::tempdir().unwrap();
        let victim = Self { folder };
        ncz_ok(&[&["copy", &original.path(), &victim.path(), "-q"], options].concat());
        victim
    }

    fn path(&self) -> String {
        self.folder.path().join("in").display().to_string()
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn edit(&self, key: &str, edit: impl FnOnce(&str) -> String) {
        let file = Path::new(&self.path()).join(key);
        let text = edit(&std::fs::read_to_string(&file).unwrap());
        std::fs::write(file, text).unwrap();
    }

    fn chunk(&self) -> PathBuf {
        Path::new(&self.path()).join("v/1.1")
    }

    fn dump(&self) -> Output {
        ncz(&["dump", "-v", "v", &self.path()])
    }

    /// Checks that a copy fails with all of `words` in its message, and leaves no files.
    fn refuses_to_copy(&self, options: &[&str], code: i32, words: &[&str]) {
        let target = self.target().display().to_string();
        let output = ncz(&[&["copy", &self.path(), &target, "-q"], options].concat());
        says(&output, code, words);
        assert_eq!(entries(self.folder.path()), ["in"], "leftovers of {}", output.text());
    }
}

/// The exit code, and words among what is printed.
fn says(output: &Output, code: i32, words: &[&str]) {
    let text = output.text();
    assert_eq!(output.status.code(), Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not said: {text}");
    }
}

#[test]
fn a_codec_that_is_missing_is_named_with_the_variable_and_the_remedy() {
    let victim = Victim::of("zarr-python/v2-lz4.zip");
    // a codec that no program has yet
    victim.edit("v/.zarray", |text| text.replace("\"lz4\"", "\"lz5\""));
    let words = ["\"/v\"", "lz5", "not built in", "HDF5_PLUGIN_PATH"];
    says(&victim.dump(), FAILED, &words);
    victim.refuses_to_copy(&[], FAILED, &words);
    victim.refuses_to_copy(&["--compress"], FAILED, &words);
    // the folders that were searched
    victim.refuses_to_copy(&["--plugin-path", "/nowhere/at/all"], FAILED, &["lz5", "/nowhere/at/all"]);
    // the metadata are there
    says(&ncz(&["info", &victim.path()]), FINDINGS, &words);
    assert!(ncz_ok(&["dump", "-h", &victim.path()]).stdout_text().contains("float v(y, x)"));
}

#[test]
fn an_unknown_filter_is_refused_before_anything_is_made() {
    let victim = Victim::new();
    victim.refuses_to_copy(&["-F", "*,40000"], FAILED, &["40000", "HDF5_PLUGIN_PATH"]);
    victim.refuses_to_copy(&["-F", "v,zstd,3|nonesuch"], FAILED, &["nonesuch"]);
    victim.refuses_to_copy(&["--codec", r#"{"id":"json2"}"#], FAILED, &["json2"]);
    victim.refuses_to_copy(&["--codec", r#"{"id":"zstd","level":99}"#], USAGE, &["level", "99"]);
    victim.refuses_to_copy(&["--codec", r#"{"id":"#], USAGE, &["JSON"]);
    victim.refuses_to_copy(&["-F", "nonesuch,zstd"], USAGE, &["nonesuch"]);
    victim.refuses_to_copy(&["-F", "*,1,x"], USAGE, &["1,x"]);
}

#[test]
fn cut_and_lengthened_chunks_are_errors_that_name_chunk_and_codec() {
    for (options, codec) in [
        (&["--codec", "none"][..], "1200"),
        (&["--codec", r#"{"id":"zlib","level":4}"#], "deflate"),
        (&["--codec", r#"{"id":"bz2","level":4}"#], "bzip2"),
        (&["--codec", r#"{"id":"zstd","level":3}"#], "zstd"),
        (&["--codec", r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#], "blosc"),
        (&["--codec", r#"{"id":"fletcher32"}"#], "fletcher32"),
        (&["--codec", r#"{"id":"shuffle","elementsize":4}"#], "shuffle"),
        (&["-F", "v,szip,32,8"], "szip"),
        (&["-F", "v,shuffle|zstd|fletcher32"], "fletcher32"),
    ] {
        let victim = Victim::with(options);
        let whole = std::fs::read(victim.chunk()).unwrap();
        let changes: [Vec<u8>; 7] = [
            Vec::new(),
            whole[..1].to_vec(),
            whole[..3].to_vec(),
            whole[..whole.len() / 2].to_vec(),
            whole[..whole.len() - 1].to_vec(),
            [&whole[..], b"\0"].concat(),
            [&whole[..], &whole[..]].concat(),
        ];
        for (number, changed) in changes.into_iter().enumerate() {
            std::fs::write(victim.chunk(), &changed).unwrap();
            // a chunk that is longer than any of its chain is not even read
            let what = if changed.len() > whole.len() { "v" } else { codec };
            let words = ["\"/v\"", "v/1.1", what];
            says(&victim.dump(), FAILED, &words);
            if number == 4 {
                victim.refuses_to_copy(&["--codec", "none", "-c", "v:50,37"], FAILED, &words);
                // only this option decodes chunks that pass unchanged
                victim.refuses_to_copy(&["--verify"], FAILED, &words);
            }
        }
    }
}

#[test]
fn a_changed_byte_is_an_error_wherever_a_checksum_is_and_never_a_crash() {
    for (options, checked) in [
        (&["--codec", r#"{"id":"zlib","level":4}"#][..], true),
        (&["--codec", r#"{"id":"bz2","level":4}"#], true),
        (&["-F", "v,shuffle|zstd|fletcher32"], true),
        (&["--codec", r#"{"id":"zstd","level":3}"#], false),
        (&["--codec", r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#], false),
        (&["--codec", r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":2}"#], false),
        (&["-F", "v,szip,32,8"], false),
    ] {
        let victim = Victim::with(options);
        let whole = std::fs::read(victim.chunk()).unwrap();
        for step in 0..24 {
            let mut changed = whole.clone();
            // the head has the lengths
            let at = if step < 16 { step } else { whole.len() * (step - 15) / 9 };
            changed[at] ^= 1 << (step % 8);
            std::fs::write(victim.chunk(), &changed).unwrap();
            let output = victim.dump();
            match output.status.code() {
                Some(FAILED) => says(&output, FAILED, &["\"/v\"", "v/1.1"]),
                Some(0) => assert!(!checked, "{options:?}: byte {at} was not missed"),
                _ => panic!("{options:?}, byte {at}: {}", output.text()),
            }
        }
    }
}

#[test]
fn metadata_that_are_not_json_or_nested_without_end_are_named() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for document in ["{", "", "[1", "\u{0}", "{\"a\":1}x", &deep, &format!("{{\"a\":{deep}}}")] {
        let victim = Victim::new();
        victim.edit(".zattrs", |_| document.to_owned());
        says(&ncz(&["info", &victim.path()]), FAILED, &[".zattrs", &victim.path()]);
        victim.refuses_to_copy(&[], FAILED, &[".zattrs"]);
        // a variable's: the rest opens, a copy would lack it
        for key in ["v/.zattrs", "v/.zarray"] {
            let victim = Victim::new();
            victim.edit(key, |_| document.to_owned());
            says(&ncz(&["info", &victim.path()]), FINDINGS, &["\"/v\"", key]);
            victim.refuses_to_copy(&[], FAILED, &["\"/v\"", key]);
        }
    }
}

#[test]
fn absurd_shapes_are_distinguished_and_take_no_memory() {
    // a huge array of which a few chunks exist is one like any other
    let victim = Victim::new();
    victim.edit("v/.zarray", |text| text.replace("50,", "1152921504606846976,"));
    ncz_ok(&["dump", "-h", &victim.path()]);
    let target = victim.target().display().to_string();
    ncz_ok(&["copy", &victim.path(), &target, "-q", "--compress", "--verify"]);
    assert_eq!(entries(&victim.target().join("v")).len(), 11, "9 chunks and two documents");

    for (from, to, words) in [
        ("20,", "0,", &["chunks"][..]),
        ("20,", "-3,", &["chunks"]),
        ("20,", "1.5,", &["chunks"]),
        ("50,", "-50,", &["shape"]),
        ("50,", "1e999,", &["shape"]),
        ("50,", "340282366920938463463374607431768211456,", &["shape"]),
        ("<f4", "<f3", &["<f3"]),
        ("\"C\"", "\"K\"", &["order"]),
    ] {
        let victim = Victim::new();
        victim.edit("v/.zarray", |text| text.replacen(from, to, 1));
        let words = [&["\"/v\""], words].concat();
        says(&ncz(&["info", &victim.path()]), FINDINGS, &words);
        victim.refuses_to_copy(&[], FAILED, &words);
    }
    // more than any memory in one chunk
    let victim = Victim::new();
    victim.edit("v/.zarray", |text| text.replace("20,", "1152921504606846976,"));
    says(&victim.dump(), FAILED, &["\"/v\"", "1152921504606846976"]);
    victim.refuses_to_copy(&["--compress"], FAILED, &["\"/v\"", "1152921504606846976"]);
}

#[test]
fn a_damaged_netcdf_file_and_a_path_without_a_dataset_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out").display().to_string();
    for (name, magic) in
        [("a.nc", &b"CDF\x01"[..]), ("b.nc", b"\x89HDF\r\n\x1a\n"), ("c.h5", b"\x89HDF\r\n\x1a\n")]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, magic).unwrap();
        let path = path.display().to_string();
        says(&ncz(&["copy", &path, &target]), FAILED, &[name, "cannot read the dataset"]);
    }
    says(&ncz(&["copy", "/nowhere/at/all", &target]), FAILED, &["/nowhere/at/all", "does not exist"]);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let empty = folder.path().join("empty").display().to_string();
    says(&ncz(&["info", &empty]), FAILED, &[&empty]);
    assert_eq!(entries(folder.path()), ["a.nc", "b.nc", "c.h5", "empty"]);
}

#[test]
fn on_a_full_disk_the_target_is_absent_and_nothing_is_left() {
    let Ok(disk) = SmallDisk::mount("900k") else { return };
    let source = fixtures().join("ocean.nczarr").display().to_string();
    let target = disk.path().join("out").display().to_string();
    let output = ncz(&["copy", &source, &target, "--codec", "none", "-q"]);
    says(&output, FAILED, &[&target, "No space left"]);
    assert_eq!(entries(disk.path()), [""; 0], "{}", output.text());
    // what was there stays
    ncz_ok(&[
        "copy",
        &source,
        &target,
        "-F",
        "*,none",
        "-F",
        "air_temperature&sea_surface_temperature&model/salinity,bzip2",
        "-q",
    ]);
    let before = ncz_ok(&["dump", &target]).stdout_text();
    let output = ncz(&["copy", &source, &target, "--codec", "none", "-q", "--overwrite"]);
    says(&output, FAILED, &[&target, "No space left"]);
    assert_eq!(ncz_ok(&["dump", &target]).stdout_text(), before);
    assert_eq!(entries(disk.path()), ["out"]);
}
