//! Calls from several threads at a time.
//!
//! HDF5 and netcdf-c call filters one after the other; this program calls native codecs on all cores. A failure only
//! in a filter is therefore a warning, for programs that run filters themselves.

use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use ncz_codec::{CodecType, Container, Dialect, Dtype, Kind};
use ncz_registry::load::probe::{JsonAnswer, WordsAnswer};
use ncz_registry::load::{NativeCodec, NczarrCodec};
use serde_json::{Map, Value};

use crate::check::{Check, Scope, Target};
use crate::coding::Coding;
use crate::outcome::Ending;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

const THREADS: usize = 4;
/// How long threads run at levels up to 5, and how long at higher ones; and how often at least, for very slow codecs.
const RUN: [Duration; 2] = [Duration::from_millis(80), Duration::from_millis(250)];
const CALLS_MIN: usize = 8;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "threads.same",
        level: 3,
        scope: Scope::Coding,
        about: "four threads with one parameter set get what one thread gets",
        run: same,
    },
    Check {
        id: "threads.different",
        level: 4,
        scope: Scope::Coding,
        about: "four threads with different parameters and chunks get what one thread gets",
        run: different,
    },
    Check {
        id: "threads.conversions",
        level: 5,
        scope: Scope::Json,
        about: "four threads that convert parameters and JSON get what one thread gets",
        run: conversions,
    },
];

/// What one thread does, and what came of it in one thread.
struct Work {
    coding: Coding,
    sample: Sample,
    /// `None` if the codec's results vary.
    stream: Option<Vec<u8>>,
    own_stream: Vec<u8>,
    chunk: Vec<u8>,
}

impl Work {
    /// Runs the codec by itself; `None` if it refuses the chunk.
    fn new(trial: &mut Trial, coding: Coding, sample: Sample) -> Option<Self> {
        trial.step(format_args!("encoding {} with {} in one thread", sample.name(), coding.name));
        let own_stream = coding.encode(&sample.bytes).ok()?;
        let again = coding.encode(&sample.bytes).ok()?;
        let chunk = coding.decode(&own_stream, sample.bytes.len()).ok()?;
        let stream = (again == own_stream).then_some(again);
        Some(Self { coding: Coding { concurrent: true, ..coding }, sample, stream, own_stream, chunk })
    }

    /// Runs the codec once, concurrently with other threads; returns the difference from a run by itself.
    fn run(&self) -> Result<(), String> {
        let what = || format!("{} with {}", self.sample.name(), self.coding.name);
        let stream = self
            .coding
            .encode(&self.sample.bytes)
            .map_err(|error| format!("encoding {} fails: {error}", what()))?;
        if self.stream.as_ref().is_some_and(|alone| *alone != stream) {
            let right = self.coding.decode(&stream, self.sample.bytes.len());
            let readable = if right.as_ref() == Ok(&self.chunk) {
                "which decodes rightly"
            } else {
                "which decodes wrongly"
            };
            return Err(format!("encoding {} gives another stream, {readable}", what()));
        }
        let chunk = self
            .coding
            .decode(&self.own_stream, self.sample.bytes.len())
            .map_err(|error| format!("decoding {} fails: {error}", what()))?;
        if chunk != self.chunk {
            return Err(format!("decoding {} gives other data", what()));
        }
        Ok(())
    }
}

fn same(trial: &mut Trial) -> Result<(), Ending> {
    let (sample, coding) = trial.usual(12_288, Content::Smooth)?;
    let work = Work::new(trial, coding, sample).ok_or_else(|| Ending::skipped("no chunk was taken"))?;
    run(trial, &[work])
}

fn different(trial: &mut Trial) -> Result<(), Ending> {
    let dtypes = [
        (Dtype::little(Kind::Float, 4), 12_288),
        (Dtype::little(Kind::UInt, 1), 3000),
        (Dtype::little(Kind::Float, 8), 40_000),
        (Dtype::little(Kind::Int, 2), 800),
    ];
    let mut works = Vec::new();
    for (dtype, len) in dtypes {
        let shape = [len / dtype.size as u64 / 20, 20];
        for content in [Content::Smooth, Content::Runs] {
            let sample = Sample::new(dtype, &shape, content, len);
            let codings = match trial.codings(&sample) {
                Ok(codings) => codings,
                Err(Ending::Skipped(_)) => continue,
                Err(ending) => return Err(ending),
            };
            works.extend(codings.into_iter().filter_map(|coding| Work::new(trial, coding, sample.clone())));
        }
    }
    if works.len() < 2 {
        return Err(Ending::skipped("there is only one chunk and parameter set for it"));
    }
    run(trial, &works)
}

/// Gives the works to threads in turns.
fn run(trial: &mut Trial, works: &[Work]) -> Result<(), Ending> {
    let is_filter = matches!(trial.target(), Target::Hdf5(_));
    let has_native = !trial.subject()?.native().is_empty();
    let note = if is_filter { ", which HDF5 never does" } else { "" };
    trial.step(format_args!("calls from {THREADS} threads at a time{note}"));
    let (calls, wrong) =
        at_a_time(trial.level(), |thread, number| works[(thread + number) % works.len()].run());
    trial.figure("calls", calls);
    let Some(first) = wrong.first() else { return Ok(()) };
    let text = format!("{} of {calls} concurrent calls go wrong: {first}", wrong.len());
    if is_filter && !has_native {
        trial.warn(format!("{text}. HDF5 and netcdf-c call filters one after the other"));
        return Ok(());
    }
    Err(Ending::failed(text))
}

/// Does something in several threads for a while: how often, and what went wrong.
fn at_a_time(level: u8, work: impl Fn(usize, usize) -> Result<(), String> + Sync) -> (usize, Vec<String>) {
    let barrier = Barrier::new(THREADS);
    let run = RUN[usize::from(level > 5)];
    let one = |thread: usize| {
        let mut wrong = Vec::new();
        let mut calls = 0;
        barrier.wait();
        let began = Instant::now();
        while calls < CALLS_MIN || began.elapsed() < run {
            wrong.extend(work(thread, calls).err());
            calls += 1;
        }
        (calls, wrong)
    };
    let one = &one;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || one(thread))).collect();
        // A panic is a bug of this program, and not a thread in which nothing went wrong.
        let done =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.fold((0, Vec::new()), |(calls, mut wrong), (more, worse)| {
            wrong.extend(worse);
            (calls + more, wrong)
        })
    })
}

fn conversions(trial: &mut Trial) -> Result<(), Ending> {
    trial.step(format_args!("conversions from {THREADS} threads at a time"));
    let (calls, wrong, looked, is_native) = match trial.target() {
        Target::Codec(_) => {
            let half = trial.codec()?;
            let alone: Vec<_> = texts(half.codec_id()).iter().map(|text| convert(half, text)).collect();
            let texts = texts(half.codec_id());
            let (calls, wrong) = at_a_time(trial.level(), |thread, number| {
                let which = (thread + number) % texts.len();
                let now = convert(half, &texts[which]);
                if now == alone[which] {
                    Ok(())
                } else {
                    Err(format!("{}: {now:?}, not {:?}", texts[which], alone[which]))
                }
            });
            let taken = alone.iter().flatten().any(|(words, _)| words.code == 0);
            (calls, wrong, taken, false)
        }
        _ => {
            let codec = trial.native()?;
            let alone: Vec<_> = (0..=9).map(|word| configure(codec, word)).collect();
            let (calls, wrong) = at_a_time(trial.level(), |thread, number| {
                let word = (thread + number) % alone.len();
                let now = configure(codec, word as u32);
                if now == alone[word] { Ok(()) } else { Err(format!("{now:?}, not {:?}", alone[word])) }
            });
            let taken = alone.iter().flatten().any(Result::is_ok);
            (calls, wrong, taken, true)
        }
    };
    trial.figure("calls", calls);
    let Some(first) = wrong.first() else {
        return match looked {
            true => Ok(()),
            false => Err(Ending::skipped("nothing could be looked at: every text and every word is refused")),
        };
    };
    let text = format!("{} of {calls} concurrent conversions go wrong: {first}", wrong.len());
    if !is_native {
        trial.warn(format!("{text}. netcdf-c converts in one thread"));
        return Ok(());
    }
    Err(Ending::failed(text))
}

/// JSON with the keys of all codecs that netcdf-c knows: codecs ignore the keys that they do not know.
pub(super) fn texts(codec_id: &str) -> Vec<String> {
    let text = |level: u32| {
        format!(
            "{{\"id\": \"{codec_id}\", \"level\": {level}, \"clevel\": {level}, \"cname\": \"lz4\", \"shuffle\": 1, \
             \"blocksize\": 0, \"elementsize\": {level}, \"mask\": 32, \"pixels-per-block\": 16}}"
        )
    };
    (1..=9).map(text).collect()
}

/// The answers to one text.
type Answers = (WordsAnswer, JsonAnswer);

/// From JSON to words and back.
fn convert(half: &NczarrCodec, text: &str) -> Option<Answers> {
    let words = half.probe_words(text.as_bytes()).ok()?;
    let json = half.probe_json(&words.words).ok()?;
    // The size of a block is up to the allocator.
    Some((WordsAnswer { holds: 0, ..words }, json))
}

/// Configurations from JSON and from a word, bound, as text.
fn configure(codec: &NativeCodec, word: u32) -> Vec<Result<String, String>> {
    let sample = Sample {
        dtype: Dtype::little(Kind::Float, 4),
        shape: vec![8, 8],
        content: Content::Zeros,
        bytes: Vec::new(),
    };
    let level: Map<String, Value> = [("level", word), ("clevel", word)]
        .map(|(key, value)| (key.to_owned(), value.into()))
        .into_iter()
        .collect();
    let by_json = codec.parse_json(Dialect::Numcodecs, &level, &mut Vec::new());
    [by_json, codec.parse_params(&[word])]
        .into_iter()
        .map(|config| match config {
            Ok(config) => {
                let json = config.to_json(Dialect::Numcodecs);
                let bound = config.bind(&sample.repr(), &sample.env(Container::NczarrV2));
                Ok(format!("{json:?} {:?} {:?}", config.to_params(), bound.map(|stage| stage.working)))
            }
            Err(error) => Err(error.to_string()),
        })
        .collect()
}
