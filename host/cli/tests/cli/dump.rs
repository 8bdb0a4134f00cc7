use std::fs;

use ncz_test_support::{fixtures, unpack};

use crate::bench::{assert_same_text, dump, ncz, ocean};
use crate::ncdump::differences;

/// Compares the dump of every dataset with a stored text of ncdump 4.10.2.
fn compare(extension: &str, options: &[&str]) {
    let mut compared = 0;
    for kind in ["nczarr", "zarr", "noxarray"] {
        for entry in fs::read_dir(fixtures().join(format!("netcdf-c-4.10.2/{kind}"))).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|found| found != extension) {
                continue;
            }
            let dataset = path.file_stem().unwrap().to_str().unwrap();
            let name = format!("{kind}/{dataset}");
            let mut theirs = fs::read_to_string(&path).unwrap();
            for [file, wrong, right] in differences() {
                if name.ends_with(&file) {
                    theirs = theirs.replace(&wrong, &right);
                }
            }
            let source = unpack(format!("netcdf-c-4.10.2/{name}.zip")).unwrap();
            let run = ncz(["dump", source.path().to_str().unwrap(), "-n", dataset, "-p", "7,15"]
                .iter()
                .chain(options));
            let ours = run.ends(0).stdout;
            assert_same_text(&ours, &theirs, &name);
            compared += 1;
        }
    }
    assert_eq!(compared, 25);
}

#[test]
fn datasets_print_as_ncdump_prints_them() {
    compare("ncdump", &[]);
}

#[test]
fn headers_with_special_attributes_print_as_ncdump_prints_them() {
    compare("ncdump-hs", &["-h", "-s"]);
}

#[test]
fn all_filters_are_listed_on_request() {
    let source = unpack("netcdf-c-4.10.2/nczarr/filters.zip").unwrap();
    let text = ncz(["dump", "-h", "-F", source.path().to_str().unwrap()]).ends(0).stdout;
    assert!(text.contains("deflate:_Filter = \"2|1,6\" ;"), "{text}");
    assert!(text.contains("chain:_Filter = \"2,8|3|307,4\" ;"), "{text}");
}

#[test]
fn only_the_values_that_are_asked_for_are_printed() {
    let path = ocean();
    let text = ncz(["dump", "-v", "time,model/depth", path.to_str().unwrap()]).ends(0).stdout;
    assert!(text.contains("\n time = 0, 3, 6, 9, 12, 15,"), "{text}");
    assert!(text.contains("\n   depth = "), "{text}");
    assert!(!text.contains(" lat = 90,"), "{text}");
    assert!(text.starts_with("netcdf ocean {\n"), "{text}");
    ncz(["dump", "-v", "tme", path.to_str().unwrap()])
        .ends(2)
        .says(&["no variable \"tme\"", "did you mean \"/time\"?"]);
}

#[test]
fn values_are_the_same_in_blocks_of_any_size_and_with_any_number_of_threads() {
    let path = ocean();
    let one = ncz(["dump", path.to_str().unwrap(), "-n", "d", "--threads", "1"]).ends(0).stdout;
    assert_same_text(&one, &dump(&path), "one thread");
}

#[test]
fn a_variable_that_cannot_be_read_leaves_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    for (name, codec, len) in [
        ("a", "null", 2),
        ("b", r#"{"id": "categorize"}"#, 2),
        ("c", r#"{"id": "zlib", "level": 1}"#, 2),
        ("d", r#"{"id": "zlib", "level": 1}"#, 4 << 20),
        ("e", "null", 1),
    ] {
        fs::create_dir(root.join(name)).unwrap();
        let chunk = if name == "d" { len / 4 } else { len };
        let zarray = format!(
            r#"{{"zarr_format": 2, "shape": [{len}], "chunks": [{chunk}], "dtype": "<i4", "fill_value": 7, "order": "C", "compressor": {codec}, "filters": null}}"#
        );
        fs::write(root.join(name).join(".zarray"), zarray).unwrap();
    }
    fs::write(root.join("c/0"), b"no zlib").unwrap();
    // The first blocks are fill values.
    fs::write(root.join("d/3"), b"no zlib").unwrap();
    let path = root.to_str().unwrap();
    let run = ncz(["dump", path]).ends(1).says(&[
        "values of variable \"/b\" are left out",
        "categorize",
        "HDF5_PLUGIN_PATH",
        "values of variable \"/c\" are left out",
        "values of variable \"/d\" are left out",
    ]);
    assert!(run.stdout.contains("\n a = 7, 7 ;\n\n // b cannot be read: "), "the others are there");
    assert!(run.stdout.contains("\n // c cannot be read: "), "{}", &run.stdout[run.stdout.len() - 900..]);
    assert!(run.stdout.contains("\n// d(2097152) and what follows cannot be read: "));
    assert!(run.stdout.ends_with("\n e = 7 ;\n}\n"), "{}", &run.stdout[run.stdout.len() - 900..]);
    ncz(["dump", "-h", path]).ends(0);
    let run = ncz(["dump", "-v", "a", path]).ends(0);
    assert!(run.stdout.contains("\n a = 7, 7 ;"), "{}", run.stdout);
    let json = ncz(["dump", "--json", "-v", "a,b,c,e", path]).ends(3).json();
    assert_eq!(json["variables"][0]["data"], serde_json::json!([7, 7]));
    assert_eq!(json["variables"][1]["data"], serde_json::json!([]));
    assert!(json["variables"][1]["error"].as_str().unwrap().contains("categorize"), "{json}");
    assert_eq!(json["variables"][3].get("data"), None, "{json}");
    assert_eq!(json["variables"][4]["data"], serde_json::json!([7]));
    let run = ncz(["info", path]).ends(1);
    assert!(run.stdout.contains("warning: variable \"/b\": codec {\"id\":\"categorize\"}"), "{}", run.stdout);
}

#[test]
fn json_has_the_values_the_types_and_all_digits() {
    let folder = unpack("netcdf-c-4.10.2/nczarr/types.zip").unwrap();
    let json = ncz(["dump", "--json", folder.path().to_str().unwrap()]).ends(0).json();
    assert_eq!(json["schema"], 1);
    let of = |name: &str| {
        let variables = json["variables"].as_array().unwrap();
        variables.iter().find(|variable| variable["name"] == name).unwrap().clone()
    };
    let cdl = ncz(["dump", folder.path().to_str().unwrap()]).ends(0).stdout;
    // What CDL prints of a variable of integers is its data, except for the fill value.
    for variable in json["variables"].as_array().unwrap() {
        let (name, data) = (variable["name"].as_str().unwrap(), &variable["data"]);
        let mut flat = Vec::new();
        flatten(data, &mut flat);
        let numbers = flat.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let is_whole = matches!(
            variable["type"].as_str(),
            Some("byte" | "short" | "int" | "ubyte" | "uint64" | "int64")
        );
        if is_whole && !cdl.contains(&format!(" {name} = {numbers} ;")) {
            assert!(cdl.contains(&format!("\n {name} =")) && cdl.contains('_'), "{name}: {numbers}\n{cdl}");
        }
    }
    let variable = of("f");
    assert_eq!(variable["type"], "float");
    let mut floats = Vec::new();
    flatten(&variable["data"], &mut floats);
    assert!(
        floats.contains(&&serde_json::json!("NaN")) && floats.contains(&&serde_json::json!("Infinity")),
        "{floats:?}"
    );
}

fn flatten<'a>(data: &'a serde_json::Value, flat: &mut Vec<&'a serde_json::Value>) {
    match data {
        serde_json::Value::Array(items) => items.iter().for_each(|item| flatten(item, flat)),
        other => flat.push(other),
    }
}

#[test]
fn a_type_that_cdl_has_not_leaves_the_rest_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    for (name, dtype, filters) in [
        ("a", r#"[["x", "<i4"], ["y", "<f8"]]"#, "null"),
        ("b", "\"|O\"", r#"[{"id": "pickle"}]"#),
        ("c", "\"<f2\"", "null"),
        ("d", "\"|O\"", r#"[{"id": "vlen-utf8"}]"#),
    ] {
        fs::create_dir(root.join(name)).unwrap();
        let zarray = format!(
            r#"{{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": {dtype}, "fill_value": null, "order": "C", "compressor": null, "filters": {filters}}}"#
        );
        fs::write(root.join(name).join(".zarray"), zarray).unwrap();
    }
    let run = ncz(["dump", root.to_str().unwrap()]).ends(0).says(&[
        "variable \"/a\" has the Zarr type",
        "variable \"/b\" has the Zarr type |O, which CDL cannot express; its values are left out",
    ]);
    for line in [
        "\t// a(_Anonymous_Dim_2) is of the Zarr type [[\"x\",\"<i4\"],[\"y\",\"<f8\"]], which netCDF does not have\n",
        "\t// b(_Anonymous_Dim_2) is of the Zarr type |O, which netCDF does not have\n",
        "\tfloat c(_Anonymous_Dim_2) ; // Zarr type <f2\n",
        "\tstring d(_Anonymous_Dim_2) ; // Zarr type vlen-utf8\n",
        "\n c = 0, 0 ;\n",
        "\n d = _, _ ;\n",
    ] {
        assert!(run.stdout.contains(line), "{}", run.stdout);
    }
}

/// Three records of two rows, an inner unlimited dimension, text, and a number without dimensions.
const CUT: &str = "netcdf d {
dimensions: t = UNLIMITED ; u = UNLIMITED ; x = 4 ; n = 3 ;
variables: int v(t, x) ; int w(t, u, x) ; char c(t, n) ; string s(x) ; double one ;
data: v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ;
 w = {1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}, {17, 18, 19, 20, 21, 22, 23, 24} ;
 c = \"abc\", \"def\", \"ghi\" ; s = \"a\", \"b\", \"c\", \"d\" ; one = 1.5 ;
}";

#[test]
fn the_head_of_each_variable_is_cdl_that_says_how_many_values_follow() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("d.cdl"), CUT).unwrap();
    ncz(["gen", &path("d.cdl"), "-o", &path("d.zarr")]).ends(0);
    let all = ncz(["dump", &path("d.zarr")]).ends(0).stdout;
    assert_eq!(ncz(["dump", "--head", "1000", &path("d.zarr")]).ends(0).stdout, all);
    for head in 1..30 {
        let text = ncz(["dump", "--head", &head.to_string(), &path("d.zarr")]).ends(0).stdout;
        std::fs::write(path("cut.cdl"), &text).unwrap();
        let run = ncz(["gen", "--check", &path("cut.cdl")]);
        assert_eq!(run.code, 0, "{head}: {}\n{text}", run.stderr);
        let more = |total: u64, name: &str| {
            let comment = format!("// {} more values of {name}\n", total.saturating_sub(head));
            assert_eq!(text.contains(&comment), head < total, "{head}, {name}: {text}");
        };
        more(12, "v");
        more(24, "w");
        more(4, "s");
        assert!(text.contains("one = 1.5 ;"), "{text}");
        let rows = head.div_ceil(3).min(3);
        assert_eq!(text.matches("more values of c").count(), usize::from(rows < 3), "{text}");
        let json = ncz(["dump", "--json", "--head", &head.to_string(), &path("d.zarr")]).ends(0).json();
        let v = &json["variables"][0];
        assert_eq!(v["more"].as_u64().unwrap_or(0), 12_u64.saturating_sub(head), "{v}");
        let numbers: Vec<u64> = v["data"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row.as_array().unwrap())
            .map(|n| n.as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (1..=head.min(12)).collect::<Vec<_>>());
    }
    let cut = ncz(["dump", "--head", "2", "-v", "v,w,c", &path("d.zarr")]).ends(0).stdout;
    assert!(cut.contains(" v =\n  1, 2 ;\n  // 10 more values of v\n"), "{cut}");
    assert!(cut.contains(" w =\n  {1, 2} ;\n  // 22 more values of w\n"), "{cut}");
    assert!(cut.contains("  \"abc\" ;\n  // 6 more values of c\n"), "{cut}");
}

/// An array without chunks, of more values than anyone waits for.
fn endless(folder: &std::path::Path) -> std::path::PathBuf {
    let path = crate::bench::big_dataset(folder, 1, 4);
    let zarray = std::fs::read_to_string(path.join("t/.zarray")).unwrap();
    let zarray = zarray.replace("\"shape\": [4]", "\"shape\": [9007199254740992]");
    std::fs::write(path.join("t/.zarray"), zarray.replace("\"chunks\": [4]", "\"chunks\": [1048576]"))
        .unwrap();
    std::fs::remove_file(path.join("t/0")).unwrap();
    path
}

#[test]
fn very_many_values_are_warned_of_and_ctrl_c_ends_them_at_once() {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    let folder = tempfile::tempdir().unwrap();
    let path = endless(folder.path()).display().to_string();
    for args in [vec!["dump", &path], vec!["dump", "--json", &path], vec!["cat", &path, "t"]] {
        let mut child = crate::bench::command()
            .args(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 200_000]).unwrap();
        let sent =
            std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let status = child.wait().unwrap();
        // a shell says 130 of both
        assert!(status.code() == Some(130) || status.signal() == Some(2), "{args:?}: {status:?}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("warning: about to print 9007199254740992 values; --head N"), "{said}");
    }
    let dump = ncz(["dump", "--head", "10", &path]).ends(0);
    assert!(dump.stdout.contains("// 9007199254740982 more values of t"), "{}", dump.stdout);
    assert_eq!(dump.stderr, "");
    let cat = ncz(["cat", "--head", "3", &path, "t"]).ends(0);
    assert_eq!(
        (cat.stdout.as_str(), cat.stderr.as_str()),
        ("0\n0\n0\n", "note: 9007199254740989 more values follow\n")
    );
    assert_eq!(ncz(["cat", "--head", "2", "--json", &path, "t"]).ends(0).stdout, "[0,0]\n");
    assert_eq!(ncz(["cat", "--head", "2", "--raw", &path, "t"]).ends(0).stdout.len(), 16);
}
