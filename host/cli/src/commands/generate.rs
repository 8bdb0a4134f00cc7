//! `ncz gen`: a dataset from CDL.

mod summary;

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use ncz::generate::{GenerateError, GenerateOptions, Plan, Text, generate, spool};
use ncz::nczarr::cdl::{CdlError, CdlFile};
use ncz::nczarr::{Format, Session};
use ncz::place::Place;
use ncz::registry::Registry;

use self::summary::Summary;
use super::copy::{cannot_write, check_ending, state_after, unchanged};
use crate::args::Gen;
use crate::dataset::session;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Style;
use crate::progress::{Bar, Interrupt};
use crate::talk::Talk;
use crate::target::Target;

/// What is called standard input in messages.
const STDIN: &str = "standard input";

/// Runs the command.
pub(crate) fn run(
    options: &Gen,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    let named = options.target.as_deref().map(Place::parse).transpose()?;
    if let Some(target) = &named {
        check_ending(target)?;
    }
    run_to(options, named, registry, out, style, talk)
}

/// Runs the command with this target, whatever its ending; without one the text has the name.
pub(crate) fn run_to(
    options: &Gen,
    target: Option<Place>,
    registry: Arc<Registry>,
    out: &mut dyn Write,
    style: Style,
    talk: Talk,
) -> Result<Exit, CliError> {
    if let Some(target) = &target {
        target.check_new().map_err(|source| cannot_write(target, source))?;
    }
    let session = session(registry, options.threads, None)?;
    let mut file = open(&options.source)?;
    let target = match target {
        Some(target) => target,
        None => default_target(&file.cdl().name, options.check)?,
    };
    let wanted = Target::of(&target.mode, options.format, Format::NCZARR)?;
    let generate_options = GenerateOptions {
        format: wanted.format.unwrap_or(Format::NCZARR),
        consolidated: wanted.consolidated || options.consolidated,
        noxarray: wanted.noxarray,
        header_only: options.header,
    };
    let failed = |error: GenerateError| match error {
        GenerateError::Stopped => CliError::Interrupted(unchanged(&target)),
        source if options.check => no_cdl(&options.source, source),
        error => CliError::in_place(&target.location, error).unwrap_or_else(|source| CliError::Generate {
            cdl: name_of(&options.source).to_owned(),
            target: target.location.clone(),
            state: state_after(&target, &source),
            source: Box::new(source),
        }),
    };
    let plan = Plan::new(file.cdl(), &session, &generate_options).map_err(failed)?;
    let mut notes = plan.notes().to_vec();
    let mut as_text = plan.hierarchy().clone();
    as_text.format = Format::NCZARR;
    notes.extend(wanted.changes(&as_text));
    notes.iter().for_each(|note| talk.note(note));

    let interrupt = Interrupt::watch()?;
    let bar = Bar::new(talk.shows_progress(), interrupt);
    if options.check {
        check(&mut file, plan, session, &generate_options, &bar).map_err(failed)?;
        bar.clear();
        return Ok(Exit::Good);
    }
    let store = target.create_store(options.overwrite).map_err(|source| cannot_write(&target, source))?;
    let result = generate(&mut file, plan, store, session, &generate_options, &bar);
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
            writeln!(out, "{:#}", summary.to_json())?;
        } else if !options.verbosity.quiet {
            out.write_all(summary.to_text(style).as_bytes())?;
        }
        out.flush()
    };
    print().map_err(|error| CliError::Output(error).not_printed(&target.location))?;
    Ok(Exit::Good)
}

/// Reads all values and keeps none.
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
        file.values(number, CHECKED, &mut |_, _| {
            use ncz::copy::Progress;
            match bar.advance(0).is_break() {
                true => Err(GenerateError::Stopped),
                false => Ok(CHECKED),
            }
        })?;
    }
    Ok(())
}

/// Values that are checked at a time.
const CHECKED: u64 = 1 << 16;

fn name_of(source: &str) -> &str {
    if source == "-" { STDIN } else { source }
}

fn no_cdl(source: &str, error: GenerateError) -> CliError {
    CliError::Cdl { path: name_of(source).to_owned(), source: Box::new(error) }
}

/// Opens a text. What is no file is read once and kept aside.
fn open(source: &str) -> Result<CdlFile<Box<dyn Text>>, CliError> {
    let unreadable =
        |source_error: io::Error| no_cdl(source, GenerateError::Cdl(CdlError::from(source_error)));
    let text: Box<dyn Text> = if source == "-" {
        spool(io::stdin().lock()).map_err(unreadable)?
    } else {
        let file = File::open(source).map_err(unreadable)?;
        let is_file = file.metadata().map_err(unreadable)?.is_file();
        if is_file { Box::new(file) } else { spool(file).map_err(unreadable)? }
    };
    CdlFile::open(text).map_err(|error| no_cdl(source, error.into()))
}

/// The place beside us that the name in the text stands for.
fn default_target(name: &str, is_check: bool) -> Result<Place, CliError> {
    let is_file_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '#', ':']);
    if !is_file_name && !is_check {
        return Err(CliError::Usage(format!(
            "the text calls the dataset {name:?}, which is no name for a file; give the target with -o"
        )));
    }
    let name = if is_file_name { name } else { "dataset" };
    Ok(Place::parse(&format!("{name}.zarr"))?)
}
