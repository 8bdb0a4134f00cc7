//! The worker program as the tests and benchmarks of this crate start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ncz_registry::isolate::worker_main()
}
