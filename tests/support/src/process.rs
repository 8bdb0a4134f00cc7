use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Error;

/// What a program printed, and how it ended.
#[derive(Clone)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

impl fmt::Debug for Output {
    /// The streams as text: this is what a failed test shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.status, self.text())
    }
}

impl Output {
    /// Standard output as text; bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Both streams as text, with headings, for an error message.
    #[must_use]
    pub fn text(&self) -> String {
        printed(&self.stdout, &self.stderr)
    }

    /// This output, or an error with all that was printed if the status is not 0.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] for any other status than 0, a signal included.
    pub fn success(self, program: &str) -> Result<Self, Error> {
        if self.status.success() {
            return Ok(self);
        }
        Err(Error::Failed { program: program.to_owned(), output: Box::new(self) })
    }
}

/// Runs a command to its end with both streams kept, whatever its status. Its standard input is empty.
///
/// # Errors
///
/// [`Error::Start`] if it cannot be started, [`Error::TimedOut`] if it ran past `limit` and was killed, and
/// [`Error::Io`] if there is no temporary file for its streams.
pub fn run(command: &mut Command, limit: Duration) -> Result<Output, Error> {
    let name = describe(command);
    // files instead of pipes: no reader threads, and no deadlock when a grandchild keeps a pipe open
    let mut stdout = temporary()?;
    let mut stderr = temporary()?;
    let start_error = |source| Error::Start { program: name.clone(), source };
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone().map_err(start_error)?)
        .stderr(stderr.try_clone().map_err(start_error)?);
    let mut child = command.spawn().map_err(start_error)?;
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(start_error)? {
            break status;
        }
        if start.elapsed() >= limit {
            child.kill().and_then(|()| child.wait()).map_err(start_error)?;
            let printed = printed(&contents(&mut stdout)?, &contents(&mut stderr)?);
            return Err(Error::TimedOut { program: name, limit, printed });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    Ok(Output { status, stdout: contents(&mut stdout)?, stderr: contents(&mut stderr)? })
}

pub(crate) fn describe(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        text.push(' ');
        text.push_str(if argument.contains('\n') { "<code>" } else { &argument });
    }
    text
}

fn temporary() -> Result<File, Error> {
    tempfile::tempfile().map_err(Error::io(&std::env::temp_dir()))
}

fn contents(file: &mut File) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(Error::io(&std::env::temp_dir()))?;
    Ok(bytes)
}

fn printed(stdout: &[u8], stderr: &[u8]) -> String {
    let mut text = String::new();
    for (heading, bytes) in [("standard output", stdout), ("standard error", stderr)] {
        if !bytes.is_empty() {
            text.push_str(&format!("--- {heading} ---\n{}\n", String::from_utf8_lossy(bytes).trim_end()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(code: &str, limit: Duration) -> Result<Output, Error> {
        run(Command::new("sh").arg("-c").arg(code), limit)
    }

    #[test]
    fn a_failure_carries_both_streams() {
        let output = shell("echo made; echo wrong >&2; exit 3", Duration::from_secs(20)).unwrap();
        assert_eq!(output.status.code(), Some(3));
        let message = output.success("sh").unwrap_err().to_string();
        assert!(message.contains("made") && message.contains("wrong") && message.contains('3'), "{message}");
    }

    #[test]
    fn a_program_past_its_limit_is_killed() {
        let start = Instant::now();
        let error = shell("echo begun; exec sleep 60", Duration::from_millis(300)).unwrap_err();
        assert!(matches!(&error, Error::TimedOut { printed, .. } if printed.contains("begun")), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
