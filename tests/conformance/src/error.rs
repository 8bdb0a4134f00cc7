//! Why a run could not be made.

use std::io;
use std::path::PathBuf;

/// Why a run could not be made. What is wrong with a library is not an error but a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A library or a folder that cannot be looked at.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// Its expected path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A folder without plugins.
    #[error("{} holds no file with the name of a plugin ({pattern}); name the files themselves", path.display())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
        /// The names that count.
        pattern: &'static str,
    },
    /// A pattern of `--include` or `--exclude` that fits no check.
    #[error("no check is called {pattern:?}; {}", near.as_ref().map_or_else(
        || "ncz-conform --list --level 10 shows them all".to_owned(),
        |near| format!("did you mean {near}?")
    ))]
    NothingMatches {
        /// The pattern.
        pattern: String,
        /// A check with a name like that.
        near: Option<&'static str>,
    },
    /// A library of a crate under test that cargo has not built.
    #[error(
        "there is no {file} next to this test: {name} needs crate-type = [\"cdylib\", \"rlib\"] in the [lib] of its \
        Cargo.toml, or is named by a path"
    )]
    NotBuilt {
        /// The crate.
        name: String,
        /// The file that was looked for.
        file: String,
    },
    /// A variable of the environment that should hold a number.
    #[error("the variable {name} is {value:?}, which is not a number")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its content.
        value: String,
    },
    /// What was included was excluded too, or begins at a higher level.
    #[error("no check is left at level {level}{}", begins.map_or_else(
        || "; leave out an --exclude or a --target".to_owned(),
        |(id, at)| format!(": {id} begins at level {at}; add --level {at}")
    ))]
    NothingChosen {
        /// The level of the run.
        level: u8,
        /// A requested check, and its level.
        begins: Option<(&'static str, u8)>,
    },
    /// The chosen checks are for parts that no library has.
    #[error(
        "none of the chosen checks applies to the available parts ({}); leave out a --target or an --include",
        offered.join(", ")
    )]
    NothingToRun {
        /// The parts of the libraries.
        offered: Vec<String>,
    },
    /// An option for a filter that no library has.
    #[error(
        "no library has anything of filter {id}, for which {option} is given; {}",
        match offered.as_slice() {
            [] => "none has a filter id".to_owned(),
            ids => format!("there are {}", ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
        }
    )]
    NoSuchFilter {
        /// The option, `--params` or `--lossy`.
        option: &'static str,
        /// The id it is given for.
        id: u32,
        /// The ids that are there.
        offered: Vec<u32>,
    },
    /// The program that should run checks does not answer to it.
    #[error(
        "this program does not run checks; call ncz_conform::worker::run_if_asked() first thing in its main"
    )]
    NoWorker,
    /// A worker process cannot be started.
    #[error("a process for a check cannot be started from {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The temporary folder of a run cannot be used.
    #[error("the temporary folder {} cannot be used; TMPDIR names another", path.display())]
    Temporary {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A report cannot be written.
    #[error("the report {} cannot be written", path.display())]
    Report {
        /// The destination.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// An error with its causes.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
