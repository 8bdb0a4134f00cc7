use std::io;

use ncz_cdl::{CdlOptions, DataWriter, Digits};
use ncz_model::json::Json;
use ncz_model::json::json;
use ncz_model::{Dtype, Format, Hierarchy, NcType, NewFill, Value, Variable, VariableBuilder};
use ncz_zarr::metadata::{ReadOptions, read};

use crate::fixtures::{Memory, folder, names, text};

/// The differences from ncdump's text, where ncdump is wrong (or crashes): file, its text, our text.
const DIFFERENCES: [(&str, &str, &str); 14] = [
    // Text that looks like JSON comes back truncated.
    ("nczarr/attrs", "v:json_number = \"1\"", "v:json_number = \"17\""),
    // A written empty string is not a missing one, although both are the default fill value.
    ("nczarr/types", "str = \"one\", NIL,", "str = \"one\", _,"),
    ("zarr/types", "str = \"one\", NIL,", "str = \"one\", _,"),
    ("noxarray/types", "str = \"one\", NIL,", "str = \"one\", _,"),
    // The chunk sizes of scalars lack a line end.
    ("scalars", "\t\tanswer:_ChunkSizes = \t\tanswer", "\t\tanswer"),
    ("scalars", "\t\tpi:_ChunkSizes = \t\tpi", "\t\tpi"),
    ("scalars", "\t\tword:_ChunkSizes = \tchar", "\tchar"),
    ("scalars", "\t\tletter:_ChunkSizes = \tdouble", "\tdouble"),
    ("scalars", "\t\tletter:_ChunkSizes = \n", "\n"),
    ("scalars", "\t\tword:_ChunkSizes = \n", "\n"),
    // The same attribute twice.
    (
        "noxarray/scalars",
        "\t\tanswer:_FillValue = -1 ;\n\t\tanswer:_FillValue = -1 ;\n",
        "\t\tanswer:_FillValue = -1 ;\n",
    ),
    // Attributes that do not exist.
    ("noxarray/scalars", "\t\tstring letter:_FillValue = \"\" ;\n", ""),
    ("noxarray/scalars", "\t\tstring word:_FillValue = \"\" ;\n", ""),
    ("noxarray/scalars", "\t\tpi:_FillValue = 9.96921e+36 ;\n", ""),
];

fn expected(name: &str, extension: &str) -> String {
    let mut expected = text(&format!("{name}.{extension}"));
    for (file, theirs, ours) in DIFFERENCES {
        if name.ends_with(file) {
            expected = expected.replace(theirs, ours);
        }
    }
    expected
}

fn dump(store: &Memory, hierarchy: &Hierarchy, options: &CdlOptions<'_>) -> String {
    let mut out = Vec::new();
    let mut data = |variable: &Variable, writer: &mut DataWriter<'_>| -> Result<(), io::Error> {
        // The one filtered variable whose chunks were written; its values are in the source.
        let values = match variable.name.as_str() {
            "dbig" => Value::from(vec![0.5, 1.5, -2.5, 3.5, 4.5, 5.5]),
            _ => store.values(hierarchy, variable),
        };
        writer.write(&values)
    };
    ncz_cdl::dump(&mut out, hierarchy, options, &mut data).unwrap();
    String::from_utf8(out).unwrap()
}

fn assert_same_lines(ours: &str, theirs: &str, name: &str) {
    for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{name}, line {}", at + 1);
    }
    assert_eq!(ours, theirs, "{name}");
}

#[test]
fn dumps_equal_those_of_ncdump() {
    let mut compared = 0;
    for name in
        ["nczarr", "zarr", "noxarray"].iter().flat_map(|kind| names(&format!("netcdf-c-4.10.2/{kind}")))
    {
        if !folder().join(format!("{name}.ncdump")).exists() {
            continue;
        }
        let dataset = name.rsplit('/').next().unwrap();
        let store = Memory::fixture(&name);
        let options = CdlOptions { digits: Digits::NCDUMP, ..CdlOptions::new(dataset) };
        let ours = dump(&store, &store.read(), &options);
        assert_same_lines(&ours, &expected(&name, "ncdump"), &name);
        compared += 1;
    }
    assert_eq!(compared, 25);
}

/// The ids and parameters of the chains in the fixtures; the real ones come from the codec registry.
fn filter_text(variable: &Variable) -> Option<String> {
    let number = |codec: &Json, key: &str| codec[key].as_u64().unwrap().to_string();
    let texts: Vec<String> = variable
        .filters
        .iter()
        .filter_map(|codec| match codec["id"].as_str().unwrap() {
            "bz2" => Some(format!("307,{}", number(codec, "level"))),
            "zstd" => Some(format!("32015,{}", number(codec, "level"))),
            "szip" => Some(format!("4,{},{}", number(codec, "mask"), number(codec, "pixels-per-block"))),
            "blosc" => {
                let compressor = if codec["cname"] == "zstd" { 5 } else { 1 };
                Some(format!(
                    "32001,0,0,0,0,{},{},{compressor}",
                    number(codec, "clevel"),
                    number(codec, "shuffle")
                ))
            }
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("|"))
}

#[test]
fn headers_with_special_attributes_equal_those_of_ncdump() {
    let mut compared = 0;
    for name in
        ["nczarr", "zarr", "noxarray"].iter().flat_map(|kind| names(&format!("netcdf-c-4.10.2/{kind}")))
    {
        if !folder().join(format!("{name}.ncdump-hs")).exists() {
            continue;
        }
        let dataset = name.rsplit('/').next().unwrap();
        let options = CdlOptions {
            digits: Digits::NCDUMP,
            special: true,
            filter_text: Some(&filter_text),
            ..CdlOptions::new(dataset)
        };
        let mut ours = Vec::new();
        ncz_cdl::header(&mut ours, &Memory::fixture(&name).read(), &options).unwrap();
        assert_same_lines(&String::from_utf8(ours).unwrap(), &expected(&name, "ncdump-hs"), &name);
        compared += 1;
    }
    assert_eq!(compared, 25);
}

/// netcdf-c 4.10.2 takes 4.9.0 for pure Zarr; read so, ours is the same.
#[test]
fn upper_case_data_read_as_pure_zarr_print_what_ncdump_prints() {
    for dataset in ["names", "simple"] {
        let name = format!("netcdf-c-4.9.0/nczarr/{dataset}");
        let store = Memory::fixture(&name);
        let hierarchy = read(&store, &ReadOptions { pure: true, ..ReadOptions::default() }).unwrap();
        let options = CdlOptions { digits: Digits::NCDUMP, ..CdlOptions::new(dataset) };
        // netcdf-c shows the keys that it does not know as attributes.
        let theirs = text(&format!("{name}.ncdump"));
        let known: Vec<&str> = theirs.lines().filter(|line| !line.contains(":_NCZARR_ATTR")).collect();
        let theirs = (known.join("\n") + "\n").replace("\n\n// global attributes:\ndata:", "\ndata:");
        assert_same_lines(&dump(&store, &hierarchy, &options), &theirs, &name);
    }
}

fn one_variable(new: VariableBuilder, dimensions: &[(&str, u64, bool)]) -> Hierarchy {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for &(name, len, unlimited) in dimensions {
        hierarchy.add_dimension("/", name, len, unlimited).unwrap();
    }
    hierarchy.add_variable("/", new).unwrap();
    hierarchy
}

fn data_of(hierarchy: &Hierarchy, blocks: &[Value]) -> Result<String, io::Error> {
    let mut out = Vec::new();
    let mut data =
        |_: &Variable, writer: &mut DataWriter<'_>| blocks.iter().try_for_each(|block| writer.write(block));
    ncz_cdl::dump(&mut out, hierarchy, &CdlOptions::new("d"), &mut data)?;
    let text = String::from_utf8(out).unwrap();
    Ok(text.split_once("data:\n").unwrap().1.trim_end_matches("}\n").to_owned())
}

#[test]
fn inner_unlimited_dimensions_are_in_braces() {
    let hierarchy = one_variable(
        VariableBuilder::new("v", NcType::Int).dimensions(["t", "u"]),
        &[("t", 2, true), ("u", 2, true)],
    );
    let text = data_of(&hierarchy, &[Value::from(vec![1i32, 2, 3, 4])]).unwrap();
    assert_eq!(text, "\n v =\n  {1, 2},\n  {3, 4} ;\n");
}

#[test]
fn text_rows_lose_only_their_padding() {
    let hierarchy = one_variable(
        VariableBuilder::new("c", NcType::Char).dimensions(["r", "n"]),
        &[("r", 3, false), ("n", 4, false)],
    );
    // In two blocks that end within a row.
    let text = data_of(&hierarchy, &[Value::text("ab\0\0a\0"), Value::text("b\0\0\0\0\0")]).unwrap();
    assert_eq!(text, "\n c =\n  \"ab\",\n  \"a\\000b\",\n  \"\" ;\n");
}

#[test]
fn exact_digits_show_digits_that_ncdump_rounds() {
    let hierarchy = one_variable(
        VariableBuilder::new("d", NcType::Double).dimensions(["n"]).fill(NewFill::Value(Value::from(0.5))),
        &[("n", 4, false)],
    );
    let text = data_of(&hierarchy, &[Value::from(vec![std::f64::consts::PI, 0.1, 0.5, 1e300])]).unwrap();
    assert_eq!(text, "\n d = 3.141592653589793, 0.1, _, 1e+300 ;\n");
}

#[test]
fn a_wrong_number_of_values_is_an_error() {
    let hierarchy =
        one_variable(VariableBuilder::new("v", NcType::Int).dimensions(["n"]), &[("n", 3, false)]);
    for blocks in [
        vec![],
        vec![Value::from(vec![1i32, 2])],
        vec![Value::from(vec![1i32; 4])],
        vec![Value::from(vec![1i16; 3])],
    ] {
        assert_eq!(data_of(&hierarchy, &blocks).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}

#[test]
fn types_that_netcdf_lacks_are_shown_in_its_own_types_with_a_comment() {
    for (dtype, line) in [
        ("b1", "ubyte v(_Anonymous_Dim_6, _Anonymous_Dim_5) ; // Zarr type |b1, 0 is false, 1 is true"),
        ("le-f2", "float v(_Anonymous_Dim_6, _Anonymous_Dim_5) ; // Zarr type <f2"),
        ("le-U5", "string v(_Anonymous_Dim_6, _Anonymous_Dim_5) ; // Zarr type <U5"),
        ("le-c8", "complex64 v(_Anonymous_Dim_6, _Anonymous_Dim_5) ; // Zarr type <c8"),
        ("le-c16", "complex128 v(_Anonymous_Dim_6, _Anonymous_Dim_5) ; // Zarr type <c16"),
        (
            "le-M8-ns",
            "int64 v(_Anonymous_Dim_6, _Anonymous_Dim_5) ; // Zarr type <M8[ns], counted from 1970, NaT is \
             -9223372036854775808",
        ),
        (
            "le-m8-s",
            "int64 v(_Anonymous_Dim_6, _Anonymous_Dim_5) ; // Zarr type <m8[s], NaT is -9223372036854775808",
        ),
    ] {
        let store = Memory::fixture(&format!("zarr-python/v2-dtype-{dtype}"));
        let mut out = Vec::new();
        ncz_cdl::header(&mut out, &store.read(), &CdlOptions::new("c")).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(&format!("\t{line}\n")), "{text}");
    }
}

fn of_dtype(dtype: Dtype) -> VariableBuilder {
    VariableBuilder::of_dtype("bytes", dtype, None).dimensions(["n"])
}

#[test]
fn complex_numbers_and_rows_of_bytes_have_types_with_free_names() {
    let hierarchy = one_variable(of_dtype(Dtype::vlen_bytes()), &[("n", 3, false)]);
    let rows = Value::String(vec![b"\x01\xff".to_vec(), vec![], vec![0]]);
    let mut out = Vec::new();
    let mut data = |_: &Variable, writer: &mut DataWriter<'_>| writer.write(&rows);
    ncz_cdl::dump(&mut out, &hierarchy, &CdlOptions::new("d"), &mut data).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "netcdf d {\ntypes:\n  ubyte(*) bytes_ ;\ndimensions:\n\tn = 3 ;\nvariables:\n\
         \tbytes_ bytes(n) ; // Zarr type vlen-bytes\ndata:\n\n bytes = {1, 255}, {}, {0} ;\n}\n"
    );

    let hierarchy = one_variable(of_dtype(Dtype::parse("<c8").unwrap()), &[("n", 2, false)]);
    let values = Value::from(vec![1.5f32, f32::NAN, 9.96921e36, -0.0]);
    assert_eq!(data_of(&hierarchy, &[values]).unwrap(), "\n bytes = {1.5, NaNf}, {9.96921e+36, -0} ;\n");
    let odd = data_of(&hierarchy, &[Value::from(vec![1f32; 3])]).unwrap_err();
    assert_eq!(odd.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn structures_are_comments() {
    let dtype = Dtype::from_json(&json!([["a", "<i4"], ["b\n", "<f8"]])).unwrap();
    let hierarchy = one_variable(of_dtype(dtype), &[("n", 3, false)]);
    let mut out = Vec::new();
    ncz_cdl::header(&mut out, &hierarchy, &CdlOptions::new("c")).unwrap();
    let text = String::from_utf8(out).unwrap();
    let comment = "\t// bytes(n) is of the Zarr type [[\"a\",\"<i4\"],[\"b\\n\",\"<f8\"]], which netCDF does not \
                   have\n";
    assert!(text.contains(comment), "{text}");
}

#[test]
fn a_fill_value_is_of_the_type_in_which_elements_are_shown_or_a_comment() {
    let zarray = |dtype: &str, fill: &str| {
        format!(
            r#"{{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "{dtype}", "fill_value": {fill},
                "order": "C", "compressor": null, "filters": null}}"#
        )
    };
    for (dtype, fill, attribute, line) in [
        ("<f2", "0.5", "0.5", "\t\tv:_FillValue = 0.5f ;"),
        (">f2", "0.5", "0.5", "\t\tv:_FillValue = 0.5f ;"),
        ("<M8[s]", "-5", "-5", "\t\tv:_FillValue = -5LL ;"),
        ("|b1", "true", "true", "\t\tv:_FillValue = 1UB ;"),
        ("<c8", "[0.0, 1.0]", "[0.0, 1.0]", "\t\t// not of the type:\t\tv:_FillValue = 0., 1. ;"),
        ("<f4", "0.0", "\"AAAAAAAA+H8=\"", "\t\t// not of the type:\t\tv:_FillValue = \"AAAAAAAA+H8=\" ;"),
    ] {
        let store = Memory::of(&[
            (".zgroup", r#"{"zarr_format": 2}"#.to_owned()),
            ("v/.zarray", zarray(dtype, fill)),
            ("v/.zattrs", format!(r#"{{"_FillValue": {attribute}}}"#)),
        ]);
        let hierarchy = store.read();
        let mut out = Vec::new();
        ncz_cdl::header(&mut out, &hierarchy, &CdlOptions::new("c")).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(&format!("{line}\n")), "{dtype}: {text}");
        let warned = !hierarchy.warnings.is_empty();
        assert_eq!(warned, line.contains("//"), "{dtype}: {:?}", hierarchy.warnings);
    }
}
