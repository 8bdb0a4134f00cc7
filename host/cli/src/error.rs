//! The errors of the command, and how they are printed.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use ncz::bench::BenchError;
use ncz::concat::ConcatError;
use ncz::copy::parts::PartsError;
use ncz::copy::{CopyError, ResumeError};
use ncz::generate::GenerateError;
use ncz::location::{Location, LocationError};
use ncz::model::{DataError, PoolError};
use ncz::references::ReferenceError;
use ncz::registry::allow_list::AllowListError;
use ncz::registry::spec::SpecError;
use ncz::repair::RepairError;
use ncz::store::StoreError;
use ncz::verify::VerifyError;

use crate::chunk_request::ChunkRequestError;
use crate::codec_request::CodecRequestError;
use crate::exit_code::Exit;
use crate::output::{Style, printable};
use crate::remedy;
use crate::secrets;
use crate::slab_request::SlabRequestError;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line contradicts itself, or a value on it has no meaning.
    #[error("{0}")]
    Usage(String),
    /// A chain on the command line cannot be used.
    #[error("{option}{}", if text.is_empty() { String::new() } else { format!(" {text:?}") })]
    Filter {
        /// The option.
        option: &'static str,
        /// Its value.
        text: String,
        /// What is wrong with it.
        source: Box<CodecRequestError>,
    },
    /// A chunk shape on the command line cannot be used.
    #[error("{what}")]
    Chunks {
        /// The option and its value.
        what: String,
        /// What is wrong with it.
        source: Box<ChunkRequestError>,
    },
    /// A slab on the command line cannot be used.
    #[error("--slab {text:?}")]
    Slab {
        /// The option's value.
        text: String,
        /// What is wrong with it.
        source: Box<SlabRequestError>,
    },
    /// The dataset has no variable of this name.
    #[error("there is no variable {name:?} in {dataset}; {known}")]
    UnknownVariable {
        /// The name.
        name: String,
        /// The dataset.
        dataset: String,
        /// The closest name, and the known ones.
        known: String,
    },
    /// The dataset has no dimension of this name.
    #[error("there is no dimension {name:?} in {dataset}; {known}")]
    UnknownDimension {
        /// The name.
        name: String,
        /// The dataset.
        dataset: String,
        /// The closest name, and the known ones.
        known: String,
    },
    /// A variable cannot have the codecs that were given for all variables.
    #[error(
        "variable {path:?} cannot have the codecs that were given for all variables; choose others for it, e.g. -F {},none", path.trim_start_matches('/')
    )]
    CannotCarry {
        /// The variable.
        path: String,
        /// Why.
        source: Box<DataError>,
    },
    /// The plugin allow-list could not be made or read.
    #[error("cannot use the plugin allow-list")]
    AllowList(#[source] AllowListError),
    /// The plugin allow-list could not be written.
    #[error("cannot write {}", path.display())]
    LockOutput {
        /// The list.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No dataset could be opened at a location.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// A dataset could not be read.
    #[error("cannot read the dataset in {location}")]
    Dataset {
        /// Its location.
        location: Location,
        /// Why.
        source: Box<DataError>,
    },
    /// The store of a dataset could not be opened or read.
    #[error("cannot read {location}")]
    Store {
        /// Its location.
        location: Location,
        /// Why.
        source: Box<StoreError>,
    },
    /// The target could not be made.
    #[error("cannot write to {location}{hint}")]
    Target {
        /// Its location.
        location: Location,
        /// The option that would help, if one does.
        hint: &'static str,
        /// Why.
        source: Box<StoreError>,
    },
    /// The copy failed.
    #[error("cannot copy {from} to {target}; {state}")]
    Copy {
        /// The source of the copy.
        from: Location,
        /// Its target.
        target: Location,
        /// What is at the target now.
        state: &'static str,
        /// What to do, if that depends on the options.
        advice: Option<String>,
        /// Why.
        source: Box<CopyError>,
    },
    /// Several sources are not one.
    #[error("cannot join the sources{hint}")]
    Concat {
        /// The option that would help, if one does.
        hint: &'static str,
        /// Why.
        source: Box<ConcatError>,
    },
    /// References could not be written.
    #[error("cannot write references to {from}; nothing is changed at {target}")]
    References {
        /// The dataset that they refer to.
        from: Location,
        /// The file of references.
        target: Location,
        /// Why.
        source: Box<ReferenceError>,
    },
    /// The dataset is complete at the target, but a later step failed.
    #[error("{target} is complete and in place, but {what}")]
    InPlace {
        /// The target.
        target: Location,
        /// What was not done, as the rest of a sentence.
        what: &'static str,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A copy that can be resumed could not be started or finished.
    #[error("cannot resume the copy")]
    Resume {
        /// Why.
        source: Box<ResumeError>,
    },
    /// A copy in parts could not be planned, made or finished.
    #[error("{what}{hint}")]
    Parts {
        /// What failed.
        what: String,
        /// What to do, as a clause.
        hint: String,
        /// Why.
        source: Box<PartsError>,
    },
    /// No dataset was generated.
    #[error("cannot generate {target} from {cdl}; {state}")]
    Generate {
        /// The text.
        cdl: String,
        /// The target.
        target: Location,
        /// What is at the target now.
        state: &'static str,
        /// Why.
        source: Box<GenerateError>,
    },
    /// A text is not CDL, or not CDL that a dataset can be made from.
    #[error("cannot use {path}")]
    Cdl {
        /// The text.
        path: String,
        /// Why.
        source: Box<GenerateError>,
    },
    /// A dataset could not be verified.
    #[error("cannot verify {location}")]
    Verify {
        /// The dataset.
        location: Location,
        /// Why.
        source: Box<VerifyError>,
    },
    /// A dataset could not be repaired.
    #[error("cannot repair {location}")]
    Repair {
        /// The dataset.
        location: Location,
        /// Why.
        source: Box<RepairError>,
    },
    /// A text does not describe a codec.
    #[error("{text:?} is not a codec")]
    CodecText {
        /// What was requested.
        text: String,
        /// What is wrong with it.
        source: Box<SpecError>,
    },
    /// The values of a variable do not fit its type.
    #[error(
        "the values of variable {variable:?} do not make whole elements of its type {dtype}; this is a bug in ncz"
    )]
    Values {
        /// The variable.
        variable: String,
        /// Its type.
        dtype: String,
    },
    /// A codec on the command line cannot be used.
    #[error("cannot use {text}")]
    Codec {
        /// What was requested.
        text: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The threads could not be started.
    #[error("cannot start the threads; try --threads 1")]
    Threads(#[from] PoolError),
    /// Chains could not be tried on a variable.
    #[error("cannot try codecs on variable {path:?} of {location}")]
    Bench {
        /// The variable.
        path: String,
        /// The dataset.
        location: Location,
        /// Why.
        source: Box<BenchError>,
    },
    /// A file could not be written, read or created.
    #[error("cannot {what} {}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program that comes with this one is not installed.
    #[error(
        "the program {0} is neither in the folder of ncz nor on PATH; \
        install it from the source tree of ncz: cargo install --path tests/conformance"
    )]
    NoSibling(&'static str),
    /// A program that comes with this one does not start.
    #[error("cannot start {}", program.display())]
    Sibling {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The handler for Ctrl-C could not be set.
    #[error("cannot watch for Ctrl-C")]
    Signal(#[from] ctrlc::Error),
    /// The output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    /// Values of variables that were named could not be read. Warnings have said why.
    #[error("not all values of the variables named with -v could be printed")]
    NotAllPrinted,
    /// Ctrl-C.
    #[error("interrupted; {0}")]
    Interrupted(&'static str),
}

impl CliError {
    /// Returns a function that wraps an error of the dataset at a location.
    pub(crate) fn dataset(location: &Location) -> impl Fn(DataError) -> Self {
        let location = location.clone();
        move |source| Self::Dataset { location: location.clone(), source: Box::new(source) }
    }

    /// Returns a function that wraps an error of the store at a location.
    pub(crate) fn store(location: &Location) -> impl Fn(StoreError) -> Self {
        let location = location.clone();
        move |source| Self::Store { location: location.clone(), source: Box::new(source) }
    }

    /// Returns the error of a step after the dataset at the target was complete; gives back any other error.
    pub(crate) fn in_place<E: Error + Send + Sync + 'static>(target: &Location, error: E) -> Result<Self, E> {
        let what = match (store_error(&error), (&error as &dyn Error).downcast_ref()) {
            (Some(StoreError::NotDurable { .. }), _) | (_, Some(ResumeError::NotDurable { .. })) => {
                "may not survive a power failure"
            }
            (Some(StoreError::NotRemoved { .. }), _) | (_, Some(ResumeError::NotRemoved { .. })) => {
                "a file or folder that is no longer needed could not be removed"
            }
            _ => return Err(error),
        };
        Ok(Self::InPlace { target: target.clone(), what, source: Box::new(error) })
    }

    /// Returns the error of a summary that could not be printed after the dataset was complete at the target.
    pub(crate) fn not_printed(self, target: &Location) -> Self {
        match self {
            // A reader that closed the pipe has seen enough.
            Self::Output(source) if source.kind() != io::ErrorKind::BrokenPipe => Self::InPlace {
                target: target.clone(),
                what: "the summary could not be printed",
                source: Box::new(source),
            },
            other => other,
        }
    }

    /// Returns the exit code for this kind of failure.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_)
            | Self::Filter { .. }
            | Self::Chunks { .. }
            | Self::Slab { .. }
            | Self::UnknownVariable { .. }
            | Self::UnknownDimension { .. }
            | Self::CodecText { .. }
            | Self::Location(LocationError::Text { .. }) => Exit::Usage,
            Self::Values { .. } => Exit::Bug,
            Self::Interrupted(_) => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

/// Returns the store's error in the chain of sources of an error.
pub(crate) fn store_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a StoreError> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let direct = error.downcast_ref::<StoreError>();
        let found = direct.or_else(|| error.downcast_ref::<Box<StoreError>>().map(|boxed| &**boxed));
        if found.is_some() {
            return found;
        }
        cause = error.source();
    }
    None
}

/// Prints an error and its sources.
pub(crate) fn report(error: &CliError) {
    let style = Style::for_stream(io::stderr().is_terminal());
    let mut text = format!("{} {}", style.bad("error:"), printable(&error.to_string()));
    for cause in causes(error) {
        text.push_str(&format!("\n  {} {}", style.dim("because:"), printable(&cause)));
    }
    if let Some(remedy) = remedy::text(error) {
        text.push_str(&format!("\n  {} {remedy}", style.dim("remedy:")));
    }
    say(format!("{}\n", secrets::hide(&text)).as_bytes());
}

/// Writes to standard error. Retries a write that fails, because otherwise only the exit code would report the error.
fn say(mut text: &[u8]) {
    const TRIES: u32 = 5;
    const PAUSE: Duration = Duration::from_millis(10);
    let mut failed = 0;
    while !text.is_empty() && failed < TRIES {
        match io::stderr().write(text) {
            Ok(0) => return,
            Ok(written) => text = text.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => {
                failed += 1;
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Returns an error and its sources in one line.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in causes(error) {
        text.push_str(": ");
        text.push_str(&cause);
    }
    if let Some(remedy) = remedy::text(error) {
        text.push_str("; ");
        text.push_str(&remedy);
    }
    secrets::hide(&text)
}

/// Returns the messages of the sources of an error, without those that the message before contains already.
fn causes(error: &dyn Error) -> Vec<String> {
    let mut last = error.to_string();
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !last.contains(&text) {
            causes.push(text.clone());
            last = text;
        }
        source = cause.source();
    }
    causes
}
