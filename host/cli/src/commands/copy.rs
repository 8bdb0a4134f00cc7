//! `ncz copy`: a dataset with other codecs or chunks.

mod append;
mod plan;
mod resume;
mod select;
pub(super) mod summary;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use ncz::copy::{CopyError, CopyOptions, CopySummary, copy};
use ncz::place::{Nesting, Place, Storage};
use ncz::registry::Registry;
use ncz::store::{Store, StoreError};

use self::plan::{Plan, Requests};
use self::summary::Summary;
use crate::args::Copy;
use crate::dataset::{open, session};
use crate::error::{CliError, store_error};
use crate::exit::Exit;
use crate::output::Style;
use crate::progress::{Bar, Interrupt};
use crate::talk::Talk;
use crate::target::Target;

/// What is at the target after a failure.
const UNCHANGED: &str = "the target is as it was before";
/// The same in S3, where objects of what was not finished may be left if the service cannot be reached any more.
const NO_NEW_DATASET: &str = "there is no new dataset at the target, and one that was there is as it was";
/// In S3, when the new dataset was on its way to its place. What has led to it says where it is.
const BESIDE: &str = "the new dataset is whole, but not all of it is in its place yet";
/// When the old dataset was renamed to make way for the new one, and could not be renamed back. What led to it says
/// where it is.
const ASIDE: &str = "nothing is at the target, and the dataset that was there has another name";
/// The same where the source is to blame, and what to do.
const LEAVE_OUT: &str = "the target is as it was before; ncz copy --exclude leaves variables out, ncz copy --skip-unreadable all that cannot be read";

/// Runs the command.
pub(crate) fn run(
    options: &Copy,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    let requests = Requests::parse(options)?;
    let source = Place::parse(&options.source)?;
    let target = Place::parse(&options.target)?;
    check_apart(&source, &target)?;
    if let Some(dimension) = &options.append {
        return append::run(options, dimension, (&source, &target), registry, out, style, talk);
    }
    check_ending(&target)?;
    target.check_new().map_err(|source| cannot_write(&target, source))?;

    let dataset = open(&source, session(registry, options.threads, options.shuffle_size)?)?;
    let mut wanted = Target::of(&target.mode, options.format, dataset.hierarchy().format)?;
    wanted.consolidated |= options.consolidated;
    let selection = select::selection(options, dataset.hierarchy(), &source)?;
    let selected = selection.selected(dataset.hierarchy());
    for warning in &selected.warnings {
        talk.warn(&warning.to_string());
    }
    let rules = options.nccopy.as_ref();
    let mut plan = Plan::make(&requests, &dataset, &source, wanted.format, &selection, rules)?;
    plan.notes.extend(wanted.changes(&selected));
    for note in &plan.notes {
        talk.note(note);
    }

    let copy_options = CopyOptions {
        variables: plan.variables,
        verify: options.verify,
        selection,
        fixed: options.fixed,
        memory: options.memory,
        scratch: scratch(options, &target),
        ..wanted.options()
    };
    let bar = Bar::new(talk.shows_progress(), Interrupt::watch()?);
    let copied = match options.resume {
        true => resume::copied(&source, &target, &dataset, copy_options, &bar, talk)?,
        false => {
            let store = create(&target, options.overwrite)?;
            let result = copy(&dataset, store, &copy_options, &bar);
            bar.clear();
            result.map_err(|error| failed(&source, &target, error))?
        }
    };

    let notes = summary::lossy(&copied.variables).into_iter().chain(summary::left_out(&copied.left_out));
    for note in notes {
        talk.note(&note);
        plan.notes.push(note);
    }
    let summary =
        Summary::new(&source.location, &target.location, &dataset, &copied, options.verify, &plan.notes);
    print(&summary, options, out, style).map_err(|error| error.not_printed(&target.location))?;
    Ok(findings(&copied, talk))
}

/// The error of a copy that was not made.
fn failed(source: &Place, target: &Place, error: CopyError) -> CliError {
    match error {
        CopyError::Stopped => CliError::Interrupted(unchanged(target)),
        error => CliError::in_place(&target.location, error).unwrap_or_else(|error| CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: state(target, &error),
            source: Box::new(error),
        }),
    }
}

fn print(summary: &Summary<'_>, options: &Copy, out: &mut dyn Write, style: Style) -> Result<(), CliError> {
    if options.json {
        writeln!(out, "{:#}", summary.to_json())?;
    } else if !options.verbosity.quiet {
        out.write_all(summary.to_text(style).as_bytes())?;
    }
    // now, while it is known that the copy is whole
    Ok(out.flush()?)
}

/// Tells which variables were left out, since they cannot be read.
fn findings(copied: &CopySummary, talk: Talk) -> Exit {
    for lost in &copied.unreadable {
        talk.warn(&format!("left out, since it cannot be read: {}: {}", lost.path, lost.reason));
    }
    Exit::of_findings(!copied.unreadable.is_empty())
}

/// The folder for scratch files: beside the target, where there is room for what is copied.
fn scratch(options: &Copy, target: &Place) -> Option<PathBuf> {
    let beside = || match target.location.path()?.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => Some(parent.to_owned()),
        _ => Some(PathBuf::from(".")),
    };
    options.scratch.clone().or_else(beside)
}

/// Refuses a target whose name promises another file than is made.
pub(super) fn check_ending(target: &Place) -> Result<(), CliError> {
    let Some(path) = target.location.path() else {
        let name = target.location.file_name().unwrap_or_default().to_ascii_lowercase();
        return match name.rsplit_once('.') {
            Some((_, ending @ ("zip" | "nc" | "nc4" | "h5" | "hdf5"))) => Err(CliError::Usage(format!(
                "{}: a dataset in S3 is one object for each chunk, and no .{ending} file; name it .nczarr or .zarr, or \
                 make a zip file on this machine",
                target.location
            ))),
            _ => Ok(()),
        };
    };
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let is_directory = target.new_storage() == Storage::Directory;
    match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some(ending @ ("nc" | "nc4" | "h5" | "hdf5")) if !path.is_dir() => Err(CliError::Usage(format!(
            "{}: writing .{ending} files is not built; name the copy .nczarr, .zarr or .zip",
            path.display()
        ))),
        Some("zip") if is_directory && !path.is_dir() => Err(CliError::Usage(format!(
            "{}: mode=file makes a directory; name it .nczarr or .zarr, or leave mode=file away",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses a target inside the source, and a source inside the target.
fn check_apart(source: &Place, target: &Place) -> Result<(), CliError> {
    let (inner, outer) = match target.nests(source) {
        None => return Ok(()),
        Some(Nesting::Inside) => ("target", "source"),
        Some(Nesting::Around) => ("source", "target"),
    };
    Err(CliError::Usage(format!(
        "the {inner} lies inside the {outer} ({} and {}); choose a target beside the source",
        source.location, target.location
    )))
}

pub(super) fn unchanged(target: &Place) -> &'static str {
    if target.new_storage() == Storage::S3 { NO_NEW_DATASET } else { UNCHANGED }
}

/// What is at the target after an error.
fn state(target: &Place, error: &CopyError) -> &'static str {
    if matches!(error, CopyError::Unreadable { .. }) {
        return LEAVE_OUT;
    }
    state_after(target, error)
}

/// The same for any error of making a dataset.
pub(super) fn state_after(target: &Place, error: &(dyn Error + 'static)) -> &'static str {
    match store_error(error) {
        Some(StoreError::Beside { .. }) => BESIDE,
        Some(StoreError::SetAside { .. }) => ASIDE,
        _ => unchanged(target),
    }
}

fn create(target: &Place, overwrite: bool) -> Result<Arc<dyn Store>, CliError> {
    target.create_store(overwrite).map_err(|source| cannot_write(target, source))
}

pub(super) fn cannot_write(target: &Place, source: StoreError) -> CliError {
    let hint = match &source {
        StoreError::AlreadyExists { .. } => "; --overwrite replaces a dataset",
        _ => "",
    };
    CliError::Target { place: target.location.clone(), hint, source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use ncz::nczarr::DataError;

    use super::*;

    #[test]
    fn a_copy_that_is_in_place_is_not_called_undone() {
        let store_error = |source| CopyError::from(DataError::Store { store: "x".to_owned(), source });
        let (here, there) = (Place::parse("y").unwrap(), Place::parse("x").unwrap());
        let message = |target: &Place, source| failed(&here, target, store_error(source)).to_string();
        let error = || io::Error::other("busy");
        let left = || StoreError::NotRemoved { place: "x.old".to_owned(), source: error() };
        let text =
            "x is complete and in place, but a file or folder that is no longer needed could not be removed";
        assert_eq!(message(&there, left()), text);
        let not_durable =
            StoreError::NotDurable { at: ncz::store::Location::store("x"), old: None, source: error() };
        let text = "x is complete and in place, but may not survive a power failure";
        assert_eq!(message(&there, not_durable), text);
        let gone = || StoreError::Gone { store: "x".to_owned() };
        assert!(message(&there, gone()).ends_with(UNCHANGED));
        let in_s3 = Place::parse("s3://bucket/x").unwrap();
        assert!(message(&in_s3, gone()).ends_with(NO_NEW_DATASET));
        let beside = StoreError::Beside {
            place: "s3://bucket/x".to_owned(),
            beside: "s3://bucket/x.ncz-new-1".to_owned(),
            source: Box::new(gone()),
        };
        assert!(message(&in_s3, beside).ends_with(BESIDE));
        let aside =
            StoreError::SetAside { place: "x.old".to_owned(), target: "x".to_owned(), source: error() };
        assert!(message(&there, aside).ends_with(ASIDE));
    }
}
