//! `ncz copy --resume`: what is done of a copy stays if it is interrupted.

use ncz::copy::{CopyError, CopyOptions, CopySummary, Partial, PartialError, copy};
use ncz::nczarr::Dataset;
use ncz::place::Storage;

use super::create;
use crate::error::CliError;
use crate::path::Place;
use crate::progress::Bar;
use crate::talk::Talk;

/// What there is after an interruption.
const KEPT: &str = "what is done is kept in the folder of the target's name with .ncz-partial behind it; the same command goes on \
                    from there";

/// Copies to a folder beside the target that stays until the copy is whole, and makes that the target.
pub(super) fn copied(
    source: &Place,
    target: &Place,
    dataset: &Dataset,
    options: CopyOptions,
    bar: &Bar,
    talk: Talk,
) -> Result<CopySummary, CliError> {
    let (Some(from), Some(to)) = (source.location.path(), target.location.path()) else {
        return Err(CliError::Usage(
            "--resume needs a source and a target on this machine: elsewhere nobody knows cheaply whether the source has \
             changed, or keeps what is not a dataset yet"
                .to_owned(),
        ));
    };
    let refused = |error: PartialError| match &error {
        PartialError::Exists { .. } => CliError::Usage(format!(
            "{error}; --resume makes a new dataset: remove that one, or copy without --resume"
        )),
        PartialError::Differs { .. } | PartialError::Foreign { .. } => CliError::Usage(error.to_string()),
        _ => CliError::in_place(&target.location, error)
            .unwrap_or_else(|error| CliError::Resume { source: Box::new(error) }),
    };
    let described =
        CopyOptions { verify: false, memory: None, scratch: None, resume: true, ..options.clone() };
    let partial = Partial::open(to, from, &format!("{:?} {described:?}", source.mode)).map_err(refused)?;
    if partial.is_resumed() {
        talk.note(&format!("going on with the copy in {}", partial.folder().display()));
    }
    let result = copy(dataset, partial.store(), &CopyOptions { resume: true, ..options }, bar);
    bar.clear();
    let copied = result.map_err(|error| match error {
        CopyError::Stopped => CliError::Interrupted(KEPT),
        error => CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: KEPT,
            source: Box::new(error),
        },
    })?;
    if target.new_storage() == Storage::Directory {
        partial.publish().map_err(refused)?;
        return Ok(copied);
    }
    partial.pack(&*create(target, false)?).map_err(refused)?;
    Ok(copied)
}
