//! Global heaps: the strings and variable-length sequences of a file (HDF5 file format, III.E).

use std::collections::{BTreeMap, BTreeSet};

use super::cursor::Decoded;
use super::error::Hdf5Error;
use super::file::File;

/// Collections are at least this long, so that most are read at once.
const USUAL: u64 = 4096;

/// The most bytes of collections that are held together (256 MiB).
const MOST_BYTES: u64 = 256 << 20;

/// The most collections that are read together.
const MOST_COLLECTIONS: usize = (MOST_BYTES / USUAL) as usize;

const WHAT: &str = "a global heap collection";

/// An object in a global heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    /// The length that is stored beside it: bytes of a string, elements of a row.
    pub(crate) len: u32,
    /// The address of its collection; `None` if there is nothing.
    pub(crate) collection: Option<u64>,
    pub(crate) index: u32,
}

impl Reference {
    /// The bytes of a reference in a file.
    pub(crate) fn size(file: &File) -> usize {
        4 + usize::from(file.widths.offset) + 4
    }

    /// Decodes references that follow each other.
    pub(crate) fn decode_all(file: &File, bytes: &[u8]) -> Decoded<Vec<Self>> {
        let mut cursor = file.cursor(bytes);
        let mut all = Vec::with_capacity(bytes.len() / Self::size(file));
        while !cursor.is_empty() {
            let len = cursor.u32()?;
            // An address of 0 is that of no collection too.
            let collection = cursor.address()?.filter(|address| *address != 0 && len > 0);
            all.push(Self { len, collection, index: cursor.u32()? });
        }
        Ok(all)
    }
}

/// Collections that were read.
#[derive(Debug, Default)]
pub(crate) struct Collections {
    /// By the number of the file and the address: the bytes, and the place of each object in them by its index.
    read: BTreeMap<(usize, u64), Collection>,
    bytes: u64,
}

#[derive(Debug)]
struct Collection {
    bytes: Vec<u8>,
    objects: BTreeMap<u16, (usize, usize)>,
}

impl Collections {
    /// As [`fetch_within`](Self::fetch_within); more than the limit is an error.
    pub(crate) fn fetch(
        &mut self,
        file: &File,
        references: impl IntoIterator<Item = Reference> + Clone,
    ) -> Result<(), Hdf5Error> {
        if self.fetch_within(file, references.clone())? {
            return Ok(());
        }
        let first = references.into_iter().find_map(|reference| reference.collection).unwrap_or(0);
        let error = format!("the values in heaps that are read together have more than {MOST_BYTES} bytes");
        Err(file.error(error.into(), WHAT, first))
    }

    /// Reads the collections of these references in one round, in the order of their addresses; a second round for those
    /// that are longer than usual. Returns `false`, without those that are left, if several collections have more bytes
    /// together than may be held.
    pub(crate) fn fetch_within(
        &mut self,
        file: &File,
        references: impl IntoIterator<Item = Reference>,
    ) -> Result<bool, Hdf5Error> {
        let wanted: BTreeSet<u64> = references
            .into_iter()
            .filter_map(|reference| reference.collection)
            .filter(|address| !self.read.contains_key(&(file.id, *address)))
            .collect();
        let count = wanted.len();
        if count > MOST_COLLECTIONS {
            return Ok(false);
        }
        let first = file.read_nodes(wanted.iter().map(|address| (*address, USUAL)), WHAT)?;
        let mut longer = Vec::new();
        for (address, bytes) in wanted.iter().copied().zip(first) {
            let failed = |error| file.error(error, WHAT, address);
            let mut cursor = file.cursor(&bytes);
            let len = (|| {
                cursor.signature(b"GCOL", 1)?;
                cursor.skip(3)?;
                cursor.length()
            })();
            let len = len.map_err(failed)?;
            self.bytes = self.bytes.saturating_add(len);
            // A single one that is longer is refused when it is read.
            if self.bytes > MOST_BYTES && (count > 1 || !self.read.is_empty()) {
                return Ok(false);
            }
            match usize::try_from(len).ok().and_then(|len| bytes.get(..len)) {
                Some(whole) => self.add(file, address, whole.to_vec())?,
                None => longer.push((address, len)),
            }
        }
        let rest = longer.iter().map(|(address, len)| Ok((*address, *len)));
        let rest = rest.collect::<Result<Vec<_>, Hdf5Error>>()?;
        for ((address, len), bytes) in longer.iter().zip(file.read_nodes(rest, WHAT)?) {
            if bytes.len() as u64 != *len {
                return Err(file.error("the file ends within it".into(), WHAT, *address));
            }
            self.add(file, *address, bytes)?;
        }
        Ok(true)
    }

    fn add(&mut self, file: &File, address: u64, bytes: Vec<u8>) -> Result<(), Hdf5Error> {
        let objects = objects(file, &bytes).map_err(|error| file.error(error, WHAT, address))?;
        self.read.insert((file.id, address), Collection { bytes, objects });
        Ok(())
    }

    /// The bytes of an object; empty for a reference to nothing.
    pub(crate) fn get(&self, file: &File, reference: Reference) -> Result<&[u8], Hdf5Error> {
        let Some(address) = reference.collection else { return Ok(&[]) };
        let object = self.read.get(&(file.id, address)).and_then(|collection| {
            let (start, len) = collection.objects.get(&u16::try_from(reference.index).ok()?)?;
            collection.bytes.get(*start..start + len)
        });
        let missing = || format!("it has no object {}", reference.index).into();
        object.ok_or_else(|| file.error(missing(), WHAT, address))
    }
}

/// The place of each object in a collection.
fn objects(file: &File, bytes: &[u8]) -> Decoded<BTreeMap<u16, (usize, usize)>> {
    let mut objects = BTreeMap::new();
    let mut cursor = file.cursor(bytes);
    // The prefixes of the collection and of objects are padded to 8 bytes.
    let prefix = (8 + usize::from(file.widths.length)).next_multiple_of(8);
    let padding = prefix - 8 - usize::from(file.widths.length);
    cursor.skip(prefix)?;
    while cursor.rest().len() >= prefix {
        let index = cursor.u16()?;
        cursor.skip(6)?;
        let len = usize::try_from(cursor.length()?).unwrap_or(usize::MAX);
        cursor.skip(padding)?;
        // Object 0 is the free space at the end.
        if index == 0 {
            break;
        }
        objects.insert(index, (cursor.position(), len));
        let padded = len.checked_next_multiple_of(8).unwrap_or(usize::MAX);
        cursor.skip(padded.min(cursor.rest().len().max(len)))?;
    }
    Ok(objects)
}
