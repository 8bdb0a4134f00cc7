//! What can go wrong with a command, and how it is told.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use ncz::bench::BenchError;
use ncz::copy::{CopyError, PartialError};
use ncz::generate::GenerateError;
use ncz::nczarr::{DataError, PoolError};
use ncz::place::{Location, PlaceError};
use ncz::registry::lock::LockError;
use ncz::registry::spec::SpecError;
use ncz::repair::RepairError;
use ncz::store::StoreError;
use ncz::verify::VerifyError;

use crate::chunk_spec::ChunkSpecError;
use crate::exit::Exit;
use crate::filter_spec::FilterSpecError;
use crate::output::Style;
use crate::secrets;
use crate::slab_spec::SlabSpecError;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line contradicts itself, or a value on it has no meaning.
    #[error("{0}")]
    Usage(String),
    /// A chain on the command line is not usable.
    #[error("{option}{}", if text.is_empty() { String::new() } else { format!(" {text:?}") })]
    Filter {
        /// The option.
        option: &'static str,
        /// Its value.
        text: String,
        /// What is wrong with it.
        source: Box<FilterSpecError>,
    },
    /// A chunk shape on the command line is not usable.
    #[error("{what}")]
    Chunks {
        /// The option and its value.
        what: String,
        /// What is wrong with it.
        source: Box<ChunkSpecError>,
    },
    /// A slab on the command line is not usable.
    #[error("--slab {text:?}")]
    Slab {
        /// The option's value.
        text: String,
        /// What is wrong with it.
        source: Box<SlabSpecError>,
    },
    /// A name on the command line is none of the dataset's.
    #[error("there is no variable {name:?} in {dataset}; {known}")]
    UnknownVariable {
        /// The name.
        name: String,
        /// The dataset.
        dataset: String,
        /// The closest name, and the known ones.
        known: String,
    },
    /// A name on the command line is none of the dataset's dimensions.
    #[error("there is no dimension {name:?} in {dataset}; {known}")]
    UnknownDimension {
        /// The name.
        name: String,
        /// The dataset.
        dataset: String,
        /// The closest name, and the known ones.
        known: String,
    },
    /// A variable cannot carry the codecs that were given for all.
    #[error(
        "variable {path:?} cannot get the codecs that were given for all; name other ones for it, e.g. -F {},none", path.trim_start_matches('/')
    )]
    CannotCarry {
        /// The variable.
        path: String,
        /// Why.
        source: Box<DataError>,
    },
    /// The list of the plugins that may be used could not be made or read.
    #[error("cannot use the list of plugins")]
    Lock(#[source] LockError),
    /// The list of the plugins that may be used could not be written.
    #[error("cannot write {}", path.display())]
    LockOutput {
        /// The list.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No dataset could be opened at a place.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A dataset could not be read.
    #[error("cannot read the dataset in {place}")]
    Dataset {
        /// Where it is.
        place: Location,
        /// Why.
        source: Box<DataError>,
    },
    /// The store of a dataset could not be opened or read.
    #[error("cannot read {place}")]
    Store {
        /// Where it is.
        place: Location,
        /// Why.
        source: Box<StoreError>,
    },
    /// The target could not be made.
    #[error("cannot write to {place}{hint}")]
    Target {
        /// Where it is.
        place: Location,
        /// The option that would help, if one does.
        hint: &'static str,
        /// Why.
        source: Box<StoreError>,
    },
    /// The copy failed.
    #[error("cannot copy {from} to {target}; {state}")]
    Copy {
        /// What was to be copied.
        from: Location,
        /// Where it was to go.
        target: Location,
        /// What there is at the target now.
        state: &'static str,
        /// Why.
        source: Box<CopyError>,
    },
    /// The dataset is whole at the target, and a step after that failed.
    #[error("{target} is complete and in place, but {what}")]
    InPlace {
        /// The target.
        target: Location,
        /// What was not done, as the rest of a sentence.
        what: &'static str,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A copy that is kept when it is interrupted could not be begun or ended.
    #[error("cannot go on with the copy")]
    Resume {
        /// Why.
        source: Box<PartialError>,
    },
    /// No dataset was generated.
    #[error("cannot generate {target} from {cdl}; {state}")]
    Generate {
        /// The text.
        cdl: String,
        /// Where the dataset was to go.
        target: Location,
        /// What there is at the target now.
        state: &'static str,
        /// Why.
        source: Box<GenerateError>,
    },
    /// A text is no CDL, or none that a dataset can be made of.
    #[error("cannot use {path}")]
    Cdl {
        /// The text.
        path: String,
        /// Why.
        source: Box<GenerateError>,
    },
    /// A dataset was not verified to its end.
    #[error("cannot verify {place}")]
    Verify {
        /// The dataset.
        place: Location,
        /// Why.
        source: Box<VerifyError>,
    },
    /// A dataset was not repaired.
    #[error("cannot repair {place}")]
    Repair {
        /// The dataset.
        place: Location,
        /// Why.
        source: Box<RepairError>,
    },
    /// The text of a codec is none.
    #[error("{text:?} is no codec")]
    CodecText {
        /// What was asked for.
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
    /// A codec on the command line is not usable.
    #[error("{text} cannot be used")]
    Codec {
        /// What was asked for.
        text: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The threads could not be started.
    #[error("cannot start the threads; try --threads 1")]
    Threads(#[from] PoolError),
    /// Chains could not be tried on a variable.
    #[error("cannot try codecs on variable {path:?} of {place}")]
    Bench {
        /// The variable.
        path: String,
        /// The dataset.
        place: Location,
        /// Why.
        source: Box<BenchError>,
    },
    /// A file could not be written, read or made.
    #[error("cannot {what} {}", path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A program that belongs to this one is not installed.
    #[error(
        "the program {0} is neither beside ncz nor on PATH; \
        in the source tree of ncz: cargo install --path tests/conformance"
    )]
    NoSibling(&'static str),
    /// A program that belongs to this one does not start.
    #[error("cannot start {}", program.display())]
    Sibling {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The handler for Ctrl-C could not be set.
    #[error("cannot watch for Ctrl-C")]
    Signal(#[from] ctrlc::Error),
    /// The output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    /// Values that were asked for by name could not be read, which warnings have said.
    #[error("not all values that -v names could be printed")]
    NotAllPrinted,
    /// Ctrl-C.
    #[error("interrupted; {0}")]
    Interrupted(&'static str),
}

impl CliError {
    /// What to make of an error of the dataset at a place.
    pub(crate) fn dataset(place: &Location) -> impl Fn(DataError) -> Self {
        let place = place.clone();
        move |source| Self::Dataset { place: place.clone(), source: Box::new(source) }
    }

    /// What to make of an error of the store at a place.
    pub(crate) fn store(place: &Location) -> impl Fn(StoreError) -> Self {
        let place = place.clone();
        move |source| Self::Store { place: place.clone(), source: Box::new(source) }
    }

    /// The error where the dataset at the target is whole all the same; any other error is given back.
    pub(crate) fn in_place<E: Error + Send + Sync + 'static>(target: &Location, error: E) -> Result<Self, E> {
        let what = match (store_error(&error), (&error as &dyn Error).downcast_ref()) {
            (Some(StoreError::NotDurable { .. }), _) | (_, Some(PartialError::NotDurable { .. })) => {
                "may not survive a power failure"
            }
            (Some(StoreError::NotRemoved { .. }), _) | (_, Some(PartialError::NotRemoved { .. })) => {
                "a file or folder that is no longer needed could not be removed"
            }
            _ => return Err(error),
        };
        Ok(Self::InPlace { target: target.clone(), what, source: Box::new(error) })
    }

    /// The error where the dataset is whole at the target, and what was done could not be printed.
    pub(crate) fn not_printed(self, target: &Location) -> Self {
        match self {
            // a reader that went away has seen enough
            Self::Output(source) if source.kind() != io::ErrorKind::BrokenPipe => Self::InPlace {
                target: target.clone(),
                what: "the summary could not be printed",
                source: Box::new(source),
            },
            other => other,
        }
    }

    /// The exit code that says what kind of failure it is.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_)
            | Self::Filter { .. }
            | Self::Chunks { .. }
            | Self::Slab { .. }
            | Self::UnknownVariable { .. }
            | Self::UnknownDimension { .. }
            | Self::CodecText { .. }
            | Self::Place(PlaceError::Text { .. }) => Exit::Usage,
            Self::Values { .. } => Exit::Bug,
            Self::Interrupted(_) => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

/// The store's error among what has led to one.
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

/// Prints an error and everything that led to it.
pub(crate) fn report(error: &CliError) {
    let style = Style::for_stream(io::stderr().is_terminal());
    let mut text = format!("{} {error}", style.bad("error:"));
    for cause in causes(error) {
        text.push_str(&format!("\n  {} {cause}", style.dim("because:")));
    }
    say(format!("{}\n", secrets::hide(&text)).as_bytes());
}

/// Writes to standard error. A write that fails is tried again, since without it only the exit code says that something
/// is wrong.
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

/// An error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error) {
        text.push_str(": ");
        text.push_str(&cause);
    }
    secrets::hide(&text)
}

/// The sources of an error, as texts; one that says what the one before said already is left out.
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
