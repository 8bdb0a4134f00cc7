//! What a scan found, as plain values: for each folder and file the verdict and its reason.

mod answers;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ncz_codec::Dialect;
use serde_json::{Map, Value, json};

use crate::discover::FolderState;
use crate::entry::{CodecOrigin, Face};
use crate::known;
use crate::load::Bound;
use crate::search_path::{Folder, SwitchedOff};
use crate::spec::NUMCODECS_PREFIX;
use crate::symbols::{Asks, Needed};
use crate::trust::TrustNote;

/// The version of the JSON form of [`Report`] and of [`Why`](crate::why::Why). It changes when a key
/// changes its meaning or goes; keys may be added without.
pub const SCHEMA: u32 = 1;

/// Everything that a search for plugins found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Whether libraries were opened. If not, what they hold is told by their symbols alone.
    pub loaded: bool,
    /// Set when plugins are switched off.
    pub switched_off: Option<SwitchedOff>,
    /// Remarks about the search path and about choices that may surprise.
    pub notes: Vec<String>,
    /// The folders in the order of the search.
    pub folders: Vec<FolderReport>,
    /// The codecs: by HDF5 id, then those without one by name.
    pub codecs: Vec<CodecReport>,
    /// Names that two codecs want.
    pub conflicts: Vec<ConflictReport>,
}

/// One place of the search path.
#[derive(Debug, Clone)]
pub struct FolderReport {
    /// The folder and who named it.
    pub folder: Folder,
    /// What stands there.
    pub state: FolderState,
    /// Who else may change it.
    pub trust: Vec<TrustNote>,
    /// Its entries, sorted bytewise by name.
    pub files: Vec<FileReport>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// At least one of its codecs is used.
    Loaded,
    /// Everything it offers is taken from elsewhere.
    Shadowed,
    /// A half is missing, here and everywhere else.
    Incomplete,
    /// It is no plugin.
    Ignored,
    /// It is, or claims to be, a plugin that cannot be used.
    Refused,
    /// Its symbols make it a plugin; it was not opened.
    Candidate,
}

/// One entry of a folder.
#[derive(Debug, Clone)]
pub struct FileReport {
    /// The path, as it was found.
    pub path: PathBuf,
    /// Where a symbolic link leads.
    pub link_target: Option<PathBuf>,
    /// The length in bytes.
    pub size: u64,
    /// What became of it.
    pub verdict: Verdict,
    /// Why; empty where the verdict says it all.
    pub reason: String,
    /// The plugin names that it exports.
    pub exports: Vec<&'static str>,
    /// The face by which it is used.
    pub face: Option<Face>,
    /// What it offers.
    pub offers: Vec<OfferReport>,
    /// The libraries that it needs.
    pub needed: Vec<Needed>,
    /// The functions and variables of libhdf5 that it expects from elsewhere.
    pub undefined_h5: Vec<String>,
    /// How it comes by the functions of libhdf5 and libnetcdf.
    pub asks: Asks,
    /// Those of `undefined_h5` that nobody offers.
    pub unanswered: Vec<String>,
    /// Who answers what it asks of libhdf5 or libnetcdf, once it is open.
    pub bound: Option<Bound>,
    /// Who else may change it.
    pub trust: Vec<TrustNote>,
    /// Whether it runs in worker processes.
    pub isolated: bool,
    /// How long opening took.
    pub load_time: Option<Duration>,
    /// Further remarks, such as parts that were refused.
    pub notes: Vec<String>,
}

/// One codec, or half of one, that a file offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferReport {
    /// `native`, `HDF5`, `NCZarr` or `NCZarr default`.
    pub part: &'static str,
    /// The HDF5 filter id.
    pub id: Option<u32>,
    /// What it calls itself.
    pub name: String,
    /// What became of it, as a fragment: `used`, `shadowed by /a/libx.so`.
    pub state: String,
}

/// One codec with everything that offers it.
#[derive(Debug, Clone)]
pub struct CodecReport {
    /// The HDF5 filter id.
    pub id: Option<u32>,
    /// The name for people.
    pub name: String,
    /// The names in numcodecs and NCZarr JSON by which the one in use is reached.
    pub numcodecs: Vec<String>,
    /// The names in Zarr v3.
    pub zarr_v3: Vec<String>,
    /// Whether the one in use may give other values back than it got; `None`: not known, or none is in use.
    pub lossy: Option<bool>,
    /// All candidates, in the order of preference.
    pub candidates: Vec<CandidateReport>,
}

/// One way to get a codec.
#[derive(Debug, Clone)]
pub struct CandidateReport {
    /// Where it comes from.
    pub origin: CodecOrigin,
    /// Whether it is the one in use.
    pub used: bool,
    /// What became of it, as a fragment.
    pub state: String,
}

/// A name that two codecs want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictReport {
    /// The dialect.
    pub dialect: Dialect,
    /// The name.
    pub name: String,
    /// Where the name leads.
    pub holder: String,
    /// Who cannot be reached by it.
    pub loser: String,
}

impl Report {
    /// All files of all folders, in the order of the search.
    pub fn files(&self) -> impl Iterator<Item = &FileReport> {
        self.folders.iter().flat_map(|folder| &folder.files)
    }

    /// The report as JSON, with [`SCHEMA`] under `schema`.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "loaded": self.loaded,
            "switched_off": self.switched_off.map(|why| why.to_string()),
            "notes": self.notes,
            "folders": self.folders.iter().map(FolderReport::to_json).collect::<Vec<_>>(),
            "codecs": self.codecs.iter().map(CodecReport::to_json).collect::<Vec<_>>(),
            "conflicts": self.conflicts.iter().map(ConflictReport::to_json).collect::<Vec<_>>(),
        })
    }
}

impl FolderReport {
    fn to_json(&self) -> Value {
        json!({
            "path": text(&self.folder.path),
            "origin": self.folder.origin.word(),
            "state": self.state.to_string(),
            "searched": self.state == FolderState::Searched,
            "trust": self.trust.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "files": self.files.iter().map(FileReport::to_json).collect::<Vec<_>>(),
        })
    }
}

impl FileReport {
    fn to_json(&self) -> Value {
        let offer = |offer: &OfferReport| json!({"part": offer.part, "id": offer.id, "name": offer.name, "state": offer.state});
        let needed =
            |needed: &Needed| json!({"name": needed.name, "found": needed.found.as_deref().map(text)});
        json!({
            "path": text(&self.path),
            "link_target": self.link_target.as_deref().map(text),
            "size": self.size,
            "verdict": self.verdict.word(),
            "reason": self.reason,
            "exports": self.exports,
            "face": self.face.map(|face| face.to_string()),
            "offers": self.offers.iter().map(offer).collect::<Vec<_>>(),
            "needed": self.needed.iter().map(needed).collect::<Vec<_>>(),
            "undefined_h5": self.undefined_h5,
            "asks": self.asks.word(),
            "unanswered": self.unanswered,
            "bound": self.bound.as_ref().map(ToString::to_string),
            "answers": self.answers(),
            "trust": self.trust.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "isolated": self.isolated,
            "load_ms": self.load_time.map(|time| time.as_secs_f64() * 1e3),
            "notes": self.notes,
        })
    }
}

impl CodecReport {
    /// Whether somebody who says `query` means it: its number, one of its names, or what The HDF Group's list calls
    /// the filter.
    pub fn is_called(&self, query: &str) -> bool {
        if let Ok(id) = query.parse::<u32>() {
            return self.id == Some(id);
        }
        let named = |names: &[String]| names.iter().any(|name| name == query);
        // As Zarr v3 spells a codec that has only an id of numcodecs.
        let lent = || self.numcodecs.iter().any(|id| query.strip_prefix(NUMCODECS_PREFIX) == Some(id));
        let listed = || known::by_name(query).is_some_and(|filter| self.id == Some(filter.id));
        self.name.eq_ignore_ascii_case(query)
            || named(&self.numcodecs)
            || named(&self.zarr_v3)
            || lent()
            || listed()
    }

    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "numcodecs": self.numcodecs,
            "zarr_v3": self.zarr_v3,
            "lossy": self.lossy,
            "candidates": self.candidates.iter().map(CandidateReport::to_json).collect::<Vec<_>>(),
        })
    }
}

impl CandidateReport {
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        match &self.origin {
            CodecOrigin::Builtin => {
                object.insert("origin".into(), "built-in".into());
            }
            CodecOrigin::Plugin { path, face, codec_half, isolated } => {
                object.insert("origin".into(), "plugin".into());
                object.insert("path".into(), text(path).into());
                object.insert("face".into(), face.to_string().into());
                object.insert("codec_half".into(), codec_half.as_ref().map(ToString::to_string).into());
                object.insert("isolated".into(), (*isolated).into());
            }
        }
        object.insert("used".into(), self.used.into());
        object.insert("state".into(), self.state.clone().into());
        Value::Object(object)
    }
}

impl ConflictReport {
    fn to_json(&self) -> Value {
        json!({
            "dialect": self.dialect.to_string(),
            "name": self.name,
            "holder": self.holder,
            "loser": self.loser,
        })
    }
}

impl Verdict {
    /// The word for it in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Shadowed => "shadowed",
            Self::Incomplete => "incomplete",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
            Self::Candidate => "candidate",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A path as text; bytes that are no UTF-8 are replaced.
fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file of which nothing is known.
    pub(crate) fn file(path: &str) -> FileReport {
        FileReport {
            path: path.into(),
            link_target: None,
            size: 0,
            verdict: Verdict::Candidate,
            reason: String::new(),
            exports: Vec::new(),
            face: None,
            offers: Vec::new(),
            needed: Vec::new(),
            undefined_h5: Vec::new(),
            asks: Asks::Nothing,
            unanswered: Vec::new(),
            bound: None,
            isolated: false,
            trust: Vec::new(),
            load_time: None,
            notes: Vec::new(),
        }
    }
}
