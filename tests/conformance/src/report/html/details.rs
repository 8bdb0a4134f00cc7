//! A section for each library: what it is, and what came of each check.

use std::cmp::Reverse;
use std::fmt::Write;

use super::super::{escape::markup, format};
use super::rules::anchor;
use super::{name, sign, tally};
use crate::outcome::Verdict;
use crate::results::{CheckResult, LibraryResult, Run};

pub(super) fn write(page: &mut String, run: &Run) {
    filter(page, run);
    let mut libraries: Vec<(usize, &LibraryResult)> = run.libraries.iter().enumerate().collect();
    libraries.sort_by_key(|(_, library)| Reverse(library.results.iter().map(severity).max()));
    for (index, library) in libraries {
        section(page, run, index, library);
    }
}

/// The worse, the more.
fn severity(result: &CheckResult) -> Option<usize> {
    Verdict::ALL.iter().position(|verdict| *verdict == result.outcome.verdict)
}

/// The control that hides rows: at first those of checks that passed. It does nothing without the script, which also
/// shows the control.
fn filter(page: &mut String, run: &Run) {
    page.push_str("<form class=\"filter\" hidden>\n<fieldset>\n<legend>Show</legend>\n");
    for verdict in Verdict::ALL {
        let number = run.counts().number(verdict);
        let checked = if verdict == Verdict::Passed { "" } else { " checked" };
        let _ = writeln!(
            page,
            "<label class=\"count {verdict}\"><input type=\"checkbox\" value=\"{verdict}\"{checked}> \
             <span aria-hidden=\"true\">{}</span> {verdict} {number}</label>",
            sign(verdict)
        );
    }
    page.push_str(
        "</fieldset>\n<label>with the words <input type=\"search\" placeholder=\"buffers hdf5\"></label>\n\
         <output aria-live=\"polite\"></output>\n</form>\n",
    );
}

fn section(page: &mut String, run: &Run, index: usize, library: &LibraryResult) {
    let class = library.fitness().looks_like();
    let _ = writeln!(
        page,
        "<section class=\"library\" aria-labelledby=\"library-{index}\">\n<h2 id=\"library-{index}\">{}</h2>\n\
         <p class=\"banner {class}\">{}</p>\n<dl class=\"facts\">",
        name(run, index),
        markup(&library.verdict(run.settings.level)),
    );
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", markup(name), markup(value));
    };
    fact("File", &library.path.to_string_lossy());
    fact("Size", &format::size(library.size));
    fact("CRC-32", &format!("{:08x}", library.crc32));
    if let Some(modified) = library.modified {
        fact("Changed", &format::utc(modified).replace('T', " ").replace('Z', " UTC"));
    }
    for target in &library.targets {
        if target.facts.is_empty() && target.target == crate::check::Target::Library {
            continue;
        }
        let said: Vec<_> = target.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        fact(&target.target.to_string(), &said.join("\n"));
    }
    fact("Checks", &tally(library.counts()));
    let _ = writeln!(
        page,
        "</dl>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"library-{index}\">\n\
         <table class=\"checks\">\n<thead>\n<tr><th scope=\"col\">Verdict</th><th scope=\"col\">Check</th>\
         <th scope=\"col\">Part</th><th scope=\"col\">What was seen</th><th scope=\"col\">Time</th></tr>\n</thead>\n<tbody>"
    );
    let mut results: Vec<&CheckResult> = library.results.iter().collect();
    results.sort_by_key(|result| Reverse(severity(result)));
    for result in results {
        row(page, result);
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn row(page: &mut String, result: &CheckResult) {
    let CheckResult { check, target, outcome, .. } = result;
    let verdict = outcome.verdict;
    let _ = write!(
        page,
        "<tr data-verdict=\"{verdict}\"><td><span class=\"count {verdict}\"><span aria-hidden=\"true\">{}</span> \
         {verdict}</span></td><th scope=\"row\"><a href=\"#{}\"><code>{}</code></a><p class=\"about\">{}</p></th><td><code>{}</code></td><td>",
        sign(verdict),
        anchor(check.id),
        check.id,
        markup(check.about),
        markup(&target.to_string()),
    );
    for line in outcome.message.lines() {
        let _ = write!(page, "<p>{}</p>", markup(line));
    }
    if !outcome.figures.is_empty() {
        page.push_str("<ul class=\"figures\">");
        for (name, value) in &outcome.figures {
            let _ = write!(page, "<li>{}: {}</li>", markup(name), markup(&format::figure(value)));
        }
        page.push_str("</ul>");
    }
    details(page, result);
    let _ = writeln!(page, "</td><td class=\"time\">{}</td></tr>", format::seconds(result.took));
}

/// The step of the failure, the command to repeat it, and the output.
fn details(page: &mut String, result: &CheckResult) {
    let bad = result.outcome.verdict.is_bad();
    let printed = [("stdout", &result.stdout), ("stderr", &result.stderr)];
    let silent = printed.iter().all(|(_, text)| text.is_empty());
    if !bad && silent && result.outcome.verdict != Verdict::Warned {
        return;
    }
    let _ = write!(page, "<details{}><summary>Details</summary><dl>", if bad { " open" } else { "" });
    if let Some(step) = &result.step {
        let _ = write!(page, "<dt>Step</dt><dd>{}</dd>", markup(step));
    }
    let _ = write!(page, "<dt>Again</dt><dd><code>{}</code></dd>", markup(&result.replay));
    for (name, text) in printed.into_iter().filter(|(_, text)| !text.is_empty()) {
        let _ = write!(page, "<dt>End of {name}</dt><dd><pre>{}</pre></dd>", markup(text));
    }
    page.push_str("</dl></details>");
}
