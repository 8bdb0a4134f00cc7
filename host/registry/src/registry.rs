//! The registry: every available codec, built in or on the search path, as one value.

mod inspect;
mod loader;
mod scan;
mod system_loader;
mod test_open;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ncz_codec::{Builtin, CodecType, Dialect};

use crate::allow_list::{self, AllowList, AllowListError};
pub use crate::entry::{CodecOrigin, Entry, Face, Other, TranslatorOrigin};
use crate::error::{NotFound, Wanted};
use crate::explain::Explanation;
use crate::isolate::{Isolation, Which};
use crate::known;
use crate::pair::Prefer;
use crate::report::{Report, Verdict};
use crate::requirement::Requirement;
use crate::search_path::{Environment, PathRequest, SearchPath};
use crate::trace;
use crate::trust::Trust;
use inspect::{InspectedFolder, Rules, inspect_all};
use scan::Scan;
use system_loader::SystemLoader;
use test_open::TestOpen;

/// Finds codecs by number or name, and reports their origin.
///
/// It is a value: make one, share it in an [`Arc`]. The path is searched once, at the first request of
/// a codec that is not built in (or at once with an explicit path or [`Prefer::Plugins`], which may replace built-ins).
///
/// ```
/// use ncz_registry::registry::Registry;
///
/// let registry = Registry::builder().no_plugins(true).build();
/// let error = registry.by_id(40_000).unwrap_err();
/// assert!(error.to_string().contains("no codec for HDF5 filter 40000"));
/// ```
#[derive(Debug)]
pub struct Registry {
    environment: Environment,
    path: SearchPath,
    prefer: Prefer,
    trust: Trust,
    allow_list_file: Option<PathBuf>,
    allow_list: Option<Result<AllowList, AllowListError>>,
    isolation: Isolation,
    test_open: bool,
    registered: Vec<Arc<dyn CodecType>>,
    builtins: Vec<Builtin>,
    requirements: Vec<Requirement>,
    translators: bool,
    /// Whether a built-in may be handed out before anything is searched.
    builtins_first: bool,
    /// The codecs of the program, without plugins.
    own: Scan,
    /// The contents of the search path.
    inspected: OnceLock<Vec<InspectedFolder>>,
    scan: OnceLock<Scan>,
    not_loaded: OnceLock<Report>,
}

/// The settings of a [`Registry`].
#[derive(Debug, Clone)]
pub struct Builder {
    environment: Option<Environment>,
    request: PathRequest,
    prefer: Prefer,
    trust: Trust,
    allow_list: Option<PathBuf>,
    isolation: Isolation,
    test_open: bool,
    registered: Vec<Arc<dyn CodecType>>,
    builtins: bool,
    requirements: Vec<Requirement>,
}

impl Registry {
    /// Starts with the search path of the environment and the codecs that are linked in.
    pub fn builder() -> Builder {
        Builder {
            environment: None,
            request: PathRequest::default(),
            prefer: Prefer::default(),
            trust: Trust::default(),
            allow_list: None,
            isolation: Isolation::NONE,
            test_open: true,
            registered: Vec::new(),
            builtins: true,
            requirements: Vec::new(),
        }
    }

    /// The codec of an HDF5 filter id.
    ///
    /// # Errors
    /// No codec has the filter id; the error names the searched folders and the remedy.
    pub fn by_id(&self, id: u32) -> Result<Arc<Entry>, NotFound> {
        if self.builtins_first
            && let Some(entry) = self.known().by_id.get(&id)
        {
            return Ok(self.chosen(entry.clone()));
        }
        let found = self.scan().by_id.get(&id).cloned();
        found.map(|entry| self.chosen(entry)).ok_or_else(|| self.not_found(Wanted::Id(id)))
    }

    /// The codec that a dialect calls `name`.
    ///
    /// # Errors
    /// No codec has that name; the error names the searched folders and the remedy.
    pub fn by_name(&self, dialect: Dialect, name: &str) -> Result<Arc<Entry>, NotFound> {
        self.by_dialect_name(dialect, name).map(|(entry, _)| entry)
    }

    /// The codec that a dialect calls `name`, and the dialect of its configuration: that of numcodecs for
    /// the Zarr v3 name `numcodecs.x` of a codec that numcodecs calls `x`, unless a codec has taken the
    /// name for its own.
    ///
    /// # Errors
    /// No codec has that name; the error names the searched folders and the remedy.
    pub fn by_dialect_name(&self, dialect: Dialect, name: &str) -> Result<(Arc<Entry>, Dialect), NotFound> {
        if self.builtins_first
            && let Some((entry, spelling)) = self.known().by_dialect_name(dialect, name)
        {
            return Ok((self.chosen(entry), spelling));
        }
        let found = self.scan().by_dialect_name(dialect, name);
        let found = found.map(|(entry, spelling)| (self.chosen(entry), spelling));
        found.ok_or_else(|| self.not_found(Wanted::Name(dialect, name.to_owned())))
    }

    /// The codec that anybody calls `name`: numcodecs, else Zarr v3, else people (its HDF5 filter name, or that of The
    /// HDF Group's list).
    ///
    /// # Errors
    /// No codec has that name; the error names the searched folders and the remedy.
    pub fn by_any_name(&self, name: &str) -> Result<Arc<Entry>, NotFound> {
        if self.builtins_first
            && let Some(entry) = self.known().by_any_name(name)
        {
            return Ok(self.chosen(entry));
        }
        let found = self.scan().by_any_name(name).or_else(|| {
            // The name in a library often differs from the common one: "H5Z-SPERR" is SPERR.
            let filter = known::by_name(name)?;
            self.scan().by_id.get(&filter.id).cloned()
        });
        found.map(|entry| self.chosen(entry)).ok_or_else(|| {
            let wanted = Wanted::Name(Dialect::Numcodecs, name.to_owned());
            crate::not_found::explain(wanted, self.scan().closest(name), self.report())
        })
    }

    /// Everything that was found. Searches, and opens libraries, if that is not done yet.
    pub fn report(&self) -> &Report {
        &self.scan().report
    }

    /// Reports the contents of the search path, by symbol tables only: nothing is opened or paired.
    pub fn report_without_loading(&self) -> &Report {
        self.not_loaded.get_or_init(|| Scan::look(self.rules(), self.inspected()))
    }

    /// The folders that are, or would be, searched.
    pub fn search_path(&self) -> &SearchPath {
        &self.path
    }

    /// The file of the allow-list, if one is configured.
    pub fn allow_list_file(&self) -> Option<&Path> {
        self.allow_list_file.as_deref()
    }

    /// Makes an allow-list of all plugins that are on the search path now, ignoring a configured list, with the
    /// requirements of this registry; and returns those that are left out, each with the reason. Opens none.
    ///
    /// # Errors
    /// A plugin cannot be read, or has a name that a list cannot hold.
    pub fn make_allow_list(&self) -> Result<(AllowList, Vec<(PathBuf, String)>), AllowListError> {
        let rules = Rules { allow_list: None, ..self.rules() };
        let report = Scan::look(rules, &inspect_all(rules));
        let refused = report.files().filter(|file| file.verdict == Verdict::Refused);
        let refused = refused.map(|file| (file.path.clone(), file.reason.clone())).collect();
        let candidates = report.files().filter(|file| file.verdict == Verdict::Candidate);
        let list = AllowList::of_files(candidates.map(|file| file.path.as_path()))?;
        Ok((list.with_requirements(self.requirements.clone()), refused))
    }

    /// Explains an HDF5 id, a codec name or a file: its state, and why. Also looks in the usual folders
    /// that are not searched.
    pub fn explain(&self, query: &str) -> Explanation {
        crate::explain::explain(self.report(), &self.path, query)
    }

    /// Returns what is known so far: the search if it has run, else the built-ins.
    fn known(&self) -> &Scan {
        self.scan.get().unwrap_or(&self.own)
    }

    fn scan(&self) -> &Scan {
        self.scan.get_or_init(|| {
            let start = Instant::now();
            let test_open = match self.test_open {
                true => TestOpen::new(&self.environment, &self.isolation),
                false => TestOpen::off(),
            };
            let system = SystemLoader {
                allow_list: self.allow_list.as_ref(),
                isolation: &self.isolation,
                test_open: &test_open,
            };
            let mut scan = Scan::run(self.rules(), self.inspected(), &system);
            test_open.finish(&mut scan.report.notes);
            self.note_not_isolated(&mut scan.report);
            self.note_nothing_required(&mut scan.report);
            trace::searched(&scan.report, start.elapsed());
            scan
        })
    }

    fn inspected(&self) -> &[InspectedFolder] {
        self.inspected.get_or_init(|| inspect_all(self.rules()))
    }

    /// Notes selections for isolation that match no library: a name may be mistyped.
    fn note_not_isolated(&self, report: &mut Report) {
        let Which::Only(selected) = &self.isolation.which else { return };
        for selected in selected {
            if !selected.is_found_in(report) {
                report
                    .notes
                    .push(format!("nothing is isolated by {selected}: no library with C faces has it"));
            }
        }
    }

    /// Notes requirements on codecs that do not exist: a name may be mistyped.
    fn note_nothing_required(&self, report: &mut Report) {
        for requirement in &self.requirements {
            let codec = requirement.codec();
            if !report.codecs.iter().any(|known| known.is_called(codec)) {
                report.notes.push(format!("{requirement} is required, but there is no codec {codec}"));
            }
        }
    }

    /// A codec that is handed out.
    fn chosen(&self, entry: Arc<Entry>) -> Arc<Entry> {
        trace::chosen(&entry, self.prefer);
        entry
    }

    fn rules(&self) -> Rules<'_> {
        Rules {
            environment: &self.environment,
            path: &self.path,
            prefer: self.prefer,
            trust: self.trust,
            allow_list: self.allow_list.as_ref(),
            registered: &self.registered,
            builtins: &self.builtins,
            requirements: &self.requirements,
            translators: self.translators,
        }
    }

    fn not_found(&self, wanted: Wanted) -> NotFound {
        crate::not_found::explain(wanted, None, self.report())
    }
}

impl Builder {
    /// Folders that are the whole search path, instead of the environment's or the default ones.
    #[must_use]
    pub fn plugin_path(mut self, folders: Vec<PathBuf>) -> Self {
        self.request.explicit = Some(folders);
        self
    }

    /// Sets the preference if several offer the same codec.
    #[must_use]
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }

    /// Sets the policy for plugins that other users could have added or changed; the default is to refuse them. In a
    /// process with more privileges than its caller they are always refused.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// The file with the list of the plugins that may be used ([`allow_list`]), instead of the one that
    /// `NCZ_PLUGIN_LOCK` names. If it cannot be read, no plugin is used.
    #[must_use]
    pub fn allow_list(mut self, list: PathBuf) -> Self {
        self.allow_list = Some(list);
        self
    }

    /// Sets which libraries run in worker processes; none by default.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Sets whether a library that is not known good is first opened in a separate process, which can crash. The
    /// process is [`WORKER_PROGRAM`](crate::isolate::WORKER_PROGRAM) next to the running program, or the one that
    /// [`isolation`](Self::isolation) names; if there is none, libraries are opened directly, and the report says so.
    /// On by default.
    ///
    /// A library is known good if this user has opened it before with the same bytes, as recorded in a small file in
    /// the user's cache folder.
    #[must_use]
    pub fn test_open(mut self, on: bool) -> Self {
        self.test_open = on;
        self
    }

    /// Switches plugins off.
    #[must_use]
    pub fn no_plugins(mut self, off: bool) -> Self {
        self.request.no_plugins = off;
        self
    }

    /// Registers a codec of the program itself. It takes precedence over all others, including those of an explicit
    /// path; of several that are registered, the first wins. A name that it claims means it, and the report lists what
    /// it replaces.
    ///
    /// A type that implements [`Codec`](ncz_codec::Codec) is registered in its [`Erased`](ncz_codec::Erased) form:
    ///
    /// ```ignore
    /// let registry = Registry::builder().codec(Erased::<MyCodec>::new()).build();
    /// ```
    #[must_use]
    pub fn codec(mut self, codec: impl CodecType + 'static) -> Self {
        self.registered.push(Arc::new(codec));
        self
    }

    /// Requires a version of a codec. Candidates that state another version, or none, are not used: the next one is, or
    /// the codec is not found. May be called several times; all requirements of a codec have to be met.
    #[must_use]
    pub fn require(mut self, requirement: Requirement) -> Self {
        self.requirements.push(requirement);
        self
    }

    /// Sets whether the codecs that are linked in are used. They are by default.
    #[must_use]
    pub fn builtins(mut self, on: bool) -> Self {
        self.builtins = on;
        self
    }

    /// Facts about the process other than the true ones.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Makes the registry. Opens nothing.
    pub fn build(self) -> Registry {
        let environment = self.environment.unwrap_or_else(Environment::capture);
        let mut path = SearchPath::resolve(&environment, &self.request);
        let trust = if environment.elevated { Trust::Careful } else { self.trust };
        if trust != self.trust {
            path.notes.push("plugins of other users are refused anyway: the program runs with more privileges than its caller (set-uid or set-gid)".to_owned());
        }
        let allow_list_file = allow_list::configured(self.allow_list, &environment, &mut path.notes);
        let allow_list = allow_list_file.as_deref().map(AllowList::read);
        let mut requirements = self.requirements;
        if let Some(Ok(list)) = &allow_list {
            requirements.extend_from_slice(list.requirements());
        }
        let builtins = if self.builtins { ncz_codec::builtins() } else { Vec::new() };
        let rules = Rules {
            environment: &environment,
            path: &path,
            prefer: self.prefer,
            trust,
            allow_list: None,
            registered: &self.registered,
            builtins: &builtins,
            requirements: &requirements,
            translators: self.builtins,
        };
        let test_open = TestOpen::off();
        let system = SystemLoader { allow_list: None, isolation: &Isolation::NONE, test_open: &test_open };
        let own = Scan::run(rules, &[], &system);
        Registry {
            builtins_first: self.request.explicit.is_none() && self.prefer == Prefer::Builtins,
            own,
            path,
            prefer: self.prefer,
            trust,
            allow_list_file,
            allow_list,
            isolation: self.isolation,
            test_open: self.test_open,
            translators: self.builtins,
            registered: self.registered,
            builtins,
            requirements,
            environment,
            scan: OnceLock::new(),
            inspected: OnceLock::new(),
            not_loaded: OnceLock::new(),
        }
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::builder().build()
    }
}

#[cfg(test)]
mod tests;
