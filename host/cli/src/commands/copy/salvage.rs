//! `ncz copy --salvage`: the report of what could not be read.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use ncz::copy::{CopySummary, LostChunk, VariableSummary};
use ncz::location::{DatasetUrl, Location};
use ncz::model::Hierarchy;
use serde::Serialize;

use super::summary::UnreadableJson;
use crate::args::Copy;
use crate::error::CliError;
use crate::messages::Messages;
use crate::output::{count, write_json};

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;
/// What follows the name of the target in that of its report.
const ENDING: &str = ".salvage.json";

/// The path of the report, if one is asked for: beside a local target, else in the current folder. A file that is there
/// is only replaced if the target may be, and never if it is one of the datasets.
pub(super) fn report_path(
    options: &Copy,
    sources: &[DatasetUrl],
    target: &DatasetUrl,
) -> Result<Option<PathBuf>, CliError> {
    if !options.salvage {
        return Ok(None);
    }
    let beside = || {
        let name = format!("{}{ENDING}", target.location.file_name().unwrap_or_default());
        target.location.path().map_or_else(|| PathBuf::from(&name), |path| path.with_file_name(&name))
    };
    let path = options.salvage_report.clone().unwrap_or_else(beside);
    let refused = |why: &str| {
        let text = format!("{} {why}; name another file with --salvage-report", path.display());
        Err(CliError::Usage(text))
    };
    let is_report = |dataset: &DatasetUrl| dataset.location.path().is_some_and(|at| is_same(at, &path));
    if sources.iter().chain([target]).any(is_report) {
        return refused("is a dataset of this copy, not a file for the report of --salvage");
    }
    if !options.overwrite && fs::symlink_metadata(&path).is_ok() {
        return refused("exists already, and the report of --salvage would replace it");
    }
    Ok(Some(path))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// Warns of lost chunks, and writes the report.
pub(super) fn report(
    path: &Path,
    (source, target): (&Location, &Location),
    hierarchy: &Hierarchy,
    copied: &CopySummary,
    messages: Messages,
) -> Result<(), CliError> {
    let report = Report::new((source, target), hierarchy, copied);
    for variable in &report.variables {
        if let Some(first) = variable.chunks.first() {
            messages.warn(&format!(
                "{} of {} cannot be read and read as fill in the copy; the first is {:?}: {}",
                count(variable.lost_chunks as u64, "chunk"),
                variable.path,
                first.chunk,
                first.reason
            ));
        }
    }
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        write_json(&mut file, &report)?;
        file.flush()
    };
    write().map_err(|error| CliError::InPlace {
        target: target.clone(),
        what: "the report of --salvage could not be written",
        source: Box::new(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    })?;
    messages.note(&format!("{} lists what could not be read", path.display()));
    Ok(())
}

/// The JSON form.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    source: String,
    target: String,
    lost_chunks: usize,
    /// Those with lost chunks.
    variables: Vec<Variable<'a>>,
    unreadable: Vec<UnreadableJson<'a>>,
}

#[derive(Serialize)]
struct Variable<'a> {
    path: &'a str,
    /// The names of the dimensions, in the order of the numbers below.
    dimensions: Vec<&'a str>,
    lost_chunks: usize,
    chunks: Vec<Chunk<'a>>,
}

#[derive(Serialize)]
struct Chunk<'a> {
    chunk: &'a [u64],
    /// The first index of each dimension in the source, and the one after the last.
    start: &'a [u64],
    stop: Vec<u64>,
    reason: &'a str,
}

impl<'a> Report<'a> {
    fn new(
        (source, target): (&Location, &Location),
        hierarchy: &'a Hierarchy,
        copied: &'a CopySummary,
    ) -> Self {
        let lossy = copied.variables.iter().filter(|variable| !variable.lost.is_empty());
        let variables: Vec<Variable<'a>> = lossy.map(|variable| Variable::new(hierarchy, variable)).collect();
        Self {
            schema: SCHEMA,
            source: source.to_string(),
            target: target.to_string(),
            lost_chunks: variables.iter().map(|variable| variable.lost_chunks).sum(),
            variables,
            unreadable: copied.unreadable.iter().map(UnreadableJson::new).collect(),
        }
    }
}

impl<'a> Variable<'a> {
    fn new(hierarchy: &'a Hierarchy, summary: &'a VariableSummary) -> Self {
        let dimensions = hierarchy.variable(&summary.path).map_or_else(
            |_| Vec::new(),
            |variable| variable.dimensions.iter().map(|dimension| dimension.name.as_str()).collect(),
        );
        let chunk = |lost: &'a LostChunk| Chunk {
            chunk: &lost.index,
            start: lost.slab.start(),
            stop: lost
                .slab
                .start()
                .iter()
                .zip(lost.slab.count())
                .map(|(start, count)| start + count)
                .collect(),
            reason: &lost.reason,
        };
        Self {
            path: &summary.path,
            dimensions,
            lost_chunks: summary.lost.len(),
            chunks: summary.lost.iter().map(chunk).collect(),
        }
    }
}
