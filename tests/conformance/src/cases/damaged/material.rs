//! The good streams that are damaged, and how a damaged one is decoded.

use std::time::Duration;

use ncz_codec::{Dtype, Kind, Scratch};
use ncz_registry::load::probe::{FilterCall, Guarded, ParamsEnd};

use crate::clock::cpu_time;
use crate::coding::{Coding, Face, taken};
use crate::outcome::Ending;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

/// Elements and types of the chunks, all of 16 KiB; the first that the codec takes is used.
const CHUNKS: [(Kind, usize, [u64; 2]); 4] = [
    (Kind::Float, 4, [64, 64]),
    (Kind::UInt, 2, [64, 128]),
    (Kind::UInt, 1, [128, 128]),
    (Kind::Float, 8, [32, 64]),
];
/// The room for a native decoder's input.
const INPUT_MAX: usize = 1 << 20;
/// The room for a native decoder's output.
const OUTPUT_MAX: usize = (16 << 10) + 64;

/// Good streams, and the memory in which they are decoded.
pub(super) struct Material {
    /// One stream for each content that the codec takes.
    pub(super) streams: Vec<Stream>,
    /// Both end at a guard page; a native decoder gets their last bytes.
    input: Guarded,
    output: Guarded,
}

/// A good stream.
pub(super) struct Stream {
    /// The chunk of the stream.
    pub(super) name: String,
    /// Its bytes.
    pub(super) stream: Vec<u8>,
    /// The stream of another chunk with the same parameters.
    pub(super) other: Vec<u8>,
    /// The data of the good stream.
    pub(super) clean: Vec<u8>,
    /// The processor time that this takes.
    pub(super) cost: Duration,
    coding: Coding,
    scratch: Option<Scratch>,
}

/// The result for a stream.
pub(super) struct Decoded {
    /// The decoded data.
    pub(super) result: Data,
    /// The processor time that it took.
    pub(super) cost: Duration,
}

/// The decoded data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// None: an error.
    Refused,
    /// Those of the good stream.
    Same,
    /// Others of the same length.
    Wrong,
    /// Too few bytes.
    Short,
    /// Too many bytes.
    Long,
}

impl Material {
    /// Encodes chunks for the trial's codec.
    pub(super) fn new(trial: &mut Trial) -> Result<Self, Ending> {
        let memory = |error: std::io::Error| Ending::skipped(format!("no memory for the streams: {error}"));
        let mut material = Self {
            streams: Vec::new(),
            input: Guarded::zeroed(INPUT_MAX).map_err(memory)?,
            output: Guarded::zeroed(OUTPUT_MAX).map_err(memory)?,
        };
        let mut why = Ending::skipped("no chunk to damage");
        for content in [Content::Smooth, Content::Runs, Content::Noise] {
            match Stream::new(trial, content) {
                Ok(stream) => material.streams.push(stream),
                Err(ending) => why = ending,
            }
        }
        if material.streams.is_empty() {
            return Err(why);
        }
        for kind in 0..material.streams.len() {
            material.measure(trial, kind)?;
        }
        Ok(material)
    }

    /// Takes the time of the good stream, and sees to it that it decodes here as it did before.
    fn measure(&mut self, trial: &mut Trial, kind: usize) -> Result<(), Ending> {
        let Stream { stream, name, .. } = &self.streams[kind];
        let (stream, name) = (stream.clone(), name.clone());
        trial.step(format!("the good stream of {name}"));
        let mut costs = Vec::new();
        for _ in 0..5 {
            let decoded = self.decode(kind, &stream, 0)?;
            if decoded.result != Data::Same {
                return Err(Ending::failed(format!(
                    "the good stream of {name} does not decode to the same data again: {:?}",
                    decoded.result
                )));
            }
            costs.push(decoded.cost);
        }
        costs.sort();
        self.streams[kind].cost = costs[2];
        Ok(())
    }

    /// Decodes damaged bytes as the stream of that kind; a native decoder gets `more` bytes of room than it needs.
    pub(super) fn decode(&mut self, kind: usize, bytes: &[u8], more: usize) -> Result<Decoded, Ending> {
        let Stream { clean, coding, scratch, .. } = &mut self.streams[kind];
        match &coding.face {
            Face::Filter(half, working) => {
                // The bytes after a truncated stream differ from those that were cut off.
                let filler = !bytes.last().copied().unwrap_or_default();
                let params_end = ParamsEnd::Words(0);
                let host = coding.host;
                let call = FilterCall { filler, host, params_end, ..FilterCall::decode(working, bytes) };
                let start = cpu_time();
                let answer = half
                    .probe(&call)
                    .map_err(|error| Ending::skipped(format!("no memory for the call: {error}")))?;
                let cost = cpu_time().saturating_sub(start);
                let result = taken(&answer).map_or(Data::Refused, |data| Data::of(data, clean));
                Ok(Decoded { result, cost })
            }
            Face::Native(coder) => {
                let room = self.input.as_mut_slice();
                let at = room.len().checked_sub(bytes.len());
                let at = at.ok_or_else(|| Ending::skipped("the stream is too long for this check"))?;
                room[at..].copy_from_slice(bytes);
                let input = &self.input.as_slice()[at..];
                let output = self.output.as_mut_slice();
                let at = output.len().saturating_sub(clean.len() + more);
                let output = &mut output[at..];
                let start = cpu_time();
                // Hosts query this for damaged streams too.
                let _ = coder.decoded_len(input);
                let scratch = scratch.get_or_insert_with(|| coder.scratch());
                let written = coder.decode(scratch, input, output);
                let cost = cpu_time().saturating_sub(start);
                let result = match written {
                    Ok(len) if len <= output.len() => Data::of(&output[..len], clean),
                    _ => Data::Refused,
                };
                Ok(Decoded { result, cost })
            }
        }
    }
}

impl Stream {
    /// The stream of the first kind of chunk that the codec takes.
    fn new(trial: &mut Trial, content: Content) -> Result<Self, Ending> {
        let mut why = Ending::skipped("no chunk to damage");
        for (kind, size, shape) in CHUNKS {
            let [sample, other] = [1, 2].map(|seed| chunk(Dtype::little(kind, size), &shape, content, seed));
            let coding = match trial.coding(&sample) {
                Ok(coding) => coding,
                Err(ending) => {
                    why = ending;
                    continue;
                }
            };
            let name = sample.name();
            trial.step(format!("encoding {name}, {}", coding.name));
            let refused = |what: &str, error| {
                Ending::skipped(format!("no stream to damage: {name} is not {what}: {error}"))
            };
            let streams = coding.encode(&sample.bytes).and_then(|stream| {
                let other = coding.encode(&other.bytes)?;
                Ok((stream, other))
            });
            let (stream, other) = streams.map_err(|error| refused("encoded", error))?;
            trial.step(format!("decoding {name}, {}", coding.name));
            let clean =
                coding.decode(&stream, sample.bytes.len()).map_err(|error| refused("decoded", error))?;
            if clean.len() != sample.bytes.len() {
                return Err(Ending::skipped(format!(
                    "no stream to damage: {name} decodes to {} of {} bytes",
                    clean.len(),
                    sample.bytes.len()
                )));
            }
            return Ok(Self { name, stream, other, clean, cost: Duration::ZERO, coding, scratch: None });
        }
        Err(why)
    }
}

impl Data {
    fn of(data: &[u8], clean: &[u8]) -> Self {
        match data.len().cmp(&clean.len()) {
            std::cmp::Ordering::Less => Self::Short,
            std::cmp::Ordering::Greater => Self::Long,
            std::cmp::Ordering::Equal if data == clean => Self::Same,
            std::cmp::Ordering::Equal => Self::Wrong,
        }
    }
}

/// A chunk whose floating-point numbers are finite: this checks damage, not the handling of NaN.
fn chunk(dtype: Dtype, shape: &[u64], content: Content, seed: u64) -> Sample {
    let mut sample = Sample::new(dtype, shape, content, seed);
    if dtype.kind == Kind::Float {
        // Without its highest bit, an exponent is that of a number below 2.
        sample.bytes.iter_mut().skip(dtype.size - 1).step_by(dtype.size).for_each(|byte| *byte &= 0xbf);
    }
    sample
}
