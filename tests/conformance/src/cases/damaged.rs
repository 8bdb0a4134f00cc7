//! Streams that are cut, changed or made up.
//!
//! A host that reads third-party files gets all of them. Errors are good answers. Wrong data of the right length cannot
//! be detected. ncz and netcdf-c detect too few data, but HDF5 does not compare lengths: it returns the memory after
//! them.

mod material;
mod tally;

use crate::check::{Check, Scope};
use crate::mutation::{Mutator, Sort};
use crate::outcome::Ending;
use crate::trial::Trial;

use material::Material;
use tally::Tally;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "damaged.truncated",
        level: 1,
        scope: Scope::Coding,
        about: "a stream whose end is missing is an error, no chunk and no part of one; filters that keep lengths cannot detect it",
        run: truncated,
    },
    Check {
        id: "damaged.extended",
        level: 2,
        scope: Scope::Coding,
        about: "bytes after a stream are an error; of an HDF5 filter the right data will do",
        run: extended,
    },
    Check {
        id: "damaged.flipped",
        level: 1,
        scope: Scope::Coding,
        about: "flipped bits end no process, hang nothing and take no memory; a codec with a checksum sees them",
        run: flipped,
    },
    Check {
        id: "damaged.spliced",
        level: 3,
        scope: Scope::Coding,
        about: "a stream that continues with another one does not crash, hang or exhaust memory",
        run: |trial| run(trial, Sort::Spliced).map(drop),
    },
    Check {
        id: "damaged.random",
        level: 2,
        scope: Scope::Coding,
        about: "random bytes end no process, hang nothing and take no memory",
        run: |trial| run(trial, Sort::Random).map(drop),
    },
    Check {
        id: "damaged.lengths",
        level: 2,
        scope: Scope::Coding,
        about: "huge lengths in a stream's head end no process, hang nothing and take no memory",
        run: |trial| run(trial, Sort::Lengths).map(drop),
    },
];

fn truncated(trial: &mut Trial) -> Result<(), Ending> {
    let tally = run(trial, Sort::Truncated)?;
    if let Some(wrong) = &tally.wrong.first {
        return Err(Ending::failed(format!(
            "{} of {} truncated streams give wrong data of the right length without an error, {wrong} for one",
            tally.wrong.count, tally.streams
        )));
    }
    // A checksum fits what is left of a stream now and then.
    let too_many = tally.streams / 10;
    match &tally.short.first {
        Some(short) if trial.hdf5().is_ok() && !tally.keeps_lengths && tally.short.count > too_many => {
            return Err(Ending::failed(format!(
                "{} of {} truncated streams give less than a chunk without an error, {short} for one; HDF5 does not compare lengths and returns the memory after it: store the length in the stream, and return 0",
                tally.short.count, tally.streams
            )));
        }
        _ => {}
    }
    if let Some(same) = &tally.same.first {
        trial.warn(format!(
            "{} of {} truncated streams are accepted without an error, though their data are right, {same} for one",
            tally.same.count, tally.streams
        ));
    }
    Ok(())
}

fn extended(trial: &mut Trial) -> Result<(), Ending> {
    let is_native = trial.native().is_ok();
    let tally = run(trial, Sort::Extended)?;
    if let Some(wrong) = &tally.wrong.first {
        return Err(Ending::failed(format!(
            "{} of {} streams with bytes after them give wrong data of the right length, {wrong} for one",
            tally.wrong.count, tally.streams
        )));
    }
    match &tally.same.first {
        Some(same) if is_native => Err(Ending::failed(format!(
            "{} of {} streams with bytes after them are accepted without the error that the native interface requires, {same} for one",
            tally.same.count, tally.streams
        ))),
        _ => Ok(()),
    }
}

fn flipped(trial: &mut Trial) -> Result<(), Ending> {
    let has_checksum = has_checksum(trial)?;
    let tally = run(trial, Sort::Flipped)?;
    match &tally.wrong.first {
        Some(wrong) if has_checksum => Err(Ending::failed(format!(
            "the codec declares a checksum, and accepts {} of {} damaged streams as good ones of the right length, {wrong} for one",
            tally.wrong.count, tally.streams
        ))),
        _ => Ok(()),
    }
}

/// Tests whether the codec declares that damage is always detected.
fn has_checksum(trial: &Trial) -> Result<bool, Ending> {
    use ncz_codec::CodecType;

    let codec = match trial.native() {
        Ok(codec) => Some(codec),
        Err(_) => trial.subject()?.native_of(trial.hdf5()?.id()),
    };
    Ok(codec.is_some_and(|codec| codec.info().has_checksum))
}

/// Decodes all damaged streams of that sort.
fn run(trial: &mut Trial, sort: Sort) -> Result<Tally, Ending> {
    let mut material = Material::new(trial)?;
    let seed = trial.rng().u64(..);
    let count = trial.settings().mutations.unwrap_or_else(|| trial.times(30).max(100));
    let kinds = material.streams.len();
    let mut tally = Tally::new();
    tally.keeps_lengths = material.streams.iter().all(|stream| stream.stream.len() == stream.clean.len());
    for index in 0..count {
        let (kind, number) = (index % kinds, index / kinds);
        let stream = &material.streams[kind];
        let mutator = Mutator {
            sort,
            seed,
            count: count.div_ceil(kinds),
            stream: &stream.stream,
            other: &stream.other,
        };
        let mutation = mutator.make(number);
        let name = format!("{sort} stream {index} of {} ({})", stream.name, mutation.what);
        if mutation.bytes == stream.stream {
            tally.unchanged += 1;
            continue;
        }
        // A native decoder gets a little more room now and then, to show results that are too long.
        let more = if index % 2 == 0 { 0 } else { 64 };
        let clean = stream.cost;
        let decoded =
            trial.limited(tally::limit(clean), &name, || material.decode(kind, &mutation.bytes, more))?;
        tally.add(&name, &decoded, clean)?;
    }
    tally.tell(trial);
    match tally.streams {
        0 => Err(Ending::skipped("no stream was damaged")),
        _ => Ok(tally),
    }
}
