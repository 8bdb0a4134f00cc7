//! Options that run plugins in worker processes.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ncz::registry::isolate::{Isolation, Selected, Which};

use super::common::{seconds, size};

/// Which plugins run in worker processes. Every command has these options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct IsolateOptions {
    /// Run third-party plugins in worker processes, so that a crash or a hang is only an error
    #[arg(long, global = true)]
    isolate: bool,
    /// Isolate only this plugin: a file name, a path or an HDF5 filter id (repeatable)
    #[arg(long, global = true, value_name = "WHICH", conflicts_with = "isolate")]
    isolate_only: Vec<Selected>,
    /// Maximum number of processes for one plugin [default: one for each core]
    #[arg(long, global = true, value_name = "N", hide_short_help = true)]
    workers: Option<NonZeroUsize>,
    /// Memory limit of a worker process [default: 8GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, hide_short_help = true)]
    worker_memory: Option<u64>,
    /// CPU time limit of one call; the limit by the clock is ten times that [default: 60]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    worker_time: Option<Duration>,
    /// The worker program [default: ncz-worker in the folder of ncz]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    worker_program: Option<PathBuf>,
}

impl IsolateOptions {
    /// Returns what the options select.
    pub(crate) fn isolation(&self) -> Isolation {
        let which = match (self.isolate, &self.isolate_only[..]) {
            (true, _) => Which::Foreign,
            (false, []) => Which::None,
            (false, only) => Which::Only(only.to_vec()),
        };
        Isolation {
            which,
            worker: self.worker_program.clone(),
            workers: self.workers,
            memory: self.worker_memory.unwrap_or(Isolation::NONE.memory),
            cpu_time: self.worker_time.unwrap_or(Isolation::NONE.cpu_time),
            wall_time: None,
        }
    }
}
