//! Step two: which files of the search path may be plugins. Opens no file.
//!
//! Folders are scanned in order, with names sorted bytewise within a folder, without recursion. The
//! scan itself cannot fail: unusable entries are listed with the reason.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::search_path::{Environment, Folder, SearchPath};
use crate::trust::{Ownership, TrustNote, trust_notes};

/// The identity of a file: two paths with the same identity are the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device number.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
}

/// The state of a folder of the search path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "FolderStateText")]
#[non_exhaustive]
pub enum FolderState {
    /// A folder that could be listed.
    Searched,
    /// Nothing.
    Missing,
    /// A file or something else.
    NotAFolder,
    /// A folder that could not be listed, with the reason.
    Unreadable(String),
    /// A folder that occurred earlier in the path, under the name given here.
    SameAs(PathBuf),
}

/// [`FolderState`] in reports.
#[derive(Serialize)]
struct FolderStateText {
    state: String,
    searched: bool,
}

impl From<FolderState> for FolderStateText {
    fn from(state: FolderState) -> Self {
        Self { searched: state == FolderState::Searched, state: state.to_string() }
    }
}

/// One folder of the search path and what was found there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderScan {
    /// The folder.
    pub folder: Folder,
    /// The state of the folder.
    pub state: FolderState,
    /// Who else can change it.
    pub trust: Vec<TrustNote>,
    /// Its entries, sorted bytewise by name.
    pub files: Vec<Found>,
}

/// The kind of an entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// A regular file, or a link to one, with the right name: its symbols are read next.
    Candidate,
    /// The name does not match the pattern; the file is not opened.
    NameMismatch,
    /// The name matches, but it is a folder, a pipe or a device.
    NotAFile,
    /// A link whose target does not exist.
    Dangling,
    /// It could not be examined, with the reason.
    Unreadable(String),
    /// The same file was reached earlier, under the name given here.
    SameAs(PathBuf),
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its path: the folder as it was named, and the name.
    pub path: PathBuf,
    /// The target of a symbolic link.
    pub link_target: Option<PathBuf>,
    /// Its kind.
    pub standing: Standing,
    /// The identity of the file; absent if it could not be examined.
    pub id: Option<FileId>,
    /// Its length in bytes.
    pub size: u64,
    /// Who else can change it.
    pub trust: Vec<TrustNote>,
}

/// Lists the folders of a search path.
pub fn discover(path: &SearchPath, environment: &Environment) -> Vec<FolderScan> {
    let mut seen = Seen { environment, folders: HashMap::new(), files: HashMap::new() };
    path.folders.iter().map(|folder| seen.scan(folder)).collect()
}

impl FileId {
    /// Returns the identity of the file at `path`; links are followed.
    ///
    /// # Errors
    /// Nothing is there, or it cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from_metadata(&fs::metadata(path)?))
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl fmt::Display for FolderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Searched => f.write_str("searched"),
            Self::Missing => f.write_str("does not exist"),
            Self::NotAFolder => f.write_str("is not a folder"),
            Self::Unreadable(why) => write!(f, "cannot be listed: {why}"),
            Self::SameAs(path) => write!(f, "is the same folder as {}", path.display()),
        }
    }
}

/// The folders and files found so far in one scan.
struct Seen<'a> {
    environment: &'a Environment,
    folders: HashMap<FileId, PathBuf>,
    files: HashMap<FileId, PathBuf>,
}

impl Seen<'_> {
    fn scan(&mut self, folder: &Folder) -> FolderScan {
        let mut scan = FolderScan {
            folder: folder.clone(),
            state: FolderState::Searched,
            trust: Vec::new(),
            files: Vec::new(),
        };
        let metadata = match fs::metadata(&folder.path) {
            Ok(metadata) => metadata,
            Err(error) => {
                // A file in place of a parent folder (`ENOTDIR`) counts as not found.
                scan.state = match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FolderState::Missing,
                    _ => FolderState::Unreadable(error.to_string()),
                };
                return scan;
            }
        };
        if !metadata.is_dir() {
            scan.state = FolderState::NotAFolder;
            return scan;
        }
        scan.trust = self.trust(&metadata);
        let id = FileId::from_metadata(&metadata);
        if let Some(earlier) = self.folders.get(&id) {
            scan.state = FolderState::SameAs(earlier.clone());
            return scan;
        }
        self.folders.insert(id, folder.path.clone());
        match list(&folder.path) {
            Ok(entries) => scan.files = entries.into_iter().map(|entry| self.look(entry)).collect(),
            Err(error) => scan.state = FolderState::Unreadable(error.to_string()),
        }
        scan
    }

    fn look(&mut self, (path, is_link): (PathBuf, bool)) -> Found {
        let mut found = Found {
            link_target: is_link.then(|| fs::read_link(&path).ok()).flatten(),
            standing: Standing::Candidate,
            id: None,
            size: 0,
            trust: Vec::new(),
            path,
        };
        let matches = found.path.file_name().is_some_and(|name| self.environment.platform.matches(name));
        if !matches {
            found.standing = Standing::NameMismatch;
            return found;
        }
        let metadata = match fs::metadata(&found.path) {
            Ok(metadata) => metadata,
            Err(error) if is_link && error.kind() == io::ErrorKind::NotFound => {
                found.standing = Standing::Dangling;
                return found;
            }
            Err(error) => {
                found.standing = Standing::Unreadable(error.to_string());
                return found;
            }
        };
        if !metadata.is_file() {
            found.standing = Standing::NotAFile;
            return found;
        }
        found.size = metadata.len();
        found.trust = self.trust(&metadata);
        let id = FileId::from_metadata(&metadata);
        match self.files.get(&id) {
            Some(earlier) => found.standing = Standing::SameAs(earlier.clone()),
            None => {
                self.files.insert(id, found.path.clone());
            }
        }
        found.id = Some(id);
        found
    }

    fn trust(&self, metadata: &Metadata) -> Vec<TrustNote> {
        let ownership = Ownership { owner: metadata.uid(), mode: metadata.mode() };
        self.environment.user.map(|user| trust_notes(ownership, user)).unwrap_or_default()
    }
}

/// The entries of a folder, sorted bytewise by name, and whether each is a symbolic link.
fn list(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        entries.push((entry.file_name(), is_link));
    }
    entries.sort_by(|(a, _), (b, _)| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    Ok(entries.into_iter().map(|(name, is_link)| (folder.join(name), is_link)).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::search_path::{Origin, Platform};

    fn environment() -> Environment {
        Environment { platform: Platform::Linux, ..Environment::capture() }
    }

    fn scan(folders: &[&Path]) -> Vec<FolderScan> {
        let folders = folders
            .iter()
            .map(|path| Folder { path: path.to_path_buf(), origin: Origin::Explicit })
            .collect();
        let path = SearchPath { folders, switched_off: None, notes: Vec::new() };
        discover(&path, &environment())
    }

    fn names(scan: &FolderScan) -> Vec<(&str, &Standing)> {
        scan.files
            .iter()
            .map(|found| (found.path.file_name().unwrap().to_str().unwrap(), &found.standing))
            .collect()
    }

    #[test]
    fn names_are_sorted_bytewise_and_others_are_listed_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libb.so", "libB.so", "liba.so.2", "README", "a.so"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let scans = scan(&[folder.path()]);
        assert_eq!(
            names(&scans[0]),
            [
                ("README", &Standing::NameMismatch),
                ("a.so", &Standing::NameMismatch),
                ("libB.so", &Standing::Candidate),
                ("liba.so.2", &Standing::Candidate),
                ("libb.so", &Standing::Candidate),
            ]
        );
        assert_eq!(scans[0].state, FolderState::Searched);
    }

    #[test]
    fn folders_pipes_and_dangling_links_are_distinguished_and_nothing_is_descended_into() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("libdir.so")).unwrap();
        fs::write(at("libdir.so").join("libinner.so"), "x").unwrap();
        symlink("nowhere", at("libdangling.so")).unwrap();
        symlink("libloop.so", at("libloop.so")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("libpipe.so"), rustix::fs::Mode::RUSR).unwrap();
        let scans = scan(&[folder.path()]);
        let found = names(&scans[0]);
        assert_eq!(found[0], ("libdangling.so", &Standing::Dangling));
        assert_eq!(found[1], ("libdir.so", &Standing::NotAFile));
        assert!(matches!(found[2], ("libloop.so", Standing::Unreadable(_))));
        assert_eq!(found[3], ("libpipe.so", &Standing::NotAFile));
        assert_eq!(scans[0].files[0].link_target.as_deref(), Some(Path::new("nowhere")));
    }

    #[test]
    fn one_file_reached_twice_is_noticed_by_device_and_inode() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = one.path().join("libx.so.1");
        fs::write(&file, "x").unwrap();
        symlink("libx.so.1", one.path().join("libx.so")).unwrap();
        fs::hard_link(&file, two.path().join("liby.so")).unwrap();
        let scans = scan(&[one.path(), two.path()]);
        let first = one.path().join("libx.so");
        assert_eq!(scans[0].files[0].standing, Standing::Candidate);
        assert_eq!(scans[0].files[1].standing, Standing::SameAs(first.clone()));
        assert_eq!(scans[1].files[0].standing, Standing::SameAs(first));
    }

    #[test]
    fn a_folder_that_is_missing_or_a_file_or_named_twice_is_a_note_and_the_scan_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libx.so");
        fs::write(&file, "x").unwrap();
        let again = folder.path().join(".");
        let scans = scan(&[Path::new("/no/such/folder"), &file, &file.join("below"), folder.path(), &again]);
        assert_eq!(scans[0].state, FolderState::Missing);
        assert_eq!(scans[1].state, FolderState::NotAFolder);
        assert_eq!(scans[2].state, FolderState::Missing);
        assert_eq!(scans[3].files.len(), 1);
        assert_eq!(scans[4].state, FolderState::SameAs(folder.path().to_owned()));
    }

    #[test]
    fn an_unreadable_folder_is_a_note() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o000)).unwrap();
        let scans = scan(&[folder.path()]);
        // Root may list any folder; the note is only to be had as another user.
        if !rustix::process::geteuid().is_root() {
            assert!(matches!(scans[0].state, FolderState::Unreadable(_)));
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn what_others_may_write_to_is_remarked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libx.so");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o775)).unwrap();
        let scans = scan(&[folder.path()]);
        assert_eq!(scans[0].trust, [TrustNote::GroupWritable]);
        assert_eq!(scans[0].files[0].trust, [TrustNote::WorldWritable, TrustNote::GroupWritable]);
    }
}
