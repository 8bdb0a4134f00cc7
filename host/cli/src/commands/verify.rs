//! `ncz verify`: whether a dataset is sound, and mending what is known to be wrong.

mod told;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use ncz::copy::{CopyError, copy};
use ncz::nczarr::{Consolidated, Dataset, Session};
use ncz::registry::Registry;
use ncz::repair::{self, Choices, RepairError};
use ncz::store::{Access, StoreError};
use ncz::verify::{Finding, Report, Severity, VerifyError, VerifyOptions, verify};

use self::told::Told;
use super::copy::cannot_write;
use super::copy::summary::left_out;
use crate::args::Verify;
use crate::dataset::{open, session, unknown_variable};
use crate::error::{CliError, with_causes};
use crate::exit::Exit;
use crate::filter_spec::full_path;
use crate::output::Style;
use crate::path::Place;
use crate::progress::{Bar, Interrupt};
use crate::talk::Talk;
use crate::target::Target;

/// What was done when the user stopped it.
const NOTHING: &str = "nothing was changed";
/// The same, behind the last step.
const MENDED: &str = "what can be mended is mended, but was not verified again";

/// Runs the command.
pub(crate) fn run(
    options: &Verify,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    let place = Place::parse(&options.path)?;
    let session = session(registry, options.threads, options.shuffle_size)?;
    let bar = Bar::new(talk.shows_progress(), Interrupt::watch()?);
    let told = match &options.repair_to {
        Some(target) => mended_copy(options, &place, &Place::parse(target)?, session, &bar, talk)?,
        None if options.repair => in_place(options, &place, session, &bar, talk)?,
        None => checked(options, &place, session, &bar)?,
    };
    if options.json {
        writeln!(out, "{:#}", told.to_json())?;
    } else {
        out.write_all(
            told.to_text(style, options.verbosity.quiet, options.verbosity.verbose > 0).as_bytes(),
        )?;
    }
    Ok(Exit::of_findings(!told.is_sound()))
}

/// Looks, and changes nothing.
fn checked(options: &Verify, place: &Place, session: Session, bar: &Bar) -> Result<Told, CliError> {
    if !options.byte_order.is_empty() {
        let text = "--byte-order says how to mend a variable; give it with --repair or --repair-to";
        return Err(CliError::Usage(text.to_owned()));
    }
    let dataset = match open(place, session) {
        Ok(dataset) => dataset,
        Err(error) => {
            // What keeps it from opening may be a fault that is known.
            let store = place.open_store(Access::Read)?;
            let choices = Choices { read: place.read_options(), ..Choices::default() };
            let findings = repair::survey(&*store, &choices).map_err(CliError::dataset(&place.location))?;
            let told_why = findings.iter().any(|finding| finding.severity == Severity::Error);
            return match told_why {
                true => Ok(Told::closed(&place.location, findings, with_causes(&error))),
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
    Ok(Told::new(&place.location, report))
}

/// Mends the dataset itself.
fn in_place(
    options: &Verify,
    place: &Place,
    session: Session,
    bar: &Bar,
    talk: Talk,
) -> Result<Told, CliError> {
    let access = if options.dry_run { Access::Read } else { Access::ReadWrite };
    let store = place.open_store(access)?;
    let plan = planned(options, place, store, &session, bar)?;
    if options.dry_run {
        talk.note("this is what would be done; nothing was changed");
        return Ok(Told::planned(&place.location, &plan));
    }
    plan.apply().map_err(|error| failed(place, error))?;
    if let Some(error) = &plan.closed {
        return Ok(Told::closed(&place.location, plan.left.clone(), with_causes(error)).after(&plan, None));
    }
    let mended = open(place, session)?;
    let report = verified(place, &mended, &VerifyOptions::default(), bar, MENDED)?;
    Ok(Told::new(&place.location, report).after(&plan, None))
}

/// Writes a mended copy.
fn mended_copy(
    options: &Verify,
    place: &Place,
    target: &Place,
    session: Session,
    bar: &Bar,
    talk: Talk,
) -> Result<Told, CliError> {
    target.check_new().map_err(|source| cannot_write(target, source))?;
    let plan = planned(options, place, place.open_store(Access::Read)?, &session, bar)?;
    let source = Dataset::open(plan.view(), session.clone(), &place.read_options())
        .map_err(CliError::dataset(&place.location))?;
    let mut wanted = Target::of(&target.mode, None, source.hierarchy().format)?;
    wanted.consolidated |= source.hierarchy().consolidated != Consolidated::Absent;
    for note in wanted.changes(source.hierarchy()) {
        talk.note(&note);
    }
    let store = target.create_store(false).map_err(|source| CliError::Target {
        place: target.location.clone(),
        hint: match &source {
            StoreError::AlreadyExists { .. } => "; a mended copy replaces nothing",
            _ => "",
        },
        source: Box::new(source),
    })?;
    let copied = copy(&source, store, &wanted.options(), bar);
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
    if let Some(note) = left_out(&copied.left_out) {
        talk.note(&note);
    }
    let copy = open(target, session)?;
    let report = verified(target, &copy, &VerifyOptions::default(), bar, MENDED)?;
    Ok(Told::new(&place.location, report).after(&plan, Some(&target.location)))
}

fn planned(
    options: &Verify,
    place: &Place,
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
    place: &Place,
    dataset: &Dataset,
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

fn failed(place: &Place, error: RepairError) -> CliError {
    match error {
        RepairError::Verify(VerifyError::Stopped) => CliError::Interrupted(NOTHING),
        RepairError::NoChoice { .. } => CliError::Usage(error.to_string()),
        error => CliError::in_place(&place.location, error).unwrap_or_else(|source| CliError::Repair {
            place: place.location.clone(),
            source: Box::new(source),
        }),
    }
}

/// Whether somebody should look at it.
fn is_fault(finding: &Finding) -> bool {
    finding.severity > Severity::Note
}
