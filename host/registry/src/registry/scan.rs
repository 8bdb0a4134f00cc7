//! The four steps in a row: search path, discovery, loading, pairing; and the report on them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ncz_codec::{CodecInfo, CodecType, Dialect};

use super::opener::{Opened, Opener};
use super::system::unusable;
use crate::discover::{FolderScan, Found, Standing, discover};
use crate::entry::{CodecOrigin, Entry, Face, HalfOrigin, Held, Other};
use crate::json_half::{BuiltinHalf, JSON_HALVES};
use crate::known;
use crate::lent::{Lent, Speech};
use crate::lock::{Lock, LockError};
use crate::pair::{Body, Candidate, Offer, Pairing, Part, Place, Prefer, State, pair};
use crate::report::{
    CandidateReport, CodecReport, ConflictReport, FileReport, FolderReport, OfferReport, Report, Verdict,
};
use crate::search_path::{Environment, Folder, Origin, Platform, SearchPath};
use crate::spec::NUMCODECS_PREFIX;
use crate::symbols::{Asks, LibraryFinder, Symbols, Unsuitable, inspect};
use crate::trust::{self, Trust, TrustNote};

/// What one search found: the codecs to use, and the report.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) by_id: HashMap<u32, Arc<Entry>>,
    pub(super) by_name: HashMap<(Dialect, String), Arc<Entry>>,
    pub(super) report: Report,
}

/// What the search goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) environment: &'a Environment,
    pub(super) path: &'a SearchPath,
    pub(super) prefer: Prefer,
    pub(super) trust: Trust,
    /// The list that has to admit a library, if one is configured.
    pub(super) lock: Option<&'a Result<Lock, LockError>>,
    /// The built-in codecs to use.
    pub(super) builtins: &'a [&'static dyn CodecType],
    /// Whether [`JSON_HALVES`] count.
    pub(super) json_halves: bool,
}

impl Scan {
    /// Searches, opens what can be opened, and pairs.
    pub(super) fn run<O: Opener>(rules: Rules<'_>, opener: &O) -> Self {
        let mut report = start(rules);
        report.loaded = true;
        let mut stock = Stock::with_builtins(rules);
        let mut finder = LibraryFinder::of(rules.environment);
        for scan in discover(rules.path, rules.environment) {
            let folder = scan.folder.clone();
            let trust = scan.trust.clone();
            let folder_report = report_folder(scan, |found| {
                let mut file = blank(found);
                if let Some(symbols) = read_symbols(found, &mut finder, &mut file)
                    && !is_refused(rules.trust, (&folder.path, &trust), &mut file)
                {
                    stock.open(opener, &folder, found, &symbols, &mut file);
                }
                file
            });
            report.folders.push(folder_report);
        }
        let pairing = pair(&stock.offers, rules.prefer);
        Assembly { opener, stock, pairing }.finish(report)
    }

    /// The codec of this name in the dialect, and the dialect of its configuration.
    pub(super) fn by_spelling(&self, dialect: Dialect, name: &str) -> Option<(Arc<Entry>, Dialect)> {
        let named = |dialect, name: &str| {
            self.by_name.get(&(dialect, name.to_owned())).map(|entry| (entry.clone(), dialect))
        };
        named(dialect, name).or_else(|| {
            let id = name.strip_prefix(NUMCODECS_PREFIX).filter(|_| dialect == Dialect::ZarrV3)?;
            named(Dialect::Numcodecs, id)
        })
    }

    /// The codec of this name in any dialect, or by its name for people.
    pub(super) fn by_any_name(&self, name: &str) -> Option<Arc<Entry>> {
        let dialects = [Dialect::Numcodecs, Dialect::ZarrV3].into_iter();
        let mut named = dialects.filter_map(|dialect| self.by_spelling(dialect, name));
        let called =
            || self.by_id.iter().filter(|(_, entry)| entry.info().name == name).min_by_key(|(id, _)| **id);
        named.next().map(|(entry, _)| entry).or_else(|| called().map(|(_, entry)| entry.clone()))
    }

    /// The name of a codec that somebody may have meant who wrote one that says nothing.
    pub(super) fn closest(&self, name: &str) -> Option<String> {
        let mut offers = self.report.files().flat_map(|file| &file.offers);
        if known::is_known(name) || offers.any(|offer| offer.name == name) {
            return None;
        }
        // What many names begin with makes none of them alike.
        let common = ["imagecodecs_", NUMCODECS_PREFIX].into_iter().find(|common| name.starts_with(common));
        let common = common.unwrap_or("");
        let called = self.by_id.values().map(|entry| &*entry.info().name);
        let names = self.by_name.keys().map(|(_, name)| name.as_str()).chain(called);
        let close =
            known::closest(&name[common.len()..], names.filter_map(|name| name.strip_prefix(common)))?;
        Some(format!("{common}{close}"))
    }

    /// Searches and reads symbols; opens nothing.
    pub(super) fn look(rules: Rules<'_>) -> Report {
        let mut report = start(rules);
        let mut finder = LibraryFinder::of(rules.environment);
        for scan in discover(rules.path, rules.environment) {
            let (folder, trust) = (scan.folder.path.clone(), scan.trust.clone());
            report.folders.push(report_folder(scan, |found| {
                let mut file = blank(found);
                if read_symbols(found, &mut finder, &mut file).is_some()
                    && !is_refused(rules.trust, (&folder, &trust), &mut file)
                {
                    file.verdict = Verdict::Candidate;
                    if let Some(reason) = rules.lock.and_then(|lock| denial(lock, &found.path)) {
                        (file.verdict, file.reason) = (Verdict::Refused, reason);
                    }
                }
                file
            }));
        }
        report
    }
}

/// Where an offer's codec or half is kept.
enum Source<H, N> {
    Whole(Held),
    Json(&'static dyn BuiltinHalf),
    Hdf5(H),
    Nczarr(N),
}

/// Everything that is offered, with what it takes to make codecs of it.
struct Stock<H, N> {
    offers: Vec<Offer>,
    sources: Vec<Source<H, N>>,
    /// What an offer calls itself.
    titles: Vec<String>,
    /// The libraries that were opened, in the order of the search.
    libraries: Vec<PathBuf>,
    /// Those of them that run in worker processes.
    isolated: HashSet<PathBuf>,
}

impl<H, N> Stock<H, N> {
    fn with_builtins(rules: Rules<'_>) -> Self {
        let mut stock = Self {
            offers: Vec::new(),
            sources: Vec::new(),
            titles: Vec::new(),
            libraries: Vec::new(),
            isolated: HashSet::new(),
        };
        for &codec in rules.builtins {
            let info = codec.info();
            stock.add(Part::Whole, info.filter_id, names_of(info), None, Place::Builtin, &info.name, || {
                Source::Whole(Held::Static(codec))
            });
        }
        if rules.json_halves {
            for &half in JSON_HALVES {
                let names = vec![(Dialect::Numcodecs, half.codec_id().to_owned())];
                let id = Some(half.filter_id());
                stock.add(Part::Default, id, names, None, Place::Builtin, half.name(), || Source::Json(half));
            }
        }
        stock
    }

    #[expect(clippy::too_many_arguments, reason = "one line per field of an offer")]
    fn add(
        &mut self,
        part: Part,
        id: Option<u32>,
        names: Vec<(Dialect, String)>,
        library: Option<usize>,
        place: Place,
        title: &str,
        source: impl FnOnce() -> Source<H, N>,
    ) {
        self.offers.push(Offer { part, id, names, library, place });
        self.titles.push(title.to_owned());
        self.sources.push(source());
    }

    /// Opens a library and takes in what it offers. A failure refuses this library alone.
    fn open<O>(
        &mut self,
        opener: &O,
        folder: &Folder,
        found: &Found,
        symbols: &Symbols,
        file: &mut FileReport,
    ) where
        O: Opener<Hdf5 = H, Nczarr = N>,
    {
        let start = Instant::now();
        let opened = opener.open(&found.path, symbols);
        file.load_time = Some(start.elapsed());
        let Opened { natives, hdf5, nczarr, defaults, bound, isolated, refused } = match opened {
            Ok(opened) => opened,
            Err(reason) => {
                file.verdict = Verdict::Refused;
                file.reason = reason;
                return;
            }
        };
        file.bound = bound;
        file.notes.extend(refused);
        file.isolated = isolated;
        if symbols.exports.has_draft_codec() && nczarr.is_none() {
            file.notes.push("its codec half has a draft codec record (2021)".into());
        }
        let library = Some(self.libraries.len());
        self.libraries.push(found.path.clone());
        if isolated {
            self.isolated.insert(found.path.clone());
        }
        let place = Place::Plugin(folder.origin);
        for native in natives {
            let info = native.info().clone();
            self.add(Part::Whole, info.filter_id, names_of(&info), library, place, &info.name, || {
                Source::Whole(Held::Shared(native))
            });
        }
        if let Some(half) = hdf5 {
            let (id, name) = opener.hdf5(&half);
            self.add(Part::Hdf5, Some(id), Vec::new(), library, place, &name, || Source::Hdf5(half));
        }
        let codec_halves = nczarr
            .map(|half| (Part::Codec, half))
            .into_iter()
            .chain(defaults.into_iter().map(|half| (Part::Default, half)));
        for (part, half) in codec_halves {
            let (id, name) = opener.nczarr(&half);
            let names = vec![(Dialect::Numcodecs, name.clone())];
            self.add(part, Some(id), names, library, place, &name, || Source::Nczarr(half));
        }
    }

    fn path(&self, offer: usize) -> Option<&Path> {
        self.offers[offer].library.map(|library| self.libraries[library].as_path())
    }
}

/// Makes the entries and completes the report.
struct Assembly<'a, O: Opener> {
    opener: &'a O,
    stock: Stock<O::Hdf5, O::Nczarr>,
    pairing: Pairing,
}

impl<O: Opener> Assembly<'_, O> {
    fn finish(self, mut report: Report) -> Scan {
        let mut scan = Scan::default();
        // What became of each offer, as a fragment, and whether it is used, incomplete or refused.
        let mut fates: Vec<Option<(Fate, String)>> = vec![None; self.stock.offers.len()];
        for refused in &self.pairing.refused {
            fates[refused.offer] = Some((Fate::Refused, refused.reason.clone()));
        }
        for (number, paired) in self.pairing.codecs.iter().enumerate() {
            let (built, states) = self.build(&paired.candidates);
            let origins: Vec<_> = paired.candidates.iter().map(|candidate| self.origin(candidate)).collect();
            let used = built.iter().position(Option::is_some);
            let lossy = built.iter().flatten().next().and_then(|held| held.get().info().lossy);
            let entries: Vec<Option<Arc<Entry>>> = built
                .into_iter()
                .enumerate()
                .map(|(i, held)| {
                    let others = (0..origins.len()).filter(|&other| other != i).map(|other| Other {
                        origin: origins[other].clone(),
                        state: states[other].1.clone(),
                    });
                    let half = self.builtin_half(paired.candidates[i].body);
                    Some(Arc::new(Entry::new(held?, origins[i].clone(), others.collect(), half)))
                })
                .collect();
            if let (Some(id), Some(entry)) = (paired.id, used.and_then(|used| entries[used].clone())) {
                scan.by_id.insert(id, entry);
            }
            for ((dialect, name), _) in self.pairing.names.iter().filter(|(_, at)| at.0 == number) {
                let wanted = (*dialect, name.clone());
                // The first candidate that could be made and has the name.
                let entry = paired.candidates.iter().zip(&entries).find_map(|(candidate, entry)| {
                    let speaker = candidate.body.speaks().filter(|_| candidate.body.is_complete())?;
                    let has = self.stock.offers[speaker].names.contains(&wanted);
                    entry.clone().filter(|_| has)
                });
                if let Some(entry) = entry {
                    scan.by_name.insert(wanted, entry);
                }
            }
            for (candidate, (fate, text)) in paired.candidates.iter().zip(&states) {
                let halves = [Some(candidate.body.main()), candidate.body.speaks()];
                for offer in halves.into_iter().flatten() {
                    // Who lends to one that is used, and is passed over itself, keeps the better of both.
                    if fates[offer].as_ref().is_none_or(|(known, _)| *fate < *known) {
                        fates[offer] = Some((*fate, text.clone()));
                    }
                }
                for &face in &candidate.other_faces {
                    fates[face] = Some((*fate, format!("{text}, by its native face")));
                }
            }
            self.note_passed_over(&paired.candidates, &states, used, &mut report);
            if let Some(codec) = self.report_codec(number, &origins, &states, used) {
                report.codecs.push(CodecReport { lossy, ..codec });
            }
        }
        self.report_conflicts(&mut report);
        self.report_files(&fates, &mut report);
        scan.report = report;
        scan
    }

    /// Makes the codecs of the candidates in order. One that cannot be made leaves its place to the next.
    fn build(&self, candidates: &[Candidate]) -> (Vec<Option<Held>>, Vec<(Fate, String)>) {
        let mut built = Vec::new();
        let mut faults = Vec::new();
        for candidate in candidates {
            match self.make(candidate.body) {
                Ok(held) => {
                    built.push(held);
                    faults.push(None);
                }
                Err(reason) => {
                    built.push(None);
                    faults.push(Some(reason));
                }
            }
        }
        let used = built.iter().position(Option::is_some);
        let winner = used.map(|used| self.origin(&candidates[used]).to_string()).unwrap_or_default();
        let states = candidates.iter().zip(faults).enumerate().map(|(i, (candidate, fault))| {
            if let Some(reason) = fault {
                return (Fate::Refused, format!("refused: {reason}"));
            }
            match candidate.state {
                State::LacksCodec => (Fate::Incomplete, LACKS_CODEC.to_owned()),
                State::LacksHdf5 => (Fate::Incomplete, "no HDF5 filter for this codec half".to_owned()),
                State::Chosen | State::Shadowed(_) if Some(i) == used => (Fate::Used, "used".to_owned()),
                State::Chosen | State::Shadowed(_) => (Fate::Shadowed, format!("shadowed by {winner}")),
            }
        });
        let states = states.collect();
        (built, states)
    }

    fn make(&self, body: Body) -> Result<Option<Held>, String> {
        let Some(runs) = body.runs() else { return Ok(None) };
        let hdf5 = match &self.stock.sources[runs] {
            Source::Whole(held) => return Ok(Some(held.clone())),
            Source::Hdf5(half) => half,
            Source::Nczarr(_) | Source::Json(_) => return Ok(None),
        };
        let lent =
            |speech| Ok::<_, String>(Arc::new(Lent::new(self.opener.join(hdf5, None)?, speech)) as Arc<_>);
        let codec: Arc<dyn CodecType> = match body.speaks().map(|offer| &self.stock.sources[offer]) {
            Some(Source::Nczarr(half)) => self.opener.join(hdf5, Some(half))?,
            Some(Source::Whole(held)) => lent(Speech::Codec(held.clone()))?,
            Some(Source::Json(half)) => lent(Speech::Json(*half))?,
            Some(Source::Hdf5(_)) | None => self.opener.join(hdf5, None)?,
        };
        Ok(Some(Held::Shared(codec)))
    }

    /// The built-in half that speaks for a filter.
    fn builtin_half(&self, body: Body) -> Option<&'static dyn BuiltinHalf> {
        match self.stock.sources[body.speaks()?] {
            Source::Json(half) => Some(half),
            _ => None,
        }
    }

    fn origin(&self, candidate: &Candidate) -> CodecOrigin {
        let main = candidate.body.main();
        let Some(path) = self.stock.path(main) else { return CodecOrigin::Builtin };
        let (face, codec_half) = match candidate.body {
            Body::Whole(_) => (Face::Native, None),
            Body::Hdf5Only(_) => (Face::Hdf5, None),
            Body::CodecOnly(_) => (Face::Nczarr, None),
            Body::Halves { codec, .. } => {
                let half = match self.stock.path(codec) {
                    None => Some(HalfOrigin::Builtin),
                    Some(other) if other != path => Some(HalfOrigin::Library(other.to_owned())),
                    Some(_) => None,
                };
                (Face::Hdf5AndNczarr, half)
            }
        };
        let isolated = self.stock.isolated.contains(path);
        CodecOrigin::Plugin { path: path.to_owned(), face, codec_half, isolated }
    }

    /// The environment is not always the user's choice, and neither is being passed over.
    fn note_passed_over(
        &self,
        candidates: &[Candidate],
        states: &[(Fate, String)],
        used: Option<usize>,
        report: &mut Report,
    ) {
        let place = |candidate: &Candidate| self.stock.offers[candidate.body.main()].place;
        if used.is_none_or(|used| place(&candidates[used]) != Place::Builtin) {
            return;
        }
        let shadowed = candidates.iter().zip(states).filter(|(_, state)| state.0 == Fate::Shadowed);
        let mut paths = shadowed.filter_map(|(candidate, _)| {
            let from_environment = place(candidate) == Place::Plugin(Origin::Environment);
            let runs = from_environment && candidate.body.runs().is_some();
            runs.then(|| self.stock.path(candidate.body.main()))?
        });
        let Some(first) = paths.next() else { return };
        let title = self.title(candidates[used.unwrap_or_default()].body.main());
        let who = match paths.count() {
            0 => format!("{} is", first.display()),
            more => format!("{} and {more} more are", first.display()),
        };
        report
            .notes
            .push(format!("{who} passed over for the built-in {title}; `--prefer plugins` would use it"));
    }

    fn title(&self, offer: usize) -> &str {
        &self.stock.titles[offer]
    }

    fn report_codec(
        &self,
        number: usize,
        origins: &[CodecOrigin],
        states: &[(Fate, String)],
        used: Option<usize>,
    ) -> Option<CodecReport> {
        let paired = &self.pairing.codecs[number];
        if origins.iter().zip(&paired.candidates).all(|(origin, candidate)| self.waits(origin, candidate)) {
            return None;
        }
        let first = paired.candidates.get(used.unwrap_or(0))?;
        let mut names: Vec<_> =
            self.pairing.names.iter().filter(|(_, at)| at.0 == number).map(|(n, _)| n).collect();
        let rank = |name: &str| {
            let speaker = first.body.speaks();
            let listed = speaker.map(|offer| &self.stock.offers[offer].names);
            listed.and_then(|list| list.iter().position(|(_, known)| known == name)).unwrap_or(usize::MAX)
        };
        names.sort_by_key(|(_, name)| (rank(name), name.clone()));
        let of = |wanted: Dialect| -> Vec<String> {
            names.iter().filter(|(dialect, _)| *dialect == wanted).map(|(_, name)| name.clone()).collect()
        };
        Some(CodecReport {
            id: paired.id,
            name: self.title(first.body.main()).to_owned(),
            numcodecs: of(Dialect::Numcodecs),
            zarr_v3: of(Dialect::ZarrV3),
            lossy: None,
            candidates: origins
                .iter()
                .zip(states)
                .enumerate()
                .filter(|(i, (origin, _))| !self.waits(origin, &paired.candidates[*i]))
                .map(|(i, (origin, (_, state)))| CandidateReport {
                    origin: origin.clone(),
                    used: used == Some(i),
                    state: state.clone(),
                })
                .collect(),
        })
    }

    /// Whether it is a built-in codec half that waits for a plugin, which is nothing to tell of.
    fn waits(&self, origin: &CodecOrigin, candidate: &Candidate) -> bool {
        *origin == CodecOrigin::Builtin && candidate.body.runs().is_none()
    }

    fn report_conflicts(&self, report: &mut Report) {
        for conflict in &self.pairing.conflicts {
            let describe = |(codec, candidate): (usize, usize)| {
                let paired = &self.pairing.codecs[codec];
                let origin = self.origin(&paired.candidates[candidate]);
                match paired.id {
                    Some(id) => format!("HDF5 filter {id}, {origin}"),
                    None => origin.to_string(),
                }
            };
            report.conflicts.push(ConflictReport {
                dialect: conflict.dialect,
                name: conflict.name.clone(),
                holder: describe(conflict.holder),
                loser: describe(conflict.loser),
            });
        }
    }

    /// Fills in what became of the offers of each file, and from that the verdict.
    fn report_files(&self, fates: &[Option<(Fate, String)>], report: &mut Report) {
        let numbers: HashMap<&Path, usize> =
            self.stock.libraries.iter().enumerate().map(|(number, path)| (path.as_path(), number)).collect();
        for file in report.folders.iter_mut().flat_map(|folder| &mut folder.files) {
            let Some(&library) = numbers.get(file.path.as_path()) else { continue };
            let mine = |i: &usize| self.stock.offers[*i].library == Some(library);
            let mut best: Option<(Fate, String)> = None;
            for i in (0..self.stock.offers.len()).filter(mine) {
                let offer = &self.stock.offers[i];
                let (fate, text) = fates[i].clone().unwrap_or((Fate::Shadowed, "not needed".into()));
                file.offers.push(OfferReport {
                    part: part_word(offer.part),
                    id: offer.id,
                    name: self.title(i).to_owned(),
                    state: text.clone(),
                });
                if best.as_ref().is_none_or(|(known, _)| fate < *known) {
                    best = Some((fate, text));
                }
            }
            (file.verdict, file.reason) = match best {
                Some((Fate::Used, _)) => (Verdict::Loaded, String::new()),
                Some((Fate::Shadowed, text)) => (Verdict::Shadowed, text),
                Some((Fate::Incomplete, text)) => (Verdict::Incomplete, text),
                Some((Fate::Refused, text)) => (Verdict::Refused, text),
                // Opened, but nothing of it could be taken: the notes say why.
                None => (Verdict::Refused, std::mem::take(&mut file.notes).join("; ")),
            };
            file.face = self.face_of(library, fates);
        }
    }

    /// The face by which a library is used, or would be.
    fn face_of(&self, library: usize, fates: &[Option<(Fate, String)>]) -> Option<Face> {
        let parts: Vec<(Part, Option<Fate>)> = self
            .stock
            .offers
            .iter()
            .zip(fates)
            .filter(|(offer, _)| offer.library == Some(library))
            .map(|(offer, fate)| (offer.part, fate.as_ref().map(|(fate, _)| *fate)))
            .filter(|(_, fate)| *fate != Some(Fate::Refused))
            .collect();
        let has = |wanted: &[Part]| parts.iter().any(|(part, _)| wanted.contains(part));
        match (has(&[Part::Whole]), has(&[Part::Hdf5]), has(&[Part::Codec, Part::Default])) {
            (true, _, _) => Some(Face::Native),
            (false, true, true) => Some(Face::Hdf5AndNczarr),
            (false, true, false) => Some(Face::Hdf5),
            (false, false, true) => Some(Face::Nczarr),
            (false, false, false) => None,
        }
    }
}

/// What is said of a filter that nobody speaks for.
const LACKS_CODEC: &str =
    "no NCZarr codec half: in Zarr data by its number only, which no other program reads";

/// What became of an offer or candidate, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Used,
    Incomplete,
    Shadowed,
    Refused,
}

fn start(rules: Rules<'_>) -> Report {
    Report { switched_off: rules.path.switched_off, notes: rules.path.notes.clone(), ..Report::default() }
}

fn report_folder(scan: FolderScan, look: impl FnMut(&Found) -> FileReport) -> FolderReport {
    let files = scan.files.iter().map(look).collect();
    FolderReport { folder: scan.folder, state: scan.state, trust: scan.trust, files }
}

/// The report on a file of which nothing is known but its place.
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
        needed: Vec::new(),
        undefined_h5: Vec::new(),
        asks: Asks::Nothing,
        unanswered: Vec::new(),
        bound: None,
        trust: found.trust.clone(),
        isolated: false,
        load_time: None,
        notes: Vec::new(),
    }
}

/// Refuses a plugin that others may have put in place, and says so in its report.
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

/// Why a list does not admit a plugin, if so.
fn denial(lock: &Result<Lock, LockError>, path: &Path) -> Option<String> {
    match lock {
        Ok(lock) => lock.admit(path).err().map(|denied| denied.to_string()),
        Err(error) => Some(unusable(error)),
    }
}

/// Reads the symbols of a file that may be a plugin; the report gets them, or the reason why not.
fn read_symbols(found: &Found, finder: &mut LibraryFinder, file: &mut FileReport) -> Option<Symbols> {
    let (verdict, reason) = match &found.standing {
        Standing::Candidate => match inspect(&found.path, finder) {
            Ok(symbols) => {
                file.exports = symbols.exports.names().to_vec();
                file.needed = symbols.needed.clone();
                file.undefined_h5 = symbols.undefined_h5.clone();
                file.asks = symbols.asks();
                file.unanswered = symbols.unanswered();
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

fn names_of(info: &CodecInfo) -> Vec<(Dialect, String)> {
    [Dialect::Numcodecs, Dialect::ZarrV3]
        .into_iter()
        .flat_map(|dialect| info.names(dialect).iter().map(move |name| (dialect, name.to_string())))
        .collect()
}

fn part_word(part: Part) -> &'static str {
    match part {
        Part::Whole => "native",
        Part::Hdf5 => "HDF5",
        Part::Codec => "NCZarr",
        Part::Default => "NCZarr default",
    }
}

#[cfg(test)]
mod tests;
