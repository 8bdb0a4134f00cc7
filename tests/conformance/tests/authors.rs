//! The tests of a plugin author: the very main that the documentation shows, with a library of ours.

use std::process::ExitCode;

fn main() -> ExitCode {
    ncz_conform::worker::run_if_asked();
    let library = match ncz_test_support::plugin("zstd") {
        Ok(library) => library,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    ncz_conform::test_main([library])
}
