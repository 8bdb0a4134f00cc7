//! Processes that a plugin started and left running.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Makes orphans of workers children of this process, so that it can reap them; if the system cannot do this, the
/// init process reaps them.
pub(crate) fn adopt() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Reaps what was killed of a worker's process group: how many there were.
pub(crate) fn reap_group(group: Pid) -> usize {
    let mut killed = 0;
    loop {
        match waitid(WaitId::Pgid(Some(group)), WaitIdOptions::EXITED) {
            Ok(Some(status)) => killed += usize::from(status.killed()),
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return killed,
        }
    }
}

/// Kills and reaps all processes with this token that left the worker's process group: how many there were.
#[cfg(target_os = "linux")]
pub(crate) fn kill(token: &str) -> usize {
    kill_where(|pid| linux::has(pid, token))
}

#[cfg(target_os = "linux")]
fn kill_where(is_wanted: impl Fn(Pid) -> bool) -> usize {
    use rustix::process::{Signal, kill_process};

    let mut killed = 0;
    // Children of those that are killed come to us only then.
    loop {
        let strays: Vec<Pid> = linux::children().into_iter().filter(|pid| is_wanted(*pid)).collect();
        if strays.is_empty() {
            return killed;
        }
        for pid in strays {
            // One that cannot be killed, of another user, is not waited for.
            if kill_process(pid, Signal::KILL).is_err() {
                return killed;
            }
            while matches!(waitid(WaitId::Pid(pid), WaitIdOptions::EXITED), Err(rustix::io::Errno::INTR)) {}
            killed += 1;
        }
    }
}

/// Whether this process has no children, like a program that was just started. A program that replaced a shell has
/// the shell's children.
#[cfg(target_os = "linux")]
pub fn has_no_children() -> bool {
    linux::children().is_empty()
}

/// Kills and reaps all children of this process, and what becomes its child by that: how many there were.
///
/// For the end of a program that had no children when it began: the remaining children were started by plugins, cleared
/// the environment that would mark them, and were reparented to this process.
#[cfg(target_os = "linux")]
pub fn kill_children() -> usize {
    kill_where(|_| true)
}

/// Unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn has_no_children() -> bool {
    false
}

/// Not supported on this system: the original parent of a process cannot be determined.
#[cfg(not(target_os = "linux"))]
pub fn kill_children() -> usize {
    0
}

/// Not supported on this system: the original parent of a process cannot be determined.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill(_token: &str) -> usize {
    0
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use rustix::process::Pid;

    use crate::job::TOKEN;

    /// The children of all threads of this process.
    pub(super) fn children() -> Vec<Pid> {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        threads
            .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
            .flat_map(|list| list.split_ascii_whitespace().filter_map(pid).collect::<Vec<_>>())
            .collect()
    }

    /// Whether a process, or one that it was forked from, was started with this token.
    pub(super) fn has(pid: Pid, token: &str) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let wanted = format!("{TOKEN}={token}");
        environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    }

    fn pid(text: &str) -> Option<Pid> {
        Pid::from_raw(text.parse().ok()?)
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::job::TOKEN;

    #[test]
    fn a_process_that_left_the_group_is_known_by_its_token() {
        adopt();
        // Both in sessions of their own, and the second a child of the first.
        let leave = "setsid sh -c 'sleep 300 & wait' >/dev/null 2>&1 & setsid sleep 300 >/dev/null 2>&1 &";
        for token in ["one", "other"] {
            let status = Command::new("sh").args(["-c", leave]).env(TOKEN, token).status().unwrap();
            assert!(status.success());
        }
        // `setsid` and the inner shell take a moment to start what they start.
        let sleeps = |token| sleeping().into_iter().filter(|pid| linux::has(*pid, token)).count();
        while sleeps("one") + sleeps("other") < 4 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(kill("nobody"), 0);
        assert_eq!(kill("one"), 3);
        assert_eq!(kill("one"), 0);
        assert_eq!(kill("other"), 3);
    }

    fn sleeping() -> Vec<Pid> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| std::fs::read(entry.path().join("comm")).is_ok_and(|name| name == b"sleep\n"))
            .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
            .collect()
    }
}
