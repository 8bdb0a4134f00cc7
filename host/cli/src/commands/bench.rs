//! `ncz bench`: which codecs suit a variable.

mod names;
mod page;
mod told;

use std::fs;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget};
use ncz::bench::{BenchError, BenchOptions, bench};
use ncz::registry::Registry;
use ncz::registry::chain::Stage;
use ncz::registry::spec::ChainSpec;

use self::told::Told;
use crate::args::Bench;
use crate::dataset::{open, session, unknown_variable};
use crate::error::CliError;
use crate::exit::Exit;
use crate::filter_spec::full_path;
use crate::output::Style;
use crate::path::Place;
use crate::progress::Interrupt;
use crate::talk::Talk;

/// Runs the command.
pub(crate) fn run(
    options: &Bench,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    let mut also = Vec::new();
    for text in &options.also {
        let wrong = |source| CliError::CodecText { text: text.clone(), source: Box::new(source) };
        let spec = ChainSpec::parse(text).map_err(wrong)?;
        // A codec that is not found is listed among what was not tried.
        let stages = spec.resolve(&registry).unwrap_or_default();
        if let Some(fault) = stages.iter().find_map(Stage::fault) {
            return Err(CliError::Usage(format!("--also {text}: {fault}")));
        }
        also.push(spec);
    }
    let place = Place::parse(&options.dataset)?;
    let dataset = open(&place, session(registry, Some(options.threads), options.shuffle_size)?)?;
    let path = full_path(&options.variable);
    if !dataset.hierarchy().variables().any(|variable| variable.path == path) {
        let lost = dataset.hierarchy().unreadable().any(|lost| lost.path == path);
        if !lost {
            return Err(unknown_variable(&place, dataset.hierarchy(), &options.variable, ""));
        }
    }

    let interrupt = Interrupt::watch()?;
    let shown = talk.shows_progress() && std::io::stderr().is_terminal();
    let bar = ProgressBar::with_draw_target(
        None,
        if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() },
    );
    let bench_options = BenchOptions { sample: options.sample, time: options.time, also };
    let result = bench(&dataset, &path, &bench_options, &mut |step| {
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
        bar.set_message(step.chain.to_owned());
        if interrupt.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let report = result.map_err(|error| match error {
        BenchError::Stopped => CliError::Interrupted("nothing was written"),
        source => {
            CliError::Bench { path: path.clone(), place: place.location.clone(), source: Box::new(source) }
        }
    })?;

    let told = Told::new(&options.dataset, &report);
    if let Some(file) = &options.html {
        fs::write(file, page::render(&told)).map_err(|source| CliError::File {
            what: "write",
            path: file.clone(),
            source,
        })?;
    }
    if options.json {
        writeln!(out, "{:#}", told.to_json())?;
    } else {
        out.write_all(told.to_text(style, options.verbosity.verbose > 0).as_bytes())?;
        if let Some(file) = options.html.as_ref().filter(|_| !options.verbosity.quiet) {
            writeln!(out, "the page is {}", file.display())?;
        }
    }
    // A codec that gives back something else is a finding.
    Ok(Exit::of_findings(!report.faulty.is_empty()))
}
