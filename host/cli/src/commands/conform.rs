//! `ncz conform`: starts the program `ncz-conform`, which survives plugins that crash.

use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Conform;
use crate::error::CliError;
use crate::exit_code::Exit;

/// The name of the program.
const PROGRAM: &str = "ncz-conform";

/// Starts the program with the same arguments and returns its exit code.
pub(crate) fn run(options: &Conform) -> Result<Exit, CliError> {
    let beside = std::env::current_exe().ok().and_then(|exe| beside(&exe));
    let program = beside.unwrap_or_else(|| PROGRAM.into());
    match start(Command::new(&program).args(&options.arguments)) {
        Ok(exit) => Ok(exit),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(CliError::NoSibling(PROGRAM)),
        Err(source) => Err(CliError::Sibling { program, source }),
    }
}

/// Finds the program in the folder of this one, or in the folder that a link to this one leads to.
fn beside(exe: &Path) -> Option<PathBuf> {
    let programs = [Some(exe.to_owned()), exe.canonicalize().ok()];
    let beside = |exe: PathBuf| exe.with_file_name(format!("{PROGRAM}{EXE_SUFFIX}"));
    programs.into_iter().flatten().map(beside).find(|path| path.is_file())
}

/// Replaces this process by the program, so that signals and the exit code are its own.
#[cfg(unix)]
fn start(command: &mut Command) -> io::Result<Exit> {
    use std::os::unix::process::CommandExt;

    Err(command.exec())
}

/// Runs the program, and ends with its exit code.
#[cfg(not(unix))]
fn start(command: &mut Command) -> io::Result<Exit> {
    let code = command.status()?.code();
    std::process::exit(code.unwrap_or(Exit::Bug as i32))
}
