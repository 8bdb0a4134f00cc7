//! `ncz bench`: the best codecs for a dataset or a variable.

mod chart;
mod dataset_report;
mod markup;
mod names;
mod page;
mod report;

use std::fs;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget};
use ncz::bench::{BenchError, BenchOptions, Step, bench, bench_dataset};
use ncz::location::DatasetUrl;
use ncz::registry::Registry;
use ncz::registry::chain::Stage;
use ncz::registry::spec::ChainSpec;

use self::dataset_report::DatasetReport;
use self::names::Ends;
use self::report::Report;
use crate::args::Bench;
use crate::dataset::{open, variables_meant, writing_session};
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
    let hierarchy = dataset.hierarchy();
    let paths = variables_meant(options.variables.iter().map(String::as_str), hierarchy, &url)?;
    let one = match (options.variables.as_slice(), paths.first()) {
        ([name], Some(path)) if paths.len() == 1 && full_path(name) == *path => Some(path),
        _ => None,
    };

    let interrupt = Interrupt::watch()?;
    let shown = messages.shows_progress() && std::io::stderr().is_terminal();
    let bar = ProgressBar::with_draw_target(
        None,
        if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() },
    );
    let bench_options = BenchOptions { sample: options.sample, time: options.time, also };
    let mut watch = |step: Step<'_>| {
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
        bar.set_message(format!("{} {}", step.path.trim_start_matches('/'), step.chain));
        if interrupt.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let failed = |path: &str, error| match error {
        BenchError::Stopped => CliError::Interrupted("nothing was written"),
        source => CliError::Bench {
            path: path.to_owned(),
            location: url.location.clone(),
            source: Box::new(source),
        },
    };
    let target = names::target(&url);
    let ends = Ends { dataset: &options.dataset, target: &target };
    let is_verbose = options.verbosity.verbose > 0;
    let printed = match one {
        Some(path) => {
            let measured = bench(&dataset, path, &bench_options, &mut watch);
            bar.finish_and_clear();
            let measured = measured.map_err(|error| failed(path, error))?;
            let report = Report::new(ends, &measured, options.rank);
            let page = options.html.as_ref().map(|_| page::of_variable(&report));
            match options.json {
                true => Printed::new(json_text(&report.to_json())?, page, !measured.faulty.is_empty()),
                false => Printed::new(report.to_text(style, is_verbose), page, !measured.faulty.is_empty()),
            }
        }
        None => {
            let all = hierarchy.variables().map(|variable| variable.path.as_str());
            let all = all.chain(hierarchy.unreadable().map(|lost| lost.path.as_str()));
            let chosen: Vec<&str> = all.filter(|path| paths.is_empty() || paths.contains(*path)).collect();
            let measured = bench_dataset(&dataset, &chosen, &bench_options, options.rank, &mut watch);
            bar.finish_and_clear();
            let measured = measured.map_err(|error| failed("/", error))?;
            let report = DatasetReport::new(ends, &measured);
            let page = options.html.as_ref().map(|_| page::of_dataset(&report));
            match options.json {
                true => Printed::new(json_text(&report.to_json())?, page, report.has_faulty()),
                false => Printed::new(report.to_text(style, is_verbose), page, report.has_faulty()),
            }
        }
    };
    if let (Some(file), Some(page)) = (&options.html, &printed.page) {
        fs::write(file, page).map_err(|source| CliError::File {
            what: "write",
            path: file.clone(),
            source,
        })?;
    }
    out.write_all(printed.text.as_bytes())?;
    if let Some(file) = options.html.as_ref().filter(|_| !options.verbosity.quiet && !options.json) {
        writeln!(out, "wrote {}", file.display())?;
    }
    // A codec that does not restore its input is a finding.
    Ok(Exit::of_findings(printed.has_faulty))
}

/// What is printed.
struct Printed {
    text: String,
    page: Option<String>,
    has_faulty: bool,
}

impl Printed {
    fn new(text: String, page: Option<String>, has_faulty: bool) -> Self {
        Self { text, page, has_faulty }
    }
}

fn json_text(report: &impl serde::Serialize) -> Result<String, CliError> {
    let mut text = Vec::new();
    write_json(&mut text, report)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
