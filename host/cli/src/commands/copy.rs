//! `ncz copy`: copies a dataset, with other codecs, chunks or metadata.

mod announced;
mod append;
mod concat;
mod parts;
mod plan;
mod references;
mod resume;
mod salvage;
mod select;
mod summary;
mod user_types;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use ncz::Dataset;
use ncz::concat::Misaligned;
use ncz::copy::{CopyError, CopyOptions, CopySummary, copy, substitute};
use ncz::location::{DatasetUrl, Nesting};
use ncz::model::{Consolidated, Format, Hierarchy};
use ncz::readers::{self, ReaderSetup};
use ncz::registry::Registry;

use self::announced::Announced;
use self::plan::{Plan, Requests};
use self::summary::Summary;
use crate::args::{Copy, FormatArg};
use crate::dataset::{open, writing_session};
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::left_out::left_out;
use crate::messages::Messages;
use crate::output::{Style, abbreviated, write_json};
use crate::progress::{Bar, Interrupt};
use crate::target::{Target, cannot_write, check_ending, create, failure, is_netcdf_name};

/// Runs the command.
pub(crate) fn run(
    options: &Copy,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    if let Some(exit) = parts::run(options, &registry, out, style, messages)? {
        return Ok(exit);
    }
    let target = DatasetUrl::parse(options.target()?)?;
    let plan_request = parts::PlanRequest::of(options)?;
    let requests = Requests::parse(options)?;
    let sources = concat::sources(options)?;
    let [source, ..] = sources.as_slice() else {
        return Err(CliError::Usage("there is no source".to_owned()));
    };
    sources.iter().try_for_each(|source| check_apart(source, &target))?;
    if plan_request.is_none() && target.names_references() {
        return references::run(options, (&sources, &target), registry, out, style, messages);
    }
    if let Some(dimension) = &options.append {
        return append::run(options, dimension, (source, &target), registry, out, style, messages);
    }
    check_ending(&target)?;
    let report = salvage::report_path(options, &sources, &target)?;
    target.check_new().map_err(|source| cannot_write(&target, source))?;

    let session = writing_session(registry, options.threads, options.shuffle_size, options.no_lossy_guard)?;
    let joined;
    let (options, dataset) = match &options.concat {
        None => (options, open(source, session)?),
        Some(dimension) => {
            let dataset = concat::open(options, dimension, &sources, &session, Misaligned::Assemble)?;
            dataset.notes().iter().for_each(|note| messages.note(note));
            joined = concat::selected(options);
            (&joined, Dataset::new(dataset))
        }
    };
    let mut format = Target::of(&target, options.format, options.consolidated, dataset.hierarchy().format)?
        .readable_for(
        &options.readers,
        &target,
        options.format.is_some(),
        dataset.hierarchy().format,
    )?;
    let becomes = format.format.unwrap_or(dataset.hierarchy().format);
    let source_has_consolidated = dataset.hierarchy().consolidated != Consolidated::Absent;
    format.consolidated |= source_has_consolidated && !options.no_consolidated && !becomes.is_netcdf();
    if options.resume && becomes.is_netcdf() {
        return Err(CliError::Usage(format!(
            "{}: a netCDF file cannot be resumed; leave out --resume, or name the target .nczarr or .zarr",
            target.location
        )));
    }
    let selection = select::selection(options, dataset.hierarchy(), source)?;
    let selected = selection.selected(dataset.hierarchy());
    for warning in &selected.warnings {
        messages.warn(&warning.to_string());
    }
    let rules = options.nccopy.as_ref();
    let mut plan = Plan::make(&requests, &dataset, source, format.format, &selection, rules)?;
    plan.notes.extend(changes(format, &selected));
    for note in &plan.notes {
        messages.note(note);
    }

    let copy_options = CopyOptions {
        variables: plan.variables,
        verify: options.verify,
        selection,
        fixed: options.fixed,
        memory: options.memory,
        scratch: scratch(options, &target),
        salvage: options.salvage,
        readers: options.readers.clone(),
        codecs_for: codecs_for(options, becomes, dataset.hierarchy().format),
        ..format.options()
    };
    let bar = Bar::new(messages.shows_progress(), Interrupt::watch()?);
    let bar = Announced::new(bar, &dataset, &target, options, messages);
    if let Some(request) = plan_request {
        let ends = (source, &target);
        return request.run(options, ends, &dataset, &copy_options, (bar, plan.notes), (out, messages));
    }
    let copied = match options.resume {
        true => resume::copied(source, &target, &dataset, copy_options, &bar, messages)?,
        false => {
            let new = create(&target, becomes, options.overwrite)?;
            let result = copy(&dataset, new, &copy_options, &bar);
            bar.bar.clear();
            result.map_err(|error| {
                let advice = without_type(&error, &selected, &target, &options.readers);
                failed(source, &target, error, advice)
            })?
        }
    };

    plan.notes.extend(bar.into_notes());
    let notes = summary::lossy(&copied.variables).into_iter().chain(left_out(&copied.foreign_objects));
    for note in notes {
        messages.note(&note);
        plan.notes.push(note);
    }
    let summary = Summary::new(
        (&source.location, &target.location),
        becomes,
        &dataset,
        &copied,
        options.verify,
        &plan.notes,
    );
    print(&summary, options, out, style).map_err(|error| error.not_printed(&target.location))?;
    let exit = findings(&copied, messages);
    if let Some(report) = report {
        let ends = (&source.location, &target.location);
        salvage::report(&report, ends, dataset.hierarchy(), &copied, messages)?;
    }
    Ok(exit)
}

/// Returns the programs that must have the codecs of the copy: those of `--for`, or else zarr-python for Zarr that the
/// source is not, or that `--format` names.
fn codecs_for(options: &Copy, becomes: Format, source: Format) -> Vec<ReaderSetup> {
    let is_new_zarr = !becomes.has_netcdf_model() && (options.format.is_some() || !becomes.is_like(source));
    match options.readers.is_empty() && is_new_zarr {
        true => vec![ReaderSetup::from(readers::usual(becomes))],
        false => options.readers.clone(),
    }
}

/// Returns what a target does not keep of what is selected.
fn changes(target: Target, selected: &Hierarchy) -> Vec<String> {
    let mut notes = target.changes(selected);
    let becomes = target.format.unwrap_or(selected.format);
    if selected.format.is_netcdf() && !becomes.has_user_types() {
        notes.extend(user_types::notes(selected));
    }
    notes
}

/// Returns the error of a copy that failed.
fn failed(source: &DatasetUrl, target: &DatasetUrl, error: CopyError, advice: Option<String>) -> CliError {
    match error {
        CopyError::Stopped => CliError::Interrupted(failure::unchanged(target)),
        error => CliError::in_place(&target.location, error).unwrap_or_else(|error| CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: failure::after_copy(target, &error),
            advice,
            source: Box::new(error),
        }),
    }
}

/// What to do about variables for which the format of the copy has no types: the formats of such a target that have them
/// and that all readers open.
fn without_type(
    error: &CopyError,
    hierarchy: &Hierarchy,
    target: &DatasetUrl,
    readers: &[ReaderSetup],
) -> Option<String> {
    let CopyError::NoType { variables } = error else { return None };
    let has_types =
        |format: Format| hierarchy.variables().all(|variable| substitute(variable, format).is_ok());
    let names: Vec<String> = variables.iter().map(|variable| variable.path.clone()).collect();
    let exclude = format!("leave out {} with --exclude", abbreviated(&names));
    let candidates: &[FormatArg] = match is_netcdf_name(target) {
        true => &[FormatArg::Netcdf4, FormatArg::Cdf5],
        false => &[FormatArg::Zarr, FormatArg::Zarr3],
    };
    let fit = candidates.iter().filter(|word| {
        has_types(word.format()) && readers.iter().all(|setup| readers::opens(setup, word.format()))
    });
    let words: Vec<String> = fit.map(|word| word.word()).collect();
    Some(match words.is_empty() {
        true => exclude,
        false => format!("{exclude}, or choose a format that has the type: --format {}", words.join(" or ")),
    })
}

fn print(summary: &Summary<'_>, options: &Copy, out: &mut dyn Write, style: Style) -> Result<(), CliError> {
    if options.json {
        write_json(out, &summary.to_json())?;
    } else if !options.verbosity.quiet {
        out.write_all(summary.to_text(style).as_bytes())?;
    }
    // Flush here, where it is known that the copy is complete.
    Ok(out.flush()?)
}

/// Warns of variables that were left out because they cannot be read; lost chunks are findings too.
fn findings(copied: &CopySummary, messages: Messages) -> Exit {
    for lost in &copied.unreadable {
        messages.warn(&format!("left out because it cannot be read: {}: {}", lost.path, lost.reason));
    }
    let has_lost = copied.variables.iter().any(|variable| !variable.lost.is_empty());
    Exit::of_findings(has_lost || !copied.unreadable.is_empty())
}

/// Returns the folder for scratch files: that of the target, which has room for the copy.
fn scratch(options: &Copy, target: &DatasetUrl) -> Option<PathBuf> {
    let beside = || match target.location.path()?.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => Some(parent.to_owned()),
        _ => Some(PathBuf::from(".")),
    };
    options.scratch.clone().or_else(beside)
}

/// Refuses a target inside the source, and a source inside the target.
fn check_apart(source: &DatasetUrl, target: &DatasetUrl) -> Result<(), CliError> {
    let (inner, outer) = match target.nests(source) {
        None => return Ok(()),
        Some(Nesting::Inside) => ("target", "source"),
        Some(Nesting::Around) => ("source", "target"),
    };
    Err(CliError::Usage(format!(
        "the {inner} is inside the {outer} ({} and {}); choose a target outside the source",
        source.location, target.location
    )))
}

#[cfg(test)]
mod tests {
    use std::io;

    use ncz::model::DataError;
    use ncz::store::StoreError;

    use super::*;

    #[test]
    fn a_failure_after_the_copy_is_complete_says_so() {
        let store_error = |source| CopyError::from(DataError::Store { store: "x".to_owned(), source });
        let (here, there) = (DatasetUrl::parse("y").unwrap(), DatasetUrl::parse("x").unwrap());
        let message =
            |target: &DatasetUrl, source| failed(&here, target, store_error(source), None).to_string();
        let error = || io::Error::other("busy");
        let left = || StoreError::NotRemoved { location: "x.old".to_owned(), source: error() };
        let text =
            "x is complete and in place, but a file or folder that is no longer needed could not be removed";
        assert_eq!(message(&there, left()), text);
        let not_durable =
            StoreError::NotDurable { at: ncz::store::ObjectLocation::store("x"), old: None, source: error() };
        let text = "x is complete and in place, but may not survive a power failure";
        assert_eq!(message(&there, not_durable), text);
    }
}
