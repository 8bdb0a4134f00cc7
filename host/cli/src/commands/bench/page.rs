//! The HTML page: the answer, charts and tables, in one file that needs nothing else. Its script only sorts tables.

use std::fmt::Write;

use ncz::bench::{BenchReport, Trial};

use super::chart;
use super::dataset_report::{self, DatasetReport};
use super::markup::markup;
use super::report::{Report, front_words, megabytes, named, read_by};
use crate::codec_words::chain_words;
use crate::output::{bytes, shape};
use crate::secrets;

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of the script in the page in Base64; a test computes it anew.
const SCRIPT_HASH: &str = "Al0BHZs3DK13gimOxM8mnhClZNDq1dgI62VfIO6wW4I=";

/// Returns the page of a variable.
pub(super) fn of_variable(report: &Report<'_>) -> String {
    let measured = report.measured;
    let title = format!("{} of {}", measured.path, secrets::hide(report.ends.dataset));
    let mut page = head(&title, &report.answer(), &report.sample());
    page.push_str("<h2>Apply one</h2>\n");
    for choice in report.choices() {
        let _ =
            writeln!(page, "<p>{}: {}</p>", choice.what, markup(&named(report.measured, choice.trial, " ")));
        if let Some(command) = choice.command {
            let _ = writeln!(page, "<pre>{}</pre>", markup(&command));
        }
    }
    if let Some(none) = report.no_choice() {
        let _ = writeln!(page, "<p>{}</p>", markup(&none));
    }
    let choices: Vec<&Trial> = report.choices().iter().map(|choice| choice.trial).collect();
    section(&mut page, measured, &choices);
    notes(&mut page, "Not tried", measured.skipped.iter().map(|one| (&one.chain, &one.reason)));
    end(page)
}

/// Returns the page of a dataset.
pub(super) fn of_dataset(report: &DatasetReport<'_>) -> String {
    let mut page = head(&secrets::hide(report.ends.dataset), &report.answer(), &report.how());
    if let Some(command) = report.command() {
        let _ = writeln!(page, "<h2>Apply it</h2>\n<pre>{}</pre>", markup(&command));
    }
    groups(&mut page, report);
    for group in &report.measured.groups {
        // All chains were tried on the first one.
        let Some(first) = group.members.iter().max_by_key(|member| member.report.trials.len()) else {
            continue;
        };
        let measured = &first.report;
        let names = dataset_report::names(group).join(", ");
        let _ = writeln!(page, "<h2>{}</h2>", markup(&names));
        if group.members.len() > 1 {
            let _ = writeln!(page, "<p class=\"faint\">measured on {}</p>", markup(&measured.path));
        }
        let choice = group.choice.as_ref().and_then(|chain| first.trial(chain));
        let others = [measured.best_ratio(), measured.fastest_decode()];
        let choices: Vec<&Trial> = choice.into_iter().chain(others.into_iter().flatten()).collect();
        section(&mut page, measured, &choices);
    }
    let left = &report.measured.left_out;
    notes(&mut page, "Variables that were not tried", left.iter().map(|left| (&left.path, &left.reason)));
    end(page)
}

fn head(title: &str, answer: &str, how: &str) -> String {
    let title = markup(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>ncz bench: {title}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n\
         <h1>Codecs for {title}</h1>\n<p class=\"answer\">{}</p>\n<p class=\"faint\">{}</p>\n",
        markup(answer),
        markup(how),
    )
}

fn end(mut page: String) -> String {
    let _ = write!(page, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

/// Writes the charts and the table of the chains of a variable.
fn section(page: &mut String, measured: &BenchReport, choices: &[&Trial]) {
    page.push_str(
        "<p class=\"faint\"><span class=\"key front\"></span>no other chain has both a better ratio and a better speed\
         <span class=\"key now\"></span>the current codecs<span class=\"key\"></span>others</p>\n",
    );
    let decoding = ("Ratio and speed of decoding", "decoded megabytes in a second");
    let encoding = ("Ratio and speed of encoding", "encoded megabytes in a second");
    chart::write(page, measured, choices, decoding, |trial| trial.decode, |trial| trial.decode_front);
    chart::write(page, measured, choices, encoding, |trial| trial.encode, |trial| trial.encode_front);
    table(page, measured);
    notes(page, "Faulty: do not use them", measured.faulty.iter().map(|one| (&one.chain, &one.reason)));
}

/// Writes the table of the groups of a dataset.
fn groups(page: &mut String, report: &DatasetReport<'_>) {
    page.push_str("<h2>Groups of similar variables</h2>\n");
    open_table(
        page,
        &[
            ("variables", false),
            ("type", false),
            ("dimensions", false),
            ("bytes", true),
            ("now", false),
            ("ratio now", true),
            ("decode now", true),
            ("recommended", false),
            ("ratio", true),
            ("decode", true),
            ("read by", false),
        ],
    );
    for group in &report.measured.groups {
        let (now, then) = (dataset_report::now(group), dataset_report::then(group));
        let class = if group.choice.is_some() { " class=\"front\"" } else { "" };
        let _ = write!(page, "<tr{class}>");
        let names = dataset_report::names(group).join(", ");
        let _ = write!(page, "<td class=\"names\">{}</td>", markup(&names));
        text(page, &group.dtype);
        text(page, dataset_report::dimensions(group));
        number(page, group.bytes() as f64, &bytes(group.bytes()));
        text(page, &chain_words(&group.present, dataset_report::element(group)));
        for (index, figures) in [now, then].into_iter().enumerate() {
            if index == 1 {
                text(page, &dataset_report::advice(group));
            }
            let (ratio, decode) = figures.map_or((0.0, 0.0), |figures| (figures.ratio(), figures.decode()));
            number(page, ratio, &format!("{ratio:.2}x"));
            number(page, decode, &megabytes(decode));
        }
        let member = group.members.first();
        let read = member.and_then(|member| {
            let chain = group.choice.as_ref().unwrap_or(&group.present);
            Some(read_by(&member.report, member.trial(chain)?))
        });
        text(page, &read.unwrap_or_default());
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

/// Writes the table of the chains of a variable.
fn table(page: &mut String, measured: &BenchReport) {
    let pieces = match &measured.sample.cut {
        Some(cut) => format!(" on pieces of {}", shape(cut)),
        None => String::new(),
    };
    let _ = writeln!(page, "<h3>All chains{pieces}</h3>");
    open_table(
        page,
        &[
            ("chain", false),
            ("ratio", true),
            ("stored", true),
            ("encode", true),
            ("decode", true),
            ("front", false),
            ("read by", false),
            ("value of --codec", false),
        ],
    );
    for trial in &measured.trials {
        let classes = [(!front_words(trial).is_empty(), "front"), (trial.present, "now")];
        let classes: Vec<&str> =
            classes.into_iter().filter_map(|(has, class)| has.then_some(class)).collect();
        match classes.is_empty() {
            true => page.push_str("<tr>"),
            false => {
                let _ = write!(page, "<tr class=\"{}\">", classes.join(" "));
            }
        }
        let ratio = trial.ratio(&measured.sample);
        let current = if trial.present { " (current)" } else { "" };
        text(page, &format!("{}{current}", chain_words(&trial.chain, measured.element)));
        number(page, ratio, &format!("{ratio:.2}x"));
        number(page, trial.stored as f64, &bytes(trial.stored));
        number(page, trial.encode, &megabytes(trial.encode));
        number(page, trial.decode, &megabytes(trial.decode));
        text(page, front_words(trial));
        text(page, &read_by(measured, trial));
        let _ = writeln!(page, "<td><code>{}</code></td></tr>", markup(&trial.chain));
    }
    page.push_str("</tbody></table></div>\n");
}

/// Opens a table with headings: their text, and whether the column has numbers.
fn open_table(page: &mut String, headings: &[(&str, bool)]) {
    page.push_str("<div class=\"wide\"><table class=\"sortable\">\n<thead><tr>");
    for (heading, is_number) in headings {
        let class = if *is_number { " class=\"n\"" } else { "" };
        let _ = write!(page, "<th scope=\"col\"{class}>{heading}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

fn text(page: &mut String, words: &str) {
    let _ = write!(page, "<td>{}</td>", markup(words));
}

/// Writes a cell with a number by which the table is sorted.
fn number(page: &mut String, value: f64, words: &str) {
    let _ = write!(page, "<td class=\"n\" data-value=\"{value}\">{}</td>", markup(words));
}

fn notes<'a>(page: &mut String, heading: &str, list: impl Iterator<Item = (&'a String, &'a String)>) {
    let mut list = list.peekable();
    if list.peek().is_none() {
        return;
    }
    let _ = writeln!(page, "<h2>{heading}</h2>");
    for (chain, reason) in list {
        let _ = writeln!(page, "<p><code>{}</code>: {}</p>", markup(chain), markup(reason));
    }
}
