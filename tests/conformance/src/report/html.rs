//! The report for a browser: one page that needs nothing but itself.
//!
//! Its content security policy forbids loading anything, and allows only its own script, by its hash: plugin
//! text that bypassed the escaping could still do nothing.

mod charts;
mod details;
mod matrix;
mod rules;

use std::fmt::Write;

use super::escape::markup;
use super::format;
use crate::outcome::Verdict;
use crate::results::{Counts, Run};

const CSS: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// SHA-256 of [`SCRIPT`] in Base64; a test computes it anew.
const SCRIPT_HASH: &str = "Mo01cmkk8nCiJsK2X9jSbdS5H8BkM5MCKxD2ZWaIiZc=";

/// The page.
pub fn render(run: &Run) -> String {
    let verdict = overall(run);
    let class = run.fitness().looks_like();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>ncz-conform: {title}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n\
         <header>\n<h1>ncz-conform</h1>\n<p class=\"banner {class}\">{banner}</p>\n",
        title = markup(&verdict),
        banner = markup(&verdict),
    );
    facts(&mut page, run);
    page.push_str("</header>\n<main>\n");
    bugs(&mut page, run);
    details::write(&mut page, run);
    matrix::write(&mut page, run);
    charts::shares(&mut page, run);
    charts::speeds(&mut page, run);
    rules::write(&mut page, run);
    let _ = write!(page, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

/// The verdict on all libraries in one line.
fn overall(run: &Run) -> String {
    let level = run.settings.level;
    match run.libraries.as_slice() {
        [library] => {
            let name = library.path.file_name().unwrap_or(library.path.as_os_str());
            format!("{} is {}", name.to_string_lossy(), library.verdict(level))
        }
        libraries => {
            let libraries = format::number(libraries.len(), "library", "libraries");
            format!("{libraries}: {} at level {level}", run.tally())
        }
    }
}

fn facts(page: &mut String, run: &Run) {
    let settings = &run.settings;
    let machine = &run.machine;
    let cpus = format::number(machine.cpus, "processor", "processors");
    let mut facts = vec![
        ("Runner", format!("ncz-conform {}", run.version)),
        ("Started", format::utc(run.started).replace('T', " ").replace('Z', " UTC")),
        ("Took", format::seconds(run.took)),
        ("Level", settings.level.to_string()),
        ("Seed", settings.seed.to_string()),
        ("Machine", format!("{}, {}, {cpus}", machine.system, machine.architecture)),
    ];
    facts.extend(machine.c_library.clone().map(|library| ("C library", library)));
    for (id, words) in &settings.params {
        facts.push(("Parameters", format!("filter {id}: {words:?}")));
    }
    for id in &settings.lossy {
        facts.push(("Lossy", format!("filter {id}")));
    }
    facts.extend(settings.mutations.map(|number| ("Damaged streams", format!("{number} of each sort"))));
    page.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", markup(&value));
    }
    let _ = writeln!(
        page,
        "<div class=\"wide\"><dt>Again</dt><dd><code>{}</code></dd></div>",
        markup(&run.replay)
    );
    page.push_str("</dl>\n");
}

fn bugs(page: &mut String, run: &Run) {
    if run.bugs.is_empty() {
        return;
    }
    page.push_str(
        "<section aria-labelledby=\"bugs\">\n<h2 id=\"bugs\">Faults of the runner itself</h2>\n<ul>\n",
    );
    for bug in &run.bugs {
        let _ = writeln!(page, "<li>{}</li>", markup(bug));
    }
    page.push_str("</ul>\n</section>\n");
}

/// Returns the symbol next to a verdict, so that colours are not needed to distinguish them.
const fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "✓",
        Verdict::Skipped => "–",
        Verdict::Warned => "!",
        Verdict::Failed => "✗",
        Verdict::Hung => "∞",
        Verdict::Crashed => "☠",
    }
}

/// `60 passed, 1 failed`, without zeros.
fn tally(counts: Counts) -> String {
    let there = Verdict::ALL.into_iter().filter(|verdict| counts.number(*verdict) > 0);
    let parts: Vec<_> = there.map(|verdict| format!("{} {verdict}", counts.number(verdict))).collect();
    if parts.is_empty() { "no checks".to_owned() } else { parts.join(", ") }
}

/// A library's file name.
fn name(run: &Run, index: usize) -> String {
    let path = &run.libraries[index].path;
    let name = path.file_name().unwrap_or(path.as_os_str());
    markup(&name.to_string_lossy())
}
