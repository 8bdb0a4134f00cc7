//! `ncz copy --concat DIM SOURCE.. TARGET`: several datasets as one.

use ncz::concat::{self, ConcatError, ConcatOptions, Concatenated, Misaligned};
use ncz::copy::Selection;
use ncz::location::DatasetUrl;
use ncz::model::Session;

use super::select;
use crate::args::Copy;
use crate::dataset;
use crate::error::CliError;

/// The datasets to copy: one, or several that are joined.
pub(super) fn sources(options: &Copy) -> Result<Vec<DatasetUrl>, CliError> {
    match (options.sources(), &options.concat) {
        ([_, more, ..], None) => Err(CliError::Usage(format!(
            "there are several sources: {more} too; --concat DIM joins them along a dimension"
        ))),
        (sources, _) => {
            Ok(sources.iter().map(|source| DatasetUrl::parse(source)).collect::<Result<_, _>>()?)
        }
    }
}

/// Opens the sources as one dataset. Variables that are not selected are not part of it.
pub(super) fn open(
    options: &Copy,
    dimension: &str,
    sources: &[DatasetUrl],
    session: &Session,
    misaligned: Misaligned,
) -> Result<Concatenated, CliError> {
    let mut selection = Selection::default();
    let selects = !options.variables.is_empty() || !options.groups.is_empty() || !options.exclude.is_empty();
    if let Some(first) = sources.first().filter(|_| selects) {
        // Parts of dimensions are parts of the whole.
        let named = Copy { slab: Vec::new(), ..options.clone() };
        let first_dataset = dataset::open(first, session.clone())?;
        selection = select::selection(&named, first_dataset.hierarchy(), first)?;
    }
    let concat = ConcatOptions { selection, misaligned, any_order: options.any_order };
    concat::open(sources, dimension, session, &concat).map_err(|error| match error {
        ConcatError::Open(error) => error.into(),
        error => CliError::Concat {
            hint: match error {
                ConcatError::Order { .. } => "; --any-order joins them as they are",
                ConcatError::Disagree { .. } | ConcatError::Misaligned { .. } => {
                    "; --exclude leaves variables out"
                }
                _ => "",
            },
            source: Box::new(error),
        },
    })
}

/// The options for the joined dataset, which does not have what they exclude.
pub(super) fn selected(options: &Copy) -> Copy {
    Copy { exclude: Vec::new(), ..options.clone() }
}
