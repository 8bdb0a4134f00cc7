use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use ncz_test_support::unpack;
use tempfile::TempDir;

use crate::bench::command;
use crate::ncdump::tool;

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
    let run = tool("zmapio", ["-t", "int", "-x", "objdump", &url]).ends(0);
    assert_eq!(run.stderr, "");
    assert_eq!(
        lines(&run.stdout),
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
    assert!(run.stdout.contains("[1] /.zgroup : (18) |{\"zarr_format\": 2}|\n[3]"), "{}", run.stdout);
    assert!(run.stdout.contains("[6] /g/.zgroup : (0) ||\n"), "{}", run.stdout);
}

#[test]
fn items_are_shown_in_the_type_and_the_format_that_are_asked_for() {
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
        let output = command().arg0("zmapio").args(&options).arg(&url).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.lines().any(|line| line == wanted), "{options:?}: {wanted}\n{text}");
    }
    let letters = command().arg0("zmapio").args(["-t", "char", &url]).output().unwrap();
    let letters = String::from_utf8_lossy(&letters.stdout);
    assert!(letters.contains("(12) (char) |'a', 'b', '\0', '\0', 'c'"), "{letters}");
}

#[test]
fn a_dataset_in_a_zip_file_is_listed_as_one_in_a_folder() {
    let folder = unpack("netcdf-c-4.10.2/nczarr/simple.zip").unwrap();
    let zip: PathBuf = ncz_test_support::fixtures().join("netcdf-c-4.10.2/nczarr/simple.zip");
    let of = |url: &str| tool("zmapio", ["-t", "float", url]).ends(0).stdout;
    let listed = of(&format!("file://{}#mode=nczarr,file", folder.path().display()));
    assert_eq!(of(&format!("file://{}#mode=nczarr,zip", zip.display())), listed);
    assert_eq!(of(zip.to_str().unwrap()), listed);
    assert!(listed.contains("/lat/.zarray : ("), "{listed}");
}

#[test]
fn what_it_needs_is_said() {
    let (folder, url) = dataset();
    let path = folder.path().join("d.zarr");
    for args in [
        vec![path.to_str().unwrap()],
        vec!["-t", "nothing", &url],
        vec!["-x", "clear", &url],
        vec!["-v", &url],
    ] {
        let run = tool("zmapio", &args).ends(1);
        assert!(run.stderr.contains("usage: zmapio"), "{args:?}: {}", run.stderr);
    }
    let run = tool("zmapio", [url.as_str()]).ends(0);
    assert_eq!(run.stderr, "Default type: ubyte\nDefault action: objdump\n");
    tool("zmapio", ["-F", "%s", &url]).ends(1).says(&["-F %s does not fit the type ubyte"]);
    tool("zmapio", ["file:///nowhere#mode=zarr,file"]).ends(1).says(&["fail: ", "does not exist"]);
}

#[test]
fn one_filter_is_asked_for() {
    for (filter, answer) in [
        ("1", "yes"),
        ("deflate", "yes"),
        ("zstd", "yes"),
        ("32015", "yes"),
        ("307", "yes"),
        ("40000", "no"),
        ("lzo", "no"),
    ] {
        assert_eq!(tool("ncfilteravail", [filter]).ends(0).stdout, answer, "{filter}");
        let run = crate::bench::ncz(["plugins", "avail", filter]).ends(i32::from(answer == "no"));
        assert!(run.stdout.starts_with(answer), "{}", run.stdout);
    }
    tool("ncfilteravail", ["a", "b"]).ends(1).says(&["more than one filter specified"]);
    let json = crate::bench::ncz(["plugins", "avail", "lzo", "--json"]).ends(1).json();
    assert_eq!(json["available"], false);
    assert!(json["reason"].as_str().unwrap().contains("lzo"), "{json}");
}
