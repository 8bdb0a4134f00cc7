//! Step three, first part: reads the exports and needs of a file from its tables, without running it.
//!
//! Opening a library runs its constructors, so the tables decide which files are worth opening.
//! Files are not trusted: every offset and count is checked, every read is bounded.

mod elf;
mod hdf5_imports;
mod needed;
mod other;
mod read;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub use hdf5_imports::Hdf5Imports;
pub(crate) use hdf5_imports::REPLACES;
pub use needed::LibraryFinder;

use object::FileKind;
use serde::Serialize;

use crate::json_text;

/// The names that make a library a plugin.
pub mod names {
    /// The two names of an HDF5 filter plugin.
    pub const HDF5: [&str; 2] = ["H5PLget_plugin_type", "H5PLget_plugin_info"];
    /// The two names of the HDF5 filter in the proposal of 2021; the record is the same.
    pub const HDF5_DRAFT: [&str; 2] = ["H5Z_plugin_type", "H5Z_get_plugin_info"];
    /// The NCZarr codec.
    pub const CODEC: &str = "NCZ_get_codec_info";
    /// A name that occurs with [`CODEC`] only in the proposal of 2021, whose record differs.
    pub const CODEC_DRAFT: &str = "NCZ_codec_type";
    /// A list of NCZarr codecs for filters of other libraries.
    pub const CODEC_DEFAULTS: &str = "NCZ_codec_info_defaults";
    /// The root module of the native face, as `abi_stable` names it.
    pub const NATIVE_ROOT: &str = abi_stable::library::ROOT_MODULE_LOADER_NAME;
    /// The native face for languages other than Rust.
    pub const NATIVE_C: &str = "ncz_codec_plugin";
    /// Exported by HDF5 plugins that look libhdf5 up at a given path.
    pub const INIT_FILTER: &str = "init_filter";

    /// All of them.
    pub const ALL: [&str; 10] = [
        HDF5[0],
        HDF5[1],
        HDF5_DRAFT[0],
        HDF5_DRAFT[1],
        CODEC,
        CODEC_DRAFT,
        CODEC_DEFAULTS,
        NATIVE_ROOT,
        NATIVE_C,
        INIT_FILTER,
    ];
}

/// The kind of library that this program can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The file format.
    pub format: Format,
    /// The processor, as in `std::env::consts::ARCH`.
    pub architecture: &'static str,
    /// Whether the machine is big-endian.
    pub big_endian: bool,
}

/// A format of shared libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Linux and most Unix systems.
    Elf,
    /// macOS.
    MachO,
    /// Windows, whose libraries this program names and does not open.
    Pe,
}

/// The relevant exports of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    found: Vec<&'static str>,
}

/// A library that another one needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Its name, as written in the file.
    pub name: String,
    /// The path where the loader will find it; `None` if it will not.
    #[serde(serialize_with = "json_text::option_path")]
    pub found: Option<PathBuf>,
}

/// The contents of a library's tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The plugin names it exports.
    pub exports: Exports,
    /// The libraries it needs, in its order.
    pub needed: Vec<Needed>,
    /// The functions and variables of libhdf5 that it expects from elsewhere, sorted.
    pub undefined_h5: Vec<String>,
}

/// Why a file cannot be a plugin of this program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsuitable {
    /// It cannot be read.
    #[error("cannot be read")]
    Unreadable(#[from] io::Error),
    /// It is something else than a shared library.
    #[error("not a shared library: {0}")]
    NotALibrary(&'static str),
    /// It starts like a library, but its tables make no sense.
    #[error("damaged: {0}")]
    Damaged(&'static str),
    /// It is a library for another machine.
    #[error("built for another architecture: {found}; this program is {wanted}")]
    OtherMachine {
        /// The architecture of the file.
        found: String,
        /// The architecture of this program.
        wanted: String,
    },
    /// It exports none of the entry symbols of plugins. `lacking` names the other symbol of a pair
    /// of which it exports one.
    #[error("exports no plugin entry point{}", lacking_text(.lacking))]
    NoEntry {
        /// Entry symbols that are missing although their counterparts exist.
        lacking: Vec<&'static str>,
    },
}

impl Target {
    /// Returns the architecture of the running program.
    pub const fn host() -> Self {
        Self {
            format: if cfg!(target_vendor = "apple") { Format::MachO } else { Format::Elf },
            architecture: std::env::consts::ARCH,
            big_endian: cfg!(target_endian = "big"),
        }
    }
}

impl Exports {
    /// From the names that a library exports; others than the known are dropped.
    pub fn of<'a>(exported: impl IntoIterator<Item = &'a str>) -> Self {
        let mut found: Vec<_> = exported
            .into_iter()
            .filter_map(|name| names::ALL.iter().find(|known| **known == name).copied())
            .collect();
        found.sort_unstable_by_key(|name| names::ALL.iter().position(|known| known == name));
        found.dedup();
        Self { found }
    }

    /// The known names that are exported.
    pub fn names(&self) -> &[&'static str] {
        &self.found
    }

    /// Whether `name` is exported.
    pub fn has(&self, name: &str) -> bool {
        self.found.contains(&name)
    }

    /// Tests for an HDF5 filter, under the current or the draft names.
    pub fn has_hdf5(&self) -> bool {
        [names::HDF5, names::HDF5_DRAFT].iter().any(|pair| pair.iter().all(|name| self.has(name)))
    }

    /// Tests for an NCZarr codec with a supported record.
    pub fn has_codec(&self) -> bool {
        self.has(names::CODEC) && !self.has(names::CODEC_DRAFT)
    }

    /// Tests for an NCZarr codec with the record of the 2021 draft.
    pub fn has_draft_codec(&self) -> bool {
        self.has(names::CODEC) && self.has(names::CODEC_DRAFT)
    }

    /// Tests for a list of NCZarr codecs for other libraries' filters.
    pub fn has_codec_defaults(&self) -> bool {
        self.has(names::CODEC_DEFAULTS)
    }

    /// Tests for a native codec, by either entry symbol.
    pub fn has_native(&self) -> bool {
        self.has(names::NATIVE_ROOT) || self.has(names::NATIVE_C)
    }

    /// Whether anything makes this library a plugin.
    pub fn is_plugin(&self) -> bool {
        self.has_hdf5() || self.has(names::CODEC) || self.has_codec_defaults() || self.has_native()
    }

    /// Returns the entry symbols that are missing although their counterpart exists.
    fn lacking(&self) -> Vec<&'static str> {
        [names::HDF5, names::HDF5_DRAFT]
            .iter()
            .filter(|pair| pair.iter().filter(|name| self.has(name)).count() == 1)
            .flat_map(|pair| pair.iter().copied().filter(|name| !self.has(name)))
            .collect()
    }
}

impl Symbols {
    /// The needed libraries that the loader will not find.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().filter(|needed| needed.found.is_none()).map(|needed| needed.name.as_str())
    }
}

/// Reads the tables of the file at `path`, which is never run.
///
/// # Errors
/// The file cannot be a plugin of this program, with the reason.
pub fn inspect(path: &Path, finder: &mut LibraryFinder) -> Result<Symbols, Unsuitable> {
    inspect_for(path, finder, Target::host())
}

/// [`inspect`] for a program that is built for `target`.
///
/// # Errors
/// As there.
pub fn inspect_for(path: &Path, finder: &mut LibraryFinder, target: Target) -> Result<Symbols, Unsuitable> {
    tables(path, target)?.symbols(path, finder, target)
}

/// The libraries that the one at `path` needs, in its order; it need not be a plugin.
///
/// # Errors
/// The file is not a library for this machine, with the reason.
pub fn needed(path: &Path, finder: &mut LibraryFinder) -> Result<Vec<Needed>, Unsuitable> {
    Ok(tables(path, Target::host())?.find_needed(path, finder, Target::host()))
}

/// Reads the tables of the file at `path`, which need not be a plugin.
///
/// # Errors
/// The file is not a library for this machine, with the reason.
pub(crate) fn read_tables(path: &Path) -> Result<Tables, Unsuitable> {
    tables(path, Target::host())
}

fn tables(path: &Path, target: Target) -> Result<Tables, Unsuitable> {
    let (file, len) = open_regular(path)?;
    let cache = read::cache(file, len);
    let data = read::Bounded(&cache);
    let kind = match FileKind::parse(data) {
        Ok(kind) => kind,
        Err(_) => return Err(Unsuitable::NotALibrary(read::describe(data))),
    };
    match kind {
        FileKind::Elf32 => elf::read::<object::elf::FileHeader32<object::Endianness>>(data, target),
        FileKind::Elf64 => elf::read::<object::elf::FileHeader64<object::Endianness>>(data, target),
        kind => other::read(data, kind, target),
    }
}

/// The tables of a library, as the readers of all formats return them.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The exports of the file itself, without its dependencies.
    pub(crate) exports: Exports,
    needed: Vec<String>,
    /// Folders that the library names itself; searched before `LD_LIBRARY_PATH`.
    rpath: Vec<String>,
    /// The newer kind, which comes after it and switches the older kind off.
    runpath: Option<Vec<String>>,
    undefined_h5: Vec<String>,
}

impl Tables {
    /// Returns the tables of the library at `path`, if it is a plugin.
    pub(crate) fn symbols(
        self,
        path: &Path,
        finder: &mut LibraryFinder,
        target: Target,
    ) -> Result<Symbols, Unsuitable> {
        if !self.exports.is_plugin() {
            return Err(Unsuitable::NoEntry { lacking: self.exports.lacking() });
        }
        Ok(Symbols {
            needed: self.find_needed(path, finder, target),
            exports: self.exports,
            undefined_h5: self.undefined_h5,
        })
    }

    /// Returns the needed libraries that the one at `path` finds in folders relative to its own path (`$ORIGIN`).
    pub(crate) fn beside(&self, path: &Path) -> Vec<PathBuf> {
        needed::beside(&self.needed, self.runpath.as_deref().unwrap_or(&self.rpath), path)
    }

    /// The needed libraries of the library at `path`, whose tables these are.
    fn find_needed(&self, path: &Path, finder: &mut LibraryFinder, target: Target) -> Vec<Needed> {
        let search = needed::Search { library: path, rpath: &self.rpath, runpath: self.runpath.as_deref() };
        self.needed
            .iter()
            .map(|name| Needed { found: finder.find(name, &search, target), name: name.clone() })
            .collect()
    }
}

impl Target {
    /// Refuses what is not built for this target.
    fn check(self, found: Self) -> Result<(), Unsuitable> {
        if found == self {
            return Ok(());
        }
        Err(Unsuitable::OtherMachine { found: found.to_string(), wanted: self.to_string() })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = match self.format {
            Format::Elf => "ELF",
            Format::MachO => "Mach-O",
            Format::Pe => "PE",
        };
        let order = if self.big_endian { ", big-endian" } else { "" };
        write!(f, "{format} for {}{order}", self.architecture)
    }
}

fn lacking_text(lacking: &[&str]) -> String {
    if lacking.is_empty() { String::new() } else { format!(" ({} is missing)", lacking.join(" and ")) }
}

/// Opens a file that is known to be regular without blocking: a pipe that replaced it since then would
/// block the scan forever.
fn open_regular(path: &Path) -> Result<(File, u64), Unsuitable> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Unsuitable::NotALibrary("not a regular file"));
    }
    Ok((file, metadata.len()))
}

#[cfg(test)]
pub(crate) mod tests;
