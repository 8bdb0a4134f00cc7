//! `ncz copy --resume`: an interrupted copy keeps its finished part and is resumed later.

use ncz::copy::{CopyError, CopyOptions, CopySummary, PartialCopy, ResumeError, copy};
use ncz::location::{DatasetUrl, Storage};
use ncz::model::Container;

use super::announced::Announced;
use crate::error::CliError;
use crate::messages::Messages;
use crate::target::create_store;

/// What is left after an interruption.
const KEPT: &str =
    "the finished part is kept in the folder TARGET.ncz-partial; run the same command again to resume";

/// Copies to a folder next to the target that is kept until the copy is complete, and then makes it the target.
pub(super) fn copied(
    source: &DatasetUrl,
    target: &DatasetUrl,
    dataset: &dyn Container,
    options: CopyOptions,
    bar: &Announced<'_>,
    messages: Messages,
) -> Result<CopySummary, CliError> {
    let (Some(from), Some(to)) = (source.location.path(), target.location.path()) else {
        return Err(CliError::Usage(
            "--resume needs a local source and a local target: a remote source cannot be checked quickly for changes, and a \
             remote target cannot keep an unfinished dataset"
                .to_owned(),
        ));
    };
    let refused = |error: ResumeError| match &error {
        ResumeError::Exists { .. } => CliError::Usage(format!(
            "{error}; --resume writes a new dataset: remove this one, or copy without --resume"
        )),
        ResumeError::Differs { .. } | ResumeError::Foreign { .. } => CliError::Usage(error.to_string()),
        _ => CliError::in_place(&target.location, error)
            .unwrap_or_else(|error| CliError::Resume { source: Box::new(error) }),
    };
    let described =
        CopyOptions { verify: false, memory: None, scratch: None, resume: true, ..options.clone() };
    let partial =
        PartialCopy::open(to, from, &format!("{:?} {described:?}", source.mode)).map_err(refused)?;
    if partial.is_resumed() {
        messages.note(&format!("resuming the copy in {}", partial.folder().display()));
    }
    let result = copy(dataset, partial.store(), &CopyOptions { resume: true, ..options }, bar);
    bar.bar.clear();
    let copied = result.map_err(|error| match error {
        CopyError::Stopped => CliError::Interrupted(KEPT),
        error => CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: KEPT,
            advice: None,
            source: Box::new(error),
        },
    })?;
    if target.new_storage() == Storage::Directory {
        partial.publish().map_err(refused)?;
        return Ok(copied);
    }
    partial.pack(&*create_store(target, false)?).map_err(refused)?;
    Ok(copied)
}
