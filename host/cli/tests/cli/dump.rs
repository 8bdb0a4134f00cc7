use std::fs;

use ncz_test_support::{fixtures, unpack};

use crate::bench::{assert_same_text, dump, ncz, ocean};

/// Where our text differs from ncdump's, because that is wrong: dataset, its text, ours.
const DIFFERENCES: [(&str, &str, &str); 14] = [
    // Text that looks like JSON comes back cut.
    ("nczarr/attrs", "v:json_number = \"1\"", "v:json_number = \"17\""),
    // An empty string that was written is not one that is missing; both are the default fill value.
    ("nczarr/types", "str = \"one\", NIL,", "str = \"one\", _,"),
    ("zarr/types", "str = \"one\", NIL,", "str = \"one\", _,"),
    ("noxarray/types", "str = \"one\", NIL,", "str = \"one\", _,"),
    // The chunk sizes of scalars lack their end of line.
    ("scalars", "\t\tanswer:_ChunkSizes = \t\tanswer", "\t\tanswer"),
    ("scalars", "\t\tpi:_ChunkSizes = \t\tpi", "\t\tpi"),
    ("scalars", "\t\tword:_ChunkSizes = \tchar", "\tchar"),
    ("scalars", "\t\tletter:_ChunkSizes = \tdouble", "\tdouble"),
    ("scalars", "\t\tletter:_ChunkSizes = \n", "\n"),
    ("scalars", "\t\tword:_ChunkSizes = \n", "\n"),
    // One attribute twice, and some that are not there.
    (
        "noxarray/scalars",
        "\t\tanswer:_FillValue = -1 ;\n\t\tanswer:_FillValue = -1 ;\n",
        "\t\tanswer:_FillValue = -1 ;\n",
    ),
    ("noxarray/scalars", "\t\tstring letter:_FillValue = \"\" ;\n", ""),
    ("noxarray/scalars", "\t\tstring word:_FillValue = \"\" ;\n", ""),
    ("noxarray/scalars", "\t\tpi:_FillValue = 9.96921e+36 ;\n", ""),
];

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
            for (file, wrong, right) in DIFFERENCES {
                if name.ends_with(file) {
                    theirs = theirs.replace(wrong, right);
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
fn a_missing_codec_stops_the_values_and_not_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    for (name, codec) in [("a", "null"), ("b", r#"{"id": "pcodec"}"#)] {
        fs::create_dir(root.join(name)).unwrap();
        let zarray = format!(
            r#"{{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "fill_value": 7, "order": "C", "compressor": {codec}, "filters": null}}"#
        );
        fs::write(root.join(name).join(".zarray"), zarray).unwrap();
    }
    let path = root.to_str().unwrap();
    let run = ncz(["dump", path]).ends(3).says(&["variable \"/b\"", "pcodec", "HDF5_PLUGIN_PATH", "-v VAR"]);
    assert_eq!(run.stdout, "", "no half text");
    ncz(["dump", "-h", path]).ends(0);
    let run = ncz(["dump", "-v", "a", path]).ends(0);
    assert!(run.stdout.contains("\n a = 7, 7 ;"), "{}", run.stdout);
    let run = ncz(["info", path]).ends(1);
    assert!(run.stdout.contains("warning: variable \"/b\": codec {\"id\":\"pcodec\"}"), "{}", run.stdout);
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
        "variable \"/a\" is of the Zarr type",
        "variable \"/b\" is of the Zarr type |O, which CDL cannot express; its values are left out",
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
