use std::fmt;
use std::io::Write;

/// Something that this machine lacks, so that a test cannot run here.
///
/// Making one says so on standard error (`SKIPPED <test>: ...`) and, if `NCZ_SKIP_LOG` names a file, adds the line
/// there for the summary of `tests/run`. Under CI nothing may be skipped: there, making one panics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// What is missing.
    pub what: String,
    /// Why it is not there.
    pub why: String,
    /// What to do so that the test runs.
    pub remedy: String,
}

impl Skip {
    /// Records that the running test is skipped.
    ///
    /// # Panics
    ///
    /// If the environment variable `CI` is set and neither empty nor `false`: there a test that cannot run has failed.
    #[must_use]
    pub fn new(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        let skip = Self { what: what.into(), why: why.into(), remedy: remedy.into() };
        skip.announce();
        skip
    }

    #[expect(clippy::panic, reason = "a test that CI cannot run must fail there")]
    fn announce(&self) {
        // libtest names the thread of a test after the test
        let thread = std::thread::current();
        let line = format!("SKIPPED {}: {self}\n", thread.name().unwrap_or("unnamed test"));
        if ci() {
            panic!("{line}under CI every test must run");
        }
        eprint!("{line}");
        if let Some(log) = std::env::var_os("NCZ_SKIP_LOG") {
            let written = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&log)
                .and_then(|mut file| file.write_all(line.as_bytes()));
            if let Err(error) = written {
                eprintln!("cannot write the skip log {}: {error}", log.display());
            }
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing: {} (remedy: {})", self.what, self.why, self.remedy)
    }
}

impl std::error::Error for Skip {}

fn ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false" && value != "0")
}
