//! `ncz completions`: the completion script of a shell.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::error::CliError;
use crate::exit_code::Exit;

/// Runs the command.
pub(crate) fn run(options: &Completions, out: &mut dyn Write) -> Result<Exit, CliError> {
    // clap_complete panics if it cannot write, and a reader can close the pipe.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "ncz", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Good)
}
