//! Codecs of numbers in copies to Zarr version 3, as zarr-python reads them.

use std::fs;

use ncz_test_support::python;
use serde_json::Value;

use crate::bench::ncz;

const SOURCE: &str = r#"
import sys, warnings, numcodecs as n, numpy as np, zarr
warnings.simplefilter("ignore")
group = zarr.create_group(sys.argv[1], zarr_format=2)
values = np.arange(40).reshape(5, 8) % 7
for name, dtype, codec in [
    ("delta", ">i4", n.Delta(">i4")),
    ("narrow", ">i4", n.Delta(">i4", ">i2")),
    ("scaled", ">f8", n.FixedScaleOffset(0, 1, ">f8", ">i4")),
    ("digits", ">f8", n.Quantize(2, ">f8")),
    ("cast", ">f8", n.AsType(">f4", ">f8")),
    ("moved", ">i4", n.Shuffle(4)),
    ("rounded", "<f4", n.BitRound(10)),
]:
    array = group.create_array(name, shape=(5, 8), chunks=(2, 8), dtype=dtype, fill_value=3, filters=[codec],
                               compressors=n.Zlib(1))
    # a chunk is missing
    array[:4] = values[:4] + (0.3 if np.dtype(dtype).kind == "f" else 0)
"#;

const ROUNDED: &str = r#"
import sys, numpy as np, zarr
group = zarr.create_group(sys.argv[1], zarr_format=2)
for name in ["kept", "plain"]:
    array = group.create_array(name, shape=40, chunks=10, dtype=">f8", filters=None, compressors=None)
    array[:] = np.linspace(0, 1, 40)
"#;

/// What zarr-python reads of the codec of the second argument is what numcodecs makes of the values.
const ENCODED: &str = r#"
import sys, numcodecs as n, numpy as np, zarr
array = zarr.open_array(sys.argv[1], mode="r")
values = np.linspace(0, 1, 40)
made = {
    "bitround": lambda: n.BitRound(10).encode(values.copy()).view("<f8"),
    "delta": lambda: values,
    "astype": lambda: values.astype("<f4").astype("<f8"),
}[sys.argv[2]]()
assert array.filters, array.metadata
assert np.allclose(array[:], made, rtol=0, atol=1e-15 if sys.argv[2] == "delta" else 0), array[:]
"#;

const SAME: &str = r#"
import sys, numpy as np, zarr
one, other = (zarr.open_group(path, mode="r") for path in sys.argv[1:])
for name, array in one.arrays():
    assert np.array_equal(array[:], other[name][:]), (name, array[:], other[name][:])
"#;

#[test]
fn copies_to_version_3_keep_codecs_that_zarr_python_reads_there() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = at("in.zarr");
    python.run_code(SOURCE, &[&source], &[]).unwrap();
    for (name, options) in [("same.zarr", &[][..]), ("chunks.zarr", &["-c", "delta:3,5", "-c", "digits:5,3"])]
    {
        let target = at(name);
        let args = ["copy", &source, &target, "--format", "zarr3", "--verify"];
        let said = ncz(args.iter().chain(options)).ends(0).stderr;
        python.run_code(SAME, &[&source, &target], &[]).unwrap();
        assert!(!said.contains("instead"), "{said}");
        let note = "/cast, /delta, /digits, /narrow, /scaled: stored as little-endian numbers";
        assert!(said.contains(note), "{said}");
        for (variable, codec) in [
            ("delta", r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i4"}}"#),
            ("rounded", r#"{"name":"numcodecs.bitround","configuration":{"keepbits":10}}"#),
        ] {
            let text = fs::read_to_string(folder.path().join(name).join(variable).join("zarr.json")).unwrap();
            let codecs = serde_json::from_str::<Value>(&text).unwrap()["codecs"].clone();
            let codec: Value = serde_json::from_str(codec).unwrap();
            assert!(codecs.as_array().unwrap().contains(&codec), "{codecs}");
        }
    }
}

#[test]
fn codecs_that_take_little_endian_numbers_get_them_in_version_3() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (plain, source, kept) = (at("plain.zarr"), at("in.zarr"), at("kept.zarr"));
    python.run_code(ROUNDED, &[&plain], &[]).unwrap();
    ncz(["copy", &plain, &source, "--codec", r#"kept={"id":"bitround","keepbits":10}"#]).ends(0);
    let said = ncz(["copy", &source, &kept, "--format", "zarr3", "--verify"]).ends(0).stderr;
    assert!(said.contains("/kept: stored as little-endian numbers"), "{said}");
    python.run_code(ENCODED, &[&at("kept.zarr/kept"), "bitround"], &[]).unwrap();
    for (name, codec) in [
        ("bitround", r#"{"id":"bitround","keepbits":10}"#),
        ("delta", r#"{"id":"delta","dtype":">f8"}"#),
        ("delta", r#"{"id":"delta","dtype":"<f8"}"#),
        ("astype", r#"{"id":"astype","encode_dtype":">f4","decode_dtype":">f8"}"#),
    ] {
        let target = at("chosen.zarr");
        let args = ["copy", &source, &target, "--format", "zarr3", "--codec", &format!("plain={codec}")];
        let said = ncz(args.iter().chain(&["--verify", "--overwrite"])).ends(0).stderr;
        assert!(said.contains("/kept, /plain: stored as little-endian numbers"), "{said}");
        python.run_code(ENCODED, &[&at("chosen.zarr/plain"), name], &[]).unwrap();
    }
}
