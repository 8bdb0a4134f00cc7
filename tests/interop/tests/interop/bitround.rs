//! HDF5's BitRound, 32032: by HDF5 with our plugin, against what The HDF Group's plugin made of the same data; and by ncz.

use ncz_test_support::{build_plugins, fixtures, python};
use serde_json::{Value, json};

use crate::harness::{ncz_ok, run_json};

/// A fill value that 5 bits would make -992 of, and a number that they make infinite.
const CDL: &str = "netcdf fill {
dimensions: x = 8 ;
variables:
  float a(x) ; a:_FillValue = -999.123f ; a:_Filter = \"32032,5\" ; a:_ChunkSizes = 8 ;
  double d(x) ; d:_FillValue = -999.123 ; d:_Filter = \"32032,9|32015,3\" ; d:_ChunkSizes = 8 ;
data:
  a = 1.2345, -999.123, 0, -0., 3.4e38, 3.14159, -999.5, 100.7 ;
  d = 1.2345, -999.123, 0, -0., 3.4e38, 3.14159, -999.5, 100.7 ;
}
";

#[test]
fn hdf5_with_our_plugin_stores_the_chunks_and_words_of_the_hdf_groups() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cases = fixtures().join("codecs/filter_32032.json").display().to_string();
    let file = folder.path().join("bitround.h5").display().to_string();
    let found = run_json(&python, "bitround.py", &[cases, file], Some(&build_plugins().unwrap()));
    assert_eq!((&found["same"], &found["untouched"]), (&json!(102), &json!(4)), "{found}");
    // Theirs spoils big-endian numbers, and takes itself out of the chain of what it does not round.
    let refused: Vec<(&str, bool)> = found["refused"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case[1] == json!([7]))
        .map(|case| (case[0].as_str().unwrap(), case[2] == Value::Bool(true)))
        .collect();
    assert_eq!(refused, [("<i4", false), ("<f2", true), ("<c8", false), (">f4", false), (">f8", false)]);
    assert_eq!(found["refused"].as_array().unwrap().len(), 11, "{found}");
}

#[test]
fn ncz_spares_the_fill_value_of_a_variable_and_needs_nothing_to_read_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (text, path) = (folder.path().join("fill.cdl"), folder.path().join("fill.zarr"));
    std::fs::write(&text, CDL).unwrap();
    ncz_ok(&["gen".as_ref(), "-o".as_ref(), path.as_os_str(), text.as_os_str()]);
    let printed = ncz_ok(&["dump".as_ref(), "-s".as_ref(), path.as_os_str()]).stdout_text();
    for line in [
        "a:_Filter = \"32032,5\" ;",
        "d:_Filter = \"32032,9|32015,3\" ;",
        "a = 1.25, _, 0, -0, Infinityf, 3.125, -992, 100 ;",
        "d = 1.234375, _, 0, -0, 3.3995005992199223e+38, 3.140625, -1000, 100.75 ;",
    ] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
    let chunk = std::fs::read(path.join("a/0")).unwrap();
    assert_eq!(chunk[4..8], (-999.123_f32).to_le_bytes());
    assert_eq!(chunk[20..24], 3.125_f32.to_le_bytes());
}
