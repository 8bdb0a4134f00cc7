//! The outside of a worker: starts it, waits for it, and cleans up.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::error::Error;
use crate::job::{Answer, Job, TOKEN};
use crate::strays;

/// Variables with these beginnings change what libraries do; a check gets none of them.
const CLEANED: [&str; 4] = ["NCZ_", "BLOSC_", "HDF5_", "H5Z_"];
/// The length of a worker's output that is kept.
const TAIL: u64 = 4 << 10;

/// How a worker ended, and its remains.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(crate) answer: Option<Answer>,
    pub(crate) took: Duration,
    pub(crate) step: Option<String>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The number of other processes that it left running.
    pub(crate) strays: usize,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// With that exit code.
    Code(i32),
    /// By that signal.
    Signal(i32),
    /// It was killed because its time was over.
    TimeOut,
}

/// The shared state of all workers of a run.
#[derive(Debug)]
pub(crate) struct Workers<'a> {
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) timeout: Duration,
    pub(crate) stop: &'a AtomicBool,
}

impl Workers<'_> {
    /// Runs a job to its end. Nothing of it is left afterwards, neither process nor file.
    ///
    /// # Errors
    /// The system gives no process or no files, or the run was interrupted.
    pub(crate) fn run(&self, mut job: Job) -> Result<Ended, Error> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let token = format!(
            "{}-{}-{:x}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed),
            fastrand::u64(..)
        );
        job.folder = self.folder.join(&token);
        let temporary = |source| Error::Temporary { path: self.folder.clone(), source };
        fs::create_dir_all(job.work_folder()).map_err(temporary)?;
        let stdout = File::create_new(job.stdout_file()).map_err(temporary)?;
        let stderr = File::create_new(job.stderr_file()).map_err(temporary)?;
        let start_error = |source| Error::Start { program: self.program.clone(), source };
        let start = Instant::now();
        let variables = std::env::vars_os().map(|(name, _)| name);
        let mut child = command(&self.program, &job, &token, variables)
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(start_error)?;
        let how = self.wait(&child, start);
        let took = start.elapsed();
        let (status, strays) = bury(&mut child, &token).map_err(start_error)?;
        let answer = job.read();
        if answer.is_none() {
            // A disk without room for an answer is not the plugin's fault.
            let trial = self.folder.join(format!("{token}.trial"));
            fs::write(&trial, [0; 4096]).and_then(|()| fs::remove_file(&trial)).map_err(temporary)?;
        }
        let ended = Ended {
            how: match how {
                Some(how) => how,
                None => how_of(status),
            },
            answer,
            took,
            step: fs::read(job.step_file()).ok().and_then(|bytes| first_line(&bytes)),
            stdout: tail(&job.stdout_file()),
            stderr: tail(&job.stderr_file()),
            strays,
        };
        // Files that cannot be removed now are removed with the folder of the run.
        let _ = fs::remove_dir_all(&job.folder);
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(ended) }
    }

    /// Waits until the worker has ended; it is not reaped, so that its id stays its own. `TimeOut` if it still runs
    /// after its time limit, or when the run is to stop.
    fn wait(&self, child: &Child, start: Instant) -> Option<How> {
        let mut pause = Duration::from_micros(500);
        loop {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            match waitid(WaitId::Pid(pid(child)), options) {
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                // An error: somebody else reaps our children. There is nothing to wait for then.
                Ok(Some(_)) | Err(_) => return None,
            }
            let elapsed = start.elapsed();
            if elapsed > self.timeout || self.stop.load(Ordering::Relaxed) {
                return Some(How::TimeOut);
            }
            thread::sleep(pause);
            pause = (elapsed / 20).clamp(Duration::from_micros(500), Duration::from_millis(20));
        }
    }
}

/// The command that does a job, in its own process group.
fn command(program: &Path, job: &Job, token: &str, variables: impl IntoIterator<Item = OsString>) -> Command {
    let mut command = Command::new(program);
    command.args(job.arguments()).current_dir(job.work_folder()).stdin(Stdio::null()).process_group(0);
    for name in variables {
        if CLEANED.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
            command.env_remove(name);
        }
    }
    // Temporary files of a check or a plugin are removed with the job.
    command.env(TOKEN, token).env("TMPDIR", job.work_folder());
    // Blocks that glibc's malloc keeps for a thread count as in use, and would pass for a leak.
    let tunables = std::env::var_os("GLIBC_TUNABLES").filter(|tunables| !tunables.is_empty());
    let mut tunables = tunables.map_or_else(OsString::new, |mut tunables| {
        tunables.push(":");
        tunables
    });
    tunables.push("glibc.malloc.tcache_count=0");
    command.env("GLIBC_TUNABLES", tunables);
    command
}

/// Kills what is left of a worker and all that it started, and reaps it: its status, and how many others there were.
fn bury(child: &mut Child, token: &str) -> io::Result<(ExitStatus, usize)> {
    let group = pid(child);
    // The worker is not reaped yet, so that no other group can have this number; it may have left the group.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.kill();
    let status = child.wait()?;
    Ok((status, strays::reap_group(group) + strays::kill(token)))
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn how_of(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Code(code),
        (None, signal) => How::Signal(signal.unwrap_or_default()),
    }
}

fn first_line(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\n').next().filter(|line| !line.is_empty())?;
    Some(String::from_utf8_lossy(line).into_owned())
}

/// The end of a file of text.
fn tail(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // No file: the plugin removed it, and with it what it printed.
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Task;
    use crate::trial::Settings;

    #[test]
    fn the_end_of_long_output_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        assert_eq!(tail(&path), "");
        fs::write(&path, "x".repeat(10_000) + "end").unwrap();
        let kept = tail(&path);
        assert!(kept.len() == 4096 && kept.ends_with("xend"), "{}", kept.len());
    }

    #[test]
    fn a_step_is_the_first_line_of_its_file() {
        assert_eq!(first_line(b"new\nrest of an older one\n").as_deref(), Some("new"));
        assert_eq!(first_line(b""), None);
    }

    #[test]
    fn variables_that_change_what_libraries_do_are_not_passed_on() {
        let job = Job {
            folder: "/f".into(),
            library: "/l".into(),
            task: Task::Inspect,
            settings: Settings::default(),
        };
        let names = ["HDF5_PLUGIN_PATH", "BLOSC_NTHREADS", "NCZ_LOG", "PATH", "MY_HDF5_"];
        let command = command(Path::new("p"), &job, "t", names.map(Into::into));
        let changed: Vec<_> = command.get_envs().collect();
        let removed = |name: &str| changed.iter().any(|(key, value)| *key == name && value.is_none());
        assert_eq!(names.map(removed), [true, true, true, false, false]);
        assert!(changed.contains(&(TOKEN.as_ref(), Some("t".as_ref()))));
        assert_eq!(command.get_current_dir(), Some(Path::new("/f/work")));
    }
}
