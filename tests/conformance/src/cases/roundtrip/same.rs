//! The same chunk gives the same stream.

use ncz_registry::load::probe;

use crate::coding::Coding;
use crate::outcome::Ending;
use crate::profile::Fidelity;
use crate::sample::{Content, Sample};
use crate::trial::Trial;

use super::trips::first_difference;

/// What fresh memory holds in the first and in the second call.
const FILLINGS: [u8; 2] = [0x55, 0xaa];

pub(super) fn deterministic(trial: &mut Trial) -> Result<(), Ending> {
    let contents = [Content::Smooth, Content::Runs, Content::Noise];
    let mut samples = Vec::new();
    for content in contents {
        samples.push(trial.usual(12_000, content)?.0);
    }
    // A short one, which leaves most of a codec's tables as they were.
    samples.push(trial.usual(256, Content::Smooth)?.0);
    // With the ordinary parameters every chunk, with each other set one of them; from level 6 on every one.
    let level = trial.level();
    let is_wanted = |sample: usize, set: usize| match level {
        ..5 => set == 0,
        5 => set == 0 || set % contents.len() == sample,
        6.. => true,
    };
    let mut looked = 0;
    let mut findings = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        for number in (0..trial.codings(sample)?.len()).filter(|&set| is_wanted(index, set)) {
            let finding = look(trial, sample, &samples, number);
            probe::fill_fresh_memory(0);
            let Some(finding) = finding? else { continue };
            looked += 1;
            match finding {
                Some((finding, Fidelity::Exact)) => return Err(Ending::failed(finding)),
                Some((finding, Fidelity::Lossy)) => findings.push(finding),
                None => {}
            }
        }
    }
    if looked == 0 {
        return Err(Ending::skipped("nothing could be looked at: every chunk is refused"));
    }
    findings.into_iter().take(1).for_each(|finding| trial.warn(finding));
    Ok(())
}

/// How the streams of a chunk, or what comes of them, differ, if they do.
type Difference = Option<(String, Fidelity)>;

/// Encodes the chunk twice with parameter set `number`, other chunks between; how the streams differ. Nothing if the
/// chunk is refused.
fn look(
    trial: &mut Trial,
    sample: &Sample,
    others: &[Sample],
    number: usize,
) -> Result<Option<Difference>, Ending> {
    let coding = |trial: &Trial| -> Result<Coding, Ending> {
        let codings = trial.codings(sample)?;
        codings.into_iter().nth(number).ok_or_else(|| Ending::skipped("its parameters change"))
    };
    let first = coding(trial)?;
    let what = format!("{} with {}", sample.name(), first.name);
    trial.step(format_args!("encoding {what}, twice"));
    probe::fill_fresh_memory(FILLINGS[0]);
    let (Ok(stream), Ok(again)) = (first.encode(&sample.bytes), first.encode(&sample.bytes)) else {
        return Ok(None);
    };
    let finding = |text: String| Ok(Some(Some((text, first.fidelity))));
    if let Some(how) = difference(&stream, &again) {
        return finding(format!("{what} gives another stream the second time: {how}"));
    }
    for other in others.iter().filter(|other| other.bytes != sample.bytes) {
        trial.step(format_args!("encoding {} between", other.name()));
        let between = trial.coding(other)?;
        if let Ok(stream) = between.encode(&other.bytes) {
            let _ = between.decode(&stream, other.bytes.len());
        }
    }
    trial.step(format_args!("encoding {what}, with another filling of fresh memory"));
    probe::fill_fresh_memory(FILLINGS[1]);
    let Ok(later) = coding(trial)?.encode(&sample.bytes) else {
        return finding(format!("{what} is refused after other chunks were encoded"));
    };
    if let Some(how) = difference(&stream, &later) {
        return finding(format!(
            "{what} gives another stream when other chunks came before and fresh memory holds other bytes: {how}"
        ));
    }
    trial.step(format_args!("decoding {what}, with another filling of fresh memory"));
    let Ok(last) = first.decode(&stream, sample.bytes.len()) else { return Ok(Some(None)) };
    probe::fill_fresh_memory(FILLINGS[0]);
    match first.decode(&stream, sample.bytes.len()) {
        Ok(decoded) => match difference(&last, &decoded) {
            Some(how) => finding(format!(
                "the stream of {what} gives other data when fresh memory holds other bytes: {how}"
            )),
            None => Ok(Some(None)),
        },
        Err(_) => Ok(Some(None)),
    }
}

fn difference(one: &[u8], other: &[u8]) -> Option<String> {
    match one.len() == other.len() {
        true => first_difference(one, other),
        false => Some(format!("{} bytes and {}", one.len(), other.len())),
    }
}
