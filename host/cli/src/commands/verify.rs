//! `ncz verify`: checks a dataset, and repairs known mistakes of other writers.

mod report;

use std::io::Write;
use std::sync::Arc;

use ncz::copy::{CopyError, copy};
use ncz::location::DatasetUrl;
use ncz::model::{Consolidated, Container, Format, Session};
use ncz::registry::Registry;
use ncz::repair::{self, Choices, RepairError};
use ncz::store::{Access, StoreError};
use ncz::verify::{Report, Severity, VerifyError, VerifyOptions, verify};
use ncz::zarr::Dataset;

use self::report::VerifyReport;
use crate::args::Verify;
use crate::dataset::{open, session, variables_meant};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::left_out::left_out;
use crate::messages::Messages;
use crate::name_pattern::full_path;
use crate::output::{Style, write_json};
use crate::progress::{Bar, Interrupt};
use crate::target::{Target, cannot_write};

/// What was done when the user interrupted it.
const NOTHING: &str = "nothing was changed";
/// The same after the repair.
const REPAIRED: &str = "the repair is complete, but was not verified";

/// How many missing chunks of a variable are listed.
const MISSING: usize = 100_000;

/// Runs the command.
pub(crate) fn run(
    options: &Verify,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    let url = DatasetUrl::parse(&options.path)?;
    let session = session(registry, options.threads, options.shuffle_size)?;
    let bar = Bar::new(messages.shows_progress(), Interrupt::watch()?);
    let report = match &options.repair_to {
        Some(target) => repaired_copy(options, &url, &DatasetUrl::parse(target)?, session, &bar, messages)?,
        None if options.repair => in_place(options, &url, session, &bar, messages)?,
        None => checked(options, &url, session, &bar)?,
    };
    if options.json {
        write_json(out, &report.to_json())?;
    } else {
        out.write_all(
            report.to_text(style, options.verbosity.quiet, options.verbosity.verbose > 0).as_bytes(),
        )?;
    }
    Ok(Exit::of_findings(!report.is_sound()))
}

/// Checks without changing anything.
fn checked(
    options: &Verify,
    url: &DatasetUrl,
    session: Session,
    bar: &Bar,
) -> Result<VerifyReport, CliError> {
    if !options.byte_order.is_empty() {
        let text = "--byte-order says how to repair a variable; give it with --repair or --repair-to";
        return Err(CliError::Usage(text.to_owned()));
    }
    let dataset = match open(url, session) {
        Ok(dataset) => dataset,
        Err(error) => {
            // A known fault can be the reason.
            let store = url.open_store(Access::Read)?;
            let choices = Choices { read: url.read_options(), ..Choices::default() };
            let findings = repair::survey(&*store, &choices).map_err(CliError::dataset(&url.location))?;
            let explains_it = findings.iter().any(|finding| finding.severity == Severity::Error);
            return match explains_it {
                true => Ok(VerifyReport::closed(&url.location, findings, with_causes(&error))),
                false => Err(error),
            };
        }
    };
    let names = options.variables.iter().map(String::as_str);
    let variables = variables_meant(names, dataset.hierarchy(), url)?;
    let variables = (!variables.is_empty()).then_some(variables);
    let list_missing = if options.missing { MISSING } else { 0 };
    let verify_options = VerifyOptions { variables, list_missing, ..VerifyOptions::default() };
    let report = verified(url, &dataset, &verify_options, bar, NOTHING)?;
    Ok(VerifyReport::new(&url.location, report).with_missing(options.missing))
}

/// Repairs the dataset in place.
fn in_place(
    options: &Verify,
    url: &DatasetUrl,
    session: Session,
    bar: &Bar,
    messages: Messages,
) -> Result<VerifyReport, CliError> {
    let access = if options.dry_run { Access::Read } else { Access::ReadWrite };
    let store = url.open_store(access)?;
    let plan = planned(options, url, store, &session, bar)?;
    if options.dry_run {
        messages.note("this is what --repair would do; nothing was changed");
        return Ok(VerifyReport::planned(&url.location, &plan));
    }
    plan.apply().map_err(|error| failed(url, error))?;
    if let Some(error) = &plan.closed {
        return Ok(
            VerifyReport::closed(&url.location, plan.left.clone(), with_causes(error)).after(&plan, None)
        );
    }
    let repaired = open(url, session)?;
    let report = verified(url, &repaired, &VerifyOptions::default(), bar, REPAIRED)?;
    Ok(VerifyReport::new(&url.location, report).after(&plan, None))
}

/// Writes a repaired copy.
fn repaired_copy(
    options: &Verify,
    url: &DatasetUrl,
    target: &DatasetUrl,
    session: Session,
    bar: &Bar,
    messages: Messages,
) -> Result<VerifyReport, CliError> {
    target.check_new().map_err(|source| cannot_write(target, source))?;
    let plan = planned(options, url, url.open_store(Access::Read)?, &session, bar)?;
    let source = Dataset::open(plan.view(), session.clone(), &url.read_options())
        .map_err(CliError::dataset(&url.location))?;
    let mut format = Target::of(target, None, false, source.hierarchy().format)?;
    if format.format.is_some_and(Format::is_netcdf) {
        return Err(CliError::Usage(format!(
            "{}: a repaired copy is a Zarr dataset; name it .nczarr, .zarr or .zip, and copy it to a netCDF file with ncz copy",
            target.location
        )));
    }
    format.consolidated |= source.hierarchy().consolidated != Consolidated::Absent;
    for note in format.changes(source.hierarchy()) {
        messages.note(&note);
    }
    let store = target.create_store(false).map_err(|source| CliError::Target {
        location: target.location.clone(),
        hint: match &source {
            StoreError::AlreadyExists { .. } => "; a repaired copy replaces nothing",
            _ => "",
        },
        source: Box::new(source),
    })?;
    let copied = copy(&source, store, &format.options(), bar);
    bar.clear();
    let copied = copied.map_err(|error| match error {
        CopyError::Stopped => CliError::Interrupted("there is no copy"),
        error => CliError::in_place(&target.location, error).unwrap_or_else(|source| CliError::Copy {
            from: url.location.clone(),
            target: target.location.clone(),
            state: "there is no copy",
            advice: None,
            source: Box::new(source),
        }),
    })?;
    if let Some(note) = left_out(&copied.foreign_objects) {
        messages.note(&note);
    }
    let copy = open(target, session)?;
    let report = verified(target, &copy, &VerifyOptions::default(), bar, REPAIRED)?;
    Ok(VerifyReport::new(&url.location, report).after(&plan, Some(&target.location)))
}

fn planned(
    options: &Verify,
    url: &DatasetUrl,
    store: Arc<dyn ncz::store::Store>,
    session: &Session,
    bar: &Bar,
) -> Result<repair::Plan, CliError> {
    let byte_orders =
        options.byte_order.iter().map(|choice| (full_path(&choice.variable), choice.order)).collect();
    let choices = Choices { shuffle: session.shuffle, byte_orders, read: url.read_options() };
    let plan = repair::plan(store, session, &choices, bar);
    bar.clear();
    plan.map_err(|error| failed(url, error))
}

fn verified(
    url: &DatasetUrl,
    dataset: &dyn Container,
    options: &VerifyOptions,
    bar: &Bar,
    state: &'static str,
) -> Result<Report, CliError> {
    let report = verify(dataset, options, bar);
    bar.clear();
    report.map_err(|error| match error {
        VerifyError::Stopped => CliError::Interrupted(state),
        source => CliError::Verify { location: url.location.clone(), source: Box::new(source) },
    })
}

fn failed(url: &DatasetUrl, error: RepairError) -> CliError {
    match error {
        RepairError::Verify(VerifyError::Stopped) => CliError::Interrupted(NOTHING),
        RepairError::NoChoice { .. } => CliError::Usage(error.to_string()),
        error => CliError::in_place(&url.location, error).unwrap_or_else(|source| CliError::Repair {
            location: url.location.clone(),
            source: Box::new(source),
        }),
    }
}
