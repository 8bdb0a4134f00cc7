//! One worker process, as its host sees it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use rustix::time::Timespec;

use super::MARK;
use super::channel::{Channel, Received};
use super::memory::Shared;
use super::message::{Reply, Request};
use super::worker_end::End;

/// Environment variables that change what plugins do, where they are searched for, or what is loaded with them.
const NOT_PASSED_ON: [&[u8]; 3] = [b"BLOSC_", b"HDF5_PLUGIN_", b"LD_PRELOAD"];
/// The number of bytes kept of a worker's output.
const PRINTED_MAX: usize = 4096;
/// The number of bytes of its last line that an error quotes.
const LINE_MAX: usize = 300;
/// The time limit for a worker to read a request.
const SENDING: Duration = Duration::from_secs(30);
/// The time limit for its process to end after it has closed the channel.
const ENDING: Duration = Duration::from_millis(500);
/// The time limit to end after it was killed. A process that takes longer hangs in the kernel.
const DYING: Duration = Duration::from_secs(5);
/// Between two looks at a call that lasts.
const TICK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// The limits of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
}

/// A worker. Dropping it kills its process and everything that the process has started.
pub(super) struct Process {
    child: Child,
    channel: Channel,
    pub(super) shared: Shared,
    printed: Printed,
    calls: u32,
    /// It was killed, and its number may belong to another process.
    is_over: bool,
    /// The process that started it: after a fork the copy must not touch the worker.
    owner: u32,
}

/// The end of what a worker has written to its standard error.
struct Printed {
    pipe: Option<io::PipeReader>,
    tail: Vec<u8>,
}

impl Process {
    /// Starts the program. Its first message identifies it as a worker.
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let shared = Shared::create()?;
        let (near, far) = UnixStream::pair()?;
        near.set_write_timeout(Some(SENDING))?;
        let (pipe, errors) = io::pipe()?;
        let mut command = Command::new(program);
        command.arg(MARK).stdin(OwnedFd::from(far)).stdout(shared.file()?).stderr(Stdio::from(errors));
        // Its own process group: terminal signals are for the host, and processes that a plugin starts end with
        // it. Another working folder: some plugins run scripts from it.
        command.process_group(0).current_dir("/");
        for (name, _) in std::env::vars_os() {
            if is_kept_back(&name) {
                command.env_remove(name);
            }
        }
        let child = command.spawn()?;
        let printed = Printed { pipe: Some(pipe), tail: Vec::new() };
        Ok(Self {
            child,
            channel: Channel::new(near),
            shared,
            printed,
            calls: 0,
            is_over: false,
            owner: std::process::id(),
        })
    }

    /// Hdf5Imports, and waits for the answer.
    pub(super) fn call(&mut self, request: &Request, limits: Limits) -> Result<Reply, End> {
        self.calls = self.calls.wrapping_add(1);
        if let Err(error) = self.channel.send(self.calls, &request.to_bytes()) {
            return Err(match error.kind() {
                io::ErrorKind::InvalidInput => End::System(error),
                _ => self.how_it_ended(),
            });
        }
        self.receive(limits)
    }

    /// The answer to the last request, or the greeting that comes before all requests.
    pub(super) fn receive(&mut self, limits: Limits) -> Result<Reply, End> {
        let begin = Instant::now();
        let cpu_before = cpu_time(&self.child).unwrap_or_default();
        let tick = (limits.cpu.min(limits.wall) / 10).clamp(TICK.0, TICK.1);
        let mut next_look = begin + tick;
        self.channel.linger();
        let mut received = self.channel.next();
        loop {
            match received {
                Received::Message(call, message) if call == self.calls => {
                    return Reply::from_bytes(&message).map_err(|_| End::Nonsense("an answer that is none"));
                }
                Received::Message(..) => return Err(End::Nonsense("an answer to another question")),
                Received::Nonsense => return Err(End::Nonsense("bytes that are not an answer")),
                Received::End => return Err(self.how_it_ended()),
                Received::Part => {}
            }
            let now = Instant::now();
            if now >= next_look {
                next_look = now + tick;
                if let Some(end) = self.limit_passed(limits, begin, cpu_before) {
                    return Err(end);
                }
            }
            received = self.wait(next_look.saturating_duration_since(now)).map_err(End::System)?;
        }
    }

    /// Whether it still waits for a request.
    pub(super) fn is_idle(&self) -> bool {
        self.channel.is_idle()
    }

    /// Whether this process started it, and not the one that this is a copy of.
    pub(super) fn is_ours(&self) -> bool {
        self.owner == std::process::id()
    }

    /// Ends it. What it printed last; empty if nothing.
    pub(super) fn last_words(&mut self) -> String {
        self.kill();
        self.printed.read_rest();
        let text = String::from_utf8_lossy(&self.printed.tail);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let line = line.replace(char::is_control, " ");
        line[..line.floor_char_boundary(LINE_MAX)].to_owned()
    }

    /// Waits for an answer or print, for so long.
    fn wait(&mut self, time: Duration) -> io::Result<Received> {
        let mut polled =
            [PollFd::new(&self.channel, PollFlags::IN), PollFd::new(&self.channel, PollFlags::empty())];
        let mut count = 1;
        if let Some(pipe) = &self.printed.pipe {
            polled[1] = PollFd::new(pipe, PollFlags::IN);
            count = 2;
        }
        match poll(&mut polled[..count], Timespec::try_from(time).ok().as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Received::Part),
            Err(error) => return Err(error.into()),
        }
        let (answered, printed) = (!polled[0].revents().is_empty(), !polled[1].revents().is_empty());
        if count == 2 && printed {
            self.printed.read();
        }
        if answered { self.channel.read().or_else(gone) } else { Ok(Received::Part) }
    }

    /// Returns the limit that the call has exceeded, if any, or the end of the process if the channel does not show
    /// it: a process that the plugin has started can hold the channel open.
    fn limit_passed(&mut self, limits: Limits, begin: Instant, cpu_before: Duration) -> Option<End> {
        if !self.runs() {
            return Some(self.status());
        }
        let used = cpu_time(&self.child).unwrap_or_default().saturating_sub(cpu_before);
        if used > limits.cpu {
            Some(End::CpuTime(limits.cpu))
        } else {
            (begin.elapsed() > limits.wall).then_some(End::WallTime(limits.wall))
        }
    }

    /// Why nothing more comes through the channel.
    fn how_it_ended(&mut self) -> End {
        let begin = Instant::now();
        while self.runs() {
            if begin.elapsed() > ENDING {
                return End::Silent;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.status()
    }

    /// Tests whether the process runs. If it has ended, it is not reaped yet, so that its number is not reused.
    fn runs(&self) -> bool {
        matches!(self.look(), Ok(None))
    }

    /// Whether the process has ended; an error if this program ignores the ends of its children.
    fn look(&self) -> rustix::io::Result<Option<()>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), options).map(|status| status.map(drop))
    }

    /// Returns how the process, which has ended, ended.
    fn status(&mut self) -> End {
        self.kill().map_or(End::Unknown, End::Status)
    }

    /// Ends the process and all of its group. How it ended, if that is known.
    fn kill(&mut self) -> Option<ExitStatus> {
        if self.is_over {
            return self.child.try_wait().ok().flatten();
        }
        self.is_over = true;
        // Until it is reaped, the numbers of the process and of its group are not reused.
        if self.look().is_ok() {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.kill();
        }
        let begin = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if begin.elapsed() < DYING => std::thread::sleep(Duration::from_millis(1)),
                status => return status.ok().flatten(),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_ours() {
            self.kill();
        }
    }
}

impl Printed {
    /// Reads the output available now. A process that has left the worker's group could write without end.
    fn read_rest(&mut self) {
        let rest = self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
        for _ in 0..rest.unwrap_or_default().div_ceil(PRINTED_MAX as u64) {
            if self.is_ready() {
                self.read();
            }
        }
    }

    fn is_ready(&self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut polled = [PollFd::new(pipe, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Reads once; something must be there.
    fn read(&mut self) {
        let mut bytes = [0; PRINTED_MAX];
        match self.pipe.as_mut().map(|pipe| pipe.read(&mut bytes)) {
            Some(Ok(len @ 1..)) => {
                self.tail.extend(&bytes[..len]);
                let extra = self.tail.len().saturating_sub(PRINTED_MAX);
                self.tail.drain(..extra);
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => self.pipe = None,
        }
    }
}

/// A connection that is reset has ended.
fn gone(error: io::Error) -> io::Result<Received> {
    match error.kind() {
        io::ErrorKind::ConnectionReset => Ok(Received::End),
        _ => Err(error),
    }
}

fn is_kept_back(name: &OsStr) -> bool {
    NOT_PASSED_ON.iter().any(|start| name.as_bytes().starts_with(start))
}

/// The processor time that a process has used.
fn cpu_time(child: &Child) -> Option<Duration> {
    let mut clock = 0;
    // SAFETY: the function writes to the pointer that it gets.
    let failed = unsafe { libc::clock_getcpuclockid(child.id().cast_signed(), &raw mut clock) };
    if failed != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (failed == 0).then(|| Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_steer_plugins_are_kept_back() {
        for name in ["BLOSC_TYPESIZE", "HDF5_PLUGIN_PATH", "LD_PRELOAD"] {
            assert!(is_kept_back(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "LD_LIBRARY_PATH", "HDF5_USE_FILE_LOCKING"] {
            assert!(!is_kept_back(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn processor_time_of_a_child_is_known() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let time = cpu_time(&child).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(time > Duration::ZERO);
        assert_eq!(cpu_time(&child), None);
    }
}
