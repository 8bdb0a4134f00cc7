//! The report for a page of documentation: one table of libraries, in which no path of this machine is.

use std::fmt::Write;

use super::escape::{cell, line};
use super::{format, package};
use crate::check::Target;
use crate::outcome::Verdict;
use crate::results::{CheckResult, LibraryResult, Run};

/// The columns of counts, the best first.
const COUNTED: [Verdict; 6] =
    [Verdict::Passed, Verdict::Warned, Verdict::Failed, Verdict::Crashed, Verdict::Hung, Verdict::Skipped];

/// How many parts of a library are named for one finding.
const PARTS: usize = 3;

/// The report. Packages are looked up by the paths of the libraries: in Python's lists of files and in Debian's.
pub fn render(run: &Run) -> String {
    let mut text = String::from("<!-- made by ncz-conform --markdown; do not edit -->\n\n");
    let settings = &run.settings;
    let _ = writeln!(
        text,
        "ncz-conform {}, level {}, seed {}, {}, {}{}.\n",
        cell(run.version),
        settings.level,
        settings.seed,
        &format::utc(run.started)[..10],
        cell(&run.machine.architecture.replace('_', "-")),
        run.machine.c_library.as_ref().map(|library| format!(", {}", cell(library))).unwrap_or_default(),
    );
    text.push_str("| library | package | ids | faces | passed | warned | failed | crashed | hung | skipped | findings |\n");
    text.push_str("| --- | --- | --- | --- | --: | --: | --: | --: | --: | --: | --- |\n");
    for library in &run.libraries {
        row(&mut text, library);
    }
    let all = run.counts();
    text.push_str("| all | | | |");
    for verdict in COUNTED {
        let _ = write!(text, " {} |", all.number(verdict));
    }
    text.push_str(" |\n");
    text
}

fn row(text: &mut String, library: &LibraryResult) {
    let name = library.path.file_name().unwrap_or(library.path.as_os_str()).to_string_lossy();
    let package = package::of(&library.path).unwrap_or_default();
    let _ = write!(
        text,
        "| {} | {} | {} | {} |",
        cell(&name),
        cell(&package),
        cell(&ids(library)),
        cell(&faces(library))
    );
    for verdict in COUNTED {
        let _ = write!(text, " {} |", library.counts().number(verdict));
    }
    let _ = writeln!(text, " {} |", findings(library));
}

/// Its HDF5 ids, or the names of its codecs if it has none.
fn ids(library: &LibraryResult) -> String {
    let targets = || library.targets.iter().map(|facts| &facts.target);
    let mut numbers: Vec<String> = targets()
        .filter_map(|target| match target {
            Target::Hdf5(id) => Some(id.to_string()),
            _ => None,
        })
        .collect();
    if numbers.is_empty() {
        numbers = targets()
            .filter_map(|target| match target {
                Target::Codec(name) | Target::Native(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        numbers.sort();
        numbers.dedup();
    }
    numbers.join(", ")
}

fn faces(library: &LibraryResult) -> String {
    let has = |is: fn(&Target) -> bool| library.targets.iter().any(|facts| is(&facts.target));
    let faces = [
        ("HDF5", has(|target| matches!(target, Target::Hdf5(_)))),
        ("NCZarr", has(|target| matches!(target, Target::Codec(_)))),
        ("native", has(|target| matches!(target, Target::Native(_)))),
    ];
    faces.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

/// What did not pass, the worst first; what is said in the same words of several parts is once.
fn findings(library: &LibraryResult) -> String {
    let mut found: Vec<(Verdict, &str, String, Vec<String>)> = Vec::new();
    for result in &library.results {
        let verdict = result.outcome.verdict;
        if !verdict.is_bad() && verdict != Verdict::Warned {
            continue;
        }
        let words = words(library, result);
        let part = Some(&result.target).filter(|target| **target != Target::Library).map(Target::to_string);
        let same = |(of, id, said, _): &&mut (Verdict, &str, String, Vec<String>)| {
            (*of, *id) == (verdict, result.check.id) && *said == words
        };
        match found.iter_mut().find(same) {
            Some((_, _, _, parts)) => parts.extend(part),
            None => found.push((verdict, result.check.id, words, Vec::from_iter(part))),
        }
    }
    found.sort_by_key(|(verdict, ..)| std::cmp::Reverse(*verdict));
    let lines = found.into_iter().map(|(verdict, id, words, parts)| {
        let mut of = parts.iter().take(PARTS).map(String::as_str).collect::<Vec<_>>().join(", ");
        if parts.len() > PARTS {
            let _ = write!(of, " and {} more", parts.len() - PARTS);
        }
        let words = if words.is_empty() { words } else { format!(": {}", cell(&words)) };
        let of = if of.is_empty() { of } else { format!(" of {}", cell(&of)) };
        format!("**{verdict}** `{id}`{of}{words}")
    });
    lines.collect::<Vec<_>>().join("<br>")
}

/// The first remark, without the folder of the library: it differs from machine to machine.
fn words(library: &LibraryResult, result: &CheckResult) -> String {
    const MOST: usize = 240;
    let mut words = line(result.outcome.message.lines().next().unwrap_or_default());
    for path in [std::path::absolute(&library.path).ok(), Some(library.path.clone())].into_iter().flatten() {
        if let Some(folder) =
            path.parent().and_then(|folder| folder.to_str()).filter(|folder| folder.len() > 1)
        {
            words = words.replace(&format!("{folder}/"), "");
        }
    }
    if words.chars().count() > MOST {
        words = words.chars().take(MOST - 1).chain(['…']).collect();
    }
    words
}
