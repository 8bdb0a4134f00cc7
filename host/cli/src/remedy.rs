//! Remedies of the library, as options of the command.

use std::error::Error;

use ncz::Remedy;
use ncz::copy::CopyError;
use ncz::model::{DataError, MetadataError};

use crate::error::CliError;
use crate::reader_report;

/// What to do about an error or a finding, as a part of a sentence: "run ncz verify --repair".
pub(crate) fn advice(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Repair => "run ncz verify --repair",
        Remedy::ChooseByteOrder => "choose with ncz verify --repair --byte-order",
        Remedy::ChooseShuffleSize => "choose with --shuffle-size type or --shuffle-size stored",
        Remedy::Copy => "copy it to a new dataset with ncz copy, or with ncz verify --repair-to",
        Remedy::Salvage => {
            "copy the chunks that can be read with ncz copy --salvage; ncz verify lists the others"
        }
        Remedy::Exclude => "leave them out with --exclude, or choose another format with --format",
        Remedy::AnyOrder => {
            "if these records are in the target already, there is nothing to do; else --any-order appends them out of order"
        }
        Remedy::Consolidate => "run ncz copy --consolidated where the objects can be listed",
        _ => "see the documentation",
    }
}

/// The option that makes the choice which a remedy asks for.
pub(crate) fn option(remedy: Remedy) -> Option<&'static str> {
    match remedy {
        Remedy::ChooseByteOrder => Some("--byte-order"),
        Remedy::ChooseShuffleSize => Some("--shuffle-size"),
        _ => None,
    }
}

/// The remedy of an error, or of what led to it, as a part of a sentence.
pub(crate) fn text(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(CliError::Copy { advice: Some(advice), .. }) = error.downcast_ref::<CliError>() {
        return Some(advice.clone());
    }
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(CopyError::Readers { refusals }) = copy_error(error) {
            return reader_report::remedy(refusals);
        }
        cause = error.source();
    }
    of(error).map(|remedy| advice(remedy).to_owned())
}

fn copy_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CopyError> {
    let direct = error.downcast_ref::<CopyError>();
    direct.or_else(|| error.downcast_ref::<Box<CopyError>>().map(|boxed| &**boxed))
}

/// The remedy of an error, or of what led to it.
pub(crate) fn of(error: &(dyn Error + 'static)) -> Option<Remedy> {
    let copy = copy_error(error);
    if let Some(remedy) = copy.and_then(CopyError::remedy) {
        return Some(remedy);
    }
    let data = error.downcast_ref::<DataError>();
    let data = data.or_else(|| error.downcast_ref::<Box<DataError>>().map(|boxed| &**boxed));
    let metadata = error.downcast_ref::<MetadataError>();
    let remedy = data.and_then(DataError::remedy).or_else(|| metadata.and_then(MetadataError::remedy));
    remedy.or_else(|| error.source().and_then(of))
}
