//! `ncz man`: manual pages, made from the text of `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, roman};

use crate::args::{Cli, Man};
use crate::error::CliError;
use crate::exit_code::Exit;

/// Runs the command.
pub(crate) fn run(options: &Man, out: &mut dyn Write) -> Result<Exit, CliError> {
    // `build` gives each command its full name and the global options.
    let mut program = Cli::command();
    program.build();
    let Some(folder) = &options.folder else {
        page(&program, out)?;
        return Ok(Exit::Good);
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CliError::File { what: "write", path: path.clone(), source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let mut pages = Vec::new();
    collect(&program, &mut pages);
    for (name, text) in pages {
        let path = folder.join(format!("{name}.1"));
        fs::write(&path, text?).map_err(failed(&path))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(Exit::Good)
}

/// Collects the pages of a command and of those below it.
fn collect(command: &Command, pages: &mut Vec<(String, io::Result<Vec<u8>>)>) {
    let mut text = Vec::new();
    let written = page(command, &mut text);
    pages.push((name(command).to_owned(), written.map(|()| text)));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        collect(inner, pages);
    }
}

/// Returns the name of a page: `ncz-copy` for `ncz copy`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// Writes one page.
fn page(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let man = clap_mangen::Man::new(command.clone())
        .title(name(command))
        .source(concat!("ncz ", env!("CARGO_PKG_VERSION")))
        .manual("ncz");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    if let Some(examples) = command.get_before_help() {
        let lines = examples.to_string();
        let lines = lines.lines().map(|line| line.trim_start_matches("Example:").trim_start());
        section(out, "EXAMPLES", lines)?;
    }
    man.render_description_section(out)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(out)?;
    }
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        man.render_subcommands_section(out)?;
    }
    if let Some(notes) = command.get_after_help() {
        section(out, "NOTES", notes.to_string().lines())?;
    }
    Ok(())
}

/// Writes a section of lines that are not reflowed.
fn section<'a>(out: &mut dyn Write, heading: &str, lines: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff.to_writer(out)
}
