//! Checks the buffers that a failing filter function leaves.

use ncz_codec::{Dtype, Kind};
use ncz_registry::load::probe::FilterAnswer;

use crate::outcome::Ending;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

use super::filter::{Direction, Filter};

/// A call that may fail.
struct Provocation {
    what: String,
    direction: Direction,
    input: Vec<u8>,
}

/// Calls that most filters refuse, the harmless ones first: streams that are none, and chunks that do
/// not shrink.
fn provocations(trial: &mut Trial, filter: &Filter) -> Result<Vec<Provocation>, Ending> {
    let garbage = Sample::new(filter.sample.dtype, &[100], Content::Noise, 7).bytes;
    let mut all = Vec::new();
    let mut push = |what: &str, direction, input: Vec<u8>| {
        all.push(Provocation { what: what.to_owned(), direction, input });
    };
    push("decoding random bytes", Direction::Decode, garbage);
    if let Some(stream) = filter.stream(trial)? {
        let head = stream.len().min(24);
        let mut damaged = stream.clone();
        damaged[..head].fill(0xff);
        push("decoding a stream whose head is overwritten", Direction::Decode, damaged);
        let keep = stream.len().min(16);
        let mut damaged = stream;
        let noise =
            Sample::new(Dtype::little(Kind::UInt, 1), &[(damaged.len() - keep) as u64], Content::Noise, 11)
                .bytes;
        damaged[keep..].copy_from_slice(&noise);
        push("decoding random bytes after the head of a stream", Direction::Decode, damaged);
    }
    let chunk = &filter.sample;
    let noise = Sample::new(chunk.dtype, &chunk.shape, Content::Noise, 3).bytes;
    push("encoding random values", Direction::Encode, noise);
    Ok(all)
}

/// Calls that damage fragile filters; used only if nothing else makes one fail.
fn harsh(trial: &mut Trial, filter: &Filter) -> Result<Vec<Provocation>, Ending> {
    let mut all = Vec::new();
    if let Some(mut stream) = filter.stream(trial)? {
        stream.truncate(stream.len() / 2);
        all.push(Provocation {
            what: "decoding half a stream".to_owned(),
            direction: Direction::Decode,
            input: stream,
        });
    }
    Ok(all)
}

/// Makes the calls that may fail; those that did.
fn failures(trial: &mut Trial) -> Result<Vec<(Provocation, FilterAnswer)>, Ending> {
    let filter = Filter::usual(trial, 12_288, Content::Smooth)?;
    let all = provocations(trial, &filter)?;
    let mut failed = make(trial, &filter, all)?;
    if failed.is_empty() {
        let more = harsh(trial, &filter)?;
        failed = make(trial, &filter, more)?;
    }
    trial.figure("failures", failed.len());
    match failed.is_empty() {
        true => Err(Ending::skipped("no call could be made to fail")),
        false => Ok(failed),
    }
}

/// Makes the calls; those that failed, as the filter or a careful host sees it.
fn make(
    trial: &mut Trial,
    filter: &Filter,
    all: Vec<Provocation>,
) -> Result<Vec<(Provocation, FilterAnswer)>, Ending> {
    let mut failed = Vec::new();
    for provocation in all {
        trial.step(&provocation.what);
        let answer = filter.make(&filter.call(provocation.direction, &provocation.input))?;
        if answer.failed() || answer.lost() {
            failed.push((provocation, answer));
        }
    }
    Ok(failed)
}

pub(super) fn value(trial: &mut Trial) -> Result<(), Ending> {
    let mut findings = Vec::new();
    for (provocation, answer) in failures(trial)? {
        if answer.returned == 0 {
            continue;
        }
        let signed = answer.returned as isize;
        let value = if signed < 0 {
            format!("{} (as a signed number {signed})", answer.returned)
        } else {
            signed.to_string()
        };
        findings.push(format!("{} fails with {value}", provocation.what));
    }
    match findings.is_empty() {
        true => Ok(()),
        false => Err(Ending::failed(format!(
            "{}. HDF5 interprets every value except 0 as the length of the result, and continues with that many bytes",
            findings.join("; ")
        ))),
    }
}

pub(super) fn buffer(trial: &mut Trial) -> Result<(), Ending> {
    let mut all = failures(trial)?;
    // Data loss in a write is worse.
    all.sort_by_key(|(provocation, _)| provocation.direction == Direction::Decode);
    for (provocation, answer) in all {
        let what = &provocation.what;
        let len = provocation.input.len();
        if answer.lost() {
            let harm = match provocation.direction {
                Direction::Encode => "the bytes are gone that HDF5 stores when an optional filter fails",
                Direction::Decode => "the host cannot free what it gave",
            };
            return Err(Ending::failed(format!("{what} fails and leaves a null *buf: {harm}")));
        }
        if answer.buf_size > answer.holds {
            return Err(Ending::failed(format!(
                "{what} fails and leaves a *buf_size of {}, but the block holds {}",
                answer.buf_size, answer.holds
            )));
        }
        if answer.buf_size < len {
            return Err(Ending::failed(format!(
                "{what} fails and leaves a *buf_size of {}, less than the {len} bytes of the input",
                answer.buf_size
            )));
        }
        if answer.left(len) != provocation.input {
            let text = format!("{what} fails and leaves other bytes in the buffer than it was given");
            match provocation.direction {
                Direction::Encode => {
                    return Err(Ending::failed(format!(
                        "{text}: HDF5 stores them as the chunk when an optional filter fails"
                    )));
                }
                // A read that fails ends there.
                Direction::Decode => trial.warn(text),
            }
        }
    }
    Ok(())
}
