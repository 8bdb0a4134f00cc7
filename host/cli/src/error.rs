//! What can go wrong with a command, and how it is told.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use ncz::copy::CopyError;
use ncz::nczarr::{DataError, NczarrError, PoolError};
use ncz::store::StoreError;

use crate::chunk_spec::ChunkSpecError;
use crate::exit::Exit;
use crate::filter_spec::FilterSpecError;
use crate::output::Style;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line contradicts itself, or a value on it has no meaning.
    #[error("{0}")]
    Usage(String),
    /// A chain on the command line is not usable.
    #[error("{option} {text:?}")]
    Filter {
        /// The option.
        option: &'static str,
        /// Its value.
        text: String,
        /// What is wrong with it.
        source: FilterSpecError,
    },
    /// A chunk shape on the command line is not usable.
    #[error("-c {text:?}")]
    Chunks {
        /// The value of the option.
        text: String,
        /// What is wrong with it.
        source: ChunkSpecError,
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
    /// There is no dataset at a path.
    #[error("{} {reason}", path.display())]
    Source {
        /// The path.
        path: PathBuf,
        /// What is there instead and what to do, as the rest of a sentence.
        reason: String,
    },
    /// The path cannot be looked at.
    #[error("cannot look at {}", path.display())]
    Look {
        /// The path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A dataset could not be read.
    #[error("cannot read the dataset in {}", path.display())]
    Dataset {
        /// The path.
        path: PathBuf,
        /// Why.
        source: DataError,
    },
    /// The target could not be made.
    #[error("cannot write to {}", path.display())]
    Target {
        /// The path.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
    /// The copy failed.
    #[error("cannot copy {} to {}; {state}", source_path.display(), target.display())]
    Copy {
        /// What was to be copied.
        source_path: PathBuf,
        /// Where it was to go.
        target: PathBuf,
        /// What there is at the target now.
        state: &'static str,
        /// Why.
        source: CopyError,
    },
    /// A codec on the command line is not usable.
    #[error("codec {text:?}")]
    Codec {
        /// What was asked for.
        text: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The metadata do not make a text.
    #[error("cannot print {}", path.display())]
    Print {
        /// The dataset.
        path: PathBuf,
        /// Why.
        source: NczarrError,
    },
    /// The threads could not be started.
    #[error("cannot start the threads; try --threads 1")]
    Threads(#[from] PoolError),
    /// The handler for Ctrl-C could not be set.
    #[error("cannot watch for Ctrl-C")]
    Signal(#[from] ctrlc::Error),
    /// The output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    /// Ctrl-C.
    #[error("interrupted; {0}")]
    Interrupted(&'static str),
}

impl CliError {
    /// The exit code that says what kind of failure it is.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Filter { .. } | Self::Chunks { .. } | Self::UnknownVariable { .. } => {
                Exit::Usage
            }
            Self::Interrupted(_) => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

/// Prints an error and everything that led to it.
pub(crate) fn report(error: &CliError) {
    let style = Style::for_stream(io::stderr().is_terminal());
    let mut text = format!("{} {error}", style.bad("error:"));
    for cause in causes(error) {
        text.push_str(&format!("\n  {} {cause}", style.dim("because:")));
    }
    // Nobody is left to tell if this fails too.
    let _ = io::Write::write_all(&mut io::stderr(), format!("{text}\n").as_bytes());
}

/// The sources of an error, as texts; one that says what the one before said already is left out.
pub(crate) fn causes(error: &dyn Error) -> Vec<String> {
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
