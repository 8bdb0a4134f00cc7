//! Copies to netCDF files of every kind, as netCDF4 and xarray read them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz::copy::{Codecs, CopyOptions, CopySummary, Recoding, Selection, VariablePlan, copy};
use ncz::location::{DatasetUrl, Location};
use ncz::model::{Format, NetcdfKind, Pool, Session};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::{Dataset, NewDataset};
use ncz_test_support::{Python, python};

const KINDS: [(&str, NetcdfKind); 5] = [
    ("netcdf4", NetcdfKind::Netcdf4),
    ("netcdf4-classic", NetcdfKind::Netcdf4Classic),
    ("classic", NetcdfKind::Classic),
    ("64bit-offset", NetcdfKind::Offset64),
    ("cdf5", NetcdfKind::Cdf5),
];

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

fn open(path: &Path) -> Dataset {
    DatasetUrl { location: Location::from(path), mode: Default::default() }.open(session()).unwrap()
}

fn copied(source: &Path, target: &Path, options: CopyOptions) -> Result<CopySummary, String> {
    let new = NewDataset::Netcdf { path: target.to_owned(), overwrite: true };
    copy(&open(source), new, &options, &()).map_err(|error| {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text += &format!(": {cause}");
            source = cause.source();
        }
        text
    })
}

fn options(kind: NetcdfKind) -> CopyOptions {
    CopyOptions { format: Some(Format::Netcdf(kind)), verify: true, ..CopyOptions::default() }
}

struct Peers {
    python: Python,
    folder: tempfile::TempDir,
}

impl Peers {
    fn new() -> Option<Self> {
        let peers = Self { python: python().ok()?, folder: tempfile::tempdir().unwrap() };
        peers.run(&["write", peers.folder.path().to_str().unwrap()]);
        Some(peers)
    }

    fn run(&self, arguments: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/to_netcdf.py");
        self.python.run(&script, arguments, &[]).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compare(&self, source: &Path, copy: &Path) {
        self.compare_all(&[source.to_owned(), copy.to_owned()]);
    }

    /// Each source, and its copy after it.
    fn compare_all(&self, paths: &[PathBuf]) {
        let paths = paths.iter().map(|path| path.to_str().unwrap());
        self.run(&["compare"].into_iter().chain(paths).collect::<Vec<_>>());
    }
}

#[test]
fn netcdf4_and_xarray_read_the_copies_as_their_sources() {
    let Some(peers) = Peers::new() else { return };
    for source in ["xarray2.zarr", "xarray3.zarr", "NETCDF4.nc", "NETCDF3_CLASSIC.nc"] {
        let mut pairs = Vec::new();
        for (name, kind) in KINDS {
            let source = peers.path(source);
            let target = peers.path(&format!("{name}.nc"));
            let mut options = options(kind);
            // Truth values and 64-bit integers are not in every kind of file.
            if !matches!(kind, NetcdfKind::Netcdf4 | NetcdfKind::Cdf5) {
                let exclude = ["/flag", "/y"].map(str::to_owned).into();
                let wide = source.extension().is_some_and(|extension| extension == "zarr");
                if wide {
                    let error = copied(&source, &target, options.clone()).unwrap_err();
                    assert!(error.contains("\"/y\"") || error.contains("\"/flag\""), "{error}");
                    options.selection = Selection { exclude, ..Selection::default() };
                    copied(&source, &target, options).unwrap();
                    continue;
                }
            }
            copied(&source, &target, options).unwrap();
            pairs.extend([source, target]);
        }
        peers.compare_all(&pairs);
    }
}

#[test]
fn groups_strings_and_missing_chunks_are_kept_and_chunks_pass_through() {
    let Some(peers) = Peers::new() else { return };
    let (source, target) = (peers.path("rich.nc"), peers.path("copy.nc"));
    let summary = copied(&source, &target, options(NetcdfKind::Netcdf4)).unwrap();
    peers.compare(&source, &target);
    let sparse = summary.variables.iter().find(|variable| variable.path == "/sparse").unwrap();
    assert!(sparse.unchanged, "{sparse:?}");
    assert_eq!((sparse.chunks, sparse.recoded), (3, 0), "{sparse:?}");
    let error = copied(&source, &target, options(NetcdfKind::Cdf5)).unwrap_err();
    assert!(error.contains("\"/g/names\": netCDF files of the kind cdf5 have no type string"), "{error}");
    let selection = Selection { exclude: ["/g/names".to_owned()].into(), ..Selection::default() };
    let without_strings = CopyOptions { selection, ..options(NetcdfKind::Cdf5) };
    let error = copied(&source, &target, without_strings).unwrap_err();
    assert!(error.contains("group \"/g\""), "{error}");
    peers.compare(&source, &target);
}

#[test]
fn other_filters_are_applied_and_foreign_codecs_are_replaced() {
    let Some(peers) = Peers::new() else { return };
    let (source, target) = (peers.path("NETCDF4.nc"), peers.path("copy.nc"));
    let codecs = |text: &str| Codecs::Spec(ChainSpec::parse(text).unwrap());
    let with = |text: &str| {
        let plan = VariablePlan { codecs: codecs(text), ..VariablePlan::default() };
        let variables = [("/temp".to_owned(), plan)].into();
        CopyOptions { variables, ..options(NetcdfKind::Netcdf4) }
    };
    let summary = copied(&source, &target, with("shuffle|zlib,9")).unwrap();
    let temp = summary.variables.iter().find(|variable| variable.path == "/temp").unwrap();
    assert_eq!(temp.recoding, Some(Recoding::Codecs), "{temp:?}");
    peers.compare(&source, &target);
    let error = copied(&source, &target, with("lzma")).unwrap_err();
    assert!(error.contains("HDF5 filter"), "{error}");
    let zarr = peers.path("xarray2.zarr");
    let summary = copied(&zarr, &target, options(NetcdfKind::Netcdf4)).unwrap();
    let temp = summary.variables.iter().find(|variable| variable.path == "/temp").unwrap();
    assert!(!temp.chain.is_empty(), "{temp:?}");
    peers.compare(&zarr, &target);
}
