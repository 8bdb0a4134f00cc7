use std::path::PathBuf;

use ncz_test_support::{build_binary, python};
use serde_json::Value;

use crate::bench::{Run, command, run};

/// Runs ncz on the plugins of hdf5plugin.
fn ncz(folder: &PathBuf, args: &[&str]) -> Run {
    run(command().arg("--plugin-path").arg(folder).args(args))
}

#[test]
fn plugins_run_in_worker_processes_on_request() {
    let Ok(python) = python() else { return };
    let folder = python.plugin_dir("hdf5plugin").unwrap();
    // Next to ncz, where it is searched for.
    let (ncz_program, worker) = (build_binary("ncz").unwrap(), build_binary("ncz-worker").unwrap());
    assert_eq!(ncz_program.parent(), worker.parent());
    let isolated = |args: &[&str]| {
        let report = ncz(&folder, &[&["plugins", "list", "--json"], args].concat());
        let report: Value = serde_json::from_str(&report.stdout).unwrap();
        let files = report["folders"][0]["files"].as_array().unwrap().iter();
        let isolated = files.filter(|file| file["isolated"] == true);
        isolated
            .map(|file| file["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(isolated(&[]).is_empty());
    assert_eq!(isolated(&["--isolate"]).len(), 12);
    assert_eq!(
        isolated(&["--isolate-only", "32028", "--isolate-only", "libh5sz.so"]),
        ["libh5sperr.so", "libh5sz.so"]
    );
    let shown = ncz(&folder, &["plugins", "show", "32028", "--isolate"]).ends(0).stdout;
    assert!(shown.contains("in a worker process"), "{shown}");
    let file = ncz(&folder, &["plugins", "show", "libh5sz.so", "--isolate"]).ends(0).stdout;
    assert!(file.contains("worker process"), "{file}");
    let why = ncz(&folder, &["plugins", "why", "libh5sz.so", "--isolate"]).stdout;
    assert!(why.contains("runs in worker processes"), "{why}");
    let missing =
        ncz(&folder, &["plugins", "avail", "32028", "--isolate", "--worker-program", "/nowhere"]).stdout;
    assert_eq!(missing.matches("the worker program /nowhere cannot be started").count(), 1, "{missing}");
    assert!(missing.contains("so it is with 11 other files"), "{missing}");
}
