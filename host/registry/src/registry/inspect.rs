//! The contents of the search path, from names, owners and symbol tables. Opens no library. The tables of a file are
//! read once, here, and passed on to the code that opens it.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::{Builtin, CodecType};

use crate::allow_list::{AllowList, AllowListError};
use crate::discover::{FolderScan, Found, Standing, discover};
use crate::pair::Prefer;
use crate::report::{Dependencies, FileReport, FolderReport, Verdict};
use crate::requirement::Requirement;
use crate::search_path::{Environment, Platform, SearchPath};
use crate::symbols::{LibraryFinder, Symbols, Unsuitable, inspect};
use crate::trust::{self, Trust, TrustNote};

/// The settings of the search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) environment: &'a Environment,
    pub(super) path: &'a SearchPath,
    pub(super) prefer: Prefer,
    pub(super) trust: Trust,
    /// The list that has to admit a library, if one is configured.
    pub(super) allow_list: Option<&'a Result<AllowList, AllowListError>>,
    /// The codecs that the program registered, in their order.
    pub(super) registered: &'a [Arc<dyn CodecType>],
    /// The built-in codecs to use.
    pub(super) builtins: &'a [Builtin],
    /// The requirements on the versions of codecs.
    pub(super) requirements: &'a [Requirement],
    /// Whether [`TRANSLATORS`] count.
    pub(super) translators: bool,
}

/// A folder of the search path with the tables of its files.
#[derive(Debug)]
pub(super) struct InspectedFolder {
    /// The report on the folder, without its files.
    pub(super) report: FolderReport,
    files: Vec<InspectedFile>,
}

#[derive(Debug)]
struct InspectedFile {
    report: FileReport,
    /// The tables, if the file may be opened.
    symbols: Option<Symbols>,
}

/// Reads what is on the search path.
pub(super) fn inspect_all(rules: Rules<'_>) -> Vec<InspectedFolder> {
    let mut finder = LibraryFinder::of(rules.environment);
    let scans = discover(rules.path, rules.environment).into_iter();
    scans.map(|scan| InspectedFolder::of(scan, rules.trust, &mut finder)).collect()
}

impl InspectedFolder {
    fn of(scan: FolderScan, trust: Trust, finder: &mut LibraryFinder) -> Self {
        let FolderScan { folder, state, trust: notes, files } = scan;
        let inspected = files.iter().map(|found| {
            let mut report = blank(found);
            let symbols = read_symbols(found, finder, &mut report);
            let symbols = symbols.filter(|_| !is_refused(trust, (&folder.path, &notes), &mut report));
            InspectedFile { report, symbols }
        });
        let files = inspected.collect();
        Self { report: FolderReport { folder, state, trust: notes, files: Vec::new() }, files }
    }

    /// The report on the folder and its files; `complete` is called for the files that may be opened.
    pub(super) fn report_with(&self, mut complete: impl FnMut(&mut FileReport, &Symbols)) -> FolderReport {
        let files = self.files.iter().map(|file| {
            let mut report = file.report.clone();
            if let Some(symbols) = &file.symbols {
                complete(&mut report, symbols);
            }
            report
        });
        FolderReport { files: files.collect(), ..self.report.clone() }
    }
}

/// Makes the report on a file of which only the path is known.
fn blank(found: &Found) -> FileReport {
    FileReport {
        path: found.path.clone(),
        link_target: found.link_target.clone(),
        size: found.size,
        verdict: Verdict::Ignored,
        reason: String::new(),
        exports: Vec::new(),
        face: None,
        offers: Vec::new(),
        dependencies: Dependencies::default(),
        version: None,
        interface: None,
        trust: found.trust.clone(),
        isolated: false,
        load_time: None,
        notes: Vec::new(),
    }
}

/// Refuses a plugin that other users could have added, and notes that in its report.
fn is_refused(trust: Trust, folder: (&Path, &[TrustNote]), file: &mut FileReport) -> bool {
    let reason = match trust {
        Trust::Careful => trust::refusal(folder, (&file.path, &file.trust)),
        Trust::Everybody => None,
    };
    let Some(reason) = reason else { return false };
    file.verdict = Verdict::Refused;
    file.reason = reason;
    true
}

/// Reads the symbols of a file that may be a plugin; the report gets them, or the reason why not.
fn read_symbols(found: &Found, finder: &mut LibraryFinder, file: &mut FileReport) -> Option<Symbols> {
    let (verdict, reason) = match &found.standing {
        Standing::Candidate => match inspect(&found.path, finder) {
            Ok(symbols) => {
                file.exports = symbols.exports.names().to_vec();
                file.dependencies = Dependencies {
                    needed: symbols.needed.clone(),
                    undefined_h5: symbols.undefined_h5.clone(),
                    hdf5_imports: symbols.hdf5_imports(),
                    unanswered: symbols.unanswered(),
                    hdf5_provider: None,
                };
                let only_draft = symbols.exports.has_draft_codec()
                    && !symbols.exports.has_hdf5()
                    && !symbols.exports.has_native()
                    && !symbols.exports.has_codec_defaults();
                if !only_draft {
                    return Some(symbols);
                }
                (Verdict::Refused, "draft codec record (2021), whose layout is another".to_owned())
            }
            Err(Unsuitable::Unreadable(source)) => (Verdict::Refused, format!("cannot be read: {source}")),
            Err(error @ Unsuitable::Damaged(_)) => (Verdict::Refused, error.to_string()),
            Err(error) => (Verdict::Ignored, error.to_string()),
        },
        Standing::NameMismatch => {
            (Verdict::Ignored, format!("name does not match {}", Platform::current().name_pattern()))
        }
        Standing::NotAFile => {
            (Verdict::Ignored, "not a regular file; folders are not searched within".into())
        }
        Standing::Dangling => (Verdict::Ignored, "a link whose target does not exist".into()),
        Standing::Unreadable(why) => (Verdict::Refused, format!("cannot be read: {why}")),
        Standing::SameAs(path) => (Verdict::Ignored, format!("the same file as {}", path.display())),
    };
    file.verdict = verdict;
    file.reason = reason;
    None
}
