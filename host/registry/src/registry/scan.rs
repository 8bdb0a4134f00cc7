//! Loading and pairing what was found on the search path; and the report on it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ncz_codec::{CodecType, Dialect};
use semver::Version;

use super::inspect::{InspectedFolder, Rules};
use super::loader::{Loader, Opened};
use super::system_loader::unusable;
use crate::allow_list::{AllowList, AllowListError};
use crate::borrowed_json::{BorrowedJson, JsonSource};
use crate::entry::{CodecHandle, CodecOrigin, Entry, Face, Other, TranslatorOrigin};
use crate::imagecodecs::{BuiltinTranslator, TRANSLATORS};
use crate::known;
use crate::pair::{self, Body, Candidate, Offer, OfferOrigin, Paired, Pairing, Part, State, pair};
use crate::report::{CandidateReport, CodecReport, ConflictReport, FileReport, OfferReport, Report, Verdict};
use crate::requirement::Requirement;
use crate::search_path::Origin;
use crate::spec::NUMCODECS_PREFIX;
use crate::symbols::Symbols;

/// The result of a search: the codecs to use, and the report.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) by_id: HashMap<u32, Arc<Entry>>,
    pub(super) by_name: HashMap<(Dialect, String), Arc<Entry>>,
    pub(super) report: Report,
}

impl Scan {
    /// Opens what can be opened, and pairs.
    pub(super) fn run<O: Loader>(rules: Rules<'_>, folders: &[InspectedFolder], loader: &O) -> Self {
        let mut report = start(rules);
        report.loaded = true;
        let mut stock = Stock::of_the_program(rules);
        for (number, folder) in folders.iter().enumerate() {
            let origin = folder.report.folder.origin;
            report.folders.push(folder.report_with(|file, symbols| {
                stock.open(loader, (number, origin), symbols, file);
            }));
        }
        let pairing = pair(&stock.offers, rules.prefer);
        Assembly { loader, stock, pairing, requirements: rules.requirements }.finish(report)
    }

    /// The codec of this name in the dialect, and the dialect of its configuration.
    pub(super) fn by_dialect_name(&self, dialect: Dialect, name: &str) -> Option<(Arc<Entry>, Dialect)> {
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
        let mut named = dialects.filter_map(|dialect| self.by_dialect_name(dialect, name));
        let called =
            || self.by_id.iter().filter(|(_, entry)| entry.info().name == name).min_by_key(|(id, _)| **id);
        named.next().map(|(entry, _)| entry).or_else(|| called().map(|(_, entry)| entry.clone()))
    }

    /// The name of a codec that the user may have meant by an unknown one.
    pub(super) fn closest(&self, name: &str) -> Option<String> {
        let mut offers = self.report.files().flat_map(|file| &file.offers);
        if known::is_known(name) || offers.any(|offer| offer.name == name) {
            return None;
        }
        // A prefix that many names share does not make them similar.
        let common = ["imagecodecs_", NUMCODECS_PREFIX].into_iter().find(|common| name.starts_with(common));
        let common = common.unwrap_or("");
        let called = self.by_id.values().map(|entry| &*entry.info().name);
        let names = self.by_name.keys().map(|(_, name)| name.as_str()).chain(called);
        let close =
            known::closest(&name[common.len()..], names.filter_map(|name| name.strip_prefix(common)))?;
        Some(format!("{common}{close}"))
    }

    /// The report on what was found; opens nothing.
    pub(super) fn look(rules: Rules<'_>, folders: &[InspectedFolder]) -> Report {
        let mut report = start(rules);
        report.folders = folders
            .iter()
            .map(|folder| {
                folder.report_with(|file, _| {
                    file.verdict = Verdict::Candidate;
                    if let Some(reason) = rules.allow_list.and_then(|list| denial(list, &file.path)) {
                        (file.verdict, file.reason) = (Verdict::Refused, reason);
                    }
                })
            })
            .collect();
        report
    }
}

/// The location of an offer's codec or part.
enum Source<H, N> {
    Whole(CodecHandle),
    Json(&'static dyn BuiltinTranslator),
    Hdf5(H),
    Nczarr(N),
}

/// Everything that is offered, with what it takes to make codecs of it.
struct Stock<H, N> {
    offers: Vec<Offer>,
    sources: Vec<Source<H, N>>,
    /// The name that an offer states.
    titles: Vec<String>,
    /// The libraries that were opened, in the order of the search.
    libraries: Vec<PathBuf>,
    /// Those of them that run in worker processes.
    isolated: HashSet<PathBuf>,
}

impl<H, N> Stock<H, N> {
    /// The codecs of the program without any library.
    fn of_the_program(rules: Rules<'_>) -> Self {
        let mut stock = Self {
            offers: Vec::new(),
            sources: Vec::new(),
            titles: Vec::new(),
            libraries: Vec::new(),
            isolated: HashSet::new(),
        };
        for codec in rules.registered {
            let offer = Offer::whole(codec.info(), OfferOrigin::Registered);
            stock.add(
                offer,
                codec.info().name.to_string(),
                Source::Whole(CodecHandle::Shared(codec.clone())),
            );
        }
        for builtin in rules.builtins {
            let info = builtin.codec().info();
            let version = Version::parse(builtin.version()).ok();
            let offer = Offer { version, ..Offer::whole(info, OfferOrigin::Builtin) };
            stock.add(offer, info.name.to_string(), Source::Whole(CodecHandle::Static(builtin.codec())));
        }
        if rules.translators {
            for &half in TRANSLATORS {
                let names = vec![(Dialect::Numcodecs, half.codec_id().to_owned())];
                let id = Some(half.filter_id());
                let offer = Offer { id, names, ..Offer::new(Part::Default, OfferOrigin::Builtin) };
                stock.add(offer, half.name().to_owned(), Source::Json(half));
            }
        }
        stock
    }

    fn add(&mut self, offer: Offer, title: String, source: Source<H, N>) {
        self.offers.push(offer);
        self.titles.push(title);
        self.sources.push(source);
    }

    /// Opens a library and takes in what it offers. A failure refuses this library only.
    fn open<O>(&mut self, loader: &O, folder: (usize, Origin), symbols: &Symbols, file: &mut FileReport)
    where
        O: Loader<Hdf5 = H, Nczarr = N>,
    {
        let start = Instant::now();
        let opened = loader.open(&file.path, symbols);
        file.load_time = Some(start.elapsed());
        let Opened { natives, hdf5, nczarr, defaults, hdf5_provider, version, interface, isolated, refused } =
            match opened {
                Ok(opened) => opened,
                Err(reason) => {
                    file.verdict = Verdict::Refused;
                    file.reason = reason;
                    return;
                }
            };
        file.dependencies.hdf5_provider = hdf5_provider;
        file.notes.extend(refused);
        file.isolated = isolated;
        if symbols.exports.has_draft_codec() && nczarr.is_none() {
            file.notes.push("its NCZarr codec has a draft codec record (2021)".into());
        }
        let library = Some(self.libraries.len());
        self.libraries.push(file.path.clone());
        if isolated {
            self.isolated.insert(file.path.clone());
        }
        let (number, origin) = folder;
        let of = |part| Offer {
            library,
            folder: Some(number),
            version: version.clone(),
            ..Offer::new(part, OfferOrigin::Plugin(origin))
        };
        for native in natives {
            let info = native.info().clone();
            let offer = Offer { id: info.filter_id, names: pair::names_of(&info), ..of(Part::Whole) };
            self.add(offer, info.name.into_owned(), Source::Whole(CodecHandle::Shared(native)));
        }
        if let Some(half) = hdf5 {
            let (id, name) = loader.hdf5(&half);
            self.add(Offer { id: Some(id), ..of(Part::Hdf5) }, name, Source::Hdf5(half));
        }
        let translators = nczarr
            .map(|half| (Part::Codec, half))
            .into_iter()
            .chain(defaults.into_iter().map(|half| (Part::Default, half)));
        for (part, half) in translators {
            let (id, name) = loader.nczarr(&half);
            let names = vec![(Dialect::Numcodecs, name.clone())];
            self.add(Offer { id: Some(id), names, ..of(part) }, name, Source::Nczarr(half));
        }
        (file.version, file.interface) = (version, interface);
    }

    fn path(&self, offer: usize) -> Option<&Path> {
        self.offers[offer].library.map(|library| self.libraries[library].as_path())
    }
}

/// Makes the entries and completes the report.
struct Assembly<'a, O: Loader> {
    loader: &'a O,
    stock: Stock<O::Hdf5, O::Nczarr>,
    pairing: Pairing,
    requirements: &'a [Requirement],
}

impl<O: Loader> Assembly<'_, O> {
    fn finish(self, mut report: Report) -> Scan {
        let mut scan = Scan::default();
        // The state of each offer, as a fragment, and whether it is used, incomplete or refused.
        let mut fates: Vec<Option<(Fate, String)>> = vec![None; self.stock.offers.len()];
        for refused in &self.pairing.refused {
            fates[refused.offer] = Some((Fate::Refused, refused.reason.clone()));
        }
        for (number, paired) in self.pairing.codecs.iter().enumerate() {
            let (built, states) = self.build(paired);
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
                    let version = self.version(&paired.candidates[i]).cloned();
                    Some(Arc::new(Entry::new(held?, origins[i].clone(), others.collect(), version, half)))
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
                    // An offer that lends to a used one, and is shadowed itself, keeps the better of both states.
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

    /// Makes the codecs of the candidates in order. If one cannot be made, the next one is tried.
    fn build(&self, paired: &Paired) -> (Vec<Option<CodecHandle>>, Vec<(Fate, String)>) {
        let candidates = &paired.candidates;
        let required = self.required(paired);
        let mut built = Vec::new();
        let mut faults = Vec::new();
        for candidate in candidates {
            let made = self.check_version(candidate.body, &required).and_then(|()| self.make(candidate.body));
            match made {
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
                State::LacksHdf5 => (Fate::Incomplete, "no HDF5 filter for this NCZarr codec".to_owned()),
                State::Chosen | State::Shadowed(_) if Some(i) == used => (Fate::Used, "used".to_owned()),
                State::Chosen | State::Shadowed(_) => {
                    let newer = used.and_then(|used| self.newer(&candidates[used], candidate));
                    (Fate::Shadowed, format!("shadowed by {winner}{}", newer.unwrap_or_default()))
                }
            }
        });
        let states = states.collect();
        (built, states)
    }

    /// The requirements that concern a codec.
    fn required(&self, paired: &Paired) -> Vec<&Requirement> {
        let offers = paired.candidates.iter().flat_map(|candidate| {
            let body = candidate.body;
            [body.runs(), body.speaks()].into_iter().flatten().chain(candidate.other_faces.iter().copied())
        });
        let offers: Vec<usize> = offers.collect();
        let concerns = |requirement: &&Requirement| {
            let codec = requirement.codec();
            let id = codec.parse().ok().or_else(|| known::by_name(codec).map(|filter| filter.id));
            let is_named = |&i: &usize| {
                self.title(i).eq_ignore_ascii_case(codec)
                    || self.stock.offers[i].names.iter().any(|(_, name)| name == codec)
            };
            (id.is_some() && id == paired.id) || offers.iter().any(is_named)
        };
        self.requirements.iter().filter(concerns).collect()
    }

    /// Whether the version of what runs is one that is required.
    fn check_version(&self, body: Body, required: &[&Requirement]) -> Result<(), String> {
        let Some(runs) = body.runs() else { return Ok(()) };
        let version = self.stock.offers[runs].version.as_ref();
        let Some(unmet) = required.iter().find(|requirement| !requirement.is_met_by(version)) else {
            return Ok(());
        };
        Err(match version {
            Some(version) => format!("its version is {version}, and {unmet} is required"),
            None => format!("it states no version, and {unmet} is required"),
        })
    }

    /// Describes how the versions decided between two offers of the same folder.
    fn newer(&self, used: &Candidate, other: &Candidate) -> Option<String> {
        let offer = |candidate: &Candidate| &self.stock.offers[candidate.body.main()];
        let (used, other) = (offer(used), offer(other));
        let (new, old) = (used.version.as_ref()?, other.version.as_ref()?);
        let decides = used.folder == other.folder && used.folder.is_some() && new > old;
        decides
            .then(|| format!(": of one folder the newer is used, and its version {new} is newer than {old}"))
    }

    fn make(&self, body: Body) -> Result<Option<CodecHandle>, String> {
        let Some(runs) = body.runs() else { return Ok(None) };
        let hdf5 = match &self.stock.sources[runs] {
            Source::Whole(held) => return Ok(Some(held.clone())),
            Source::Hdf5(half) => half,
            Source::Nczarr(_) | Source::Json(_) => return Ok(None),
        };
        let lent = |speech| {
            Ok::<_, String>(Arc::new(BorrowedJson::new(self.loader.join(hdf5, None)?, speech)) as Arc<_>)
        };
        let codec: Arc<dyn CodecType> = match body.speaks().map(|offer| &self.stock.sources[offer]) {
            Some(Source::Nczarr(half)) => self.loader.join(hdf5, Some(half))?,
            Some(Source::Whole(held)) => lent(JsonSource::Codec(held.clone()))?,
            Some(Source::Json(half)) => lent(JsonSource::Json(*half))?,
            Some(Source::Hdf5(_)) | None => self.loader.join(hdf5, None)?,
        };
        Ok(Some(CodecHandle::Shared(codec)))
    }

    /// Returns the built-in JSON translator of a filter.
    fn builtin_half(&self, body: Body) -> Option<&'static dyn BuiltinTranslator> {
        match self.stock.sources[body.speaks()?] {
            Source::Json(half) => Some(half),
            _ => None,
        }
    }

    fn version(&self, candidate: &Candidate) -> Option<&Version> {
        self.stock.offers[candidate.body.main()].version.as_ref()
    }

    fn origin(&self, candidate: &Candidate) -> CodecOrigin {
        let main = candidate.body.main();
        let Some(path) = self.stock.path(main) else {
            return match self.stock.offers[main].origin {
                OfferOrigin::Registered => CodecOrigin::Registered,
                OfferOrigin::Builtin | OfferOrigin::Plugin(_) => CodecOrigin::Builtin,
            };
        };
        let (face, translator) = match candidate.body {
            Body::Whole(_) => (Face::Native, None),
            Body::Hdf5Only(_) => (Face::Hdf5, None),
            Body::CodecOnly(_) => (Face::Nczarr, None),
            Body::Pair { codec, .. } => {
                let half = match self.stock.path(codec) {
                    None => Some(TranslatorOrigin::Builtin),
                    Some(other) if other != path => Some(TranslatorOrigin::Library(other.to_owned())),
                    Some(_) => None,
                };
                (Face::Hdf5AndNczarr, half)
            }
        };
        let isolated = self.stock.isolated.contains(path);
        CodecOrigin::Plugin { path: path.to_owned(), face, translator, isolated }
    }

    /// The environment is not always the user's choice, and neither is being passed over.
    fn note_passed_over(
        &self,
        candidates: &[Candidate],
        states: &[(Fate, String)],
        used: Option<usize>,
        report: &mut Report,
    ) {
        let origin = |candidate: &Candidate| self.stock.offers[candidate.body.main()].origin;
        if used.is_none_or(|used| origin(&candidates[used]) != OfferOrigin::Builtin) {
            return;
        }
        let shadowed = candidates.iter().zip(states).filter(|(_, state)| state.0 == Fate::Shadowed);
        let mut paths = shadowed.filter_map(|(candidate, _)| {
            let from_environment = origin(candidate) == OfferOrigin::Plugin(Origin::Environment);
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
                    version: self.version(&paired.candidates[i]).cloned(),
                })
                .collect(),
        })
    }

    /// Tests whether it is a built-in JSON translator that no plugin uses: it is not reported.
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
                // Opened, but nothing in it could be used: the notes have the reasons.
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

/// The state of a filter without an NCZarr codec.
const LACKS_CODEC: &str = "no NCZarr codec: in Zarr data by its number only, which no other program reads";

/// The state of an offer or candidate, best first.
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

/// Why a list does not admit a plugin, if so.
fn denial(allow_list: &Result<AllowList, AllowListError>, path: &Path) -> Option<String> {
    match allow_list {
        Ok(allow_list) => allow_list.admit(path).err().map(|denied| denied.to_string()),
        Err(error) => Some(unusable(error)),
    }
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
