//! The reference of the book, which is the text of `--help`.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory};

use super::Cli;

const HEAD: &str = "# Reference of the command

What `--help` prints, for each command. It is written by
`NCZ_UPDATE=1 cargo test -p ncz-cli --bin ncz the_reference`, and a test compares it.
";

fn add(page: &mut String, command: &mut Command, path: &str) {
    write!(page, "\n## {path}\n\n```text\n{}\n```\n", command.render_long_help().to_string().trim_end())
        .unwrap();
    for inner in command.get_subcommands_mut().filter(|inner| !inner.is_hide_set()) {
        let path = format!("{path} {}", inner.get_name());
        add(page, inner, &path);
    }
}

#[test]
fn the_reference_in_the_book_is_what_help_prints() {
    let mut program = Cli::command().term_width(100);
    program.build();
    let mut expected = HEAD.to_owned();
    add(&mut expected, &mut program, "ncz");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference.md");
    if std::env::var_os("NCZ_UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{} is not what --help prints; its first lines say how to write it",
        path.display()
    );
}
