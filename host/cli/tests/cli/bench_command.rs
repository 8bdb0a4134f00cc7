use std::fs;

use crate::bench::{ncz, ocean};

fn bench(arguments: &[&str]) -> crate::bench::Run {
    let ocean = ocean();
    let fixed = ["bench", ocean.to_str().unwrap(), "air_temperature", "--time", "2"];
    ncz(fixed.iter().chain(arguments))
}

#[test]
fn the_command_that_it_names_stores_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy.nczarr");
    let report = bench(&["--json"]).ends(0).json();
    let choice = &report["choices"][0];
    assert_eq!(choice["what"], "best ratio");
    let chain =
        report["chains"].as_array().unwrap().iter().find(|one| one["chain"] == choice["chain"]).unwrap();
    // Into a shell, as a user does it.
    let line = choice["command"].as_str().unwrap();
    let line = line.replacen("ncz", env!("CARGO_BIN_EXE_ncz"), 1);
    let line = line.replacen("TARGET", target.to_str().unwrap(), 1);
    let status = std::process::Command::new("sh").args(["-c", &line]).output().unwrap().status;
    assert!(status.success(), "{line}");
    let chunks = fs::read_dir(target.join("air_temperature")).unwrap().map(|entry| entry.unwrap());
    let chunks = chunks.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let stored: u64 = chunks.map(|entry| entry.metadata().unwrap().len()).sum();
    assert_eq!(chain["stored"], stored);
    assert_eq!(report["sample"]["existing_objects"], report["sample"]["chunks"]);
}

#[test]
fn the_page_stands_alone_and_marks_the_front() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let run = bench(&["--html", page.to_str().unwrap()]).ends(0);
    assert!(run.stdout.contains("best ratio: "), "{}", run.stdout);
    assert!(run.stdout.contains("--codec 'air_temperature="), "{}", run.stdout);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("default-src 'none'"));
    for outside in ["<script", "http://", "https://", "src=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside} is in the page");
    }
    assert!(html.contains("prefers-color-scheme: dark"));
    assert_eq!(html.matches("<svg").count(), 2);
    let rows = html.matches("<tr class=\"front\">").count() + html.matches("<tr><td>").count();
    let points = html.matches("<circle class=\"dot").count();
    assert_eq!(points, 2 * rows, "each chain is in both charts");
    assert!(html.contains("<circle class=\"dot front\"") && html.contains("<circle class=\"dot now\""));
    assert_eq!(html.matches("<title>").count(), points + 1, "each point says what it is");
}

#[test]
fn what_cannot_be_tried_is_told() {
    let ocean = ocean();
    let ocean = ocean.to_str().unwrap();
    ncz(["bench", ocean, "air_temprature"]).ends(2).says(&["did you mean \"/air_temperature\"?"]);
    ncz(["bench", ocean, "air_temperature", "--also", "zstd,,"]).ends(2);
    ncz(["bench", ocean, "air_temperature", "--sample", "0"]).ends(2).says(&["is no size; write 64MB"]);
    let bad = bench(&["--html", "/nowhere/there/page.html"]).ends(3);
    bad.says(&["cannot write /nowhere/there/page.html"]);
}
