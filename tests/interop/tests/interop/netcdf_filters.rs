//! netcdf-c's test filters (`test`, `noop`, `noop1`, `unknown`) in netcdf-c and in ncz, as netcdf-c's scripts `run_nczfilter`,
//! `run_filter`, `tst_filter` and `tst_unknown` use them: written, read, copied and taken away.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ncz_test_support::{Output, Python, build_examples, program, python, run};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{ncz, run_script};

const SCRIPT: &str = "netcdf_filters.py";
/// The parameters of netcdf-c's own tests after the first: one of each type.
const GIVEN: [u32; 13] = [
    239,
    23,
    65511,
    27,
    77,
    93,
    1_145_389_056,
    3_287_505_826,
    1_097_305_129,
    1,
    2_147_483_648,
    4_294_967_295,
    4_294_967_295,
];
const KEYS: [&str; 13] = [
    "byte", "ubyte", "short", "ushort", "int", "uint", "float", "double_0", "double_1", "int64_0", "int64_1",
    "uint64_0", "uint64_1",
];
/// `NC_EINVAL`, `NC_EFILTER` and `NC_ENOFILTER`.
const EINVAL: i32 = -36;
const EFILTER: i32 = -132;
const ENOFILTER: i32 = -136;

/// A folder for data, and one of plugins.
struct Bench {
    python: Python,
    folder: TempDir,
}

impl Bench {
    fn new() -> Option<Self> {
        let python = python().ok()?;
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("plugins")).unwrap();
        for (name, library) in build_examples("ncz-netcdf-filters").unwrap() {
            fs::copy(library, folder.path().join("plugins").join(format!("lib{name}.so"))).unwrap();
        }
        Some(Self { python, folder })
    }

    fn plugins(&self) -> PathBuf {
        self.folder.path().join("plugins")
    }

    fn take_away(&self, name: &str) {
        fs::remove_file(self.plugins().join(format!("lib{name}.so"))).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What netcdf-c calls a file, HDF5's or NCZarr's.
    fn url(&self, name: &str) -> String {
        let path = self.path(name);
        if name.ends_with(".nc") { path } else { format!("file://{path}#mode=nczarr,file") }
    }

    /// What netcdf-c returned, and what was printed.
    fn netcdf(&self, action: &str, name: &str, chain: &Value) -> (Value, Output) {
        let args = [action.to_owned(), self.url(name), chain.to_string()];
        let output = run_script(&self.python, SCRIPT, &args, Some(&self.plugins()));
        let output = output.success(SCRIPT).unwrap_or_else(|error| panic!("{error}"));
        let text = output.stdout_text();
        let codes = text.lines().find_map(|line| line.strip_prefix("codes: ")).unwrap();
        (serde_json::from_str(codes).unwrap(), output)
    }

    /// Runs ncz with the plugins.
    fn ncz(&self, args: &[&str]) -> Output {
        let plugins = self.plugins().display().to_string();
        ncz(&[&["--plugin-path", &plugins][..], args].concat())
    }

    fn ncz_ok(&self, args: &[&str]) -> String {
        let output = self.ncz(args).success("ncz").unwrap_or_else(|error| panic!("{error}"));
        output.stdout_text()
    }
}

/// The filter `test` with this first parameter.
fn test(case: u32) -> Vec<u32> {
    [32768, case].into_iter().chain(GIVEN).collect()
}

fn text(words: &[u32]) -> String {
    words.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn metadata(path: &str) -> Value {
    serde_json::from_slice(&fs::read(Path::new(path).join("v/.zarray")).unwrap()).unwrap()
}

#[test]
fn fourteen_parameters_of_all_types_come_through() {
    let Some(bench) = Bench::new() else { return };
    for name in ["misc.nc", "misc.zarr"] {
        // All are looked at (1), sizes are printed (2), and a chunk gets longer (3).
        for case in [1, 2, 3] {
            let _ = fs::remove_dir_all(bench.path(name));
            let (codes, output) = bench.netcdf("write", name, &json!([test(case)]));
            assert_eq!(codes, json!({"create": 0, "filters": [0], "put": 0, "close": 0}), "{name} {case}");
            let sizes = lines(&stderr(&output), ">>> nbytes = 1024 chunk size = 1024").len();
            assert_eq!(sizes, usize::from(case == 2), "{}", output.text());
            let (codes, _) = bench.netcdf("read", name, &Value::Null);
            assert_eq!((&codes["filters"], &codes["same"]), (&json!([test(case)]), &json!(true)), "{name}");
        }
    }
    let stored = metadata(&bench.path("misc.zarr"));
    let mut codec = json!({"id": "test", "testcase": "3"});
    for (key, word) in KEYS.iter().zip(GIVEN) {
        codec[*key] = word.to_string().into();
    }
    assert_eq!((&stored["compressor"], &stored["filters"]), (&codec, &Value::Null));
    assert_eq!(fs::metadata(bench.path("misc.zarr/v/0")).unwrap().len(), 8192);
}

#[test]
fn a_parameter_that_did_not_come_through_is_seen() {
    let Some(bench) = Bench::new() else { return };
    for place in 2..15 {
        let mut words = test(1);
        words[place] ^= 1 << 8;
        let key = KEYS[place - 2];
        let (codes, output) = bench.netcdf("write", &format!("{key}.zarr"), &json!([words]));
        assert_eq!(codes["close"], EFILTER, "{key}");
        assert!(stderr(&output).contains(&format!(">>> mismatch: {key}")), "{}", output.text());
    }
    let (codes, output) = bench.netcdf("write", "few.zarr", &json!([[32768, 1, 2]]));
    assert_eq!(codes["close"], EINVAL);
    assert!(stderr(&output).contains("need=14 sent=2"), "{}", output.text());
}

#[test]
fn filters_run_in_order_and_in_reverse_to_decode() {
    let Some(bench) = Bench::new() else { return };
    let chain = json!([[40000, 0, 18], [40001, 1]]);
    for name in ["order.nc", "order.zarr"] {
        let (codes, output) = bench.netcdf("write", name, &chain);
        assert_eq!(codes["filters"], json!([0, 0]));
        assert_eq!(
            lines(&output.stdout_text(), "direction="),
            [
                "direction=compress id=40000 cd_nelmts=2 cd_values= 0 18",
                "direction=compress id=40001 cd_nelmts=1 cd_values= 1"
            ]
        );
        let (codes, output) = bench.netcdf("read", name, &Value::Null);
        assert_eq!((&codes["filters"], &codes["same"]), (&chain, &json!(true)));
        assert_eq!(
            lines(&output.stdout_text(), "direction="),
            [
                "direction=decompress id=40001 cd_nelmts=1 cd_values= 1",
                "direction=decompress id=40000 cd_nelmts=2 cd_values= 0 18"
            ]
        );
    }
    let stored = metadata(&bench.path("order.zarr"));
    assert_eq!(stored["filters"], json!([{"id": "noop", "p0": "0", "p1": "18"}]));
    assert_eq!(stored["compressor"], json!({"id": "noop1", "p0": "1"}));
}

#[test]
fn what_was_written_with_a_filter_that_is_gone_shows_its_metadata_and_no_data() {
    let Some(bench) = Bench::new() else { return };
    for name in ["known.nc", "known.zarr"] {
        assert_eq!(bench.netcdf("write", name, &json!([[33000]])).0["close"], 0);
        let (codes, _) = bench.netcdf("read", name, &Value::Null);
        assert_eq!((&codes["filters"], &codes["same"]), (&json!([[33000]]), &json!(true)));
    }
    let known = bench.path("known.zarr");
    assert_eq!(metadata(&known)["compressor"], json!({"id": "unknown"}));
    let header = bench.ncz_ok(&["dump", "-hs", &known]);
    assert!(header.contains("v:_Filter = \"33000\" ;"), "{header}");
    assert!(bench.ncz_ok(&["dump", &known]).contains("254, 255 ;"));

    bench.take_away("h5unknown");
    for name in ["known.nc", "known.zarr"] {
        let (codes, _) = bench.netcdf("read", name, &Value::Null);
        assert_eq!((&codes["get"], &codes["same"]), (&json!(ENOFILTER), &json!(false)), "{name}");
    }
    assert_eq!(bench.netcdf("write", "no.nc", &json!([[33000]])).0["filters"], json!([ENOFILTER]));
    let header = bench.ncz_ok(&["dump", "-hs", &known]);
    assert!(header.contains("float v(x) ;") && header.contains("{\\\"id\\\": \\\"unknown\\\"}"), "{header}");
    let data = bench.ncz(&["dump", &known]);
    assert_eq!(data.status.code(), Some(1), "{}", data.text());
    assert!(stderr(&data).contains("no codec for numcodecs codec \"unknown\""), "{}", data.text());
}

#[test]
fn ncz_uses_them_as_any_foreign_plugin() {
    let Some(bench) = Bench::new() else { return };
    let (from, to) = (bench.path("from.zarr"), bench.path("to.zarr"));
    assert_eq!(bench.netcdf("write", "from.zarr", &json!([[33000]])).0["close"], 0);
    let table = bench.ncz_ok(&["plugins"]);
    for line in [
        "libh5misc.so (HDF5+NCZarr; NCZarr codec:",
        "libh5noop.so (HDF5+NCZarr)",
        "libh5unknown.so (HDF5+NCZarr)",
    ] {
        assert!(table.contains(line), "{line}\n{table}");
    }
    let misc = |case| text(&test(case));
    for chain in [misc(1), misc(2), misc(3), "40000,5,6|40001".to_owned(), "33000".to_owned()] {
        let _ = fs::remove_dir_all(&to);
        bench.ncz_ok(&["copy", "-F", &format!("*,{chain}"), &from, &to]);
        let header = bench.ncz_ok(&["dump", "-hs", &to]);
        assert!(header.contains(&format!("v:_Filter = \"{chain}\" ;")), "{chain}\n{header}");
        assert!(bench.ncz_ok(&["dump", &to]).contains("254, 255 ;"), "{chain}");
        let (codes, _) = bench.netcdf("read", "to.zarr", &Value::Null);
        assert_eq!((&codes["get"], &codes["same"]), (&json!(0), &json!(true)), "{chain}: {codes}");
    }
    let wrong = misc(1).replace(",239,", ",238,");
    for (chain, said) in [
        (&*wrong, "encoding by codec test (stage 1 of 1"),
        ("32768,1,2", "(code -36): from NCZ_hdf5_to_codec"),
        ("33000,7", "(code -36): from NCZ_hdf5_to_codec"),
    ] {
        let refused = bench.ncz(&["copy", "-F", &format!("*,{chain}"), &from, &bench.path("refused.zarr")]);
        assert!(!refused.status.success() && stderr(&refused).contains(said), "{}", refused.text());
    }
    // Without its NCZarr codec a filter has no name to be stored by.
    bench.take_away("zmisc");
    let table = bench.ncz_ok(&["plugins"]);
    let line = "no NCZarr codec: in Zarr data by its number only";
    assert!(table.contains("libh5misc.so (HDF5)\n") && table.contains(line), "{table}");
}

#[test]
fn netcdfs_own_tools_write_hdf5_files_with_them() {
    let Some(bench) = Bench::new() else { return };
    let [Ok(ncgen), Ok(nccopy), Ok(ncdump)] = ["ncgen", "nccopy", "ncdump"].map(program) else { return };
    let start = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        let command = command.env("HDF5_PLUGIN_PATH", bench.plugins()).args(args);
        run(command, Duration::from_secs(60)).unwrap()
    };
    let ok = |program: &Path, args: &[&str]| start(program, args).success("netCDF").unwrap().stdout_text();
    let (text_file, plain) = (bench.path("plain.cdl"), bench.path("plain.nc"));
    let numbers: Vec<String> = (0..256).map(|number| number.to_string()).collect();
    let cdl = format!(
        "netcdf plain {{\ndimensions: x = 256 ;\nvariables: float v(x) ;\n v:_ChunkSizes = 256 ;\ndata: v = {} ;\n}}\n",
        numbers.join(", ")
    );
    fs::write(&text_file, cdl).unwrap();
    ok(&ncgen, &["-4", "-o", &plain, &text_file]);
    for (name, chain) in
        [("a.nc", text(&test(1))), ("b.nc", text(&test(3))), ("c.nc", "40000,5,6|40001".to_owned())]
    {
        let copy = bench.path(name);
        ok(&nccopy, &["-M0", "-F", &format!("v,{chain}"), &plain, &copy]);
        let printed = ok(&ncdump, &["-s", &copy]);
        assert!(printed.contains(&format!("v:_Filter = \"{chain}\" ;")), "{printed}");
        assert!(printed.contains("254, 255 ;"), "{printed}");
    }
    let unknown = bench.path("unknown.nc");
    ok(&nccopy, &["-M0", "-F", "v,33000", &plain, &unknown]);
    bench.take_away("h5unknown");
    let header = ok(&ncdump, &["-hs", &unknown]);
    assert!(header.contains("v:_Filter = \"33000\" ;"), "{header}");
    assert!(!start(&ncdump, &["-s", &unknown]).status.success());
}
