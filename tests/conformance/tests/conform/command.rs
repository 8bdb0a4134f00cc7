//! The program as a user meets it: what it prints, how it ends, and the committed list of its checks.

#![expect(clippy::unwrap_used, reason = "helpers of tests are outside test functions")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ncz_conform::cases;
use ncz_test_support::workspace_root;
use serde_json::Value;

/// Runs the program: its exit code, standard output and standard error.
fn conform(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ncz-conform"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn library(name: &str) -> PathBuf {
    ncz_test_support::build_examples("ncz-bad-plugins").unwrap().remove(name).unwrap()
}

/// Runs the program on a library with more arguments.
fn on(library: &Path, line: &str) -> (i32, String, String) {
    conform([library.as_os_str()].into_iter().chain(words(line).into_iter().map(OsStr::new)))
}

#[test]
fn a_fit_library_ends_with_0_and_one_with_findings_with_1() {
    let (code, out, _) = on(&library("good"), "--level 1 --include records");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("fit at level 1") && out.contains("seed "), "{out}");

    let (code, out, _) = on(&library("null_filter"), "--level 2 --include records");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("no filter function") && out.contains("unfit: "), "{out}");
    assert!(out.contains("--include records.hdf5 --target library"), "no replay line:\n{out}");
}

#[test]
fn warnings_are_findings_only_under_strict() {
    let warned = library("id_last");
    let (code, out, _) = on(&warned, "--level 2 --include records.hdf5-id");
    assert!(code == 0 && out.contains("warned"), "{code}\n{out}");
    let (code, out, _) = on(&warned, "--level 2 --include records.hdf5-id --strict");
    assert_eq!(code, 1, "{out}");
}

#[test]
fn what_is_asked_for_wrongly_ends_with_2_and_the_remedy() {
    let good = library("good");
    for (line, remedy) in [
        ("--include library.laod", "did you mean library.load?"),
        ("--exclude nonsense-of-mine", "--list"),
        ("--include threads.conversions --level 1", "begins at level 5; add --level 5"),
        ("--include library.load --target native:none", "available parts (library, hdf5:"),
        ("--include damaged --mutations 0", "1.."),
        ("--level 11", "1..=10"),
        ("--params x", "32015=3"),
        (
            "--include library.load --params 40201=1",
            "filter 40201, for which --params is given; there are 40200",
        ),
        ("--include library.load --lossy 40201", "filter 40201, for which --lossy is given; there are 40200"),
        ("--target filter", "hdf5:32015"),
        ("--timeout 0", "seconds"),
        ("--nonsense", "--help"),
    ] {
        let (code, out, error) = on(&good, line);
        assert_eq!(code, 2, "{line}: {out}{error}");
        assert!(error.contains(remedy), "{line}: {error}");
    }
    assert_eq!(conform([""; 0]).0, 2);
}

#[test]
fn options_for_a_filter_are_for_the_libraries_that_have_it() {
    let [good, other] = ["name_of_another", "id_last"].map(library);
    let options =
        "--level 2 --include records.hdf5-id --include pairing.name --params 65535=1 --lossy 40200 --json -";
    let arguments = [good.as_os_str(), other.as_os_str()].into_iter();
    let (code, out, error) = conform(arguments.chain(words(options).into_iter().map(OsStr::new)));
    assert!(code < 2, "{code}: {error}");
    let report: Value = serde_json::from_str(&out).unwrap();
    for (index, given, not) in [(0, "--lossy 40200", "--params"), (1, "--params 65535=1", "--lossy")] {
        let replay = report["libraries"][index]["results"][0]["replay"].as_str().unwrap();
        // Other options would be refused with only this library.
        assert!(replay.contains(given) && !replay.contains(not), "{replay}");
    }
    // One that does not open may have any filter.
    let (code, _, error) = on(&library("load_crashes"), "--include library.load --level 1 --params 40201=1");
    assert_eq!(code, 1, "{error}");
}

#[test]
fn what_cannot_be_done_ends_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("libmissing.so");
    let (code, _, error) = on(&missing, "");
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("libmissing.so cannot be read"), "{error}");
    let (code, _, error) = on(folder.path(), "");
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("holds no file with the name of a plugin"), "{error}");
    let good = library("good");
    let (code, _, error) = on(&good, "--include records --json /nowhere/at/all.json");
    assert_eq!(code, 3, "{error}");
}

#[test]
fn a_folder_means_each_file_in_it_with_the_name_of_a_plugin() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libb.so", "liba.so", "README", "c.so"] {
        std::fs::copy(library("good"), folder.path().join(name)).unwrap();
    }
    std::fs::create_dir(folder.path().join("libfolder.so")).unwrap();
    let (code, out, error) = on(folder.path(), "--include records.hdf5 --verbose");
    assert_eq!(code, 0, "{out}{error}");
    let at = |name: &str| out.find(name);
    assert!(at("liba.so").is_some() && at("liba.so") < at("libb.so"), "{out}");
    assert!(at("README").is_none() && at("c.so").is_none() && at("libfolder").is_none(), "{out}");
}

#[test]
fn help_starts_with_examples_and_lists_the_exit_codes() {
    let (code, out, _) = conform(["--help"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("Example: ncz-conform "), "{out}");
    assert!(out.contains("Exit codes: 0 no library is unfit"), "{out}");
    // The mark of workers is not an option.
    assert!(!out.contains("ncz-conform-worker"), "{out}");
    assert_eq!(conform(["ncz-conform-worker"]).0, 2);
}

#[test]
fn the_checks_are_listed_for_people_and_for_programs() {
    let (code, out, _) = conform(words("--list --level 10"));
    assert_eq!(code, 0);
    let ids: Vec<_> = out.lines().map(|line| words(line)[0]).collect();
    assert_eq!(ids, cases::all().map(|check| check.id).collect::<Vec<_>>());
    let (_, damaged, _) = conform(words("--list --level 1 --include damaged"));
    assert!(damaged.lines().all(|line| line.starts_with("damaged.") && words(line)[1] == "1"), "{damaged}");
    let (code, json, _) = conform(words("--list --level 10 --json -"));
    assert_eq!(code, 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    let listed = json["checks"].as_array().unwrap();
    assert_eq!(listed.iter().map(|check| check["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    assert!(listed.iter().all(|check| check["level"].is_u64() && check["about"].is_string()), "{json}");
}

#[test]
fn a_random_seed_differs_between_runs() {
    let good = library("good");
    let seeds = [0; 2].map(|_| {
        let (_, out, _) = on(&good, "--level 1 --include records.hdf5");
        let seed = out.rsplit_once("seed ").unwrap().1.split_whitespace().next().unwrap().to_owned();
        seed.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap()
    });
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn the_committed_list_of_checks_is_that_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("CHECKS.md");
    let wanted = checks_page();
    if std::env::var_os("NCZ_BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        committed == wanted,
        "CHECKS.md is not up to date. Ids are public: add a line to CHANGELOG.md, then\n  \
        NCZ_BLESS=1 cargo test -p ncz-conform --test conform command::committed"
    );
    let change_log =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("CHANGELOG.md")).unwrap();
    for check in cases::all() {
        assert!(change_log.contains(&format!("`{}`", check.id)), "CHANGELOG.md does not name {}", check.id);
    }
}

/// The page `CHECKS.md`.
fn checks_page() -> String {
    let mut page = "\
# The checks

What `ncz-conform --list --level 10` shows, and the plugins of `tests/bad-plugins` that break each rule. The ids are
public: one is never given to another rule, and each change is a line of `CHANGELOG.md`. A test compares this page
with the program.

| check | from level | run on | asks that | broken by |
| --- | --- | --- | --- | --- |
"
    .to_owned();
    let broken_by = broken_by();
    for check in cases::all() {
        let plugins = broken_by.get(check.id).map(|plugins| plugins.join(", ")).unwrap_or_default();
        let (id, level, scope, about) = (check.id, check.level, check.scope.word(), check.about);
        writeln!(page, "| {id} | {level} | {scope} | {} | {plugins} |", about.replace('|', "\\|")).unwrap();
    }
    page
}

/// The bad plugins that each check finds.
fn broken_by() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(workspace_root().join("tests/bad-plugins/VERDICTS.md")).unwrap();
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for row in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        if let [library, _, _, check, ..] = cells[..]
            && cases::by_id(check).is_some()
        {
            found.entry(check.to_owned()).or_default().push(library.to_owned());
        }
    }
    assert!(found.len() > 30, "{found:?}");
    found
}
