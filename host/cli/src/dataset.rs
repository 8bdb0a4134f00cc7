//! Opening datasets, and finding variables and groups by name.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use ncz::Dataset;
use ncz::location::DatasetUrl;
use ncz::model::{
    Consolidated, Container, Format, Generation, Hierarchy, LossyGuard, Pool, Session, ShuffleReading,
    Variable,
};
use ncz::registry::Registry;

use crate::args::ShuffleSize;
use crate::error::CliError;
use crate::name_pattern::{NamePattern, full_path};
use crate::suggest;

/// Makes a session: the codecs, the threads, and how shuffle is read.
pub(crate) fn session(
    registry: Arc<Registry>,
    threads: Option<u16>,
    shuffle: Option<ShuffleSize>,
) -> Result<Session, CliError> {
    let threads = threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from);
    let mut session = Session::new(registry, Pool::with_threads(threads)?);
    session.shuffle = match shuffle {
        None => ShuffleReading::Refuse,
        Some(ShuffleSize::Type) => ShuffleReading::TypeSize,
        Some(ShuffleSize::Stored) => ShuffleReading::AsStored,
    };
    Ok(session)
}

/// Makes the session of a command that writes: lossy codecs must keep missing values missing, unless the user opts out.
pub(crate) fn writing_session(
    registry: Arc<Registry>,
    threads: Option<u16>,
    shuffle: Option<ShuffleSize>,
    no_lossy_guard: bool,
) -> Result<Session, CliError> {
    let lossy_guard = if no_lossy_guard { LossyGuard::Off } else { LossyGuard::On };
    session(registry, threads, shuffle).map(|session| Session { lossy_guard, ..session })
}

/// Opens a dataset for reading.
pub(crate) fn open(url: &DatasetUrl, session: Session) -> Result<Dataset, CliError> {
    Ok(url.open(session)?)
}

/// Returns the paths of all variables, also of those that cannot be read.
pub(crate) fn variable_paths(hierarchy: &Hierarchy) -> Vec<&str> {
    let readable = hierarchy.variables().map(|variable| variable.path.as_str());
    readable.chain(hierarchy.unreadable().map(|lost| lost.path.as_str())).collect()
}

/// Returns the paths of the variables that names and patterns in an option mean.
///
/// # Errors
/// A name or pattern means no variable.
pub(crate) fn variables_meant<'a>(
    names: impl IntoIterator<Item = &'a str>,
    hierarchy: &Hierarchy,
    url: &DatasetUrl,
) -> Result<BTreeSet<String>, CliError> {
    let known = variable_paths(hierarchy);
    let mut paths = BTreeSet::new();
    for name in names {
        let meant = NamePattern::parse(name).select(known.iter().copied());
        if meant.is_empty() {
            return Err(unknown_variable(url, hierarchy, name, ""));
        }
        paths.extend(meant.into_iter().map(str::to_owned));
    }
    Ok(paths)
}

/// Returns the error of a variable name that the dataset does not have.
pub(crate) fn unknown_variable(url: &DatasetUrl, hierarchy: &Hierarchy, name: &str, hint: &str) -> CliError {
    let paths = variable_paths(hierarchy);
    CliError::UnknownVariable {
        name: name.to_owned(),
        dataset: url.location.to_string(),
        known: format!("{}{hint}", suggest::known(&full_path(name), paths)),
    }
}

/// Returns the format of a dataset in words.
pub(crate) fn format_words(format: Format) -> &'static str {
    match format {
        Format::Zarr2 => "Zarr version 2",
        Format::Nczarr(Generation::Attributes) => "NCZarr 2, keys in attributes (netcdf-c 4.9.3 and later)",
        Format::Nczarr(Generation::LowerCase) => "NCZarr 2, lower-case keys (netcdf-c 4.9.1, 4.9.2)",
        Format::Nczarr(Generation::UpperCase) => "NCZarr 2, upper-case keys (netcdf-c 4.8.1, 4.9.0)",
        Format::Nczarr(Generation::Objects) => "NCZarr 1, keys in separate objects (netcdf-c 4.8.0)",
        Format::Zarr3 => "Zarr version 3",
        Format::Nczarr3 => "NCZarr 3, the draft over Zarr version 3 (experimental)",
        Format::Netcdf(kind) => kind.name(),
    }
}

/// Returns the state of consolidated metadata in words.
pub(crate) fn consolidated_words(state: Consolidated) -> &'static str {
    match state {
        Consolidated::Absent => "none",
        Consolidated::Current => "up to date",
        Consolidated::Stale => "stale: other readers can miss data; a copy has new ones",
        Consolidated::Unread => "could not be read, so it is unknown whether they are up to date",
        Consolidated::Only => "the only metadata that were read",
    }
}

/// Returns the variables that a name means to ncdump. A name without a group matches in every group, a relative path
/// matches the end of a path, and a path that starts with `/` matches only itself.
pub(crate) fn variables_named<'a>(
    dataset: &'a dyn Container,
    name: &'a str,
) -> impl Iterator<Item = &'a Variable> {
    dataset.hierarchy().variables().filter(move |variable| {
        variable.path.strip_suffix(name).is_some_and(|rest| match name.starts_with('/') {
            true => rest.is_empty(),
            false => rest.ends_with('/'),
        })
    })
}

/// Returns the paths of the groups that a name means, by the same rules.
pub(crate) fn groups_named<'a>(dataset: &'a dyn Container, name: &'a str) -> impl Iterator<Item = &'a str> {
    let groups = dataset.hierarchy().groups().map(|group| group.path.as_str());
    groups.filter(move |path| match name {
        "" | "/" => *path == "/",
        _ => path.strip_suffix(name).is_some_and(|rest| match name.starts_with('/') {
            true => rest.is_empty(),
            false => rest.ends_with('/'),
        }),
    })
}
