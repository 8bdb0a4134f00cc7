//! Allow-lists: the plugins that may be used, by the path of the file, its length, and the SHA-256 of its bytes.
//!
//! With a list, a plugin is used only if its path and its bytes are on it. The bytes that are compared are those that
//! are loaded: the file is read once, the hash is that of the bytes read, and the loader gets a copy of them that
//! nothing can change. The libraries that a plugin needs are not covered: the system finds them.
//!
//! ```json
//! {"schema": 1, "plugins": [{"path": "/opt/plugins/libh5lz4.so", "size": 73912, "sha256": "2c26b46b68ff..."}]}
//! ```
//!
//! A list may also hold requirements on the versions of codecs: `"require": ["blosc>=1.2"]`. It then has schema
//! `"1.1.0"`. A program reads the schemas of its own major number up to its own minor number, because a later one can
//! contain conditions that it does not know.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use semver::Version;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;
use sha2::{Digest, Sha256};

use crate::requirement::Requirement;
use crate::search_path::{ALLOW_LIST_VARIABLE, Environment};

/// The version of the JSON form, the latest that this program reads.
pub const SCHEMA: Version = Version::new(1, 1, 0);

/// The longest list that is read.
const LIST_MOST: u64 = 16 << 20;
/// The longest plugin that is read.
const PLUGIN_MOST: u64 = 1 << 30;

/// The plugins that may be used, by the path of the file with links resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowList {
    plugins: BTreeMap<PathBuf, Content>,
    requirements: Vec<Requirement>,
}

/// The JSON form of a list.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    /// 1 if there are no requirements, else `"1.1.0"`.
    schema: Value,
    plugins: Vec<Plugin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "require")]
    requirements: Vec<Requirement>,
}

/// One plugin in the JSON form.
#[derive(Debug, Serialize, Deserialize)]
struct Plugin {
    path: String,
    #[serde(flatten)]
    content: Content,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The length in bytes.
    pub size: u64,
    /// The SHA-256 of the bytes.
    #[serde(with = "hexadecimal")]
    pub sha256: [u8; 32],
}

/// A plugin that the list admits: its bytes are those that were compared.
#[derive(Debug)]
pub struct Admitted {
    /// The file, links resolved.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Their length and hash.
    pub content: Content,
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllowListError {
    /// The file cannot be read, or a plugin cannot.
    #[error("{} cannot be read", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not JSON.
    #[error("{} is not JSON", .path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The parser's message.
        source: serde_json::Error,
    },
    /// It is JSON of another kind.
    #[error("{} is not an allow-list: {problem}; `ncz plugins lock --output {}` makes a new one", .path.display(), .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem.
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
pub enum DeniedError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The list does not name it.
    #[error("not on the plugin allow-list")]
    Unlisted,
    /// It is not what it was.
    #[error("changed since it was put on the plugin allow-list: {had} then, {has} now")]
    Changed {
        /// The entry of the list.
        had: Content,
        /// The content of the file.
        has: Content,
    },
}

/// A difference between two lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the second has it.
    Added(PathBuf),
    /// Only the first has it.
    Removed(PathBuf),
    /// They disagree on its content.
    Changed(PathBuf),
}

/// The configured list: the given one, else that of the environment, which is ignored in a process with more rights
/// than its caller.
pub(crate) fn configured(
    given: Option<PathBuf>,
    environment: &Environment,
    notes: &mut Vec<String>,
) -> Option<PathBuf> {
    let named = environment.allow_list.as_ref().filter(|list| !list.is_empty());
    match (given, named) {
        (Some(list), _) => Some(list),
        (None, Some(_)) if environment.elevated => {
            notes.push(format!(
                "{ALLOW_LIST_VARIABLE} is ignored: the program runs with more rights than its caller (set-uid or set-gid)"
            ));
            None
        }
        (None, named) => named.map(PathBuf::from),
    }
}

impl AllowList {
    /// Reads a list.
    ///
    /// # Errors
    /// The file cannot be read, is too long, or is not a list of this version.
    pub fn read(path: &Path) -> Result<Self, AllowListError> {
        let unreadable = |source| AllowListError::Unreadable { path: path.to_owned(), source };
        let text = read_bounded(path, LIST_MOST).map_err(unreadable)?;
        Self::from_slice(&text).map_err(|error| match error.classify() {
            Category::Data => AllowListError::Malformed { path: path.to_owned(), problem: error.to_string() },
            Category::Io | Category::Syntax | Category::Eof => {
                AllowListError::NotJson { path: path.to_owned(), source: error }
            }
        })
    }

    /// The list of these plugins with the bytes that they hold now.
    ///
    /// # Errors
    /// A plugin cannot be read, or has a name that a list cannot hold.
    pub fn of_files<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<Self, AllowListError> {
        let mut allow_list = Self::default();
        for file in files {
            let unreadable = |source| AllowListError::Unreadable { path: file.to_owned(), source };
            let path = file.canonicalize().map_err(unreadable)?;
            if path.to_str().is_none() {
                return Err(AllowListError::Name { path });
            }
            let bytes = read_bounded(&path, PLUGIN_MOST).map_err(unreadable)?;
            allow_list.plugins.insert(path, Content::of(&bytes));
        }
        Ok(allow_list)
    }

    /// The same list with these requirements on the versions of codecs.
    #[must_use]
    pub fn with_requirements(self, requirements: Vec<Requirement>) -> Self {
        Self { requirements, ..self }
    }

    /// The requirements on the versions of codecs.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The plugins, sorted by path.
    pub fn plugins(&self) -> impl ExactSizeIterator<Item = (&Path, Content)> {
        self.plugins.iter().map(|(path, content)| (path.as_path(), *content))
    }

    /// Reads the plugin at `path` if the list admits it.
    ///
    /// # Errors
    /// The file cannot be read, is not on the list, or differs from its entry.
    pub fn admit(&self, path: &Path) -> Result<Admitted, DeniedError> {
        let path = path.canonicalize()?;
        let had = *self.plugins.get(&path).ok_or(DeniedError::Unlisted)?;
        let bytes = read_bounded(&path, PLUGIN_MOST)?;
        match Content::of(&bytes) {
            has if has == had => Ok(Admitted { path, bytes, content: has }),
            has => Err(DeniedError::Changed { had, has }),
        }
    }

    /// Returns the entry of the file at `path`, links resolved.
    pub(crate) fn content_of(&self, path: &Path) -> Option<Content> {
        self.plugins.get(path).copied()
    }

    /// Returns the part of the list that describes the file at `path`, links resolved.
    pub(crate) fn only(&self, path: &Path) -> Self {
        let plugin = self.plugins.get_key_value(path);
        let plugins = plugin.map(|(path, content)| (path.clone(), *content)).into_iter().collect();
        Self { plugins, requirements: Vec::new() }
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        Self::from_slice(text.as_bytes()).map_err(|error| error.to_string())
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
        let plugin = |(path, content): (&Path, Content)| Plugin { path: path.display().to_string(), content };
        let document = Document {
            schema: if self.requirements.is_empty() { 1.into() } else { SCHEMA.to_string().into() },
            plugins: self.plugins().map(plugin).collect(),
            requirements: self.requirements.clone(),
        };
        // It fails only for maps whose keys are not texts, and there are none.
        serde_json::to_value(document).unwrap_or_default()
    }

    fn from_slice(text: &[u8]) -> Result<Self, serde_json::Error> {
        /// The keys that a list of any version has.
        #[derive(Deserialize)]
        struct Head {
            schema: Value,
        }

        let Head { schema } = serde_json::from_slice(text)?;
        check_schema(&schema).map_err(serde_json::Error::custom)?;
        let Document { plugins, requirements, .. } = serde_json::from_slice(text)?;
        let mut list = Self { plugins: BTreeMap::new(), requirements };
        for Plugin { path, content } in plugins {
            if list.plugins.insert(PathBuf::from(&path), content).is_some() {
                return Err(serde_json::Error::custom(format!("{path} is on it twice")));
            }
        }
        Ok(list)
    }
}

/// Tests whether this program reads lists of a schema: its own major number, and a minor number that it knows.
fn check_schema(schema: &Value) -> Result<(), String> {
    let version = match schema {
        Value::Number(major) => major.as_u64().map(|major| Version::new(major, 0, 0)),
        Value::String(text) => Version::parse(text).ok(),
        _ => None,
    };
    let version = version.ok_or_else(|| format!("expected a version as schema, got {schema}"))?;
    if version.major == SCHEMA.major && version.minor <= SCHEMA.minor {
        return Ok(());
    }
    Err(format!("its version is {version}, this program knows {}.0.0 to {SCHEMA}", SCHEMA.major))
}

impl Content {
    /// Reads the file at `path`.
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

/// All bytes of a regular file. A pipe that replaced it would block forever.
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

fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash as hexadecimal text.
mod hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(hash: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::hex(hash))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(from)?;
        parse(&text).ok_or_else(|| {
            D::Error::custom(format!("expected 64 hexadecimal digits as sha256, got {text:?}"))
        })
    }

    pub(super) fn parse(text: &str) -> Option<[u8; 32]> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn locked(path: &Path) -> AllowList {
        let content = Content::of(&fs::read(path).unwrap());
        AllowList {
            plugins: BTreeMap::from([(path.canonicalize().unwrap(), content)]),
            ..AllowList::default()
        }
    }

    #[test]
    fn the_hash_is_that_of_other_programs() {
        // Of the standard (FIPS 180-4): "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&Content::of(b"abc").sha256), abc);
        assert_eq!(hexadecimal::parse(abc).unwrap(), Content::of(b"abc").sha256);
        assert!(
            hexadecimal::parse(&abc[1..]).is_none() && hexadecimal::parse(&abc.replace('a', "g")).is_none()
        );
    }

    #[test]
    fn a_file_is_accepted_while_path_and_bytes_are_as_listed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, copy) = (folder.path().join("liba.so"), folder.path().join("libb.so"));
        fs::write(&file, "one").unwrap();
        let allow_list = locked(&file);
        assert_eq!(allow_list.admit(&file).unwrap().bytes, b"one");
        fs::copy(&file, &copy).unwrap();
        // Next to another file it may find other libraries.
        assert!(matches!(allow_list.admit(&copy), Err(DeniedError::Unlisted)));
        fs::write(&file, "two").unwrap();
        assert!(matches!(allow_list.admit(&file), Err(DeniedError::Changed { .. })));
        fs::remove_file(&file).unwrap();
        assert!(matches!(allow_list.admit(&file), Err(DeniedError::Unreadable(_))));
    }

    #[test]
    fn a_link_is_the_file_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("liba.so.1"), folder.path().join("liba.so"));
        fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink("liba.so.1", &link).unwrap();
        assert_eq!(locked(&link).admit(&file).unwrap().path, file.canonicalize().unwrap());
    }

    #[test]
    fn json_round_trips_and_anything_else_is_not_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("liba.so");
        fs::write(&file, "one").unwrap();
        let allow_list = locked(&file);
        assert_eq!(AllowList::from_text(&allow_list.to_json().to_string()).unwrap(), allow_list);
        let list = folder.path().join("list");
        let read = |text: &str| {
            fs::write(&list, text).unwrap();
            AllowList::read(&list).unwrap_err().to_string()
        };
        assert_eq!(allow_list.to_json()["schema"], 1);
        let strict = allow_list.clone().with_requirements(vec!["blosc>=1.2".parse().unwrap()]);
        assert_eq!(strict.to_json()["schema"], "1.1.0");
        assert_eq!(AllowList::from_text(&strict.to_json().to_string()).unwrap(), strict);
        let plugin = allow_list.to_json()["plugins"][0].clone();
        assert!(read("{").contains("is not JSON"));
        assert!(read("{}").contains("missing field `schema`"));
        assert!(read(r#"{"schema": null}"#).contains("expected a version as schema, got null"));
        assert!(
            read(r#"{"schema": 2, "plugins": []}"#)
                .contains("its version is 2.0.0, this program knows 1.0.0 to 1.1.0")
        );
        assert!(read(r#"{"schema": "1.2.0", "plugins": []}"#).contains("its version is 1.2.0"));
        assert!(read(r#"{"schema": 1}"#).contains("missing field `plugins`"));
        assert!(read(r#"{"schema": 1, "plugins": [3]}"#).contains("expected struct Plugin at line 1 column"));
        assert!(
            read(r#"{"schema": "1.1.0", "plugins": [], "require": ["x"]}"#)
                .contains("such as blosc>=1.2, got")
        );
        let without = |key: &str| {
            let mut plugin = plugin.clone();
            plugin.as_object_mut().unwrap().remove(key);
            read(&json!({"schema": 1, "plugins": [plugin]}).to_string())
        };
        assert!(without("size").contains("missing field `size`"));
        assert!(without("sha256").contains("missing field `sha256`"));
        assert!(read(&json!({"schema": 1, "plugins": [plugin, plugin]}).to_string()).contains("twice"));
        assert!(matches!(AllowList::read(folder.path()), Err(AllowListError::Unreadable { .. })));
        assert!(matches!(
            AllowList::read(&folder.path().join("none")),
            Err(AllowListError::Unreadable { .. })
        ));
    }

    #[test]
    fn differences_are_named() {
        let content = |bytes: &[u8]| Content::of(bytes);
        let allow_list = |plugins: &[(&str, &[u8])]| AllowList {
            plugins: plugins.iter().map(|(path, bytes)| (PathBuf::from(path), content(bytes))).collect(),
            ..AllowList::default()
        };
        let (had, has) = (
            allow_list(&[("/a", b"1"), ("/b", b"1"), ("/c", b"1")]),
            allow_list(&[("/a", b"1"), ("/b", b"2"), ("/d", b"1")]),
        );
        let said: Vec<_> = had.differences(&has).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["/b has changed", "/c is on the list and not found", "/d is not on the list"]);
        assert!(had.differences(&had).is_empty());
    }
}
