//! `ncz copy --append`: appends the records of one dataset to those of another.

use std::io::Write;
use std::sync::Arc;

use ncz::copy::{Appended, CopyError, CopyOptions, append_with_receipt};
use ncz::location::DatasetUrl;
use ncz::model::DataError;
use ncz::model::{Interrupted, Reached};
use ncz::registry::Registry;
use ncz::store::Access;
use ncz::zarr::Receipt;
use ncz::zarr::journal;

use super::{findings, print, scratch, select};
use crate::args::Copy;
use crate::dataset::{open, writing_session};
use crate::error::{CliError, with_causes};
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::output::{Style, abbreviated};
use crate::progress::{Bar, Interrupt};
use crate::target::unmasked_fills_note;

use super::summary::{self, Summary};

/// The target after a failure.
const OLD: &str = "the target has its old length";
/// Nothing was started.
const NOTHING: &str = "nothing was appended";
/// The last step was interrupted.
const PARTLY: &str = "the records are written, but only some metadata documents have the new length; run the same command \
                      again to finish; it appends nothing twice";
/// The failure came after the last step.
const NEW: &str = "the records are appended and visible; the same command appends nothing twice";
/// Another program changed the target.
const CHANGED: &str = "some metadata documents have the new length, and another program has changed others; run ncz \
                       verify";
/// The target cannot be read.
const UNKNOWN: &str = "could not read whether the target has its new length; run the same command again; it appends \
                       nothing twice";

/// Runs the command.
pub(super) fn run(
    options: &Copy,
    dimension: &str,
    (source, target): (&DatasetUrl, &DatasetUrl),
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    if source.location == target.location {
        return Err(CliError::Usage(format!(
            "cannot append {} to itself; name another source",
            source.location
        )));
    }
    let session = writing_session(registry, options.threads, options.shuffle_size, options.no_lossy_guard)?;
    let dataset = open(source, session.clone())?;
    let selection = select::selection(options, dataset.hierarchy(), source)?;
    for warning in &selection.selected(dataset.hierarchy()).warnings {
        messages.warn(&warning.to_string());
    }
    let grown = target.open_zarr(Access::ReadWrite, session)?;
    let format = grown.hierarchy().format;
    let copy_options = CopyOptions {
        verify: options.verify,
        selection,
        memory: options.memory,
        scratch: scratch(options, target),
        any_order: options.any_order,
        ..CopyOptions::default()
    };
    let bar = Bar::new(messages.shows_progress(), Interrupt::watch()?);
    let result = append_with_receipt(&dataset, grown, dimension, &copy_options, &bar);
    bar.clear();
    let appended = result.map_err(|error| match error {
        CopyError::Stopped => CliError::Interrupted(OLD),
        error => CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: state(target, &error),
            advice: None,
            source: Box::new(error),
        },
    })?;
    let Appended {
        summary: appended,
        recovered,
        converted,
        differing,
        unmasked_fills,
        already_appended,
        receipt,
    } = appended;
    let notes = [
        recovered.map(|interrupted| settled(&interrupted, already_appended)),
        (!converted.is_empty() && !already_appended).then(|| {
            format!(
                "values are converted to the units, packing and missing values of the target: {}",
                abbreviated(&converted)
            )
        }),
        (!differing.is_empty() && !already_appended)
            .then(|| format!("attributes differ, those of the target are kept: {}", abbreviated(&differing))),
        unmasked_fills_note(&unmasked_fills).filter(|_| !already_appended),
        summary::lossy(&appended.variables),
        summary::encoded_again(&appended.variables),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    notes.iter().for_each(|note| messages.note(note));
    if !already_appended || options.json {
        let summary = Summary::new(
            (&source.location, &target.location),
            format,
            &dataset,
            &appended,
            options.verify,
            &notes,
        );
        print(&summary, options, out, style).map_err(|error| error.not_printed(&target.location))?;
    }
    let exit = findings(&appended, messages);
    // From here on the same command may append the records again, so the user must have seen the summary.
    out.flush()?;
    if let Err(error) = confirm(target, receipt) {
        messages.warn(&format!(
            "the records are appended, but the journal could not be removed, so the same command appends nothing until \
             something else is written: {}",
            with_causes(&error)
        ));
    }
    Ok(exit)
}

/// Removes the journal. This comes last: the store that was written is closed, and so are all marks of a writer.
fn confirm(target: &DatasetUrl, receipt: Receipt) -> Result<(), CliError> {
    let store = target.open_store(Access::ReadWrite)?;
    receipt.confirm(&*store).map_err(CliError::dataset(&target.location))
}

/// Returns the note on what became of an interrupted append or other growth.
fn settled(interrupted: &Interrupted, already_appended: bool) -> String {
    match interrupted.reached {
        Reached::Data => format!("{interrupted}; its incomplete records are discarded"),
        _ if already_appended => {
            format!("{interrupted}; it is finished, and nothing was appended a second time")
        }
        _ => format!("{interrupted}; it is finished"),
    }
}

/// Returns what is at the target after an error.
fn state(target: &DatasetUrl, error: &CopyError) -> &'static str {
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
