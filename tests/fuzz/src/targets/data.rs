use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use ncz::model::{DataError, Elements, Pool, Session, Slab, Variable};
use ncz::registry::Registry;
use ncz::store::{Key, MemoryStore, Store, WriteMode};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;

use super::{Target, explained};
use crate::fixtures::{self, datasets};
use crate::{Case, mutate};

/// A dataset with one damaged object of data: an error or all values, which do not depend on what the buffer held
/// before.
pub(super) struct Objects {
    kind: Kind,
    datasets: BTreeMap<String, Opened>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Chunks,
    Shards,
    Strings,
}

struct Opened {
    dataset: Dataset,
    store: Arc<MemoryStore>,
    objects: fixtures::Objects,
}

/// After the key of a chunk of strings: the bytes are those that the codecs encode. Else a damaged chunk would
/// seldom get past a codec.
const DECODED: &str = "decoded";

impl Objects {
    pub(super) fn chunks() -> Self {
        Self::new(Kind::Chunks, &["zarr-python", "ocean.nczarr", "netcdf-c-4.10.2/nczarr"])
    }

    pub(super) fn shards() -> Self {
        Self::new(Kind::Shards, &["zarr-python", "strings"])
    }

    pub(super) fn strings() -> Self {
        Self::new(Kind::Strings, &["strings", "netcdf-c-4.10.2/nczarr"])
    }

    fn new(kind: Kind, folders: &[&str]) -> Self {
        let session = Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial());
        let mut opened = BTreeMap::new();
        for (name, objects) in folders.iter().flat_map(|folder| datasets(folder)) {
            let store = Arc::new(MemoryStore::new(name.clone()));
            for (key, bytes) in &objects {
                store.write(Key::parse(key).unwrap(), bytes, WriteMode::Replace).unwrap();
            }
            let dataset =
                Dataset::open(Arc::clone(&store) as Arc<dyn Store>, session.clone(), &ReadOptions::default());
            opened.insert(name, Opened { dataset: dataset.unwrap(), store, objects });
        }
        Self { kind, datasets: opened }
    }

    fn wants(&self, opened: &Opened, variable: &Variable) -> bool {
        let strings = variable.dtype.is_variable_length();
        match self.kind {
            Kind::Chunks => {
                !strings && variable.sharding.is_none() && opened.dataset.array(&variable.path).is_ok()
            }
            Kind::Shards => variable.sharding.is_some() && opened.dataset.array(&variable.path).is_ok(),
            Kind::Strings => opened.dataset.strings(&variable.path).is_ok(),
        }
    }

    /// Reads a whole variable into memory that holds `before`.
    fn read(&self, opened: &Opened, path: &str, before: u8) -> Result<Vec<u8>, DataError> {
        if self.kind == Kind::Strings {
            let array = opened.dataset.strings(path)?;
            let strings = array.read(&Slab::whole(array.shape()))?;
            assert_eq!(strings.len() as u64, array.shape().iter().product::<u64>());
            return Ok(strings.iter().flat_map(|string| [string, b"\0"].concat()).collect());
        }
        let array = opened.dataset.array(path)?;
        let slab = Slab::whole(array.shape());
        let mut out = vec![before; slab.elements().unwrap() as usize * array.dtype().size()];
        array.read_bytes(&slab, Elements::Stored, &mut out).map(|()| out)
    }
}

impl Target for Objects {
    fn seeds(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (name, opened) in &self.datasets {
            for variable in opened.dataset.hierarchy().variables().filter(|v| self.wants(opened, v)) {
                let below =
                    if variable.key.is_empty() { String::new() } else { format!("{}/", variable.key) };
                let data = opened.objects.iter().filter(|(key, _)| {
                    key.starts_with(&below)
                        && fixtures::documents(&BTreeMap::from([((*key).clone(), Vec::new())])).is_empty()
                });
                for (key, bytes) in data {
                    let context = format!("{name}\t{}\t{key}", variable.path);
                    if variable.dtype.is_variable_length() {
                        let chain = opened.dataset.chain(variable).unwrap();
                        let mut decoded = Vec::new();
                        chain.decode_bytes(&mut chain.scratch(), bytes, 1 << 20, &mut decoded).unwrap();
                        cases.push(Case::new(format!("{context}\t{DECODED}"), decoded));
                    }
                    cases.push(Case::new(context, bytes.clone()));
                }
            }
        }
        cases
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::bytes::mutate(&mut case.bytes, &other.bytes, rng);
        if self.kind == Kind::Shards && rng.bool() {
            mutate_index(self, case, rng);
        }
    }

    fn most_memory(&self) -> usize {
        match self.kind {
            Kind::Chunks | Kind::Shards => 128 << 20,
            // The length that a stream states is believed up to 2 GiB, and the chunk is read twice.
            Kind::Strings => 5 << 30,
        }
    }

    fn run(&mut self, case: &Case) -> String {
        let parts: Vec<&str> = case.context.split('\t').collect();
        let (name, path, key) = (parts[0], parts[1], parts[2]);
        let opened = &self.datasets[name];
        let variable = opened.dataset.hierarchy().variable(path).unwrap();
        let stored = if parts.get(3) == Some(&DECODED) {
            let chain = opened.dataset.chain(variable).unwrap();
            match chain.encode_bytes(&mut chain.scratch(), &case.bytes) {
                Ok(stored) => stored.to_vec(),
                Err(error) => return explained(&error),
            }
        } else {
            case.bytes.clone()
        };
        let key = Key::parse(key).unwrap();
        opened.store.write(key, &stored, WriteMode::Replace).unwrap();
        let read = [0, 0xAA].map(|before| self.read(opened, path, before));
        opened.store.write(key, &opened.objects[key.as_str()], WriteMode::Replace).unwrap();
        match read {
            [Ok(first), Ok(second)] => {
                assert!(first == second, "what the buffer held before shines through");
                format!("{name} {path} reads")
            }
            [Err(first), Err(second)] => {
                assert_eq!(explained(&first), explained(&second));
                explained(&first)
            }
            [first, second] => panic!("once {:?}, once {:?}", first.map(drop), second.map(drop)),
        }
    }
}

/// Changes a number in the index of a shard and makes its checksum right, without which no change gets further.
fn mutate_index(target: &Objects, case: &mut Case, rng: &mut Rng) {
    let mut parts = case.context.split('\t');
    let opened = &target.datasets[parts.next().unwrap()];
    let variable = opened.dataset.hierarchy().variable(parts.next().unwrap()).unwrap();
    let sharding = variable.sharding.as_ref().unwrap();
    let chunks: u64 =
        sharding.shape.iter().zip(&variable.chunk_shape).map(|(shard, chunk)| shard / chunk).product();
    let (len, checksum) = (chunks as usize * 16, if sharding.index_checksum { 4 } else { 0 });
    let Some(rest) = case.bytes.len().checked_sub(len + checksum) else { return };
    let start = if sharding.index_at_end { rest } else { 0 };
    let index = &mut case.bytes[start..start + len];
    let at = rng.usize(..chunks as usize * 2) * 8;
    let old = u64::from_le_bytes(index[at..at + 8].try_into().unwrap());
    let near = [old, 0, rest as u64, (rest + len + checksum) as u64, 1 << 31, 1 << 63, u64::MAX];
    let new = near[rng.usize(..near.len())].wrapping_add(rng.u64(..9)).wrapping_sub(4);
    index[at..at + 8].copy_from_slice(&new.to_le_bytes());
    if sharding.index_checksum {
        let sum = crc32c::crc32c(index).to_le_bytes();
        case.bytes[start + len..start + len + 4].copy_from_slice(&sum);
    }
}
