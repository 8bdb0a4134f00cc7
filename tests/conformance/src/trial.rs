//! One check on one target, from the inside: what a case function works with.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fastrand::Rng;
use ncz_codec::{CodecType, Container};
use ncz_registry::load::probe::Host;
use ncz_registry::load::{CodecHalf, Hdf5Half, NativeCodec};
use serde_json::{Map, Value};

use crate::check::{Check, Target};
use crate::coding::{Coding, Way};
use crate::outcome::{Ending, Outcome, Verdict};
use crate::profile::{self, Fidelity, ParameterSet};
use crate::sample::Sample;
use crate::subject::Subject;

/// What a run is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How thorough, 1 to 10.
    pub level: u8,
    /// From which all random choices follow.
    pub seed: u64,
    /// `cd_values` for filters, by id, in place of what the runner knows.
    pub params: Vec<(u32, Vec<u32>)>,
    /// Filters whose values do not come back to the byte, by id.
    pub lossy: Vec<u32>,
    /// How many damaged streams of each sort, in place of what the level says.
    pub mutations: Option<usize>,
    /// The newest version of glibc that a library may need.
    pub glibc: (u32, u32),
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: 5, seed: 0, params: Vec::new(), lossy: Vec::new(), mutations: None, glibc: (2, 31) }
    }
}

/// Where a trial tells what it does just now, so that a crash can be put down to it.
pub trait Progress {
    /// Called before each step that may crash or hang.
    fn step(&mut self, what: &str);
}

/// One check on one target, from the inside.
pub struct Trial {
    settings: Settings,
    target: Target,
    path: PathBuf,
    subject: OnceLock<Result<Subject, String>>,
    rng: Rng,
    warnings: Vec<String>,
    figures: Map<String, Value>,
    progress: Box<dyn Progress>,
}

impl Trial {
    /// A trial of the library at `path`.
    pub fn new(
        check: &Check,
        target: Target,
        path: &Path,
        settings: Settings,
        progress: Box<dyn Progress>,
    ) -> Self {
        let rng = Rng::with_seed(mix(settings.seed, &format!("{} {target}", check.id)));
        Self {
            settings,
            target,
            path: path.to_owned(),
            subject: OnceLock::new(),
            rng,
            warnings: Vec::new(),
            figures: Map::new(),
            progress,
        }
    }

    /// Runs the check and says what came of it.
    pub fn run(mut self, check: &Check) -> Outcome {
        let ending = (check.run)(&mut self);
        let (verdict, message) = match ending {
            Err(Ending::Failed(message)) => (Verdict::Failed, message),
            Err(Ending::Skipped(why)) => (Verdict::Skipped, why),
            Ok(()) if self.warnings.is_empty() => (Verdict::Passed, String::new()),
            Ok(()) => (Verdict::Warned, self.warnings.join("\n")),
        };
        Outcome { verdict, message, figures: self.figures }
    }

    /// What the run was asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The level, 1 to 10.
    pub fn level(&self) -> u8 {
        self.settings.level
    }

    /// How often to repeat something that is done `base` times at level 5: from a tenth to a hundredfold.
    pub fn times(&self, base: usize) -> usize {
        const TENTHS: [usize; 11] = [1, 1, 2, 4, 7, 10, 20, 40, 100, 300, 1000];
        (base * TENTHS[usize::from(self.settings.level.min(10))]).div_ceil(10)
    }

    /// Where the library lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The random numbers of this trial: the same for the same seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Tells what is done next, for the case that it crashes or hangs.
    pub fn step(&mut self, what: impl Display) {
        self.progress.step(&what.to_string());
    }

    /// Notes that some host or some data will have trouble.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }

    /// Notes a figure.
    pub fn figure(&mut self, name: &str, value: impl Into<Value>) {
        self.figures.insert(name.to_owned(), value.into());
    }

    /// The opened library.
    ///
    /// # Errors
    /// It cannot be opened: the check failed.
    pub fn subject(&self) -> Result<&Subject, Ending> {
        let subject = self.subject.get_or_init(|| Subject::open(&self.path).map_err(|error| chain(&error)));
        subject.as_ref().map_err(|error| Ending::Failed(error.clone()))
    }

    /// The filter that is looked at.
    ///
    /// # Errors
    /// The target is none.
    pub fn hdf5(&self) -> Result<&Hdf5Half, Ending> {
        match self.target {
            Target::Hdf5(_) => self.subject()?.hdf5().ok_or_else(|| self.gone()),
            _ => Err(self.gone()),
        }
    }

    /// The codec half that is looked at.
    ///
    /// # Errors
    /// The target is none.
    pub fn codec(&self) -> Result<&CodecHalf, Ending> {
        match &self.target {
            Target::Codec(name) => {
                self.subject()?.codecs().find(|half| half.codec_id() == name).ok_or_else(|| self.gone())
            }
            _ => Err(self.gone()),
        }
    }

    /// The native codec that is looked at.
    ///
    /// # Errors
    /// The target is none.
    pub fn native(&self) -> Result<&NativeCodec, Ending> {
        match &self.target {
            Target::Native(name) => self
                .subject()?
                .native()
                .iter()
                .find(|codec| codec.info().name == *name)
                .ok_or_else(|| self.gone()),
            _ => Err(self.gone()),
        }
    }

    /// The codec that is looked at, ready for chunks like `sample`: with its ordinary parameters first, then others
    /// that are worth a try.
    ///
    /// # Errors
    /// `Skipped` if it takes no such chunks, or its parameters are not known here.
    pub fn codings(&self, sample: &Sample) -> Result<Vec<Coding>, Ending> {
        match &self.target {
            Target::Hdf5(_) => self.filter_codings(sample),
            Target::Native(_) => self.native_codings(sample),
            _ => Err(self.gone()),
        }
    }

    /// The first of [`Trial::codings`].
    ///
    /// # Errors
    /// As there.
    pub fn coding(&self, sample: &Sample) -> Result<Coding, Ending> {
        self.codings(sample)?
            .into_iter()
            .next()
            .ok_or_else(|| Ending::skipped("there are no parameters for it"))
    }

    fn filter_codings(&self, sample: &Sample) -> Result<Vec<Coding>, Ending> {
        let half = self.hdf5()?;
        let sets = self.parameter_sets(half, sample)?;
        Ok(sets
            .into_iter()
            .map(|set| Coding {
                name: format!("cd_values {:?}", set.working),
                way: Way::Filter(half.clone(), set.working),
                fidelity: self.fidelity(half.id(), set.fidelity),
                concurrent: false,
                host: Host::Malloc,
            })
            .collect())
    }

    /// Where working parameters of a filter come from, the surest first.
    fn parameter_sets(&self, half: &Hdf5Half, sample: &Sample) -> Result<Vec<ParameterSet>, Ending> {
        let id = half.id();
        let exact = |given: Vec<u32>, working| ParameterSet { working, given, fidelity: Fidelity::Exact };
        if let Some((_, words)) = self.settings.params.iter().find(|(of, _)| *of == id) {
            return Ok(vec![exact(words.clone(), words.clone())]);
        }
        let subject = self.subject()?;
        if let Some(codec) = subject.native_of(id) {
            let config = codec
                .parse_params(&[])
                .or_else(|_| codec.parse_json(ncz_codec::Dialect::Numcodecs, &Map::new(), &mut Vec::new()))
                .map_err(|error| Ending::skipped(format!("the native codec has no default: {error}")))?;
            let bound = config
                .bind(&sample.repr(), &sample.env(Container::Hdf5))
                .map_err(|error| Ending::skipped(format!("not for {}: {error}", sample.name())))?;
            let given = bound.stored.to_params().unwrap_or_default();
            return Ok(vec![exact(given, bound.working)]);
        }
        if let Some(known) = profile::of(id, sample.dtype, &sample.shape) {
            return known.map_err(|why| Ending::skipped(format!("not for {}: {}", sample.name(), why.0)));
        }
        if half.has_set_local() {
            return Err(Ending::skipped(format!(
                "its working parameters come from set_local, which needs libhdf5; give them with --params {id}=.."
            )));
        }
        let default = subject.codec_of(id).filter(|codec| !codec.has_modify_parameters());
        let words = default.and_then(|codec| codec.to_params(&Map::new()).ok()).unwrap_or_default();
        Ok(vec![exact(words.clone(), words)])
    }

    fn native_codings(&self, sample: &Sample) -> Result<Vec<Coding>, Ending> {
        let codec = self.native()?;
        let config = codec
            .parse_json(ncz_codec::Dialect::Numcodecs, &Map::new(), &mut Vec::new())
            .or_else(|_| codec.parse_params(&[]))
            .map_err(|error| Ending::skipped(format!("it has no default configuration: {error}")))?;
        let bound = config
            .bind(&sample.repr(), &sample.env(Container::NczarrV2))
            .map_err(|error| Ending::skipped(format!("not for {}: {error}", sample.name())))?;
        let fidelity =
            codec.info().filter_id.map_or(Fidelity::Exact, |id| self.fidelity(id, Fidelity::Exact));
        Ok(vec![Coding {
            name: "its defaults".to_owned(),
            way: Way::Native(bound.coder),
            fidelity,
            concurrent: true,
            host: Host::Malloc,
        }])
    }

    fn fidelity(&self, id: u32, known: Fidelity) -> Fidelity {
        if self.settings.lossy.contains(&id) { Fidelity::Lossy } else { known }
    }

    fn gone(&self) -> Ending {
        Ending::skipped(format!("the library has no {}", self.target))
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// A seed that differs for each text.
fn mix(seed: u64, text: &str) -> u64 {
    // FNV-1a: the same on every machine and in every version, which std's hasher does not promise.
    text.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
