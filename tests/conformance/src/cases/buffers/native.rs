//! Bytes that are out of bounds: after the input, after the output, and the input itself.

use std::hint::black_box;
use std::io;
use std::sync::Arc;

use ncz_codec::AnyCoder;
use ncz_registry::load::probe::{self, FilterCall, Guarded};

use crate::coding::{Coding, Face};
use crate::outcome::Ending;
use crate::profile::Fidelity;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

use super::filter::{DIRECTIONS, Direction, Filter, contents, nothing_taken};

/// A native coder, a chunk and its stream.
struct Native {
    coder: Arc<dyn AnyCoder>,
    sample: Sample,
    stream: Vec<u8>,
    fidelity: Fidelity,
}

impl Native {
    fn usual(trial: &mut Trial, len: usize, content: Content) -> Result<Self, Ending> {
        let (sample, coding) = trial.usual(len, content)?;
        trial.step(format_args!("encoding {}", sample.name()));
        let stream = encoded(&coding, &sample)?;
        match coding.face {
            Face::Native(coder) => Ok(Self { coder, sample, stream, fidelity: coding.fidelity }),
            Face::Filter(..) => Err(Ending::skipped("it is not a native codec")),
        }
    }

    /// Encodes or decodes into exactly this much room, between guard pages.
    fn run(&self, direction: Direction, input: &[u8], output: &mut Guarded) -> ncz_codec::Result<usize> {
        let mut scratch = self.coder.scratch();
        match direction {
            Direction::Encode => self.coder.encode(&mut scratch, input, output.as_mut_slice()),
            Direction::Decode => self.coder.decode(&mut scratch, input, output.as_mut_slice()),
        }
    }

    fn input(&self, direction: Direction) -> &[u8] {
        match direction {
            Direction::Encode => &self.sample.bytes,
            Direction::Decode => &self.stream,
        }
    }

    /// The buffer size of a careful host.
    fn room(&self, direction: Direction) -> Result<usize, Ending> {
        match direction {
            Direction::Encode => self.coder.max_encoded_len(self.sample.bytes.len()).ok_or_else(|| {
                Ending::failed(format!("there is no longest stream of {} bytes", self.sample.bytes.len()))
            }),
            Direction::Decode => Ok(self.sample.bytes.len()),
        }
    }
}

fn encoded(coding: &Coding, sample: &Sample) -> Result<Vec<u8>, Ending> {
    coding
        .encode(&sample.bytes)
        .map_err(|error| Ending::failed(format!("{} is refused: {error}", sample.name())))
}

fn no_memory(error: &io::Error) -> Ending {
    Ending::skipped(format!("no memory for the call: {error}"))
}

pub(super) fn beyond_output(trial: &mut Trial) -> Result<(), Ending> {
    let is_filter = trial.hdf5().is_ok();
    let mut looked = 0;
    for (len, content) in contents() {
        if is_filter {
            looked += filter_beyond_output(trial, len, content)?;
            continue;
        }
        let native = Native::usual(trial, len, content)?;
        for direction in DIRECTIONS {
            // With as much room as there is data for, and with less: then it has to stop.
            let room = native.room(direction)?;
            for room in [room, room / 2, room.saturating_sub(1), 1, 0] {
                trial.step(format_args!(
                    "{} {} into {room} bytes before a page that traps",
                    direction.verb(),
                    native.sample.name()
                ));
                let mut output = Guarded::zeroed(room).map_err(|error| no_memory(&error))?;
                looked += usize::from(native.run(direction, native.input(direction), &mut output).is_ok());
            }
        }
    }
    if looked == 0 { Err(nothing_taken()) } else { Ok(()) }
}

/// The number of successful calls.
fn filter_beyond_output(trial: &mut Trial, len: usize, content: Content) -> Result<usize, Ending> {
    let mut looked = 0;
    let filter = Filter::usual(trial, len, content)?;
    for direction in DIRECTIONS {
        let Some(input) = filter.input(trial, direction)? else { continue };
        for more in [0, 1, 100, 3 * input.len()] {
            let capacity = input.len() + more;
            let what = format!(
                "{} {} in a buffer of {capacity} bytes, {} of them valid",
                direction.verb(),
                filter.sample.name(),
                input.len()
            );
            trial.step(&what);
            let call = FilterCall { capacity, filler: 0xa5, ..filter.call(direction, &input) };
            let answer = filter.make(&call)?;
            looked += usize::from(!answer.failed());
            if let Some(changed @ 1..) = answer.beyond {
                return Err(Ending::failed(format!("{what}: {changed} bytes after its end are changed")));
            }
        }
    }
    Ok(looked)
}

pub(super) fn beyond_input(trial: &mut Trial) -> Result<(), Ending> {
    let (sample, coding) = trial.usual(12_288, Content::Smooth)?;
    if let Some(filter) = Filter::of(&coding, sample) {
        return filter_beyond_input(trial, &filter);
    }
    for (len, content) in contents() {
        let native = Native::usual(trial, len, content)?;
        for direction in DIRECTIONS {
            let whole = native.input(direction);
            for len in cuts(trial, whole.len()) {
                trial.step(format_args!(
                    "{} {len} of {} bytes of {} before a page that traps",
                    direction.verb(),
                    whole.len(),
                    native.sample.name()
                ));
                // Another check reports a codec that writes to its input.
                let mut input = Guarded::zeroed(len).map_err(|error| no_memory(&error))?;
                input.as_mut_slice().copy_from_slice(&whole[..len]);
                let room = native.room(direction)?;
                let mut output = Guarded::zeroed(room).map_err(|error| no_memory(&error))?;
                let _ = native.run(direction, input.as_slice(), &mut output);
            }
        }
    }
    Ok(())
}

/// Lengths to cut an input of `len` bytes to: the whole, and some shorter.
fn cuts(trial: &mut Trial, len: usize) -> Vec<usize> {
    let mut cuts = vec![len, len.saturating_sub(1), len / 2, 16.min(len), 4.min(len), 1.min(len)];
    let more = trial.times(10).min(200);
    cuts.extend((0..more).map(|_| trial.rng().usize(..=len)));
    cuts
}

/// The same call with other bytes after the input has the same outcome.
fn filter_beyond_input(trial: &mut Trial, filter: &Filter) -> Result<(), Ending> {
    let Some(stream) = filter.stream(trial)? else { return Err(Ending::skipped("no chunk was taken")) };
    let mut unsteady = false;
    for len in cuts(trial, stream.len()).into_iter().filter(|&len| len > 0) {
        let (input, after) = stream.split_at(len);
        let what = match after.is_empty() {
            true => format!("decoding the stream of {}", filter.sample.name()),
            false => {
                format!("decoding {len} of {} bytes of the stream of {}", stream.len(), filter.sample.name())
            }
        };
        trial.step(&what);
        let plain = filter.call(Direction::Decode, input);
        let outcome = |call: &FilterCall<'_>| -> Result<(usize, Vec<u8>), Ending> {
            // Unwritten memory is the same in all calls.
            probe::fill_fresh_memory(0x5a);
            let answer = filter.make(call);
            probe::fill_fresh_memory(0);
            let answer = answer?;
            Ok(if answer.failed() { (0, Vec::new()) } else { (answer.returned, answer.bytes().to_vec()) })
        };
        let zeros = outcome(&plain)?;
        if outcome(&plain)? != zeros {
            unsteady = true;
            continue;
        }
        let ones = outcome(&FilterCall { filler: 0xff, ..plain })?;
        let more = outcome(&FilterCall { after, ..plain })?;
        for (other, name) in [(ones, "0xff"), (more, "the rest of the stream")] {
            if other != zeros {
                return Err(Ending::failed(format!(
                    "{what}: with zeros after it gives {} bytes, with {name} {}: memory after the input is read",
                    zeros.0,
                    if zeros.0 == other.0 { "other ones".to_owned() } else { format!("{} bytes", other.0) }
                )));
            }
        }
    }
    if unsteady {
        trial.warn("some truncated streams decode to different data each time: unwritten memory is read");
    }
    Ok(())
}

pub(super) fn input_kept(trial: &mut Trial) -> Result<(), Ending> {
    for (len, content) in contents() {
        let native = Native::usual(trial, len, content)?;
        for direction in DIRECTIONS {
            let input = native.input(direction).to_vec();
            let mut output = Guarded::zeroed(native.room(direction)?).map_err(|error| no_memory(&error))?;
            trial.step(format_args!("{} {}", direction.verb(), native.sample.name()));
            let _ = native.run(direction, black_box(&input), &mut output);
            if black_box(&input) != native.input(direction) {
                return Err(Ending::failed(format!(
                    "{} {} changes its input",
                    direction.verb(),
                    native.sample.name()
                )));
            }
        }
    }
    Ok(())
}

pub(super) fn small_output(trial: &mut Trial) -> Result<(), Ending> {
    for (len, content) in contents() {
        let native = Native::usual(trial, len, content)?;
        let len = native.sample.bytes.len();
        let mut rooms = vec![0, 1, 2, 7, 8, len / 2, len.saturating_sub(8), len - 1];
        rooms.extend((0..trial.times(10).min(300)).map(|_| trial.rng().usize(..len)));
        for room in rooms.into_iter().filter(|&room| room < len) {
            let what = format!("decoding {} into {room} of {len} bytes", native.sample.name());
            trial.step(&what);
            let mut output = Guarded::zeroed(room).map_err(|error| no_memory(&error))?;
            if let Ok(written) = native.run(Direction::Decode, &native.stream, &mut output) {
                return Err(Ending::failed(format!("{what} works, and gives {written} bytes")));
            }
        }
        encode_small(trial, &native)?;
    }
    Ok(())
}

/// A stream that does not fit is an error; one that happens to fit is the right one.
fn encode_small(trial: &mut Trial, native: &Native) -> Result<(), Ending> {
    let len = native.stream.len();
    for room in [0, 1, len / 2, len.saturating_sub(1), len] {
        let what = format!("encoding {} into {room} bytes", native.sample.name());
        trial.step(&what);
        let mut output = Guarded::zeroed(room).map_err(|error| no_memory(&error))?;
        let Ok(written) = native.run(Direction::Encode, &native.sample.bytes, &mut output) else { continue };
        let mut chunk = Guarded::zeroed(native.sample.bytes.len()).map_err(|error| no_memory(&error))?;
        let stream = output.as_slice()[..written].to_vec();
        let decoded = native.run(Direction::Decode, &stream, &mut chunk);
        let other = native.fidelity == Fidelity::Exact && chunk.as_slice() != native.sample.bytes;
        if decoded.is_err() || other {
            return Err(Ending::failed(format!("{what} gives a stream of {written} bytes that is none")));
        }
    }
    Ok(())
}
