//! Observes a library's output to the process's standard output and error.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};

use ncz_registry::load::probe;

/// The length of a text in a message.
const SHOWN: usize = 120;

/// The lengths of the files of standard output and error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    output: u64,
    error: u64,
}

/// Returns the text written since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) output: Option<String>,
    pub(super) error: Option<String>,
}

impl Marks {
    /// The lengths now; `None` if output or error are not separate files.
    pub(super) fn now() -> Option<Self> {
        probe::flush_output();
        let [output, error] =
            [1, 2].map(|number| fs::metadata(place(number)).ok().filter(fs::Metadata::is_file));
        let (output, error) = (output?, error?);
        if is_same(&output, &error) {
            return None;
        }
        Some(Self { output: output.len(), error: error.len() })
    }

    /// Returns the text written since.
    pub(super) fn written(self) -> Written {
        let now = Self::now().unwrap_or(self);
        Written { output: text(1, self.output, now.output), error: text(2, self.error, now.error) }
    }
}

fn place(number: u32) -> String {
    format!("/proc/self/fd/{number}")
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}

/// The bytes between two marks, as a short text; nothing if there are none.
fn text(number: u32, from: u64, to: u64) -> Option<String> {
    let count = to.checked_sub(from).filter(|count| *count > 0)?;
    let mut bytes = Vec::new();
    let read = File::open(place(number)).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(SHOWN as u64).read_to_end(&mut bytes)
    });
    let shown = String::from_utf8_lossy(&bytes);
    let more = if count > SHOWN as u64 { " .." } else { "" };
    Some(match read {
        Ok(_) => format!("{count} bytes: {:?}{more}", shown.trim_end()),
        Err(_) => format!("{count} bytes"),
    })
}
