//! Reports of a synthetic run whose libraries have the worst names and messages, read by third-party parsers.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are outside test functions")]

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use ncz_conform::cases;
use ncz_conform::check::Target;
use ncz_conform::outcome::{Outcome, Verdict};
use ncz_conform::report::text::Style;
use ncz_conform::report::{self, html, json, junit, markdown, text};
use ncz_conform::results::{CheckResult, LibraryResult, Machine, Run, TargetFacts};
use ncz_conform::trial::Settings;
use serde_json::{Value, json as value};

/// A text with which a plugin tries to escape from its context in a report.
const HOSTILE: &str = "</td></script><script>alert(1)</script> ]]>--><img src=x onerror='x()'> \"&amp;&#0; \
     \x1b]0;title\x07\x1b[31mred\r\0 \u{9b}31m \u{202e}gnp.\u{feff} |`*_[x](http://example.org) \u{ffff}";

/// The text without what no report shows as it is.
fn shown(text: &str) -> String {
    text::visible(text)
}

fn result(id: &str, target: Target, verdict: Verdict, message: &str) -> CheckResult {
    let check = cases::by_id(id).unwrap();
    CheckResult {
        check,
        replay: format!("ncz-conform 'x y.so' --seed 7 --include {id} --target '{target}'"),
        target,
        outcome: Outcome::new(verdict, message),
        took: Duration::from_millis(1234),
        step: verdict.is_bad().then(|| format!("step {message}")),
        stdout: String::new(),
        stderr: String::new(),
    }
}

fn run_of(libraries: Vec<LibraryResult>) -> Run {
    Run {
        version: "9.9.9",
        settings: Settings {
            level: 3,
            seed: u64::MAX,
            params: vec![(32015, vec![3, u32::MAX])],
            lossy: vec![32013],
            mutations: Some(9),
            glibc: (2, 31),
        },
        replay: format!("ncz-conform '{HOSTILE}' --seed 7"),
        started: UNIX_EPOCH + Duration::from_secs(1_798_761_599),
        took: Duration::from_millis(65_432),
        machine: Machine {
            system: format!("Linux {HOSTILE}"),
            architecture: "x86_64",
            cpus: 2,
            c_library: Some("glibc 2.36".to_owned()),
        },
        libraries,
        bugs: Vec::new(),
    }
}

/// A library without anything to say, and one with everything.
fn run(hostile: &str) -> Run {
    let native = || Target::Native(hostile.to_owned());
    let mut fast = result("speed.encode", Target::Hdf5(32015), Verdict::Passed, "");
    fast.outcome.figures.insert("encode MB/s".to_owned(), value!(812.25));
    let mut slow = result("speed.decode", Target::Hdf5(32015), Verdict::Passed, "");
    slow.outcome.figures.insert("decode MB/s".to_owned(), value!(1624.5));
    slow.outcome.figures.insert(hostile.to_owned(), value!([hostile, 1]));
    let mut printed = result("library.quiet", Target::Library, Verdict::Failed, "it writes to stdout");
    (printed.stdout, printed.stderr) = (hostile.to_owned(), hostile.to_owned());
    let two_lines = format!("{hostile}\nthe second line");
    let results = vec![
        result("library.file", Target::Library, Verdict::Passed, ""),
        printed,
        result("roundtrip.one", Target::Hdf5(32015), Verdict::Skipped, "it takes\nno such chunks"),
        result("roundtrip.one", native(), Verdict::Warned, &two_lines),
        result("buffers.size", native(), Verdict::Failed, &two_lines),
        result("damaged.flipped", Target::Hdf5(32015), Verdict::Hung, "no end after 60 s"),
        result("damaged.flipped", native(), Verdict::Crashed, "SIGSEGV"),
        fast,
        slow,
    ];
    let good = LibraryResult {
        path: PathBuf::from("target/libgood.so"),
        size: 4096,
        modified: None,
        crc32: 1,
        targets: vec![TargetFacts { target: Target::Library, facts: Vec::new() }],
        results: vec![result("library.file", Target::Library, Verdict::Passed, "")],
    };
    let bad = LibraryResult {
        path: Path::new("some folder").join(format!("lib{}.so", hostile.replace(['/', '\0'], ""))),
        size: 41_300,
        modified: Some(SystemTime::UNIX_EPOCH),
        crc32: 0xdead_beef,
        targets: [Target::Library, Target::Hdf5(32015), native()]
            .map(|target| TargetFacts { target, facts: vec![("name".to_owned(), hostile.to_owned())] })
            .to_vec(),
        results,
    };
    run_of(vec![good, bad])
}

#[test]
fn a_library_whose_checks_were_all_skipped_is_unchecked_in_every_report() {
    let skipped = || LibraryResult {
        results: vec![result("roundtrip.one", Target::Hdf5(1), Verdict::Skipped, "no parameters")],
        ..run("x").libraries.remove(0)
    };
    let alone = run_of(vec![skipped()]);
    let json = json::value(&alone);
    assert_eq!(
        (&json["verdict"], &json["libraries"][0]["verdict"]),
        (&"unchecked".into(), &"unchecked".into())
    );
    assert_eq!(json["libraries"][0]["summary"], "unchecked: its only check was skipped");
    for text in [text::render(&alone, Style::default()), html::render(&alone)] {
        assert!(text.contains("unchecked: its only check was skipped") && !text.contains("fit at"), "{text}");
    }
    assert!(html::render(&alone).contains("<p class=\"banner skipped\">libgood.so is unchecked: "));

    let mut three = run("x");
    three.libraries.push(skipped());
    assert_eq!(json::value(&three)["verdict"], "unfit");
    let tally = "3 libraries: 1 fit, 1 unfit, 1 unchecked";
    assert!(text::render(&three, Style::default()).contains(tally) && html::render(&three).contains(tally));
    three.libraries.remove(1);
    assert_eq!(json::value(&three)["verdict"], "fit");
}

/// What Python's parsers find in the page and in JUnit's XML.
fn read(run: &Run) -> Option<Value> {
    let python = ncz_test_support::python().ok()?;
    let folder = tempfile::tempdir().unwrap();
    let files = [("page.html", html::render(run)), ("report.xml", junit::render(run))];
    let paths = files.map(|(name, text)| {
        let path = folder.path().join(name);
        report::save(&path, &text).unwrap();
        path
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/read_reports.py");
    let mut command = python.command(&[]);
    let output = ncz_test_support::run(command.arg(script).args(paths), Duration::from_secs(60)).unwrap();
    let text = output.success("read_reports.py").unwrap_or_else(|error| panic!("{error}")).stdout_text();
    Some(serde_json::from_str(&text).unwrap())
}

fn words<'a>(value: &'a Value, path: &str) -> Vec<&'a str> {
    value.pointer(path).unwrap().as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn the_page_is_sound_and_shows_what_was_said() {
    let Some(found) = read(&run(HOSTILE)) else { return };
    assert_eq!(words(&found, "/html/problems"), [""; 0]);
    let verdicts = words(&found, "/html/rows");
    let wanted =
        ["crashed", "hung", "failed", "failed", "warned", "skipped", "passed", "passed", "passed", "passed"];
    assert_eq!(verdicts, wanted, "findings come first");
    let page = html::render(&run(HOSTILE));
    assert!(page.contains("value=\"passed\"> ") && page.contains("value=\"failed\" checked> "));
    assert!(
        page.contains("<a href=\"#check-buffers.size\">") && page.contains("<tr id=\"check-buffers.size\">")
    );
    let text = found["html"]["text"].as_str().unwrap();
    for said in [
        &shown(HOSTILE),
        "the second line",
        "18446744073709551615",
        "812 MB/s",
        "1624 MB/s",
        "SIGSEGV",
        "2026-12-31 23:59:59 UTC",
        "40.3 KiB",
        "deadbeef",
        "unfit: 2 failed, 1 hung, 1 crashed",
        "3 passed, 1 skipped, 1 warned, 2 failed, 1 hung, 1 crashed",
        "ncz-conform 'x y.so' --seed 7 --include buffers.size",
    ] {
        assert!(text.contains(said), "{said:?} is not in {text}");
    }
    // One bar a verdict of each library, and one a speed.
    assert_eq!(found["html"]["tags"]["rect"], 1 + 6 + 2);
    assert_eq!(found["html"]["tags"]["svg"], 2 + 2);
    assert_eq!(found["html"]["tags"]["script"], 1);
}

#[test]
fn build_servers_read_the_cases_and_their_ends() {
    let Some(found) = read(&run(HOSTILE)) else { return };
    let junit = &found["junit"];
    assert_eq!(junit["root"], "testsuites");
    assert_eq!(words(junit, "/problems"), [""; 0]);
    let ends: Vec<Vec<&str>> = (0..10).map(|index| words(junit, &format!("/cases/{index}/end"))).collect();
    let [none, skipped, failure, error] = [&[][..], &["skipped"], &["failure"], &["error"]];
    assert_eq!(ends, [none, none, failure, skipped, none, failure, error, error, none, none]);
    let case = |index: usize, key: &str| junit["cases"][index][key].as_str().unwrap();
    assert_eq!(case(2, "err"), shown(HOSTILE));
    assert_eq!(case(3, "message"), "it takes no such chunks");
    assert!(case(4, "out").contains(&format!("warned: {}\nthe second line", shown(HOSTILE))));
    assert!(
        case(5, "body").contains(&shown(HOSTILE))
            && case(5, "body").contains("\nagain: ncz-conform 'x y.so'")
    );
    assert_eq!(case(5, "name"), format!("buffers.size native:{}", shown(HOSTILE)));
    assert!(case(0, "class").ends_with("libgood_so.library"), "{}", case(0, "class"));
    let properties = junit["suites"][1]["properties"].as_array().unwrap();
    assert!(properties.contains(&value!(["seed", u64::MAX.to_string()])));
    assert!(properties.contains(&value!(["replay", format!("ncz-conform '{}' --seed 7", shown(HOSTILE))])));
}

#[test]
fn whatever_plugins_say_every_report_can_be_read() {
    let mut rng = Rng::with_seed(4);
    let mut saying = || {
        let pieces = [
            "<", ">", "&", "\"", "'", "]]>", "<!--", "</style>", "\u{b}", "\u{1b}", "\u{fffe}", "\n", "|",
            "x",
        ];
        let some = std::iter::repeat_with(|| match rng.u8(..3) {
            0 => rng.char(..).to_string(),
            _ => pieces[rng.usize(..pieces.len())].to_owned(),
        });
        some.take(60).collect::<String>()
    };
    // One run for Python to read, of many libraries.
    let libraries: Vec<LibraryResult> = (0..40).flat_map(|_| run(&saying()).libraries).collect();
    let run = run_of(libraries);
    let read_back: Value = serde_json::from_str(&json::render(&run)).unwrap();
    assert_eq!(read_back, json::value(&run));
    for line in text::render(&run, Style { colour: false, width: Some(80) }).lines() {
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    }
    let Some(found) = read(&run) else { return };
    assert_eq!(words(&found, "/html/problems"), [""; 0]);
    assert_eq!(words(&found["junit"], "/problems"), [""; 0]);
}

#[test]
fn the_json_has_the_names_that_the_readme_promises() {
    let report = json::value(&run(HOSTILE));
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let all = [
        ("", "schema runner started seconds machine settings replay verdict counts bugs libraries"),
        ("/runner", "name version"),
        ("/machine", "system architecture cpus c_library"),
        ("/settings", "level seed params lossy mutations glibc"),
        ("/counts", "passed skipped warned failed hung crashed"),
        ("/libraries/1", "path size modified crc32 verdict summary counts targets results"),
        ("/libraries/1/targets/1", "target facts"),
        ("/libraries/1/targets/1/facts/0", "name value"),
        (
            "/libraries/1/results/0",
            "check about level target verdict message figures seconds step stdout stderr replay",
        ),
    ];
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    for (place, wanted) in all {
        assert_eq!(names(report.pointer(place).unwrap()).join(" "), wanted, "{place}");
        for name in wanted.split(' ') {
            assert!(readme.contains(&format!("`{name}`")), "the README does not say of {place}/{name}");
        }
    }
    assert_eq!(report["schema"], 1);
    assert_eq!(report["started"], "2026-12-31T23:59:59Z");
    assert_eq!(report["settings"]["seed"], u64::MAX.to_string());
    assert_eq!(report["settings"]["params"], value!({"32015": [3, u32::MAX]}));
    let bad = &report["libraries"][1];
    assert_eq!(bad["crc32"], "deadbeef");
    assert_eq!(bad["verdict"], "unfit");
    // Exact, for programs.
    assert_eq!(bad["results"][4]["message"], format!("{HOSTILE}\nthe second line"));
    assert_eq!(bad["results"][4]["target"], format!("native:{HOSTILE}"));
    assert_eq!(bad["results"][7]["figures"]["encode MB/s"], 812.25);
    assert_eq!(bad["results"][5]["seconds"], 1.234);
}

#[test]
fn the_summary_lists_what_did_not_pass() {
    let summary = text::render(&run("x"), Style::default());
    let wanted = "\
target/libgood.so
  1 passed
  fit at level 3

some folder/libx.so
  failed   library.quiet    library     it writes to stdout
  warned   roundtrip.one    native:x    x the second line
  failed   buffers.size     native:x    x the second line
  hung     damaged.flipped  hdf5:32015  no end after 60 s
  crashed  damaged.flipped  native:x    SIGSEGV
  3 passed, 1 skipped, 1 warned, 2 failed, 1 hung, 1 crashed
  unfit: 2 failed, 1 hung, 1 crashed

2 libraries: 1 fit, 1 unfit; 4 passed, 1 skipped, 1 warned, 2 failed, 1 hung, 1 crashed
65.43 s, seed 18446744073709551615
again: ";
    assert!(summary.starts_with(wanted), "{summary}");
}

#[test]
fn a_terminal_gets_colours_of_ours_and_lines_that_fit() {
    for width in [60, 100] {
        let summary = text::render(&run(HOSTILE), Style { colour: true, width: Some(width) });
        let mut plain = summary.clone();
        for code in ["0", "2", "31", "32", "33", "1;31"] {
            plain = plain.replace(&format!("\x1b[{code}m"), "");
        }
        assert_ne!(plain, summary);
        assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
        let findings = plain.lines().filter(|line| line.contains("the second") || line.ends_with('…'));
        for line in findings {
            assert!(line.chars().count() <= width.max(80), "{line}");
        }
    }
}

#[test]
fn a_row_of_the_table_is_a_row_and_names_no_folder() {
    let mut run = run(HOSTILE);
    let folder = std::path::absolute("some folder").unwrap();
    run.libraries[1].results[1].outcome.message = format!("cannot read {}/other.so", folder.display());
    let table = markdown::render(&run);
    let rows: Vec<&str> = table.lines().skip_while(|line| !line.starts_with('|')).collect();
    assert_eq!(rows.len(), 5, "{table}");
    for row in &rows {
        let bars = row.replace("\\|", "").matches('|').count();
        assert_eq!(bars, 12, "{row}");
        assert!(!row.replace("<br>", "").contains(['<', '>']), "{row}");
        assert!(!row.contains("some folder"), "{row}");
    }
    assert_eq!(rows[2], "| libgood.so |  |  |  | 1 | 0 | 0 | 0 | 0 | 0 |  |");
    assert!(rows[3].contains(" | HDF5, native | 3 | 1 | 2 | 1 | 1 | 1 | **crashed** `damaged.flipped` of "));
    assert!(rows[3].contains("**failed** `library.quiet`: cannot read other.so<br>"), "{}", rows[3]);
    assert_eq!(rows[4], "| all | | | | 4 | 1 | 2 | 1 | 1 | 1 | |");
}

#[test]
fn packages_are_those_that_installed_the_file() {
    let Ok(python) = ncz_test_support::python() else { return };
    let folder = python.plugin_dir("hdf5plugin").unwrap();
    let mut run = run("x");
    run.libraries[0].path = folder.join("libh5zstd.so");
    let code = "import importlib.metadata as m; print(m.version('hdf5plugin'))";
    let version = python.run_code(code, &[] as &[&str], &[]).unwrap().stdout_text();
    let table = markdown::render(&run);
    assert!(table.contains(&format!("| libh5zstd.so | hdf5plugin {} |", version.trim())), "{table}");
}

#[test]
fn a_report_replaces_a_file_whole_and_an_impossible_path_is_reported_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    std::fs::write(&path, "old").unwrap();
    report::check(&path).unwrap();
    report::save(&path, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    for (bad, why) in
        [(folder.path().join("no/report"), "No such file"), (path.join("report"), "ot a directory")]
    {
        let message = ncz_conform::error::chain(&report::check(&bad).unwrap_err());
        assert!(message.contains(why) && message.contains("report"), "{message}");
        assert!(report::save(&bad, "").is_err());
    }
    assert!(report::check(folder.path()).is_err());
}

#[test]
fn nothing_was_run_and_still_there_is_a_report() {
    let mut run = run_of(Vec::new());
    run.bugs.push(HOSTILE.to_owned());
    assert_eq!(json::value(&run)["libraries"], value!([]));
    assert_eq!(json::value(&run)["bugs"], value!([HOSTILE]));
    assert!(text::render(&run, Style::default()).contains("a bug in ncz-conform: "));
    let Some(found) = read(&run) else { return };
    assert_eq!(words(&found, "/html/problems"), [""; 0]);
    assert_eq!(words(&found["junit"], "/problems"), [""; 0]);
}
