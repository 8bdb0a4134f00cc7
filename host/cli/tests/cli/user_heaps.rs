//! Values of user-defined types that are in heaps of their files, and what can be wrong with them, against h5py and
//! Debian's ncdump.

use ncz_test_support::{program, python};

use crate::bench::{Run, ncz, run};
use crate::ncdump::tool;

/// A folder for files.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// The run that makes a file of a text.
    fn generate(&self, name: &str, cdl: &str) -> Run {
        let text = self.path(&format!("{name}.cdl"));
        std::fs::write(&text, cdl).unwrap();
        ncz(["gen", &text, "-o", &self.path(name)])
    }

    /// A file that is made of a text.
    fn made(&self, name: &str, cdl: &str) -> String {
        self.generate(name, cdl).ends(0);
        self.path(name)
    }
}

#[test]
fn joined_datasets_have_the_same_values_wherever_their_heaps_have_them() {
    let Ok(python) = python() else { return };
    let files = Files::new();
    let cdl = |value: &str, fill: &str| {
        format!(
            "netcdf k {{ types: float(*) v; compound s {{string n; int i;}}; dimensions: t=UNLIMITED; x=2; variables: \
             int i(t); v c(x); s q(x); q:_FillValue = {{\"{fill}\", 0}}; data: i = 1,1; c = {{{value}}},{{1,1}}; \
             q = {{\"n{value}\",1}},{{\"m\",2}}; }}"
        )
    };
    let one = files.made("one.nc", &cdl("1", "f"));
    let (other, filled) = (files.made("other.nc", &cdl("7", "f")), files.made("filled.nc", &cdl("1", "g")));
    let whole = files.path("whole.nc");
    ncz(["copy", "--concat", "t", &one, &other, &whole]).ends(3).says(&["/c", "other.nc", "values differ"]);
    ncz(["copy", "--concat", "t", &one, &filled, &whole]).ends(3).says(&["/q", "fill values differ"]);
    let moved = files.path("moved.nc");
    std::fs::copy(&one, &moved).unwrap();
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "a") as f:
    before = f["q"].id.get_offset(), open(sys.argv[1], "rb").read()
    f["q"][...] = np.array([("other", 1), ("m", 2)], f["q"].dtype)
    f["q"][...] = np.array([("n1", 1), ("m", 2)], f["q"].dtype)
assert open(sys.argv[1], "rb").read()[before[0]:before[0] + 48] != before[1][before[0]:before[0] + 48]
"#;
    python.run_code(code, &[&moved], &[]).unwrap();
    ncz(["copy", "--concat", "t", &one, &moved, &whole]).ends(0);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    assert f["i"][:].tolist() == [1, 1, 1, 1] and [row.tolist() for row in f["c"][:]] == [[1], [1, 1]]
    assert f["q"][:].tolist() == [(b"n1", 1), (b"m", 2)]
"#;
    python.run_code(code, &[&whole], &[]).unwrap();
}

#[test]
fn copies_of_shuffled_references_are_read_by_other_programs() {
    let (Ok(python), Ok(ncdump)) = (python(), program("ncdump")) else { return };
    let files = Files::new();
    let (file, copy) = (files.path("d.h5"), files.path("copy.nc"));
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    d = f.create_dataset("v", (4,), dtype=h5py.vlen_dtype("<i4"), chunks=(2,), compression="gzip", shuffle=True)
    d[0], d[3] = [1, 2], [3]
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    ncz(["copy", "--verify", &file, &copy]).ends(0);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    assert [row.tolist() for row in f["v"][:]] == [[1, 2], [], [], [3]]
    assert f["v"].compression == "gzip"
"#;
    python.run_code(code, &[&copy], &[]).unwrap();
    let theirs = run(std::process::Command::new(ncdump).arg(&copy).env("HDF5_PLUGIN_PATH", ""));
    assert!(theirs.ends(0).stdout.contains("v = {1, 2}, {}, {}, {3} ;"));
    ncz(["copy", "-F", "v,2|1,5", &file, &files.path("named.nc")]).ends(2).says(&["-F", "\"/v\"", "heaps"]);
    ncz(["copy", "-F", "*,2|1,5", &file, &files.path("all.nc")])
        .ends(0)
        .says(&["/v gets no filters", "heaps"]);
}

#[test]
fn copies_keep_the_fill_value_of_hdf5_and_that_of_the_attribute() {
    let Ok(python) = python() else { return };
    let files = Files::new();
    let cdl = "netcdf fv { types: compound c {int a; string s;}; dimensions: u=UNLIMITED; variables: c v(u); c w(u); \
               v:_FillValue = {5,\"x\"}; w:_FillValue = {6,\"zz\"}; int k(u); data: k=1,2,3; }";
    let (file, copy) = (files.made("d.nc", cdl), files.path("copy.nc"));
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "a") as f:
    f["v"].attrs.create("_FillValue", np.array([(9, "yy")], f["c"].dtype), dtype=f["c"])
    del f["w"].attrs["_FillValue"]
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    ncz(["copy", "--verify", &file, &copy]).ends(0);
    let code = r#"
import sys, h5py
for path in sys.argv[1:]:
    with h5py.File(path, "a") as f:
        for name, fill in [("v", (5, b"x")), ("w", (6, b"zz"))]:
            f[name].resize((4,))
            assert f[name][:].tolist() == [fill] * 4, (path, f[name][:])
        assert f["v"].attrs["_FillValue"][0].tolist() == (9, b"yy")
        assert "_FillValue" not in f["w"].attrs
"#;
    python.run_code(code, &[&file, &copy], &[]).unwrap();
}

#[test]
fn verify_reads_the_heaps() {
    let files = Files::new();
    let cdl = "netcdf d { types: int(*) r; compound c {int a; string s;}; dimensions: x=3; u=UNLIMITED; variables: r v(x); \
               c w(u); w:_ChunkSizes = 2; data: v = {1,2},{},{3}; w = {1,\"a\"},{2,\"b\"},{3,\"c\"}; }";
    let file = files.made("d.nc", cdl);
    ncz(["verify", &file]).ends(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let at: Vec<usize> = (0..bytes.len() - 4).filter(|at| &bytes[*at..at + 4] == b"GCOL").collect();
    assert!(!at.is_empty());
    at.iter().for_each(|at| bytes[*at..at + 4].copy_from_slice(b"XXXX"));
    std::fs::write(&file, bytes).unwrap();
    let found = ncz(["verify", "--json", &file]);
    let code = found.code;
    assert_ne!(code, 0, "{}", found.stdout);
    let text = found.stdout;
    assert!(text.contains("\"/v\"") && text.contains("\"/w\"") && text.contains("global heap"), "{text}");
}

#[test]
fn attributes_of_types_without_values_are_kept_by_copies_of_copies() {
    let Ok(python) = python() else { return };
    let files = Files::new();
    let (file, first, second) = (files.path("d.h5"), files.path("first.nc"), files.path("second.nc"));
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    for name, dtype in [("pairs", [("a", "<i4"), ("b", "<f8")]), ("rows", h5py.vlen_dtype("<i2")), ("raw", "V3")]:
        f.attrs.create(name, np.empty((0,), dtype), shape=(0,), dtype=np.dtype(dtype))
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    ncz(["copy", &file, &first]).ends(0);
    ncz(["copy", &first, &second]).ends(0);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2]) as b:
    for name in a.attrs:
        assert name in b.attrs, name
        one, two = a.attrs.get_id(name), b.attrs.get_id(name)
        assert one.dtype == two.dtype and not two.shape, name
"#;
    python.run_code(code, &[&file, &second], &[]).unwrap();
}

#[test]
fn short_texts_do_not_take_much_memory() {
    let files = Files::new();
    let blanks = vec!["_"; 3000].join(",");
    for (number, cdl) in [
        format!("types: opaque(1000000) o; o(*) r; dimensions: x=2; variables: r v(x); data: v = {{{blanks}}},{{}};"),
        format!("types: opaque(1000000) o; o(*) r; variables: r :a = {{{blanks}}};"),
        format!(
            "types: compound b {{byte f;}} compound m {{b f(1000000);}} m(*) r; dimensions: x=2; variables: r v(x); \
             data: v = {{{blanks}}},{{}};"
        ),
    ]
    .into_iter()
    .enumerate()
    {
        files.generate(&format!("{number}.nc"), &format!("netcdf a {{ {cdl} }}")).ends(3).says(&[
            "line 1",
            "bytes of memory",
            "user-defined types",
        ]);
    }
}

#[test]
fn a_committed_type_that_comes_after_its_variable_keeps_its_name() {
    let Ok(python) = python() else { return };
    let files = Files::new();
    let (file, copy) = (files.path("d.h5"), files.path("copy.nc"));
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f["t"] = np.dtype([("a", "<i4"), ("b", h5py.string_dtype())])
    f.create_dataset("d", (2,), dtype=f["t"])
    f.create_dataset("g/d", (2,), dtype=f["t"])
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    let text = ncz(["dump", &file]).ends(0).stdout;
    assert!(text.contains("\tt d(") && text.contains("  \tt d(") && !text.contains("_Anonymous"), "{text}");
    ncz(["copy", "--verify", &file, &copy]).ends(0);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    assert sorted(f) [-1] == "t"
    for name in ["d", "g/d"]:
        assert f[name].id.get_type().committed() and f[name].id.get_type() == f["t"].id, name
"#;
    python.run_code(code, &[&copy], &[]).unwrap();
}

#[test]
fn types_that_hdf5_does_not_have_are_refused_at_their_line() {
    let files = Files::new();
    let lengths = vec!["1"; 33].join(",");
    for (cdl, said) in [
        ("byte enum e {a = 1, b = 1};".to_owned(), vec!["line 2", "an integer \"1\""]),
        (format!("compound c {{int a({lengths});}};"), vec!["line 2", "more than 32 lengths"]),
        ("compound c {int \\ a;};".to_owned(), vec!["line 2", "field", "\" a\""]),
        ("byte enum e {a\\/b = 1};".to_owned(), vec!["line 2", "enumerator", "\"a/b\""]),
        // As ncdump prints it.
        ("byte enum e {a/b = 1};".to_owned(), vec!["line 2", "a slash follows the name \"a\""]),
        ("compound c {int p/q;};".to_owned(), vec!["line 2", "a slash follows the name \"p\""]),
    ] {
        let made = files.generate("d.nc", &format!("netcdf d {{ types:\n {cdl} }}"));
        made.ends(3).says(&said);
    }
    let lengths = vec!["1"; 32].join(",");
    files
        .made("most.nc", &format!("netcdf d {{ types: compound c {{int a({lengths});}}; variables: c v; }}"));
}

#[test]
fn dumps_become_the_same_values_again() {
    let Ok(python) = python() else { return };
    let files = Files::new();
    let (file, again, copy) = (files.path("d.h5"), files.path("again.nc"), files.path("copy.nc"));
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f["e"] = h5py.enum_dtype({"x": 1, "_": 3, "_y": 4}, "<i4")
    f.create_dataset("enumerated", data=np.array([3, 1, 4, 3], "<i4"), dtype=f["e"])
    row = h5py.vlen_dtype("<f2")
    halves = f.create_dataset("halves", (2,), row)
    halves[0] = np.array([0x7e00, 0xfe01, 0x7c01, 0x7fff, 0x3c00], "<u2").view("<f2")
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    ncz(["copy", "--verify", &file, &copy]).ends(0);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2]) as b:
    one, two = a["halves"][0].view("<u2").tolist(), b["halves"][0].view("<u2").tolist()
    assert one == two, (one, two)
"#;
    python.run_code(code, &[&file, &copy], &[]).unwrap();
    let dumped = ncz(["dump", "-v", "enumerated", &file]).ends(0).stdout;
    files.made("again.nc", &dumped);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    assert f["enumerated"][:].tolist() == [3, 1, 4, 3], f["enumerated"][:]
"#;
    python.run_code(code, &[&again], &[]).unwrap();
    let cdl = "netcdf d { types: char(*) r; dimensions: x = 2; variables: r v(x); data: v = {\"a\", \"\", \"b\", \"\"}, {}; }";
    let file = files.made("chars.nc", cdl);
    let code = r#"
import sys, h5py, struct
with h5py.File(sys.argv[1]) as f:
    at = f["v"].id.get_offset()
with open(sys.argv[1], "rb") as f:
    f.seek(at)
    assert [struct.unpack("<IQI", f.read(16))[0] for _ in range(2)] == [4, 0]
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    let dumped = tool("ncdump", [&file]).ends(0).stdout;
    assert!(dumped.contains("v = {\"a\", \"\", \"b\", \"\"}, {} ;"), "{dumped}");
    let again = files.made("again_chars.nc", &dumped);
    python.run_code(code, &[&again], &[]).unwrap();
}

#[test]
fn many_references_to_one_object_do_not_take_memory_without_bound() {
    let Ok(python) = python() else { return };
    let files = Files::new();
    let (file, copy) = (files.path("d.h5"), files.path("copy.nc"));
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    rows = f.create_dataset("rows", (160,), h5py.vlen_dtype(np.dtype([("a", "i1")])))
    rows[0] = np.zeros(60000, [("a", "i1")])
    at = rows.id.get_offset()
with open(sys.argv[1], "r+b") as f:
    f.seek(at)
    first = f.read(16)
    f.seek(at)
    f.write(first * 160)
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    let shown = ncz(["dump", "-v", "rows", &file]).ends(0).stdout;
    assert_eq!(shown.matches("{0}").count(), 160 * 60000);
    ncz(["copy", &file, &copy]).ends(0);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    assert all(len(row) == 60000 and not row["a"].any() for row in f["rows"][:])
"#;
    python.run_code(code, &[&copy], &[]).unwrap();
}

#[test]
fn attributes_whose_shape_netcdf_does_not_have_are_named() {
    let Ok(python) = python() else { return };
    let files = Files::new();
    let file = files.path("d.h5");
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f["v"] = np.arange(2)
    f["v"].attrs["pairs"] = np.zeros((2, 1), [("a", "<i4"), ("b", "<f8")])
    f["v"].attrs["truth"] = np.zeros((1, 2), bool)
    f["v"].attrs["numbers"] = np.zeros((2, 3), "<i8")
    f["v"].attrs["row"] = np.zeros(2, [("a", "<i4"), ("b", "<f8")])
"#;
    python.run_code(code, &[&file], &[]).unwrap();
    for args in [vec!["info", &file], vec!["copy", &file, &files.path("copy.nc")]] {
        let run = ncz(args);
        let said = run.stdout + &run.stderr;
        for (name, shape) in [("pairs", "[2, 1]"), ("truth", "[1, 2]"), ("numbers", "[2, 3]")] {
            let want = format!("the attribute {name:?} is an array of shape {shape}, read as a row");
            assert!(said.contains(&want), "{said}");
        }
        assert!(!said.contains("\"row\""), "{said}");
    }
}
