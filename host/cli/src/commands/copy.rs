//! `ncz copy`: a dataset with other codecs or chunks.

mod plan;
pub(super) mod summary;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ncz::copy::{CopyError, CopyOptions, copy};
use ncz::place::{Location, Place, Storage};
use ncz::registry::Registry;
use ncz::store::{Store, StoreError};

use self::plan::{Plan, Requests};
use self::summary::Summary;
use crate::args::Copy;
use crate::dataset::{open, session};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Style;
use crate::progress::{Bar, Interrupt};
use crate::talk::Talk;
use crate::target::Target;

/// What is at the target after a failure.
const UNCHANGED: &str = "the target is as it was before";
/// What is there after the one failure that can come behind the last step.
const IN_PLACE: &str = "the copy is in place, but what it replaced is not yet gone";

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
    check_apart(&source.location, &target.location)?;
    check_ending(&target)?;

    let dataset = open(&source, session(registry, options.threads, options.shuffle_size)?)?;
    for warning in &dataset.hierarchy().warnings {
        talk.warn(&warning.to_string());
    }
    let mut wanted = Target::of(&target.mode, options.format, dataset.hierarchy().format)?;
    wanted.consolidated |= options.consolidated;
    let mut plan = Plan::make(&requests, &dataset, &source, wanted.format)?;
    plan.notes.extend(wanted.changes(dataset.hierarchy()));
    for note in &plan.notes {
        talk.note(note);
    }

    let interrupt = Interrupt::watch()?;
    let store = create(&target, options.overwrite)?;
    let bar = Bar::new(talk.shows_progress(), interrupt);
    let copy_options = CopyOptions { variables: plan.variables, verify: options.verify, ..wanted.options() };
    let result = copy(&dataset, store, &copy_options, &bar);
    bar.clear();
    let copied = result.map_err(|error| match error {
        CopyError::Stopped => CliError::Interrupted(UNCHANGED),
        source_error => CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: if is_in_place(&source_error) { IN_PLACE } else { UNCHANGED },
            source: Box::new(source_error),
        },
    })?;

    if let Some(note) = summary::left_out(&copied.left_out) {
        talk.note(&note);
        plan.notes.push(note);
    }
    let summary =
        Summary::new(&source.location, &target.location, &dataset, &copied, options.verify, &plan.notes);
    if options.json {
        writeln!(out, "{:#}", summary.to_json())?;
    } else if !options.verbosity.quiet {
        out.write_all(summary.to_text(style).as_bytes())?;
    }
    Ok(Exit::Good)
}

/// Refuses a target whose name promises another file than is made.
fn check_ending(target: &Place) -> Result<(), CliError> {
    let Some(path) = target.location.path() else { return Ok(()) };
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
fn check_apart(source: &Location, target: &Location) -> Result<(), CliError> {
    let (Some(source), Some(target)) = (source.path(), target.path()) else { return Ok(()) };
    // What does not exist is told of where it is opened.
    let Ok(from) = source.canonicalize() else { return Ok(()) };
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let to = target.canonicalize().or_else(|_| {
        parent
            .canonicalize()
            .map(|parent| target.file_name().map_or(parent.clone(), |name| parent.join(name)))
    });
    let Ok(to) = to else { return Ok(()) };
    if from != to && (to.starts_with(&from) || from.starts_with(&to)) {
        let (inner, outer) = if to.starts_with(&from) { ("target", "source") } else { ("source", "target") };
        return Err(CliError::Usage(format!(
            "the {inner} lies inside the {outer} ({} and {}); choose a target beside the source",
            source.display(),
            target.display()
        )));
    }
    Ok(())
}

/// Whether only tidying up has failed.
fn is_in_place(error: &CopyError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let direct = error.downcast_ref::<StoreError>();
        let store_error = direct.or_else(|| error.downcast_ref::<Box<StoreError>>().map(|boxed| &**boxed));
        if matches!(store_error, Some(StoreError::NotRemoved { .. })) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn create(target: &Place, overwrite: bool) -> Result<Arc<dyn Store>, CliError> {
    target.create_store(overwrite).map_err(|source| {
        let hint = match &source {
            StoreError::AlreadyExists { .. } => "; --overwrite replaces a dataset",
            _ => "",
        };
        CliError::Target { place: target.location.clone(), hint, source: Box::new(source) }
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use ncz::nczarr::DataError;

    use super::*;

    #[test]
    fn a_copy_that_is_in_place_is_not_called_undone() {
        let store_error = |source| CopyError::from(DataError::Store { store: "x".to_owned(), source });
        let left = StoreError::NotRemoved { place: "x".to_owned(), source: io::Error::other("busy") };
        assert!(is_in_place(&store_error(left)));
        assert!(!is_in_place(&store_error(StoreError::Gone { store: "x".to_owned() })));
    }
}
