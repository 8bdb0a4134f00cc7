//! Parameter words: none, too many, any.

use std::time::Duration;

use fastrand::Rng;
use ncz_codec::{AnyCoder, CodecType, Container, Dtype, Kind};
use ncz_registry::load::{Hdf5Filter, NativeCodec};

use crate::check::Target;
use crate::coding::{Coding, Face};
use crate::outcome::Ending;
use crate::profile::Fidelity;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

use super::json::{JsonFace, shown, sound};

/// The processor time limit for encoding and decoding a small chunk.
const LIMIT: Duration = Duration::from_secs(10);
/// More words than any filter of HDF5 or netcdf-c has.
const TOO_MANY: [usize; 2] = [40, 1000];

/// The codec on which words are tried.
enum Subject {
    Filter { half: Hdf5Filter, chunk: Chunk },
    Native { codec: NativeCodec, chunk: Chunk },
    Json(JsonFace),
}

/// A small chunk, and good words for it if they are known.
struct Chunk {
    sample: Sample,
    working: Vec<u32>,
    fidelity: Fidelity,
}

#[derive(Debug, Default)]
struct Counts {
    tried: usize,
    refused: usize,
}

pub(super) fn none(trial: &mut Trial) -> Result<(), Ending> {
    let mut counts = Counts::default();
    for subject in Subject::all(trial)? {
        subject.run(trial, &[], &mut counts)?;
    }
    counts.tell(trial);
    Ok(())
}

pub(super) fn too_many(trial: &mut Trial) -> Result<(), Ending> {
    let mut counts = Counts::default();
    for subject in Subject::all(trial)? {
        for most in TOO_MANY {
            let mut zeros = subject.good().to_vec();
            zeros.resize(most.max(zeros.len() + 1), 0);
            let mut any = subject.good().to_vec();
            any.resize_with(zeros.len(), || trial.rng().u32(..));
            subject.run(trial, &zeros, &mut counts)?;
            subject.run(trial, &any, &mut counts)?;
        }
    }
    counts.tell(trial);
    Ok(())
}

pub(super) fn out_of_range(trial: &mut Trial) -> Result<(), Ending> {
    let mut counts = Counts::default();
    let times = trial.times(15).clamp(100, 400);
    for subject in Subject::all(trial)? {
        for _ in 0..times {
            let words = any_words(subject.good(), trial.rng());
            subject.run(trial, &words, &mut counts)?;
        }
    }
    counts.tell(trial);
    Ok(())
}

/// Words of which one or all are random; `good` ones may be available.
fn any_words(good: &[u32], rng: &mut Rng) -> Vec<u32> {
    if good.is_empty() || rng.u8(..3) == 0 {
        let count = rng.usize(..=good.len().max(8));
        return (0..count).map(|_| any_word(rng)).collect();
    }
    let mut words = good.to_vec();
    for _ in 0..rng.usize(1..3) {
        let at = rng.usize(..words.len());
        words[at] = any_word(rng);
    }
    match rng.u8(..4) {
        0 => words.truncate(rng.usize(..words.len())),
        1 => words.push(any_word(rng)),
        _ => {}
    }
    words
}

fn any_word(rng: &mut Rng) -> u32 {
    const EDGES: [u32; 10] =
        [0, 1, 255, 256, 65_536, i32::MAX as u32, 1 << 31, u32::MAX - 9, u32::MAX - 1, u32::MAX];
    match rng.u8(..4) {
        0 => rng.u32(..),
        1 => EDGES[rng.usize(..EDGES.len())],
        _ => rng.u32(..40),
    }
}

impl Subject {
    fn all(trial: &mut Trial) -> Result<Vec<Self>, Ending> {
        match trial.target() {
            Target::Hdf5(_) => {
                let half = trial.hdf5()?.clone();
                let lossy = trial.subject()?.native_of(half.id()).and_then(|codec| codec.info().lossy);
                let chunk = Chunk::new(trial, lossy)?;
                Ok(vec![Self::Filter { half, chunk }])
            }
            Target::Native(_) => {
                let codec = trial.native()?.clone();
                let chunk = Chunk::new(trial, codec.info().lossy)?;
                Ok(vec![Self::Native { codec, chunk }])
            }
            _ => Ok(JsonFace::all(trial)?.into_iter().map(Self::Json).collect()),
        }
    }

    fn good(&self) -> &[u32] {
        match self {
            Self::Filter { chunk, .. } | Self::Native { chunk, .. } => &chunk.working,
            Self::Json(_) => &[],
        }
    }

    /// Tries words.
    fn run(&self, trial: &mut Trial, words: &[u32], counts: &mut Counts) -> Result<(), Ending> {
        counts.tried += 1;
        let name = match words {
            [first, .., last] if words.len() > 20 => format!("{} words, {first} .. {last}", words.len()),
            _ => format!("words {words:?}"),
        };
        let worked = trial.limited(LIMIT, &name, || match self {
            Self::Filter { half, chunk } => chunk.filter(half, words, &name),
            Self::Native { codec, chunk } => chunk.native(codec, words, &name),
            Self::Json(face) => json(face, words, &name),
        })?;
        counts.refused += usize::from(!worked);
        Ok(())
    }
}

impl Chunk {
    /// Of the first type that the codec is known to take; if none is known, of ordinary numbers. `lossy`: whether the
    /// codec is, with some parameters.
    fn new(trial: &mut Trial, lossy: Option<bool>) -> Result<Self, Ending> {
        let types = [(Kind::Float, 4), (Kind::UInt, 1), (Kind::UInt, 2), (Kind::Int, 4), (Kind::Float, 8)];
        let samples =
            types.map(|(kind, size)| Sample::new(Dtype::little(kind, size), &[16, 16], Content::Smooth, 1));
        let mut known = false;
        for sample in &samples {
            let Ok(coding) = trial.coding(sample) else { continue };
            known = true;
            let working = match &coding.face {
                Face::Filter(_, working) => working.clone(),
                Face::Native(_) => native_words(trial, sample),
            };
            let fidelity = if lossy == Some(true) { Fidelity::Lossy } else { coding.fidelity };
            let chunk = Self { sample: sample.clone(), working, fidelity };
            trial.step(format!("{} with {}", sample.name(), coding.name));
            let back = coding
                .encode(&sample.bytes)
                .and_then(|stream| coding.decode(&stream, sample.bytes.len()))
                .map_err(|error| error.to_string());
            // If ordinary parameters do not work, others show nothing.
            if chunk.compare(back.as_deref().map_err(Clone::clone), fidelity, &coding.name).is_ok() {
                return Ok(chunk);
            }
        }
        if known {
            return Err(Ending::skipped(
                "with its ordinary parameters it gives back no small chunk; see the checks of round trips",
            ));
        }
        let [sample, ..] = samples;
        Ok(Self { sample, working: Vec::new(), fidelity: Fidelity::Exact })
    }

    /// Encodes and decodes with the words as `cd_values`; whether it worked.
    fn filter(&self, half: &Hdf5Filter, words: &[u32], name: &str) -> Result<bool, Ending> {
        let coding = Coding {
            name: name.to_owned(),
            face: Face::Filter(half.clone(), words.to_vec()),
            fidelity: self.fidelity,
            concurrent: false,
            host: ncz_registry::load::probe::Host::Malloc,
        };
        let Ok(stream) = coding.encode(&self.sample.bytes) else { return Ok(false) };
        let chunk = coding.decode(&stream, self.sample.bytes.len());
        self.compare(chunk.as_deref().map_err(ToString::to_string), self.fidelity, name)?;
        Ok(true)
    }

    /// Takes the words as given ones and as working ones; whether either worked.
    fn native(&self, codec: &NativeCodec, words: &[u32], name: &str) -> Result<bool, Ending> {
        let mut worked = false;
        if let Ok(config) = sound(codec.parse_params(words))? {
            let _ = sound(config.to_params())?;
            for dialect in [ncz_codec::Dialect::Numcodecs, ncz_codec::Dialect::ZarrV3] {
                let _ = sound(config.to_json(dialect))?;
            }
            for container in [Container::Hdf5, Container::NczarrV2, Container::ZarrV3] {
                if let Ok(bound) = sound(config.bind(&self.sample.repr(), &self.sample.env(container)))? {
                    // The promises of a configuration hold only for that configuration.
                    let fidelity = if bound.lossy == Some(false) { Fidelity::Exact } else { self.fidelity };
                    worked |= self.coder(&*bound.coder, fidelity, &format!("given {name}"))?;
                }
            }
        }
        if let Ok(coder) = sound(codec.coder(words))? {
            worked |= self.coder(&*coder, self.fidelity, &format!("working {name}"))?;
        }
        Ok(worked)
    }

    fn coder(&self, coder: &dyn AnyCoder, fidelity: Fidelity, name: &str) -> Result<bool, Ending> {
        let input = &self.sample.bytes;
        let Some(most) = coder.max_encoded_len(input.len()) else { return Ok(false) };
        if most > 1 << 30 {
            return Err(Ending::failed(format!("{name}: {} bytes may become {most}", input.len())));
        }
        let mut scratch = coder.scratch();
        let mut stream = vec![0; most];
        let Ok(len) = sound(coder.encode(&mut scratch, input, &mut stream))? else { return Ok(false) };
        let mut chunk = vec![0; input.len()];
        let decoded = sound(coder.decode(&mut scratch, &stream[..len], &mut chunk))?;
        let decoded = decoded.map(|len| &chunk[..len]).map_err(|error| error.to_string());
        self.compare(decoded, fidelity, name)?;
        Ok(true)
    }

    /// Data that were encoded without an error must be restored.
    fn compare(&self, chunk: Result<&[u8], String>, fidelity: Fidelity, name: &str) -> Result<(), Ending> {
        let want = &self.sample.bytes;
        let of = self.sample.name();
        match chunk {
            Err(error) => Err(Ending::failed(format!(
                "with {name} it encodes a chunk of {of} and does not decode it: {error}"
            ))),
            Ok(chunk) if chunk.len() != want.len() => Err(Ending::failed(format!(
                "with {name} a chunk of {of} is decoded to {} of {} bytes",
                chunk.len(),
                want.len()
            ))),
            Ok(chunk) if fidelity == Fidelity::Exact && chunk != want => {
                Err(Ending::failed(format!("with {name} a chunk of {of} is decoded to other values")))
            }
            Ok(_) => Ok(()),
        }
    }
}

impl Counts {
    fn tell(&self, trial: &mut Trial) {
        trial.figure("tried", self.tried);
        trial.figure("refused", self.refused);
    }
}

/// The working words of a native codec's defaults.
fn native_words(trial: &Trial, sample: &Sample) -> Vec<u32> {
    let bound = trial.native().ok().and_then(|codec| {
        let config = codec.parse_params(&[]).ok()?;
        config.bind(&sample.repr(), &sample.env(Container::Hdf5)).ok()
    });
    bound.map(|bound| bound.working).unwrap_or_default()
}

/// Converts words to JSON; the JSON must be accepted and mean the same. Returns whether the words were accepted.
fn json(face: &JsonFace, words: &[u32], name: &str) -> Result<bool, Ending> {
    let Ok(first) = face.of_words(words)? else { return Ok(false) };
    let Some(config) = &first.json else { return Ok(true) };
    match face.take_config(config)? {
        Ok(again) if again.json == first.json => Ok(true),
        Ok(again) => Err(Ending::failed(format!(
            "for {name} it writes {}, and given that {}",
            shown(&first.text),
            shown(&again.text)
        ))),
        Err(refusal) => Err(Ending::failed(format!(
            "for {name} it writes {}, which it refuses to read: {}",
            shown(&first.text),
            refusal.why
        ))),
    }
}
