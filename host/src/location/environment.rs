//! Environment variables and configuration files of the user; in tests, those of the test.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longer files are cut off here: they are not configuration files.
const MAX_LEN: u64 = 1 << 20;

/// Environment variables and files.
pub(super) trait Environment {
    /// An environment variable; `None` if it is unset or empty.
    fn variable(&self, name: &str) -> Option<String>;

    /// The content of a file; `None` if there is none.
    fn file(&self, path: &Path) -> io::Result<Option<String>>;

    /// The home folder of the user.
    fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").or_else(|| self.variable("USERPROFILE")).map(PathBuf::from)
    }
}

/// The environment of this process.
pub(super) struct Process;

impl Environment for Process {
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
        file.take(MAX_LEN).read_to_end(&mut text)?;
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }
}

#[cfg(test)]
pub(super) mod testing {
    use std::collections::BTreeMap;

    use super::*;

    /// Variables and files of a test.
    #[derive(Debug, Default)]
    pub(in crate::location) struct Fake {
        variables: BTreeMap<String, String>,
        files: BTreeMap<PathBuf, String>,
    }

    impl Fake {
        pub(in crate::location) fn new() -> Self {
            Self::default().with("HOME", "/home/me")
        }

        pub(in crate::location) fn with(mut self, name: &str, value: &str) -> Self {
            self.variables.insert(name.to_owned(), value.to_owned());
            self
        }

        pub(in crate::location) fn file(mut self, path: &str, text: &str) -> Self {
            self.files.insert(PathBuf::from(path), text.to_owned());
            self
        }
    }

    impl Environment for Fake {
        fn variable(&self, name: &str) -> Option<String> {
            self.variables.get(name).filter(|value| !value.is_empty()).cloned()
        }

        fn file(&self, path: &Path) -> io::Result<Option<String>> {
            Ok(self.files.get(path).cloned())
        }
    }
}
