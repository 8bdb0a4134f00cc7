//! Runs a target for long, and keeps in its corpus what breaks it.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use ncz_fuzz::corpus::Corpus;
use ncz_fuzz::runner::{Plan, Runner};
use ncz_fuzz::{Case, targets};

/// Tries damaged and synthetic input; failures are kept in tests/fuzz/corpus.
#[derive(Parser)]
struct Options {
    /// The targets; all of them if none is named.
    targets: Vec<String>,
    /// How long to try each target.
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// The most inputs to try of each target.
    #[arg(long, value_name = "N", default_value_t = u64::MAX)]
    cases: u64,
    /// The seed of the random numbers; chosen and printed if not given.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Keep also the first inputs of which something new was reported, up to this many.
    #[arg(long, value_name = "N", default_value_t = 0)]
    keep_new: usize,
    /// Write each input to the corpus while it runs. If a run ended the process, the same seed with this option
    /// finds the input.
    #[arg(long)]
    note: bool,
    /// Run only this file of a corpus.
    #[arg(long, value_name = "FILE")]
    replay: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ncz-fuzz: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every promise was kept.
fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let mut good = true;
    for name in targets::NAMES {
        if !options.targets.is_empty() && !options.targets.iter().any(|wanted| wanted == name) {
            continue;
        }
        let target = targets::open(name).ok_or("no such target")?;
        let mut runner = Runner::new(name, target);
        if let Some(file) = &options.replay {
            let case = Case::from_file(&std::fs::read(file)?).ok_or("the file has no first line")?;
            let outcome = runner.one(&case);
            println!("{name}: {}", outcome.as_ref().unwrap_or_else(|message| message));
            good &= outcome.is_ok();
            continue;
        }
        println!("{name}: seed {seed}");
        let time = Some(Duration::from_secs(options.seconds));
        let report = runner.run(Plan { seed, cases: options.cases, time, note: options.note })?;
        let (cases, new, failures) = (report.cases, report.new.len(), report.failures.len());
        println!("{name}: {cases} inputs, {new} with a new report, {failures} failed");
        let corpus = Corpus::of(name);
        for failure in &report.failures {
            println!("{}:\n{}\n", corpus.keep(&failure.case)?.display(), failure.message);
        }
        // Short ones, each of a kind that a reader of the corpus may want to look at.
        for case in report.new.iter().filter(|case| case.bytes.len() < 2000).take(options.keep_new) {
            corpus.keep(case)?;
        }
        good &= report.failures.is_empty();
    }
    let unknown: Vec<&String> =
        options.targets.iter().filter(|wanted| !targets::NAMES.contains(&wanted.as_str())).collect();
    if !unknown.is_empty() {
        return Err(
            format!("unknown targets {unknown:?}; the targets are {}", targets::NAMES.join(", ")).into()
        );
    }
    Ok(good)
}
