//! Raw calls of a filter function and what every answer has to keep.

use ncz_registry::load::Hdf5Filter;
use ncz_registry::load::probe::{FilterAnswer, FilterCall, ParamsEnd};

use crate::coding::{Coding, Face};
use crate::outcome::Ending;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

/// A filter with its parameters, and a chunk for it.
pub(super) struct Filter {
    pub(super) half: Hdf5Filter,
    pub(super) words: Vec<u32>,
    pub(super) sample: Sample,
}

/// The two directions of a filter.
pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Encode, Direction::Decode];

/// A direction of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encode,
    Decode,
}

impl Filter {
    /// The filter that is looked at, with a chunk of about `len` bytes and its ordinary parameters.
    pub(super) fn usual(trial: &Trial, len: usize, content: Content) -> Result<Self, Ending> {
        let (sample, coding) = trial.usual(len, content)?;
        Self::of(&coding, sample).ok_or_else(|| Ending::skipped("it is not a filter"))
    }

    /// The filter after a coding.
    pub(super) fn of(coding: &Coding, sample: Sample) -> Option<Self> {
        match &coding.face {
            Face::Filter(half, words) => Some(Self { half: half.clone(), words: words.clone(), sample }),
            Face::Native(_) => None,
        }
    }

    /// A call that is still to be made.
    pub(super) fn call<'a>(&'a self, direction: Direction, input: &'a [u8]) -> FilterCall<'a> {
        let call = match direction {
            Direction::Encode => FilterCall::encode(&self.words, input),
            Direction::Decode => FilterCall::decode(&self.words, input),
        };
        FilterCall { params_end: ParamsEnd::Words(0), ..call }
    }

    /// Makes a call.
    pub(super) fn make(&self, call: &FilterCall<'_>) -> Result<FilterAnswer, Ending> {
        self.half.probe(call).map_err(|error| Ending::skipped(format!("no memory for the call: {error}")))
    }

    /// Returns the chunk's stream; `None` if it is refused.
    pub(super) fn stream(&self, trial: &mut Trial) -> Result<Option<Vec<u8>>, Ending> {
        trial.step(format_args!("encoding {}", self.sample.name()));
        let answer = self.make(&self.call(Direction::Encode, &self.sample.bytes))?;
        Ok((!answer.failed()).then(|| answer.bytes().to_vec()))
    }

    /// Returns the result of repeated calls; `None` if they differ, which another check reports.
    pub(super) fn steady(&self, call: &FilterCall<'_>) -> Result<Option<FilterAnswer>, Ending> {
        let (answer, again) = (self.make(call)?, self.make(call)?);
        Ok((answer.failed() == again.failed() && answer.bytes() == again.bytes()).then_some(answer))
    }

    /// Returns the chunk, or its stream, for a call in that direction; `None` if it is refused.
    pub(super) fn input(&self, trial: &mut Trial, direction: Direction) -> Result<Option<Vec<u8>>, Ending> {
        match direction {
            Direction::Encode => Ok(Some(self.sample.bytes.clone())),
            Direction::Decode => self.stream(trial),
        }
    }
}

impl Direction {
    /// For messages.
    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Encode => "encoding",
            Self::Decode => "decoding",
        }
    }
}

/// Chunks that grow, that shrink and that stay as they are.
pub(super) fn contents() -> [(usize, Content); 4] {
    [(12_288, Content::Smooth), (65_536, Content::Zeros), (4096, Content::Noise), (64, Content::Noise)]
}

/// No call came to a result that could be looked at.
pub(super) fn nothing_taken() -> Ending {
    Ending::skipped("nothing could be looked at: every chunk is refused, or gives another result each time")
}

pub(super) fn size(trial: &mut Trial) -> Result<(), Ending> {
    let mut looked = 0;
    let mut findings = Vec::new();
    for (len, content) in contents() {
        let filter = Filter::usual(trial, len, content)?;
        for direction in DIRECTIONS {
            let Some(input) = filter.input(trial, direction)? else { continue };
            trial.step(format_args!("{} {}", direction.verb(), filter.sample.name()));
            let answer = filter.make(&filter.call(direction, &input))?;
            if answer.returned == 0 || answer.lost() || answer.returned > isize::MAX as usize {
                continue;
            }
            looked += 1;
            let what = format!("{} {}", direction.verb(), filter.sample.name());
            if answer.returned > answer.holds {
                findings.push(format!(
                    "{what}: it returns {} bytes, but its block holds {}",
                    answer.returned, answer.holds
                ));
            } else if answer.buf_size < answer.returned {
                findings.push(format!(
                    "{what}: *buf_size is {}, less than the {} bytes that it returns",
                    answer.buf_size, answer.returned
                ));
            } else if answer.buf_size > answer.holds {
                findings.push(format!(
                    "{what}: *buf_size is {}, but its block holds {}",
                    answer.buf_size, answer.holds
                ));
            }
        }
    }
    match (looked, findings.is_empty()) {
        (0, _) => Err(nothing_taken()),
        (_, true) => Ok(()),
        (_, false) => Err(Ending::failed(format!(
            "{}. The next filter of a pipeline, and HDF5 itself, go by *buf_size",
            findings.join("; ")
        ))),
    }
}

pub(super) fn capacity(trial: &mut Trial) -> Result<(), Ending> {
    let mut looked = 0;
    for (len, content) in contents() {
        let filter = Filter::usual(trial, len, content)?;
        for direction in DIRECTIONS {
            let Some(input) = filter.input(trial, direction)? else { continue };
            trial.step(format_args!("{} {}", direction.verb(), filter.sample.name()));
            let plain = filter.call(direction, &input);
            let Some(want) = filter.steady(&plain)? else { continue };
            looked += usize::from(!want.failed());
            for capacity in [input.len() + 1, input.len() + 4096, 3 * input.len() + 77] {
                let what = format!(
                    "{} {} in a buffer of {capacity} bytes, {} of them valid",
                    direction.verb(),
                    filter.sample.name(),
                    input.len()
                );
                trial.step(&what);
                // Bytes that look like more input.
                let call = FilterCall { capacity, after: &input, filler: 0xff, ..plain };
                let answer = filter.make(&call)?;
                if answer.failed() != want.failed() {
                    let how = if answer.failed() { "fails" } else { "works" };
                    return Err(Ending::failed(format!("{what}: it {how}, unlike in one that just fits")));
                }
                if !answer.failed() && answer.bytes() != want.bytes() {
                    return Err(Ending::failed(format!(
                        "{what}: the result of {} bytes is another than in a buffer that just fits, {} bytes",
                        answer.returned, want.returned
                    )));
                }
                if answer.buf_size > answer.holds {
                    return Err(Ending::failed(format!(
                        "{what}: *buf_size is {} then, but its block holds {}",
                        answer.buf_size, answer.holds
                    )));
                }
            }
        }
    }
    if looked == 0 { Err(nothing_taken()) } else { Ok(()) }
}

pub(super) fn beyond_parameters(trial: &mut Trial) -> Result<(), Ending> {
    let mut looked = 0;
    let (sample, _) = trial.usual(12_288, Content::Smooth)?;
    for coding in trial.codings(&sample)? {
        let Some(filter) = Filter::of(&coding, sample.clone()) else { continue };
        for direction in DIRECTIONS {
            let Some(input) = filter.input(trial, direction)? else { continue };
            let what = format!("{} {} with {}", direction.verb(), sample.name(), coding.name);
            trial.step(&what);
            let plain = filter.call(direction, &input);
            let Some(want) = filter.steady(&plain)? else { continue };
            looked += usize::from(!want.failed());
            for word in [1, u32::MAX] {
                trial.step(format_args!("{what} and words of {word} after them"));
                let answer = filter.make(&FilterCall { params_end: ParamsEnd::Words(word), ..plain })?;
                if answer.failed() != want.failed() || answer.bytes() != want.bytes() {
                    return Err(Ending::failed(format!(
                        "{what}: the result differs between following words of {word} and of zero"
                    )));
                }
            }
            trial.step(format_args!("{what}, which end at a page that traps"));
            filter.make(&FilterCall { params_end: ParamsEnd::Trap, ..plain })?;
            // HDF5 has a null pointer there. That the filter refuses is as good as that it works.
            trial.step(format_args!("{} {} with no cd_values", direction.verb(), sample.name()));
            filter.make(&FilterCall { params: &[], params_end: ParamsEnd::Trap, ..plain })?;
        }
    }
    if looked == 0 { Err(nothing_taken()) } else { Ok(()) }
}
