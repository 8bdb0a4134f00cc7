use std::fs::File;

use ncz_test_support::{build_plugins, fixtures};

use crate::bench::{Run, command, ncz, ocean, run};

fn copied(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command();
    command.env_remove("NCTRACING").env_remove("NCLOGGING").envs(variables.iter().copied());
    command.arg("copy").arg(ocean()).arg(folder.path().join("copy.zarr")).args(arguments);
    run(&mut command).ends(0)
}

fn lacks(run: &Run, unwanted: &[&str]) {
    for text in unwanted {
        assert!(!run.stderr.contains(text), "{text:?} is in\n{}", run.stderr);
    }
}

#[test]
fn each_v_logs_more() {
    lacks(&copied(&[], &[]), &["dataset opened", "INFO"]);
    let once = copied(&["-v"], &[]).says(&[
        "dataset opened store=",
        "format=Nczarr(Attributes)",
        "documents=",
        "rounds=",
        "variable copied variable=\"/air_temperature\"",
        "dataset finished store=",
    ]);
    lacks(&once, &["DEBUG", "codecs bound", "ncz_zarr"]);
    let twice =
        copied(&["-vv"], &[]).says(&["INFO ncz_zarr: dataset opened", "DEBUG ncz_model: codecs bound"]);
    let bound = twice.stderr.lines().find(|line| line.contains("codecs bound variable=\"/air_temperature\""));
    assert!(bound.unwrap().contains("codecs=shuffle [4] (built-in) | deflate ["), "{bound:?}");
}

#[test]
fn netcdfs_variables_ask_for_the_same() {
    let traced = copied(&[], &[("NCTRACING", "1")]).says(&["INFO dataset opened"]);
    let line = traced.stderr.lines().find(|line| line.contains("dataset opened")).unwrap();
    let shape: String = line[..13].chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "00:00:00.000 ", "{line}");
    copied(&[], &[("NCTRACING", "9")]).says(&["DEBUG ncz_model: codecs bound"]);
    let noted = copied(&[], &[("NCLOGGING", "NOTE")]).says(&["INFO dataset opened"]);
    assert!(noted.stderr.lines().all(|line| !line.starts_with(|c: char| c.is_ascii_digit())));
    copied(&[], &[("NCLOGGING", "debug")]).says(&["DEBUG ncz_model: codecs bound"]);
    for (name, value) in
        [("NCLOGGING", "OFF"), ("NCLOGGING", "ERR"), ("NCLOGGING", "WARN"), ("NCTRACING", "0")]
    {
        lacks(&copied(&[], &[(name, value)]), &["dataset opened", "warning: NC"]);
    }
    copied(&["-v"], &[("NCLOGGING", "OFF")]).says(&["INFO dataset opened"]);
    let quiet = copied(&["-q"], &[("NCTRACING", "9"), ("NCLOGGING", "DEBUG")]);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_value_that_means_nothing_is_warned_of() {
    copied(&[], &[("NCLOGGING", "LOUD")])
        .says(&["warning: NCLOGGING=\"LOUD\" is not a level; use OFF, ERR, WARN, NOTE"]);
    copied(&[], &[("NCTRACING", "all")]).says(&["warning: NCTRACING=\"all\" is not a number"]);
}

#[test]
fn the_stored_and_the_working_words_of_a_codec_are_distinguished() {
    let path = fixtures().join("ocean.nczarr");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("szip.nczarr");
    let variable = "air_temperature";
    ncz(["copy", path.to_str().unwrap(), target.to_str().unwrap(), "-F", &format!("{variable},szip,141,32")])
        .ends(0);
    let printed = ncz(["info", "-vv", target.to_str().unwrap()]).ends(0);
    let bound =
        printed.stderr.lines().find(|line| line.contains("codecs bound variable=\"/air_temperature\""));
    assert!(bound.unwrap().contains("codecs=szip [141, 32], runs with [141, 32, "), "{bound:?}");
}

#[test]
fn the_choice_of_a_plugin_is_reported_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().to_str().unwrap();
    let alone = ncz(["codec", "-v", "--plugin-path", none, "zstd,3"]).ends(0);
    let alone = alone.says(&["searched for plugins folders=1 files=0"]);
    lacks(&alone, &["codec chosen"]);
    ncz(["codec", "-vv", "--no-plugins", "zstd,3"])
        .ends(0)
        .says(&["codec chosen codec=\"zstd\" id=32015 from=built-in"]);

    let plugins = build_plugins().unwrap();
    let mut command = command();
    command.env("HDF5_PLUGIN_PATH", &plugins).args(["codec", "-v", "--prefer", "plugins", "zstd,3"]);
    let chosen = run(&mut command).ends(0);
    let line = chosen.stderr.lines().find(|line| line.contains("codec chosen codec=\"zstd\""));
    let line = line.unwrap_or_else(|| panic!("{}", chosen.stderr));
    for text in
        ["libncz_h5zstd", "(native)", "passed_over=built-in: shadowed by", "HDF5_PLUGIN_PATH, built-in,"]
    {
        assert!(line.contains(text), "{text:?} is missing in {line}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_trace_that_cannot_be_written_stops_nothing() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status = command().args(["info", "-vvv", ocean().to_str().unwrap()]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn progress_is_written_as_lines_of_json_for_programs_that_ask_for_it() {
    lacks(&copied(&["--verify"], &[("NCZ_PROGRESS", "")]), &["progress"]);
    let run = copied(&["--verify"], &[("NCZ_PROGRESS", "json")]);
    let lines: Vec<serde_json::Value> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("{\"progress\":"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for phase in ["copying", "verifying"] {
        let of_phase: Vec<_> = lines.iter().filter(|line| line["progress"] == phase).collect();
        assert_eq!(of_phase[0]["done"], 0, "{phase}: {lines:?}");
        let last = of_phase.last().unwrap();
        assert_eq!(last["done"], last["total"], "{phase}: {lines:?}");
        assert!(
            of_phase.windows(2).all(|two| two[0]["done"].as_u64() <= two[1]["done"].as_u64()),
            "{lines:?}"
        );
    }
}
