//! `ncz copy --plan`, `--part` and `--finish`: copies in parts.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz::copy::parts::{Division, Finished, PartWorker, PartsError, PartsPlan, Planned, ranges};
use ncz::copy::{CopyError, CopyOptions, CopySummary, VariableSummary};
use ncz::location::{DatasetUrl, Location, Mode};
use ncz::model::Container;
use ncz::registry::Registry;
use serde::Serialize;

use super::summary::Summary;
use crate::args::Copy;
use crate::dataset::session;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::left_out::left_out;
use crate::messages::Messages;
use crate::output::{Style, bytes, count, seconds, write_json};
use crate::progress::{Bar, Interrupt};

/// The version of the JSON forms; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;
/// A plan has no more parts.
const MOST_PARTS: usize = 1_000_000;
/// What a copy in parts leaves when it is interrupted.
const RERUN: &str = "the target is as it was before; run the same command again";
/// What `--finish` says of a copy that another call has finished.
const FINISHED: &str = "the copy is finished already";

/// What `--plan` asks for.
pub(super) struct PlanRequest {
    division: Division,
    file: PathBuf,
}

/// What is done with a plan that exists.
enum Step {
    Parts(Vec<usize>),
    Finish,
}

/// The JSON form of `--plan`.
#[derive(Serialize)]
struct PlanJson<'a> {
    schema: u32,
    plan: String,
    source: String,
    target: String,
    token: &'a str,
    parts: usize,
    decoded_bytes: u64,
    notes: &'a [String],
}

/// The JSON form of `--part` and `--finish`.
#[derive(Serialize)]
struct StepJson<'a, S: Serialize> {
    token: &'a str,
    parts: &'a [usize],
    #[serde(flatten)]
    summary: S,
}

impl PlanRequest {
    /// Reads `--plan N FILE`.
    pub(super) fn of(options: &Copy) -> Result<Option<Self>, CliError> {
        let Some(given) = &options.plan else { return Ok(None) };
        let [number, file] = given.as_slice() else { return Err(twice("--plan")) };
        let division = match number.as_str() {
            "auto" => Division::BySize,
            number => match number.parse() {
                Ok(parts) if parts > 0 => Division::Into(parts),
                _ => {
                    return Err(CliError::Usage(format!(
                        "--plan {number}: expected a number of parts, or auto for parts of about 128 MB"
                    )));
                }
            },
        };
        let file = PathBuf::from(file);
        match fs::symlink_metadata(&file) {
            Ok(_) => Err(exists(&file)),
            Err(_) => Ok(Some(Self { division, file })),
        }
    }

    /// Makes the plan, and reserves the target.
    pub(super) fn run(
        &self,
        options: &Copy,
        (source_url, target_url): (&DatasetUrl, &DatasetUrl),
        dataset: &dyn Container,
        copy_options: &CopyOptions,
        (bar, mut notes): (super::Announced<'_>, Vec<String>),
        (out, messages): (&mut dyn Write, Messages),
    ) -> Result<Exit, CliError> {
        let [source] = options.sources() else {
            return Err(CliError::Usage("--plan has one source".to_owned()));
        };
        let ends = (source.as_str(), options.target()?);
        let planned = PartsPlan::divide(ends, dataset, copy_options, self.division, &bar);
        bar.bar.clear();
        let failed = |error| failed(error, &format!("to {}", target_url.location), &self.file);
        let Planned { plan, foreign_objects } = planned.map_err(|error| match error {
            PartsError::Copy(error) => {
                let advice = super::without_type(&error, dataset.hierarchy(), target_url, &options.readers);
                super::failed(source_url, target_url, error, advice)
            }
            error => failed(error),
        })?;
        notes.extend(bar.into_notes());
        if let Some(note) = left_out(&foreign_objects) {
            messages.note(&note);
            notes.push(note);
        }
        let text = plan.to_json().map_err(failed)?;
        write_new(&self.file, &text)?;
        plan.begin().map_err(|error| {
            // A plan without a target is of no use.
            let _ = fs::remove_file(&self.file);
            failed(error)
        })?;
        for lost in plan.unreadable() {
            messages.warn(&format!("left out because it cannot be read: {}: {}", lost.path, lost.reason));
        }
        let (parts, file) = (plan.parts().len(), self.file.display());
        let decoded_bytes = plan.parts().iter().map(|part| part.bytes).fold(0, u64::saturating_add);
        if options.json {
            write_json(
                out,
                &PlanJson {
                    schema: SCHEMA,
                    plan: file.to_string(),
                    source: plan.source().map_err(failed)?.location.to_string(),
                    target: plan.target().map_err(failed)?.location.to_string(),
                    token: plan.token(),
                    parts,
                    decoded_bytes,
                    notes: &notes,
                },
            )?;
        } else if !options.verbosity.quiet {
            let all = match parts {
                0 => String::new(),
                1 => format!("ncz copy --part 0 {file}, then "),
                parts => format!("ncz copy --part K {file} for each K from 0 to {}, then ", parts - 1),
            };
            writeln!(
                out,
                "{file}: {}, {} decoded; run {all}ncz copy --finish {file}",
                count(parts as u64, "part"),
                bytes(decoded_bytes)
            )?;
        }
        out.flush()?;
        Ok(Exit::of_findings(!plan.unreadable().is_empty()))
    }
}

/// Runs `--part` and `--finish`; `None` if neither is given.
pub(super) fn run(
    options: &Copy,
    registry: &Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Option<Exit>, CliError> {
    if let Some(file) = &options.discard {
        discard(options, file, out)?;
        return Ok(Some(Exit::Good));
    }
    let (file, step) = match (&options.part, &options.finish) {
        (Some(given), _) => {
            let [numbers, file] = given.as_slice() else { return Err(twice("--part")) };
            (PathBuf::from(file), Step::Parts(part_numbers(numbers)?))
        }
        (None, Some(file)) => (file.clone(), Step::Finish),
        (None, None) => return Ok(None),
    };
    let (plan, target) = load(&file)?;
    let failed = |error| failed(error, &format!("to {}", target.location), &file);
    let source = plan.source().map_err(failed)?;
    let session = session(Arc::clone(registry), options.threads, None)?;
    let worker = PartWorker {
        registry: session.registry,
        pool: session.pool.clone(),
        memory: options.memory,
        scratch: super::scratch(options, &target),
        verify: options.verify,
    };
    let bar = Bar::new(messages.shows_progress(), Interrupt::watch()?);
    let done = match &step {
        Step::Parts(parts) => {
            plan.run(parts, &worker, &bar).map(|summary| Finished { summary, before: false })
        }
        Step::Finish => plan.finish(&worker, &bar),
    };
    bar.clear();
    let Finished { summary: copied, before } = done.map_err(|error| match error {
        PartsError::Copy(error) if !matches!(error, CopyError::Stopped) => CliError::Copy {
            from: source.location.clone(),
            target: target.location.clone(),
            state: RERUN,
            advice: None,
            source: Box::new(error),
        },
        error => failed(error),
    })?;
    let mut notes: Vec<String> = super::summary::lossy(&copied.variables).into_iter().collect();
    notes.iter().for_each(|note| messages.note(note));
    notes.extend(before.then(|| FINISHED.to_owned()));
    let verified = options.verify || plan.verifies();
    let format = plan.hierarchy().map_err(failed)?.format;
    let ends = (&source.location, &target.location);
    let with = (worker.registry, session.pool.threads());
    let summary = Summary::of_parts(ends, format, with, &copied, verified, &notes);
    let parts = match step {
        Step::Parts(parts) => parts,
        Step::Finish => (0..plan.parts().len()).collect(),
    };
    if options.json {
        write_json(out, &StepJson { token: plan.token(), parts: &parts, summary: summary.to_json() })?;
    } else if !options.verbosity.quiet {
        match &options.part {
            Some(_) if parts.iter().all(|part| plan.is_empty_part(*part)) => {
                let all = count(plan.parts().len() as u64, "part");
                writeln!(out, "{}: nothing to do; the plan has {all}, from 0 on", numbered(&parts))?;
            }
            Some(_) => writeln!(out, "{}: {}", numbered(&parts), line(&copied, verified))?,
            None if before => {
                let verified = if options.verify { "; verified" } else { "" };
                writeln!(out, "{}: {FINISHED}{verified}", target.location)?;
            }
            None => out.write_all(summary.to_text(style).as_bytes())?,
        }
    }
    out.flush()?;
    Ok(Some(Exit::of_findings(options.finish.is_some() && !copied.unreadable.is_empty())))
}

/// Gives up a copy.
fn discard(options: &Copy, file: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let (plan, DatasetUrl { location: target, .. }) = load(file)?;
    plan.discard().map_err(|error| failed(error, &format!("to {target}"), file))?;
    if options.json {
        write_json(
            out,
            &serde_json::json!({ "schema": SCHEMA, "token": plan.token(), "discarded": target.to_string() }),
        )?;
    } else if !options.verbosity.quiet {
        writeln!(out, "the parts of {target} are removed")?;
    }
    Ok(out.flush()?)
}

/// What was copied, in a few words.
fn line(copied: &CopySummary, verified: bool) -> String {
    let sum = |of: fn(&VariableSummary) -> u64| copied.variables.iter().map(of).sum::<u64>();
    format!(
        "{}, {} decoded, {} stored, in {}{}",
        count(sum(|variable| variable.chunks), "chunk"),
        bytes(sum(|variable| variable.decoded)),
        bytes(sum(|variable| variable.after)),
        seconds(copied.elapsed),
        if verified { "; verified" } else { "" },
    )
}

fn numbered(parts: &[usize]) -> String {
    let word = if parts.len() == 1 { "part" } else { "parts" };
    format!("{word} {}", ranges(parts))
}

/// Reads numbers and ranges of numbers: `3,7-9`.
fn part_numbers(text: &str) -> Result<Vec<usize>, CliError> {
    let wrong =
        || CliError::Usage(format!("--part {text}: expected the number of a part, or several such as 3,7-9"));
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    let mut numbers = Vec::new();
    for item in text.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (number(first)?, number(last)?);
        // A plan has no more parts than boxes.
        if first > last || last - first >= MOST_PARTS {
            return Err(wrong());
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

/// Reads a plan. Returns its target too.
fn load(file: &Path) -> Result<(PartsPlan, DatasetUrl), CliError> {
    let location = match file.to_str().filter(|text| text.contains("://")) {
        Some(url) => DatasetUrl::parse(url)?,
        None => DatasetUrl { location: Location::Path(file.to_owned()), mode: Mode::default() },
    };
    let failed = |error| failed(error, &format!("of {}", location.location), file);
    let plan = PartsPlan::load(&location).map_err(failed)?;
    let target = plan.target().map_err(failed)?;
    Ok((plan, target))
}

/// Writes a new file as a whole.
fn write_new(file: &Path, text: &str) -> Result<(), CliError> {
    let failed = |source| CliError::File { what: "write the plan", path: file.to_owned(), source };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new();
    let new = new.prefix(".ncz-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
    let mut new = new.map_err(failed)?;
    new.write_all(text.as_bytes()).and_then(|()| new.as_file().sync_all()).map_err(failed)?;
    new.persist_noclobber(file).map(drop).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(file),
        _ => failed(error.error),
    })
}

fn exists(file: &Path) -> CliError {
    CliError::Usage(format!(
        "{} exists already, and FILE in ncz copy SOURCE TARGET --plan N FILE is a new file; name another one",
        file.display()
    ))
}

fn twice(option: &str) -> CliError {
    CliError::Usage(format!("{option} is given more than once; give it once"))
}

/// The error of a copy in parts; `which` names it as a clause.
fn failed(error: PartsError, which: &str, file: &Path) -> CliError {
    match error {
        PartsError::Copy(CopyError::Stopped) => CliError::Interrupted(RERUN),
        PartsError::Location(error) => CliError::Location(error),
        PartsError::Missing { parts, of } => {
            let hint = format!("; run ncz copy --part {} {}", ranges(&parts), file.display());
            let source = Box::new(PartsError::Missing { parts, of });
            CliError::Parts { what: format!("cannot finish the copy {which}"), hint, source }
        }
        PartsError::Differs { part, is_at_target, source } => {
            let hint = match is_at_target {
                true => "; if the source can be read, remove the target, and copy again".to_owned(),
                false => format!("; ncz copy --part {part} {} makes the part again", file.display()),
            };
            let source = Box::new(PartsError::Differs { part, is_at_target, source });
            CliError::Parts { what: format!("cannot verify the copy {which}"), hint, source }
        }
        error @ PartsError::Finished { .. } => CliError::Parts {
            what: format!("cannot go on with the copy {which}"),
            hint: format!("; ncz copy --finish {} --verify compares the values", file.display()),
            source: Box::new(error),
        },
        PartsError::Option { .. } | PartsError::OneFile { .. } => CliError::Usage(error.to_string()),
        PartsError::NoSuchPart { .. } => CliError::Usage(format!("{}: {error}", file.display())),
        error => CliError::Parts {
            what: format!("cannot go on with the copy {which}"),
            hint: String::new(),
            source: Box::new(error),
        },
    }
}
