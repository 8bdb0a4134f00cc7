//! Finds the libraries that a plugin needs, as the system's loader will.
//!
//! This foretells what `dlopen` will do, so that the report can name what is missing before anything
//! is opened. It follows `ld.so(8)`: RPATH, `LD_LIBRARY_PATH`, RUNPATH, the cache, the default folders.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Format, Target};
use crate::search_path::Environment;

/// The index of libraries that `ldconfig` keeps.
const CACHE: &str = "/etc/ld.so.cache";

/// The most bytes of it that are read.
const CACHE_MOST: u64 = 16 << 20;

/// Finds libraries by name; keeps what it has read.
#[derive(Debug, Default)]
pub struct LibraryFinder {
    library_path: Vec<PathBuf>,
    cache_path: PathBuf,
    cache: Option<Vec<u8>>,
    known: HashMap<String, Option<PathBuf>>,
}

/// The search paths that a library adds for its dependencies.
pub(super) struct Search<'a> {
    pub(super) library: &'a Path,
    pub(super) rpath: &'a [String],
    pub(super) runpath: Option<&'a [String]>,
}

impl LibraryFinder {
    /// A finder that searches as the system's loader does in this process.
    pub fn system() -> Self {
        Self::of(&Environment::capture())
    }

    /// Makes a finder that searches as the system's loader does in a process with these facts: it
    /// ignores `LD_LIBRARY_PATH` if the process has more privileges than its caller.
    pub(crate) fn of(environment: &Environment) -> Self {
        let library_path = std::env::var_os("LD_LIBRARY_PATH").filter(|_| !environment.elevated);
        Self::new(library_path, CACHE)
    }

    /// A finder with a value of `LD_LIBRARY_PATH` and the index file to use.
    fn new(library_path: Option<OsString>, cache_path: &str) -> Self {
        let library_path = library_path.map(|value| std::env::split_paths(&value).collect());
        Self {
            library_path: library_path.unwrap_or_default(),
            cache_path: cache_path.into(),
            ..Self::default()
        }
    }

    /// Returns the path where `name` will be found for the library of `search`.
    pub(super) fn find(&mut self, name: &str, search: &Search<'_>, target: Target) -> Option<PathBuf> {
        if target.format != Format::Elf {
            return find_plain(name, search);
        }
        if name.contains('/') {
            return Some(PathBuf::from(expand(name, search.library))).filter(|path| path.is_file());
        }
        // RUNPATH switches RPATH off.
        let rpath = if search.runpath.is_some() { &[] } else { search.rpath };
        find_in(name, rpath, search.library)
            .or_else(|| self.library_path.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
            .or_else(|| find_in(name, search.runpath.unwrap_or_default(), search.library))
            .or_else(|| self.find_in_system(name))
    }

    fn find_in_system(&mut self, name: &str) -> Option<PathBuf> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let cache_path = &self.cache_path;
        let cache = self.cache.get_or_insert_with(|| read_bounded(cache_path).unwrap_or_default());
        let found = in_cache(cache, name).filter(|path| path.is_file()).or_else(|| {
            default_folders().iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
        });
        self.known.insert(name.to_owned(), found.clone());
        found
    }
}

/// macOS: full paths, `@`-paths and system libraries that exist in no file; only what can
/// be determined reliably is reported.
fn find_plain(name: &str, search: &Search<'_>) -> Option<PathBuf> {
    let folder = search.library.parent().unwrap_or(Path::new("."));
    let path = match name.strip_prefix("@loader_path/") {
        Some(rest) => folder.join(rest),
        None if name.starts_with('/') => PathBuf::from(name),
        None => folder.join(name.strip_prefix("@rpath/").unwrap_or(name)),
    };
    path.is_file().then_some(path)
}

/// Returns those of `names` that are in a folder relative to the library.
pub(super) fn beside(names: &[String], folders: &[String], library: &Path) -> Vec<PathBuf> {
    let own: Vec<String> = folders.iter().filter(|folder| folder.contains("ORIGIN")).cloned().collect();
    names.iter().filter_map(|name| find_in(name, &own, library)).collect()
}

fn find_in(name: &str, folders: &[String], library: &Path) -> Option<PathBuf> {
    folders.iter().map(|folder| Path::new(&expand(folder, library)).join(name)).find(|path| path.is_file())
}

/// Replaces `$ORIGIN` and `$LIB`.
fn expand(text: &str, library: &Path) -> String {
    if !text.contains('$') {
        return text.to_owned();
    }
    // The loader takes the folder of the file as it was opened, without following the last link.
    let folder = library.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let origin = folder.to_string_lossy();
    let lib = if cfg!(target_pointer_width = "64") { "lib64" } else { "lib" };
    text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).replace("${LIB}", lib).replace("$LIB", lib)
}

fn default_folders() -> &'static [&'static str] {
    match std::env::consts::ARCH {
        "x86_64" => &[
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
            "/usr/local/lib",
        ],
        "aarch64" => &[
            "/lib/aarch64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
            "/usr/local/lib",
        ],
        _ => &["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"],
    }
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(CACHE_MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Looks `name` up in the index of the GNU loader (`glibc-ld.so.cache1.1`).
fn in_cache(cache: &[u8], name: &str) -> Option<PathBuf> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER: usize = 48;
    const ENTRY: usize = 24;
    // The flags of 64-bit libraries on machines where the flags include the word size.
    let wanted_flags = match std::env::consts::ARCH {
        "x86_64" => Some(0x0303),
        "aarch64" => Some(0x0a03),
        _ => None,
    };
    // The older format, if it is there, comes first.
    let start = if cache.starts_with(MAGIC) {
        0
    } else {
        cache.windows(MAGIC.len()).position(|window| window == MAGIC)?
    };
    let table = &cache[start..];
    let count = u32::from_ne_bytes(table.get(20..24)?.try_into().ok()?) as usize;
    let entries = table.get(HEADER..)?;
    for entry in entries.chunks_exact(ENTRY).take(count) {
        let word = |at: usize| entry[at..at + 4].try_into().map(u32::from_ne_bytes).unwrap_or(u32::MAX);
        if wanted_flags.is_some_and(|flags| flags != word(0) & 0xffff) {
            continue;
        }
        if text_at(table, word(4)).is_some_and(|key| key == name.as_bytes()) {
            return text_at(table, word(8)).map(path_of);
        }
    }
    None
}

fn text_at(table: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = table.get(offset as usize..)?;
    rest.iter().position(|&byte| byte == 0).map(|len| &rest[..len])
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}
