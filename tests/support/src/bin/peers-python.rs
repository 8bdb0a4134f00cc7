//! Runs Python in the environment with the peers, which it makes on first use: `peers-python [script [argument..]]`.
//! Without a script it prints the path of the interpreter.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let Ok(python) = ncz_test_support::python() else {
        return ExitCode::FAILURE;
    };
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.peek().is_none() {
        println!("{}", python.interpreter().display());
        return ExitCode::SUCCESS;
    }
    let status = Command::new(python.interpreter()).args(arguments).status();
    match status {
        Ok(status) => {
            status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("cannot start {}: {error}", python.interpreter().display());
            ExitCode::FAILURE
        }
    }
}
