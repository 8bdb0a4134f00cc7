use std::fs;

use ncz_test_support::unpack;
use serde_json::{Value, json};

use crate::bench::{ncz, ocean};

#[test]
fn a_dataset_is_shown_with_its_sizes() {
    let path = ocean();
    let run = ncz(["info", "--sizes", path.to_str().unwrap()]).ends(0);
    let text = run.stdout.replace(path.to_str().unwrap(), "OCEAN");
    let wanted = "\
OCEAN: NCZarr 2, keys in attributes (netcdf-c 4.9.3 and later)
  written by version=2,netcdf=4.10.1,nczarr=2.0.0
  consolidated metadata: none

  dimension     length
  /time             16  unlimited
  /lat              73
  /lon             144
  /model/depth       5

  variable                  type              dimensions              chunks        codecs                data    stored  chunks  ratio
  /time                     double            time=16                 16            -                    128 B     128 B       1  1.00x
  /lat                      float             lat=73                  73            -                    292 B     292 B       1  1.00x
  /lon                      float             lon=144                 144           -                    576 B     576 B       1  1.00x
  /air_temperature          float             time=16 lat=73 lon=144  6 x 73 x 144  shuffle | zlib 4  672.8 kB  361.1 kB       3  1.86x
  /sea_surface_temperature  short             time=16 lat=73 lon=144  6 x 73 x 144  shuffle | zlib 6  336.4 kB  118.0 kB       3  2.85x
  /model/depth              int big-endian    depth=5                 5             -                     20 B      20 B       1  1.00x
  /model/salinity           float big-endian  depth=5 lat=73 lon=144  2 x 40 x 100  shuffle | zlib 4  210.2 kB   71.3 kB      12  2.95x

  551.4 kB in 22 chunks, 1.2 MB of data (2.21x)

  read by      tested
  netcdf-c     4.10.1    yes
  HDF5         2.0.0     no: it does not read NCZarr
  zarr-python  3.1.6     in part: wrong values of /air_temperature, /sea_surface_temperature, /model/salinity, because of shuffle without the size of elements
  xarray       2026.9.0  in part: wrong values of /air_temperature, /sea_surface_temperature, /model/salinity, because of shuffle without the size of elements
  zarrs        0.2.3     in part: not shuffle without the size of elements of /air_temperature, /sea_surface_temperature, /model/salinity; not big-endian numbers of /model/depth, /model/salinity
  tensorstore  0.1.86    in part: not several codecs of /air_temperature, /sea_surface_temperature, /model/salinity
  GDAL         -         in part: not shuffle without the size of elements of /air_temperature, /sea_surface_temperature, /model/salinity
  MATLAB       -         no: it does not read NCZarr
";
    assert_eq!(text, wanted);
    assert_eq!(run.stderr, "");
}

#[test]
fn the_json_has_the_same() {
    let info = ncz(["info", "--sizes", "--json", ocean().to_str().unwrap()]).ends(0).json();
    assert_eq!(info["schema"], json!(1));
    assert_eq!(info["nczarr"], json!(true));
    assert_eq!(info["findings"], json!([]));
    assert_eq!(info["dimensions"][0], json!({"path": "/time", "length": 16, "unlimited": true}));
    let salinity = &info["variables"][6];
    assert_eq!(salinity["dtype"], json!(">f4"));
    assert_eq!(salinity["dimensions"], json!(["/model/depth", "/lat", "/lon"]));
    assert_eq!(salinity["stored_chunks"], json!(12));
}

#[test]
fn version_3_is_shown_with_its_codecs_and_shards() {
    let source = unpack("zarr-python/v3-sharded.zip").unwrap();
    let path = source.path().to_str().unwrap();
    let run = ncz(["info", "--sizes", path]);
    assert!(!run.stdout.contains("name="), "{}", run.stdout);
    let info = ncz(["info", "--sizes", "--json", path]).json();
    let variables = info["variables"].as_array().unwrap();
    let named = |path: &str| variables.iter().find(|variable| variable["path"] == path).unwrap();
    let (v, n) = (named("/v"), named("/sub/n"));
    // As the archive lists them; their zarr.json are not chunks.
    assert_eq!((&v["stored_chunks"], &v["stored_bytes"]), (&json!(4), &json!(7074)));
    assert_eq!((&n["stored_chunks"], &n["stored_bytes"]), (&json!(3), &json!(12)));
    assert_eq!(n["shards"], json!(null));
    let document: Value =
        serde_json::from_slice(&fs::read(source.path().join("v/zarr.json")).unwrap()).unwrap();
    assert_eq!(v["shards"], document["chunk_grid"]["configuration"]["chunk_shape"]);
    assert_eq!(v["chunks"], document["codecs"][0]["configuration"]["chunk_shape"]);
    let lengths = |list: &Value| {
        let lengths: Vec<String> = list.as_array().unwrap().iter().map(Value::to_string).collect();
        lengths.join(" x ")
    };
    let wanted = format!("{} in {}", lengths(&v["chunks"]), lengths(&v["shards"]));
    assert!(run.stdout.contains(&wanted), "{wanted}\n{}", run.stdout);
}

#[test]
fn every_generation_is_reported_by_name() {
    for (version, wanted) in [
        ("4.10.2", "keys in attributes"),
        ("4.9.2", "lower-case keys"),
        ("4.9.0", "upper-case keys"),
        ("4.8.0", "keys in separate objects"),
    ] {
        let source = unpack(format!("netcdf-c-{version}/nczarr/simple.zip")).unwrap();
        let run = ncz(["info", source.path().to_str().unwrap()]);
        assert!(run.stdout.contains(wanted), "{version}: {}", run.stdout);
    }
}

#[test]
fn what_has_no_fill_value_is_noted() {
    let source = unpack("netcdf-c-4.10.2/nczarr/fill.zip").unwrap();
    let run = ncz(["info", source.path().to_str().unwrap()]).ends(0);
    assert!(
        run.stdout.contains("note: no fill value, so missing chunks read as zeros: /nofill"),
        "{}",
        run.stdout
    );
}

#[test]
fn stale_consolidated_metadata_are_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x.zarr");
    ncz(["copy", ocean().to_str().unwrap(), target.to_str().unwrap(), "--consolidated"]).ends(0);
    let current = ncz(["info", target.to_str().unwrap()]).ends(0);
    assert!(current.stdout.contains("consolidated metadata: up to date"), "{}", current.stdout);
    let zattrs = target.join("lat/.zattrs");
    let text = fs::read_to_string(&zattrs).unwrap().replace("degrees_north", "degrees_south");
    fs::write(&zattrs, text).unwrap();
    let stale = ncz(["info", target.to_str().unwrap()]).ends(1);
    assert!(stale.stdout.contains("consolidated metadata: stale"), "{}", stale.stdout);
    assert!(stale.stdout.contains("warning:"), "{}", stale.stdout);
}
