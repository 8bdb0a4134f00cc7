use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use fastrand::Rng;
use ncz::store::{
    Access, Depth, EntryKind, Key, MemoryStore, Prefix, ReadRange, Store as _, StoreExt as _, WriteMode,
    ZipLayout, ZipStore,
};
use tempfile::TempDir;

use super::{Target, explained};
use crate::fixtures::{archives, objects};
use crate::{Case, mutate};

/// Archives: what is read of a damaged one is what was stored, or an error.
pub(super) struct Archives {
    _folder: TempDir,
    path: PathBuf,
    seeds: Vec<Vec<u8>>,
    /// The checksums of all that is stored in the sound archives.
    contents: BTreeSet<u32>,
}

/// Longest archive to begin with: in a short one a change meets a header sooner.
const LONGEST: usize = 20_000;

/// Longest object that is read.
const MOST: u64 = 8 << 20;

impl Archives {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        let mut seeds: Vec<Vec<u8>> =
            archives().into_iter().filter(|archive| archive.len() <= LONGEST).collect();
        seeds.push(with_our_writer(folder.path()));
        let mut contents = BTreeSet::from([crc32c::crc32c(b"")]);
        for seed in &seeds {
            fs::write(&path, seed).unwrap();
            let store = ZipStore::open(&path, Access::Read, ZipLayout::Automatic).unwrap();
            contents.extend(objects(&store).values().map(|bytes| crc32c::crc32c(bytes)));
        }
        Self { _folder: folder, path, seeds, contents }
    }
}

/// A small archive of our own, one of whose objects was replaced later.
fn with_our_writer(folder: &std::path::Path) -> Vec<u8> {
    let path = folder.join("ours.zip");
    let store = ZipStore::create(&path, ncz::store::CreateOptions::new(), ZipLayout::Flat).unwrap();
    let source = MemoryStore::new("objects");
    for (key, bytes) in
        [(".zgroup", &b"{\"zarr_format\": 2}"[..]), ("v/.zarray", b"{}"), ("v/0.0", &[7; 100])]
    {
        let key = Key::parse(key).unwrap();
        source.write(key, bytes, WriteMode::Replace).unwrap();
        store.write(key, &source.read_vec(key, MOST).unwrap().unwrap(), WriteMode::Replace).unwrap();
    }
    store.publish().unwrap();
    let store = ZipStore::open(&path, Access::ReadWrite, ZipLayout::Flat).unwrap();
    store.write(Key::parse("v/0.0").unwrap(), &[8; 50], WriteMode::Replace).unwrap();
    store.publish().unwrap();
    fs::read(&path).unwrap()
}

impl Target for Archives {
    fn seeds(&self) -> Vec<Case> {
        self.seeds.iter().map(|archive| Case::new("", archive.clone())).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        // Headers are few among the data: change one, or near one, as often as anything.
        let headers: Vec<usize> =
            case.bytes.windows(2).enumerate().filter(|(_, sign)| sign == b"PK").map(|(at, _)| at).collect();
        if headers.is_empty() || rng.bool() {
            return mutate::bytes::mutate(&mut case.bytes, &other.bytes, rng);
        }
        let from = headers[rng.usize(..headers.len())];
        let to = (from + 60).min(case.bytes.len());
        let mut header = case.bytes[from..to].to_vec();
        mutate::bytes::mutate(&mut header, &[], rng);
        case.bytes.splice(from..to, header);
    }

    fn run(&mut self, case: &Case) -> String {
        fs::write(&self.path, &case.bytes).unwrap();
        let store = match ZipStore::open(&self.path, Access::Read, ZipLayout::Automatic) {
            Ok(store) => store,
            Err(error) => return explained(&error),
        };
        let listing = match store.list(Prefix::ROOT, Depth::All, 10_000) {
            Ok(listing) => listing,
            Err(error) => return explained(&error),
        };
        let mut outcomes = BTreeSet::new();
        for entry in &listing.entries {
            let key = entry.key.as_key();
            if entry.kind != EntryKind::Object {
                assert_eq!(store.len(key).unwrap(), None, "the folder {key} has a length");
                continue;
            }
            let whole = match store.read_vec(key, MOST) {
                Ok(whole) => whole.unwrap_or_else(|| panic!("{key} is listed but not there")),
                Err(error) => {
                    outcomes.insert(explained(&error));
                    continue;
                }
            };
            assert!(
                self.contents.contains(&crc32c::crc32c(&whole)),
                "{key} reads as something that was never stored"
            );
            assert_eq!(store.len(key).unwrap(), Some(whole.len() as u64), "{key}");
            let half = whole.len() / 2;
            let mut part = Vec::new();
            match store.read(key, ReadRange::From(half as u64), MOST, &mut part) {
                Ok(found) => assert!(found && part == whole[half..], "the second half of {key} is another"),
                Err(error) => drop(outcomes.insert(explained(&error))),
            }
        }
        format!("{} skipped; {outcomes:?}", listing.skipped.len().min(2))
    }
}
