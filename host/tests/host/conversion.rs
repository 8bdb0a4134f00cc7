//! Daily files with other epochs, packing and missing values become one dataset: what xarray and netCDF4 read of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz::NewDataset;
use ncz::concat::{self, ConcatOptions, Misaligned};
use ncz::copy::{CopyOptions, append, append_with_receipt, copy};
use ncz::location::{DatasetUrl, Location};
use ncz::model::{Format, NetcdfKind, Pool, Session};
use ncz::registry::Registry;
use ncz::store::{Access, CreateOptions, FileStore};
use ncz_test_support::{Python, python};

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

fn url(path: &Path) -> DatasetUrl {
    DatasetUrl { location: Location::from(path), mode: Default::default() }
}

/// The folder with the files, and their paths.
fn days(python: &Python) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    run(python, "write", folder.path());
    let paths = (0..3).map(|day| folder.path().join(format!("day{day}.nc"))).collect();
    (folder, paths)
}

fn run(python: &Python, what: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversion.py");
    python.run(&script, &[what, folder.to_str().unwrap()], &[]).unwrap();
}

fn options(format: Format) -> CopyOptions {
    CopyOptions { format: Some(format), verify: true, ..CopyOptions::default() }
}

#[test]
fn xarray_and_netcdf4_read_of_joined_and_appended_files_what_they_read_of_the_files() {
    let Ok(python) = python() else { return };
    let (folder, paths) = days(&python);
    let urls: Vec<DatasetUrl> = paths.iter().map(|path| url(path)).collect();
    let joined = concat::open(&urls, "time", &session(), &ConcatOptions::default()).unwrap();
    let note = &joined.notes()[0];
    assert!(note.contains("are converted to") && note.ends_with(": p, t, time, time_bnds, w"), "{note}");
    let create = |name: &str| FileStore::create(folder.path().join(name), CreateOptions::new()).unwrap();
    copy(&joined, Arc::new(create("concat.zarr")), &options(Format::Zarr2), &()).unwrap();
    copy(&joined, Arc::new(create("concat.nczarr")), &options(Format::NCZARR), &()).unwrap();
    let file = NewDataset::Netcdf { path: folder.path().join("concat.nc"), overwrite: false };
    copy(&joined, file, &options(Format::Netcdf(NetcdfKind::Netcdf4)), &()).unwrap();
    for (name, format) in
        [("append.zarr", Format::Zarr2), ("append.zarr3", Format::Zarr3), ("append.nczarr", Format::NCZARR)]
    {
        let first = ncz::open(&paths[0]).unwrap();
        copy(&*first, Arc::new(create(name)), &options(format), &()).unwrap();
        for path in &paths[1..] {
            let target = url(&folder.path().join(name)).open_zarr(Access::ReadWrite, session()).unwrap();
            append(&*ncz::open(path).unwrap(), target, "time", &options(format), &()).unwrap();
        }
    }
    run(&python, "read", folder.path());
    // In references values are as they are stored: only short variables are in them as values.
    let misaligned = Misaligned::Refuse { most: 1000 };
    let refused =
        concat::open(&urls, "time", &session(), &ConcatOptions { misaligned, ..Default::default() });
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("cannot be referred to: its values would have to be converted"), "{text}");
}

#[test]
fn of_zarr_with_other_byte_orders_and_unmasked_fills_xarray_reads_what_the_notes_say() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    run(&python, "parts", folder.path());
    let urls = ["part0.zarr", "part1.zarr"].map(|name| url(&folder.path().join(name)));
    let joined = concat::open(&urls, "time", &session(), &ConcatOptions::default()).unwrap();
    let notes = joined.notes();
    let has = |text: &str, names: &str| notes.iter().any(|note| note.contains(text) && note.ends_with(names));
    assert!(has("part1.zarr does not mark missing values, although xarray masks it", ": zeros"), "{notes:?}");
    assert!(has("are converted to", ": time"), "{notes:?}");
    let create = |name: &str| FileStore::create(folder.path().join(name), CreateOptions::new()).unwrap();
    copy(&joined, Arc::new(create("joined.zarr")), &options(Format::Zarr2), &()).unwrap();
    let first = ncz::open(folder.path().join("part0.zarr")).unwrap();
    copy(&*first, Arc::new(create("grown.zarr")), &options(Format::Zarr2), &()).unwrap();
    let target = url(&folder.path().join("grown.zarr")).open_zarr(Access::ReadWrite, session()).unwrap();
    let source = ncz::open(folder.path().join("part1.zarr")).unwrap();
    let store = Arc::clone(target.store());
    let appended = append_with_receipt(&*source, target, "time", &options(Format::Zarr2), &()).unwrap();
    assert_eq!(appended.unmasked_fills, ["/zeros"]);
    appended.receipt.confirm(&*store).unwrap();
    let urls = ["nat0.zarr", "nat1.zarr"].map(|name| url(&folder.path().join(name)));
    let joined = concat::open(&urls, "time", &session(), &ConcatOptions::default()).unwrap();
    copy(&joined, Arc::new(create("nat.zarr")), &options(Format::Zarr2), &()).unwrap();
    run(&python, "joined", folder.path());
}

#[test]
fn moments_from_which_times_count_are_those_that_xarray_and_cftime_both_read() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    run(&python, "epochs", folder.path());
    let count = std::fs::read_to_string(folder.path().join("count")).unwrap();
    let (alike, refused) = count.split_once(' ').unwrap();
    let (alike, refused): (usize, usize) = (alike.parse().unwrap(), refused.parse().unwrap());
    let path = |number: usize| url(&folder.path().join(format!("epoch{number}.nc")));
    let options_of_concat = ConcatOptions { any_order: true, ..ConcatOptions::default() };
    for number in 1..=alike + refused {
        match concat::open(&[path(0), path(number)], "time", &session(), &options_of_concat) {
            Ok(joined) => {
                let path = folder.path().join(format!("epochs{number}.nc"));
                let file = NewDataset::Netcdf { path, overwrite: false };
                copy(&joined, file, &options(Format::Netcdf(NetcdfKind::Netcdf4)), &()).unwrap();
            }
            Err(error) => {
                let text = error.to_string();
                assert!(number > alike, "{text}");
                let why = ["there is no such moment", "readers do not read the same"]
                    .iter()
                    .any(|why| text.contains(why));
                assert!(why && text.contains("counted from a moment such as"), "{text}");
            }
        }
        // Of the same moment nothing is to be converted, whatever it is.
        concat::open(&[path(number), path(number)], "time", &session(), &options_of_concat).unwrap();
    }
    run(&python, "moments", folder.path());
}
