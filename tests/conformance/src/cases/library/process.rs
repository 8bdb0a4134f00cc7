//! The process state that loading a library must not change.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use ncz_registry::load::probe;
#[cfg(unix)]
use rustix::process::Signal;

#[cfg(unix)]
use crate::signals;

/// The state of a process that a library must not change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    folder: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    locale: Option<String>,
    arithmetic: Vec<u64>,
    /// From `/proc`: umask, blocked signals, limits; none on systems without it.
    status: BTreeMap<&'static str, String>,
    #[cfg(unix)]
    dispositions: Vec<probe::Disposition>,
    files: BTreeMap<String, String>,
    threads: Option<String>,
}

/// The parts to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    /// All.
    All,
    /// All but open files and threads, which calls may need.
    ButFilesAndThreads,
}

impl State {
    /// The state now.
    pub(super) fn now() -> Self {
        let mut environment: Vec<_> = std::env::vars_os().collect();
        environment.sort();
        Self {
            folder: std::env::current_dir().ok(),
            environment,
            locale: probe::locale(),
            arithmetic: arithmetic(),
            status: status(),
            #[cfg(unix)]
            dispositions: probe::dispositions(),
            files: files(),
            threads: field("/proc/self/status", "Threads"),
        }
    }

    /// Returns the changes from this state to a later one, a fragment for each.
    pub(super) fn changes(&self, later: &Self, parts: Parts) -> Vec<String> {
        let mut changes = Vec::new();
        if self.folder != later.folder {
            let path = |folder: &Option<PathBuf>| {
                folder.as_ref().map_or("nowhere".into(), |path| path.display().to_string())
            };
            changes.push(format!(
                "the working folder is {}, was {}",
                path(&later.folder),
                path(&self.folder)
            ));
        }
        if self.environment != later.environment {
            changes.push(format!("the environment has another {}", self.changed_variables(later).join(", ")));
        }
        if self.locale != later.locale {
            let text = |locale: &Option<String>| locale.clone().unwrap_or_default();
            changes.push(format!("the locale is {}, was {}", text(&later.locale), text(&self.locale)));
        }
        if self.arithmetic != later.arithmetic {
            changes.push(format!("floating-point arithmetic is another: {}", later.arithmetic_in_words()));
        }
        for (name, before) in &self.status {
            let now = later.status.get(name).map_or("gone", String::as_str);
            if now != before {
                changes.push(format!("{name}: {now}, was {before}"));
            }
        }
        #[cfg(unix)]
        for (before, now) in self.dispositions.iter().zip(&later.dispositions) {
            if before != now {
                changes.push(format!("{} has another handler", signal_name(now.signal)));
            }
        }
        if parts == Parts::All {
            for (number, target) in &later.files {
                match self.files.get(number) {
                    None => changes.push(format!("file {number} is open, to {target}")),
                    Some(before) if before != target => {
                        changes.push(format!("file {number} is {target}, was {before}"));
                    }
                    Some(_) => {}
                }
            }
            changes.extend(
                self.files
                    .keys()
                    .filter(|number| !later.files.contains_key(*number))
                    .map(|number| format!("file {number} is closed")),
            );
            if let (Some(before), Some(now)) = (&self.threads, &later.threads)
                && before != now
            {
                changes.push(format!("the process has {now} threads, had {before}"));
            }
        }
        changes
    }

    fn changed_variables(&self, later: &Self) -> Vec<String> {
        let (before, now): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (self.environment.iter().cloned().collect(), later.environment.iter().cloned().collect());
        let mut names: Vec<String> = before
            .keys()
            .chain(now.keys())
            .filter(|name| before.get(*name) != now.get(*name))
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn arithmetic_in_words(&self) -> &'static str {
        match self.arithmetic[..] {
            [0, ..] | [_, 0, ..] => {
                "the smallest numbers are flushed to zero; do not link with -ffast-math or -Ofast"
            }
            _ => "another rounding",
        }
    }
}

/// A signal with its name, such as `SIGUSR1 (signal 10)`.
#[cfg(unix)]
fn signal_name(number: i32) -> String {
    let further = [
        (Signal::USR1, "SIGUSR1"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::CHILD, "SIGCHLD"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::CONT, "SIGCONT"),
        (Signal::WINCH, "SIGWINCH"),
    ];
    let known = further.into_iter().find(|(signal, _)| signal.as_raw() == number);
    let name = known.map_or_else(|| signals::name(number), |(_, name)| name.to_owned());
    // The usual meaning of a signal does not matter here.
    let name = name.split(',').next().unwrap_or_default();
    if name.starts_with("SIG") { format!("{name} (signal {number})") } else { name.to_owned() }
}

/// Results that depend on the modes of the floating-point unit.
fn arithmetic() -> Vec<u64> {
    let tiny = black_box(f64::MIN_POSITIVE);
    let (one, half_step) = (black_box(1.0_f64), black_box(f64::EPSILON / 2.0));
    [
        // A result, and an operand, too small for a full mantissa.
        tiny / black_box(4.0),
        black_box(f64::from_bits(1)) * one,
        // Halfway between two numbers, from both sides.
        one + half_step,
        -one - half_step,
        one + half_step * black_box(1.5),
    ]
    .map(f64::to_bits)
    .to_vec()
}

/// One line of a file of `/proc`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
}

fn status() -> BTreeMap<&'static str, String> {
    let mut found = BTreeMap::new();
    for (name, file, key) in [
        ("the umask", "/proc/self/status", "Umask"),
        ("the mask of blocked signals", "/proc/thread-self/status", "SigBlk"),
        ("the processors that it may use", "/proc/thread-self/status", "Cpus_allowed_list"),
    ] {
        found.extend(field(file, key).map(|value| (name, value)));
    }
    for line in fs::read_to_string("/proc/self/limits").unwrap_or_default().lines() {
        for (name, label) in LIMITS {
            if let Some(value) = line.strip_prefix(label) {
                found.insert(name, value.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    found
}

/// Limits that libraries are known to set.
const LIMITS: [(&str, &str); 5] = [
    ("the limit of the stack", "Max stack size"),
    ("the limit of core files", "Max core file size"),
    ("the limit of memory", "Max address space"),
    ("the limit of open files", "Max open files"),
    ("the limit of processor time", "Max cpu time"),
];

/// Returns the open files by number, with their targets.
fn files() -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return BTreeMap::new() };
    let own = "/proc/self/fd";
    let listed: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    // The listing itself was open for a while; its link is gone now.
    listed
        .into_iter()
        .filter_map(|number| {
            let target = fs::read_link(format!("{own}/{number}")).ok()?;
            Some((number, target.display().to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names() {
        assert!(signal_name(Signal::USR1.as_raw()).starts_with("SIGUSR1 (signal "));
        assert!(signal_name(Signal::SEGV.as_raw()).starts_with("SIGSEGV (signal "));
        assert_eq!(signal_name(60), "signal 60");
    }

    // One test: others of this process would open files and start threads meanwhile.
    #[test]
    fn changes_are_named_and_only_they() {
        let before = State::now();
        assert_eq!(before.changes(&before, Parts::All), Vec::<String>::new());
        let mut later = before.clone();
        later.environment.push(("OMP_NUM_THREADS".into(), "1".into()));
        later.locale = Some("de_DE.UTF-8".to_owned());
        later.arithmetic[0] = 0;
        later.files.insert("77".to_owned(), "/dev/urandom".to_owned());
        later.threads = Some("99".to_owned());
        let changes = later.clone().changes(&later, Parts::All);
        assert!(changes.is_empty());
        let changes = before.changes(&later, Parts::All).join("; ");
        for part in ["another OMP_NUM_THREADS", "de_DE", "-ffast-math", "file 77 is open", "99 threads"] {
            assert!(changes.contains(part), "{part}: {changes}");
        }
        assert_eq!(before.changes(&later, Parts::ButFilesAndThreads).len(), 3);
    }
}
