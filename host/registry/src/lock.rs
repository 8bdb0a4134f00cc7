//! Lists of the plugins that may be used: where a file lies, how long it is, and the SHA-256 of its bytes.
//!
//! With a list, a plugin is used only if it lies where the list says and has the bytes that the list says. What is
//! compared is what is loaded: the file is read once, the hash is that of the bytes read, and the loader gets a copy
//! of them that nobody can change. The libraries that a plugin needs are not covered: the system finds them.
//!
//! ```json
//! {"schema": 1, "plugins": [{"path": "/opt/plugins/libh5lz4.so", "size": 73912, "sha256": "2c26b46b68ff..."}]}
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::report::{Report, Verdict};
use crate::search_path::{Environment, LOCK_VARIABLE};

/// The version of the JSON form.
pub const SCHEMA: u32 = 1;

/// The longest list that is read.
const LIST_MOST: u64 = 16 << 20;
/// The longest plugin that is read.
const PLUGIN_MOST: u64 = 1 << 30;

/// The plugins that may be used, by the path of the file with links resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lock {
    plugins: BTreeMap<PathBuf, Content>,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The length in bytes.
    pub size: u64,
    /// The SHA-256 of the bytes.
    pub sha256: [u8; 32],
}

/// A plugin that the list admits: its bytes are those that were compared.
#[derive(Debug)]
pub struct Admitted {
    /// The file, links resolved.
    pub path: PathBuf,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// The same, told shortly.
    pub content: Content,
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file cannot be read, or a plugin cannot.
    #[error("{} cannot be read", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no JSON.
    #[error("{} is not JSON", .path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// It is JSON of another kind.
    #[error("{} is no list of plugins: {problem}; `ncz plugins lock --output {}` makes a new one", .path.display(), .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A path that JSON cannot hold.
    #[error("{} is not UTF-8, which a list cannot name; rename it", .path.display())]
    Name {
        /// The plugin.
        path: PathBuf,
    },
}

/// Why a list does not admit a plugin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The list does not name it.
    #[error("not on the list of plugins that may be used")]
    Unlisted,
    /// It is not what it was.
    #[error("changed since it was put on the list of plugins that may be used: {had} then, {has} now")]
    Changed {
        /// What the list says.
        had: Content,
        /// What the file holds.
        has: Content,
    },
}

/// One way in which two lists differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the second has it.
    Added(PathBuf),
    /// Only the first has it.
    Removed(PathBuf),
    /// They disagree on its content.
    Changed(PathBuf),
}

/// The list that is configured: the one given, else that of the environment, unless somebody else chose it.
pub(crate) fn configured(
    given: Option<PathBuf>,
    environment: &Environment,
    notes: &mut Vec<String>,
) -> Option<PathBuf> {
    let named = environment.lock.as_ref().filter(|list| !list.is_empty());
    match (given, named) {
        (Some(list), _) => Some(list),
        (None, Some(_)) if environment.elevated => {
            notes.push(format!(
                "{LOCK_VARIABLE} is ignored: the program runs with more rights than its caller (set-uid or set-gid)"
            ));
            None
        }
        (None, named) => named.map(PathBuf::from),
    }
}

impl Lock {
    /// Reads a list.
    ///
    /// # Errors
    /// The file cannot be read, is too long, or is no list of this version.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        let unreadable = |source| LockError::Unreadable { path: path.to_owned(), source };
        let bytes = read_bounded(path, LIST_MOST).map_err(unreadable)?;
        let value = serde_json::from_slice(&bytes)
            .map_err(|source| LockError::NotJson { path: path.to_owned(), source })?;
        Self::from_json(&value).map_err(|problem| LockError::Malformed { path: path.to_owned(), problem })
    }

    /// The list of all plugins that a report without loading has found and does not refuse.
    ///
    /// # Errors
    /// A plugin cannot be read, or has a name that a list cannot hold.
    pub fn of(report: &Report) -> Result<Self, LockError> {
        let mut lock = Self::default();
        for file in report.files().filter(|file| file.verdict == Verdict::Candidate) {
            let unreadable = |source| LockError::Unreadable { path: file.path.clone(), source };
            let path = file.path.canonicalize().map_err(unreadable)?;
            if path.to_str().is_none() {
                return Err(LockError::Name { path });
            }
            let bytes = read_bounded(&path, PLUGIN_MOST).map_err(unreadable)?;
            lock.plugins.insert(path, Content::of(&bytes));
        }
        Ok(lock)
    }

    /// The plugins, sorted by path.
    pub fn plugins(&self) -> impl ExactSizeIterator<Item = (&Path, Content)> {
        self.plugins.iter().map(|(path, content)| (path.as_path(), *content))
    }

    /// Reads the plugin at `path` if the list admits it.
    ///
    /// # Errors
    /// It cannot be read, is not on the list, or is not what the list says.
    pub fn admit(&self, path: &Path) -> Result<Admitted, Denied> {
        let path = path.canonicalize()?;
        let had = *self.plugins.get(&path).ok_or(Denied::Unlisted)?;
        let bytes = read_bounded(&path, PLUGIN_MOST)?;
        match Content::of(&bytes) {
            has if has == had => Ok(Admitted { path, bytes, content: has }),
            has => Err(Denied::Changed { had, has }),
        }
    }

    /// What the list says of the file at `path`, links resolved.
    pub(crate) fn content_of(&self, path: &Path) -> Option<Content> {
        self.plugins.get(path).copied()
    }

    /// The part of the list that says something of the file at `path`, links resolved.
    pub(crate) fn only(&self, path: &Path) -> Self {
        let plugin = self.plugins.get_key_value(path);
        Self { plugins: plugin.map(|(path, content)| (path.clone(), *content)).into_iter().collect() }
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Self::from_json(&value)
    }

    /// In what `now` differs from this list, sorted by path.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let paths: std::collections::BTreeSet<_> = self.plugins.keys().chain(now.plugins.keys()).collect();
        let differ = |path: &PathBuf| match (self.plugins.get(path), now.plugins.get(path)) {
            (None, _) => Some(Difference::Added(path.clone())),
            (_, None) => Some(Difference::Removed(path.clone())),
            (had, has) => (had != has).then(|| Difference::Changed(path.clone())),
        };
        paths.into_iter().filter_map(differ).collect()
    }

    /// The list as JSON.
    pub fn to_json(&self) -> Value {
        let plugin = |(path, content): (&Path, Content)| json!({"path": path.display().to_string(), "size": content.size, "sha256": hex(&content.sha256)});
        json!({"schema": SCHEMA, "plugins": self.plugins().map(plugin).collect::<Vec<_>>()})
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        match value.get("schema").and_then(Value::as_u64) {
            Some(schema) if schema == u64::from(SCHEMA) => {}
            Some(schema) => return Err(format!("its version is {schema}, this program knows {SCHEMA}")),
            None => return Err("it has no \"schema\"".to_owned()),
        }
        let list = value.get("plugins").and_then(Value::as_array).ok_or("it has no list \"plugins\"")?;
        let mut lock = Self::default();
        for (place, plugin) in list.iter().enumerate() {
            let at = |what: &str| format!("\"{what}\" of plugin {place} is missing or malformed");
            let plugin: &Map<String, Value> = plugin.as_object().ok_or_else(|| at("path"))?;
            let path = plugin.get("path").and_then(Value::as_str).ok_or_else(|| at("path"))?;
            let size = plugin.get("size").and_then(Value::as_u64).ok_or_else(|| at("size"))?;
            let sha256 = plugin.get("sha256").and_then(Value::as_str);
            let sha256 = sha256.and_then(unhex).ok_or_else(|| at("sha256"))?;
            if lock.plugins.insert(path.into(), Content { size, sha256 }).is_some() {
                return Err(format!("{path} is on it twice"));
            }
        }
        Ok(lock)
    }
}

impl Content {
    /// What the file at `path` holds.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        read_bounded(path, PLUGIN_MOST).map(|bytes| Self::of(&bytes))
    }

    fn of(bytes: &[u8]) -> Self {
        Self { size: bytes.len() as u64, sha256: Sha256::digest(bytes).into() }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, SHA-256 {}", self.size, hex(&self.sha256))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(path) => write!(f, "{} is not on the list", path.display()),
            Self::Removed(path) => write!(f, "{} is on the list and not found", path.display()),
            Self::Changed(path) => write!(f, "{} has changed", path.display()),
        }
    }
}

/// All bytes of a regular file. A pipe put in its place would block for ever.
fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, place) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(text.get(place..place + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn locked(path: &Path) -> Lock {
        let content = Content::of(&fs::read(path).unwrap());
        Lock { plugins: BTreeMap::from([(path.canonicalize().unwrap(), content)]) }
    }

    #[test]
    fn the_hash_is_that_of_other_programs() {
        // Of the standard (FIPS 180-4): "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&Content::of(b"abc").sha256), abc);
        assert_eq!(unhex(abc).unwrap(), Content::of(b"abc").sha256);
        assert!(unhex(&abc[1..]).is_none() && unhex(&abc.replace('a', "g")).is_none());
    }

    #[test]
    fn a_file_is_admitted_while_place_and_bytes_are_as_listed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, copy) = (folder.path().join("liba.so"), folder.path().join("libb.so"));
        fs::write(&file, "one").unwrap();
        let lock = locked(&file);
        assert_eq!(lock.admit(&file).unwrap().bytes, b"one");
        fs::copy(&file, &copy).unwrap();
        // Beside another file it may find other libraries.
        assert!(matches!(lock.admit(&copy), Err(Denied::Unlisted)));
        fs::write(&file, "two").unwrap();
        assert!(matches!(lock.admit(&file), Err(Denied::Changed { .. })));
        fs::remove_file(&file).unwrap();
        assert!(matches!(lock.admit(&file), Err(Denied::Unreadable(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_the_file_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("liba.so.1"), folder.path().join("liba.so"));
        fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink("liba.so.1", &link).unwrap();
        assert_eq!(locked(&link).admit(&file).unwrap().path, file.canonicalize().unwrap());
    }

    #[test]
    fn json_comes_back_as_it_was_and_anything_else_is_no_list() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("liba.so");
        fs::write(&file, "one").unwrap();
        let lock = locked(&file);
        assert_eq!(Lock::from_json(&lock.to_json()).unwrap(), lock);
        let list = folder.path().join("list");
        let read = |text: &str| {
            fs::write(&list, text).unwrap();
            Lock::read(&list).unwrap_err().to_string()
        };
        let plugin = lock.to_json()["plugins"][0].clone();
        assert!(read("{").contains("is not JSON"));
        assert!(read("[]").contains("no \"schema\""));
        assert!(read(r#"{"schema": 2, "plugins": []}"#).contains("its version is 2"));
        assert!(read(r#"{"schema": 1}"#).contains("no list \"plugins\""));
        assert!(read(r#"{"schema": 1, "plugins": [3]}"#).contains("\"path\" of plugin 0"));
        let without = |key: &str| {
            let mut plugin = plugin.clone();
            plugin.as_object_mut().unwrap().remove(key);
            read(&json!({"schema": 1, "plugins": [plugin]}).to_string())
        };
        assert!(without("size").contains("\"size\" of plugin 0"));
        assert!(without("sha256").contains("\"sha256\" of plugin 0"));
        assert!(read(&json!({"schema": 1, "plugins": [plugin, plugin]}).to_string()).contains("twice"));
        assert!(matches!(Lock::read(folder.path()), Err(LockError::Unreadable { .. })));
        assert!(matches!(Lock::read(&folder.path().join("none")), Err(LockError::Unreadable { .. })));
    }

    #[test]
    fn differences_are_named() {
        let content = |bytes: &[u8]| Content::of(bytes);
        let lock = |plugins: &[(&str, &[u8])]| Lock {
            plugins: plugins.iter().map(|(path, bytes)| (PathBuf::from(path), content(bytes))).collect(),
        };
        let (had, has) = (
            lock(&[("/a", b"1"), ("/b", b"1"), ("/c", b"1")]),
            lock(&[("/a", b"1"), ("/b", b"2"), ("/d", b"1")]),
        );
        let said: Vec<_> = had.differences(&has).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["/b has changed", "/c is on the list and not found", "/d is not on the list"]);
        assert!(had.differences(&had).is_empty());
    }
}
