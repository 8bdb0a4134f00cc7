//! What is at the target after a failure, in words.

use std::error::Error;

use ncz::copy::CopyError;
use ncz::location::{DatasetUrl, Storage};
use ncz::store::StoreError;

use crate::error::store_error;

/// A new dataset is made next to its target and moved there in one step.
const UNCHANGED: &str = "the target is as it was before";
/// In S3 objects of an unfinished dataset may be left if the service can no longer be reached.
const NO_NEW_DATASET: &str = "there is no new dataset at the target, and an existing one is as it was before";
/// In S3, while the new dataset was moved to the target. The source of the error has its location.
const BESIDE: &str = "the new dataset is complete, but not all of it has been moved to the target yet: \
                      ncz copy NEW TARGET --overwrite does that";
/// The old dataset was renamed to make room for the new one and could not be renamed back. The source of the error
/// has its location.
const ASIDE: &str = "nothing is at the target, and the dataset that was there has another name";
/// The source cannot be read.
const LEAVE_OUT: &str = "the target is as it was before; ncz copy --exclude leaves out variables by name, \
                         ncz copy --skip-unreadable all that cannot be read";

/// Returns what is at the target if nothing was written.
pub(crate) fn unchanged(target: &DatasetUrl) -> &'static str {
    if target.new_storage() == Storage::S3 { NO_NEW_DATASET } else { UNCHANGED }
}

/// Returns what is at the target after a copy failed.
pub(crate) fn after_copy(target: &DatasetUrl, error: &CopyError) -> &'static str {
    match error {
        CopyError::Unreadable { .. } => LEAVE_OUT,
        error => after(target, error),
    }
}

/// Returns what is at the target after making a dataset failed.
pub(crate) fn after(target: &DatasetUrl, error: &(dyn Error + 'static)) -> &'static str {
    match store_error(error) {
        Some(StoreError::PartlyReplaced { .. }) => BESIDE,
        Some(StoreError::SetAside { .. }) => ASIDE,
        _ => unchanged(target),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_state_depends_on_the_store_and_on_the_step_that_failed() {
        let (here, in_s3) = (DatasetUrl::parse("x").unwrap(), DatasetUrl::parse("s3://bucket/x").unwrap());
        let gone = || StoreError::Gone { store: "x".to_owned() };
        assert_eq!(after(&here, &gone()), UNCHANGED);
        assert_eq!(after(&in_s3, &gone()), NO_NEW_DATASET);
        let beside = StoreError::PartlyReplaced {
            location: "s3://bucket/x".to_owned(),
            new_dataset: "s3://bucket/x.ncz-new-1".to_owned(),
            source: Box::new(gone()),
        };
        assert_eq!(after(&in_s3, &beside), BESIDE);
        let source = io::Error::other("busy");
        let aside = StoreError::SetAside { location: "x.old".to_owned(), target: "x".to_owned(), source };
        assert_eq!(after(&here, &aside), ASIDE);
    }
}
