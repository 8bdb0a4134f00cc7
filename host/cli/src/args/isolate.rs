use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ncz::registry::isolate::{Isolation, Selected, Which};

/// Which plugins run in processes of their own. These options go with every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct IsolateOptions {
    /// Run plugins of others in processes of their own: a crash or a hang is an error then
    #[arg(long, global = true)]
    isolate: bool,
    /// Isolate only this plugin: a file name, a path or an HDF5 filter id (repeatable)
    #[arg(long, global = true, value_name = "WHICH", conflicts_with = "isolate")]
    isolate_only: Vec<Selected>,
    /// The most processes for one plugin [default: one for each processor]
    #[arg(long, global = true, value_name = "N", hide_short_help = true)]
    workers: Option<NonZeroUsize>,
    /// The memory that a plugin may take in such a process [default: 8GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = super::size, hide_short_help = true)]
    worker_memory: Option<u64>,
    /// The processor time of one call, ten times that by the clock [default: 60]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    worker_time: Option<Duration>,
    /// The program for these processes [default: ncz-worker beside ncz]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    worker_program: Option<PathBuf>,
}

impl IsolateOptions {
    /// What the options ask for.
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

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text:?} is no time; write seconds, such as 60 or 0.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds("60"), Ok(Duration::from_secs(60)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "0", "-1", "inf", "nan", "1m", "1e-99"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
