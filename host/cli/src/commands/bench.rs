//! `ncz bench`: the best codecs for a variable.

mod names;
mod page;
mod report;

use std::fs;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget};
use ncz::bench::{BenchError, BenchOptions, bench};
use ncz::location::DatasetUrl;
use ncz::registry::Registry;
use ncz::registry::chain::Stage;
use ncz::registry::spec::ChainSpec;

use self::report::Report;
use crate::args::Bench;
use crate::dataset::{open, unknown_variable, writing_session};
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::name_pattern::full_path;
use crate::output::{Style, write_json};
use crate::progress::Interrupt;

/// Runs the command.
pub(crate) fn run(
    options: &Bench,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    let mut also = Vec::new();
    for text in &options.also {
        let wrong = |source| CliError::CodecText { text: text.clone(), source: Box::new(source) };
        let spec = ChainSpec::parse(text).map_err(wrong)?;
        // A codec that is not found is listed as not tried.
        let stages = spec.resolve(&registry).unwrap_or_default();
        if let Some(fault) = stages.iter().find_map(Stage::fault) {
            return Err(CliError::Usage(format!("--also {text}: {fault}")));
        }
        also.push(spec);
    }
    let url = DatasetUrl::parse(&options.dataset)?;
    let session = writing_session(registry, Some(options.threads), options.shuffle_size, false)?;
    let dataset = open(&url, session)?;
    let path = full_path(&options.variable);
    if !dataset.hierarchy().variables().any(|variable| variable.path == path) {
        let lost = dataset.hierarchy().unreadable().any(|lost| lost.path == path);
        if !lost {
            return Err(unknown_variable(&url, dataset.hierarchy(), &options.variable, ""));
        }
    }

    let interrupt = Interrupt::watch()?;
    let shown = messages.shows_progress() && std::io::stderr().is_terminal();
    let bar = ProgressBar::with_draw_target(
        None,
        if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() },
    );
    let bench_options = BenchOptions { sample: options.sample, time: options.time, also };
    let result = bench(&dataset, &path, &bench_options, &mut |step| {
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
        bar.set_message(step.chain.to_owned());
        if interrupt.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let measured = result.map_err(|error| match error {
        BenchError::Stopped => CliError::Interrupted("nothing was written"),
        source => {
            CliError::Bench { path: path.clone(), location: url.location.clone(), source: Box::new(source) }
        }
    })?;

    let report = Report::new(&options.dataset, &measured);
    if let Some(file) = &options.html {
        fs::write(file, page::render(&report)).map_err(|source| CliError::File {
            what: "write",
            path: file.clone(),
            source,
        })?;
    }
    if options.json {
        write_json(out, &report.to_json())?;
    } else {
        out.write_all(report.to_text(style, options.verbosity.verbose > 0).as_bytes())?;
        if let Some(file) = options.html.as_ref().filter(|_| !options.verbosity.quiet) {
            writeln!(out, "wrote {}", file.display())?;
        }
    }
    // A codec that does not restore its input is a finding.
    Ok(Exit::of_findings(!measured.faulty.is_empty()))
}
