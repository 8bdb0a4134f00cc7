//! The commands of all documents: they run as they are there, in order, and print what is shown. Those of the Python
//! package run in its own tests.
//!
//! Blocks in `sh`, `console` and `python` are run, unless the line before the fence is `<!-- not run: reason -->`:
//!
//! * `sh`: each line is a command, a `\` at its end continues it. A comment with `exit code 1` says how the commands
//!   below it end, up to the next comment; in the line of a command, how this one does.
//! * `console`: `$` begins a command, the other lines are what it prints, errors included. `...` stands for any lines.
//!   Nothing is compared if nothing is shown.
//! * `python`: a script. A block `text` right after it is what it prints.
//!
//! Blocks in `rust` are not run: the line before the fence is `<!-- from FILE -->`, and that file, which is compiled,
//! has these lines.

/// A folder that looks like a clone in which everything is built.
mod checkout;
/// The steps of a page.
mod page;
/// What is shown and what is printed.
mod shown;

use std::fs;
use std::path::PathBuf;

use ncz_test_support::{python, workspace_root};

use self::checkout::Checkout;
use self::page::{Page, Step};
use crate::links::files;

/// Documents of the Python package, which its tests run, and those that `ncz new-codec` fills in.
const ELSEWHERE: [&str; 2] = ["host/python/", "host/cli/src/"];
const BOOK: &str = "host/docs/src";
const COOKBOOK: &str = "host/docs/src/cookbook.md";
const OTHER_PROGRAMS: &str = "host/docs/src/other-programs.md";

/// The files with this ending, relative to the repository.
fn documents(ending: &str) -> impl Iterator<Item = String> {
    files(&[ending]).into_iter().map(|path| path.to_str().unwrap().to_owned())
}

/// Runs a page in a folder of its own; the error says what differs.
fn run_page(name: &str) -> Result<(), String> {
    let steps = Page::read(name).steps;
    if steps.is_empty() {
        return Ok(());
    }
    Checkout::new().follow(&steps).map_err(|difference| format!("{name}: {difference}"))
}

#[test]
fn every_page_prints_what_it_shows() {
    if python().is_err() {
        return;
    }
    // The cookbook takes long, and has a test of its own.
    let is_elsewhere =
        |page: &String| page == COOKBOOK || ELSEWHERE.iter().any(|folder| page.starts_with(folder));
    let pages: Vec<String> = documents(".md").filter(|page| !is_elsewhere(page)).collect();
    assert!(pages.len() > 40, "{pages:?}");
    let half = pages.len().div_ceil(2);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let run = |pages: &[String]| pages.iter().filter_map(|page| run_page(page).err()).collect::<Vec<_>>();
        let halves: Vec<_> = pages.chunks(half).map(|half| scope.spawn(move || run(half))).collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_commands_of_the_cookbook_run_in_order_and_leave_what_they_promise() {
    if python().is_err() {
        return;
    }
    let checkout = Checkout::new();
    let page = Page::read(COOKBOOK);
    assert!(page.steps.len() > 40, "{} steps", page.steps.len());
    checkout.follow(&page.steps).unwrap();
    assert!(checkout.path("home/.local/share/man/man1/ncz.1").is_file());
    let made = fs::read_dir(checkout.path("tmp")).unwrap().map(|entry| entry.unwrap().path());
    let made: Vec<PathBuf> = made.filter(|path| path.join("in.nczarr").is_dir()).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    for page in ["codecs.html", "report.html"] {
        assert!(made[0].join(page).is_file(), "{page}");
    }
}

#[test]
fn without_the_folder_of_netcdf4_on_the_path_its_own_plugins_are_not_found() {
    if python().is_err() {
        return;
    }
    let page = Page::read(OTHER_PROGRAMS);
    let both = ":$(python -c 'import netCDF4; print(netCDF4.__path__[0])')/plugins";
    assert!(page.steps.iter().any(|step| step.command.contains(both)));
    let only = |step: &Step| Step { command: step.command.replace(both, ""), ..step.clone() };
    let only: Vec<Step> = page.steps.iter().map(only).collect();
    let difference = Checkout::new().follow(&only).unwrap_err();
    assert!(difference.contains("undefined filter"), "{difference}");
}

#[test]
fn pictures_show_what_the_program_prints() {
    let terminals: Vec<String> = documents(".svg").filter(|name| is_terminal(name)).collect();
    assert!(!terminals.is_empty());
    for name in &terminals {
        let begin =
            Step::new(r#"clone=$PWD && cd "$(mktemp -d)" && cp -r "$clone/tests/fixtures/ocean.nczarr" ."#);
        let steps: Vec<Step> = [begin].into_iter().chain(page::picture(&read(name))).collect();
        assert!(steps.len() > 1, "{name}");
        let ran = Checkout::new().follow(&steps);
        assert_eq!(ran, Ok(()), "{name}; draw it again with host/docs/terminal.py");
    }
}

#[test]
fn blocks_in_rust_are_in_the_files_that_they_name() {
    for name in documents(".md").filter(|name| name.starts_with(BOOK)) {
        for quote in Page::read(&name).quotes {
            let source = quote.source.as_deref().map(read).unwrap_or_default();
            assert!(source.contains(&quote.text), "{name}, line {}: not in {:?}", quote.line, quote.source);
        }
    }
}

fn is_terminal(picture: &str) -> bool {
    read(picture).contains("<!-- host/docs/terminal.py -->")
}

fn read(name: &str) -> String {
    let path = workspace_root().join(name);
    assert!(path.is_file(), "{}", path.display());
    fs::read_to_string(path).unwrap()
}
