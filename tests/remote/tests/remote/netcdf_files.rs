//! netCDF and HDF5 files in S3 and on HTTP servers: how many requests commands take, and that they do what they do with a
//! file on this machine.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ncz_remote_tests::client::{self, BUCKET};
use ncz_test_servers::{Control, HttpServer, Operation};
use ncz_test_support::python;

use crate::peers::service::Service;

/// Makes a file of 100 variables; one of 10,000 chunks with the nodes of their index between them, as netCDF4 leaves
/// them; and one with the indexes of newer versions of HDF5.
const MAKE: &str = r#"
import sys

import h5py
import netCDF4
import numpy

folder = sys.argv[1]
with netCDF4.Dataset(f"{folder}/many.nc", "w") as file:
    file.createDimension("time", None)
    file.createDimension("x", 20)
    for number in range(100):
        variable = file.createVariable(f"v{number}", "f4", ("time", "x"), zlib=True, chunksizes=(1, 20))
        variable.units, variable.long_name = "m", f"variable number {number}"
        variable[:5] = numpy.arange(100).reshape(5, 20) + number
rows, width = 10_000, 125
noise = numpy.random.default_rng(1).integers(0, 2**31, (rows, width), dtype="<i4")
with netCDF4.Dataset(f"{folder}/chunks.nc", "w") as file:
    file.createDimension("time", None)
    file.createDimension("x", width)
    file.createVariable("x", "i4", ("time", "x"), zlib=True, complevel=1, chunksizes=(1, width))
    for row in range(0, rows, 10):
        file["x"][row : row + 10] = noise[row : row + 10]
with h5py.File(f"{folder}/latest.h5", "w", libver="latest") as file:
    for name, shape in [("fixed", (rows, width)), ("one", (None, width)), ("two", (None, None))]:
        data = file.create_dataset(name, (rows, width), "<i4", chunks=(1, width), maxshape=shape, compression=1)
        scale = file.create_dataset(f"{name}_row", data=numpy.arange(rows), maxshape=shape[:1], chunks=(rows,))
        scale.make_scale()
        data.dims[0].attach_scale(scale)
    for row in range(0, rows, 10):
        for name in ["fixed", "one", "two"]:
            file[name][row : row + 10] = noise[row : row + 10]
"#;

/// The files on both kinds of servers.
struct Servers {
    folder: tempfile::TempDir,
    s3: Service,
    http: HttpServer,
}

impl Servers {
    /// `None` without Python.
    fn start() -> Option<Self> {
        let python = python().ok()?;
        let folder = tempfile::tempdir().unwrap();
        python.run_code(MAKE, &[folder.path()], &[]).unwrap();
        let s3 = client::server();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            s3.put(BUCKET, path.file_name().unwrap().to_str().unwrap(), fs::read(&path).unwrap());
        }
        let http = client::file_server(&s3);
        Some(Self { folder, s3: Service::Ours(s3), http })
    }

    fn local(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The URLs of a file, and what counts the requests to them.
    fn both(&self, name: &str) -> [(String, &Control); 2] {
        let Service::Ours(s3) = &self.s3 else { panic!("it counts") };
        [(format!("s3://{BUCKET}/{name}"), s3), (self.http.url(&format!("/{name}")), &self.http)]
    }

    /// Runs a command with success; returns its output and how many requests it took. They are for ranges, but for
    /// `heads`: references have the time and the tag of their source.
    fn run_with(&self, args: &[&str], control: &Control, heads: usize) -> (String, u64) {
        control.reset_counts();
        let output = self.s3.ncz(args).success("ncz").unwrap_or_else(|error| panic!("{args:?}: {error}"));
        let log = control.requests();
        let is_get = |operation| matches!(operation, Operation::GetObject | Operation::Get);
        let others = log.iter().filter(|request| !is_get(request.operation) || request.range.is_none());
        let others: Vec<_> = others.collect();
        assert!(others.len() <= heads, "{args:?}: {others:#?}");
        (String::from_utf8(output.stdout).unwrap(), log.len() as u64)
    }

    fn run(&self, args: &[&str], control: &Control) -> (String, u64) {
        self.run_with(args, control, 0)
    }
}

/// The files below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().display().to_string();
                    drop(found.insert(name, fs::read(&path).unwrap()));
                }
            }
        }
    }
    found
}

#[test]
fn a_remote_netcdf_file_takes_few_requests_and_gives_what_a_local_one_does() {
    let Some(servers) = Servers::start() else { return };
    // Metadata alone are in the first range, or one or two more.
    let many = servers.local("many.nc");
    for (url, control) in servers.both("many.nc") {
        for args in [&["dump", "-h"][..], &["info", "--json"], &["ls"]] {
            let local = servers.run(&[args, &[&many]].concat(), control).0;
            let (remote, requests) = servers.run(&[args, &[&url]].concat(), control);
            assert!(requests <= 3, "{args:?} of {url}: {requests}");
            if args[0] != "info" {
                assert_eq!(remote, local, "{args:?}");
            }
        }
    }
    // One chunk of 10,000 takes the nodes above it.
    for (file, variables) in [("chunks.nc", &["x"][..]), ("latest.h5", &["fixed", "one", "two"])] {
        let local = servers.local(file);
        for (url, control) in servers.both(file) {
            let opening = servers.run(&["dump", "-h", &url], control).1;
            for variable in variables {
                let cat = |path: &str| {
                    let row = if file == "chunks.nc" { "time" } else { &format!("{variable}_row") };
                    servers.run(&["cat", path, variable, "--slab", &format!("{row}=4321")], control)
                };
                let (remote, requests) = cat(&url);
                assert_eq!(remote, cat(&local).0, "{variable}");
                assert!(requests <= opening + 4, "{variable} of {url}: {requests}, {opening} to open");
            }
        }
    }
}

#[test]
fn remote_netcdf_files_are_copied_and_referred_to_as_local_ones() {
    let Some(servers) = Servers::start() else { return };
    let target = |name: &str| servers.local(name);
    for (number, (url, control)) in servers.both("many.nc").into_iter().enumerate() {
        let (one, other) = (target(&format!("local{number}.zarr")), target(&format!("remote{number}.zarr")));
        servers.run(&["copy", "-q", &target("many.nc"), &one], control);
        servers.run(&["copy", "-q", "--verify", &url, &other], control);
        assert!(files(Path::new(&one)) == files(Path::new(&other)), "{url}");
        let file = target(&format!("remote{number}.nc"));
        servers.run(&["copy", "-q", &url, &file], control);
        let dumped = |path: &str| servers.run(&["dump", "-n", "many", path], control).0;
        assert_eq!(dumped(&file), dumped(&target("many.nc")));
    }
    for (number, (url, control)) in servers.both("chunks.nc").into_iter().enumerate() {
        let references = |from: &str, name: &str| {
            let to = target(&format!("{name}{number}.json"));
            let requests = servers.run_with(&["copy", "-q", from, &to], control, 1).1;
            let sent: u64 = control.requests().iter().map(|request| request.sent).sum();
            let json: serde_json::Value = serde_json::from_slice(&fs::read(to).unwrap()).unwrap();
            (json["refs"].as_object().unwrap().clone(), requests, sent)
        };
        let (local, ..) = references(&target("chunks.nc"), "local");
        let (remote, requests, sent) = references(&url, "remote");
        assert_eq!(local.len(), remote.len());
        for (key, value) in &remote {
            match value.as_array() {
                Some(range) => assert_eq!(range[1..], local[key].as_array().unwrap()[1..], "{key}"),
                None if key == ".zattrs" => {}
                None => assert_eq!(*value, local[key], "{key}"),
            }
        }
        // The first range of 256 KiB, and 172 nodes of 2,616 bytes.
        assert!(sent <= 720_000, "{sent} bytes in {requests} requests");
    }
}
