//! What xarray masks in a copy and not in its source, or the other way: a note of the copy names each such variable.

use ncz_test_support::{Python, python};

use crate::bench::ncz;
use crate::masks::{fills, named, path};

/// Copies with their sources, and the variables that the notes of each name.
#[derive(Default)]
struct Copies {
    pairs: Vec<[String; 2]>,
    noted: Vec<Vec<String>>,
}

impl Copies {
    fn add(&mut self, source: &str, copy: String, noted: Vec<String>) {
        self.pairs.push([source.to_owned(), copy]);
        self.noted.push(noted);
    }

    /// Checks that the notes name what differs for xarray, and nothing else.
    fn check(&self, python: &Python) {
        let argument = serde_json::to_string(&self.pairs).unwrap();
        let printed = python.run_code(DIFFERING, &[argument], &[]).unwrap().stdout_text();
        let differing: Vec<Vec<String>> = serde_json::from_str(&printed).unwrap();
        let wrong = self.pairs.iter().zip(self.noted.iter().zip(&differing));
        let wrong: Vec<_> = wrong.filter(|(_, (noted, differ))| noted != differ).collect();
        assert!(wrong.is_empty(), "copies, what notes name and what differs: {wrong:#?}");
    }
}

/// Prints, for each pair of datasets, the variables whose values or masks differ for xarray.
const DIFFERING: &str = r#"
import json, sys, warnings, xarray
warnings.simplefilter("ignore")
def read(path):
    engine = {"engine": "netcdf4"} if path.endswith(".nc") else {"engine": "zarr", "consolidated": False}
    with xarray.open_dataset(path, **engine) as dataset:
        return {name: plain(variable.values) for name, variable in dataset.variables.items()}
def plain(values):
    if values.dtype.kind in "mM":
        values = values.astype(values.dtype.str[:2] + "8[s]").astype("i8")
    if values.dtype.names:
        values = values["r"] + 1j * values["i"]
    return [None if value != value else value.decode() if isinstance(value, bytes) else value for value in values.tolist()]
sources = {}
def differing(source, copy):
    wanted, found = sources.get(source) or sources.setdefault(source, read(source)), read(copy)
    return sorted(f"/{name}" for name in found if str(found[name]) != str(wanted[name]))
print(json.dumps([differing(*pair) for pair in json.loads(sys.argv[1])]))
"#;

#[test]
fn what_xarray_masks_in_a_copy_and_not_in_its_source_or_the_other_way_is_named() {
    let Some((python, folder)) = fills() else { return };
    let at = |name: &str| path(folder.path(), name);
    // One by one, since notes name at most 5 variables. NCZarr has no complex numbers, and a fill value of text closes it.
    let names = |version: u8| {
        let entries = std::fs::read_dir(at(&format!("fills{version}.zarr"))).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with(['.', 'z'])).collect();
        names.sort();
        names
    };
    let mut copies = Copies::default();
    for (version, format, text) in [
        (3, "zarr", "xarray takes the fill value"),
        (3, "nczarr", "xarray takes the fill value"),
        (2, "zarr3", "although xarray masks it"),
        (2, "netcdf4", "although xarray masks it"),
    ] {
        let source = at(&format!("fills{version}.zarr"));
        for name in names(version) {
            let is_text = ["U3", "S3", "tr"].contains(&&name[..2]);
            let is_closed = is_text && name.ends_with("_0_part") || name.starts_with("c8");
            if format == "nczarr" && is_closed {
                continue;
            }
            let suffix = if format == "netcdf4" { "nc" } else { format };
            let copy = at(&format!("{name}{version}.{suffix}"));
            let options = ["--variables", &name, "--format", format, "--verify", "--json"];
            let ran = ncz(["copy", &source, &copy].iter().chain(&options)).ends(0).json();
            copies.add(&source, copy, named(&ran, text));
        }
    }
    assert!(copies.pairs.len() > 120, "{} copies", copies.pairs.len());
    copies.check(&python);
}

/// An array whose mask is netCDF's default fill value, and times without a fill value; chunks are missing.
const TWO_MASKS: &str = r#"
import base64, os, struct, sys, warnings, numpy as np, zarr
os.chdir(sys.argv[1])
warnings.simplefilter("ignore")
def array(name, dtype, fill, mask, values, version):
    group = zarr.open_group(f"masks{version}.zarr", mode="a", zarr_format=version)
    dimensions = {"dimension_names": ["x"]} if version == 3 else {}
    made = group.create_array(name, shape=(6,), chunks=(2,), dtype=dtype, fill_value=fill, compressors=None, **dimensions)
    made[:4] = np.array(values).astype(dtype)[:4]
    made.attrs.update({} if mask is None else {"_FillValue": mask}, **{} if version == 3 else {"_ARRAY_DIMENSIONS": ["x"]})
base64_of = lambda number: base64.b64encode(struct.pack("<d", number)).decode()
default = 9.969209968386869e36
array("default", "f4", 0, base64_of(default), [1, default, 2, 3], 3)
for name, dtype in [("date", "<M8[ms]"), ("span", "<m8[s]"), ("big", ">m8[ms]")]:
    array(name, dtype, None, None, [1, 9, 0, 2], 2)
"#;

#[test]
fn the_default_fill_value_stays_masked_and_times_that_were_not_written_stay_none() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path(folder.path(), name);
    python.run_code(TWO_MASKS, &[folder.path()], &[]).unwrap();
    let mut copies = Copies::default();
    for (version, formats, names) in
        [(3, ["zarr", "nczarr", "netcdf4"], "default"), (2, ["zarr3", "nczarr", "netcdf4"], "date span big")]
    {
        let source = at(&format!("masks{version}.zarr"));
        for (format, name) in
            formats.iter().flat_map(|format| names.split(' ').map(move |name| (format, name)))
        {
            let copy = at(&format!("{name}.{}", if *format == "netcdf4" { "nc" } else { format }));
            let options = ["--variables", name, "--format", format, "--json"];
            let ran = ncz(["copy", &source, &copy].iter().chain(&options)).ends(0).json();
            copies.add(&source, copy, named(&ran, "xarray takes"));
        }
    }
    copies.check(&python);
    let code = r##"
import sys, netCDF4
with netCDF4.Dataset(f"file://{sys.argv[1]}#mode=nczarr,file") as file:
    assert file["default"][:].mask.tolist()[:4] == [False, True, False, False], file["default"][:]
"##;
    python.run_code(code, &[at("default.nczarr")], &[]).unwrap();
    for name in ["date", "big"] {
        let shown = ncz(["cat", &at("masks2.zarr"), name]).ends(0).stdout;
        assert_eq!(shown, "1\n9\n0\n2\n-9223372036854775808\n-9223372036854775808\n");
    }
}

/// Arrays whose attribute `_FillValue` is 9 or equal to `fill_value`, with and without a missing chunk.
const BOTH: &str = r#"
import os, sys, warnings, numpy as np, zarr
os.chdir(sys.argv[1])
warnings.simplefilter("ignore")
for version in (2, 3):
    group = zarr.create_group(f"both{version}.zarr", zarr_format=version)
    cases = [("i2", -1, 9), ("i4", 0, 9), ("u1", 255, 9), (">u2", 65535, 9), ("i8", 9, 9), ("u1", 255, 255), ("i1", -127, 9)]
    for dtype, fill, mask in cases + ([] if version == 2 else [("?", True, False)]):
        for count in (4, 6):
            name = f"{np.dtype(dtype).name}_{int(fill)}_{int(mask)}_{count}"
            array = group.create_array(name, shape=(6,), chunks=(2,), dtype=dtype, fill_value=fill, compressors=None,
                                       attributes={"_FillValue": mask} | ({"_ARRAY_DIMENSIONS": ["x"]} if version == 2 else {}),
                                       config={"write_empty_chunks": True}, **({} if version == 2 else {"dimension_names": ["x"]}))
            array[:count] = np.array([1, 9, fill, 0, 9, fill]).astype(dtype)[:count]
"#;

#[test]
fn a_fill_value_that_xarray_masks_in_place_of_the_attribute_is_named() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    python.run_code(BOTH, &[folder.path()], &[]).unwrap();
    let at = |name: &str| path(folder.path(), name);
    let mut copies = Copies::default();
    for (version, format) in
        [(3, "zarr"), (3, "nczarr"), (3, "netcdf4"), (2, "zarr3"), (2, "netcdf4"), (2, "nczarr")]
    {
        let source = at(&format!("both{version}.zarr"));
        let entries = std::fs::read_dir(&source).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        for name in names.filter(|name| !name.starts_with(['.', 'z'])) {
            // Elsewhere truth values become numbers, which another note says.
            if name.starts_with("bool") && format != "zarr" {
                continue;
            }
            let copy = at(&format!("{name}{version}.{}", if format == "netcdf4" { "nc" } else { format }));
            let options = ["--variables", &name, "--format", format, "--json"];
            let ran = ncz(["copy", &source, &copy].iter().chain(&options)).ends(0).json();
            copies.add(&source, copy, named(&ran, "_FillValue"));
        }
    }
    copies.check(&python);
}

/// How many variables of copies are read.
const READINGS: &str = "940";

#[test]
fn what_xarray_masks_of_each_type_it_masks_in_a_copy_in_each_format_or_a_note_names_it() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let args = [env!("CARGO_BIN_EXE_ncz"), folder.path().to_str().unwrap()];
    let printed = python.run_code(include_str!("masks.py"), &args, &[]).unwrap().stdout_text();
    assert_eq!(printed.trim_end(), READINGS);
}
