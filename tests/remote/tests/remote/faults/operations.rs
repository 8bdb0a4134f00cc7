//! What is done while a service fails, and how to see that it was done, or was not.

use std::path::PathBuf;
use std::sync::Arc;

use ncz::copy::{CopyOptions, copy};
use ncz::model::{DataError, Elements, MetadataError, Slab};
use ncz::repair::{Choices, plan};
use ncz::store::s3::{S3Config, S3Store};
use ncz::store::{Access, CreateOptions, Key, MemoryStore, Store, StoreExt, WriteMode, ZipLayout, ZipStore};
use ncz_remote_tests::client::{self, BUCKET};
use ncz_remote_tests::{Sample, explained};
use ncz_test_servers::{Request, S3Server};

use super::Outcome;

/// The location of the dataset that is read, changed, copied or replaced.
pub(crate) const THERE: &str = "old/ocean.zarr";

/// The location of the dataset that is created.
pub(crate) const NEW_PLACE: &str = "new/ocean.zarr";

/// The object of [`Operation::WriteParts`] and [`Operation::Delete`].
const OBJECT: &str = "g/c/0";

const PART: u64 = 5 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Open,
    ReadDocuments,
    ReadSlab,
    ReadShards,
    Create,
    Append,
    AppendShards,
    CopyHere,
    CopyInside,
    CopyToZip,
    Overwrite,
    Repair,
    Delete,
    WriteParts,
}

use Operation::*;

impl Operation {
    pub(crate) const ALL: [Self; 14] = [
        Open,
        ReadDocuments,
        ReadSlab,
        ReadShards,
        Create,
        Append,
        AppendShards,
        CopyHere,
        CopyInside,
        CopyToZip,
        Overwrite,
        Repair,
        Delete,
        WriteParts,
    ];

    /// The dataset that is there before.
    fn original(self) -> Sample {
        match self {
            ReadDocuments | Repair => Sample { is_consolidated: false, ..Sample::NCZARR },
            ReadShards | AppendShards => Sample::SHARDED,
            _ => Sample::NCZARR,
        }
        .with_seed(1)
    }

    /// The dataset that is made.
    fn made(self) -> Sample {
        match self {
            Create | Overwrite => Sample::SHARDED.with_seed(2),
            _ => self.original(),
        }
    }
}

/// A service with a dataset, a client, and a folder for files.
pub(crate) struct Bench {
    pub(crate) server: S3Server,
    pub(crate) operation: Operation,
    folder: tempfile::TempDir,
    tries: u32,
    before: Arc<MemoryStore>,
}

impl Bench {
    pub(crate) fn new(operation: Operation, tries: u32) -> Self {
        let server = client::server();
        // written by this program, so that objects have checksums
        operation
            .original()
            .create(client::new_store(&server, THERE, false).unwrap())
            .unwrap_or_else(|error| panic!("{}", explained(&error)));
        if operation == Repair {
            let key = Key::parse("b/.zarray").unwrap();
            let store = client::store(&server, THERE);
            let text = String::from_utf8(store.read_vec(key, 1 << 20).unwrap().unwrap()).unwrap();
            let spoilt = text.replace("\"fill_value\": -1", "\"fill_value\": [-1]");
            let spoilt = spoilt.replace("\"fill_value\":-1", "\"fill_value\":[-1]");
            assert_ne!(spoilt, text);
            store.write(key, spoilt.as_bytes(), WriteMode::Replace).unwrap();
        }
        let before = client::seen(&server, THERE);
        server.reset_counts();
        Self { server, operation, folder: tempfile::tempdir().unwrap(), tries, before }
    }

    pub(crate) fn config(&self, prefix: &str) -> S3Config {
        let mut config = client::config(&self.server, prefix);
        config.remote.attempts = self.tries;
        config.part_size = PART;
        config
    }

    /// Does it, as the client of `change`d configurations.
    pub(crate) fn run_as(&self, change: impl Fn(&mut S3Config)) -> Outcome {
        let config = |prefix| {
            let mut config = self.config(prefix);
            change(&mut config);
            config
        };
        let there = || -> Result<Arc<dyn Store>, Box<dyn std::error::Error>> {
            Ok(Arc::new(S3Store::open(config(THERE), Access::ReadWrite)?))
        };
        let options = CopyOptions { consolidated: true, ..CopyOptions::default() };
        match self.operation {
            Open => {
                let dataset = client::open(there()?)?;
                assert_eq!(dataset.hierarchy().variables().count(), 3);
                assert_eq!(dataset.hierarchy().unreadable().count(), 0);
            }
            ReadDocuments => {
                let dataset = client::open(there()?)?;
                let lost = dataset.hierarchy().unreadable().next().map(|lost| lost.error());
                if let Some(lost) = lost {
                    return Err(lost.into());
                }
                self.operation.original().check(&dataset)?;
            }
            ReadSlab | ReadShards => {
                let dataset = client::open(there()?)?;
                let array = dataset.array("/a")?;
                let slab = Slab::new([1, 0], [3, 3]);
                let mut out = vec![0x5a; 36];
                array.read_bytes(&slab, Elements::Native, &mut out)?;
                assert_eq!(out, self.operation.original().rows("/a", 1..4));
                self.operation.original().check(&dataset)?;
            }
            Create => self.operation.made().create(client::create(config(NEW_PLACE), false)?)?,
            Append | AppendShards => {
                let mut dataset = client::open_to_change(there()?)?;
                self.operation.original().grow(&mut dataset)?;
                dataset.finish()?;
            }
            CopyHere => {
                let source = client::open(self.operation.original().in_memory())?;
                copy(&source, client::create(config(NEW_PLACE), false)?, &options, &())?;
            }
            CopyInside => {
                let source = client::open(there()?)?;
                copy(&source, client::create(config(NEW_PLACE), false)?, &options, &())?;
            }
            CopyToZip => {
                let source = client::open(there()?)?;
                let target = ZipStore::create(self.zip(), CreateOptions::new(), ZipLayout::Flat)?;
                copy(&source, Arc::new(target), &options, &())?;
            }
            Overwrite => self.operation.made().create(client::create(config(THERE), true)?)?,
            Repair => {
                let mut plan = plan(there()?, &client::session(), &Choices::default(), &())?;
                if let Some(closed) = plan.closed.take() {
                    return Err(closed.into());
                }
                plan.apply()?;
            }
            Delete => {
                there()?.delete(Key::parse(OBJECT)?)?;
            }
            WriteParts => there()?.write(Key::parse(OBJECT)?, &large(), WriteMode::Replace)?,
        }
        Ok(())
    }

    pub(crate) fn run(&self) -> Outcome {
        self.run_as(|_| {})
    }

    /// How many requests failed that would have given something: of what is missing there is nothing to spoil.
    pub(crate) fn harmed(&self) -> usize {
        let harmed = |request: &&Request| request.fault.is_some() && request.status != Some(404);
        self.server.requests().iter().filter(harmed).count()
    }

    /// Checks that it was done, and nothing else.
    pub(crate) fn check_done(&self) {
        let whole = |prefix, sample: Sample| {
            let dataset = client::open(client::seen(&self.server, prefix)).unwrap();
            sample.check(&dataset).unwrap_or_else(|error| panic!("{}", explained(&error)));
        };
        assert_eq!(self.server.uploads(BUCKET), [""; 0]);
        match self.operation {
            Open | ReadDocuments | ReadSlab | ReadShards => self.check_original(),
            Create | CopyHere | CopyInside => {
                whole(NEW_PLACE, self.operation.made());
                self.check_original();
            }
            Append | AppendShards => {
                let dataset = client::open(client::seen(&self.server, THERE)).unwrap();
                self.operation.original().check_grown(&dataset).unwrap();
            }
            CopyToZip => {
                let store = ZipStore::open(self.zip(), Access::Read, ZipLayout::Automatic).unwrap();
                self.operation.made().check(&client::open(Arc::new(store)).unwrap()).unwrap();
                self.check_original();
            }
            Overwrite => whole(THERE, self.operation.made()),
            Repair => whole(THERE, self.operation.original()),
            Delete => assert_eq!(self.object(), None),
            WriteParts => assert!(self.object().is_some_and(|bytes| bytes == large())),
        }
        let objects = self.server.objects(BUCKET);
        let strange = |name: &&String| name.contains(".ncz-");
        assert_eq!(objects.keys().find(strange), None, "left over");
    }

    /// Checks that nothing is partly visible, and that nothing is lost.
    pub(crate) fn check_failed(&self, error: &(dyn std::error::Error + 'static)) {
        let is_there = |prefix: &str, sample: Sample| match client::open(client::seen(&self.server, prefix)) {
            Ok(dataset) => {
                sample.check(&dataset).unwrap_or_else(|error| panic!("{}", explained(&error)));
                true
            }
            Err(DataError::Metadata(MetadataError::NotADataset)) => false,
            Err(error) => panic!("{}", explained(&error)),
        };
        match self.operation {
            Append | AppendShards => {
                let dataset = client::open(client::seen(&self.server, THERE)).unwrap();
                self.operation.original().check_growing(&dataset).unwrap();
            }
            Overwrite => {
                let text = explained(error);
                let beside = format!("{THERE}.ncz-new-");
                let staged = text.split_once(&beside).map(|(_, rest)| {
                    let stamp: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
                    format!("{beside}{stamp}")
                });
                let at_target = client::seen(&self.server, THERE);
                let is_old = client::open(at_target.clone())
                    .is_ok_and(|dataset| dataset.hierarchy().format == self.operation.original().format);
                if is_old {
                    self.check_original();
                } else {
                    let is_new = is_there(THERE, self.operation.made());
                    let is_staged = staged.is_some_and(|staged| is_there(&staged, self.operation.made()));
                    assert!(is_new || is_staged, "{text}");
                }
            }
            Repair => {
                let store = client::seen(&self.server, THERE);
                let plan = plan(store, &client::session(), &Choices::default(), &()).unwrap();
                let dataset = client::open(plan.view()).unwrap();
                self.operation.original().check(&dataset).unwrap();
            }
            Delete => {
                if let Some(bytes) = self.object() {
                    assert_eq!(bytes, self.object_before());
                }
            }
            WriteParts => {
                let bytes = self.object().expect("the old object is there, or the new one");
                assert!(bytes == self.object_before() || bytes == large());
            }
            _ => {
                self.check_original();
                is_there(NEW_PLACE, self.operation.made());
                assert!(!self.zip().exists(), "a partial file");
            }
        }
    }

    /// Checks that what was there before is as it was.
    fn check_original(&self) {
        let objects = |store: &MemoryStore| {
            let server = client::server();
            client::put_all(&server, "x", store);
            server.objects(BUCKET)
        };
        assert_eq!(objects(&client::seen(&self.server, THERE)), objects(&self.before));
    }

    fn object(&self) -> Option<Vec<u8>> {
        Some(self.server.object(BUCKET, &format!("{THERE}/{OBJECT}"))?.to_vec())
    }

    fn object_before(&self) -> Vec<u8> {
        self.before.read_vec(Key::parse(OBJECT).unwrap(), 1 << 30).unwrap().unwrap()
    }

    fn zip(&self) -> PathBuf {
        self.folder.path().join("copy.zip")
    }
}

/// More than two parts.
fn large() -> Vec<u8> {
    (0..PART as u32 / 2 + 1000).map(u32::to_le_bytes).collect::<Vec<_>>().into_flattened()
}
