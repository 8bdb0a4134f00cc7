//! `NCZ_LOG`: a line for each call, to debug a plugin inside a program that hides its errors.
//!
//! A line reports the request, the result, the time and the calling library:
//!
//! ```text
//! ncz: shuffle: encode flags=0x0 cd_values=[4] nbytes=2000 buf_size=2000 -> 2000 bytes, buf_size=2000 (8 us, called by /usr/lib/libhdf5.so.310)
//! ```
//!
//! Lengths, parameters and JSON are printed, but never the bytes of chunks.

use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::Instant;

use super::caller;
use super::fmt::cut;
use crate::error::CodecError;

/// The environment variable that names the [`Level`].
const VARIABLE: &str = "NCZ_LOG";
/// The environment variable that names a file to append to, in place of stderr.
const FILE_VARIABLE: &str = "NCZ_LOG_FILE";
/// The length in bytes at which a request or a result is cut. It keeps a line below the 4096 bytes that
/// a pipe takes in one piece, so that lines of several threads, plugins and processes do not mix.
const PART_MAX: usize = 1500;

/// Which calls are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Off,
    /// Only failing calls.
    Error,
    /// All calls.
    Trace,
}

/// The destination of the lines.
#[derive(Debug)]
struct Log {
    level: Level,
    /// `None` for stderr.
    file: Option<File>,
}

/// The log record of one call. Costs one comparison while nothing is printed.
#[derive(Debug)]
pub(super) struct Trace {
    codec: &'static str,
    text: Option<Text>,
}

#[derive(Debug)]
struct Text {
    start: Instant,
    given: String,
    answer: String,
}

impl Trace {
    /// Starts the record of a call of `codec`.
    pub(super) fn begin(codec: &'static str) -> Self {
        let is_on = log().level != Level::Off;
        let text = || Text { start: Instant::now(), given: String::new(), answer: String::new() };
        Self { codec, text: is_on.then(text) }
    }

    /// Sets the codec, if it becomes known only during the call.
    pub(super) fn of(&mut self, codec: &'static str) {
        self.codec = codec;
    }

    /// Appends to the request.
    pub(super) fn given(&mut self, given: fmt::Arguments<'_>) {
        if let Some(text) = &mut self.text {
            // Writing to a string does not fail.
            let _ = text.given.write_fmt(given);
        }
    }

    /// Appends to the result of a successful call.
    pub(super) fn answer(&mut self, answer: fmt::Arguments<'_>) {
        if let Some(text) = &mut self.text {
            let _ = text.answer.write_fmt(answer);
        }
    }

    /// Ends the call, with `error` if it failed.
    pub(super) fn end(self, call: &str, error: Option<&CodecError>) {
        let Some(text) = self.text else { return };
        let log = log();
        if log.level == Level::Error && error.is_none() {
            return;
        }
        let micros = text.start.elapsed().as_micros();
        let caller = caller::calling_name().unwrap_or_else(|| "an unknown library".to_owned());
        let space = if text.given.is_empty() { "" } else { " " };
        let mut line = format!("ncz: {}: {call}{space}{} -> ", self.codec, cut(&text.given, PART_MAX));
        let _ = match error {
            Some(error) => write!(line, "failed: {}", cut(&error.to_string(), PART_MAX)),
            None => write!(line, "{}", cut(&text.answer, PART_MAX)),
        };
        let _ = write!(line, " ({micros} us, called by {})", cut(&caller, PART_MAX / 3));
        log.line(&line);
    }
}

impl Log {
    /// Reads the level from the environment.
    fn of(level: Option<&OsStr>, file: Option<&OsStr>) -> Self {
        let named = level.map(OsStr::to_string_lossy).unwrap_or_default();
        let level = Level::named(&named);
        let mut log = Self { level: level.unwrap_or(Level::Error), file: None };
        if let Some(path) = file.filter(|path| !path.is_empty() && log.level != Level::Off) {
            match OpenOptions::new().append(true).create(true).open(path) {
                Ok(file) => log.file = Some(file),
                Err(error) => log.line(&format!(
                    "ncz: {FILE_VARIABLE}={path:?} cannot be used, lines go to stderr: {error}"
                )),
            }
        }
        if level.is_none() {
            let choices = "error (or 1), trace (or 2) or off (or 0)";
            log.line(&format!("ncz: {VARIABLE}={named:?} is interpreted as error; it can be {choices}"));
        }
        log
    }

    /// Writes a line in one piece. A closed stderr or a full disk is not an error.
    fn line(&self, text: &str) {
        let line = format!("{text}\n");
        let _ = match &self.file {
            Some(file) => {
                let mut file = file;
                file.write_all(line.as_bytes())
            }
            None => std::io::stderr().write_all(line.as_bytes()),
        };
    }
}

impl Level {
    fn named(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "0" | "off" => Some(Self::Off),
            "1" | "error" => Some(Self::Error),
            "2" | "trace" => Some(Self::Trace),
            _ => None,
        }
    }
}

/// The settings, as the environment had them at the first call.
fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let variable = std::env::var_os(VARIABLE);
        // A program with more privileges than its user must not write to a file that the user chooses.
        let file = std::env::var_os(FILE_VARIABLE).filter(|_| !is_privileged());
        Log::of(variable.as_deref(), file.as_deref())
    })
}

/// Tests whether the program runs with other privileges than the user who started it.
fn is_privileged() -> bool {
    // SAFETY: these four always succeed and touch no memory.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_level_shows_failures_and_is_reported_with_the_lines() {
        for (name, level) in [
            ("", Some(Level::Off)),
            ("0", Some(Level::Off)),
            ("1", Some(Level::Error)),
            ("Error", Some(Level::Error)),
            ("trace ", Some(Level::Trace)),
            ("2", Some(Level::Trace)),
            ("3", None),
            ("debug", None),
        ] {
            assert_eq!(Level::named(name), level, "{name:?}");
        }
        let path = std::env::temp_dir().join(format!("ncz-codec-log-{}", std::process::id()));
        let log = Log::of(Some(OsStr::new("loud\n")), Some(path.as_os_str()));
        let printed = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(log.level, Level::Error);
        let expected = "ncz: NCZ_LOG=\"loud\\n\" is interpreted as error; it can be error (or 1), trace (or 2) or off (or 0)\n";
        assert_eq!(printed, expected);
        assert!(Log::of(Some(OsStr::new("2")), Some(OsStr::new("/no/such/folder/log"))).file.is_none());
        let off = Log::of(None, Some(path_that_is_not_made().as_os_str()));
        assert!(off.level == Level::Off && !path_that_is_not_made().exists());
    }

    fn path_that_is_not_made() -> std::path::PathBuf {
        std::env::temp_dir().join(format!("ncz-codec-no-log-{}", std::process::id()))
    }
}
