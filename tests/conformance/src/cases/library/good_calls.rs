//! Good calls of everything that a library offers: what every host does with it.

use serde_json::Map;

use crate::check::Target;
use crate::outcome::Ending;
use crate::sample::{Content, Sample};
use crate::trial::{Progress, Trial};

/// A part that says nothing of its steps: the check itself does.
struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &str) {}
}

/// Encodes and decodes a chunk with each filter and native codec, and turns the defaults of each codec half into
/// parameters and back. Answers are not looked at: other checks do. Returns how many calls could be made.
///
/// # Errors
/// The library cannot be opened.
pub(super) fn make(trial: &mut Trial) -> Result<usize, Ending> {
    let targets = trial.subject()?.targets();
    let check = &super::CHECKS[0];
    let mut calls = 0;
    for target in targets {
        trial.step(format!("good calls of {target}"));
        let (path, settings) = (trial.path().to_owned(), trial.settings().clone());
        let part = Trial::new(check, target.clone(), &path, settings, Box::new(Silent));
        calls += match target {
            Target::Library => 0,
            Target::Codec(_) => {
                let half = part.codec()?;
                let words = half.to_params(&Map::new());
                let text = words.as_ref().map(|words| half.to_json(words));
                usize::from(words.is_ok()) + usize::from(text.is_ok_and(|text| text.is_ok()))
            }
            Target::Hdf5(_) | Target::Native(_) => round_trips(&part),
        };
    }
    Ok(calls)
}

fn round_trips(part: &Trial) -> usize {
    use ncz_codec::{Dtype, Kind};
    // One of them is for most codecs; a codec of images takes two dimensions of small integers alone.
    let dtypes = [Dtype::little(Kind::Float, 4), Dtype::little(Kind::UInt, 2), Dtype::little(Kind::UInt, 1)];
    let samples = dtypes.map(|dtype| Sample::new(dtype, &[64, 48], Content::Smooth, 1));
    let mut calls = 0;
    for sample in &samples {
        let Ok(coding) = part.coding(sample) else { continue };
        let Ok(stream) = coding.encode(&sample.bytes) else { continue };
        calls += 1 + usize::from(coding.decode(&stream, sample.bytes.len()).is_ok());
    }
    calls
}
