//! A check: one rule that plugins keep.

use std::fmt;
use std::str::FromStr;

use crate::outcome::Ending;
use crate::trial::Trial;

/// One rule, and the function that looks whether it is kept.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its public name, `group.rule`. Never reused for another rule.
    pub id: &'static str,
    /// The lowest level at which it runs, 1 to 10.
    pub level: u8,
    /// What it is run on.
    pub scope: Scope,
    /// The rule, one sentence without a full stop.
    pub about: &'static str,
    /// Looks.
    pub run: fn(&mut Trial) -> Result<(), Ending>,
}

/// What a check is run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Once for the file, which is not opened for it.
    File,
    /// Once for the opened library.
    Library,
    /// For each HDF5 filter and each native codec.
    Coding,
    /// For each HDF5 filter.
    Hdf5,
    /// For each NCZarr codec.
    Codec,
    /// For each native codec.
    Native,
    /// For each NCZarr codec and each native codec.
    Json,
    /// For each HDF5 filter, NCZarr codec and native codec.
    Each,
}

/// A part of a library, as reports and the command line name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// The library as a whole: `library`.
    Library,
    /// Its HDF5 filter: `hdf5:32015`.
    Hdf5(u32),
    /// An NCZarr codec of that name: `nczarr:zstd`.
    Codec(String),
    /// A native codec of that name: `native:zstd`.
    Native(String),
}

impl Check {
    /// The part of the id before the dot.
    pub fn group(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(group, _)| group)
    }
}

impl Scope {
    /// Its name in lists.
    pub const fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Library => "library",
            Self::Coding => "hdf5, native",
            Self::Hdf5 => "hdf5",
            Self::Codec => "nczarr",
            Self::Native => "native",
            Self::Json => "nczarr, native",
            Self::Each => "each",
        }
    }

    /// Whether a check of this scope runs on the target.
    pub fn has(self, target: &Target) -> bool {
        match target {
            Target::Library => matches!(self, Self::File | Self::Library),
            Target::Hdf5(_) => matches!(self, Self::Coding | Self::Hdf5 | Self::Each),
            Target::Codec(_) => matches!(self, Self::Codec | Self::Json | Self::Each),
            Target::Native(_) => matches!(self, Self::Coding | Self::Native | Self::Json | Self::Each),
        }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("id", &self.id).field("level", &self.level).finish_non_exhaustive()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library => f.pad("library"),
            Self::Hdf5(id) => f.pad(&format!("hdf5:{id}")),
            Self::Codec(name) => f.pad(&format!("nczarr:{name}")),
            Self::Native(name) => f.pad(&format!("native:{name}")),
        }
    }
}

/// A text that names no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no part of a library; try library, hdf5:32015, nczarr:zstd or native:zstd")]
pub struct BadTarget(String);

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let bad = || BadTarget(text.to_owned());
        match text.split_once(':') {
            None if text == "library" => Ok(Self::Library),
            Some(("hdf5", id)) => id.parse().map(Self::Hdf5).map_err(|_| bad()),
            Some(("nczarr", name)) => Ok(Self::Codec(name.to_owned())),
            Some(("native", name)) => Ok(Self::Native(name.to_owned())),
            _ => Err(bad()),
        }
    }
}
