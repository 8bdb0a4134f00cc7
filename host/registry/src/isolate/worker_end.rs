//! Describes how a worker ended.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a worker can no longer be used.
#[derive(Debug)]
pub(super) enum End {
    /// Its process ended.
    Status(ExitStatus),
    /// The way it ended is unknown: this process ignores SIGCHLD.
    Unknown,
    /// It took more processor time than a call may, and was killed.
    CpuTime(Duration),
    /// It took longer than a call may, and was killed.
    WallTime(Duration),
    /// It is alive and does not talk any more.
    Silent,
    /// It sent an invalid message.
    Nonsense(&'static str),
    /// The system refused something on this side.
    System(io::Error),
}

impl End {
    /// A number for the error: the exit status as a shell reports it, or -1.
    pub(super) fn code(&self) -> i64 {
        match self {
            Self::Status(status) => {
                let signal = status.signal().map(|signal| 128 + i64::from(signal));
                signal.or(status.code().map(i64::from)).unwrap_or(-1)
            }
            _ => -1,
        }
    }

    /// The same of a process in which something was done with a library as a test.
    pub(super) fn of_test(&self, doing: &str) -> String {
        let with = match self {
            Self::Status(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => match signal_name(signal) {
                    Some((name, _)) => Some(name.to_owned()),
                    None => Some(format!("signal {signal}")),
                },
                (None, code) => code.map(|code| format!("exit status {code}")),
            },
            _ => None,
        };
        match with {
            Some(with) => format!("{doing} it ended a test process with {with}"),
            None => format!("{doing} it in a test process failed: {self}"),
        }
    }

    /// Returns the remedy.
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Status(status) if status.signal() == Some(libc::SIGKILL) => {
                "the system may be out of memory; try again with fewer workers"
            }
            Self::Status(_) | Self::Nonsense(_) | Self::Silent | Self::Unknown => {
                "the bytes are damaged, it needs more memory than its limit, or the library has a fault; \
                 try another library of the same filter"
            }
            Self::CpuTime(_) | Self::WallTime(_) => {
                "the bytes are damaged or the library has a fault; if neither, set a higher limit"
            }
            Self::System(_) => "nothing is wrong with the library",
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => match signal_name(signal) {
                    Some((name, what)) => write!(f, "it was ended by {name}, {what}"),
                    None => write!(f, "it was ended by signal {signal}"),
                },
                (None, Some(code)) => write!(f, "it ended its process with exit status {code}"),
                (None, None) => write!(f, "its process ended ({status})"),
            },
            Self::Unknown => {
                f.write_str("its process ended; how is not known, as this program ignores SIGCHLD")
            }
            Self::CpuTime(limit) => write!(f, "it took more than {limit:?} of processor time and was killed"),
            Self::WallTime(limit) => write!(f, "it was not done after {limit:?} and was killed"),
            Self::Silent => f.write_str("it closed the channel of its worker"),
            Self::Nonsense(what) => write!(f, "its worker gave {what}"),
            Self::System(error) => write!(f, "the system refuses: {error}"),
        }
    }
}

/// The name of a signal, and what sends it.
fn signal_name(signal: i32) -> Option<(&'static str, &'static str)> {
    Some(match signal {
        libc::SIGSEGV => ("SIGSEGV", "a bad memory access"),
        libc::SIGBUS => ("SIGBUS", "a bad memory access"),
        libc::SIGABRT => ("SIGABRT", "as abort() and the C library's checks send"),
        libc::SIGFPE => ("SIGFPE", "a bad division"),
        libc::SIGILL => ("SIGILL", "a bad instruction"),
        libc::SIGTRAP => ("SIGTRAP", "a trap"),
        libc::SIGSYS => ("SIGSYS", "a system call that is not allowed"),
        libc::SIGPIPE => ("SIGPIPE", "a pipe without a reader"),
        libc::SIGXCPU => ("SIGXCPU", "a limit on processor time"),
        libc::SIGXFSZ => ("SIGXFSZ", "a limit on the length of files"),
        libc::SIGKILL => ("SIGKILL", "which somebody else sent"),
        libc::SIGTERM => ("SIGTERM", "which somebody else sent"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_described_in_words() {
        let text = |status| End::Status(ExitStatus::from_raw(status)).to_string();
        assert_eq!(text(libc::SIGSEGV), "it was ended by SIGSEGV, a bad memory access");
        assert_eq!(text(64), "it was ended by signal 64");
        let test = |status| End::Status(ExitStatus::from_raw(status)).of_test("opening");
        assert_eq!(test(libc::SIGBUS), "opening it ended a test process with SIGBUS");
        assert_eq!(test(3 << 8), "opening it ended a test process with exit status 3");
        assert!(End::Silent.of_test("opening").ends_with("failed: it closed the channel of its worker"));
        assert_eq!(text(0), "it ended its process with exit status 0");
        assert_eq!(End::Status(ExitStatus::from_raw(libc::SIGSEGV)).code(), 139);
        assert_eq!(
            End::CpuTime(Duration::from_secs(60)).to_string(),
            "it took more than 60s of processor time and was killed"
        );
    }
}
