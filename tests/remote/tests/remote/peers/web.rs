//! What other programs wrote, on file servers.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ncz_test_support::python;

use super::service::{Service, check, open};

/// Python's own file server, which knows neither ranges nor lists.
struct Files {
    child: Child,
    address: String,
}

impl Files {
    fn start(interpreter: &Path, folder: &Path) -> Self {
        let mut command = Command::new(interpreter);
        command.args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory"]).arg(folder).arg("0");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // Serving HTTP on 127.0.0.1 port 8000 (http://127.0.0.1:8000/) ...
        let address = line.split(['(', ')']).nth(1).unwrap_or_else(|| panic!("no address in {line:?}"));
        Self { child, address: address.trim_end_matches('/').to_owned() }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn consolidated_datasets_of_zarr_python_are_read_and_copied_over_http() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [service, _moto] = Service::all(&python);
    let formats = ["v2-consolidated", "v3-consolidated"];
    for format in formats {
        let path = folder.path().join(format).display().to_string();
        service.peers(
            &python,
            &[format!("write,zarr-python,{format},{format}"), format!("download,{format},{path}")],
        );
    }
    let files = Files::start(&python.interpreter(), folder.path());
    for format in formats {
        let url = format!("{}/{format}", files.address);
        check(&url);
        let copy = folder.path().join(format!("{format}-copy.zarr"));
        let copy = copy.to_str().unwrap();
        service.ncz_ok(&["copy", "-q", &url, copy]);
        check(copy);
    }
}

#[test]
fn a_dataset_without_consolidated_metadata_over_http_is_read_as_far_as_it_is_named() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [service, _moto] = Service::all(&python);
    let path = folder.path().join("v3").display().to_string();
    service.peers(&python, &["write,zarr-python,v3,v3".to_owned(), format!("download,v3,{path}")]);
    let files = Files::start(&python.interpreter(), folder.path());
    let place = ncz::location::DatasetUrl::parse(&format!("{}/v3", files.address)).unwrap();
    let opened = place.open(ncz_remote_tests::client::session());
    let error = ncz_remote_tests::explained(&opened.expect_err("its children are not known"));
    assert!(error.contains("consolidated"), "{error}");
    // A single array is found by its name.
    let array = open(&format!("{}/v3/a", files.address));
    assert_eq!(array.hierarchy().variables().count(), 1);
}
