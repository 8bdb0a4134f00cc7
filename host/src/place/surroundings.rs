//! What the environment and the user's files say; in tests it says what the test wants.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A longer file is no configuration.
const MOST: u64 = 1 << 20;

/// Environment variables and files.
pub(super) trait Surroundings {
    /// A variable of the environment; one that is empty counts as none.
    fn variable(&self, name: &str) -> Option<String>;

    /// The content of a file; `None` if there is none.
    fn file(&self, path: &Path) -> io::Result<Option<String>>;

    /// The user's own folder.
    fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").or_else(|| self.variable("USERPROFILE")).map(PathBuf::from)
    }
}

/// This process.
pub(super) struct Process;

impl Surroundings for Process {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn file(&self, path: &Path) -> io::Result<Option<String>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text)?;
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }
}

#[cfg(test)]
pub(super) mod testing {
    use std::collections::BTreeMap;

    use super::*;

    /// Variables and files of a test.
    #[derive(Debug, Default)]
    pub(in crate::place) struct Fake {
        variables: BTreeMap<String, String>,
        files: BTreeMap<PathBuf, String>,
    }

    impl Fake {
        pub(in crate::place) fn new() -> Self {
            Self::default().with("HOME", "/home/me")
        }

        pub(in crate::place) fn with(mut self, name: &str, value: &str) -> Self {
            self.variables.insert(name.to_owned(), value.to_owned());
            self
        }

        pub(in crate::place) fn file(mut self, path: &str, text: &str) -> Self {
            self.files.insert(PathBuf::from(path), text.to_owned());
            self
        }
    }

    impl Surroundings for Fake {
        fn variable(&self, name: &str) -> Option<String> {
            self.variables.get(name).filter(|value| !value.is_empty()).cloned()
        }

        fn file(&self, path: &Path) -> io::Result<Option<String>> {
            Ok(self.files.get(path).cloned())
        }
    }
}
