//! `ncz copy SOURCE TARGET.json`, and `TARGET.parq`: writes references to the stored chunks instead of a copy.

use std::fs::{self, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz::concat::Misaligned;
use ncz::location::{DatasetUrl, Location, Mode, Storage};
use ncz::model::Format;
use ncz::references::{ReferenceError, ReferenceOptions, ReferenceSummary};
use ncz::registry::Registry;
use ncz::{Dataset, references};
use serde::Serialize;

use super::{changes, concat, select};
use crate::args::Copy;
use crate::dataset::{open, writing_session};
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::output::{Style, bytes, count, write_json};
use crate::progress::{Bar, Interrupt};
use crate::target::Target;
#[cfg(feature = "parquet")]
use crate::target::{cannot_write, create_store};

/// The version of the JSON form of the summary.
const SCHEMA: u32 = 1;

/// Whether a target of references is a folder of tables.
fn is_tables(target: &DatasetUrl) -> bool {
    let name = target.location.file_name().unwrap_or_default();
    !Path::new(&name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Refuses options that would change chunks or metadata.
fn check(options: &Copy, target: &DatasetUrl) -> Result<(), CliError> {
    let given = [
        ("-F", !options.filters.is_empty()),
        ("--codec", !options.codecs.is_empty()),
        ("--compress", options.compress),
        ("--deflate", options.deflate.is_some()),
        ("--chunks", !options.chunks.is_empty()),
        ("--fixed", options.fixed),
        ("--format", options.format.is_some()),
        ("--for", !options.readers.is_empty()),
        ("--consolidated", options.consolidated),
        ("--values", !options.values.is_empty()),
        ("--slab", !options.slab.is_empty()),
        ("--append", options.append.is_some()),
        ("--resume", options.resume),
        ("--verify", options.verify),
        ("--salvage", options.salvage),
        ("the mode after #", target.mode != Mode::default()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(CliError::Usage(format!(
            "{option} does not apply to a target of references (.json, .parq), which keep the chunks as they are stored; leave it \
             out, or name the target .zarr"
        ))),
        None => Ok(()),
    }
}

/// Writes the references, which appear at the target when they are complete.
pub(super) fn run(
    options: &Copy,
    (sources, target): (&[DatasetUrl], &DatasetUrl),
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    check(options, target)?;
    if !is_tables(target) {
        check_existing(target, options.overwrite)?;
    }
    let bases = sources.iter().map(base_url).collect::<Result<Vec<_>, _>>()?;
    let [source, ..] = sources else { return Err(CliError::Usage("there is no source".to_owned())) };
    let [base, ..] = bases.as_slice() else { return Err(CliError::Usage("there is no source".to_owned())) };
    let session = writing_session(registry, options.threads, options.shuffle_size, options.no_lossy_guard)?;
    let mut reference_options = ReferenceOptions::default();
    let joined;
    let (options, dataset) = match &options.concat {
        None => (options, open(source, session)?),
        Some(dimension) => {
            let misaligned = Misaligned::Refuse { most: reference_options.most_inline };
            let dataset = concat::open(options, dimension, sources, &session, misaligned)?;
            dataset.notes().iter().for_each(|note| messages.note(note));
            joined = concat::selected(options);
            (&joined, Dataset::new(dataset))
        }
    };
    let object_url = |key: &str| match options.concat {
        None => base.url(key),
        Some(_) => ncz::concat::object(key)
            .and_then(|(number, key)| Some(bases.get(number)?.url(key)))
            .unwrap_or_else(|| key.to_owned()),
    };
    reference_options.selection = select::selection(options, dataset.hierarchy(), source)?;
    let selected = reference_options.selection.selected(dataset.hierarchy());
    for warning in &selected.warnings {
        messages.warn(&warning.to_string());
    }
    let format = Target { format: Some(Format::Zarr2), consolidated: false, noxarray: false };
    let notes = changes(format, &selected);
    notes.iter().for_each(|note| messages.note(note));
    // Ctrl-C ends the writing, so that nothing unfinished is left.
    let bar = Bar::new(messages.shows_progress(), Interrupt::watch()?);
    let overwrite = options.overwrite;
    let written = match is_tables(target) {
        true => write_tables(target, overwrite, &dataset, &object_url, &reference_options, &bar),
        false => write_json_file(target, overwrite, &dataset, &object_url, &reference_options, &bar),
    };
    bar.clear();
    let summary = written.map_err(|error| match error {
        WriteError::References(error) if matches!(*error, ReferenceError::Stopped) => {
            CliError::Interrupted("nothing is changed")
        }
        WriteError::References(source_error) => CliError::References {
            from: source.location.clone(),
            target: target.location.clone(),
            source: source_error,
        },
        WriteError::Command(error) => error,
    })?;
    print(
        &Summary { source, sources: sources.len(), target, written: &summary, notes: &notes },
        options,
        out,
        style,
    )
    .map_err(|error| error.not_printed(&target.location))?;
    for lost in &summary.unreadable {
        messages.warn(&format!("left out because it cannot be read: {}: {}", lost.path, lost.reason));
    }
    Ok(Exit::of_findings(!summary.unreadable.is_empty()))
}

/// Why references were not written.
enum WriteError {
    References(Box<ReferenceError>),
    Command(CliError),
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> Self {
        Self::References(Box::new(error.into()))
    }
}

/// Writes a file of JSON.
fn write_json_file(
    target: &DatasetUrl,
    overwrite: bool,
    dataset: &Dataset,
    object_url: &dyn Fn(&str) -> String,
    options: &ReferenceOptions,
    bar: &Bar,
) -> Result<ReferenceSummary, WriteError> {
    let path = target.location.path().unwrap_or(Path::new(""));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(std::io::Error::other(format!("the folder {} does not exist", folder.display())).into());
    }
    let mut file = tempfile::Builder::new()
        .prefix(".ncz-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    let mut writer = BufWriter::new(file.as_file_mut());
    let summary = references::write(&**dataset, object_url, options, &mut writer, bar)
        .map_err(|error| WriteError::References(Box::new(error)))?;
    writer.flush()?;
    drop(writer);
    file.as_file().sync_all()?;
    let persisted = if overwrite { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => WriteError::Command(exists(target)),
        _ => error.error.into(),
    })?;
    Ok(summary)
}

/// Writes a folder of tables.
#[cfg(feature = "parquet")]
fn write_tables(
    target: &DatasetUrl,
    overwrite: bool,
    dataset: &Dataset,
    object_url: &dyn Fn(&str) -> String,
    options: &ReferenceOptions,
    bar: &Bar,
) -> Result<ReferenceSummary, WriteError> {
    let store = create_store(target, overwrite).map_err(WriteError::Command)?;
    let summary = references::write_parquet(&**dataset, object_url, options, &*store, bar);
    let summary = summary.map_err(|error| WriteError::References(Box::new(error)))?;
    store.publish().map_err(|source| WriteError::Command(cannot_write(target, source)))?;
    Ok(summary)
}

#[cfg(not(feature = "parquet"))]
fn write_tables(
    target: &DatasetUrl,
    _: bool,
    _: &Dataset,
    _: &dyn Fn(&str) -> String,
    _: &ReferenceOptions,
    _: &Bar,
) -> Result<ReferenceSummary, WriteError> {
    Err(WriteError::Command(CliError::Usage(format!(
        "{}: this ncz was built without references in Parquet (feature parquet); write .json",
        target.location
    ))))
}

/// The URL of the objects of a dataset.
enum Base {
    /// The dataset is one file.
    File(String),
    /// The dataset is a folder of objects.
    Folder(String),
}

impl Base {
    /// The URL of an object of the dataset.
    fn url(&self, key: &str) -> String {
        match self {
            Self::File(url) => url.clone(),
            Self::Folder(url) => format!("{url}/{key}"),
        }
    }
}

fn base_url(source: &DatasetUrl) -> Result<Base, CliError> {
    let url = match &source.location {
        Location::Path(path) => format!("file://{}", absolute(path)?.display()),
        other => other.to_string().trim_end_matches('/').to_owned(),
    };
    if let Location::Http(http) = &source.location
        && http.query.is_some()
    {
        return Err(CliError::Usage(format!(
            "{}: the query after ? may hold a secret and is not written into references; use a URL without a query, or \
             copy the file first",
            source.location
        )));
    }
    let storage = source.storage()?;
    match storage {
        Storage::File => Ok(Base::File(url)),
        Storage::Directory | Storage::S3 | Storage::Http => Ok(Base::Folder(url)),
        _ => Err(CliError::Usage(format!(
            "{}: references to the chunks of a zip file or of other references cannot be written; name the target .zarr",
            source.location
        ))),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    let absolute = fs::canonicalize(path)?;
    match absolute.to_str() {
        Some(path) if ["{{", "{%", "{#"].iter().any(|start| path.contains(start)) => Err(CliError::Usage(
            format!("{path}: readers of references would take the braces for a template; rename the file"),
        )),
        Some(_) => Ok(absolute),
        None => Err(CliError::Usage(format!(
            "{}: the path is not UTF-8, which JSON needs; rename the file",
            path.display()
        ))),
    }
}

/// Refuses to replace anything but references.
fn check_existing(target: &DatasetUrl, overwrite: bool) -> Result<(), CliError> {
    let path = target.location.path().unwrap_or(Path::new(""));
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) if overwrite && is_references(target) => Ok(()),
        Ok(_) if overwrite => Err(CliError::Usage(format!(
            "{} exists, and is not a file of references; remove it, or choose another name",
            path.display()
        ))),
        Ok(_) => Err(exists(target)),
    }
}

fn is_references(file: &DatasetUrl) -> bool {
    matches!(file.storage(), Ok(Storage::References)) && references::open_store(file, None).is_ok()
}

fn exists(target: &DatasetUrl) -> CliError {
    CliError::Usage(format!(
        "{} exists already: choose another name; --overwrite replaces references",
        target.location
    ))
}

struct Summary<'a> {
    source: &'a DatasetUrl,
    /// How many datasets are joined, of which `source` is the first.
    sources: usize,
    target: &'a DatasetUrl,
    written: &'a ReferenceSummary,
    notes: &'a [String],
}

#[derive(Serialize)]
struct SummaryJson<'a> {
    schema: u32,
    source: String,
    target: String,
    references: u64,
    bytes: u64,
    inline: u64,
    recoded: u64,
    missing: u64,
    notes: &'a [String],
    unreadable: Vec<String>,
}

fn print(summary: &Summary<'_>, options: &Copy, out: &mut dyn Write, style: Style) -> Result<(), CliError> {
    let Summary { source, sources, target, written, notes } = summary;
    if options.json {
        write_json(
            out,
            &SummaryJson {
                schema: SCHEMA,
                source: source.location.to_string(),
                target: target.location.to_string(),
                references: written.references,
                bytes: written.bytes,
                inline: written.inline,
                recoded: written.recoded,
                missing: written.missing,
                notes,
                unreadable: written.unreadable.iter().map(|lost| lost.path.clone()).collect(),
            },
        )?;
    } else if !options.verbosity.quiet {
        writeln!(
            out,
            "{}: {} to {} in {}; {} inside the file ({} encoded again), {} missing",
            style.bold(&target.location.to_string()),
            count(written.references, "reference"),
            bytes(written.bytes),
            match sources {
                1 => source.location.to_string(),
                more => format!("{} and {} more", source.location, more - 1),
            },
            count(written.inline, "chunk"),
            written.recoded,
            written.missing
        )?;
    }
    Ok(out.flush()?)
}
