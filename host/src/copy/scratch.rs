//! Pieces of a variable on their way from chunks of one shape to chunks of another, in one unnamed file, which is
//! removed when the program ends, however it ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ncz_model::{Array, DataError, Format, KeyEncoding, Order, Separator, Session, Storage, Variable};
use ncz_registry::spec::ChainSpec;
use ncz_store::{
    Capabilities, Depth, Key, Listing, ObjectLocation, Prefix, ReadInto, ReadRange, Store, StoreError,
    WriteMode,
};

/// Key of the only variable.
const NAME: &str = "pieces";

/// Pieces of one length, each at its offset in the file.
#[derive(Debug)]
struct Scratch {
    file: File,
    folder: PathBuf,
    counts: Vec<u64>,
    len: u64,
    /// A bit for each piece that was written.
    present: Vec<AtomicU64>,
}

/// An array like `original`, of this shape, in uncompressed chunks of lengths `piece`, in a file in `folder`.
///
/// # Errors
/// No file can be made there.
pub(super) fn pieces(
    session: &Session,
    original: &Variable,
    shape: &[u64],
    piece: &[u64],
    folder: &Path,
) -> Result<Array, DataError> {
    let variable = Variable {
        key: NAME.to_owned(),
        shape: shape.to_vec(),
        chunk_shape: piece.to_vec(),
        sharding: None,
        order: Order::C,
        key_encoding: KeyEncoding::V2,
        separator: Separator::Dot,
        filters: Vec::new(),
        storage: Storage::Chunked,
        attributes: Vec::new(),
        ..original.clone()
    };
    let chain = session.bind(&variable, Format::Zarr2, &ChainSpec::default())?;
    let counts: Vec<u64> = shape.iter().zip(piece).map(|(len, piece)| len.div_ceil(*piece)).collect();
    let failed = |source: io::Error| DataError::Store {
        store: folder.display().to_string(),
        source: StoreError::Io {
            action: "make a scratch file in",
            at: ObjectLocation::store(folder.display()),
            source,
        },
    };
    let len = chain.chunk_len() as u64;
    let total = counts.iter().try_fold(1u64, |total, count| total.checked_mul(*count));
    let total = total.filter(|total| total.checked_mul(len).is_some());
    let words = total.and_then(|total| usize::try_from(total.div_ceil(64)).ok());
    let words = words.ok_or_else(|| failed(io::ErrorKind::FileTooLarge.into()))?;
    let scratch = Scratch {
        file: tempfile::tempfile_in(folder).map_err(failed)?,
        folder: folder.to_owned(),
        counts,
        len,
        present: (0..words).map(|_| AtomicU64::new(0)).collect(),
    };
    Array::new(Arc::new(scratch), &variable, shape.to_vec(), chain, session.pool.clone())
}

impl Scratch {
    /// The number of a piece.
    fn number(&self, key: Key<'_>) -> Result<u64, StoreError> {
        let index = key.name().split('.').map(|number| number.parse::<u64>().ok());
        let number = index.zip(&self.counts).try_fold(0u64, |all, (at, count)| {
            all.checked_mul(*count)?.checked_add(at.filter(|at| at < count)?)
        });
        number.ok_or_else(|| self.failed("find", key, io::ErrorKind::NotFound.into()))
    }

    fn is_present(&self, number: u64) -> bool {
        let word = self.present.get((number / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (number % 64) & 1 == 1)
    }

    fn failed(&self, action: &'static str, key: Key<'_>, source: io::Error) -> StoreError {
        let at = ObjectLocation::object(self, key);
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::NoSpace { at, source },
            _ => StoreError::Io { action, at, source },
        }
    }
}

impl std::fmt::Display for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a scratch file in {}", self.folder.display())
    }
}

impl Store for Scratch {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.writable = true;
        capabilities.ranges = true;
        capabilities.local = true;
        capabilities
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        out.clear();
        let number = self.number(key)?;
        if !self.is_present(number) {
            return Ok(false);
        }
        let refused = || self.failed("read", key, io::ErrorKind::InvalidInput.into());
        let range = range.resolve(self.len).filter(|range| range.end - range.start <= max_len);
        let range = range.ok_or_else(refused)?;
        out.resize((range.end - range.start) as usize, 0);
        let read = self.file.read_exact_at(out, number * self.len + range.start);
        read.map_err(|error| self.failed("read", key, error)).map(|()| true)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let number = self.number(key)?;
        if !self.is_present(number) {
            return Ok(None);
        }
        let filled = out.len().min(self.len.saturating_sub(offset) as usize);
        let read = self.file.read_exact_at(&mut out[..filled], number * self.len + offset);
        read.map_err(|error| self.failed("read", key, error))?;
        Ok(Some(ReadInto { filled, object_len: self.len }))
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        Ok(self.is_present(self.number(key)?).then_some(self.len))
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], _mode: WriteMode) -> Result<(), StoreError> {
        let number = self.number(key)?;
        if bytes.len() as u64 != self.len {
            return Err(self.failed("write", key, io::ErrorKind::InvalidInput.into()));
        }
        let written = self.file.write_all_at(bytes, number * self.len);
        written.map_err(|error| self.failed("write", key, error))?;
        if let Some(word) = self.present.get((number / 64) as usize) {
            word.fetch_or(1 << (number % 64), Ordering::Release);
        }
        Ok(())
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        let number = self.number(key)?;
        let was = self.is_present(number);
        if let Some(word) = self.present.get((number / 64) as usize) {
            word.fetch_and(!(1 << (number % 64)), Ordering::Release);
        }
        Ok(was)
    }

    fn list(&self, _prefix: Prefix<'_>, _depth: Depth, _most: usize) -> Result<Listing, StoreError> {
        Err(StoreError::Unsupported {
            location: self.to_string(),
            operation: "list what it has",
            remedy: "ask for each piece".to_owned(),
        })
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
