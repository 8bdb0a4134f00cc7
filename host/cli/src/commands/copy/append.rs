//! `ncz copy --append`: records of one dataset behind those of another.

use std::io::Write;
use std::sync::Arc;

use ncz::copy::{Appended, CopyError, CopyOptions, append_with_receipt};
use ncz::nczarr::journal::{self, Interrupted, Reached};
use ncz::nczarr::{DataError, Receipt};
use ncz::registry::Registry;
use ncz::store::Access;

use super::{findings, print, scratch, select};
use crate::args::Copy;
use crate::dataset::{open, session};
use crate::error::{CliError, with_causes};
use crate::exit::Exit;
use crate::output::Style;
use crate::path::Place;
use crate::progress::{Bar, Interrupt};
use crate::talk::Talk;

use super::summary::{self, Summary};

/// What is at the target after a failure.
const OLD: &str = "the target has its old length";
/// The same where nothing was begun.
const NOTHING: &str = "nothing was appended";
/// The same in the midst of the last step.
const PARTLY: &str = "the records are written, and some documents of the target have their new lengths: the same command \
                      again finishes that, and appends nothing twice";
/// The same behind the last step.
const NEW: &str =
    "the records are appended and visible: the same command again says so, and appends nothing twice";
/// The same where another program has interfered.
const CHANGED: &str = "some documents of the target have their new lengths, and another program has changed others: see \
                       ncz verify";
/// The same where it cannot be seen.
const UNKNOWN: &str = "whether the target has its new length could not be seen: the same command again finds out, and \
                       appends nothing twice";

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
    let result = append_with_receipt(&dataset, grown, dimension, &copy_options, &bar);
    bar.clear();
    let appended = result.map_err(|error| match error {
        CopyError::Stopped => CliError::Interrupted(OLD),
        error => CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: state(target, &error),
            source: Box::new(error),
        },
    })?;
    let Appended { summary: appended, recovered, was_there, receipt } = appended;
    let notes = [
        recovered.map(|interrupted| settled(&interrupted, was_there)),
        summary::lossy(&appended.variables),
        summary::encoded_again(&appended.variables),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    notes.iter().for_each(|note| talk.note(note));
    if !was_there || options.json {
        let summary =
            Summary::new(&source.location, &target.location, &dataset, &appended, options.verify, &notes);
        print(&summary, options, out, style).map_err(|error| error.not_printed(&target.location))?;
    }
    let exit = findings(&appended, talk);
    // Only who was told that the records are there runs the command again to have them twice.
    out.flush()?;
    if let Err(error) = confirm(target, receipt) {
        talk.warn(&format!(
            "the records are appended, but the journal of that is left, so that the same command appends nothing until \
             something else is written: {}",
            with_causes(&error)
        ));
    }
    Ok(exit)
}

/// Removes the journal. The store that was written to is gone by now, with all marks of a writer: this comes last.
fn confirm(target: &Place, receipt: Receipt) -> Result<(), CliError> {
    let store = target.open_store(Access::ReadWrite)?;
    receipt.confirm(&*store).map_err(CliError::dataset(&target.location))
}

/// What became of an interrupted append, or of other growth.
fn settled(interrupted: &Interrupted, was_there: bool) -> String {
    match interrupted.reached {
        Reached::Data => format!("{interrupted}, and what was left of it is given up"),
        _ if was_there => format!("{interrupted}; it is finished, and nothing was appended a second time"),
        _ => format!("{interrupted}; it is finished"),
    }
}

/// What is at the target after an error.
fn state(target: &Place, error: &CopyError) -> &'static str {
    match error {
        CopyError::SourceChanged { .. }
        | CopyError::Data(DataError::Busy { .. } | DataError::Journal { .. }) => return NOTHING,
        CopyError::Data(_) => {}
        _ => return OLD,
    }
    let Ok(store) = target.open_store(Access::Read) else { return UNKNOWN };
    match journal::interrupted(&*store) {
        Ok(None) => OLD,
        Ok(Some(interrupted)) => match interrupted.reached {
            Reached::Data => OLD,
            Reached::Lengths => PARTLY,
            Reached::All => NEW,
            _ => CHANGED,
        },
        Err(_) => UNKNOWN,
    }
}
