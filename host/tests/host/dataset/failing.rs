//! A copy that fails, at whatever operation, leaves its target absent; one that succeeds leaves it whole.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ncz::copy::{Codecs, CopyError, CopyOptions, VariablePlan, copy};
use ncz::model::{ChunkError, DataError};
use ncz::progress::Progress;
use ncz::store::testing::{Fault, Faulty};
use ncz::store::{
    Access, Capabilities, CreateOptions, Depth, FileStore, Key, Listing, MemoryStore, Prefix, ReadInto,
    ReadRange, Store, StoreError, WriteMode,
};
use ncz::zarr::Dataset;
use ncz_test_support::unpack;

use super::helpers::{contents, memory, objects, open, open_file, session, spec};

/// With a variable of each way: unchanged, encoded again, in other chunks.
fn options() -> CopyOptions {
    let plan = |codecs, chunks| VariablePlan { codecs, chunks, ..VariablePlan::default() };
    let variables = [
        ("/temp", plan(Codecs::Keep, Some(vec![5, 2, 3]))),
        ("/g1/q", plan(Codecs::Spec(spec(r#"{"id":"zstd","level":1}"#)), None)),
    ];
    CopyOptions {
        variables: variables.into_iter().map(|(path, plan)| (path.to_owned(), plan)).collect(),
        verify: true,
        consolidated: true,
        ..CopyOptions::default()
    }
}

fn groups() -> tempfile::TempDir {
    unpack("netcdf-c-4.10.2/nczarr/groups.zip").unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn whichever_operation_of_the_target_fails_it_is_absent_or_whole() {
    let original = groups();
    let source = open(Arc::new(FileStore::open(original.path(), Access::Read).unwrap()), &session(1));
    let wanted = contents(&source);
    let attempt = |fault| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.zarr");
        let store = Arc::new(Faulty::new(FileStore::create(&path, CreateOptions::new()).unwrap(), fault));
        let result = copy(&source, store.clone(), &options(), &());
        let operations = store.operations();
        drop(store);
        (folder, path, result, operations)
    };
    let (_, _, result, operations) = attempt(Fault::Never);
    result.unwrap();
    assert!(operations > 30, "{operations}");
    for n in 0..operations {
        for fault in [Fault::Once(n), Fault::From(n), Fault::AfterDoing(n)] {
            let (folder, path, result, _) = attempt(fault);
            if path.exists() {
                assert_eq!(names(folder.path()), ["copy.zarr"], "{fault:?}");
                assert_eq!(contents(&open_file(&path)), wanted, "{fault:?}");
                // Only when publishing itself was done and the answer lost.
                assert!(result.is_ok() || fault == Fault::AfterDoing(operations - 1), "{fault:?}");
            } else {
                result.unwrap_err();
                assert!(names(folder.path()).is_empty(), "{fault:?} left {:?}", names(folder.path()));
            }
        }
    }
}

#[test]
fn whichever_operation_of_the_source_fails_the_target_is_absent_or_whole() {
    let original = groups();
    let attempt = |fault| {
        let store = Arc::new(Faulty::new(FileStore::open(original.path(), Access::Read).unwrap(), fault));
        let target = tempfile::tempdir().unwrap();
        let path = target.path().join("copy.zarr");
        let source = Dataset::open(store.clone(), session(2), &Default::default());
        let result = source.map_err(CopyError::from).and_then(|source| {
            let staged = FileStore::create(&path, CreateOptions::new()).unwrap();
            copy(&source, Arc::new(staged), &options(), &())
        });
        (target, path, result, store.operations())
    };
    let wanted = contents(&open_file(original.path()));
    let operations = attempt(Fault::Never).3;
    for n in 0..operations {
        for fault in [Fault::Once(n), Fault::From(n)] {
            let (folder, path, result, _) = attempt(fault);
            assert_eq!(result.is_ok(), path.exists(), "{fault:?}");
            match result {
                Ok(_) => assert_eq!(contents(&open_file(&path)), wanted, "{fault:?}"),
                Err(_) => assert!(names(folder.path()).is_empty(), "{fault:?}"),
            }
        }
    }
}

#[test]
fn a_variable_that_cannot_be_read_or_a_codec_that_is_not_there_makes_no_copy() {
    let broken = groups();
    std::fs::write(broken.path().join("temp/.zarray"), b"{").unwrap();
    let unknown = groups();
    let zarray = std::fs::read_to_string(unknown.path().join("g1/q/.zarray")).unwrap();
    let zarray = zarray.replacen(r#""compressor": null"#, r#""compressor": {"id":"lz9"}"#, 1);
    let zarray = zarray.replacen(r#""compressor":null"#, r#""compressor":{"id":"lz9"}"#, 1);
    assert!(zarray.contains("lz9"), "{zarray}");
    std::fs::write(unknown.path().join("g1/q/.zarray"), zarray).unwrap();
    for (folder, lost) in [(broken, "/temp"), (unknown, "/g1/q")] {
        let target = tempfile::tempdir().unwrap();
        let path = target.path().join("copy.zarr");
        let staged = Arc::new(FileStore::create(&path, CreateOptions::new()).unwrap());
        let source = open_file(folder.path());
        let error = copy(&source, staged.clone(), &CopyOptions::default(), &()).unwrap_err();
        let CopyError::Unreadable { paths, source: why } = &error else { panic!("{error:?}") };
        assert_eq!(paths, &[lost]);
        assert_eq!(matches!(**why, DataError::Resolve { .. }), lost == "/g1/q", "{error:?}");
        drop(staged);
        assert!(names(target.path()).is_empty());
    }
}

#[test]
fn what_another_program_added_to_nczarr_is_not_left_out_in_silence() {
    for (inside, group) in [("added", "/"), ("g1/added", "/g1"), ("g1/g2/added", "/g1/g2")] {
        for document in [".zarray", ".zgroup"] {
            let folder = groups();
            std::fs::create_dir(folder.path().join(inside)).unwrap();
            // An empty folder is nothing.
            copy(&open_file(folder.path()), memory(), &CopyOptions::default(), &()).unwrap();
            std::fs::copy(folder.path().join("temp/.zarray"), folder.path().join(inside).join(document))
                .unwrap();
            let target = memory();
            let error =
                copy(&open_file(folder.path()), target.clone(), &CopyOptions::default(), &()).unwrap_err();
            let CopyError::Unlisted { key, group: named } = &error else { panic!("{error:?}") };
            assert_eq!((key.as_str(), named.as_str()), (inside, group));
            assert!(error.to_string().contains("#mode=zarr"), "{error}");
            assert!(objects(&*target, true).is_empty());
        }
    }
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    let folder = groups();
    let source = open_file(folder.path());
    let refused = |path: &str, chunks: Vec<u64>| {
        let plan = VariablePlan { codecs: Codecs::Keep, chunks: Some(chunks), ..VariablePlan::default() };
        let options = CopyOptions { variables: [(path.to_owned(), plan)].into(), ..CopyOptions::default() };
        let target = memory();
        let error = copy(&source, target.clone(), &options, &()).unwrap_err();
        assert!(objects(&*target, true).is_empty());
        error
    };
    assert!(matches!(refused("/nothing", vec![1]), CopyError::NoSuchVariable { .. }));
    assert!(matches!(refused("/temp", vec![1, 1]), CopyError::Chunks { .. }));
    assert!(matches!(refused("/temp", vec![1, 0, 1]), CopyError::Chunks { .. }));
}

/// Says stop at its n-th report.
struct StopAt(u64, AtomicU64);

impl Progress for StopAt {
    fn advance(&self, _: u64) -> ControlFlow<()> {
        match self.1.fetch_add(1, Ordering::Relaxed) >= self.0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn a_copy_that_is_stopped_leaves_nothing() {
    let folder = groups();
    let source = open_file(folder.path());
    let all = StopAt(u64::MAX, AtomicU64::new(0));
    copy(&source, memory(), &options(), &all).unwrap();
    for n in 0..all.1.into_inner() {
        let target = tempfile::tempdir().unwrap();
        let staged = FileStore::create(target.path().join("copy.zarr"), CreateOptions::new()).unwrap();
        let stop = StopAt(n, AtomicU64::new(0));
        let error = copy(&source, Arc::new(staged), &options(), &stop).unwrap_err();
        assert!(matches!(error, CopyError::Stopped), "{error:?}");
        assert!(names(target.path()).is_empty(), "{n}");
    }
}

#[test]
fn a_chunk_without_codecs_of_another_length_is_not_passed_on() {
    for bytes in [&[0u8; 3] as &[u8], &[0; 1000]] {
        let folder = unpack("zarr-python/v2-none.zip").unwrap();
        let path = folder.path().join("v/0.0");
        assert!(path.exists());
        std::fs::write(path, bytes).unwrap();
        let error = copy(&open_file(folder.path()), memory(), &CopyOptions::default(), &()).unwrap_err();
        let CopyError::Chunk(DataError::Chunk { key, source, .. }) = error else { panic!("{error:?}") };
        assert_eq!(key, "v/0.0");
        assert!(matches!(*source, ChunkError::Length { .. } | ChunkError::Store(_)), "{source:?}");
    }
}

/// A store whose n-th chunk is stored with one bit turned.
#[derive(Debug)]
struct Flipping {
    inner: MemoryStore,
    at: u64,
    chunks: AtomicU64,
}

impl fmt::Display for Flipping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Store for Flipping {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn read(&self, key: Key<'_>, range: ReadRange, most: u64, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.inner.read(key, range, most, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.inner.read_into(key, offset, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.inner.len(key)
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        let mut bytes = bytes.to_vec();
        if !key.name().starts_with('.') && self.chunks.fetch_add(1, Ordering::Relaxed) == self.at {
            bytes[0] ^= 1;
        }
        self.inner.write(key, &bytes, mode)
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        self.inner.delete(key)
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, most: usize) -> Result<Listing, StoreError> {
        self.inner.list(prefix, depth, most)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync()
    }

    fn publish(&self) -> Result<(), StoreError> {
        self.inner.publish()
    }
}

#[test]
fn verifying_finds_every_chunk_that_was_stored_wrongly() {
    for codec in ["[]", r#"{"id":"bitround","keepbits":3}"#] {
        find_every_chunk(codec);
    }
}

/// Stores each chunk wrongly in turn; one variable has another codec.
fn find_every_chunk(codec: &str) {
    let folder = groups();
    let source = open_file(folder.path());
    let mut options = options();
    let plan = VariablePlan {
        codecs: Codecs::Spec(spec(codec)),
        chunks: Some(vec![1, 3, 4]),
        ..VariablePlan::default()
    };
    options.variables.insert("/temp".to_owned(), plan);
    let attempt = |at, verify| {
        let inner = MemoryStore::new("target");
        let store = Arc::new(Flipping { inner, at, chunks: AtomicU64::new(0) });
        let result = copy(&source, store.clone(), &CopyOptions { verify, ..options.clone() }, &());
        (result, store.chunks.load(Ordering::Relaxed))
    };
    let chunks = attempt(u64::MAX, true).1;
    assert!(chunks > 5, "{chunks}");
    for at in 0..chunks {
        attempt(at, false).0.unwrap();
        let error = attempt(at, true).0.unwrap_err();
        let found = matches!(error, CopyError::Verify { .. } | CopyError::Data(DataError::Chunk { .. }));
        assert!(found, "{error:?}");
    }
}
