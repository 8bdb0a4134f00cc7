//! Libraries in worker processes: every failure of one is a clear error without other effects.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz_codec::{AnyCoder, CodecError, ErrorKind};
use ncz_registry::isolate::{Isolation, Which};
use ncz_registry::registry::Registry;
use ncz_registry::report::Verdict;
use ncz_test_support::{build_plugins, plugin, program, python, run, workspace_root};

#[path = "isolate/chunks.rs"]
mod chunks; // third-party plugins
#[path = "isolate/ours.rs"]
mod ours; // our own plugins by their C faces

/// The filter of `faulty.c`.
const FAULTY: u32 = 40_400;
/// Set in a child process that a test starts from its own program; selects its role.
const ROLE: &str = "NCZ_TEST_ROLE";

/// The worker program, which cargo builds with the tests.
fn worker() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let worker = tests.ancestors().nth(2).unwrap().join("examples/worker");
    assert!(worker.is_file(), "cargo build -p ncz-registry --example worker makes {}", worker.display());
    worker
}

/// A folder with the library of `faulty.c`; `None` is a skip that was announced.
fn faulty(arguments: &[&str]) -> Option<tempfile::TempDir> {
    let compiler = program("cc").ok()?;
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(compiler);
    command.args(["-std=c99", "-shared", "-fPIC"]).args(arguments);
    command.arg(workspace_root().join("host/registry/tests/isolate/faulty.c"));
    command.arg("-o").arg(folder.path().join("libfaulty.so"));
    run(&mut command, Duration::from_secs(60)).unwrap().success("cc").unwrap();
    Some(folder)
}

fn isolation() -> Isolation {
    Isolation {
        which: Which::Foreign,
        worker: Some(worker()),
        workers: NonZeroUsize::new(1),
        cpu_time: Duration::from_secs(20),
        ..Isolation::default()
    }
}

fn registry(folder: &Path, isolation: Isolation) -> Registry {
    Registry::builder().plugin_path(vec![folder.to_owned()]).builtins(false).isolation(isolation).build()
}

fn coder(registry: &Registry, id: u32) -> Arc<dyn AnyCoder> {
    registry.by_id(id).unwrap().codec().coder(&[]).unwrap()
}

/// Decodes `text` as the filter of `faulty.c` has encoded it.
fn decode(coder: &dyn AnyCoder, text: &[u8]) -> Result<Vec<u8>, CodecError> {
    let stored: Vec<u8> = text.iter().map(|byte| !byte).collect();
    let mut output = vec![0; text.len()];
    let len = coder.decode(&mut coder.scratch(), &stored, &mut output)?;
    output.truncate(len);
    Ok(output)
}

/// The same in a separately configured worker, and then a good call.
fn error_of(folder: &Path, isolation: Isolation, text: &[u8]) -> String {
    let registry = registry(folder, isolation);
    let coder = coder(&registry, FAULTY);
    let error = decode(&*coder, text).unwrap_err();
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well", "after {error}");
    let what = format!("decoding {} bytes", text.len());
    let error = error.to_string();
    println!("{error}");
    assert!(error.contains("libfaulty.so") && error.contains(&what), "{error}");
    error
}

/// The processes that this one has started, including dead ones that were not reaped.
fn children() -> Vec<u32> {
    let own = format!(" {} ", std::process::id());
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let Ok(number) = entry.unwrap().file_name().to_string_lossy().parse() else { continue };
        // "number (name) state parent ..": the name may hold anything.
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{number}/stat")) else { continue };
        if stat.rsplit(')').next().unwrap().get(2..).unwrap().starts_with(&own) {
            children.push(number);
        }
    }
    children
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Whether this process plays `role`; if not, starts one that does, with `environment`.
fn plays(role: &str, environment: &[(&str, &str)]) -> bool {
    if std::env::var(ROLE).is_ok_and(|played| played == role) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", role, "--nocapture"]).env(ROLE, role).envs(environment.iter().copied());
    run(&mut command, Duration::from_secs(120)).unwrap().success(role).unwrap();
    false
}

fn is_alive(process: u32) -> bool {
    // A zombie has ended, once its other threads have.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    let is_zombie = |stat: String| stat.rsplit(')').next().unwrap().starts_with(" Z");
    let threads = || std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    stat.is_ok_and(|stat| !is_zombie(stat) || threads() > 1)
}

fn wait_for(what: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !what() {
        if begin.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
fn crashes_are_errors_that_say_how_it_ended() {
    let Some(folder) = faulty(&[]) else { return };
    let error = |text: &[u8]| error_of(folder.path(), isolation(), text);
    assert!(error(b"Abort").contains("it was ended by SIGABRT"));
    assert!(error(b"Segfault").contains("it was ended by SIGSEGV, a bad memory access"));
    // A parent that checks only the status would see success.
    assert!(error(b"0").contains("it ended its process with exit status 0"));
    let last_words = error(b"Quit");
    assert!(last_words.contains("exit status 7 (it printed \"the disk is  [31m on fire\")"), "{last_words}");
}

#[test]
fn calls_that_do_not_end_are_ended() {
    let Some(folder) = faulty(&[]) else { return };
    let limits = |cpu, wall| Isolation {
        cpu_time: Duration::from_millis(cpu),
        wall_time: Some(Duration::from_millis(wall)),
        ..isolation()
    };
    let busy = error_of(folder.path(), limits(300, 20_000), b"Busy");
    assert!(busy.contains("it took more than 300ms of processor time and was killed"), "{busy}");
    let asleep = error_of(folder.path(), limits(20_000, 300), b"Zzz");
    assert!(asleep.contains("it was not done after 300ms and was killed"), "{asleep}");
}

#[test]
fn memory_is_bounded_and_chunks_do_not_count() {
    let Some(folder) = faulty(&[]) else { return };
    let limited = Isolation { memory: 256 << 20, ..isolation() };
    assert!(
        error_of(folder.path(), limited.clone(), b"Memory").contains("it needs more memory than its limit")
    );
    // The chunk, what it becomes and a copy for the filter.
    let chunk = vec![b'.'; 150 << 20];
    let registry = registry(folder.path(), limited);
    assert!(decode(&*coder(&registry, FAULTY), &chunk).unwrap() == chunk);
}

#[test]
fn wrong_lengths_are_errors_or_seen_by_the_caller() {
    let Some(folder) = faulty(&[]) else { return };
    let registry = registry(folder.path(), isolation());
    let coder = coder(&registry, FAULTY);
    let error = decode(&*coder, b"Lie").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Plugin { code: -20 }, "{error}");
    assert_eq!(decode(&*coder, b"1 less").unwrap(), b"1 les");
    let error = coder.decode(&mut coder.scratch(), b"four", &mut [0; 3]).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::OutputFull { need: Some(4) });
    assert_eq!(*decode(&*coder, b"").unwrap_err().kind(), ErrorKind::Truncated);
}

#[test]
fn a_plugin_that_takes_the_channel_away_or_writes_to_it_is_found_out() {
    let Some(folder) = faulty(&[]) else { return };
    let brief = Isolation { wall_time: Some(Duration::from_secs(5)), ..isolation() };
    let error = |text: &[u8]| error_of(folder.path(), brief.clone(), text);
    assert!(error(b"Write").contains("its worker gave bytes that are not an answer"));
    let closed = error(b"Close");
    assert!(closed.contains("exit status 1 (it printed \"worker: "), "{closed}");
    let replaced = error(b"Dup");
    assert!(replaced.contains("exit status 1"), "{replaced}");
}

#[test]
fn output_of_a_plugin_does_not_disturb_the_protocol() {
    let Some(folder) = faulty(&[]) else { return };
    let registry = registry(folder.path(), isolation());
    let coder = coder(&registry, FAULTY);
    for _ in 0..3 {
        assert_eq!(decode(&*coder, b"Print").unwrap(), b"Print");
    }
    assert_eq!(children().len(), 1);
}

#[test]
fn a_library_that_crashes_or_hangs_when_opened_is_refused_and_the_host_lives() {
    let brief = Isolation { cpu_time: Duration::from_millis(500), ..isolation() };
    for (argument, reason) in [
        ("-DCRASHES_WHEN_OPENED", "opening it in a worker process fails: it was ended by SIGABRT"),
        (
            "-DHANGS_WHEN_OPENED",
            "opening it in a worker process fails: it took more than 500ms of processor time",
        ),
    ] {
        let Some(folder) = faulty(&[argument]) else { return };
        let registry = registry(folder.path(), brief.clone());
        let file = registry.report().files().next().unwrap();
        assert_eq!(file.verdict, Verdict::Refused);
        assert!(file.reason.contains(reason), "{}", file.reason);
        let error = registry.by_id(FAULTY).unwrap_err().to_string();
        assert!(error.contains("no codec for HDF5 filter 40400"), "{error}");
    }
}

#[test]
fn a_worker_that_is_killed_in_a_call_costs_that_call_and_one_killed_between_calls_none() {
    let Some(folder) = faulty(&[]) else { return };
    if !plays("a_worker_that_is_killed_in_a_call_costs_that_call_and_one_killed_between_calls_none", &[]) {
        return;
    }
    let registry = registry(folder.path(), isolation());
    let coder = coder(&registry, FAULTY);
    let kill = |process: u32| {
        Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap();
    };
    let first = children()[0];
    kill(first);
    assert!(wait_for(|| !is_alive(first)));
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
    let second = children()[0];
    assert_ne!(first, second);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| decode(&*coder, b"Zzz").unwrap_err().to_string());
        std::thread::sleep(Duration::from_millis(200));
        kill(second);
        let error = call.join().unwrap();
        assert!(error.contains("it was ended by SIGKILL, which somebody else sent"), "{error}");
    });
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
    assert_eq!(children().len(), 1);
}

#[test]
fn a_crash_is_seen_and_what_a_plugin_started_is_killed_though_it_holds_the_channel() {
    let Some(folder) = faulty(&[]) else { return };
    let error = error_of(folder.path(), isolation(), b"Keep");
    assert!(error.contains("SIGSEGV"), "{error}");
    let library = folder.path().join("libfaulty.so").display().to_string();
    let holds_it = |process: std::io::Result<std::fs::DirEntry>| {
        let maps = std::fs::read_to_string(process.unwrap().path().join("maps"));
        maps.is_ok_and(|maps| maps.contains(&library))
    };
    assert!(wait_for(|| !std::fs::read_dir("/proc").unwrap().any(holds_it)));
}

#[test]
fn a_worker_that_is_missing_or_is_none_or_of_another_version_is_named() {
    let Some(folder) = faulty(&[]) else { return };
    let reason = |worker: PathBuf| {
        let registry = registry(folder.path(), Isolation { worker: Some(worker), ..isolation() });
        let file = registry.report().files().next().unwrap();
        assert_eq!(file.verdict, Verdict::Refused);
        println!("{}", file.reason);
        file.reason.clone()
    };
    let missing = reason("/nowhere/ncz-worker".into());
    assert!(missing.contains("/nowhere/ncz-worker cannot be started: No such file"), "{missing}");
    let other = reason("/bin/true".into());
    assert!(
        other.contains("/bin/true is not ncz-worker: it ended its process with exit status 0"),
        "{other}"
    );
    // The greeting of a worker of version 9.9.9: the head, the sort, the protocol and the version.
    let old = folder.path().join("old-worker");
    let greeting = r"wcZN\000\000\000\000\015\000\000\000\000\0051.0.0\0059.9.9";
    std::fs::write(&old, format!("#!/bin/sh\nprintf '{greeting}' >&0\nsleep 10\n")).unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let old = reason(old);
    assert!(old.contains("is ncz-worker 9.9.9 (protocol 1.0.0), this program expects"), "{old}");
}

#[test]
fn a_worker_program_is_named_from_the_current_folder() {
    let Some(folder) = faulty(&[]) else { return };
    let up = std::env::current_dir().unwrap().ancestors().skip(1).map(|_| "..").collect::<PathBuf>();
    let relative = up.join(worker().strip_prefix("/").unwrap());
    assert!(relative.is_relative());
    let registry = registry(folder.path(), Isolation { worker: Some(relative), ..isolation() });
    assert_eq!(decode(&*coder(&registry, FAULTY), b"well").unwrap(), b"well");
}

#[test]
fn a_limit_on_the_length_of_files_is_an_error_and_not_the_end() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    if !plays("a_limit_on_the_length_of_files_is_an_error_and_not_the_end", &[]) {
        return;
    }
    let Some(folder) = faulty(&[]) else { return };
    let limit_files = |len| {
        let limit = rustix::process::Rlimit { current: Some(len), ..getrlimit(Resource::Fsize) };
        setrlimit(Resource::Fsize, limit).unwrap();
    };
    let isolated = registry(folder.path(), isolation());
    let coder = coder(&isolated, FAULTY);
    limit_files(5 << 20);
    let error = decode(&*coder, &[b'.'; 3 << 20]).unwrap_err().to_string();
    assert!(error.contains("over the limit of 5242880 on files (RLIMIT_FSIZE)"), "{error}");
    // Twice the current size would be too much, the needed size is not.
    for len in [1 << 20, 3 << 19, 2 << 20] {
        assert!(decode(&*coder, &vec![b'.'; len]).unwrap() == vec![b'.'; len]);
    }
    // A sealed copy of a library on a list.
    let here = registry(folder.path(), Isolation::default());
    let list = folder.path().join("list.json");
    std::fs::write(&list, here.make_allow_list().unwrap().0.to_json().to_string()).unwrap();
    limit_files(4096);
    let folders = vec![folder.path().to_owned()];
    let locked = Registry::builder().plugin_path(folders).builtins(false).allow_list(list).build();
    let file = locked.report().files().find(|file| file.path.ends_with("libfaulty.so")).unwrap();
    assert_eq!(file.verdict, Verdict::Refused);
    assert!(file.reason.contains("RLIMIT_FSIZE"), "{}", file.reason);
}

#[test]
fn a_library_that_was_replaced_is_not_opened_by_the_next_worker() {
    let (Some(folder), Some(other)) = (faulty(&[]), faulty(&["-DCRASHES_WHEN_OPENED"])) else { return };
    let library = folder.path().join("libfaulty.so");
    let registry = registry(folder.path(), isolation());
    let coder = coder(&registry, FAULTY);
    let kept = folder.path().join("kept");
    std::fs::rename(&library, &kept).unwrap();
    std::fs::copy(other.path().join("libfaulty.so"), &library).unwrap();
    // The worker that there is has the first one.
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
    decode(&*coder, b"Segfault").unwrap_err();
    let error = decode(&*coder, b"well").unwrap_err().to_string();
    assert!(error.contains("the file has changed since it was opened first"), "{error}");
    std::fs::rename(&kept, &library).unwrap();
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
}

#[test]
fn a_library_that_opens_slowly_is_waited_for_though_calls_are_to_be_short() {
    let Some(folder) = faulty(&["-DSLOW_WHEN_OPENED"]) else { return };
    let limits =
        |wall| Isolation { cpu_time: Duration::from_millis(500), wall_time: Some(wall), ..isolation() };
    let registry = registry(folder.path(), limits(Duration::from_millis(100)));
    assert_eq!(decode(&*coder(&registry, FAULTY), b"well").unwrap(), b"well");
}

#[test]
fn last_words_are_read_once_though_what_a_plugin_started_goes_on_printing() {
    let Some(folder) = faulty(&[]) else { return };
    let begin = Instant::now();
    let error = error_of(folder.path(), isolation(), b"Yell");
    assert!(error.contains("it was ended by SIGABRT") && error.contains("it printed \"on"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(19), "{:?}", begin.elapsed());
}

#[test]
fn the_worker_program_says_what_it_is() {
    for arguments in [&[][..], &["--serve-one-library"], &["--help"]] {
        let mut command = Command::new(worker());
        let output = run(command.args(arguments), Duration::from_secs(20)).unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("ncz-worker ") && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn eight_threads_share_two_workers_and_damage_in_one_call_harms_no_other() {
    let Some(folder) = faulty(&[]) else { return };
    let two = Isolation { workers: NonZeroUsize::new(2), ..isolation() };
    let registry = registry(folder.path(), two);
    let coder = coder(&registry, FAULTY);
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let coder = &coder;
            scope.spawn(move || {
                for call in 0..50_u8 {
                    if (call + thread) % 10 == 0 {
                        decode(&**coder, b"Segfault").unwrap_err();
                    }
                    let text = vec![100 + thread; 1 + usize::from(call) * 3000];
                    assert!(decode(&**coder, &text).unwrap() == text);
                }
            });
        }
    });
    // Eight calls of a tenth of a second, two at a time.
    let begin = Instant::now();
    std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| decode(&*coder, b"Nap").unwrap()))));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(400), "{took:?}");
}

#[test]
fn two_workers_work_at_the_same_time() {
    let Some(folder) = faulty(&[]) else { return };
    let two = Isolation { workers: NonZeroUsize::new(2), ..isolation() };
    let registry = registry(folder.path(), two);
    let coder = coder(&registry, FAULTY);
    // Each call ends only when both are under way.
    let meeting = tempfile::tempdir().unwrap();
    let text = format!("R{}", meeting.path().display());
    std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(|| decode(&*coder, text.as_bytes()).unwrap())));
    });
}

#[test]
fn two_hundred_crashes_leave_no_process_and_no_descriptor() {
    let Some(folder) = faulty(&[]) else { return };
    if !plays("two_hundred_crashes_leave_no_process_and_no_descriptor", &[]) {
        return;
    }
    let registry = registry(folder.path(), isolation());
    let coder = coder(&registry, FAULTY);
    decode(&*coder, b"Segfault").unwrap_err();
    assert!(children().is_empty(), "{:?}", children());
    let before = open_descriptors();
    for _ in 0..200 {
        decode(&*coder, b"Segfault").unwrap_err();
    }
    assert!(children().is_empty());
    assert_eq!(open_descriptors(), before);
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
    assert_eq!(children().len(), 1);
    drop((registry, coder));
    assert!(children().is_empty());
    assert!(open_descriptors() <= before);
}

#[test]
fn workers_outlive_the_thread_that_started_them() {
    let Some(folder) = faulty(&[]) else { return };
    if !plays("workers_outlive_the_thread_that_started_them", &[]) {
        return;
    }
    let folder = folder.path().to_owned();
    let coder = std::thread::spawn(move || coder(&registry(&folder, isolation()), FAULTY)).join().unwrap();
    let worker = children();
    assert_eq!(worker.len(), 1);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
    assert_eq!(children(), worker);
}

#[test]
fn a_worker_ends_with_its_host_also_in_a_call_that_hangs() {
    const NAME: &str = "a_worker_ends_with_its_host_also_in_a_call_that_hangs";
    const NOTE: &str = "NCZ_TEST_NOTE";
    if std::env::var(ROLE).is_ok_and(|role| role == NAME) {
        let Some(folder) = faulty(&[]) else { return };
        let registry = registry(folder.path(), isolation());
        let coder = coder(&registry, FAULTY);
        std::thread::spawn(move || decode(&*coder, b"Busy"));
        std::thread::sleep(Duration::from_millis(200));
        std::fs::write(std::env::var(NOTE).unwrap(), children()[0].to_string()).unwrap();
        // As a crash of the host would do.
        std::process::abort();
    }
    let Some(_) = faulty(&[]) else { return };
    let note = tempfile::NamedTempFile::new().unwrap();
    let mut host = Command::new(std::env::current_exe().unwrap());
    host.args(["--exact", NAME]).env(ROLE, NAME).env(NOTE, note.path());
    assert!(!run(&mut host, Duration::from_secs(60)).unwrap().status.success());
    let worker = std::fs::read_to_string(note.path()).unwrap().parse().unwrap();
    assert!(wait_for(|| !is_alive(worker)), "worker {worker}");
}

#[test]
fn a_worker_ends_with_its_host_though_a_copy_of_the_host_holds_the_channel() {
    const NAME: &str = "a_worker_ends_with_its_host_though_a_copy_of_the_host_holds_the_channel";
    const FOLDER: &str = "NCZ_TEST_FOLDER";
    if std::env::var(ROLE).is_ok_and(|role| role == NAME) {
        let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
        let isolated = registry(&folder, isolation());
        let worker = coder(&isolated, FAULTY);
        assert_eq!(decode(&*worker, b"well").unwrap(), b"well");
        std::fs::write(folder.join("worker"), children()[0].to_string()).unwrap();
        // In this process the plugin forks, and ends it.
        let here = registry(&folder, Isolation::default());
        let _ = decode(&*coder(&here, FAULTY), b"Keep");
        return;
    }
    let Some(folder) = faulty(&[]) else { return };
    let library = folder.path().join("libfaulty.so").display().to_string();
    let mut host = Command::new(std::env::current_exe().unwrap());
    host.args(["--exact", NAME]).env(ROLE, NAME).env(FOLDER, folder.path());
    assert!(!run(&mut host, Duration::from_secs(60)).unwrap().status.success());
    let worker: u32 = std::fs::read_to_string(folder.path().join("worker")).unwrap().parse().unwrap();
    let ended = wait_for(|| !is_alive(worker));
    // The copy, which has mapped the library as well.
    let mut copies = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let process = entry.unwrap();
        let maps = std::fs::read_to_string(process.path().join("maps"));
        if maps.is_ok_and(|maps| maps.contains(&library)) {
            copies.push(process.file_name());
        }
    }
    Command::new("kill").arg("-KILL").args(&copies).status().unwrap();
    assert!(ended, "worker {worker}");
    assert_eq!(copies.len(), 1);
}

#[test]
fn variables_that_change_what_plugins_do_stay_with_the_host() {
    let variables = [("BLOSC_TYPESIZE", "8"), ("HDF5_PLUGIN_PATH", "/nowhere"), ("LD_PRELOAD", "")];
    if !plays("variables_that_change_what_plugins_do_stay_with_the_host", &variables) {
        return;
    }
    let Some(folder) = faulty(&[]) else { return };
    assert!(std::env::var_os("BLOSC_TYPESIZE").is_some());
    let registry = registry(folder.path(), isolation());
    assert_eq!(decode(&*coder(&registry, FAULTY), b"Environment").unwrap(), b"Environment");
    // So that blosc may encode in a worker, and in this process not.
    let Ok(python) = python() else { return };
    let folder = python.plugin_dir("hdf5plugin").unwrap();
    let encode = |isolation| {
        let coder = self::registry(&folder, isolation).by_id(32_001).unwrap().codec().coder(&[2, 2, 4, 4096]);
        let coder = coder.unwrap();
        coder.encode(&mut coder.scratch(), &[7; 4096], &mut [0; 8192])
    };
    let error = encode(Isolation::default()).unwrap_err().to_string();
    assert!(error.contains("BLOSC_TYPESIZE"), "{error}");
    encode(isolation()).unwrap();
}

#[test]
fn the_library_is_opened_by_workers_only_and_the_report_says_so() {
    let Some(folder) = faulty(&[]) else { return };
    let library = folder.path().join("libfaulty.so").display().to_string();
    let is_mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().contains(&library);
    let isolated = registry(folder.path(), isolation());
    let entry = isolated.by_id(FAULTY).unwrap();
    assert!(isolated.report().files().next().unwrap().isolated);
    assert!(entry.origin().to_string().contains("in a worker process"), "{}", entry.origin());
    assert!(isolated.explain("40400").to_string().contains("in a worker process"));
    assert_eq!(decode(&*coder(&isolated, FAULTY), b"well").unwrap(), b"well");
    assert!(!is_mapped());
    let here = registry(folder.path(), Isolation::default());
    assert_eq!(decode(&*coder(&here, FAULTY), b"well").unwrap(), b"well");
    assert!(!here.report().files().next().unwrap().isolated);
    assert!(is_mapped());
}

#[test]
fn a_list_of_plugins_holds_for_every_worker() {
    let Some(folder) = faulty(&[]) else { return };
    let (library, list) = (folder.path().join("libfaulty.so"), folder.path().join("list.json"));
    let open = || {
        let folders = vec![folder.path().to_owned()];
        Registry::builder()
            .plugin_path(folders)
            .builtins(false)
            .isolation(isolation())
            .allow_list(list.clone())
            .build()
    };
    let here = registry(folder.path(), Isolation::default());
    let admitted = here.make_allow_list().unwrap().0;
    std::fs::write(&list, admitted.to_json().to_string()).unwrap();
    let locked = open();
    let coder = coder(&locked, FAULTY);
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
    // Another file, as the worker has mapped this one.
    let mut bytes = std::fs::read(&library).unwrap();
    bytes.push(0);
    std::fs::remove_file(&library).unwrap();
    std::fs::write(&library, bytes).unwrap();
    assert_eq!(decode(&*coder, b"well").unwrap(), b"well");
    decode(&*coder, b"Segfault").unwrap_err();
    let error = decode(&*coder, b"well").unwrap_err().to_string();
    assert!(error.contains("changed since it was put on the plugin allow-list"), "{error}");
    let file = open();
    let file = file.report().files().find(|file| file.path == library).unwrap();
    assert!(file.verdict == Verdict::Refused && file.reason.contains("changed since"), "{}", file.reason);
}

#[test]
fn libraries_are_isolated_one_by_one_by_name_path_or_number() {
    let Some(folder) = faulty(&[]) else { return };
    let library = folder.path().join("libfaulty.so");
    let isolated = |names: &[&str]| {
        let only = names.iter().map(|name| name.parse().unwrap()).collect();
        let registry = registry(folder.path(), Isolation { which: Which::Only(only), ..isolation() });
        assert_eq!(decode(&*coder(&registry, FAULTY), b"well").unwrap(), b"well");
        let notes = registry.report().notes.join("; ");
        (registry.report().files().next().unwrap().isolated, notes)
    };
    for name in ["libfaulty.so", library.to_str().unwrap(), "40400"] {
        assert_eq!(isolated(&[name]), (true, String::new()), "{name}");
    }
    let (is_isolated, notes) = isolated(&["libother.so", "40401"]);
    assert!(!is_isolated);
    assert!(notes.contains("libother.so") && notes.contains("40401"), "{notes}");
}

#[test]
fn a_native_face_is_used_in_this_process_and_its_library_served_by_its_c_faces_if_it_is_named() {
    let folder = build_plugins().unwrap();
    let of = |which| registry(&folder, Isolation { which, ..isolation() });
    let foreign = of(Which::Foreign);
    assert!(foreign.report().files().all(|file| !file.isolated));
    let name = plugin("zstd").unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap();
    let gzip = "libncz_gzip.so".parse().unwrap();
    let named = of(Which::Only(vec![name, gzip]));
    let entry = named.by_id(32_015).unwrap();
    assert!(entry.origin().to_string().contains("HDF5+NCZarr, in a worker process"), "{}", entry.origin());
    let coder = entry.codec().coder(&[5]).unwrap();
    let chunk: Vec<u8> = (0..100_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    let mut stream = vec![0; coder.max_encoded_len(chunk.len()).unwrap()];
    let len = coder.encode(&mut coder.scratch(), &chunk, &mut stream).unwrap();
    let mut back = vec![0; chunk.len()];
    assert_eq!(coder.decode(&mut coder.scratch(), &stream[..len], &mut back).unwrap(), chunk.len());
    assert!(back == chunk);
    let config = serde_json::json!({"level": 7});
    let config =
        entry.codec().parse_json(ncz_codec::Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new());
    assert_eq!(config.unwrap().to_params().unwrap(), [7]);
    let gzip = named.report().files().find(|file| file.path.ends_with("libncz_gzip.so")).unwrap();
    assert_eq!(gzip.verdict, Verdict::Refused);
    assert!(gzip.reason.contains("only a native face"), "{}", gzip.reason);
}
