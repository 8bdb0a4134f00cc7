//! Opens libraries in a separate process first, unless they are known good: the system's loader checks little, and a
//! damaged file, or one that fails while it is opened, ends the process that opens it.
//!
//! Good libraries are recorded in a small file of the user: the path, the size, the time and the SHA-256 of a library,
//! and the same, without the hash, of its direct dependencies. The file is trusted only if no other user can write to
//! it; if it cannot be read or written, libraries are tested again.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::allow_list::{self, AllowList, Content};
use crate::isolate::{Isolation, Tried, WORKER_PROGRAM, try_open};
use crate::search_path::Environment;
use crate::symbols::Symbols;
use crate::trust::{Ownership, refusal, trust_notes};

/// The version of the file, and its name in the folder `ncz` of the user's caches.
const SCHEMA: u64 = 1;
const FILE: &str = "good-plugins.json";
/// The longest file that is read, and the most libraries that it names: the oldest go first.
const FILE_MOST: u64 = 1 << 20;
const PLUGINS_MOST: usize = 1000;

/// Opens libraries in a separate process first.
#[derive(Debug)]
pub(super) struct TestOpen<'a> {
    /// `None`: libraries are opened at once.
    isolation: Option<&'a Isolation>,
    /// The reason why the worker program next to the running one is not started.
    distrusted: Option<String>,
    folder: Option<PathBuf>,
    user: Option<u32>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The known good libraries; read at first use.
    good: Option<Vec<Good>>,
    /// The new entries.
    new: Vec<Good>,
    /// The number of libraries that were opened untested, and the reason for the first.
    untested: usize,
    reason: String,
}

/// A library that was opened before and ended no process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Good {
    path: String,
    size: u64,
    /// Of the file, and of those that it needs, with their paths and sizes.
    #[serde(rename = "files")]
    times: String,
    sha256: String,
}

/// The file of what is known good.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    schema: u64,
    /// The version of the program that wrote it.
    ncz: String,
    plugins: Vec<Good>,
}

impl<'a> TestOpen<'a> {
    /// Opens libraries at once.
    pub(super) fn off() -> Self {
        Self { isolation: None, distrusted: None, folder: None, user: None, state: Mutex::default() }
    }

    /// With the worker program and the limits on time of `isolation`.
    pub(super) fn new(environment: &Environment, isolation: &'a Isolation) -> Self {
        let distrusted = match (&isolation.worker, &environment.exe_dir) {
            (None, Some(folder)) => distrusted(folder, environment.user),
            _ => None,
        };
        Self {
            isolation: Some(isolation),
            distrusted,
            folder: environment.cache.as_ref().map(|cache| cache.join("ncz")),
            user: environment.user,
            state: Mutex::default(),
        }
    }

    /// Opens the library at `path`, which has these `symbols`, with `open` if a test process survives it or it is known
    /// good.
    pub(super) fn guard<T>(
        &self,
        path: &Path,
        symbols: &Symbols,
        allow_list: Option<&AllowList>,
        open: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let Some(isolation) = self.isolation else { return open() };
        let Ok(path) = path.canonicalize() else { return open() };
        if allow_list.is_some_and(|list| list.content_of(&path).is_none()) {
            // It is not opened at all.
            return open();
        }
        let good = Good::of(&path, symbols, allow_list);
        if good.as_ref().is_some_and(|good| self.is_known(good)) {
            return open();
        }
        let tried = match &self.distrusted {
            Some(reason) => Tried::NoWorker(reason.clone()),
            None => try_open(&path, isolation, allow_list),
        };
        match tried {
            Tried::Ended(how) => {
                let why = "the file is damaged, or its code fails when it is opened or closed; reinstall it";
                Err(format!("{how}; {why}"))
            }
            Tried::Survived => {
                let opened = open();
                if let (Ok(_), Some(good)) = (&opened, good) {
                    self.state().new.push(good);
                }
                opened
            }
            Tried::NoWorker(reason) => {
                let mut state = self.state();
                state.untested += 1;
                if state.untested == 1 {
                    state.reason = reason;
                }
                drop(state);
                open()
            }
        }
    }

    /// Keeps what is known good now, and notes what was opened untested.
    pub(super) fn finish(self, notes: &mut Vec<String>) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if state.untested > 0 {
            let plugins = if state.untested == 1 {
                "1 plugin was"
            } else {
                &format!("{} plugins were", state.untested)
            };
            notes.push(format!(
                "{plugins} opened without a test in a separate process, so a damaged one could have ended this program: \
                 {}",
                state.reason
            ));
        }
        if let (Some(folder), false) = (&self.folder, state.new.is_empty()) {
            // Without it they are tried again.
            let _ = keep(folder, self.user, &state.new);
        }
    }

    fn is_known(&self, good: &Good) -> bool {
        let mut state = self.state();
        let known = state.good.get_or_insert_with(|| match &self.folder {
            Some(folder) => read(folder, self.user),
            None => Vec::new(),
        });
        known.contains(good)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Good {
    /// Returns the record of a library; `None` if it cannot be made. With an allow-list the bytes are those that it
    /// names.
    fn of(path: &Path, symbols: &Symbols, allow_list: Option<&AllowList>) -> Option<Self> {
        let mut files = String::new();
        let needed = symbols.needed.iter().filter_map(|needed| needed.found.as_deref());
        for file in std::iter::once(path).chain(needed) {
            let metadata = std::fs::metadata(file).ok()?;
            let time = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            writeln!(files, "{} {} {time:?}", file.to_str()?, metadata.len()).ok()?;
        }
        let content = match allow_list {
            Some(allow_list) => allow_list.content_of(path)?,
            None => Content::of_file(path).ok()?,
        };
        Some(Self {
            path: path.to_str()?.to_owned(),
            size: content.size,
            times: allow_list::hex(&Sha256::digest(files)),
            sha256: allow_list::hex(&content.sha256),
        })
    }
}

/// Why the worker program in a folder is not started, if so: others may have put it there.
fn distrusted(folder: &Path, user: Option<u32>) -> Option<String> {
    let program = folder.join(WORKER_PROGRAM);
    let notes = |path: &Path| Some(trust_notes(ownership(&std::fs::metadata(path).ok()?), user?));
    let (of_folder, of_program) = (notes(folder)?, notes(&program)?);
    let reason = refusal((folder, &of_folder), (&program, &of_program))?;
    Some(format!("{} is not started: {}", program.display(), reason.replace(", or --trust-all", "")))
}

/// Reads the known good libraries from a file; none if it has another version, is damaged, or is writable by other
/// users.
fn read(folder: &Path, user: Option<u32>) -> Vec<Good> {
    let document: Option<Document> =
        read_own(folder, user).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let is_ours =
        |document: &Document| document.schema == SCHEMA && document.ncz == env!("CARGO_PKG_VERSION");
    document.filter(is_ours).map(|document| document.plugins).unwrap_or_default()
}

/// Adds to what is known good. The file is replaced as a whole; of two programs that write at once one is forgotten.
fn keep(folder: &Path, user: Option<u32>, new: &[Good]) -> io::Result<()> {
    make_folder(folder)?;
    if !is_own(folder, user) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut good = read(folder, user);
    good.retain(|known| new.iter().all(|new| new.path != known.path));
    good.extend_from_slice(new);
    good.drain(..good.len().saturating_sub(PLUGINS_MOST));
    let document = Document { schema: SCHEMA, ncz: env!("CARGO_PKG_VERSION").to_owned(), plugins: good };
    let text = serde_json::to_string(&document)?;
    let temporary = folder.join(format!(".{FILE}.{}", std::process::id()));
    // One that a killed process of this number left.
    let _ = std::fs::remove_file(&temporary);
    let written = create(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&temporary, folder.join(FILE)));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// The bytes of the file, if only this user can write to it and to its folder.
fn read_own(folder: &Path, user: Option<u32>) -> Option<Vec<u8>> {
    use std::io::Read;

    use rustix::fs::{Mode, OFlags};

    if !is_own(folder, user) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file = std::fs::File::from(rustix::fs::open(folder.join(FILE), flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || !is_own_metadata(&metadata, user) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn create(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Tests whether a path that is not a link belongs to this user, and no other user can write to it.
fn is_own(path: &Path, user: Option<u32>) -> bool {
    std::fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_dir() && is_own_metadata(&metadata, user))
}

fn is_own_metadata(metadata: &std::fs::Metadata, user: Option<u32>) -> bool {
    let ownership = ownership(metadata);
    Some(ownership.owner) == user && ownership.mode & 0o022 == 0
}

fn ownership(metadata: &std::fs::Metadata) -> Ownership {
    use std::os::unix::fs::MetadataExt;
    Ownership { owner: metadata.uid(), mode: metadata.mode() }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn good(name: &str) -> Good {
        Good { path: format!("/p/{name}"), size: 3, times: "ab".to_owned(), sha256: "cd".to_owned() }
    }

    fn user() -> Option<u32> {
        Environment::capture().user
    }

    #[test]
    fn what_is_good_is_remembered_and_the_oldest_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("cache/ncz");
        assert_eq!(read(&folder, user()), []);
        keep(&folder, user(), &[good("a")]).unwrap();
        keep(&folder, user(), &[Good { size: 4, ..good("a") }, good("b")]).unwrap();
        assert_eq!(read(&folder, user()), [Good { size: 4, ..good("a") }, good("b")]);
        let many: Vec<Good> = (0..PLUGINS_MOST).map(|number| good(&number.to_string())).collect();
        keep(&folder, user(), &many).unwrap();
        assert_eq!(read(&folder, user()), many);
        assert!(fs::metadata(folder.join(FILE)).unwrap().len() < FILE_MOST);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_others_can_write_or_that_makes_no_sense_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("ncz");
        keep(&folder, user(), &[good("a")]).unwrap();
        let file = folder.join(FILE);
        let sound = fs::read_to_string(&file).unwrap();
        for (path, mode) in [(&file, 0o620), (&file, 0o602), (&folder, 0o720), (&folder, 0o702)] {
            let before = fs::metadata(path).unwrap().permissions();
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&folder, user()), [], "{mode:o}");
            fs::set_permissions(path, before).unwrap();
        }
        assert_eq!(read(&folder, user().map(|user| user + 1)), []);
        for text in
            ["", "{", "[]", "{}", &sound.replace("\"schema\":1", "\"schema\":2"), &sound[..sound.len() - 2]]
        {
            fs::write(&file, text).unwrap();
            assert_eq!(read(&folder, user()), [], "{text}");
            keep(&folder, user(), &[good("b")]).unwrap();
            assert_eq!(read(&folder, user()), [good("b")]);
        }
        // A link could point to a file of this user that other users filled.
        fs::rename(&file, folder.join("other")).unwrap();
        std::os::unix::fs::symlink("other", &file).unwrap();
        assert_eq!(read(&folder, user()), []);
    }

    #[test]
    fn a_worker_program_that_others_may_have_put_there_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(distrusted(folder.path(), user()), None);
        fs::write(folder.path().join(WORKER_PROGRAM), "").unwrap();
        assert_eq!(distrusted(folder.path(), user()), None);
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let reason = distrusted(folder.path(), user()).unwrap();
        assert!(reason.contains("is not started: everyone may write to its folder"), "{reason}");
    }
}
