//! The report for build servers: JUnit's XML as Jenkins and GitLab read it.
//!
//! A test suite is a library, a test case a check of a part of it. `failed` is a `failure`; `crashed` and `hung` are
//! an `error`; `skipped` is `skipped`; a warning is a test that passed and says something in its `system-out`.

use std::fmt::Write;
use std::time::Duration;

use super::escape::{attribute, line, markup};
use super::format;
use crate::outcome::Verdict;
use crate::results::{CheckResult, Counts, LibraryResult, Run};

/// The report.
pub fn render(run: &Run) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuites name=\"ncz-conform\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">",
        run.counts().all(),
        run.counts().number(Verdict::Failed),
        errors(run.counts()),
        time(run.took),
    );
    for (index, library) in run.libraries.iter().enumerate() {
        suite(&mut xml, run, index, library);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(xml: &mut String, run: &Run, index: usize, library: &LibraryResult) {
    let counts = library.counts();
    let took = library.results.iter().map(|result| result.took).sum();
    let started = format::utc(run.started);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" id=\"{index}\" package=\"ncz-conform\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         skipped=\"{}\" time=\"{}\" timestamp=\"{}\">",
        attribute(&library.path.to_string_lossy()),
        counts.all(),
        counts.number(Verdict::Failed),
        errors(counts),
        counts.number(Verdict::Skipped),
        time(took),
        // The schema of Ant knows no zone.
        started.trim_end_matches('Z'),
    );
    let settings = &run.settings;
    let mut properties = vec![
        ("ncz-conform", run.version.to_owned()),
        ("level", settings.level.to_string()),
        ("seed", settings.seed.to_string()),
        ("system", run.machine.system.clone()),
        ("size", library.size.to_string()),
        ("crc32", format!("{:08x}", library.crc32)),
        ("verdict", library.verdict(settings.level)),
        ("replay", run.replay.clone()),
    ];
    properties.extend(library.targets.iter().map(|facts| ("part", format::target(facts))));
    xml.push_str("    <properties>\n");
    for (name, value) in properties {
        let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", attribute(&value));
    }
    xml.push_str("    </properties>\n");
    let class = class(library);
    for result in &library.results {
        case(xml, &class, result);
    }
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, class: &str, result: &CheckResult) {
    let CheckResult { check, target, outcome, .. } = result;
    let _ = write!(
        xml,
        "    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{}\"",
        attribute(class),
        check.group(),
        attribute(&format!("{} {target}", check.id)),
        time(result.took),
    );
    let message = attribute(&line(&outcome.message));
    let verdict = outcome.verdict;
    let body = match verdict {
        Verdict::Passed | Verdict::Warned => String::new(),
        Verdict::Skipped => format!("      <skipped message=\"{message}\"/>\n"),
        Verdict::Failed | Verdict::Hung | Verdict::Crashed => {
            let element = if verdict == Verdict::Failed { "failure" } else { "error" };
            format!(
                "      <{element} type=\"{verdict}\" message=\"{message}\">{}</{element}>\n",
                markup(&story(result))
            )
        }
    };
    let mut out = match verdict {
        Verdict::Warned => format!("warned: {}\n", outcome.message),
        _ => String::new(),
    };
    for (name, value) in &outcome.figures {
        let _ = writeln!(out, "{name}: {}", format::figure(value));
    }
    out.push_str(&result.stdout);
    let mut streams = String::new();
    for (element, text) in [("system-out", &out), ("system-err", &result.stderr)] {
        if !text.is_empty() {
            let _ = writeln!(streams, "      <{element}>{}</{element}>", markup(text));
        }
    }
    if body.is_empty() && streams.is_empty() {
        xml.push_str("/>\n");
    } else {
        let _ = write!(xml, ">\n{body}{streams}    </testcase>\n");
    }
}

/// The findings, their location, and the command to repeat them.
fn story(result: &CheckResult) -> String {
    let mut text = format!("{}\n", result.outcome.message);
    if let Some(step) = &result.step {
        let _ = writeln!(text, "step: {step}");
    }
    let _ = write!(text, "rule: {}\nagain: {}\n", result.check.about, result.replay);
    text
}

/// The name of a library without dots: Jenkins takes what is before the last one for a package.
fn class(library: &LibraryResult) -> String {
    let name = library.path.file_name().unwrap_or(library.path.as_os_str());
    name.to_string_lossy().replace('.', "_")
}

fn errors(counts: Counts) -> usize {
    counts.number(Verdict::Hung) + counts.number(Verdict::Crashed)
}

fn time(took: Duration) -> String {
    format!("{:.3}", took.as_secs_f64())
}
