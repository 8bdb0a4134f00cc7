//! zarr-python (over obstore) and tensorstore.

use ncz_remote_tests::Sample;
use ncz_test_support::python;

use super::service::{Service, sample};

#[test]
fn what_zarr_python_and_tensorstore_write_into_a_bucket_is_read() {
    let Ok(python) = python() else { return };
    let written = [
        ("zarr-python", "v2"),
        ("zarr-python", "v2-consolidated"),
        ("zarr-python", "v3"),
        ("zarr-python", "v3-consolidated"),
        ("zarr-python", "v3-sharded"),
        ("tensorstore", "v2"),
        ("tensorstore", "v3"),
        ("tensorstore", "v3-sharded"),
    ];
    for service in Service::all(&python) {
        let prefix = |(peer, format): (&str, &str)| format!("of peers/{peer} {format}.zarr");
        let steps: Vec<_> = written.map(|of| format!("write,{},{},{}", of.0, of.1, prefix(of))).into();
        service.peers(&python, &steps);
        for of in written {
            service.check(&prefix(of));
        }
    }
}

#[test]
fn what_we_copy_into_a_bucket_zarr_python_and_tensorstore_read() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = sample(Sample::NCZARR, folder.path(), "plain.nczarr");
    let sharded = sample(Sample::SHARDED, folder.path(), "sharded.zarr");
    let (plain, sharded) = (plain.to_str().unwrap(), sharded.to_str().unwrap());
    const BLOSC: &str = r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1}"#;
    const SHUFFLE: &str = r#"[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]"#;
    const CRC: &str = r#"[{"id":"zstd","level":1},{"id":"crc32c"}]"#;
    // source, arguments, version, who reads it: tensorstore has no filters of version 2
    let copies: [(&str, &[&str], &str, &[&str]); 7] = [
        (plain, &["--format", "nczarr", "--codec", BLOSC], "2", &["zarr-python", "tensorstore"]),
        (plain, &["--format", "nczarr", "--codec", SHUFFLE, "--consolidated"], "2", &["zarr-python"]),
        (plain, &["--format", "zarr", "--codec", SHUFFLE], "2", &["zarr-python"]),
        (
            plain,
            &["--format", "zarr", "--consolidated", "--codec", BLOSC],
            "2",
            &["zarr-python", "tensorstore"],
        ),
        (plain, &["--format", "zarr3", "--codec", CRC], "3", &["zarr-python", "tensorstore"]),
        (
            plain,
            &["--format", "zarr3", "--consolidated", "--codec", BLOSC],
            "3",
            &["zarr-python", "tensorstore"],
        ),
        (sharded, &["--format", "zarr3"], "3", &["zarr-python", "tensorstore"]),
    ];
    for service in Service::all(&python) {
        let mut steps = Vec::new();
        for (number, (source, args, version, readers)) in copies.iter().enumerate() {
            let prefix = format!("ours/{number}.zarr");
            let target = service.by_address(&prefix);
            service.ncz_ok(&[&["copy", "-q", source, &target], *args].concat());
            service.check(&prefix);
            steps.extend(readers.iter().map(|reader| format!("check,{reader},{version},{prefix}")));
        }
        assert_eq!(steps.len(), 12);
        service.peers(&python, &steps);
    }
}
