//! netcdf-c's configuration files: `.ncrc`, `.daprc` and `.dodsrc`.
//!
//! They are read from the user's folder and then from the current one; later values win. `NCRCENV_RC` names another
//! file instead, `NCRCENV_IGNORE` disables them, `NCRCENV_HOME` is another user's folder.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::Secret;
use super::environment::Environment;
use super::url::default_port;

const NAMES: [&str; 3] = [".ncrc", ".daprc", ".dodsrc"];

/// Keys that mean something to netcdf-c and nothing here, or nothing that could be wrong.
const WITHOUT_MEANING: [&str; 12] = [
    "COOKIEFILE",
    "COOKIE_FILE",
    "COOKIEJAR",
    "COOKIE_JAR",
    "DEFLATE",
    "ENCODE",
    "KEEPALIVE",
    "READ.BUFFERSIZE",
    "SSL.CAPATH",
    "SSL.KEYPASSWORD",
    "VERBOSE",
    "ZARR.DIMENSION_SEPARATOR",
];

/// The lines of all files, in the order of reading.
#[derive(Debug, Default)]
pub(super) struct Rc {
    lines: Vec<Line>,
}

/// `[host:port/path]KEY=VALUE`
#[derive(Debug, Clone)]
pub(super) struct Line {
    file: PathBuf,
    number: usize,
    only: Option<Only>,
    /// In capitals, without `HTTP.`.
    pub(super) key: String,
    /// It may be a password.
    pub(super) value: Secret,
}

/// What a line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Only {
    host: String,
    port: Option<u16>,
    path: String,
}

/// The URL that settings are looked up for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    host: String,
    port: u16,
    path: String,
}

impl Asked {
    /// `scheme://host[:port]/path`.
    pub(super) fn of(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(authority);
        Self { host, port: port.unwrap_or_else(|| default_port(scheme)), path: path.to_owned() }
    }

    /// The host's name, without a port.
    #[cfg(feature = "http")]
    pub(super) fn host(&self) -> &str {
        &self.host
    }
}

impl Line {
    /// `FILE:LINE: what`, for messages.
    pub(super) fn wrong(&self, what: impl fmt::Display) -> String {
        format!("{}:{}: {what}", self.file.display(), self.number)
    }

    /// A number of seconds; zero, which means "forever" in netcdf-c, sets no limit.
    pub(super) fn seconds(&self) -> Result<Option<std::time::Duration>, String> {
        match self.value.reveal().parse::<u32>() {
            Ok(0) => Ok(None),
            Ok(seconds) => Ok(Some(std::time::Duration::from_secs(seconds.into()))),
            Err(_) => Err(self.wrong(format_args!("{} is not a whole number of seconds", self.key))),
        }
    }

    /// Logs that a line has no effect.
    pub(super) fn is_ignored(&self) {
        let known = if WITHOUT_MEANING.contains(&self.key.as_str()) { "netcdf-c's" } else { "unknown" };
        tracing::debug!(file = %self.file.display(), line = self.number, key = %self.key, "{known} key is not used");
    }
}

impl Rc {
    /// Reads the files that there are.
    pub(super) fn read(environment: &dyn Environment) -> Result<Self, String> {
        let mut rc = Self::default();
        if environment.variable("NCRCENV_IGNORE").is_some() {
            return Ok(rc);
        }
        if let Some(path) = environment.variable("NCRCENV_RC") {
            if !rc.add(environment, Path::new(&path))? {
                return Err(format!("NCRCENV_RC names {path}, which does not exist"));
            }
            return Ok(rc);
        }
        let home = environment.variable("NCRCENV_HOME").map(PathBuf::from).or_else(|| environment.home());
        for folder in home.into_iter().chain([PathBuf::new()]) {
            for name in NAMES {
                rc.add(environment, &folder.join(name))?;
            }
        }
        Ok(rc)
    }

    /// The lines that hold for a URL: the last of each key, and before it one that names the host.
    pub(super) fn lines(&self, asked: &Asked) -> Vec<&Line> {
        let mut found: BTreeMap<&str, &Line> = BTreeMap::new();
        for line in self.lines.iter().filter(|line| line.only.as_ref().is_none_or(|only| only.covers(asked)))
        {
            let is_better = |before: &&Line| line.only.is_some() || before.only.is_none();
            if found.get(line.key.as_str()).is_none_or(is_better) {
                found.insert(&line.key, line);
            }
        }
        found.into_values().collect()
    }

    fn add(&mut self, environment: &dyn Environment, path: &Path) -> Result<bool, String> {
        let text =
            environment.file(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let Some(text) = text else { return Ok(false) };
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = parse(line).map_err(|what| format!("{}:{number}: {what}", path.display()))?;
            let (only, key, value) = parsed;
            self.lines.push(Line { file: path.to_owned(), number, only, key, value });
        }
        Ok(true)
    }
}

/// Reasons do not quote the line, which may hold a password.
fn parse(line: &str) -> Result<(Option<Only>, String, Secret), &'static str> {
    let (only, rest) = match line.strip_prefix('[') {
        None => (None, line),
        Some(inside) => {
            let (only, rest) = inside.split_once(']').ok_or("the [ has no ]")?;
            (Some(Only::parse(only)), rest)
        }
    };
    let (key, value) = rest.split_once('=').ok_or("this line is not KEY=VALUE")?;
    let key = key.trim().to_ascii_uppercase();
    let key = key.strip_prefix("HTTP.").or_else(|| key.strip_prefix("CURL.")).unwrap_or(&key);
    if key.is_empty() {
        return Err("expected a key before =");
    }
    Ok((only, key.to_owned(), Secret::new(value.trim())))
}

impl Only {
    /// `host`, `host:port`, `host:port/path`, also as a URL.
    fn parse(text: &str) -> Self {
        let text = text.split_once("://").map_or(text, |(_, rest)| rest).trim();
        let (authority, path) = text.split_once('/').unwrap_or((text, ""));
        let (host, port) = host_and_port(authority);
        Self { host, port, path: path.trim_end_matches('/').to_owned() }
    }

    fn covers(&self, asked: &Asked) -> bool {
        let below = match asked.path.strip_prefix(&self.path) {
            Some(rest) => self.path.is_empty() || rest.is_empty() || rest.starts_with('/'),
            None => false,
        };
        below && self.host == asked.host && self.port.is_none_or(|port| port == asked.port)
    }
}

fn host_and_port(authority: &str) -> (String, Option<u16>) {
    let authority = authority.rsplit_once('@').map_or(authority, |(_, authority)| authority);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, port.parse().ok()),
        _ => (authority, None),
    };
    (host.to_ascii_lowercase(), port)
}
