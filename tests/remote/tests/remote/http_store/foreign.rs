//! Python's own server of files: HTTP/1.0, no ranges, folders as pages.

use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ncz::store::http::HttpStore;
use ncz::store::{KeyBuf, ReadInto, ReadRange, ReadRequest, Store};
use ncz_test_support::program;

use super::setup::{config, key, read};

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(python: &Path, folder: &Path) -> Self {
        let mut child = Command::new(python)
            .args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory"])
            .arg(folder)
            .arg("0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // Serving HTTP on 127.0.0.1 port 8000 (http://127.0.0.1:8000/) ...
        let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        Self { child, port: port.unwrap_or_else(|| panic!("no port in {line:?}")) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_dataset_is_read_from_python_http_server() {
    let Ok(python) = program("python3") else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("my data.zarr");
    fs::create_dir_all(place.join("t")).unwrap();
    fs::write(place.join(".zgroup"), r#"{"zarr_format":2}"#).unwrap();
    for n in 0u8..40 {
        fs::write(place.join(format!("t/{n}.0")), vec![n; 1000 + usize::from(n)]).unwrap();
    }
    let server = Server::start(&python, folder.path());
    let store = HttpStore::open(config(format!("http://127.0.0.1:{}/my data.zarr", server.port))).unwrap();
    assert_eq!(read(&store, ".zgroup").unwrap().unwrap(), br#"{"zarr_format":2}"#);
    assert_eq!(read(&store, "t/.zarray").unwrap(), None);
    assert_eq!(read(&store, "t").unwrap(), None, "a folder is not an object");
    assert_eq!(store.len(key("t")).unwrap(), None);
    assert_eq!(store.len(key("t/7.0")).unwrap(), Some(1007));
    let mut out = Vec::new();
    assert!(store.read(key("t/9.0"), ReadRange::Suffix(4), 4, &mut out).unwrap());
    assert_eq!(out, [9; 4]);
    assert!(!store.capabilities().ranges, "it has none");
    assert!(store.read(key("t/9.0"), ReadRange::Bounded { offset: 1000, len: 9 }, 9, &mut out).unwrap());
    assert_eq!(out, [9; 9]);
    let mut into = [0; 2000];
    assert_eq!(
        store.read_into(key("t/3.0"), 3, &mut into).unwrap(),
        Some(ReadInto { filled: 1000, object_len: 1003 })
    );
    let keys: Vec<_> = (0..40).map(|n| KeyBuf::parse(format!("t/{n}.0")).unwrap()).collect();
    let requests: Vec<_> = keys
        .iter()
        .map(|key| ReadRequest { key: key.as_key(), range: ReadRange::All, max_len: 2000 })
        .collect();
    store.read_many(&requests, &|index, answer| {
        assert_eq!(answer.unwrap().unwrap(), vec![index as u8; 1000 + index]);
        ControlFlow::Continue(())
    });
}
