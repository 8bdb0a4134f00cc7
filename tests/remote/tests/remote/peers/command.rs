//! `ncz copy` between all kinds of locations.

use ncz_remote_tests::Sample;
use ncz_remote_tests::client::BUCKET;
use ncz_test_servers::HttpServer;
use ncz_test_support::python;

use super::service::{Service, check, sample};

#[test]
fn ncz_copies_between_folders_buckets_zip_files_and_file_servers() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = sample(Sample::NCZARR, folder.path(), "plain.nczarr");
    let web = HttpServer::start(folder.path(), Default::default()).unwrap();
    for (number, service) in Service::all(&python).iter().enumerate() {
        let file = |name: &str| folder.path().join(format!("{number}-{name}")).display().to_string();
        // The environment has the credentials and the endpoint.
        let bucket = |name: &str| format!("s3://{BUCKET}/{name}");
        service.ncz_ok(&["copy", "-q", "--verify", plain.to_str().unwrap(), &bucket("a.nczarr")]);
        service.check("a.nczarr");
        service.ncz_ok(&["copy", "-q", &bucket("a.nczarr"), &bucket("b.zarr"), "--format", "zarr3"]);
        service.check("b.zarr");
        service.ncz_ok(&["copy", "-q", &bucket("b.zarr"), &file("c.zip"), "--format", "zarr"]);
        check(&file("c.zip"));
        service.ncz_ok(&["copy", "-q", &service.by_address("a.nczarr"), &file("d.nczarr")]);
        check(&file("d.nczarr"));
        service.ncz_ok(&["copy", "-q", &web.url("/plain.nczarr"), &file("e.nczarr")]);
        check(&file("e.nczarr"));
        service.ncz_ok(&["copy", "-q", &web.url("/plain.nczarr"), &bucket("f.nczarr")]);
        service.check("f.nczarr");

        // An existing dataset is kept, unless it may be replaced.
        let refused = service.ncz(&["copy", "-q", &bucket("b.zarr"), &bucket("a.nczarr")]);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(refused.text().contains("--overwrite"), "{refused:?}");
        service.check("a.nczarr");
        service.ncz_ok(&["copy", "-q", "--overwrite", &bucket("b.zarr"), &bucket("a.nczarr")]);
        service.check("a.nczarr");
    }
}
