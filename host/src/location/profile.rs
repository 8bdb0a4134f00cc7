//! Sections of the AWS files, as far as they are not left to the SDK.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ncz_registry::known::closest;

use super::Secret;
use super::environment::Environment;

/// The section of one profile.
#[derive(Debug, Default)]
pub(super) struct Profile {
    values: BTreeMap<String, Secret>,
}

impl Profile {
    /// The profile of this name in the usual files; empty if it is in none.
    pub(super) fn usual(name: &str, environment: &dyn Environment) -> Self {
        let folder = environment.home().map(|home| home.join(".aws"));
        let path = |variable: &str, file: &str| {
            environment.variable(variable).map(PathBuf::from).or_else(|| Some(folder.as_ref()?.join(file)))
        };
        let mut values = BTreeMap::new();
        for path in [path("AWS_SHARED_CREDENTIALS_FILE", "credentials"), path("AWS_CONFIG_FILE", "config")] {
            // If it matters, the SDK reports a file that cannot be read.
            if let Some(Ok(Some(text))) = path.map(|path| environment.file(&path))
                && let Some(section) = sections(&text).remove(name)
            {
                values.extend(section);
            }
        }
        Self { values }
    }

    /// The profile of this name in this file.
    pub(super) fn in_file(name: &str, path: &Path, environment: &dyn Environment) -> Result<Self, String> {
        let shown = path.display();
        let text = environment.file(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let text = text.ok_or_else(|| format!("aws.config_file names {shown}, which does not exist"))?;
        let mut sections = sections(&text);
        match sections.remove(name) {
            Some(values) => Ok(Self { values }),
            None => {
                let names: Vec<&str> = sections.keys().map(String::as_str).collect();
                let close = closest(name, names.iter().copied())
                    .map(|close| format!("did you mean {close:?}? "))
                    .unwrap_or_default();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Err(format!("{shown} has no profile {name:?}; {close}there are: {known}"))
            }
        }
    }

    /// A value, if it is there.
    pub(super) fn value(&self, key: &str) -> Option<&Secret> {
        self.values.get(key)
    }
}

/// `[name]` and `[profile name]` with `key = value` below them. Lines that begin with a space belong to a key before.
fn sections(text: &str) -> BTreeMap<String, BTreeMap<String, Secret>> {
    let mut sections: BTreeMap<String, BTreeMap<String, Secret>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.trim();
            let name = name.strip_prefix("profile ").map_or(name, str::trim).trim_matches('"');
            current = Some(sections.entry(name.to_owned()).or_default());
        } else if let (Some(section), Some((key, value))) = (current.as_mut(), line.split_once('=')) {
            section.insert(key.trim().to_ascii_lowercase(), Secret::new(value.trim()));
        }
    }
    sections
}
