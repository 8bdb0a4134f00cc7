//! The `ncz-worker` program: runs one codec plugin for ncz in a process of its own.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ncz_registry::isolate::worker_main()
}
