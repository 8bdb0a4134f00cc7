//! zmapio on datasets in folders and zip files.

#![expect(clippy::unwrap_used, reason = "helpers are outside test functions")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ncz_test_support::unpack;
use tempfile::TempDir;

/// Runs the program, checks its exit code, and returns standard output and standard error.
#[track_caller]
fn zmapio(arguments: &[&str], code: i32) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_zmapio")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{stdout}{stderr}");
    (stdout, stderr)
}

/// A dataset written by hand: two groups, a big-endian array, an empty object.
fn dataset() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("d.zarr");
    let write = |key: &str, bytes: &[u8]| {
        let path = root.join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let zarray = |dtype: &str| {
        format!(
            r#"{{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "{dtype}", "fill_value": 0, "order": "C", "compressor": null, "filters": null}}"#
        )
    };
    write(".zgroup", br#"{"zarr_format": 2}"#);
    write(".zattrs", b"{}");
    write("a/.zarray", zarray(">i4").as_bytes());
    write("a/0", &[0, 0, 0, 1, 0, 0, 0, 2, 255, 255, 255, 255]);
    write("g/.zgroup", b"");
    write("g/s/.zarray", zarray("|S4").as_bytes());
    write("g/s/0", b"ab\0\0cdefgh\0\0");
    let url = format!("file://{}#mode=zarr,file", root.display());
    (folder, url)
}

/// The lines of a listing without the content of metadata.
fn lines(text: &str) -> Vec<String> {
    let short = |line: &str| match line.split_once(" : ") {
        Some((key, rest)) if key.contains("/.z") => format!("{key} : {}", rest.split(' ').next().unwrap()),
        _ => line.to_owned(),
    };
    text.lines().map(short).collect()
}

#[test]
fn objects_are_listed_in_depth_with_every_name_counted() {
    let (_folder, url) = dataset();
    let (stdout, stderr) = zmapio(&["-t", "int", "-x", "objdump", &url], 0);
    assert_eq!(stderr, "");
    assert_eq!(
        lines(&stdout),
        [
            "[0] /.zattrs : (2)",
            "[1] /.zgroup : (18)",
            "[3] /a/.zarray : (131)",
            "[4] /a/0 : (3) (int) |1, 2, -1|",
            "[6] /g/.zgroup : (0)",
            "[8] /g/s/.zarray : (131)",
            "[9] /g/s/0 : (3) (int) |25185, 1717920867, 26727|",
        ]
    );
    assert!(stdout.contains("[1] /.zgroup : (18) |{\"zarr_format\": 2}|\n[3]"), "{}", stdout);
    assert!(stdout.contains("[6] /g/.zgroup : (0) ||\n"), "{}", stdout);
}

#[test]
fn items_are_printed_in_the_type_and_format_of_the_options() {
    let (_folder, url) = dataset();
    for (options, wanted) in [
        (vec!["-t", "ubyte"], "[4] /a/0 : (12) (ubyte) |0, 0, 0, 1, 0, 0, 0, 2, 255, 255, 255, 255|"),
        (vec!["-t", "short"], "[4] /a/0 : (6) (short) |0, 1, 0, 2, -1, -1|"),
        (vec!["-t", "uint", "-F", "%08x"], "[4] /a/0 : (3) (uint) |00000001, 00000002, ffffffff|"),
        (vec!["-t", "int64"], "[4] /a/0 : (2) (int64) |4294967298, -4294967296|"),
        (vec!["-t", "int", "-h"], "[4] /a/0 : (3) (int) |...|"),
        (vec!["-t", "string/4"], "[9] /g/s/0 : (3) |  ab, cdef,   gh|"),
        (vec!["-t", "float", "-F", "%.1g"], "[4] /a/0 : (3) (float) |1e-45, 3e-45, nan|"),
    ] {
        let (text, _) = zmapio(&[&options[..], &[&url]].concat(), 0);
        assert!(text.lines().any(|line| line == wanted), "{options:?}: {wanted}\n{text}");
    }
    let (letters, _) = zmapio(&["-t", "char", &url], 0);
    assert!(letters.contains("(12) (char) |'a', 'b', '\0', '\0', 'c'"), "{letters}");
}

#[test]
fn a_dataset_in_a_zip_file_is_listed_as_one_in_a_folder() {
    let folder = unpack("netcdf-c-4.10.2/nczarr/simple.zip").unwrap();
    let zip: PathBuf = ncz_test_support::fixtures().join("netcdf-c-4.10.2/nczarr/simple.zip");
    let of = |url: &str| zmapio(&["-t", "float", url], 0).0;
    let listed = of(&format!("file://{}#mode=nczarr,file", folder.path().display()));
    assert_eq!(of(&format!("file://{}#mode=nczarr,zip", zip.display())), listed);
    assert_eq!(of(zip.to_str().unwrap()), listed);
    assert!(listed.contains("/lat/.zarray : ("), "{listed}");
}

#[test]
fn wrong_arguments_are_refused_with_the_usage() {
    let (folder, url) = dataset();
    let path = folder.path().join("d.zarr");
    for args in [
        vec![path.to_str().unwrap()],
        vec!["-t", "nothing", &url],
        vec!["-x", "clear", &url],
        vec!["-v", &url],
    ] {
        let (_, stderr) = zmapio(&args, 1);
        assert!(stderr.contains("usage: zmapio"), "{args:?}: {stderr}");
    }
    let (_, stderr) = zmapio(&[&url], 0);
    assert_eq!(stderr, "Default type: ubyte\nDefault action: objdump\n");
    let (_, stderr) = zmapio(&["-F", "%s", &url], 1);
    assert!(stderr.contains("-F %s does not fit the type ubyte"), "{stderr}");
    let (_, stderr) = zmapio(&["file:///nowhere#mode=zarr,file"], 1);
    assert!(stderr.contains("fail: ") && stderr.contains("does not exist"), "{stderr}");
}
