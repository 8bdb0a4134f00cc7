//! `ncz gen`: makes a dataset from CDL.

mod kind;
mod summary;

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use ncz::cdl::{CdlError, CdlFile, CdlVariable};
use ncz::generate::{GenerateError, GenerateOptions, Plan, Text, generate, spool};
use ncz::location::DatasetUrl;
use ncz::model::{Format, Session};
use ncz::registry::Registry;

use self::summary::Summary;
use crate::args::Gen;
use crate::dataset::writing_session;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::output::{Style, write_json};
use crate::progress::{Bar, Interrupt};
use crate::target::{Target, cannot_write, check_ending, create, failure};

/// The name of standard input in messages.
const STDIN: &str = "standard input";

/// Runs the command.
pub(crate) fn run(
    options: &Gen,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    let target = options.target.as_deref().or(options.output.as_deref());
    let named = target.map(DatasetUrl::parse).transpose()?;
    if let Some(target) = &named {
        check_ending(target)?;
    }
    run_to(options, named, registry, out, style, messages)
}

/// Runs the command with this target, whatever its extension; without one, the text names it.
pub(crate) fn run_to(
    options: &Gen,
    target: Option<DatasetUrl>,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    messages: Messages,
) -> Result<Exit, CliError> {
    if let Some(target) = &target {
        target.check_new().map_err(|source| cannot_write(target, source))?;
    }
    let session = writing_session(registry, options.threads, None, options.no_lossy_guard)?;
    let mut file = open(&options.source)?;
    let target = match target {
        Some(target) => target,
        None => default_target(&file.cdl().name, options.check)?,
    };
    let requested = options.format.or_else(|| options.kind_by_text.then(|| kind::of_text(file.cdl())));
    let format = Target::of(&target, requested, options.consolidated, Format::NCZARR)?;
    let generate_options = GenerateOptions {
        format: format.format.unwrap_or(Format::NCZARR),
        consolidated: format.consolidated,
        noxarray: format.noxarray,
        header_only: options.header,
    };
    let failed = |error: GenerateError| match error {
        GenerateError::Stopped => CliError::Interrupted(failure::unchanged(&target)),
        source if options.check => cdl_error(&options.source, source),
        error => CliError::in_place(&target.location, error).unwrap_or_else(|source| CliError::Generate {
            cdl: name_of(&options.source).to_owned(),
            target: target.location.clone(),
            state: failure::after(&target, &source),
            source: Box::new(source),
        }),
    };
    let plan = Plan::new(file.cdl(), &session, &generate_options).map_err(failed)?;
    let mut notes = plan.notes().to_vec();
    let mut as_text = plan.hierarchy().clone();
    as_text.format = Format::NCZARR;
    notes.extend(format.changes(&as_text));
    notes.iter().for_each(|note| messages.note(note));

    let interrupt = Interrupt::watch()?;
    let bar = Bar::new(messages.shows_progress(), interrupt);
    if options.check {
        check(&mut file, plan, session, &generate_options, &bar).map_err(failed)?;
        bar.clear();
        return Ok(Exit::Good);
    }
    let new = create(&target, generate_options.format, options.overwrite)?;
    let result = generate(&mut file, plan, new, session, &generate_options, &bar);
    bar.clear();
    let generated = result.map_err(failed)?;

    let summary = Summary {
        source: name_of(&options.source),
        target: &target.location,
        format: generate_options.format,
        generated: &generated,
        notes: &notes,
    };
    let mut print = || {
        if options.json {
            write_json(out, &summary.to_json())?;
        } else if !options.verbosity.quiet {
            out.write_all(summary.to_text(style).as_bytes())?;
        }
        out.flush()
    };
    print().map_err(|error| CliError::Output(error).not_printed(&target.location))?;
    Ok(Exit::Good)
}

/// Reads all values without storing them.
fn check(
    file: &mut CdlFile<Box<dyn Text>>,
    plan: Plan,
    session: Session,
    options: &GenerateOptions,
    bar: &Bar,
) -> Result<(), GenerateError> {
    drop((plan, session));
    if options.header_only {
        return Ok(());
    }
    for number in 0..file.cdl().variables.len() {
        let user_type = file.cdl().variables.get(number).and_then(CdlVariable::user_type);
        let most = if user_type.is_some() { CHECKED_ROWS } else { CHECKED };
        file.values(number, most, &mut |_, _| {
            use ncz::progress::Progress;
            match bar.advance(0).is_break() {
                true => Err(GenerateError::Stopped),
                false => Ok(most),
            }
        })?;
    }
    Ok(())
}

/// Number of values to check at a time.
const CHECKED: u64 = 1 << 16;

/// The same for values of user-defined types, which can be large.
const CHECKED_ROWS: u64 = 16;

fn name_of(source: &str) -> &str {
    if source == "-" { STDIN } else { source }
}

fn cdl_error(source: &str, error: GenerateError) -> CliError {
    CliError::Cdl { path: name_of(source).to_owned(), source: Box::new(error) }
}

/// Opens a text. Input that is not a regular file is read once and spooled.
fn open(source: &str) -> Result<CdlFile<Box<dyn Text>>, CliError> {
    let unreadable =
        |source_error: io::Error| cdl_error(source, GenerateError::Cdl(CdlError::from(source_error)));
    let text: Box<dyn Text> = if source == "-" {
        spool(io::stdin().lock()).map_err(unreadable)?
    } else {
        let file = File::open(source).map_err(unreadable)?;
        let is_file = file.metadata().map_err(unreadable)?.is_file();
        if is_file { Box::new(file) } else { spool(file).map_err(unreadable)? }
    };
    CdlFile::open(text).map_err(|error| cdl_error(source, error.into()))
}

/// Returns the target in the current folder that the name in the text gives.
fn default_target(name: &str, is_check: bool) -> Result<DatasetUrl, CliError> {
    let is_file_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '#', ':']);
    if !is_file_name && !is_check {
        return Err(CliError::Usage(format!(
            "the dataset name in the text, {name:?}, cannot be a file name; give the target with -o"
        )));
    }
    let name = if is_file_name { name } else { "dataset" };
    Ok(DatasetUrl::parse(&format!("{name}.zarr"))?)
}
