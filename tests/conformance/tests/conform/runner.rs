//! How the runner handles workers: they end, nothing of them remains, and only their result file counts.

#![expect(clippy::unwrap_used, reason = "helpers of tests are outside test functions")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use ncz_conform::check::Target;
use ncz_conform::error::Error;
use ncz_conform::outcome::Verdict;
use ncz_conform::results::{CheckResult, LibraryResult};
use ncz_conform::{Conformance, Watcher};
use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ncz-conform");
/// More than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn library(name: &str) -> PathBuf {
    ncz_test_support::build_examples("ncz-bad-plugins").unwrap().remove(name).unwrap()
}

fn conformance(library: &Path) -> Conformance {
    Conformance::of(library).level(1).worker(PROGRAM)
}

fn run(conformance: &Conformance) -> LibraryResult {
    let run = conformance.run().unwrap();
    assert!(run.bugs.is_empty(), "{:?}", run.bugs);
    run.libraries.into_iter().next().unwrap()
}

fn result<'a>(library: &'a LibraryResult, id: &str) -> &'a CheckResult {
    library.results.iter().find(|result| result.check.id == id).unwrap()
}

/// The processes, zombies included, whose environment or command line holds the text.
fn processes_with(text: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name)).unwrap_or_default();
    entries
        .map(|entry| entry.path())
        .filter(|folder| holds(&read(folder, "environ")) || holds(&read(folder, "cmdline")))
        .map(|folder| String::from_utf8_lossy(&read(&folder, "stat")).into_owned())
        .collect()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts the runner as a program, on a library that never returns, and waits for its first worker.
fn hanging(library: &Path) -> (Child, String) {
    let runner = Command::new(PROGRAM)
        .arg(library)
        .args(["--level", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let token = format!("NCZ_CONFORM_JOB={}-", runner.id());
    wait_until("no worker started", || !processes_with(&token).is_empty());
    (runner, token)
}

#[test]
fn a_library_that_never_comes_back_is_hung_and_killed_and_its_other_checks_are_skipped() {
    let hangs = library("load_hangs");
    let start = Instant::now();
    let found =
        run(&conformance(&hangs).timeout(Duration::from_secs(1)).include("library").include("records"));
    assert!(start.elapsed() < LONG);
    let load = result(&found, "library.load");
    assert_eq!(load.outcome.verdict, Verdict::Hung);
    assert!(load.outcome.message.contains("not done after 1 s"), "{}", load.outcome.message);
    assert!(load.step.is_some());
    let record = result(&found, "records.hdf5");
    assert_eq!((record.outcome.verdict, &record.target), (Verdict::Skipped, &Target::Library));
    assert!(record.outcome.message.starts_with("the library does not open: not done"), "{record:?}");
    // Only the checks of the file did run.
    assert_eq!(result(&found, "library.file").outcome.verdict, Verdict::Passed);
    assert_eq!(found.targets.len(), 1);
    assert!(found.is_unfit());
}

#[test]
fn a_library_that_does_not_open_is_unfit_whatever_was_asked_for() {
    let crashes = run(&conformance(&library("load_crashes")).include("roundtrip.one"));
    let load = result(&crashes, "library.load");
    assert_eq!(load.outcome.verdict, Verdict::Crashed, "{load:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libtext.so");
    std::fs::write(&file, "no library").unwrap();
    let text = run(&conformance(&file).include("roundtrip.one"));
    assert_eq!(result(&text, "library.load").outcome.verdict, Verdict::Failed, "{text:?}");
}

#[test]
fn a_plugin_that_ends_the_process_as_if_all_were_well_has_crashed() {
    let found = run(&conformance(&library("flip_exits")).include("damaged.flipped"));
    let flipped = result(&found, "damaged.flipped");
    assert_eq!(flipped.outcome.verdict, Verdict::Crashed, "{flipped:?}");
    let step = flipped.step.as_deref().unwrap();
    assert_eq!(flipped.outcome.message, format!("it ended the process with exit code 0, while: {step}"));
}

#[test]
fn a_step_that_uses_too_much_processor_time_is_hung_long_before_the_check_is() {
    let found = run(&conformance(&library("cut_hangs")).include("damaged.truncated").timeout(10 * LONG));
    let cut = result(&found, "damaged.truncated");
    assert_eq!(cut.outcome.verdict, Verdict::Hung, "{cut:?}");
    assert!(cut.outcome.message.contains("of processor time, while: "), "{}", cut.outcome.message);
    assert!(cut.step.is_some() && cut.took < 5 * LONG);
}

#[test]
fn what_plugins_print_is_kept_apart_from_the_verdict() {
    let found = run(&conformance(&library("load_prints")).include("records.hdf5"));
    let record = result(&found, "records.hdf5");
    assert_eq!(record.outcome.verdict, Verdict::Passed, "{record:?}");
    assert!(!record.stdout.is_empty() || !record.stderr.is_empty(), "{record:?}");
}

#[test]
fn a_process_that_a_plugin_leaves_behind_is_reported_and_killed() {
    let child = library("leaves_child");
    let found = run(&conformance(&child).include("roundtrip.one"));
    let one = result(&found, "roundtrip.one");
    assert_eq!(one.outcome.verdict, Verdict::Warned, "{one:?}");
    assert_eq!(one.outcome.message, "processes left behind, which were killed: 1");
    let left = processes_with(&child.to_string_lossy());
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_plugin_that_leaves_the_group_of_its_worker_is_hung_and_killed() {
    let leaves = library("leaves_group");
    let found =
        run(&conformance(&leaves).level(2).include("roundtrip.empty").timeout(Duration::from_secs(1)));
    let empty = result(&found, "roundtrip.empty");
    assert_eq!(empty.outcome.verdict, Verdict::Hung, "{empty:?}");
    assert!(empty.outcome.message.contains("not done after 1 s, and killed"), "{empty:?}");
    let left = processes_with(&leaves.to_string_lossy());
    assert!(left.is_empty(), "{left:?}");
}

/// A library that starts a daemon on opening, in a session of its own and without environment; it waits until that
/// has begun.
#[cfg(target_os = "linux")]
const STARTS_DAEMON: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void) {
    int ends[2];
    char c, *empty[] = {0};
    if (pipe2(ends, O_CLOEXEC)) return;
    pid_t first = fork();
    if (first == 0) {
        setsid();
        if (fork() == 0) execle("/bin/sleep", "sleep", SECONDS, (char *)0, empty);
        _exit(0);
    }
    close(ends[1]);
    waitpid(first, 0, 0);
    while (read(ends[0], &c, 1) > 0) {}
}
"#;

#[test]
#[cfg(target_os = "linux")]
fn a_daemon_without_group_and_environment_is_killed_at_the_end_of_the_program() {
    let Ok(compiler) = ncz_test_support::program("cc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let [source, library] = ["daemon.c", "libdaemon.so"].map(|name| folder.path().join(name));
    std::fs::write(&source, STARTS_DAEMON).unwrap();
    // A number that no other process sleeps for.
    let seconds = format!("600.{}", std::process::id());
    let mut compile = Command::new(compiler);
    compile.args(["-shared", "-fPIC", &format!("-DSECONDS=\"{seconds}\""), "-o"]).arg(&library).arg(&source);
    ncz_test_support::run(&mut compile, LONG).unwrap().success("cc").unwrap();
    let output =
        Command::new(PROGRAM).arg(&library).args(["--level", "1", "--include", "library"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("left behind without their environment, killed at the end: "), "{error}");
    assert_eq!(processes_with(&seconds), Vec::<String>::new());
}

#[test]
fn checks_that_could_make_no_good_call_do_not_pass() {
    let mut looked = Vec::new();
    for (name, ids) in [
        (
            "refuses_all",
            &[
                "buffers.size",
                "buffers.capacity",
                "buffers.allocator",
                "buffers.beyond-output",
                "buffers.beyond-parameters",
                "roundtrip.deterministic",
            ][..],
        ),
        ("json_strict_keys", &["threads.conversions"]),
    ] {
        let conformance = ids.iter().fold(conformance(&library(name)).level(5), |run, id| run.include(*id));
        for found in run(&conformance).results {
            assert_eq!(found.outcome.verdict, Verdict::Skipped, "{found:?}");
            assert!(found.outcome.message.starts_with("nothing could be looked at: "), "{found:?}");
            looked.push(found.check.id);
        }
    }
    assert_eq!(looked.len(), 7, "{looked:?}");
}

#[test]
fn ctrl_c_leaves_neither_worker_nor_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = Command::new(PROGRAM)
        .arg(library("load_hangs"))
        .args(["--timeout", "3600"])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let token = format!("NCZ_CONFORM_JOB={}-", runner.id());
    wait_until("no worker started", || !processes_with(&token).is_empty());
    kill_process(Pid::from_child(&runner), Signal::INT).unwrap();
    wait_until("the runner does not end", || runner.try_wait().unwrap().is_some());
    let status = runner.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{status}");
    assert_eq!(processes_with(&token), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn workers_end_when_the_runner_is_killed() {
    let (mut runner, token) = hanging(&library("load_hangs"));
    runner.kill().unwrap();
    runner.wait().unwrap();
    wait_until("a worker is left", || processes_with(&token).is_empty());
}

#[test]
fn a_run_that_is_stopped_says_so() {
    let conformance = conformance(&library("load_hangs"));
    let stop = conformance.stop_flag();
    let start = Instant::now();
    thread::scope(|scope| {
        let running = scope.spawn(|| conformance.run());
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(running.join().unwrap(), Err(Error::Interrupted)));
    });
    assert!(start.elapsed() < LONG);
}

#[test]
fn the_same_seed_gives_the_same_crash_and_the_replay_line_too() {
    let crashes = library("flip_crashes");
    let seeded = |seed| {
        let found = run(&conformance(&crashes).level(2).include("damaged").seed(seed));
        let flipped = result(&found, "damaged.flipped");
        assert_eq!(flipped.outcome.verdict, Verdict::Crashed, "{flipped:?}");
        (flipped.step.clone().unwrap(), flipped.replay.clone())
    };
    let (step, replay) = seeded(1);
    assert_eq!(seeded(1), (step.clone(), replay.clone()));
    assert_ne!(seeded(2).0, step, "two seeds, one stream");
    // The line as it is, in a shell.
    let command = format!("'{PROGRAM}' {}", replay.strip_prefix("ncz-conform ").unwrap());
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(&step), "{step:?} is not in\n{text}");
}

#[test]
fn results_come_in_the_same_order_whatever_runs_at_a_time() {
    struct Reported(Mutex<Vec<(&'static str, Target)>>);

    impl Watcher for Reported {
        fn done(&self, _library: &Path, result: &CheckResult) {
            self.0.lock().unwrap().push((result.check.id, result.target.clone()));
        }
    }

    let good = library("good");
    let orders = [1, 4].map(|jobs| {
        let reported = Reported(Mutex::default());
        let run = conformance(&good).jobs(jobs).run_watched(&reported).unwrap();
        let results = &run.libraries[0].results;
        let order: Vec<_> = results.iter().map(|result| (result.check.id, result.target.clone())).collect();
        assert_eq!(reported.0.into_inner().unwrap(), order);
        order
    });
    assert_eq!(orders[0], orders[1]);
    assert!(orders[0].len() > 20, "{}", orders[0].len());
}

#[test]
fn a_program_that_runs_no_checks_is_not_started_over_and_over() {
    let error = Conformance::of(library("good")).run().unwrap_err();
    assert!(matches!(error, Error::NoWorker), "{error}");
    assert!(error.to_string().contains("run_if_asked"), "{error}");
    // A worker that does not know its job writes no result, and that is reported.
    let found = run(&Conformance::of(library("good")).level(1).worker("/bin/true").include("records.hdf5"));
    assert!(found.is_unfit(), "{found:?}");
}

#[test]
fn a_filter_finds_the_allocator_that_the_runner_exports() {
    let output = Command::new("nm").args(["-D", "--defined-only", PROGRAM]).output().unwrap();
    let symbols = String::from_utf8(output.stdout).unwrap();
    for name in ["H5allocate_memory", "H5resize_memory", "H5free_memory"] {
        assert!(symbols.lines().any(|line| line.ends_with(&format!(" T {name}"))), "{name}:\n{symbols}");
    }
    let found =
        run(&conformance(&ncz_test_support::plugin("zstd").unwrap()).level(3).include("buffers.allocator"));
    let allocator = result(&found, "buffers.allocator");
    assert_eq!(allocator.outcome.verdict, Verdict::Passed, "{allocator:?}");
}

#[test]
fn the_runner_links_nothing_of_networks() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .exec()
        .unwrap();
    let packages = dependencies(&metadata, "ncz-conform");
    assert!(packages.iter().any(|name| name == "ncz-codec") && packages.len() > 20, "{packages:?}");
    let network = ["tls", "ssl", "aws", "tokio", "hyper", "reqwest", "ring", "http", "ureq", "ncz-store"];
    let found: Vec<_> = packages
        .iter()
        .filter(|name| name.split(['-', '_']).any(|part| network.contains(&part)) || name.contains("tls"))
        .collect();
    assert!(found.is_empty(), "{found:?}");
    // Not a list that fits nothing: it sees what the tests of the store use.
    assert!(metadata.packages.iter().any(|package| package.name.as_str() == "ncz-store"));
}

/// What a package is built from, tests and build scripts aside.
fn dependencies(metadata: &cargo_metadata::Metadata, package: &str) -> Vec<String> {
    let nodes = &metadata.resolve.as_ref().unwrap().nodes;
    let name = |id: &cargo_metadata::PackageId| metadata[id].name.to_string();
    let mut found: Vec<_> =
        nodes.iter().filter(|node| name(&node.id) == package).map(|node| &node.id).collect();
    let mut next = 0;
    while let Some(id) = found.get(next) {
        next += 1;
        let node = nodes.iter().find(|node| node.id == **id).unwrap();
        for dependency in &node.deps {
            let normal =
                dependency.dep_kinds.iter().any(|kind| kind.kind == cargo_metadata::DependencyKind::Normal);
            if normal && !found.contains(&&dependency.pkg) {
                found.push(&dependency.pkg);
            }
        }
    }
    found.into_iter().map(name).collect()
}
