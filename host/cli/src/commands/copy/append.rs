//! `ncz copy --append`: records of one dataset behind those of another.

use std::io::Write;
use std::sync::Arc;

use ncz::copy::{CopyError, CopyOptions, append};
use ncz::registry::Registry;
use ncz::store::Access;

use super::{findings, print, scratch, select};
use crate::args::Copy;
use crate::dataset::{open, session};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Style;
use crate::path::Place;
use crate::progress::{Bar, Interrupt};
use crate::talk::Talk;

use super::summary::{self, Summary};

/// What is at the target after a failure.
const OLD: &str = "the target has its old length";
/// The same where the last step may have been done.
const OLD_OR_NEW: &str =
    "the target has its old length, or its new one if the last step was done: look before trying again";

/// Runs the command.
pub(super) fn run(
    options: &Copy,
    dimension: &str,
    (source, target): (&Place, &Place),
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    if source.location == target.location {
        return Err(CliError::Usage(format!(
            "{} would be appended to itself; name another source",
            source.location
        )));
    }
    let session = session(registry, options.threads, options.shuffle_size)?;
    let dataset = open(source, session.clone())?;
    let selection = select::selection(options, dataset.hierarchy(), source)?;
    for warning in &selection.selected(dataset.hierarchy()).warnings {
        talk.warn(&warning.to_string());
    }
    let grown = target.open(Access::ReadWrite, session)?;
    let copy_options = CopyOptions {
        verify: options.verify,
        selection,
        memory: options.memory,
        scratch: scratch(options, target),
        ..CopyOptions::default()
    };
    let bar = Bar::new(talk.shows_progress(), Interrupt::watch()?);
    let result = append(&dataset, grown, dimension, &copy_options, &bar);
    bar.clear();
    let appended = result.map_err(|error| match error {
        CopyError::Stopped => CliError::Interrupted(OLD),
        error => CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: if matches!(error, CopyError::Data(_)) { OLD_OR_NEW } else { OLD },
            source: Box::new(error),
        },
    })?;
    let notes = [summary::lossy(&appended.variables), summary::encoded_again(&appended.variables)];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    notes.iter().for_each(|note| talk.note(note));
    let summary =
        Summary::new(&source.location, &target.location, &dataset, &appended, options.verify, &notes);
    print(&summary, options, out, style)?;
    Ok(findings(&appended, talk))
}
