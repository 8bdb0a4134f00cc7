//! netcdf-c, by way of folders: the library in netCDF4's wheel knows no S3.

use ncz_remote_tests::Sample;
use ncz_test_support::python;

use super::service::{Service, check, sample};

#[test]
fn netcdf_c_reads_a_mirror_of_what_we_copy_into_a_bucket() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = sample(Sample::NCZARR, folder.path(), "plain.nczarr");
    for (number, service) in Service::all(&python).iter().enumerate() {
        let codec = r#"[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]"#;
        let target = service.by_address("ours/for netcdf");
        service.ncz_ok(&["copy", "-q", plain.to_str().unwrap(), &target, "--codec", codec]);
        let mirror = folder.path().join(format!("mirror-{number}"));
        let mirror = mirror.to_str().unwrap();
        service.peers(
            &python,
            &[
                format!("download,ours/for netcdf,{mirror}"),
                format!("check-netcdf,file://{mirror}#mode=nczarr,file"),
            ],
        );
    }
}

#[test]
fn what_netcdf_c_wrote_is_read_from_a_bucket_and_from_a_file_server() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (number, service) in Service::all(&python).iter().enumerate() {
        let written = folder.path().join(format!("written-{number}"));
        let written = written.to_str().unwrap();
        service.peers(
            &python,
            &[
                format!("write-netcdf,file://{written}#mode=nczarr,file"),
                format!("check-netcdf,file://{written}#mode=nczarr,file"),
                format!("upload,{written},theirs/netcdf"),
            ],
        );
        service.check("theirs/netcdf");
    }
    let server = ncz_test_servers::HttpServer::start(folder.path(), Default::default()).unwrap();
    check(&server.url("/written-0"));
}
