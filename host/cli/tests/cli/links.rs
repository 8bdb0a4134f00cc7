//! What the documents refer to is there: files, headings, tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ncz_test_support::workspace_root;

/// The table of contents of the book.
const SUMMARY: &str = "host/docs/src/SUMMARY.md";
/// Documents that name tests of this repository in backquotes.
const NAMES_TESTS: [&str; 3] =
    [".github/SECURITY.md", "host/docs/src/comparison.md", "host/docs/src/faults-elsewhere.md"];

/// The files with one of these endings, relative to the repository.
pub(crate) fn files(endings: &[&str]) -> Vec<PathBuf> {
    let root = workspace_root();
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            let is_hidden = name.starts_with('.') && name != ".github";
            if entry.file_type().unwrap().is_dir() {
                // Folders of builds, also that of the template.
                if !is_hidden && name != "target" && name != "node_modules" {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(*ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(workspace_root().join(path)).unwrap()
}

/// The lines of a document outside of blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((at + 1, line))
    })
}

/// A line without its code between backquotes.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The targets of the links in a line: `[text](target)`, and `[label]: target`.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let mut targets: Vec<String> = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next())
        .map(|target| target.trim_matches(['<', '>']).to_owned())
        .collect();
    if line.starts_with('[')
        && !line.starts_with("[^")
        && let Some((_, target)) = line.split_once("]: ")
    {
        targets.push(target.trim().to_owned());
    }
    targets
}

/// The anchors of a document: those that sites make of its headings, and its own.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading.trim());
        let same = count.entry(anchor.clone()).or_default();
        anchors.insert(if *same == 0 { anchor } else { format!("{anchor}-{same}") });
        *same += 1;
    }
    anchors
}

/// The anchor of a heading: small letters, hyphens for blanks, no other punctuation.
fn anchor(heading: &str) -> String {
    // Of a link only the text counts.
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn relative_links_and_their_anchors_lead_somewhere() {
    let root = workspace_root();
    let documents = files(&[".md"]);
    assert!(documents.len() > 50, "{documents:?}");
    let mut broken = Vec::new();
    let mut count = 0;
    for document in &documents {
        let text = read(document);
        for (number, line) in prose(&text) {
            for target in targets(line) {
                if target.contains("://") || target.starts_with("mailto:") || target.is_empty() {
                    continue;
                }
                count += 1;
                let (path, wanted) = target.split_once('#').unwrap_or((target.as_str(), ""));
                let folder = document.parent().unwrap_or(Path::new(""));
                let path = if path.is_empty() { document.clone() } else { folder.join(path) };
                let leads = root.join(&path).exists()
                    && (wanted.is_empty()
                        || (root.join(&path).is_file() && anchors(&read(&path)).contains(wanted)));
                if !leads {
                    broken.push(format!("{}:{number}: {target}", document.display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(count > 100, "{count} links");
}

#[test]
fn every_page_of_the_book_is_in_its_contents() {
    let contents = read(Path::new(SUMMARY));
    let pages = files(&[".md"]).into_iter().filter(|page| page.starts_with("host/docs/src"));
    let lost: Vec<_> =
        pages.filter(|page| page.ends_with("SUMMARY.md") == contents.contains(&link_to(page))).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// What the contents have for a page.
fn link_to(page: &Path) -> String {
    format!("({})", page.strip_prefix("host/docs/src").unwrap().display())
}

#[test]
fn the_tests_that_documents_name_exist() {
    let sources: String = files(&[".rs", ".py"]).iter().map(|path| read(path)).collect();
    let mut unknown = Vec::new();
    let mut count = 0;
    for document in NAMES_TESTS {
        let text = read(Path::new(document));
        for (number, line) in prose(&text) {
            // Names of tests are sentences: three words or more.
            for name in line.split('`').skip(1).step_by(2).filter(|code| is_sentence(code)) {
                count += 1;
                let is_known = ["fn ", "def "].iter().any(|word| sources.contains(&format!("{word}{name}(")));
                if !is_known {
                    unknown.push(format!("{document}:{number}: {name}"));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert!(count > 30, "{count} tests");
}

fn is_sentence(code: &str) -> bool {
    code.matches('_').count() >= 3
        && code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn anchors_are_those_that_sites_make() {
    let text =
        "# `ncz`: the command\n\n## What `--verify` compares\n## A [link](b.md) here\n### Same\n### Same\n";
    let made: Vec<String> = anchors(text).into_iter().collect();
    assert_eq!(made, ["a-link-here", "ncz-the-command", "same", "same-1", "what---verify-compares"]);
    let line = "See [a](b.md#c), ![d](e.svg) and `[f](g)`.";
    assert_eq!(targets(line), ["b.md#c", "e.svg"]);
    assert_eq!(targets("[label]: a.md"), ["a.md"]);
}
