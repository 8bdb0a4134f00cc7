//! One check on one target, from the inside: what a case function works with.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use fastrand::Rng;
use ncz_codec::CodecType;
use ncz_registry::load::{Hdf5Filter, NativeCodec, NczarrCodec};
use serde_json::{Map, Value};

use crate::check::{Check, Target};
use crate::error::chain;
use crate::outcome::{Ending, Outcome, Verdict};
use crate::subject::Subject;
use crate::worker;

/// The options of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How thorough, 1 to 10.
    pub level: u8,
    /// From which all random choices follow.
    pub seed: u64,
    /// `cd_values` for filters, by id; they replace the known ones.
    pub params: Vec<(u32, Vec<u32>)>,
    /// Filters that do not restore values exactly, by id.
    pub lossy: Vec<u32>,
    /// The number of damaged streams of each kind; replaces the number of the level.
    pub mutations: Option<usize>,
    /// The newest version of glibc that a library may need.
    pub glibc: (u32, u32),
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: 5, seed: 0, params: Vec::new(), lossy: Vec::new(), mutations: None, glibc: (2, 34) }
    }
}

/// Receives the current step of a trial, so that a crash can be attributed to it.
pub trait Progress {
    /// Called before each step that may crash or hang.
    fn step(&mut self, what: &str);

    /// Sets the processor time limit of the last reported step. The process is ended if it uses more, if that is
    /// possible.
    fn watch(&mut self, limit: Duration) {
        let _ = limit;
    }

    /// The step is over.
    fn rest(&mut self) {}
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

    /// Runs the check and returns its outcome.
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

    /// The options of the run.
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

    /// The path of the library.
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

    /// Reports the next step, in case it crashes or hangs.
    pub fn step(&mut self, what: impl Display) {
        self.progress.step(&what.to_string());
    }

    /// Does one step that may use `limit` of processor time, all threads together. If it uses more, the process
    /// ends and the verdict is [`Verdict::Hung`].
    ///
    /// [`cpu_time`](crate::clock::cpu_time) measures what a limit is made from.
    pub fn limited<R>(&mut self, limit: Duration, what: impl Display, action: impl FnOnce() -> R) -> R {
        self.step(what);
        self.progress.watch(limit);
        let result = action();
        self.progress.rest();
        result
    }

    /// Whether plugins find functions of this program under the names of libhdf5's allocator; if not,
    /// [`Host::Marked`](ncz_registry::load::probe::Host::Marked) makes no difference to them.
    pub fn has_exported_allocator(&self) -> bool {
        worker::has_exported_allocator()
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
    pub fn hdf5(&self) -> Result<&Hdf5Filter, Ending> {
        match self.target {
            Target::Hdf5(_) => self.subject()?.hdf5().ok_or_else(|| self.gone()),
            _ => Err(self.gone()),
        }
    }

    /// The NCZarr codec that is looked at.
    ///
    /// # Errors
    /// The target is none.
    pub fn codec(&self) -> Result<&NczarrCodec, Ending> {
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

    fn gone(&self) -> Ending {
        Ending::skipped(format!("the library has no {}", self.target))
    }
}

/// A seed that differs for each text.
fn mix(seed: u64, text: &str) -> u64 {
    // FNV-1a: the same on every machine and in every version, which std's hasher does not promise.
    text.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
