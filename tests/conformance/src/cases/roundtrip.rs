//! Round trips: chunks are restored exactly.

mod same;
mod trips;

use fastrand::Rng;
use ncz_codec::{Dtype, Kind};

use crate::check::{Check, Scope, Target};
use crate::coding::{Coding, Face, Refused};
use crate::outcome::Ending;
use crate::sample::{Content, Sample, dtypes};
use crate::trial::Trial;

use trips::{Judge, Trips};

const F4: Dtype = Dtype::little(Kind::Float, 4);
const U1: Dtype = Dtype::little(Kind::UInt, 1);

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "roundtrip.one",
        level: 1,
        scope: Scope::Coding,
        about: "a chunk of one element of any type round-trips; a native codec may refuse values, not all of a type",
        run: one,
    },
    Check {
        id: "roundtrip.dtypes",
        level: 1,
        scope: Scope::Coding,
        about: "chunks of every type that the codec accepts round-trip",
        run: every_dtype,
    },
    Check {
        id: "roundtrip.incompressible",
        level: 1,
        scope: Scope::Coding,
        about: "random bytes have a valid stream and round-trip; a native codec may refuse values, not all of a type",
        run: incompressible,
    },
    Check {
        id: "roundtrip.odd",
        level: 2,
        scope: Scope::Coding,
        about: "chunks whose length is not a multiple of anything round-trip",
        run: odd,
    },
    Check {
        id: "roundtrip.empty",
        level: 2,
        scope: Scope::Coding,
        about: "a chunk or a stream of no bytes is refused or gives no bytes",
        run: empty,
    },
    Check {
        id: "roundtrip.deterministic",
        level: 2,
        scope: Scope::Coding,
        about: "the same chunk gives the same stream, independent of earlier calls and of the contents of new memory",
        run: same::deterministic,
    },
    Check {
        id: "roundtrip.large",
        level: 3,
        scope: Scope::Coding,
        about: "large chunks round-trip: 1 MiB, 16 MiB from level 6 on, 64 MiB from level 9 on",
        run: large,
    },
    Check {
        id: "roundtrip.parameters",
        level: 4,
        scope: Scope::Coding,
        about: "chunks round-trip with every parameter set that is known to be good",
        run: parameters,
    },
    Check {
        id: "roundtrip.random",
        level: 5,
        scope: Scope::Coding,
        about: "chunks of random types, shapes, values and parameters round-trip",
        run: random,
    },
];

fn one(trial: &mut Trial) -> Result<(), Ending> {
    let mut trips = Trips::new(trial, Judge::Each)?;
    let shapes: &[&[u64]] = if trial.level() >= 3 { &[&[1], &[1, 1], &[1, 1, 1]] } else { &[&[1]] };
    for dtype in dtypes() {
        for shape in shapes {
            trips.run_first(trial, &Sample::new(dtype, shape, Content::Smooth, 1))?;
        }
    }
    trips.end(trial)
}

fn every_dtype(trial: &mut Trial) -> Result<(), Ending> {
    let level = trial.level();
    let all: [(u8, &[u64]); 5] =
        [(1, &[64, 48]), (3, &[1000]), (3, &[4, 5, 6]), (5, &[3, 4, 5, 6]), (5, &[2, 3, 1, 5, 4])];
    let contents = [(1, Content::Smooth), (2, Content::Runs), (4, Content::Zeros)];
    let mut trips = Trips::new(trial, Judge::EachType)?;
    for dtype in dtypes() {
        for (_, shape) in all.iter().filter(|(from, _)| level >= *from) {
            for (_, content) in contents.iter().filter(|(from, _)| level >= *from) {
                trips.run_first(trial, &Sample::new(dtype, shape, *content, 1))?;
            }
        }
    }
    trial.figure("dtypes", trips.dtypes.len());
    trips.end(trial)
}

fn incompressible(trial: &mut Trial) -> Result<(), Ending> {
    let mut trips = Trips::new(trial, Judge::Each)?;
    let shapes: &[&[u64]] = &[&[4], &[17], &[1000], &[64, 48], &[16, 40, 30]];
    for dtype in [U1, F4, Dtype::little(Kind::UInt, 2), Dtype::little(Kind::Float, 8)] {
        for (seed, shape) in shapes.iter().enumerate() {
            let sample = Sample::new(dtype, shape, Content::Noise, seed as u64 + 1);
            trips.run_first(trial, &sample)?;
        }
    }
    trips.end(trial)
}

fn odd(trial: &mut Trial) -> Result<(), Ending> {
    let mut lengths =
        vec![1, 2, 3, 5, 7, 9, 15, 17, 31, 33, 63, 65, 127, 129, 255, 257, 1021, 1025, 4097, 65537];
    if trial.level() >= 5 {
        lengths.extend(10..trial.times(130).min(500) as u64);
        lengths.extend([8191, 16385, 100_003]);
    }
    let mut types = vec![U1, F4];
    if trial.level() >= 3 {
        types.extend([Dtype::little(Kind::Opaque, 3), Dtype::little(Kind::Opaque, 5)]);
        types.extend([Dtype::little(Kind::UInt, 2), Dtype::big(Kind::Float, 8)]);
    }
    let mut trips = Trips::new(trial, Judge::None)?;
    for dtype in types {
        for &len in &lengths {
            // Two dimensions for those that take no fewer.
            let flat = Sample::new(dtype, &[len], Content::Runs, len);
            if !trips.run_first(trial, &flat)? {
                trips.run_first(trial, &Sample::new(dtype, &[len.min(300), 3], Content::Smooth, len))?;
            }
        }
    }
    trips.end(trial)
}

fn empty(trial: &mut Trial) -> Result<(), Ending> {
    let (usual, coding) = trial.usual(4096, Content::Smooth)?;
    trial.step(format_args!("encoding 0 bytes with {}", coding.name));
    let refused = match coding.encode(&[]) {
        Ok(stream) => {
            trial.step(format_args!("decoding the stream of {} bytes that 0 bytes gave", stream.len()));
            match coding.decode(&stream, usual.bytes.len()) {
                Ok(chunk) if !chunk.is_empty() => {
                    return Err(Ending::failed(format!("0 bytes are decoded to {} bytes", chunk.len())));
                }
                // A filter function cannot express 0 bytes in another way.
                Ok(_) | Err(Refused::Filter { returned: 0, .. }) => None,
                Err(error) => {
                    return Err(Ending::failed(format!("the stream that 0 bytes gave is refused: {error}")));
                }
            }
        }
        Err(error) => Some(error),
    };
    trial.step(format_args!("decoding 0 bytes with {}", coding.name));
    if let Ok(chunk) = coding.decode(&[], usual.bytes.len())
        && !chunk.is_empty()
    {
        return Err(Ending::failed(format!("a stream of 0 bytes decodes to {} bytes", chunk.len())));
    }
    if let Some(error @ Refused::Filter { returned: 1.., .. }) = refused {
        trial.warn(format!("0 bytes are refused, but {error}, and hosts take all but 0 for a length"));
    }
    Ok(())
}

fn large(trial: &mut Trial) -> Result<(), Ending> {
    const TILE: usize = 1 << 20;
    let mib = match trial.level() {
        ..6 => 1,
        6..9 => 16,
        9.. => 64,
    };
    let (tile, _) = trial.usual(TILE, Content::Smooth)?;
    // Every fourth tile is a smooth field, the others are one byte throughout: some codecs need a second for a few
    // tiles of a field, and longer for a pattern.
    let mut bytes = Vec::with_capacity(mib * tile.bytes.len());
    for number in 0..mib {
        match number % 4 {
            0 => bytes.extend(tile.bytes.iter().map(|byte| byte ^ number as u8)),
            _ => bytes.resize(bytes.len() + tile.bytes.len(), number as u8),
        }
    }
    let mut shape = tile.shape.clone();
    if let Some(rows) = shape.first_mut() {
        *rows *= mib as u64;
    }
    trial.figure("MiB", mib);
    let mut trips = Trips::new(trial, Judge::EachType)?;
    trips.run_first(trial, &Sample { shape, bytes, ..tile })?;
    trips.end(trial)
}

fn parameters(trial: &mut Trial) -> Result<(), Ending> {
    let mut trips = Trips::new(trial, Judge::None)?;
    let mut sets = 0;
    for (dtype, shape) in [(F4, [64, 48]), (U1, [100, 30]), (Dtype::little(Kind::Int, 2), [33, 65])] {
        for content in [Content::Smooth, Content::Runs, Content::Noise] {
            let sample = Sample::new(dtype, &shape, content, 1);
            let Some(codings) = trips.codings(trial, &sample)? else { break };
            sets = sets.max(codings.len());
            for coding in &codings {
                trips.run(trial, &sample, coding)?;
            }
        }
    }
    trial.figure("parameter sets", sets);
    trips.end(trial)
}

fn random(trial: &mut Trial) -> Result<(), Ending> {
    let mut trips = Trips::new(trial, Judge::None)?;
    for _ in 0..trial.times(40).min(300) {
        let sample = random_sample(trial.rng());
        if let Some(codings) = trips.codings(trial, &sample)? {
            let coding = trial.rng().usize(..codings.len());
            trips.run(trial, &sample, &codings[coding])?;
        }
    }
    trial.figure("chunks", trips.taken);
    trips.end(trial)
}

/// Any type and shape, of at most some ten thousand elements.
fn random_sample(rng: &mut Rng) -> Sample {
    const ELEMENTS_MAX: u64 = 20_000;
    let all = dtypes();
    let dtype = all[rng.usize(..all.len())];
    let rank = rng.u32(1..=4);
    let longest = (ELEMENTS_MAX as f64).powf(1.0 / f64::from(rank)) as u64;
    let shape: Vec<u64> = (0..rank).map(|_| rng.u64(1..=longest)).collect();
    let content = [Content::Smooth, Content::Runs, Content::Noise, Content::Zeros][rng.usize(..4)];
    Sample::new(dtype, &shape, content, rng.u64(..))
}

/// Whether a refusal to encode breaks a write in netcdf-c too, which has no optional filters. HDF5 stores a chunk
/// unfiltered if the filter is optional.
fn has_nczarr_codec(trial: &Trial, coding: &Coding) -> Result<bool, Ending> {
    Ok(match (&coding.face, trial.target()) {
        (Face::Filter(..), Target::Hdf5(id)) => trial.subject()?.codec_of(*id).is_some(),
        _ => false,
    })
}
