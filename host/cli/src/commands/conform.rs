//! `ncz conform`: starts the sibling program `ncz-conform`, which runs plugins that this one would not survive.

use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Conform;
use crate::error::CliError;
use crate::exit::Exit;

/// The name of the sibling.
const PROGRAM: &str = "ncz-conform";

/// Starts the sibling with the same arguments; its exit code is ours.
pub(crate) fn run(options: &Conform) -> Result<Exit, CliError> {
    let beside = std::env::current_exe().ok().and_then(|exe| beside(&exe));
    let program = beside.unwrap_or_else(|| PROGRAM.into());
    match start(Command::new(&program).args(&options.arguments)) {
        Ok(exit) => Ok(exit),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(CliError::NoSibling(PROGRAM)),
        Err(source) => Err(CliError::Sibling { program, source }),
    }
}

/// The sibling in the folder of this program, links followed.
fn beside(exe: &Path) -> Option<PathBuf> {
    let places = [Some(exe.to_owned()), exe.canonicalize().ok()];
    let beside = |exe: PathBuf| exe.with_file_name(format!("{PROGRAM}{EXE_SUFFIX}"));
    places.into_iter().flatten().map(beside).find(|path| path.is_file())
}

/// Becomes the program: signals and exit code are its own then.
#[cfg(unix)]
fn start(command: &mut Command) -> io::Result<Exit> {
    use std::os::unix::process::CommandExt;

    Err(command.exec())
}

/// Runs the program, and ends as it does.
#[cfg(not(unix))]
fn start(command: &mut Command) -> io::Result<Exit> {
    let code = command.status()?.code();
    std::process::exit(code.unwrap_or(Exit::Bug as i32))
}
