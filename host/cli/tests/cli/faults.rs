//! Each system call of a command fails once, or the process is killed there, by strace.
//!
//! An ordinary run takes a sample. `NCZ_FAULTS=all` takes all, which lasts some minutes, and prints the counts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ncz_test_support::{fixtures, program};

use crate::bench::{command, dump, ncz};

/// The calls that fail: all that concern files, without those of the loader before `main`.
const CALLS: [&str; 27] = [
    "openat",
    "read",
    "pread64",
    "preadv",
    "write",
    "pwrite64",
    "writev",
    "lseek",
    "copy_file_range",
    "ftruncate",
    "fsync",
    "fdatasync",
    "syncfs",
    "rename",
    "renameat",
    "renameat2",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "fchmod",
    "fchown",
    "newfstatat",
    "statx",
    "getdents64",
    "flock",
];

/// What each of them fails with; the last ends the process.
const FAULTS: [&str; 5] = ["error=EIO", "error=ENOSPC", "error=EMFILE", "error=EACCES", "signal=SIGKILL"];

/// How many faults an ordinary run tries.
const SAMPLE: usize = 200;

const CDL: &str = "netcdf d {
dimensions: t = UNLIMITED ; x = 4 ;
variables: int v(t, x) ; v:_FillValue = -1 ; v:_ChunkSizes = 1, 4 ; double t(t) ; t:units = \"days since 2000-01-01\" ;
data: v = 1, 2, 3, 4, 5, 6, 7, _ ; t = 0.5, 1.5 ;
group: g { variables: float w(x) ; string s(x) ; data: w = 1, 2, 3, 4 ; s = \"a\", \"b\", \"\", \"d\" ; }
}";

/// A command that changes something, and what has to be true after it.
struct Case {
    name: &'static str,
    /// Makes what the command needs, in an empty folder.
    prepare: fn(&Path),
    /// The command line; it runs in the folder.
    args: &'static [&'static str],
    /// What the command changes, in the folder.
    target: &'static str,
    after: After,
}

/// The files after a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// What was there before, or the whole result.
    OldOrNew,
    /// Anything that the same command finishes.
    Resumable,
}

const CASES: [Case; 14] = [
    Case {
        name: "copy",
        prepare: source,
        args: &["copy", "s.nczarr", "t.zarr", "--verify", "--codec", "zstd,1"],
        target: "t.zarr",
        after: After::OldOrNew,
    },
    Case {
        name: "overwrite",
        prepare: source_and_old,
        args: &["copy", "s.nczarr", "t.zarr", "--overwrite"],
        target: "t.zarr",
        after: After::OldOrNew,
    },
    Case {
        name: "resume",
        prepare: source,
        args: &["copy", "s.nczarr", "t.zarr", "--resume"],
        target: "t.zarr",
        after: After::OldOrNew,
    },
    Case {
        name: "zip",
        prepare: source,
        args: &["copy", "s.nczarr", "t.zip"],
        target: "t.zip",
        after: After::OldOrNew,
    },
    Case {
        name: "overwrite zip",
        prepare: source_and_old_zip,
        args: &["copy", "s.nczarr", "t.zip", "--overwrite"],
        target: "t.zip",
        after: After::OldOrNew,
    },
    Case {
        name: "netcdf",
        prepare: source,
        args: &["copy", "s.nczarr", "t.nc", "--verify"],
        target: "t.nc",
        after: After::OldOrNew,
    },
    Case {
        name: "overwrite netcdf",
        prepare: source_and_old_netcdf,
        args: &["copy", "s.nczarr", "t.nc", "--overwrite"],
        target: "t.nc",
        after: After::OldOrNew,
    },
    Case {
        name: "classic",
        prepare: flat_netcdf,
        args: &["copy", "s.nc", "t.nc", "--format", "classic", "--overwrite"],
        target: "t.nc",
        after: After::OldOrNew,
    },
    Case {
        name: "append",
        prepare: source_and_grown,
        args: &["copy", "more.nczarr", "t.nczarr", "--append", "t"],
        target: "t.nczarr",
        after: After::Resumable,
    },
    Case {
        name: "append zip",
        prepare: source_and_grown,
        args: &["copy", "more.nczarr", "t.zip", "--append", "t"],
        target: "t.zip",
        after: After::Resumable,
    },
    Case {
        name: "gen",
        prepare: text,
        args: &["gen", "d.cdl", "-o", "t.zarr"],
        target: "t.zarr",
        after: After::OldOrNew,
    },
    Case {
        name: "gen zip",
        prepare: text,
        args: &["gen", "d.cdl", "-o", "t.zip"],
        target: "t.zip",
        after: After::OldOrNew,
    },
    Case {
        name: "repair",
        prepare: broken,
        args: &["verify", "t.nczarr", "--repair"],
        target: "t.nczarr",
        after: After::Resumable,
    },
    Case {
        name: "repair zip",
        prepare: broken_zip,
        args: &["verify", "t.zip", "--repair"],
        target: "t.zip",
        after: After::OldOrNew,
    },
];

fn text(folder: &Path) {
    fs::write(folder.join("d.cdl"), CDL).unwrap();
}

/// A dataset with consolidated metadata: a copy has them even if those of the source cannot be read.
fn source(folder: &Path) {
    text(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    ncz(["gen", &path("d.cdl"), "-o", &path("s.nczarr"), "--consolidated"]).ends(0);
}

fn source_and_old(folder: &Path) {
    source(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    ncz(["copy", &path("s.nczarr"), &path("t.zarr"), "--slab", "t=0:1"]).ends(0);
}

fn source_and_old_zip(folder: &Path) {
    source(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    ncz(["copy", &path("s.nczarr"), &path("t.zip"), "--slab", "t=0:1"]).ends(0);
}

fn source_and_old_netcdf(folder: &Path) {
    source(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    ncz(["copy", &path("s.nczarr"), &path("t.nc"), "--slab", "t=0:1"]).ends(0);
}

/// A file without groups, and another one with one record.
fn flat_netcdf(folder: &Path) {
    text(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    ncz(["gen", &path("d.cdl"), "-o", &path("d.nc")]).ends(0);
    ncz(["copy", &path("d.nc"), &path("s.nc"), "--variables", "v,t"]).ends(0);
    ncz(["copy", &path("s.nc"), &path("t.nc"), "--slab", "t=0:1"]).ends(0);
}

/// Two datasets with one record, and another record for them.
fn source_and_grown(folder: &Path) {
    source(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    ncz(["copy", &path("s.nczarr"), &path("t.nczarr"), "--slab", "t=0:1", "--consolidated"]).ends(0);
    ncz(["copy", &path("s.nczarr"), &path("t.zip"), "--slab", "t=0:1", "--consolidated"]).ends(0);
    ncz(["copy", &path("s.nczarr"), &path("more.nczarr"), "--slab", "t=1:2"]).ends(0);
}

/// Two documents that `ncz verify --repair` repairs.
fn broken(folder: &Path) {
    text(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    ncz(["gen", &path("d.cdl"), "-o", &path("t.nczarr")]).ends(0);
    let zarray = folder.join("t.nczarr/v/.zarray");
    let text = fs::read_to_string(&zarray).unwrap();
    let broken = text.replace("\"fill_value\": -1", "\"fill_value\": [-1]");
    assert_ne!(broken, text);
    fs::write(zarray, broken).unwrap();
    let zattrs = folder.join("t.nczarr/t/.zattrs");
    let text = fs::read_to_string(&zattrs).unwrap();
    fs::write(zattrs, text + "}\n").unwrap();
}

fn broken_zip(folder: &Path) {
    fs::copy(fixtures().join("netcdf-c-4.10.2/nczarr-own-zip/endian.zip"), folder.join("t.zip")).unwrap();
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A case that is ready to run, with the files before and after it without a failure.
struct Bench {
    case: &'static Case,
    prepared: tempfile::TempDir,
    before: Look,
    after: Look,
    /// The calls that may fail, each with its number in its thread.
    calls: Vec<(&'static str, u32)>,
}

/// What is at a target.
#[derive(Debug, PartialEq)]
struct Look {
    /// Its files, without those that the program keeps for itself.
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// What an archive holds, since the times in it differ from run to run.
    text: Option<String>,
}

impl Look {
    fn at(target: &Path) -> Self {
        let mut files = BTreeMap::new();
        if target.is_file() {
            files.insert(PathBuf::new(), fs::read(target).unwrap());
            return Self { files, text: Some(dump(target)) };
        }
        let mut waiting = vec![target.to_owned()];
        while let Some(path) = waiting.pop() {
            for entry in fs::read_dir(&path).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else if !is_own(&path) {
                    files.insert(path.strip_prefix(target).unwrap().to_owned(), fs::read(&path).unwrap());
                }
            }
        }
        Self { files, text: None }
    }

    fn is_result(&self, result: &Self) -> bool {
        match (&self.text, &result.text) {
            (Some(one), Some(other)) => one == other,
            _ => self.files == result.files,
        }
    }
}

/// Whether a name is one that the program keeps for itself.
fn is_own(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".ncz-"))
}

impl Bench {
    fn new(case: &'static Case) -> Self {
        let prepared = tempfile::tempdir().unwrap();
        (case.prepare)(prepared.path());
        let before = Look::at(&prepared.path().join(case.target));
        let folder = copied(prepared.path());
        let log = folder.path().join("log");
        let trace = format!("trace=poll,{}", CALLS.join(","));
        let output = strace(folder.path(), &log, &["-e", &trace], case.args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}: {output:?}", case.name);
        let calls = count(&fs::read_to_string(&log).unwrap());
        let after = Look::at(&folder.path().join(case.target));
        assert!(after != before, "{}", case.name);
        Self { case, prepared, before, after, calls }
    }

    /// Lets one call fail; says how it ended, or what is wrong.
    fn run(&self, (call, number): (&str, u32), fault: &str) -> Result<&'static str, String> {
        let folder = copied(self.prepared.path());
        let log = folder.path().join("log");
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{fault}:when={number}"));
        let output = strace(folder.path(), &log, &["-e", &trace, "-e", &inject], self.case.args).output();
        let output = output.map_err(|error| error.to_string())?;
        let happened = fs::read_to_string(&log).unwrap_or_default();
        let happened = happened.contains("(INJECTED)");
        fs::remove_file(&log).map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let look = Look::at(&folder.path().join(self.case.target));
        let (is_old, is_new) = (look == self.before, look.is_result(&self.after));
        let state = if is_new {
            "new"
        } else if is_old {
            "old"
        } else {
            "other"
        };
        let wrong =
            |what: &str| Err(format!("{what}; status {:?}, target {state}, said: {said}", output.status));
        let outcome = match (output.status.code(), output.status.signal()) {
            (_, Some(9)) | (Some(137), _) if fault.starts_with("signal") => "killed",
            (None, _) => return wrong("it died of a signal"),
            (Some(0), _) => "done all the same",
            (Some(1), _) if self.case.args[0] == "verify" => "findings",
            (Some(2 | 3), _) => "refused",
            _ => return wrong("another exit code"),
        };
        if outcome == "refused" && !said.lines().any(|line| line.starts_with("error: ")) {
            return wrong("nothing says why it failed");
        }
        if self.case.after == After::OldOrNew {
            if !is_old && !is_new {
                return wrong("the target is neither what it was nor what it should be");
            }
            if outcome == "done all the same" && !is_new {
                return wrong("it is not done");
            }
        }
        let (says_new, says_old) = (
            said.contains("is complete and in place") || said.contains("the records are appended"),
            ["as it was before", "there is no copy", "cannot write to"]
                .iter()
                .any(|text| said.contains(text)),
        );
        if says_new && !is_new || says_old && !is_old {
            return wrong("what is said of the target is not true");
        }
        if outcome == "refused" && is_new && !says_new && self.case.args[0] != "verify" {
            return wrong("that the target is whole is not said");
        }
        self.finish(folder.path(), is_new).map_err(|what| format!("{what}; at first it said: {said}"))?;
        Ok(if happened || outcome == "killed" { outcome } else { "not reached" })
    }

    /// The next run does what this one should have done, and removes or names what it left.
    fn finish(&self, folder: &Path, is_new: bool) -> Result<(), String> {
        let mut args = self.case.args.to_vec();
        let has_journal =
            || own_files(folder).iter().any(|path| path.to_string_lossy().contains("ncz-journal"));
        if args.contains(&"--append") && is_new && !has_journal() {
            // It said that the records are there; the same command again does not finish it.
            return Ok(());
        }
        if is_new && args.contains(&"--resume") {
            // It refuses, since there is a target, and removes the folder of the copy that was finished.
            let _ = command().args(&args).current_dir(folder).output();
        }
        let keeps_target = ["verify", "--overwrite", "--append"].iter().any(|arg| args.contains(arg));
        if !keeps_target && is_new {
            args.retain(|&arg| arg != "--resume");
            args.push("--overwrite");
        }
        let again = command().args(&args).current_dir(folder).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&again.stderr);
        if again.status.code() != Some(0) {
            return Err(format!("the next run fails with {:?}: {said}", again.status));
        }
        if !Look::at(&folder.join(self.case.target)).is_result(&self.after) {
            return Err("the next run does not give the result".to_owned());
        }
        let left = own_files(folder);
        if left.is_empty() {
            return Ok(());
        }
        let verify = command().args(["verify", self.case.target]).current_dir(folder).output();
        let named = String::from_utf8_lossy(&verify.map_err(|error| error.to_string())?.stdout).into_owned();
        let unnamed = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            !named.contains(&name)
        };
        match left.iter().find(|path| unnamed(path)) {
            Some(path) => Err(format!("{} is left, and verify does not name it: {named}", path.display())),
            None => Ok(()),
        }
    }
}

/// The files and folders below a folder that the program keeps for itself.
fn own_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if is_own(&entry.path()) {
                found.push(entry.path());
            } else if entry.path().is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    found
}

fn copied(prepared: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_tree(prepared, folder.path());
    folder
}

fn strace(folder: &Path, log: &Path, options: &[&str], args: &[&str]) -> Command {
    let ncz = command();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(log).args(options);
    // faster, but signals are then not sent
    if !options.iter().any(|option| option.contains("signal=")) {
        strace.arg("--seccomp-bpf");
    }
    strace.arg(ncz.get_program()).args(args).args(["--threads", "1"]).current_dir(folder);
    for (name, value) in ncz.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    strace
}

/// The calls of a trace from the first one of the program itself on: Rust polls the standard streams before `main`.
fn count(log: &str) -> Vec<(&'static str, u32)> {
    let mut made: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut main = None;
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let name = rest.trim_start().split('(').next().unwrap_or_default();
        if name == "poll" {
            main.get_or_insert(thread);
        }
        let Some(call) = CALLS.iter().find(|call| **call == name) else { continue };
        let number = made.entry((thread, call)).or_default();
        *number += 1;
        if main.is_some() && !calls.contains(&(*call, *number)) {
            calls.push((*call, *number));
        }
    }
    calls
}

#[test]
fn whatever_call_fails_and_wherever_it_is_killed_nothing_is_lost_and_what_is_said_is_true() {
    if program("strace").is_err() {
        return;
    }
    let all = std::env::var("NCZ_FAULTS").is_ok_and(|value| value == "all");
    let only = std::env::var("NCZ_FAULTS_CASE").ok();
    let wanted = |case: &&Case| only.as_deref().is_none_or(|only| only == case.name);
    let fault = std::env::var("NCZ_FAULTS_WITH").ok();
    let is_wanted = |known: &&str| fault.as_deref().is_none_or(|fault| known.ends_with(fault));
    let benches: Vec<Bench> = CASES.iter().filter(wanted).map(Bench::new).collect();
    let mut plan = Vec::new();
    for bench in &benches {
        for &call in &bench.calls {
            plan.extend(FAULTS.into_iter().filter(is_wanted).map(|fault| (bench, call, fault)));
        }
    }
    // The sample is spread over all of it: steps by the golden ratio, without a factor of the length.
    let step = (plan.len() * 618 / 1000..).find(|&step| gcd(step, plan.len()) == 1).unwrap();
    let begun = Instant::now();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<_, u32>::new()));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= plan.len() || !all && at >= SAMPLE {
                        break;
                    }
                    let (bench, call, fault) = plan[at * step % plan.len()];
                    let name = bench.case.name;
                    match bench.run(call, fault) {
                        Ok(outcome) => *results.lock().unwrap().entry((name, outcome)).or_default() += 1,
                        Err(what) => {
                            let mut wrong = wrong.lock().unwrap();
                            wrong.push(format!("{name}: {} number {}, {fault}: {what}", call.0, call.1));
                        }
                    }
                }
            });
        }
    });
    let (results, mut wrong) = (results.into_inner().unwrap(), wrong.into_inner().unwrap());
    let done: u32 = results.values().sum();
    let killed: u32 =
        results.iter().filter(|((_, outcome), _)| *outcome == "killed").map(|(_, count)| count).sum();
    println!("{done} of {} runs are right, {} wrong, in {:?}", plan.len(), wrong.len(), begun.elapsed());
    for ((name, outcome), count) in &results {
        println!("{name}: {count} {outcome}");
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(done >= 50, "{done}");
    assert!(
        !FAULTS.iter().any(|fault| is_wanted(fault) && fault.starts_with("signal")) || killed > 0,
        "nothing was killed"
    );
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}
