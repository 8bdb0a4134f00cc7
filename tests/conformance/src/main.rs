//! The command `ncz-conform`.

mod allocator;
mod args;
mod list;
mod live;

use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use ncz_conform::Selection;
use ncz_conform::error::{Error, chain};
use ncz_conform::exit::Exit;
use ncz_conform::report::text::{self, Style, visible};
use ncz_conform::{report, worker};

use crate::args::Cli;
use crate::live::{Live, Talk};

fn main() -> ExitCode {
    allocator::keep();
    worker::exports_allocator();
    worker::run_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, and are not errors.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Fit }.into();
        }
    };
    // Ignored, as some programs hand it on, it would hide how workers end.
    ncz_registry::load::probe::keep_children();
    let is_first_parent = ncz_conform::has_no_children();
    // The standard hook reports the panic itself.
    let mut exit = panic::catch_unwind(AssertUnwindSafe(|| run(&cli))).unwrap_or_else(|_| {
        tell(&format!("this is a bug in ncz-conform {}; please report it", env!("CARGO_PKG_VERSION")));
        Exit::Bug
    });
    // Which check they are from is unknown; elsewhere they are a warning.
    if is_first_parent && let left @ 1.. = ncz_conform::kill_children() {
        let text = "processes that plugins left behind without their environment, killed at the end";
        let _ = writeln!(std::io::stderr(), "warning: {text}: {left}");
        if cli.strict && exit == Exit::Fit {
            exit = Exit::Findings;
        }
    }
    exit.into()
}

fn run(cli: &Cli) -> Exit {
    match try_run(cli) {
        Ok(exit) => exit,
        Err(error) => {
            tell(&chain(&error));
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
        let checks = selection.checks(cli.level)?;
        match &cli.json {
            Some(path) => report::save(path, &list::json(&checks))?,
            // A closed pipe, as of `| head`: the reader has seen enough.
            None => drop(std::io::stdout().write_all(list::text(&checks).as_bytes())),
        }
        return Ok(Exit::Fit);
    }
    // Short enough to be typed again.
    let seed = cli.seed.unwrap_or_else(|| fastrand::u32(..).into());
    let conformance = cli.conformance(seed);
    stop_on_signals(conformance.stop_flag());
    let talk = match (cli.reports_to_stdout(), cli.quiet, cli.verbose) {
        (true, ..) => Talk::Silent,
        (_, true, _) => Talk::Quiet,
        (.., true) => Talk::Verbose,
        _ => Talk::Normal,
    };
    if cli.reports().filter(|(path, _)| *path == Path::new("-")).count() > 1 {
        tell("only one report can go to standard output");
        return Ok(Exit::Usage);
    }
    cli.reports().try_for_each(|(path, _)| report::check(path))?;
    let live = Live::new(talk);
    let run = conformance.run_watched(&live);
    live.clear();
    let run = run?;
    for bug in &run.bugs {
        tell(&format!("a bug in ncz-conform: {bug}"));
    }
    if matches!(talk, Talk::Normal | Talk::Verbose) {
        // A closed pipe: the reader has seen enough, and only the exit code is left.
        let _ = write!(std::io::stdout(), "\n{}", text::render(&run, Style::of_stdout()));
    }
    cli.reports().try_for_each(|(path, render)| report::save(path, &render(&run)))?;
    Ok(Exit::of_run(&run, cli.strict))
}

/// Says what went wrong. If standard error is closed, only the exit code is left.
fn tell(error: &str) {
    let _ = writeln!(std::io::stderr(), "error: {}", visible(error));
}

/// Ends the run at Ctrl-C and at SIGTERM; at the second one the program ends immediately.
fn stop_on_signals(stop: Arc<AtomicBool>) {
    // Without a handler the program ends at once, and the system ends the workers.
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}
