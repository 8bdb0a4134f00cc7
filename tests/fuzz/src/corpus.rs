//! Inputs that are kept: `corpus/<target>/`, one file each, its name a checksum of its content.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Case;

/// The current input, if requested. It remains if the process dies, for instance when the stack is exhausted, and is
/// then part of the corpus.
const RUNNING: &str = "running";

/// The folder of one target.
#[derive(Debug)]
pub struct Corpus(PathBuf);

impl Corpus {
    /// The corpus of a target in this repository.
    #[must_use]
    pub fn of(target: &str) -> Self {
        Self(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target))
    }

    /// All inputs with the names of their files, sorted by name.
    ///
    /// # Errors
    /// A file cannot be read, or is none of a case.
    pub fn cases(&self) -> io::Result<Vec<(String, Case)>> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut cases = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let case = Case::from_file(&fs::read(&path)?).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{} has no first line", path.display()))
            })?;
            cases.push((path.display().to_string(), case));
        }
        cases.sort();
        Ok(cases)
    }

    /// Keeps an input; gives its file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, case: &Case) -> io::Result<PathBuf> {
        let content = case.to_file();
        self.write(&format!("{:08x}", crc32c::crc32c(&content)), &content)
    }

    /// Notes the input that runs now.
    pub(crate) fn begin(&self, case: &Case) -> io::Result<()> {
        self.write(RUNNING, &case.to_file()).map(|_| ())
    }

    /// Nothing runs any more.
    pub(crate) fn end(&self) -> io::Result<()> {
        fs::remove_file(self.0.join(RUNNING))
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.0)?;
        let path = self.0.join(name);
        fs::write(&path, content)?;
        Ok(path)
    }
}
