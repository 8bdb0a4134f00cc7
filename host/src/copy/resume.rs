//! Copies that are kept when they are interrupted, and resumed later.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz_store::{
    Access, Depth, Durability, EntryKind, FilePermissions, FileStore, Prefix, ReadRange, Store, StoreError,
    WriteMode,
};
use serde_json::{Value as Json, json};

/// Follows the name of the target.
const ENDING: &str = ".ncz-partial";
/// The file that describes source and options.
const RECORD: &str = "record.json";
/// The file that the running copy locks.
const LOCK: &str = "lock";
/// The folder with the copied objects.
const DATA: &str = "data";
/// How files begin that a store has not finished, and its mark of a writer.
const UNFINISHED: &str = ".ncz-";

/// A folder next to a target, `TARGET.ncz-partial`, in which a copy is made. Objects are whole in it or absent. If the
/// copy is interrupted the folder stays, and the next copy of the same source with the same options continues it
/// ([`CopyOptions::resume`](super::CopyOptions::resume)); at the end it becomes the target.
///
/// After a restart of the machine it is not known which objects reached the disk, and the copy starts again.
#[derive(Debug)]
pub struct PartialCopy {
    target: PathBuf,
    folder: PathBuf,
    store: Arc<FileStore>,
    is_resumed: bool,
    /// Held until the end.
    _lock: File,
}

/// Why a copy cannot be kept, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// Something is at the target.
    #[error("{} exists already", target.display())]
    Exists {
        /// The target.
        target: PathBuf,
    },
    /// Another program works on it.
    #[error("another program is making the copy in {}", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// There is a folder of that name that no copy was made in.
    #[error("{} is not an interrupted copy; move it away", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
    },
    /// The interrupted copy was of something else.
    #[error("the copy in {} cannot go on: {what}; remove that folder to begin anew", folder.display())]
    Differs {
        /// The folder.
        folder: PathBuf,
        /// What is not as it was.
        what: &'static str,
    },
    /// A source whose changes would not be seen.
    #[error("cannot examine {}", path.display())]
    Source {
        /// The source.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the folder cannot be read or written.
    #[error("cannot work in {}", folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The copy is the target now, but it is not certain that a power failure leaves it so.
    #[error("could not flush the directory of {}", target.display())]
    NotDurable {
        /// The target.
        target: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The copy is the target now, but the folder in which it was made is not removed.
    #[error("could not remove {}", folder.display())]
    NotRemoved {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The store in the folder cannot be opened, or not made durable.
    #[error("cannot write in {}", folder.display())]
    Store {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: Box<StoreError>,
    },
}

impl PartialCopy {
    /// Returns the folder in which a copy to `target` is made.
    #[must_use]
    pub fn folder_of(target: &Path) -> PathBuf {
        let mut name = target.file_name().map_or_else(OsString::new, OsString::from);
        name.push(ENDING);
        target.with_file_name(name)
    }

    /// Begins a copy to `target`, or continues an interrupted one. `source` is the directory or the file that is
    /// copied, `options` a text of everything else on which the copy depends.
    ///
    /// # Errors
    /// [`ResumeError`]; nothing is changed then.
    pub fn open(target: &Path, source: &Path, options: &str) -> Result<Self, ResumeError> {
        let folder = Self::folder_of(target);
        if fs::symlink_metadata(target).is_ok() {
            remove_finished(&folder);
            return Err(ResumeError::Exists { target: target.to_owned() });
        }
        let failed = |source| ResumeError::Io { folder: folder.clone(), source };
        let state = fingerprint(source)
            .map_err(|error| ResumeError::Source { path: source.to_owned(), source: error })?;
        let is_new = match fs::create_dir(&folder) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed(error)),
        };
        if !is_new && !is_ours(&folder).map_err(failed)? {
            return Err(ResumeError::Foreign { folder });
        }
        let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK));
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ResumeError::Busy { folder }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let source = fs::canonicalize(source).map_err(failed)?;
        let record = json!({
            "ncz": env!("CARGO_PKG_VERSION"),
            "source": source.to_string_lossy(),
            "state": state,
            "options": options,
            "boot": boot(),
        });
        let data = folder.join(DATA);
        let is_resumed = match read_record(&folder).map_err(failed)? {
            None => false,
            Some(old) => {
                if let Some(what) = difference(&old, &record) {
                    return Err(ResumeError::Differs { folder, what });
                }
                old["boot"] == record["boot"] && data.is_dir()
            }
        };
        if is_resumed {
            remove_unfinished(&data).map_err(failed)?;
        } else {
            match fs::remove_dir_all(&data) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
            write_record(&folder, &record).map_err(failed)?;
            fs::create_dir(&data).map_err(failed)?;
        }
        let refused = |source| ResumeError::Store { folder: folder.clone(), source: Box::new(source) };
        let permissions = FilePermissions::default().from_environment().map_err(refused)?;
        let store = FileStore::open(&data, Access::ReadWrite).map_err(refused)?;
        let store = store.with_durability(Durability::Process).with_permissions(permissions);
        Ok(Self { target: target.to_owned(), folder, store: Arc::new(store), is_resumed, _lock: lock })
    }

    /// The location to write the copy.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// Whether an interrupted copy is continued.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the finished copy the target. The store must have been dropped.
    ///
    /// # Errors
    /// Something has appeared at the target, or the system fails; the folder stays then. The copy *is* the target after
    /// [`ResumeError::NotDurable`] and [`ResumeError::NotRemoved`].
    pub fn publish(self) -> Result<(), ResumeError> {
        let Self { target, folder, store, _lock, .. } = self;
        let failed = |source| ResumeError::Io { folder: folder.clone(), source };
        drop(store);
        let data = folder.join(DATA);
        let durable = FileStore::open(&data, Access::ReadWrite).and_then(|store| store.sync());
        durable.map_err(|source| ResumeError::Store { folder: folder.clone(), source: Box::new(source) })?;
        if fs::symlink_metadata(&target).is_ok() {
            return Err(ResumeError::Exists { target });
        }
        fs::rename(&data, &target).map_err(failed)?;
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let synced = File::open(parent).and_then(|parent| parent.sync_all());
        let removed = fs::remove_dir_all(&folder);
        synced.map_err(|source| ResumeError::NotDurable { target, source })?;
        removed.map_err(|source| ResumeError::NotRemoved { folder, source })
    }

    /// Writes the finished copy to another store, such as an archive, publishes that, and removes the folder.
    ///
    /// # Errors
    /// One of the stores fails; the folder stays then. The target is complete after [`ResumeError::NotRemoved`].
    pub fn pack(self, target: &dyn Store) -> Result<(), ResumeError> {
        let Self { folder, store, .. } = self;
        let pack = || {
            let mut bytes = Vec::new();
            for entry in store.list(Prefix::ROOT, Depth::All, usize::MAX)?.entries {
                let key = entry.key.as_key();
                if entry.kind == EntryKind::Object && store.read(key, ReadRange::All, u64::MAX, &mut bytes)? {
                    target.write(key, &bytes, WriteMode::Replace)?;
                }
            }
            target.publish()
        };
        pack().map_err(|source| ResumeError::Store { folder: folder.clone(), source: Box::new(source) })?;
        drop(store);
        fs::remove_dir_all(&folder).map_err(|source| ResumeError::NotRemoved { folder, source })
    }
}

/// Whether there is nothing in a folder but what belongs to a copy.
fn is_ours(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if ![RECORD, LOCK, DATA, NEW_RECORD].iter().any(|known| name == *known) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the folder of a copy that became its target, if the program ended before it removed the folder.
fn remove_finished(folder: &Path) {
    let is_finished = is_ours(folder).unwrap_or(false) && !folder.join(DATA).exists();
    let is_free = match File::open(folder.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    if is_finished && is_free {
        // what is left takes little space and is named by the next copy to this target
        let _ = fs::remove_dir_all(folder);
    }
}

const NEW_RECORD: &str = "record.json.new";

fn read_record(folder: &Path) -> io::Result<Option<Json>> {
    match fs::read(folder.join(RECORD)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the record as a whole.
fn write_record(folder: &Path, record: &Json) -> io::Result<()> {
    let new = folder.join(NEW_RECORD);
    let mut file = File::create(&new)?;
    file.write_all(format!("{record:#}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(new, folder.join(RECORD))
}

/// What is not as it was when the copy was begun.
fn difference(old: &Json, new: &Json) -> Option<&'static str> {
    [
        ("ncz", "another version of ncz began it"),
        ("source", "it is of another source"),
        ("state", "the source has changed since"),
        ("options", "it was begun with other options"),
    ]
    .into_iter()
    .find(|(key, _)| old[key] != new[key])
    .map(|(_, what)| what)
}

/// Removes what a program that died was writing.
pub(super) fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_unfinished(&entry.path())?;
        } else if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            match fs::remove_file(entry.path()) {
                // Its writer has finished it meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

/// An identifier of this start of the system; if there is none, a unique text.
fn boot() -> String {
    match fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) => id.trim().to_owned(),
        Err(_) => format!("unknown, process {}", std::process::id()),
    }
}

/// A text that changes when a file, or any file below a directory, does: by name, length and times.
fn fingerprint(source: &Path) -> io::Result<String> {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let mut files = 0u64;
    let mut waiting = vec![source.to_owned()];
    // symbolic links may lead to a directory more than once
    let mut visited = HashSet::new();
    while let Some(path) = waiting.pop() {
        let found = fs::metadata(&path)?;
        if found.is_dir() {
            if !visited.insert((found.dev(), found.ino())) {
                continue;
            }
            let mut inside = fs::read_dir(&path)?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<io::Result<Vec<PathBuf>>>()?;
            // The mark of a writer appears and disappears.
            inside.retain(|path| {
                !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED))
            });
            inside.sort();
            waiting.extend(inside);
            continue;
        }
        files += 1;
        hash.add(path.strip_prefix(source).unwrap_or(&path).as_os_str().as_encoded_bytes());
        for number in [
            found.len(),
            found.ino(),
            found.mtime().unsigned_abs(),
            found.mtime_nsec().unsigned_abs(),
            found.ctime().unsigned_abs(),
            found.ctime_nsec().unsigned_abs(),
        ] {
            hash.add(&number.to_le_bytes());
        }
    }
    Ok(format!("{files} files, {:016x}", hash.0))
}

/// The hash of Fowler, Noll and Vo (FNV-1a): the same in all programs and versions.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
