use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::{big_dataset, command, ncz, ocean, run};

#[test]
fn help_starts_with_an_example_and_names_the_exit_codes() {
    let run = ncz(["--help"]).ends(0);
    assert!(run.stdout.starts_with("Example: ncz copy in.zarr out.zarr"), "{}", run.stdout);
    assert!(
        run.stdout.contains("Exit codes:\n  0 success, 1 success with findings, 2 wrong usage, 3 failure"),
        "{}",
        run.stdout
    );
    let dump = ncz(["dump", "--help"]).ends(0);
    assert!(dump.stdout.contains("-h, --header"), "{}", dump.stdout);
    assert!(ncz(["--version"]).ends(0).stdout.starts_with("ncz "));
    ncz(["copy", "only-one"]).ends(2).says(&["<TARGET>"]);
    ncz(["frobnicate"]).ends(2);
    assert_eq!(ncz::<&str>([]).ends(2).stdout, "");
}

#[test]
fn quiet_says_nothing_and_no_colour_reaches_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x.zarr");
    let quiet = ncz(["copy", "-q", ocean().to_str().unwrap(), target.to_str().unwrap()]).ends(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let mut colourful = command();
    colourful.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "0");
    let run = run(colourful.args(["info", target.to_str().unwrap()])).ends(0);
    assert!(!run.stdout.contains('\x1b'), "{}", run.stdout);
}

#[test]
fn a_reader_that_closes_the_pipe_is_not_an_error() {
    let mut child = command()
        .args(["dump", ocean().to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
#[cfg(target_os = "linux")]
fn notes_that_cannot_be_said_stop_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy.zarr");
    let full = File::options().write(true).open("/dev/full").unwrap();
    // The copy has a note about its unlimited dimension.
    let paths = [ocean(), target.clone()];
    let status = command().arg("copy").args(paths).args(["--format", "zarr"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(target.join(".zgroup").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_as_the_output_is_an_error() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = command().args(["dump", ocean().to_str().unwrap()]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write the output\n  because: "), "{stderr}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_a_copy_and_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let source = big_dataset(folder.path(), 400, 1 << 15);
    let targets = folder.path().join("targets");
    fs::create_dir(&targets).unwrap();
    let target = targets.join("copy.zarr");
    let mut child = command()
        .args([
            "copy",
            source.to_str().unwrap(),
            target.to_str().unwrap(),
            "--codec",
            "bz2,9",
            "--threads",
            "1",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The copy is under way when chunks are in its hidden folder.
    let patience = Instant::now() + Duration::from_secs(60);
    let started = || {
        let staged = fs::read_dir(&targets).unwrap().next().map(|entry| entry.unwrap().path().join("t/0"));
        staged.is_some_and(|chunk| chunk.exists())
    };
    while !started() {
        assert!(Instant::now() < patience && child.try_wait().unwrap().is_none(), "the copy did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert_eq!(stderr, "error: interrupted; the target is as it was before\n");
    assert_eq!(fs::read_dir(&targets).unwrap().count(), 0, "nothing is left");
}
