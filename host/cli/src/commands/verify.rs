//! `ncz verify`: checks a dataset, and repairs known mistakes of other writers.

mod report;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use ncz::copy::{CopyError, copy};
use ncz::location::DatasetUrl;
use ncz::model::{Consolidated, Container, Session};
use ncz::registry::Registry;
use ncz::repair::{self, Choices, RepairError};
use ncz::store::{Access, StoreError};
use ncz::verify::{Report, Severity, VerifyError, VerifyOptions, verify};
use ncz::zarr::Dataset;

use self::report::VerifyReport;
use crate::args::Verify;
use crate::codec_request::full_path;
use crate::dataset::{open, session, unknown_variable};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::left_out::left_out;
use crate::messages::Messages;
use crate::output::{Style, write_json};
use crate::progress::{Bar, Interrupt};
use crate::target::{Target, cannot_write};

/// What was done when the user interrupted it.
const NOTHING: &str = "nothing was changed";
/// The same after the repair.
const REPAIRED: &str = "the repair is complete, but was not verified";

/// Runs the command.
pub(crate) fn run(
    options: &Verify,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    let place = DatasetUrl::parse(&options.path)?;
    let session = session(registry, options.threads, options.shuffle_size)?;
    let bar = Bar::new(messages.shows_progress(), Interrupt::watch()?);
    let report = match &options.repair_to {
        Some(target) => repaired_copy(options, &place, &DatasetUrl::parse(target)?, session, &bar, messages)?,
        None if options.repair => in_place(options, &place, session, &bar, messages)?,
        None => checked(options, &place, session, &bar)?,
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
    place: &DatasetUrl,
    session: Session,
    bar: &Bar,
) -> Result<VerifyReport, CliError> {
    if !options.byte_order.is_empty() {
        let text = "--byte-order says how to repair a variable; give it with --repair or --repair-to";
        return Err(CliError::Usage(text.to_owned()));
    }
    let dataset = match open(place, session) {
        Ok(dataset) => dataset,
        Err(error) => {
            // A known fault can be the reason.
            let store = place.open_store(Access::Read)?;
            let choices = Choices { read: place.read_options(), ..Choices::default() };
            let findings = repair::survey(&*store, &choices).map_err(CliError::dataset(&place.location))?;
            let explains_it = findings.iter().any(|finding| finding.severity == Severity::Error);
            return match explains_it {
                true => Ok(VerifyReport::closed(&place.location, findings, with_causes(&error))),
                false => Err(error),
            };
        }
    };
    let mut variables = BTreeSet::new();
    for name in &options.variables {
        let path = full_path(name);
        let hierarchy = dataset.hierarchy();
        let known = hierarchy.variables().any(|variable| variable.path == path)
            || hierarchy.unreadable().any(|lost| lost.path == path);
        if !known {
            return Err(unknown_variable(place, hierarchy, name, ""));
        }
        variables.insert(path);
    }
    let variables = (!variables.is_empty()).then_some(variables);
    let report =
        verified(place, &dataset, &VerifyOptions { variables, ..VerifyOptions::default() }, bar, NOTHING)?;
    Ok(VerifyReport::new(&place.location, report))
}

/// Repairs the dataset in place.
fn in_place(
    options: &Verify,
    place: &DatasetUrl,
    session: Session,
    bar: &Bar,
    messages: Messages,
) -> Result<VerifyReport, CliError> {
    let access = if options.dry_run { Access::Read } else { Access::ReadWrite };
    let store = place.open_store(access)?;
    let plan = planned(options, place, store, &session, bar)?;
    if options.dry_run {
        messages.note("this is what --repair would do; nothing was changed");
        return Ok(VerifyReport::planned(&place.location, &plan));
    }
    plan.apply().map_err(|error| failed(place, error))?;
    if let Some(error) = &plan.closed {
        return Ok(
            VerifyReport::closed(&place.location, plan.left.clone(), with_causes(error)).after(&plan, None)
        );
    }
    let repaired = open(place, session)?;
    let report = verified(place, &repaired, &VerifyOptions::default(), bar, REPAIRED)?;
    Ok(VerifyReport::new(&place.location, report).after(&plan, None))
}

/// Writes a repaired copy.
fn repaired_copy(
    options: &Verify,
    place: &DatasetUrl,
    target: &DatasetUrl,
    session: Session,
    bar: &Bar,
    messages: Messages,
) -> Result<VerifyReport, CliError> {
    target.check_new().map_err(|source| cannot_write(target, source))?;
    let plan = planned(options, place, place.open_store(Access::Read)?, &session, bar)?;
    let source = Dataset::open(plan.view(), session.clone(), &place.read_options())
        .map_err(CliError::dataset(&place.location))?;
    let mut format = Target::of(&target.mode, None, source.hierarchy().format)?;
    format.consolidated |= source.hierarchy().consolidated != Consolidated::Absent;
    for note in format.changes(source.hierarchy()) {
        messages.note(&note);
    }
    let store = target.create_store(false).map_err(|source| CliError::Target {
        place: target.location.clone(),
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
            from: place.location.clone(),
            target: target.location.clone(),
            state: "there is no copy",
            source: Box::new(source),
        }),
    })?;
    if let Some(note) = left_out(&copied.foreign_objects) {
        messages.note(&note);
    }
    let copy = open(target, session)?;
    let report = verified(target, &copy, &VerifyOptions::default(), bar, REPAIRED)?;
    Ok(VerifyReport::new(&place.location, report).after(&plan, Some(&target.location)))
}

fn planned(
    options: &Verify,
    place: &DatasetUrl,
    store: Arc<dyn ncz::store::Store>,
    session: &Session,
    bar: &Bar,
) -> Result<repair::Plan, CliError> {
    let byte_orders =
        options.byte_order.iter().map(|choice| (full_path(&choice.variable), choice.order)).collect();
    let choices = Choices { shuffle: session.shuffle, byte_orders, read: place.read_options() };
    let plan = repair::plan(store, session, &choices, bar);
    bar.clear();
    plan.map_err(|error| failed(place, error))
}

fn verified(
    place: &DatasetUrl,
    dataset: &dyn Container,
    options: &VerifyOptions,
    bar: &Bar,
    state: &'static str,
) -> Result<Report, CliError> {
    let report = verify(dataset, options, bar);
    bar.clear();
    report.map_err(|error| match error {
        VerifyError::Stopped => CliError::Interrupted(state),
        source => CliError::Verify { place: place.location.clone(), source: Box::new(source) },
    })
}

fn failed(place: &DatasetUrl, error: RepairError) -> CliError {
    match error {
        RepairError::Verify(VerifyError::Stopped) => CliError::Interrupted(NOTHING),
        RepairError::NoChoice { .. } => CliError::Usage(error.to_string()),
        error => CliError::in_place(&place.location, error).unwrap_or_else(|source| CliError::Repair {
            place: place.location.clone(),
            source: Box::new(source),
        }),
    }
}
