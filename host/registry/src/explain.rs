//! Explains why an id, a codec name or a file is used or not, for people.

use std::fmt;
use std::path::Path;

use ncz_codec::Dialect;
use serde::Serialize;
use serde_json::Value;

use crate::error::Wanted;
use crate::known::{self, InstallPrefixes, UnsearchedLibrary};
use crate::not_found::near_misses;
use crate::report::{self, CodecReport, FileReport, Report, Verdict};
use crate::search_path::{PATH_VARIABLE, SearchPath};

/// The answer to "why is this codec, or this file, used or not?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The subject of the question.
    pub query: String,
    /// Whether it is in use.
    pub found: bool,
    /// The story, a sentence or list item a line; details are indented by two blanks.
    pub lines: Vec<String>,
    /// Folders that are not searched but contain a library that seems to match.
    pub elsewhere: Vec<UnsearchedLibrary>,
}

impl Explanation {
    /// The answer as JSON, with [`SCHEMA`](report::SCHEMA) under `schema`.
    pub fn to_json(&self) -> Value {
        report::json(self)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Answers `query` from a report.
pub(crate) fn explain(report: &Report, path: &SearchPath, query: &str) -> Explanation {
    let mut why =
        Explanation { query: query.to_owned(), found: false, lines: Vec::new(), elsewhere: Vec::new() };
    let files: Vec<&FileReport> = report.files().filter(|file| is_file(file, query)).collect();
    if !files.is_empty() {
        files.iter().for_each(|file| explain_file(file, &mut why));
        return why;
    }
    let id = query.parse::<u32>().ok();
    let codecs: Vec<&CodecReport> = report.codecs.iter().filter(|codec| codec.is_called(query)).collect();
    codecs.iter().for_each(|codec| explain_codec(codec, report, &mut why));
    let looks_like_a_path = query.contains(std::path::MAIN_SEPARATOR) || query.contains(".so");
    if !why.found && looks_like_a_path && codecs.is_empty() {
        explain_unsearched(query, path, &mut why);
    } else if !why.found {
        explain_missing(query, id, codecs.is_empty(), report, &mut why);
    }
    why
}

fn is_file(file: &FileReport, query: &str) -> bool {
    let asked = Path::new(query);
    file.path == asked
        || file.path.file_name() == Some(asked.as_os_str())
        || (query.contains(std::path::MAIN_SEPARATOR)
            && asked
                .canonicalize()
                .is_ok_and(|asked| file.path.canonicalize().is_ok_and(|path| path == asked)))
}

fn explain_file(file: &FileReport, why: &mut Explanation) {
    why.found |= file.verdict == Verdict::Loaded;
    let reason = if file.reason.is_empty() { String::new() } else { format!(": {}", file.reason) };
    why.lines.push(format!("{} is {}{reason}", file.path.display(), file.verdict));
    if let Some(target) = &file.link_target {
        why.lines.push(format!("  a link to {}", target.display()));
    }
    if !file.exports.is_empty() {
        why.lines.push(format!("  exports {}", file.exports.join(", ")));
    }
    if let Some(face) = file.face {
        why.lines.push(format!("  face: {face}"));
    }
    why.lines.extend(file.versions().map(|versions| format!("  {versions}")));
    if file.isolated {
        why.lines.push("  runs in worker processes".to_owned());
    }
    for offer in &file.offers {
        let id = offer.id.map_or_else(String::new, |id| format!(" (HDF5 id {id})"));
        why.lines.push(format!("  {} face of {}{id}: {}", offer.part, offer.name, offer.state));
    }
    let missing: Vec<_> = file.dependencies.missing().collect();
    if !missing.is_empty() {
        why.lines.push(format!("  needs libraries that the loader will not find: {}", missing.join(", ")));
    }
    if let Some(answers) = file.dependencies.describe_hdf5_provider() {
        why.lines.push(format!("  libhdf5: {answers}"));
    }
    why.lines.extend(file.trust.iter().map(|note| format!("  note: {note}")));
    why.lines.extend(file.notes.iter().map(|note| format!("  note: {note}")));
}

fn explain_codec(codec: &CodecReport, report: &Report, why: &mut Explanation) {
    let id = codec.id.map_or_else(|| "no HDF5 id".to_owned(), |id| format!("HDF5 filter {id}"));
    match codec.candidates.iter().find(|candidate| candidate.used) {
        Some(used) => {
            why.found = true;
            why.lines.push(format!("{} ({id}) comes from: {}", codec.name, used.origin));
            if used.state != "used" {
                why.lines.push(format!("  {}", used.state));
            }
            why.lines.extend(used.version.as_ref().map(|version| format!("  version {version}")));
        }
        None => why.lines.push(format!("{} ({id}) cannot be used", codec.name)),
    }
    for (dialect, names) in [(Dialect::Numcodecs, &codec.numcodecs), (Dialect::ZarrV3, &codec.zarr_v3)] {
        if !names.is_empty() {
            why.lines.push(format!("  {dialect}: {}", names.join(", ")));
        }
    }
    for other in codec.candidates.iter().filter(|candidate| !candidate.used) {
        why.lines.push(format!("  also: {}: {}", other.origin, other.state));
    }
    for conflict in report
        .conflicts
        .iter()
        .filter(|conflict| codec.numcodecs.contains(&conflict.name) || codec.zarr_v3.contains(&conflict.name))
    {
        why.lines.push(format!(
            "  the {} name {:?} means {}, not {}",
            conflict.dialect, conflict.name, conflict.holder, conflict.loser
        ));
    }
}

/// A file that is not on the search path.
fn explain_unsearched(query: &str, path: &SearchPath, why: &mut Explanation) {
    let asked = Path::new(query);
    why.lines.push(if asked.exists() {
        format!("{query} is not in a folder that is searched")
    } else {
        format!("{query} does not exist, and no folder that is searched has a file of that name")
    });
    explain_path(path, why);
    if let (true, Some(folder)) = (asked.is_file(), asked.parent()) {
        match crate::symbols::inspect(asked, &mut crate::symbols::LibraryFinder::system()) {
            Ok(symbols) => {
                why.lines.push(format!(
                    "it exports {}; to use it: {PATH_VARIABLE}={}",
                    symbols.exports.names().join(", "),
                    folder.display()
                ));
                why.elsewhere.push(UnsearchedLibrary { folder: folder.to_owned(), file: asked.to_owned() });
            }
            Err(error) => why.lines.push(format!("it would not be used in any case: {error}")),
        }
    }
}

fn explain_path(path: &SearchPath, why: &mut Explanation) {
    if let Some(off) = path.switched_off {
        why.lines.push(off.to_string());
    } else if path.folders.is_empty() {
        why.lines.push("no folder is searched".into());
    } else {
        let folders: Vec<_> = path.folders.iter().map(|folder| folder.path.display().to_string()).collect();
        why.lines.push(format!("searched: {}", folders.join(", ")));
    }
}

/// A codec that no library offers, or of which one part is missing.
fn explain_missing(query: &str, id: Option<u32>, unknown: bool, report: &Report, why: &mut Explanation) {
    let (wanted, filter) = match id {
        Some(id) => (Wanted::Id(id), known::by_id(id)),
        None => (Wanted::Name(Dialect::Numcodecs, query.to_owned()), known::by_name(query)),
    };
    if unknown {
        let name = filter.map_or_else(String::new, |filter| format!(" ({})", filter.name));
        let what = id.map_or_else(|| format!("{query:?}"), |id| format!("HDF5 filter {id}"));
        why.lines.push(format!("no codec found for {what}{name}"));
    }
    if let Some(off) = report.switched_off {
        why.lines.push(off.to_string());
    }
    for folder in &report.folders {
        let plugins = folder.files.iter().filter(|file| !file.exports.is_empty()).count();
        let state = match &folder.state {
            crate::discover::FolderState::Searched => {
                let count = |number: usize, what: &str| {
                    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
                };
                format!("searched, {} in {}", count(plugins, "plugin"), count(folder.files.len(), "file"))
            }
            other => other.to_string(),
        };
        why.lines.push(format!("  {}: {state}", folder.folder.path.display()));
    }
    for near in near_misses(&wanted, filter, report) {
        why.lines.push(match near.path {
            Some(path) => format!("  {}: {}", path.display(), near.reason),
            None => format!("  {}", near.reason),
        });
    }
    if let Some(twin) = known::twin(query) {
        let (name, id) = (twin.name, twin.id);
        why.lines
            .push(format!("  HDF5's {name}, filter {id}, is another format; see `ncz plugins why {id}`"));
    }
    let Some(filter) = filter else { return };
    why.elsewhere = InstallPrefixes::capture().serving(filter);
    let searched = |place: &UnsearchedLibrary| report.folders.iter().any(|f| f.folder.path == place.folder);
    why.elsewhere.retain(|place| !searched(place));
    for place in &why.elsewhere {
        why.lines.push(format!(
            "{} has it, but its folder is not searched; to use it: {PATH_VARIABLE}={}",
            place.file.display(),
            place.folder.display()
        ));
    }
    if let (true, Some(packages)) = (why.elsewhere.is_empty(), filter.packages()) {
        why.lines.push(format!("{packages} brings it"));
    }
}
