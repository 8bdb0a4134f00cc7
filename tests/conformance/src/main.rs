//! The command `ncz-conform`.

mod allocator;
mod args;
mod list;
mod live;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use ncz_conform::Selection;
use ncz_conform::error::{Error, chain};
use ncz_conform::exit::Exit;
use ncz_conform::outcome::Verdict;
use ncz_conform::results::Run;
use ncz_conform::worker;

use crate::args::Cli;
use crate::live::{Live, Talk};

fn main() -> ExitCode {
    allocator::keep();
    worker::exports_allocator();
    worker::run_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, and are no errors.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Fit }.into();
        }
    };
    // The panic itself is told by the standard hook.
    let exit = panic::catch_unwind(AssertUnwindSafe(|| run(&cli))).unwrap_or_else(|_| {
        eprintln!("error: this is a bug in ncz-conform {}; please report it", env!("CARGO_PKG_VERSION"));
        Exit::Bug
    });
    exit.into()
}

fn run(cli: &Cli) -> Exit {
    match try_run(cli) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            Exit::of_error(&error)
        }
    }
}

fn try_run(cli: &Cli) -> Result<Exit, Error> {
    if cli.list {
        let selection = Selection {
            include: cli.include.clone(),
            exclude: cli.exclude.clone(),
            targets: cli.target.clone(),
        };
        print!("{}", list::text(&selection.checks(cli.level)?));
        return Ok(Exit::Fit);
    }
    // Short enough to be typed again.
    let seed = cli.seed.unwrap_or_else(|| fastrand::u32(..).into());
    let conformance = cli.conformance(seed);
    stop_on_signals(conformance.stop_flag());
    let talk = match (cli.quiet, cli.verbose) {
        (true, _) => Talk::Quiet,
        (_, true) => Talk::Verbose,
        _ => Talk::Normal,
    };
    let live = Live::new(talk);
    let run = conformance.run_watched(&live);
    live.clear();
    let run = run?;
    for bug in &run.bugs {
        eprintln!("error: a bug in ncz-conform: {bug}");
    }
    if talk != Talk::Quiet {
        print!("{}", summary(&run));
    }
    Ok(Exit::of_run(&run, cli.strict))
}

/// Ends the run at Ctrl-C and at a polite request to end; at the second one the program ends where it is.
fn stop_on_signals(stop: Arc<AtomicBool>) {
    // Without a handler the program ends at once, and the system ends the workers.
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}

fn summary(run: &Run) -> String {
    let mut text = format!(
        "{:>7}{:>8}{:>7}{:>7}{:>5}{:>8}\n",
        "passed", "skipped", "warned", "failed", "hung", "crashed"
    );
    for library in &run.libraries {
        let counts = library.counts();
        for (verdict, width) in Verdict::ALL.into_iter().zip([7, 8, 7, 7, 5, 8]) {
            text.push_str(&format!("{:>width$}", counts.number(verdict)));
        }
        text.push_str(&format!("  {}: {}\n", library.path.display(), library.verdict(run.settings.level)));
    }
    text.push_str(&format!("{:.1} s, seed {}\n", run.took.as_secs_f64(), run.settings.seed));
    text
}
