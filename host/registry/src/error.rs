//! The errors of look-up in the registry.

use std::fmt;
use std::path::{Path, PathBuf};

use ncz_codec::Dialect;

use crate::search_path::{PATH_VARIABLE, SwitchedOff};

/// The codec that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// An HDF5 filter.
    Id(u32),
    /// A codec by its name in a dialect.
    Name(Dialect, String),
}

/// A library, one of its codecs, or a codec of the program itself that could have been used except for the given
/// reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// The file; none: the codec is built in or registered.
    pub path: Option<PathBuf>,
    /// The reason why it is not used.
    pub reason: String,
}

/// No codec for what was looked for. The message names the folders searched, what nearly served, and
/// the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NotFound(Box<Details>);

/// The details of [`NotFound`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Details {
    pub(crate) wanted: Wanted,
    /// Its registered name, if it has one.
    pub(crate) known_as: Option<&'static str>,
    /// A name of those there are, which may be meant.
    pub(crate) close: Option<String>,
    /// The searched folders, in order, each with its problem (empty: none).
    pub(crate) searched: Vec<(PathBuf, String)>,
    pub(crate) switched_off: Option<SwitchedOff>,
    pub(crate) near_misses: Vec<NearMiss>,
    pub(crate) remedy: String,
}

impl NotFound {
    pub(crate) fn new(details: Details) -> Self {
        Self(Box::new(details))
    }

    /// The codec that was looked for.
    pub fn wanted(&self) -> &Wanted {
        &self.0.wanted
    }

    /// The folders searched, in order.
    pub fn searched(&self) -> impl Iterator<Item = &Path> {
        self.0.searched.iter().map(|(path, _)| path.as_path())
    }

    /// The near matches.
    pub fn near_misses(&self) -> &[NearMiss] {
        &self.0.near_misses
    }

    /// The remedy, as a fragment; may be empty.
    pub fn remedy(&self) -> &str {
        &self.0.remedy
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "HDF5 filter {id}"),
            Self::Name(dialect, name) => write!(f, "{dialect} codec {name:?}"),
        }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = &*self.0;
        write!(f, "no codec for {}", missing.wanted)?;
        if let Some(name) = missing.known_as {
            write!(f, " ({name})")?;
        }
        if let Some(close) = &missing.close {
            write!(f, " (did you mean {close:?}?)")?;
        }
        let built_in = match missing.near_misses.iter().any(|near| near.path.is_none()) {
            true => "not usable as built in",
            false => "not built in",
        };
        match (missing.switched_off, missing.searched.is_empty()) {
            (Some(why), _) => write!(f, ": {built_in}, and {why}")?,
            (None, true) => write!(f, ": {built_in}, and {PATH_VARIABLE} names no folder to search")?,
            (None, false) => {
                write!(f, ": {built_in}, and not found in ")?;
                for (i, (path, fault)) in missing.searched.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", path.display())?;
                    if !fault.is_empty() {
                        write!(f, " (which {fault})")?;
                    }
                }
            }
        }
        for near in &missing.near_misses {
            match &near.path {
                Some(path) => write!(f, "; {}: {}", path.display(), near.reason)?,
                None => write!(f, "; {}", near.reason)?,
            }
        }
        if !missing.remedy.is_empty() {
            write!(f, "; {}", missing.remedy)?;
        }
        Ok(())
    }
}

/// An error with what it is due to, on one line.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_what_where_why_and_the_remedy() {
        let error = NotFound::new(Details {
            wanted: Wanted::Id(32_004),
            known_as: Some("LZ4"),
            close: None,
            searched: vec![("/a".into(), String::new()), ("/b".into(), "does not exist".into())],
            switched_off: None,
            near_misses: vec![NearMiss {
                path: Some("/a/libh5lz4.so".into()),
                reason: "refused: not a shared library".into(),
            }],
            remedy: "install x".into(),
        });
        assert_eq!(
            error.to_string(),
            "no codec for HDF5 filter 32004 (LZ4): not built in, and not found in /a, /b (which does not exist); \
             /a/libh5lz4.so: refused: not a shared library; install x"
        );
        let error = NotFound::new(Details {
            wanted: Wanted::Name(Dialect::ZarrV3, "pcodec".into()),
            known_as: None,
            close: Some("pcodecs".into()),
            searched: Vec::new(),
            switched_off: Some(SwitchedOff::Request),
            near_misses: Vec::new(),
            remedy: String::new(),
        });
        assert_eq!(
            error.to_string(),
            "no codec for Zarr v3 codec \"pcodec\" (did you mean \"pcodecs\"?): not built in, and plugins are switched off by request"
        );
    }
}
