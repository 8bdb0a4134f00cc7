//! The result of a scan as plain values: for each folder and file the verdict and its reason.

mod dependencies;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ncz_codec::Dialect;
use semver::Version;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::discover::FolderState;
use crate::entry::{CodecOrigin, Face};
use crate::search_path::{Folder, SwitchedOff};
use crate::spec::NUMCODECS_PREFIX;
use crate::trust::TrustNote;
use crate::{json_text, known};
pub use dependencies::Dependencies;

/// The version of the JSON form of [`Report`] and of [`Explanation`](crate::explain::Explanation). It changes when a
/// key changes its meaning or is removed; keys can be added without a change.
pub const SCHEMA: u32 = 1;

/// Everything that a search for plugins found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Whether libraries were opened. If not, only their symbol tables were read.
    pub loaded: bool,
    /// Set when plugins are switched off.
    #[serde(serialize_with = "json_text::option")]
    pub switched_off: Option<SwitchedOff>,
    /// Remarks about the search path and about choices that may surprise.
    pub notes: Vec<String>,
    /// The folders in the order of the search.
    pub folders: Vec<FolderReport>,
    /// The codecs: by HDF5 id, then those without one by name.
    pub codecs: Vec<CodecReport>,
    /// Names that two codecs claim.
    pub conflicts: Vec<ConflictReport>,
}

/// One folder of the search path.
#[derive(Debug, Clone, Serialize)]
pub struct FolderReport {
    /// The folder and its source.
    #[serde(flatten)]
    pub folder: Folder,
    /// The state of the folder.
    #[serde(flatten)]
    pub state: FolderState,
    /// Who else can change it.
    #[serde(serialize_with = "json_text::list")]
    pub trust: Vec<TrustNote>,
    /// Its entries, sorted bytewise by name.
    pub files: Vec<FileReport>,
}

/// The verdict on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verdict {
    /// At least one of its codecs is used.
    Loaded,
    /// Everything it offers is provided by another library.
    Shadowed,
    /// A part is missing, here and everywhere else.
    Incomplete,
    /// It is not a plugin.
    Ignored,
    /// It is, or claims to be, a plugin that cannot be used.
    Refused,
    /// Its symbols make it a plugin; it was not opened.
    Candidate,
}

/// One entry of a folder.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// The path, as it was found.
    #[serde(serialize_with = "json_text::path")]
    pub path: PathBuf,
    /// The target of a symbolic link.
    #[serde(serialize_with = "json_text::option_path")]
    pub link_target: Option<PathBuf>,
    /// The length in bytes.
    pub size: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason; empty if the verdict is sufficient.
    pub reason: String,
    /// The plugin names that it exports.
    pub exports: Vec<&'static str>,
    /// The face by which it is used.
    #[serde(serialize_with = "json_text::option")]
    pub face: Option<Face>,
    /// Its offers.
    pub offers: Vec<OfferReport>,
    /// Its dependencies.
    #[serde(flatten)]
    pub dependencies: Dependencies,
    /// Who else can change it.
    #[serde(serialize_with = "json_text::list")]
    pub trust: Vec<TrustNote>,
    /// Whether it runs in worker processes.
    pub isolated: bool,
    /// The time to open it.
    #[serde(rename = "load_ms", serialize_with = "milliseconds")]
    pub load_time: Option<Duration>,
    /// Further remarks, such as parts that were refused.
    pub notes: Vec<String>,
    /// The version that it states by its native face.
    #[serde(serialize_with = "json_text::option")]
    pub version: Option<Version>,
    /// The version of the codec interface that its native face was built for.
    #[serde(serialize_with = "json_text::option")]
    pub interface: Option<Version>,
}

/// One codec, or part of one, that a file offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfferReport {
    /// `native`, `HDF5`, `NCZarr` or `NCZarr default`.
    pub part: &'static str,
    /// The HDF5 filter id.
    pub id: Option<u32>,
    /// The name that it states.
    pub name: String,
    /// Its state, as a fragment: `used`, `shadowed by /a/libx.so`.
    pub state: String,
}

/// One codec with everything that offers it.
#[derive(Debug, Clone, Serialize)]
pub struct CodecReport {
    /// The HDF5 filter id.
    pub id: Option<u32>,
    /// The name for people.
    pub name: String,
    /// The names in numcodecs and NCZarr JSON by which the one in use is reached.
    pub numcodecs: Vec<String>,
    /// The names in Zarr v3.
    pub zarr_v3: Vec<String>,
    /// Whether the one in use can change values; `None` if unknown, or if none is in use.
    pub lossy: Option<bool>,
    /// All candidates, in the order of preference.
    pub candidates: Vec<CandidateReport>,
}

/// One way to get a codec.
#[derive(Debug, Clone, Serialize)]
pub struct CandidateReport {
    /// The origin.
    #[serde(flatten)]
    pub origin: CodecOrigin,
    /// Whether it is the one in use.
    pub used: bool,
    /// Its state, as a fragment.
    pub state: String,
    /// The version that it states.
    #[serde(serialize_with = "json_text::option")]
    pub version: Option<Version>,
}

/// A name that two codecs claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConflictReport {
    /// The dialect.
    #[serde(serialize_with = "json_text::text")]
    pub dialect: Dialect,
    /// The name.
    pub name: String,
    /// The codec that has the name.
    pub holder: String,
    /// The codec that it does not reach.
    pub loser: String,
}

impl Report {
    /// All files of all folders, in the order of the search.
    pub fn files(&self) -> impl Iterator<Item = &FileReport> {
        self.folders.iter().flat_map(|folder| &folder.files)
    }

    /// The report as JSON, with [`SCHEMA`] under `schema`.
    pub fn to_json(&self) -> Value {
        json(self)
    }
}

impl FileReport {
    /// The versions that it states, as a fragment: `version 0.1.0, for interface 1.1.0`.
    pub fn versions(&self) -> Option<String> {
        let interface = self.interface.as_ref()?;
        Some(match &self.version {
            Some(version) => format!("version {version}, for interface {interface}"),
            None => format!("no version, for interface {interface}"),
        })
    }
}

/// A report as JSON, with [`SCHEMA`] under `schema`.
pub(crate) fn json(report: &impl Serialize) -> Value {
    #[derive(Serialize)]
    struct Document<'a, T> {
        schema: u32,
        #[serde(flatten)]
        report: &'a T,
    }

    // It fails only for maps whose keys are not texts, and reports have none.
    serde_json::to_value(Document { schema: SCHEMA, report }).unwrap_or_default()
}

impl CodecReport {
    /// Tests whether `query` matches: its number, one of its names, or the filter's name in The HDF Group's
    /// list.
    pub fn is_called(&self, query: &str) -> bool {
        if let Ok(id) = query.parse::<u32>() {
            return self.id == Some(id);
        }
        let named = |names: &[String]| names.iter().any(|name| name == query);
        // The Zarr v3 form of a codec that has only a numcodecs id.
        let lent = || self.numcodecs.iter().any(|id| query.strip_prefix(NUMCODECS_PREFIX) == Some(id));
        let listed = || known::by_name(query).is_some_and(|filter| self.id == Some(filter.id));
        self.name.eq_ignore_ascii_case(query)
            || named(&self.numcodecs)
            || named(&self.zarr_v3)
            || lent()
            || listed()
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

fn milliseconds<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64() * 1e3).serialize(to)
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::entry::TranslatorOrigin;
    use crate::search_path::Origin;

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
            dependencies: Dependencies::default(),
            isolated: false,
            trust: Vec::new(),
            load_time: None,
            notes: Vec::new(),
            version: None,
            interface: None,
        }
    }

    #[test]
    fn the_json_of_a_report_has_these_keys_in_this_order() {
        let plugin = CandidateReport {
            origin: CodecOrigin::Plugin {
                path: "/p/liba.so".into(),
                face: Face::Hdf5AndNczarr,
                translator: Some(TranslatorOrigin::Builtin),
                isolated: false,
            },
            used: true,
            state: "used".into(),
            version: None,
        };
        let builtin = CandidateReport {
            origin: CodecOrigin::Builtin,
            used: false,
            state: "shadowed by x".into(),
            version: Some(Version::new(0, 1, 0)),
        };
        let file = FileReport {
            face: Some(Face::Native),
            offers: vec![OfferReport { part: "native", id: None, name: "a".into(), state: "used".into() }],
            load_time: Some(Duration::from_micros(1500)),
            version: Some(Version::new(1, 2, 3)),
            interface: Some(Version::new(1, 1, 0)),
            ..file("/p/liba.so")
        };
        let report = Report {
            loaded: true,
            switched_off: None,
            notes: vec!["a note".into()],
            folders: vec![FolderReport {
                folder: Folder { path: "/p".into(), origin: Origin::Environment },
                state: FolderState::Searched,
                trust: Vec::new(),
                files: vec![file],
            }],
            codecs: vec![CodecReport {
                id: Some(307),
                name: "bzip2".into(),
                numcodecs: vec!["bz2".into()],
                zarr_v3: Vec::new(),
                lossy: Some(false),
                candidates: vec![plugin, builtin],
            }],
            conflicts: vec![ConflictReport {
                dialect: Dialect::ZarrV3,
                name: "x".into(),
                holder: "a".into(),
                loser: "b".into(),
            }],
        };
        let file = concat!(
            r#"{"path":"/p/liba.so","link_target":null,"size":0,"verdict":"candidate","reason":"","exports":[],"#,
            r#""face":"native","offers":[{"part":"native","id":null,"name":"a","state":"used"}],"needed":[],"#,
            r#""undefined_h5":[],"asks":"nothing","unanswered":[],"bound":null,"answers":null,"trust":[],"#,
            r#""isolated":false,"load_ms":1.5,"notes":[],"version":"1.2.3","interface":"1.1.0"}"#
        );
        let folder = format!(
            r#"{{"path":"/p","origin":"environment","state":"searched","searched":true,"trust":[],"files":[{file}]}}"#
        );
        let codec = concat!(
            r#"{"id":307,"name":"bzip2","numcodecs":["bz2"],"zarr_v3":[],"lossy":false,"candidates":["#,
            r#"{"origin":"plugin","path":"/p/liba.so","face":"HDF5+NCZarr","nczarr_codec":"built-in","#,
            r#""isolated":false,"used":true,"state":"used","version":null},"#,
            r#"{"origin":"built-in","used":false,"state":"shadowed by x","version":"0.1.0"}]}"#
        );
        let expected = format!(
            r#"{{"schema":1,"loaded":true,"switched_off":null,"notes":["a note"],"folders":[{folder}],"codecs":[{codec}],"conflicts":[{{"dialect":"Zarr v3","name":"x","holder":"a","loser":"b"}}]}}"#
        );
        assert_eq!(report.to_json().to_string(), expected);
    }
}
