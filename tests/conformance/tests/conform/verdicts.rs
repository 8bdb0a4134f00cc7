//! The runner's verdicts on plugins that each break one rule: what `tests/bad-plugins/VERDICTS.md` says of them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ncz_conform::outcome::{Outcome, Verdict};
use ncz_conform::results::LibraryResult;
use ncz_conform::trial::Settings;
use ncz_conform::{Conformance, cases};
use ncz_test_support::{build_binary, build_examples, run, workspace_root};
use serde_json::Value;

/// How long a check may run, and how long one that is meant to hang.
const TIMEOUTS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(8)];
/// The fault is in what happens on opening, and no program that opens them in its own process survives it.
const DEADLY: [&str; 3] = ["load_crashes", "load_hangs", "load_closes_stdout"];

/// A row of the table.
#[derive(Debug)]
struct Row {
    library: String,
    fault: String,
    level: u8,
    check: String,
    outcome: Verdict,
    words: String,
    also: Vec<String>,
}

impl Row {
    /// Whether the table takes a finding of that check for another side of the same fault.
    fn allows(&self, check: &str) -> bool {
        self.also.iter().any(|also| match also.strip_suffix('*') {
            Some(start) => check.starts_with(start),
            None => also == check,
        })
    }
}

fn folder() -> PathBuf {
    workspace_root().join("tests/bad-plugins")
}

fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("VERDICTS.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells
        .filter(|cells| cells[0] != "library" && !cells[0].starts_with("---"))
        .map(|cells| {
            let [library, fault, level, check, outcome, words, also] =
                <[String; 7]>::try_from(cells).unwrap_or_else(|cells| panic!("{cells:?}"));
            Row {
                level: level.parse().unwrap(),
                outcome: Verdict::of_word(&outcome).unwrap_or_else(|| panic!("{library}: {outcome}")),
                also: also.split_whitespace().map(str::to_owned).collect(),
                library,
                fault,
                check,
                words,
            }
        })
        .collect()
}

/// The names of the examples, and the first sentence of each file.
fn examples() -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder().join("examples")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
            let doc = lines.collect::<Vec<_>>().join(" ");
            let end = [": ", ". "].iter().filter_map(|end| doc.find(end)).min();
            let sentence = end.map_or(doc.trim_end_matches('.'), |end| &doc[..end]);
            (file.file_stem().unwrap().to_str().unwrap().to_owned(), sentence.to_owned())
        })
        .collect()
}

#[test]
fn every_bad_plugin_has_one_verdict_and_every_group_a_bad_plugin() {
    let table = table();
    let faults: BTreeMap<_, _> = table.iter().map(|row| (row.library.clone(), row.fault.clone())).collect();
    assert_eq!(faults.len(), table.len(), "a library is in the table twice");
    let mut examples = examples();
    examples.retain(|name, _| !name.starts_with("good"));
    assert_eq!(faults, examples, "the table, and the first sentences of the files");

    let levels: BTreeMap<_, _> = cases::all().map(|check| (check.id, check.level)).collect();
    for row in &table {
        let ids = std::iter::once(&row.check).chain(row.also.iter().filter(|also| !also.ends_with('*')));
        for id in ids {
            let level = levels.get(id.as_str()).unwrap_or_else(|| panic!("{}: no check {id}", row.library));
            assert!(*level <= row.level, "{}: {id} begins at level {level}", row.library);
        }
        assert!(row.outcome == Verdict::Warned || row.outcome.is_bad(), "{row:?}");
    }
    let broken: BTreeSet<_> = table.iter().filter_map(|row| row.check.split('.').next()).collect();
    for group in ["library", "records", "roundtrip", "buffers", "parameters", "damaged", "threads", "pairing"]
    {
        assert!(broken.contains(group), "no plugin breaks a rule of {group}");
    }
}

/// Runs the runner, as `ncz-conform`, over one library.
fn conform(library: &Path, level: u8, timeout: Duration) -> LibraryResult {
    // The C library of the building machine is not a fault of the plugin's.
    let settings = Settings { level, glibc: (2, 9999), ..Settings::default() };
    let run = Conformance::of(library)
        .settings(settings)
        .timeout(timeout)
        .exclude("speed")
        .worker(env!("CARGO_BIN_EXE_ncz-conform"))
        .run()
        .unwrap();
    assert!(run.bugs.is_empty(), "{}: {:?}", library.display(), run.bugs);
    run.libraries.into_iter().next().unwrap()
}

/// The mismatches with the row, one per line.
fn compare(row: &Row, result: &LibraryResult) -> String {
    let mut wrong = String::new();
    let mut tell = |what: &str, found: &ncz_conform::results::CheckResult| {
        let (verdict, message) = (found.outcome.verdict, found.outcome.message.replace('\n', " / "));
        writeln!(
            wrong,
            "{}: {what}: {} of {} {verdict}: {message}",
            row.library, found.check.id, found.target
        )
        .unwrap();
    };
    let (named, others): (Vec<_>, Vec<_>) =
        result.results.iter().partition(|result| result.check.id == row.check);
    for other in others {
        if other.outcome.verdict.is_bad() && !row.allows(other.check.id) {
            tell("not in the table", other);
        }
    }
    let is_meant = |verdict: Verdict| verdict == row.outcome;
    for found in &named {
        if is_meant(found.outcome.verdict) && !found.outcome.message.contains(&row.words) {
            tell(&format!("does not say {:?}", row.words), found);
        } else if found.outcome.verdict.is_bad() && !is_meant(found.outcome.verdict) {
            tell(&format!("should be {}", row.outcome), found);
        }
    }
    if !named.iter().any(|found| is_meant(found.outcome.verdict)) {
        named.iter().for_each(|found| tell(&format!("should be {}", row.outcome), found));
        if named.is_empty() {
            writeln!(wrong, "{}: {} did not run", row.library, row.check).unwrap();
        }
    }
    wrong
}

fn verdicts_of(group: &str) {
    let libraries = build_examples("ncz-bad-plugins").unwrap();
    let rows = table().into_iter().filter(|row| row.check.starts_with(&format!("{group}.")));
    let compare = |row: Row| {
        let timeout = TIMEOUTS[usize::from(row.outcome == Verdict::Hung)];
        compare(&row, &conform(&libraries[&row.library], row.level, timeout))
    };
    let wrong: String = rows.map(compare).collect();
    assert!(wrong.is_empty(), "\n{wrong}");
}

macro_rules! groups {
    ($($group:ident),+) => {$(
        mod $group {
            #[test]
            fn bad_plugins_get_exactly_their_verdicts() {
                super::verdicts_of(stringify!($group));
            }
        }
    )+};
}

groups!(library, records, roundtrip, buffers, parameters, damaged, threads, pairing, interop);

#[test]
fn good_plugins_break_no_rule() {
    let libraries = build_examples("ncz-bad-plugins").unwrap();
    let good = libraries.iter().filter(|(name, _)| name.starts_with("good"));
    let mut wrong = String::new();
    for (name, library) in good {
        // All faces at the ordinary level, parts of them for a look.
        for found in conform(library, if name == "good" { 5 } else { 3 }, TIMEOUTS[0]).results {
            if found.outcome.verdict.is_bad() {
                writeln!(wrong, "{name}: {} of {}: {}", found.check.id, found.target, found.outcome.message)
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The outcome of one check of a file that is made of the good plugin by a change of its bytes.
fn outcome_of_changed(check: &str, level: u8, change: fn(&mut Vec<u8>)) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("libchanged.so");
    let mut bytes = std::fs::read(&build_examples("ncz-bad-plugins").unwrap()["good_hdf5_only"]).unwrap();
    change(&mut bytes);
    std::fs::write(&changed, bytes).unwrap();
    let result = conform(&changed, level, TIMEOUTS[0]);
    let others =
        result.results.iter().filter(|found| found.check.id != check && found.check.id != "library.load");
    for other in others {
        assert!(!other.outcome.verdict.is_bad(), "{check}: {other:?}");
    }
    result.results.iter().find(|found| found.check.id == check).unwrap().outcome.clone()
}

/// Faults of a file that no source of a library brings about; the layout is that of ELF, 64 bits, little-endian.
#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
fn changed_files_get_exactly_their_verdicts() {
    /// The check, a level at which it runs, words of its message, and the change.
    type Case = (&'static str, u8, &'static str, fn(&mut Vec<u8>));

    let executable_stack = |bytes: &mut Vec<u8>| {
        const GNU_STACK: [u8; 4] = 0x6474_e551_u32.to_le_bytes();
        let headers = u64::from_le_bytes(bytes[0x20..0x28].try_into().unwrap()) as usize;
        let count = usize::from(u16::from_le_bytes([bytes[0x38], bytes[0x39]]));
        let header = (0..count).map(|i| headers + i * 0x38).find(|&at| bytes[at..at + 4] == GNU_STACK);
        bytes[header.unwrap() + 4] |= 1;
    };
    let cases: [Case; 4] = [
        ("library.stack", 3, "executable stack", executable_stack),
        ("library.file", 1, "not a shared library", |bytes| *bytes = b"a text".to_vec()),
        ("library.file", 1, "another architecture", |bytes| bytes[0x12] = 0xf3),
        ("library.file", 1, "damaged", |bytes| bytes.truncate(2000)),
    ];
    for (check, level, words, change) in cases {
        let outcome = outcome_of_changed(check, level, change);
        assert_eq!(outcome.verdict, Verdict::Failed, "{check}: {outcome:?}");
        assert!(outcome.message.contains(words), "{words}: {outcome:?}");
    }
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_library_that_needs_a_newer_c_library_is_reported() {
    let good = &build_examples("ncz-bad-plugins").unwrap()["good"];
    let settings = Settings { level: 3, glibc: (2, 4), ..Settings::default() };
    let run = Conformance::of(good).settings(settings).include("library.baseline");
    let run = run.worker(env!("CARGO_BIN_EXE_ncz-conform")).run().unwrap();
    let outcome = &run.libraries[0].results[0].outcome;
    assert_eq!(outcome.verdict, Verdict::Warned, "{outcome:?}");
    assert!(outcome.message.contains("2.4 is stated"), "{outcome:?}");
}

#[test]
fn ncz_uses_a_good_plugin_that_lies_among_bad_ones() {
    let folder = tempfile::tempdir().unwrap();
    for (name, library) in build_examples("ncz-bad-plugins").unwrap() {
        if !DEADLY.contains(&name.as_str()) {
            // All claim one codec, and the first of them gets it.
            let name = if name == "good" { "lib-good.so".to_owned() } else { format!("lib{name}.so") };
            std::fs::copy(library, folder.path().join(name)).unwrap();
        }
    }
    let mut ncz = std::process::Command::new(build_binary("ncz").unwrap());
    ncz.args(["plugins", "list", "--json", "--plugin-path"]).arg(folder.path());
    let output = run(&mut ncz, Duration::from_secs(60)).unwrap();
    let text = output.stdout_text();
    // One of them prints while it is opened.
    let list: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let files = list["folders"][0]["files"].as_array().unwrap();
    assert_eq!(files.len() + DEADLY.len(), examples().len());
    let good = &files[0];
    assert!(good["path"].as_str().unwrap().ends_with("lib-good.so"), "{good}");
    assert_eq!((&good["verdict"], &good["reason"]), (&"loaded".into(), &"".into()), "{good}");
    let verdicts =
        [("class_version", "refused"), ("null_filter_record", "refused"), ("undefined_hdf5", "shadowed")];
    for (name, verdict) in verdicts {
        let name = format!("/lib{name}.so");
        let file = files.iter().find(|file| file["path"].as_str().unwrap().ends_with(&name)).unwrap();
        assert_eq!(file["verdict"], verdict, "{file}");
    }
}
