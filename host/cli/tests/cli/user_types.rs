//! User-defined types of netCDF-4, against Debian's ncdump and ncgen, h5py and zarr-python.

use std::process::Command;

use ncz_test_support::{program, python};
use serde_json::json;

use crate::bench::{assert_same_text, ncz, run};
use crate::ncdump::tool;

const CDL: &str = include_str!("user_types.cdl");

/// Types inside one another, strings and rows in compounds, two unlimited dimensions: more than ncgen 4.9 reads.
const NESTED: &str = include_str!("nested_types.cdl");

/// Asserts in Python that two files have the same types, values and attributes, for h5py and for netCDF4.
const SAME: &str = r#"
import sys, warnings, h5py, netCDF4
def text(value):
    return repr(value.tolist() if hasattr(value, "tolist") else value)
def described(object):
    hidden = {"DIMENSION_LIST", "REFERENCE_LIST", "_NCProperties", "_Netcdf4Coordinates", "_Netcdf4Dimid", "CLASS", "NAME"}
    attributes = {name: (text(value), str(value.dtype) if hasattr(value, "dtype") else "")
                  for name, value in object.attrs.items() if name not in hidden}
    if isinstance(object, h5py.Group):
        return attributes, {name: described(object[name]) for name in object}
    about = attributes, object.dtype.descr if object.dtype.names else str(object.dtype)
    if isinstance(object, h5py.Datatype):
        return about
    try:
        values = text(object[()])
    except TypeError as error:
        # h5py does not read rows of compounds with strings, whoever wrote them.
        assert object.name in {"/robs", "/wr"}, (object.name, error)
        values = None
    return about, object.shape, object.maxshape, object.chunks, object.compression, object.shuffle, values
def shown(group):
    values = {}
    for name, variable in group.variables.items():
        variable.set_auto_mask(False)
        values[name] = str(variable.datatype), variable.dimensions, text(variable[...]), sorted(variable.ncattrs())
    types = [sorted(all) for all in (group.cmptypes, group.vltypes, group.enumtypes)]
    return types, values, {name: shown(inner) for name, inner in group.groups.items()}
one, two = sys.argv[1:3]
with h5py.File(one) as a, h5py.File(two) as b:
    a, b = described(a), described(b)
    assert a == b, f"h5py:\n{a}\n{b}"
warnings.simplefilter("ignore")
if len(sys.argv) == 3:
    with netCDF4.Dataset(one) as a, netCDF4.Dataset(two) as b:
        a, b = shown(a), shown(b)
        assert a == b, f"netCDF4:\n{a}\n{b}"
"#;

/// What Debian's ncdump prints of a file.
fn their_dump(ncdump: &std::path::Path, file: &str) -> String {
    run(Command::new(ncdump).args(["-n", "d", file]).env("HDF5_PLUGIN_PATH", "")).ends(0).stdout
}

/// A file that ncgen makes of CDL; `None` without ncgen.
fn made(cdl: &str) -> Option<(tempfile::TempDir, String)> {
    let ncgen = program("ncgen").ok()?;
    let folder = tempfile::tempdir().unwrap();
    let (text, file) = (folder.path().join("d.cdl"), folder.path().join("d.nc"));
    std::fs::write(&text, cdl).unwrap();
    run(Command::new(ncgen).args(["-k", "nc4", "-o"]).args([&file, &text])).ends(0);
    let file = file.to_str().unwrap().to_owned();
    Some((folder, file))
}

#[test]
fn every_class_of_types_is_dumped_as_ncdump_does() {
    let (Some((_folder, file)), Ok(ncdump)) = (made(CDL), program("ncdump")) else { return };
    for options in [vec![], vec!["-h"], vec!["-hs"], vec!["-c"], vec!["-v", "obs"], vec!["-p", "3,5"]] {
        let args = || options.iter().copied().chain([file.as_str()]);
        let theirs = run(Command::new(&ncdump).args(args()).env("HDF5_PLUGIN_PATH", "")).ends(0).stdout;
        let ours = tool("ncdump", args()).ends(0).stdout;
        assert_same_text(&ours, &theirs, &options.join(" "));
    }
}

#[test]
fn a_type_that_another_one_hides_has_its_path_so_that_ncgen_reads_it() {
    let cdl = CDL.replace("cloud_t inner(n) ;", "cloud_t inner(n) ;\n    /cloud_t outer(n) ;");
    let cdl = cdl.replace("inner = X, Y, X ;", "inner = X, Y, X ;\n    outer = Clear, Stratus, Clear ;");
    let Some((_folder, file)) = made(&cdl) else { return };
    let dump = |file: &str| tool("ncdump", ["-n", "d", file]).ends(0).stdout;
    let ours = dump(&file);
    assert!(ours.contains("\t/cloud_t outer(n) ;"), "{ours}");
    let (_again, file) = made(&ours).unwrap();
    assert_same_text(&dump(&file), &ours, "through ncgen");
}

#[test]
fn json_has_every_value_and_type_and_csv_refuses_by_name() {
    let Some((_folder, file)) = made(CDL) else { return };
    let cat = |name: &str| ncz(["cat", "--json", &file, name]).ends(0).json();
    assert_eq!(cat("primary"), json!([0, 127, 2]));
    assert_eq!(cat("rag"), json!([[10, 11, 12], [], [-99]]));
    assert_eq!(
        cat("raw"),
        json!(["0102030405060708090a0b", "ffffffffffffffffffffff", "cafebabecafebabecafeba"])
    );
    let one = json!({"day": 1, "elev": 2, "relhum": 4.1, "time": 5.5, "ub": 6, "m": [1.0, 2.0, 3.0, 4.5]});
    assert_eq!(cat("g/oo"), one);
    let dumped = ncz(["dump", "--json", &file]).ends(0).json();
    let obs = dumped["variables"].as_array().unwrap().iter().find(|found| found["name"] == "obs").unwrap();
    assert_eq!(obs["data"][1], one);
    assert_eq!(obs["data"][2]["ub"], json!(u64::MAX));
    assert_eq!(obs["user_type"], json!("/obs_t"));
    assert_eq!(
        dumped["types"][0]["members"][3],
        json!({"name": "Missing", "value": 127}),
        "{}",
        dumped["types"]
    );
    let head = ncz(["cat", "--json", "--head", "1", &file, "rag"]).ends(0).json();
    assert_eq!(head, json!([[10, 11, 12]]));
    ncz(["cat", &file, "obs"]).ends(2).says(&["/obs", "--json"]);
    ncz(["dump", "-x", &file]).ends(0).stdout.find("obs is of the user-defined type /obs_t").unwrap();
}

#[test]
fn copies_have_integers_with_flags_and_refuse_structured_types_by_name() {
    let (Some((folder, file)), Ok(python)) = (made(CDL), python()) else { return };
    let target = folder.path().join("t.zarr");
    let target = target.to_str().unwrap();
    ncz(["copy", &file, target]).ends(3).says(&["/raw", "opaque"]);
    let names = "primary,bg,plain,g/inner";
    ncz(["copy", "--verify", "--format", "zarr", "--variables", names, &file, target])
        .ends(0)
        .says(&["/cloud_t"]);
    let code = r#"
import sys, zarr
group = zarr.open_group(sys.argv[1], mode="r")
primary = group["primary"]
assert primary.dtype == "int8" and primary[:].tolist() == [0, 127, 2], primary[:]
assert primary.attrs["flag_values"] == [0, 1, 2, 127], dict(primary.attrs)
assert primary.attrs["flag_meanings"] == "Clear Cumulonimbus Stratus Missing", dict(primary.attrs)
assert group["bg"][:].tolist() == [0, 65535, 6]
assert group["g/inner"].attrs["flag_meanings"] == "X Y"
"#;
    python.run_code(code, &[target], &[]).unwrap();
    let taken = CDL.replace(
        "    cloud_t primary:_FillValue",
        "    primary:flag_values = 1b ;\n    cloud_t primary:_FillValue",
    );
    let (_folder, file) = made(&taken).unwrap();
    let target = folder.path().join("taken.zarr");
    ncz(["copy", "--variables", "primary", &file, target.to_str().unwrap()])
        .ends(0)
        .says(&["/primary", "names of its enumeration are left out"]);
}

#[test]
fn types_of_h5py_without_names_get_those_of_netcdf() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.h5");
    let file = file.to_str().unwrap();
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f["pair"] = np.array([(1, 2.5), (-1, 0.5)], [("a", "<i4"), ("b", ">f8")])
    f["kind"] = np.dtype([("a", "<i4"), ("b", ">f8")])
    f["opaque"] = np.array([b"abc", b"xyz"], "V3")
    f["truth"] = np.array([True, False])
    f["complex"] = np.array([1 + 2j, -0.5j], "<c16")
    rows = f.create_dataset("rows", (2,), dtype=h5py.vlen_dtype("<i2"))
    rows[0] = [1, 2]
    f["truth"].attrs["pair"] = f["pair"][0]
"#;
    python.run_code(code, &[file], &[]).unwrap();
    let text = ncz(["dump", file]).ends(0).stdout;
    for expected in [
        " pair = {1, 2.5}, {-1, 0.5} ;",
        " opaque = 0X616263, 0X78797A ;",
        " truth = TRUE, FALSE ;",
        " complex = {1, 2}, {-0, -0.5} ;",
        " rows = {1, 2}, {} ;",
        "truth:pair = {1, 2.5} ;",
        "byte enum _AnonymousEnum",
    ] {
        assert!(text.contains(expected), "{expected:?} in\n{text}");
    }
    let target = folder.path().join("t.zarr");
    let target = target.to_str().unwrap();
    ncz(["copy", "--verify", "--format", "zarr", "--variables", "complex,truth", file, target]).ends(0);
    let code = r#"
import sys, zarr
group = zarr.open_group(sys.argv[1], mode="r")
assert group["complex"].dtype == "complex128" and group["complex"][:].tolist() == [1 + 2j, -0.5j]
assert group["truth"].attrs["pair"] == {"a": 1, "b": 2.5}
"#;
    python.run_code(code, &[target], &[]).unwrap();
}

#[test]
fn copies_to_netcdf4_files_keep_types_and_values() {
    let (Some((folder, file)), Ok(ncdump), Ok(python)) = (made(CDL), program("ncdump"), python()) else {
        return;
    };
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (copy, nccopy) = (path("copy.nc"), path("nccopy.nc"));
    ncz(["copy", "--verify", &file, &copy]).ends(0);
    tool("nccopy", [&file, &nccopy]).ends(0);
    let expected = their_dump(&ncdump, &file);
    for copy in [&copy, &nccopy] {
        assert_same_text(&their_dump(&ncdump, copy), &expected, copy);
        python.run_code(SAME, &[&file, copy], &[]).unwrap();
    }
    let part = path("part.nc");
    ncz(["copy", "--verify", "--variables", "/g/oo,rag", "--slab", "n=1:3", &file, &part]).ends(0);
    let ours = tool("ncdump", ["-n", "d", &part]).ends(0).stdout;
    assert!(ours.contains("rag = {}, _ ;") && ours.contains("\tobs_t oo ;"), "{ours}");
    ncz(["copy", "--format", "netcdf4-classic", &file, &path("classic.nc")])
        .ends(3)
        .says(&["/raw", "netCDF-4"]);
}

#[test]
fn cdl_makes_the_file_that_ncgen_makes() {
    let (Some((folder, file)), Ok(ncdump), Ok(python)) = (made(CDL), program("ncdump"), python()) else {
        return;
    };
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (ours, again) = (path("ours.nc"), path("again.nc"));
    // Types need netCDF-4, so that no kind is said.
    tool("ncgen", ["-o", &ours, &path("d.cdl")]).ends(0);
    assert_same_text(&their_dump(&ncdump, &ours), &their_dump(&ncdump, &file), "ncdump");
    python.run_code(SAME, &[&file, &ours], &[]).unwrap();
    std::fs::write(path("d.cdl"), their_dump(&ncdump, &ours)).unwrap();
    tool("ncgen", ["-k", "nc4", "-o", &again, &path("d.cdl")]).ends(0);
    assert_same_text(&their_dump(&ncdump, &again), &their_dump(&ncdump, &file), "through CDL");
}

#[test]
fn cdl_with_nested_types_makes_a_file_that_other_programs_read() {
    let (Ok(ncdump), Ok(python)) = (program("ncdump"), python()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cdl, file, copy) = (path("d.cdl"), path("d.nc"), path("copy.nc"));
    std::fs::write(&cdl, NESTED).unwrap();
    tool("ncgen", ["-k", "nc4", "-o", &file, &cdl]).ends(0);
    let (ours, theirs) = (tool("ncdump", ["-n", "d", &file]).ends(0).stdout, their_dump(&ncdump, &file));
    // ncdump does not say which one of two types of the same name it is, and prints names in data as they are.
    assert_same_text(
        &ours.replace("\t/cloud_t outer", "\tcloud_t outer").replace(", d\\ e ;", ", d e ;"),
        &theirs,
        "ncdump",
    );
    let again = path("again.nc");
    std::fs::write(&cdl, &ours).unwrap();
    tool("ncgen", ["-k", "nc4", "-o", &again, &cdl]).ends(0);
    assert_same_text(&tool("ncdump", ["-n", "d", &again]).ends(0).stdout, &ours, "through CDL");
    assert_same_text(&their_dump(&ncdump, &again), &theirs, "through CDL, ncdump");

    let summary = ncz(["copy", "--verify", "--json", &file, &copy]).ends(0).json();
    let of = |path: &str| {
        let all = summary["variables"].as_array().unwrap();
        all.iter().find(|found| found["path"] == path).unwrap().clone()
    };
    assert_eq!(of("/pts")["recoded_chunks"], json!(0), "{}", of("/pts"));
    assert_ne!(of("/obs")["recoded_chunks"], json!(0), "{}", of("/obs"));
    assert_same_text(&their_dump(&ncdump, &copy), &theirs, "copy");
    // netCDF4 does not open files with strings in compounds.
    python.run_code(SAME, &[&file, &copy, "h5py"], &[]).unwrap();
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "a") as f:
    obs = f["obs"][:]
    assert [bytes(name) for name in obs["name"]] == [b"x", b'"y",\n}', b"long text"]
    assert obs["at"]["y"].tolist() == [2, 2, 2] and np.isnan(obs["m"][2, 0, 0]) and obs["track"]["x"][2, 1] == 3
    assert obs["sky"].tolist() == [2, 0, 127] and obs["raw"][1].tobytes() == b"\1\2\0"
    assert f["obs"].attrs["example"]["name"][0] == b"in a heap" and f["pts"].compression_opts == 5
    assert h5py.check_enum_dtype(f["bg"].dtype) == {"a": 65535, "b.c": 3, "d e": 4}
    assert [row.tolist() for row in f["fixed"][:]] == [[1], [7], [7]]
    assert f["pts"]["x"].tolist() == [[1, 3, 5], [1, -1, 5], [1, -1, -1], [-1, -1, -1]]
    # A program that makes it longer sees the fill value, and changes elements one by one.
    f["grow"].resize((6,))
    f["grow"][4] = np.array([5], "i4")
    assert [row.tolist() for row in f["grow"][:]] == [[1], [], [2, 3], [4], [5], [-99, -98]]
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    ncz(["gen", &cdl, "-o", &path("d.zarr")]).ends(3).says(&[
        "line",
        "type \"/cloud_t\"",
        "an enumeration",
        "netcdf4",
    ]);
    tool("ncgen", ["-k", "classic", "-o", &path("c.nc"), &cdl])
        .ends(1)
        .says(&["line 3", "/cloud_t", "netCDF-4"]);
}

#[test]
fn types_of_h5py_keep_their_layouts() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let code = r#"
import sys, h5py, numpy as np
for path, width in [(sys.argv[1], 8), (sys.argv[2], 4)]:
    created = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    created.set_sizes(width, width)
    with h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, created)) as f:
        text = h5py.string_dtype()
        odd = np.dtype({"names": ["a", "b", "h"], "formats": [">i4", "<f8", "<f2"], "offsets": [1, 8, 20], "itemsize": 24})
        values = np.zeros(4, odd)
        values["a"], values["h"] = [1, -2, 3, 4], 0.5
        f["odd"] = np.dtype(odd)
        f.create_dataset("pairs", data=values, dtype=f["odd"], chunks=(3,), compression="gzip", shuffle=True)
        f["swapped"] = np.array([(1, 2.5, 0.5)], [("a", "<i4"), ("b", ">f8"), ("h", ">f2")])
        named = np.dtype([("name", text), ("row", h5py.vlen_dtype("<i2")), ("truth", "?"), ("fixed", "S4")])
        rows = f.create_dataset("named", (3,), named, maxshape=(None,), chunks=(2,))
        rows[0] = ("one", np.array([1, 2], "<i2"), True, b"abcd")
        rows[2] = ("ü" * 3000, np.arange(9000, dtype="<i2"), False, b"x")
        f["truth"] = np.array([True, False])
        f["truth"].attrs["named"] = rows[0]
        f["complex"] = np.array([1 + 2j], "<c16")
"#;
    let (wide, narrow) = (path("wide.h5"), path("narrow.h5"));
    python.run_code(code, &[&wide, &narrow], &[]).unwrap();
    for (file, copy) in [(&wide, path("wide.nc")), (&narrow, path("narrow.nc"))] {
        ncz(["copy", "--verify", file, &copy]).ends(0);
        let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2]) as b:
    for name in ["pairs", "swapped", "named", "truth", "complex"]:
        one, two = a[name], b[name]
        assert repr(one[()].tolist()) == repr(two[()].tolist()), name
        assert one.chunks == two.chunks and one.compression == two.compression
    for name in ["pairs", "swapped", "truth", "complex"]:
        assert a[name].dtype == b[name].dtype and a[name].id.get_type().equal(b[name].id.get_type()), name
    assert a["odd"].dtype == b["odd"].dtype and b["pairs"].id.get_type().committed()
    assert repr(a["truth"].attrs["named"].tolist()) == repr(b["truth"].attrs["named"].tolist()[0])
"#;
        python.run_code(code, &[file, &copy], &[]).unwrap();
    }
}
