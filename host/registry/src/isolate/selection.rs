//! The selection of libraries to isolate.

use std::convert::Infallible;
use std::fmt;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::str::FromStr;

use crate::report::{Report, Verdict};

/// The libraries that run in worker processes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Which {
    /// None.
    #[default]
    None,
    /// Every one that is used by its C faces.
    Foreign,
    /// The listed ones. A filter id is known only when a library is open, so if the list has ids, every library that is
    /// used through its C faces is opened in a worker first.
    Only(Vec<Selected>),
}

/// A library, as a user names it: `32024`, `libh5sz3.so` or `/opt/plugins/libh5sz3.so`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Selected {
    /// Whichever offers this HDF5 filter, or a codec for it.
    Id(u32),
    /// Whichever has this file name.
    Name(String),
    /// The file.
    Path(PathBuf),
}

impl Selected {
    /// The number, if it is one.
    pub(crate) fn id(&self) -> Option<u32> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Name(_) | Self::Path(_) => None,
        }
    }

    /// Whether something of a report is meant, and isolated therefore.
    pub(crate) fn is_found_in(&self, report: &Report) -> bool {
        let mut isolated = report.files().filter(|file| file.isolated || file.verdict == Verdict::Refused);
        match self {
            Self::Id(id) => isolated.any(|file| file.offers.iter().any(|offer| offer.id == Some(*id))),
            Self::Name(_) | Self::Path(_) => isolated.any(|file| self.is_file(&file.path)),
        }
    }

    /// Whether the file is meant by its name or path.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        match self {
            Self::Id(_) => false,
            Self::Name(name) => path.file_name().is_some_and(|file| file == name.as_str()),
            Self::Path(wanted) => {
                let real = |path: &Path| path.canonicalize().ok();
                path == wanted || real(wanted).is_some_and(|wanted| real(path) == Some(wanted))
            }
        }
    }
}

impl FromStr for Selected {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.parse() {
            Ok(id) => Self::Id(id),
            Err(_) if text.contains(MAIN_SEPARATOR) => Self::Path(text.into()),
            Err(_) => Self::Name(text.to_owned()),
        })
    }
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Name(name) => f.write_str(name),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_named_by_number_file_name_or_path() {
        let selected = |text: &str| text.parse::<Selected>().unwrap();
        assert_eq!(selected("32024"), Selected::Id(32_024));
        assert_eq!(selected("libh5sz3.so"), Selected::Name("libh5sz3.so".to_owned()));
        assert_eq!(selected("./libh5sz3.so"), Selected::Path("./libh5sz3.so".into()));
        assert!(selected("libh5sz3.so").is_file(Path::new("/a/libh5sz3.so")));
        assert!(!selected("libh5sz.so").is_file(Path::new("/a/libh5sz3.so")));
        assert!(selected("/a/libh5sz3.so").is_file(Path::new("/a/libh5sz3.so")));
        assert!(!selected("/b/libh5sz3.so").is_file(Path::new("/a/libh5sz3.so")));
        assert!(!selected("3").is_file(Path::new("/a/3")));
    }
}
