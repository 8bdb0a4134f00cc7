//! The codecs of a process, to compare them with those of another one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use ncz_codec::CodecInfo;
use ncz_model::Container;

use ncz_registry::allow_list::{AllowList, Content};
use ncz_registry::{CodecOrigin, Registry, TranslatorOrigin};
use serde::{Deserialize, Serialize};

use super::PartsError;

/// A codec: the same everywhere if it makes the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodecIdentity {
    /// Its HDF5 filter id.
    pub id: Option<u32>,
    /// Its name.
    pub name: String,
    /// The version that it states.
    pub version: Option<String>,
    /// The files that it is in; none if it is built in.
    pub plugins: Vec<PluginIdentity>,
}

/// A file of a plugin, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginIdentity {
    /// The name of the file.
    pub file: String,
    /// Its length and hash.
    #[serde(flatten)]
    pub content: Content,
}

impl PartialOrd for PluginIdentity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PluginIdentity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.file, self.content.sha256).cmp(&(&other.file, other.content.sha256))
    }
}

/// All codecs of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodecSet {
    /// The version of this library, which the built-in codecs are part of.
    pub ncz: String,
    /// Those that are used, by name.
    pub codecs: Vec<CodecIdentity>,
}

impl CodecSet {
    /// The codecs of a registry. Plugins are searched for, and opened.
    ///
    /// # Errors
    /// A file of a plugin cannot be read.
    pub fn of(registry: &Registry) -> Result<Self, PartsError> {
        let mut codecs = Vec::new();
        for codec in &registry.report().codecs {
            let Some(used) = codec.candidates.iter().find(|candidate| candidate.used) else { continue };
            let version = used.version.as_ref().map(ToString::to_string);
            codecs.push(identity((codec.id, codec.name.clone()), version, &used.origin)?);
        }
        codecs.sort();
        Ok(Self { ncz: env!("CARGO_PKG_VERSION").to_owned(), codecs })
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// [`PartsError::Json`].
    pub fn from_json(text: &str) -> Result<Self, PartsError> {
        serde_json::from_str(text).map_err(PartsError::Json)
    }

    /// The JSON form.
    ///
    /// # Errors
    /// [`PartsError::Json`].
    pub fn to_json(&self) -> Result<String, PartsError> {
        serde_json::to_string(self).map_err(PartsError::Json)
    }

    /// In what another process differs, as clauses.
    #[must_use]
    pub fn differences(&self, there: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if self.ncz != there.ncz {
            found.push(format!("ncz is {} and not {}", there.ncz, self.ncz));
        }
        found.extend(differences(&self.codecs, &there.codecs));
        found
    }
}

/// The codecs of the variables that `has` names, on both sides of a copy.
pub(super) fn used(
    source: &dyn Container,
    copy: &dyn Container,
    has: &dyn Fn(&str) -> bool,
) -> Result<Vec<CodecIdentity>, PartsError> {
    let registry = &source.session().registry;
    let mut found: BTreeMap<String, CodecIdentity> = BTreeMap::new();
    for dataset in [source, copy] {
        for variable in dataset.hierarchy().variables().filter(|variable| has(&variable.path)) {
            let chain = dataset.chain(variable)?;
            for (info, _) in chain.each_lossy() {
                if let Entry::Vacant(entry) = found.entry(info.name.to_string()) {
                    entry.insert(of_info(registry, info)?);
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

/// Says in what the codecs of this process differ from those of a plan.
pub(super) fn differences(planned: &[CodecIdentity], here: &[CodecIdentity]) -> Vec<String> {
    let described = |codec: &CodecIdentity| {
        let version = codec.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
        let of = |plugin: &PluginIdentity| format!("{} ({})", plugin.file, plugin.content);
        match codec.plugins.as_slice() {
            [] => format!("built in{version}"),
            plugins => format!("of {}{version}", plugins.iter().map(of).collect::<Vec<_>>().join(" and ")),
        }
    };
    // The libraries of one filter have different names for it.
    let key = |codec: &CodecIdentity| codec.id.map_or_else(|| Err(codec.name.clone()), Ok);
    let find = |codecs: &[CodecIdentity], wanted: &CodecIdentity| {
        codecs.iter().find(|codec| key(codec) == key(wanted)).map(described)
    };
    let mut found = Vec::new();
    for codec in planned {
        let expected = described(codec);
        match find(here, codec) {
            Some(here) if here == expected => {}
            Some(here) => found.push(format!("{} is {here}, expected {expected}", codec.name)),
            None => found.push(format!("{} is not there, expected {expected}", codec.name)),
        }
    }
    for codec in here.iter().filter(|codec| find(planned, codec).is_none()) {
        found.push(format!("{} is {}, expected none", codec.name, described(codec)));
    }
    found
}

fn of_info(registry: &Registry, info: &CodecInfo) -> Result<CodecIdentity, PartsError> {
    let by_id = info.filter_id.and_then(|id| registry.by_id(id).ok());
    let names = info.zarr_v3.iter().chain(info.numcodecs.iter()).chain([&*info.name]);
    let entry = by_id.or_else(|| names.filter_map(|name| registry.by_any_name(name).ok()).next());
    let (id, name) = (info.filter_id, info.name.to_string());
    match entry {
        Some(entry) => identity((id, name), entry.version().map(ToString::to_string), entry.origin()),
        None => Ok(CodecIdentity { id, name, version: None, plugins: Vec::new() }),
    }
}

fn identity(
    (id, name): (Option<u32>, String),
    version: Option<String>,
    origin: &CodecOrigin,
) -> Result<CodecIdentity, PartsError> {
    let mut files: Vec<&Path> = Vec::new();
    if let CodecOrigin::Plugin { path, translator, .. } = origin {
        files.push(path);
        if let Some(TranslatorOrigin::Library(path)) = translator {
            files.push(path);
        }
    }
    let file = |path: &Path| path.file_name().map_or_else(PathBuf::new, PathBuf::from);
    let list = AllowList::of_files(files)?;
    let plugins = list
        .plugins()
        .map(|(path, content)| PluginIdentity { file: file(path).to_string_lossy().into_owned(), content });
    Ok(CodecIdentity { id, name, version, plugins: plugins.collect() })
}
