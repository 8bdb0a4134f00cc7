//! Targets without tests say so in their manifest, which saves building a test program; then they have none.

use std::path::{Path, PathBuf};

use cargo_metadata::{MetadataCommand, TargetKind};

/// What makes a source file have unit tests.
const TESTS: [&str; 3] = ["#[test]", "#[cfg(test)]", "proptest!"];

#[test]
fn targets_that_are_not_tested_have_no_tests_and_no_examples_in_their_documentation() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    let (mut untested, mut without_examples) = (0, 0);
    for target in metadata.packages.iter().flat_map(|package| &package.targets) {
        let is = |kind| target.kind.contains(&kind);
        let folder = target.src_path.parent().unwrap().as_std_path();
        if !target.test && [TargetKind::Lib, TargetKind::CDyLib, TargetKind::Bin].into_iter().any(is) {
            untested += 1;
            for file in sources(folder) {
                let text = std::fs::read_to_string(&file).unwrap();
                let found = TESTS.iter().find(|test| text.contains(**test));
                assert!(
                    found.is_none(),
                    "{} has {found:?}, but its target says `test = false`",
                    file.display()
                );
            }
        }
        if !target.doctest && is(TargetKind::Lib) {
            without_examples += 1;
            for file in sources(folder) {
                let text = std::fs::read_to_string(&file).unwrap();
                let is_fence =
                    |line: &str| ["/// ```", "//! ```"].iter().any(|f| line.trim_start().starts_with(f));
                assert!(
                    !text.lines().any(is_fence) && !text.contains("include_str!"),
                    "{} has an example, but its target says `doctest = false`",
                    file.display()
                );
            }
        }
    }
    assert!(
        untested > 50 && without_examples > 3,
        "{untested} and {without_examples} targets: this found too few"
    );
}

/// The Rust files of a folder and of those in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files
}
