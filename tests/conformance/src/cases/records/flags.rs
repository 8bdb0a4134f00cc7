//! Compares the flags of a filter's record with what it does.

use ncz_codec::{Dtype, Kind};
use ncz_registry::load::Hdf5Filter;
use ncz_registry::load::probe::Host;

use crate::coding::{Coding, Face, Refused};
use crate::outcome::Ending;
use crate::profile::{self, Fidelity};
use crate::sample::{Content, Sample};
use crate::trial::Trial;

/// The length of the chunk that is tried.
const LEN: usize = 12 << 10;

pub(super) fn check(trial: &mut Trial) -> Result<(), Ending> {
    let half = trial.hdf5()?;
    let (encodes, decodes, id) = (half.encodes(), half.decodes(), half.id());
    trial.figure("encoder_present", encodes);
    trial.figure("decoder_present", decodes);
    if !encodes && !decodes {
        return Err(Ending::failed("says that it neither encodes nor decodes: HDF5 does not use it"));
    }
    let (coding, sample) = first_coding(trial)?;
    trial.step(format!("encoding {} with {}", sample.name(), coding.name));
    let stream = coding.encode(&sample.bytes);
    match (&stream, encodes) {
        (Err(refused), true) => {
            return Err(Ending::failed(format!(
                "encoder_present is set, but encoding {} fails: {refused}; a filter that only reads leaves it 0",
                sample.name()
            )));
        }
        (Ok(_), false) => {
            trial.warn("encoder_present is 0, so HDF5 does not let it write, but it encodes");
        }
        _ => {}
    }
    let decoded = match stream {
        Ok(stream) => {
            trial.step(format!("decoding {} with {}", sample.name(), coding.name));
            coding.decode(&stream, sample.bytes.len())
        }
        // A filter that only reads needs the stream of another program.
        Err(_) => stored(trial, id)?,
    };
    match (decoded, decodes) {
        (Err(refused), true) => {
            Err(Ending::failed(format!("decoder_present is set, but decoding fails: {refused}")))
        }
        (Ok(_), false) => {
            trial.warn("decoder_present is 0, so hosts that ask do not let it read, but it decodes");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The first kind of chunk for which the filter has parameters, independent of its flags.
fn first_coding(trial: &Trial) -> Result<(Coding, Sample), Ending> {
    let half = trial.hdf5()?;
    if half.encodes() && half.decodes() {
        let (sample, coding) = trial.usual(LEN, Content::Smooth)?;
        return Ok((coding, sample));
    }
    let mut last = Ending::skipped("there are no parameters for it");
    for dtype in [Dtype::little(Kind::Float, 4), Dtype::little(Kind::UInt, 1)] {
        let sample = Sample::new(dtype, &[64, 48], Content::Smooth, 1);
        match words(trial, half, &sample) {
            Ok(words) => {
                let name = format!("cd_values {words:?}");
                let face = Face::Filter(half.clone(), words);
                let coding =
                    Coding { face, name, fidelity: Fidelity::Lossy, concurrent: false, host: Host::Malloc };
                return Ok((coding, sample));
            }
            Err(ending) => last = ending,
        }
    }
    Err(last)
}

/// Working parameters for a filter that declares only one direction.
fn words(trial: &Trial, half: &Hdf5Filter, sample: &Sample) -> Result<Vec<u32>, Ending> {
    let id = half.id();
    if let Some((_, words)) = trial.settings().params.iter().find(|(of, _)| *of == id) {
        return Ok(words.clone());
    }
    match profile::of(id, sample.dtype, &sample.shape) {
        Some(Ok(sets)) => {
            let first = sets.into_iter().next();
            first.map(|set| set.working).ok_or_else(|| Ending::skipped("there are no parameters for it"))
        }
        Some(Err(why)) => Err(Ending::skipped(format!("not for {}: {}", sample.name(), why.0))),
        None if half.has_set_local() => Err(Ending::skipped(format!(
            "its working parameters come from set_local, which needs libhdf5; give them with --params {id}=.."
        ))),
        None => Ok(Vec::new()),
    }
}

/// Decodes a stored stream.
fn stored(trial: &mut Trial, id: u32) -> Result<Result<Vec<u8>, Refused>, Ending> {
    let cases = super::super::interop::cases_of(id)?;
    let Some(case) = cases.first() else {
        return Err(Ending::skipped("there is no stream of it to decode"));
    };
    trial.step(format!("decoding the stored stream {}", case.name));
    let coding = case.filter_coding(trial)?;
    Ok(coding.decode(&case.encoded, case.raw.len()))
}
