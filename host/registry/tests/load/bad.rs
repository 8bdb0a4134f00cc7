//! Plugins in C that break a rule: each is a reason, none is a crash.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ncz_registry::registry::Registry;
use ncz_registry::report::Verdict;
use ncz_test_support::workspace_root;

use super::*;

/// Compiles `bad.c` with `arguments` to a library; `None` is a skip that was announced.
fn compile(folder: &Path, name: &str, arguments: &[&str]) -> Option<PathBuf> {
    let compiler = program("cc").ok()?;
    let library = folder.join(format!("lib{name}.so"));
    let mut command = Command::new(compiler);
    command.args(["-std=c99", "-Wall", "-Wextra", "-shared", "-fPIC"]);
    command.arg(workspace_root().join("host/registry/tests/load/bad.c")).arg("-o").arg(&library);
    command.args(arguments);
    run(&mut command, Duration::from_secs(60)).unwrap().success("cc").unwrap();
    Some(library)
}

/// Returns verdict and reason of a folder with only this library.
fn verdict(name: &str, arguments: &[&str]) -> Option<(Verdict, String)> {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), name, arguments)?;
    let registry = Registry::builder().plugin_path(vec![folder.path().to_owned()]).build();
    let file = registry.report().files().next().unwrap();
    Some((file.verdict, file.reason.clone()))
}

fn check_all(cases: &[(&str, &str, Verdict, &str)]) {
    for (name, argument, wanted, part) in cases {
        let Some((verdict, reason)) = verdict(name, &[argument]) else { return };
        assert_eq!(verdict, *wanted, "{name}: {reason}");
        assert!(reason.contains(part) && !reason.contains('\n'), "{name}: {reason}");
    }
}

#[test]
fn a_bad_record_of_a_filter_is_a_reason() {
    use Verdict::{Ignored, Incomplete, Refused};
    check_all(&[
        ("good", "-DGOOD", Incomplete, "no NCZarr codec"),
        ("data", "-DDATA", Ignored, "exports no plugin entry point"),
        ("other_type", "-DOTHER_TYPE", Refused, "its plugin type is 1"),
        ("endless", "-DENDLESS", Refused, "its name is not readable text"),
        ("control", "-DCONTROL", Refused, "its name is not readable text"),
        ("older", "-DVERSION=0", Refused, "its record has version 0; this program knows 1"),
        ("odd", "-DODD_ADDRESS", Incomplete, "no NCZarr codec"),
    ]);
}

#[test]
fn a_bad_native_table_is_a_reason() {
    check_all(&[
        ("empty", "-DNATIVE=0", Verdict::Refused, "it states 0 codecs"),
        ("error", "-DNATIVE=1", Verdict::Refused, "codec number 0: the plugin reported failure (code -77)"),
        ("header", "-DHEADER", Verdict::Refused, "incompatible version of the codec interface"),
    ]);
}

#[test]
fn entries_of_a_dependency_are_not_the_librarys_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(needed) = compile(folder.path(), "needed", &["-DDEPENDENCY"]) else { return };
    let needed = needed.to_str().unwrap();
    let library = compile(folder.path(), "needs", &["-DNEEDS", "-Wl,--no-as-needed", needed]).unwrap();
    let library = load::open(&library).unwrap();
    assert!(library.hdf5().is_none() && library.codecs().is_empty() && library.default_codecs().is_empty());
}

#[test]
fn libraries_that_share_a_libhdf5_run_one_call_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some(shared) = compile(folder.path(), "shared", &["-DSHARED"]) else { return };
    let coder = |name| {
        let path = compile(folder.path(), name, &["-DUSES_SHARED", shared.to_str().unwrap()]).unwrap();
        let half = load::open(&path).unwrap().hdf5().unwrap().unwrap();
        ForeignCodec::new(Some(Arc::new(half)), None).coder(&[]).unwrap()
    };
    let coders = [coder("one"), coder("two")];
    std::thread::scope(|scope| {
        for coder in &coders {
            scope.spawn(|| {
                for _ in 0..20 {
                    coder.decode(&mut coder.scratch(), b"abcd", &mut [0; 4]).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_filter_runs_after_its_library_is_initialised_once() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compile(folder.path(), "initializes", &["-DINITIALIZES"]) else { return };
    let library = load::open(&path).unwrap();
    for speaks in [true, false] {
        let codec = speaks.then(|| Arc::new(library.codecs().remove(0).unwrap()) as Arc<dyn JsonTranslator>);
        let half = library.hdf5().unwrap().unwrap();
        let coder = ForeignCodec::new(Some(Arc::new(half)), codec).coder(&[]).unwrap();
        assert_eq!(coder.decode(&mut coder.scratch(), b"abcd", &mut [0; 4]).unwrap(), 4);
    }
}

#[test]
fn a_library_whose_file_was_replaced_is_not_opened_a_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compile(folder.path(), "replaced", &[]) else { return };
    let library = load::open(&path).unwrap();
    std::fs::rename(compile(folder.path(), "newer", &[]).unwrap(), &path).unwrap();
    // The loader returns the one that is loaded; two locks for it would let two threads in.
    assert!(Arc::ptr_eq(&library, &load::open(&path).unwrap()));
}

#[test]
fn code_that_runs_on_opening_runs_only_of_plugins_that_are_loaded() {
    let (folder, marks) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (name, argument) in [("plugin", "-DGOOD"), ("other", "-DNOTHING")] {
        let mark = format!("-DMARK=\"{}\"", marks.path().join(name).display());
        if compile(folder.path(), name, &[argument, &mark]).is_none() {
            return;
        }
    }
    let registry = Registry::builder().plugin_path(vec![folder.path().to_owned()]).build();
    let ran = |name| marks.path().join(name).exists();
    assert_eq!(registry.report_without_loading().files().count(), 2);
    assert_eq!((ran("plugin"), ran("other")), (false, false));
    assert_eq!(registry.report().files().count(), 2);
    assert_eq!((ran("plugin"), ran("other")), (true, false));
}

#[test]
fn a_name_that_two_libraries_have_means_to_each_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for answer in [1, 2] {
        let define = format!("-DANSWER={answer}");
        let Some(path) = compile(folder.path(), &format!("answers{answer}"), &[&define]) else { return };
        let half = load::open(&path).unwrap().hdf5().unwrap().unwrap();
        let coder = ForeignCodec::new(Some(Arc::new(half)), None).coder(&[]).unwrap();
        let mut output = [0; 4];
        coder.decode(&mut coder.scratch(), b"abcd", &mut output).unwrap();
        assert_eq!(output[0], answer);
    }
}
