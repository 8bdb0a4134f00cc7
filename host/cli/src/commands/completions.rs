//! `ncz completions`: what Tab offers.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::error::CliError;
use crate::exit::Exit;

/// Runs the command.
pub(crate) fn run(options: &Completions, out: &mut dyn Write) -> Result<Exit, CliError> {
    // clap_complete panics where it cannot write, and a reader may go away.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "ncz", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Good)
}
