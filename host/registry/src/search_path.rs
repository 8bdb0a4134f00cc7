//! Step one: which folders are searched for plugins, and why. Opens nothing.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::json_text;

/// The environment variable that replaces the default folders.
pub const PATH_VARIABLE: &str = "HDF5_PLUGIN_PATH";

/// The environment variable that switches dynamic plugins off when it is `::`.
pub const PRELOAD_VARIABLE: &str = "HDF5_PLUGIN_PRELOAD";

/// The source of a folder. It determines the preference among candidates of one codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The embedder's list or `--plugin-path`.
    Explicit,
    /// `HDF5_PLUGIN_PATH`.
    Environment,
    /// The folders that are searched if none are named.
    Default,
}

/// The conventions of an operating system, as far as plugins are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Platform {
    /// Linux and every Unix but macOS.
    Linux,
    /// macOS.
    MacOs,
}

/// The environment variable that names an allow-list of plugins ([`allow_list`](crate::allow_list)).
pub const ALLOW_LIST_VARIABLE: &str = "NCZ_PLUGIN_LOCK";

/// The facts about the process that determine where plugins are searched for, and which file owners are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The conventions to follow.
    pub platform: Platform,
    /// The value of `HDF5_PLUGIN_PATH`, if it is set.
    pub plugin_path: Option<OsString>,
    /// The value of `HDF5_PLUGIN_PRELOAD`, if it is set.
    pub preload: Option<OsString>,
    /// The value of `NCZ_PLUGIN_LOCK`, if it is set.
    pub allow_list: Option<OsString>,
    /// The folder of the running program.
    pub exe_dir: Option<PathBuf>,
    /// The folder for what can be found out again, of the user: `XDG_CACHE_HOME`, else `.cache` in the home folder.
    /// None in a process with more rights than its caller, whose variables these are.
    pub cache: Option<PathBuf>,
    /// The user of the process, if the system has user numbers.
    pub user: Option<u32>,
    /// Whether the process runs with more rights than its caller (set-uid, set-gid or file capabilities).
    pub elevated: bool,
}

/// The folders from an embedder or the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathRequest {
    /// Folders that are the whole path, if given.
    pub explicit: Option<Vec<PathBuf>>,
    /// Switches dynamic plugins off.
    pub no_plugins: bool,
}

/// One folder of the search path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Folder {
    /// The folder as it was named.
    #[serde(serialize_with = "json_text::path")]
    pub path: PathBuf,
    /// Its source.
    pub origin: Origin,
}

/// Why no folder is searched at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SwitchedOff {
    /// The embedder or `--no-plugins`.
    Request,
    /// `HDF5_PLUGIN_PRELOAD=::`.
    Preload,
}

/// The folders to search, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    /// The folders in the order of the search; empty when plugins are switched off.
    pub folders: Vec<Folder>,
    /// Set when plugins are switched off.
    pub switched_off: Option<SwitchedOff>,
    /// Remarks about how the path came about.
    pub notes: Vec<String>,
}

impl Platform {
    /// The platform this program was built for.
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") { Self::MacOs } else { Self::Linux }
    }

    /// The names that plugin files have here, for people.
    pub const fn name_pattern(self) -> &'static str {
        match self {
            Self::Linux => "lib*.so*",
            Self::MacOs => "lib*.dylib* or lib*.so*",
        }
    }

    /// Whether a file of this name is looked at.
    pub fn matches(self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        let contains = |needle: &[u8]| name.windows(needle.len()).skip(3).any(|window| window == needle);
        match self {
            Self::Linux => name.starts_with(b"lib") && contains(b".so"),
            Self::MacOs => name.starts_with(b"lib") && (contains(b".dylib") || contains(b".so")),
        }
    }
}

impl Environment {
    /// The facts about the running process.
    pub fn capture() -> Self {
        let exe = std::env::current_exe().and_then(|exe| exe.canonicalize()).ok();
        let (user, elevated) = identity();
        Self {
            platform: Platform::current(),
            plugin_path: std::env::var_os(PATH_VARIABLE),
            preload: std::env::var_os(PRELOAD_VARIABLE),
            allow_list: std::env::var_os(ALLOW_LIST_VARIABLE),
            exe_dir: exe.as_deref().and_then(Path::parent).map(Path::to_owned),
            cache: if elevated { None } else { cache_folder() },
            user,
            elevated,
        }
    }
}

impl SearchPath {
    /// Works out the search path. Pure: touches neither files nor the process.
    ///
    /// An explicit list is the whole path; else `HDF5_PLUGIN_PATH` (set but empty: no folders); else the
    /// default folders. In a process with more rights than its caller the variable is ignored.
    pub fn resolve(environment: &Environment, request: &PathRequest) -> Self {
        let mut path = Self { folders: Vec::new(), switched_off: None, notes: Vec::new() };
        if request.no_plugins {
            path.switched_off = Some(SwitchedOff::Request);
            return path;
        }
        // Switching off is always harmless, so this counts in an elevated process too.
        if environment.preload.as_deref() == Some(OsStr::new("::")) {
            path.switched_off = Some(SwitchedOff::Preload);
            path.notes.push(format!("{PRELOAD_VARIABLE} is \"::\": no plugins are loaded"));
            return path;
        }
        if let Some(explicit) = &request.explicit {
            path.extend(Origin::Explicit, explicit.iter().cloned());
            return path;
        }
        match &environment.plugin_path {
            Some(_) if environment.elevated => {
                path.notes.push(format!(
                    "{PATH_VARIABLE} is ignored: the program runs with more rights than its caller (set-uid or set-gid)"
                ));
                path.extend(Origin::Default, default_folders(environment));
            }
            Some(value) if value.is_empty() => {
                path.notes.push(format!("{PATH_VARIABLE} is set and empty: no folder is searched"));
            }
            Some(value) => path.extend(Origin::Environment, split(value)),
            None => path.extend(Origin::Default, default_folders(environment)),
        }
        path
    }

    /// Appends folders; empty names are skipped with a note, never taken as the current folder.
    fn extend(&mut self, origin: Origin, folders: impl IntoIterator<Item = PathBuf>) {
        for path in folders {
            if path.as_os_str().is_empty() {
                self.notes.push(format!("an empty entry of {origin} is skipped"));
            } else {
                self.folders.push(Folder { path, origin });
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Explicit => "the given plugin path",
            Self::Environment => PATH_VARIABLE,
            Self::Default => "the default path",
        })
    }
}

impl Origin {
    /// The word for it in machine-readable reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Environment => "environment",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for SwitchedOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("plugins are switched off by request"),
            Self::Preload => write!(f, "plugins are switched off by {PRELOAD_VARIABLE}=::"),
        }
    }
}

/// Returns the user's cache folder (XDG Base Directory Specification); relative paths are ignored.
fn cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// The folders that are searched if none are named.
fn default_folders(environment: &Environment) -> Vec<PathBuf> {
    let beside = environment.exe_dir.as_deref().and_then(Path::parent).map(|prefix| {
        // The parent is taken lexically: `exe_dir` is canonical, and the folder need not exist.
        prefix.join("lib").join("ncz").join("plugins")
    });
    let usual = PathBuf::from("/usr/local/hdf5/lib/plugin");
    beside.into_iter().chain([usual]).collect()
}

/// Splits a list of folders. Empty entries are kept, so that the caller can report them.
fn split(value: &OsStr) -> Vec<PathBuf> {
    value.as_bytes().split(|&byte| byte == b':').map(|part| OsStr::from_bytes(part).into()).collect()
}

/// The user that the process acts for, and whether it has more rights than its caller.
fn identity() -> (Option<u32>, bool) {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    (Some(geteuid().as_raw()), getuid() != geteuid() || getgid() != getegid() || is_secure())
}

/// Tests whether the kernel marks the environment as untrusted; file capabilities give privileges without another
/// user number.
#[cfg(target_os = "linux")]
fn is_secure() -> bool {
    match std::fs::read("/proc/self/auxv") {
        Ok(table) => says_secure(&table),
        // Of a process with more rights than its caller that is root's file.
        Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
    }
}

#[cfg(not(target_os = "linux"))]
fn is_secure() -> bool {
    false
}

/// Looks `AT_SECURE` up in a table of pairs of machine words.
#[cfg(target_os = "linux")]
fn says_secure(table: &[u8]) -> bool {
    const AT_SECURE: usize = 23;
    const WORD: usize = size_of::<usize>();
    let words = |pair: &[u8]| -> Option<(usize, usize)> {
        let (key, value) = pair.split_at_checked(WORD)?;
        Some((usize::from_ne_bytes(key.try_into().ok()?), usize::from_ne_bytes(value.try_into().ok()?)))
    };
    table.chunks_exact(2 * WORD).filter_map(words).any(|(key, value)| key == AT_SECURE && value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux() -> Environment {
        Environment {
            platform: Platform::Linux,
            plugin_path: None,
            preload: None,
            allow_list: None,
            exe_dir: Some("/opt/ncz/bin".into()),
            cache: None,
            user: Some(1000),
            elevated: false,
        }
    }

    fn folders(path: &SearchPath) -> Vec<(&str, Origin)> {
        path.folders.iter().map(|folder| (folder.path.to_str().unwrap(), folder.origin)).collect()
    }

    fn resolve(environment: &Environment) -> SearchPath {
        SearchPath::resolve(environment, &PathRequest::default())
    }

    #[test]
    fn without_the_variable_the_default_folders_are_searched_in_order() {
        let path = resolve(&linux());
        assert_eq!(
            folders(&path),
            [("/opt/ncz/lib/ncz/plugins", Origin::Default), ("/usr/local/hdf5/lib/plugin", Origin::Default)]
        );
        assert!(path.notes.is_empty());
    }

    #[test]
    fn the_variable_replaces_the_default() {
        let path = resolve(&Environment { plugin_path: Some("/b:/a".into()), ..linux() });
        assert_eq!(folders(&path), [("/b", Origin::Environment), ("/a", Origin::Environment)]);
    }

    #[test]
    fn a_variable_that_is_set_and_empty_means_no_folders() {
        let path = resolve(&Environment { plugin_path: Some("".into()), ..linux() });
        assert!(path.folders.is_empty() && path.switched_off.is_none());
        assert!(path.notes[0].contains("set and empty"));
    }

    #[test]
    fn empty_entries_are_skipped_and_never_mean_the_current_folder() {
        let path = resolve(&Environment { plugin_path: Some(":/a::/b:".into()), ..linux() });
        assert_eq!(folders(&path), [("/a", Origin::Environment), ("/b", Origin::Environment)]);
        assert_eq!(path.notes.len(), 3);
        assert!(resolve(&Environment { plugin_path: Some(":".into()), ..linux() }).folders.is_empty());
    }

    #[test]
    fn an_explicit_list_is_the_whole_path_even_when_it_is_empty() {
        let environment = Environment { plugin_path: Some("/env".into()), ..linux() };
        let request = |explicit: &[&str]| PathRequest {
            explicit: Some(explicit.iter().map(PathBuf::from).collect()),
            no_plugins: false,
        };
        let path = SearchPath::resolve(&environment, &request(&["/mine", "/yours"]));
        assert_eq!(folders(&path), [("/mine", Origin::Explicit), ("/yours", Origin::Explicit)]);
        assert!(SearchPath::resolve(&environment, &request(&[])).folders.is_empty());
    }

    #[test]
    fn plugins_are_switched_off_by_request_and_by_two_colons_only() {
        let request = PathRequest { explicit: Some(vec!["/mine".into()]), no_plugins: true };
        assert_eq!(SearchPath::resolve(&linux(), &request).switched_off, Some(SwitchedOff::Request));
        let preload = |value: &str| resolve(&Environment { preload: Some(value.into()), ..linux() });
        assert_eq!(preload("::").switched_off, Some(SwitchedOff::Preload));
        assert!(preload("::").folders.is_empty());
        for other in ["", ":", ":::", "/a"] {
            assert_eq!(preload(other).switched_off, None, "{other:?}");
        }
        let both = SearchPath::resolve(
            &Environment { preload: Some("::".into()), ..linux() },
            &PathRequest { explicit: Some(vec!["/mine".into()]), no_plugins: false },
        );
        assert!(both.folders.is_empty());
    }

    #[test]
    fn a_set_uid_process_ignores_the_variable_and_says_so() {
        let path = resolve(&Environment { plugin_path: Some("/evil".into()), elevated: true, ..linux() });
        assert!(folders(&path).iter().all(|(_, origin)| *origin == Origin::Default));
        assert!(path.notes[0].contains("set-uid"), "{:?}", path.notes);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_reports_privileges_from_file_capabilities() {
        let table = |pairs: &[(usize, usize)]| -> Vec<u8> {
            pairs.iter().flat_map(|(key, value)| [key.to_ne_bytes(), value.to_ne_bytes()].concat()).collect()
        };
        assert!(says_secure(&table(&[(6, 4096), (23, 1), (0, 0)])));
        assert!(!says_secure(&table(&[(6, 23), (23, 0), (0, 0)])));
        assert!(!says_secure(&table(&[(6, 4096)])[..9]));
        assert!(!is_secure());
    }

    #[test]
    fn folders_need_not_be_utf_8() {
        let value = OsStr::from_bytes(b"/a\xff:/b").to_owned();
        let path = resolve(&Environment { plugin_path: Some(value), ..linux() });
        assert_eq!(path.folders[0].path.as_os_str().as_bytes(), b"/a\xff");
    }

    #[test]
    fn file_names_follow_the_rules_of_hdf5() {
        let matches = |platform: Platform, name: &str| platform.matches(OsStr::new(name));
        for name in ["libh5zstd.so", "libh5zstd.so.2", "libx.so.1.2.3", "lib.so", "libx.somewhat"] {
            assert!(matches(Platform::Linux, name), "{name}");
        }
        for name in ["h5zstd.so", "libh5zstd.a", "libh5zstd", "README", "libx.dylib", "xlib.so", ""] {
            assert!(!matches(Platform::Linux, name), "{name}");
        }
        assert!(matches(Platform::MacOs, "libx.dylib") && matches(Platform::MacOs, "libx.2.dylib.bak"));
        assert!(matches(Platform::MacOs, "libx.so") && !matches(Platform::MacOs, "x.dylib"));
    }
}
